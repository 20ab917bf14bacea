//! A clock that was ahead by mistake: its jumps are told, and a reset ends their effect.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use foldb::backup::Backups;
use foldb::env::mem::Operation;
use foldb::env::{Clock, Env, FileSystem, ManualClock, MemFs, SystemThreads, WatchedFs};
use foldb::events::{ClockJump, Event, EventListener};
use foldb::expiry::{Expires, Expiry};
use foldb::{
    Db, ErrorKind, Isolation, Keyspace, Options, ReadOnlyDb, ReadOptions, TransactionOptions,
    WriteOptions,
};

use crate::expiry::support::{clock, lists, open, read, seconds, set, settle, table_bytes};
use crate::support::gates::Gate;
use crate::support::{PATH, options};

/// A false time: ten years ahead.
const FALSE: u64 = 10 * 365 * 86_400;

fn life() -> Expiry {
    Expiry::after_last_write(seconds(100))
}

/// Reads once while the clock is ahead, and corrects the clock.
fn mislead(clock: &ManualClock, own: &Keyspace, corrected: u64) {
    set(clock, FALSE);
    own.is_empty().unwrap();
    set(clock, corrected);
}

fn lives(seconds: u64) -> WriteOptions {
    let expires = Some(Expires::After(Duration::from_secs(seconds)));
    WriteOptions { expires, ..WriteOptions::default() }
}

#[derive(Debug, Default)]
struct Jumps(Mutex<Vec<(ClockJump, String)>>);

impl EventListener for Jumps {
    fn on_event(&self, event: &Event) {
        if let Event::ClockJumped(jump) = event {
            assert_eq!(event.name(), "clock_jumped");
            self.0.lock().unwrap().push((*jump, event.to_string()));
        }
    }
}

impl Jumps {
    /// Takes what was told: the ways, the seconds, and how far the time is ahead.
    fn take(&self) -> Vec<(bool, u64, u64)> {
        let jumps = std::mem::take(&mut *self.0.lock().unwrap());
        let short = |jump: &ClockJump| (jump.forward, jump.by.as_secs(), jump.ahead.as_secs());
        jumps.iter().map(|(jump, _)| short(jump)).collect()
    }
}

/// Opens a database with a listener.
fn open_told(fs: &MemFs, clock: &Arc<ManualClock>) -> (Db, Arc<Jumps>) {
    let jumps = Arc::new(Jumps::default());
    let env = Env { clock: Arc::clone(clock) as _, ..Env::in_memory(fs.clone()) };
    let told = Options { env, listeners: vec![Arc::clone(&jumps) as _], ..options(fs) };
    (Db::open(PATH, told).unwrap(), jumps)
}

/// Jumps both ways are told and counted. The stored time is the first measure of an open.
#[test]
fn jumps_of_the_clock_are_told_and_counted() {
    let (fs, clock) = (MemFs::new(), clock());
    let (db, jumps) = open_told(&fs, &clock);
    let own = lists(&db, "own", life());
    own.put("a", "1").unwrap();
    clock.advance(seconds(500_000));
    own.get("a").unwrap();
    assert_eq!(jumps.take(), [], "time goes on");
    set(&clock, 700_000);
    own.get("a").unwrap();
    own.get("a").unwrap();
    assert_eq!(jumps.take(), [(true, 200_000, 0)]);
    set(&clock, 600_000);
    own.get("a").unwrap();
    let text = jumps.0.lock().unwrap()[0].1.clone();
    assert!(text.starts_with("the machine's clock jumped back by 100000 s: nothing expires for"));
    assert_eq!(jumps.take(), [(false, 100_000, 100_000)]);
    let stats = db.stats();
    assert_eq!((stats.clock_jumps_forward, stats.clock_jumps_back), (1, 1));
    assert_eq!(stats.time_ahead_seconds, 100_000);
    let text = stats.to_prometheus();
    for line in [
        "foldb_clock_jumps_forward_total 1",
        "foldb_clock_jumps_back_total 1",
        "foldb_time_ahead_seconds 100000",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
    db.flush().unwrap();
    db.close().unwrap();
    let (db, jumps) = open_told(&fs, &clock);
    db.keyspace("own").unwrap().get("a").unwrap();
    assert_eq!(jumps.take(), [(false, 100_000, 100_000)]);
    db.reset_clock().unwrap();
    assert_eq!(db.stats().time_ahead_seconds, 0);
    db.keyspace("own").unwrap().get("a").unwrap();
    assert_eq!(jumps.take(), []);
}

/// After a reset entries expire again, at their ends. Crashes, closes and copies keep the reset.
#[test]
fn a_reset_makes_entries_expire_again() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "own", life());
    own.put("old", "1").unwrap();
    mislead(&clock, &own, 50);
    own.with(&lives(100)).put("false", "1").unwrap();
    assert_eq!(read(&own, "old"), None);
    db.sync().unwrap();
    let ahead = db.clock();
    assert_eq!(ahead.ahead(), seconds(FALSE - 50));
    assert_eq!(db.reset_clock().unwrap(), ahead);
    assert!(db.clock().ahead().is_zero());
    assert!(db.reset_clock().unwrap().ahead().is_zero());
    own.put("new", "1").unwrap();
    db.sync().unwrap();
    db.checkpoint("copy").unwrap();
    let here = Options { env: db_env(&fs, &clock), ..options(&fs) };
    let backups = Backups::at("backups", &here);
    backups.create(&db).unwrap();
    backups.restore(None, "restored").unwrap();
    let check = |db: &Db, clock: &ManualClock| {
        let own = db.keyspace("own").unwrap();
        let present = |second| {
            set(clock, second);
            ["old", "new", "false"].map(|key| read(&own, key).is_some())
        };
        assert_eq!(present(60), [true, true, true]);
        assert_eq!(present(101), [false, true, true]);
        assert_eq!(present(151), [false, false, true], "the false time gave it its end");
        set(clock, 60);
    };
    let (crashed, later) = (fs.kill(), self::clock());
    set(&later, 60);
    check(&open(&crashed, &later), &later);
    for path in ["copy", "restored"] {
        set(&clock, 60);
        let copied = Options { env: db_env(&fs, &clock), ..options(&fs) };
        check(&Db::open(path, copied).unwrap(), &clock);
    }
    drop(own);
    db.close().unwrap();
    // The manifest is rebuilt from its edits, the reset among them.
    check(&open(&fs, &clock), &clock);
}

fn db_env(fs: &MemFs, clock: &Arc<ManualClock>) -> Env {
    Env { clock: Arc::clone(clock) as Arc<dyn Clock>, ..Env::in_memory(fs.clone()) }
}

/// A repair keeps the time that the manifest has, after a reset too, with and without `CURRENT`.
#[test]
fn a_repair_keeps_a_reset() {
    for loses_current in [false, true] {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let own = lists(&db, "own", life());
        own.put("a", "1").unwrap();
        mislead(&clock, &own, 50);
        db.flush().unwrap();
        own.put("b", "1").unwrap();
        db.reset_clock().unwrap();
        drop(own);
        db.close().unwrap();
        if loses_current {
            fs.remove(&Path::new(PATH).join("CURRENT")).unwrap();
        }
        let repaired = Options { env: db_env(&fs, &clock), ..options(&fs) };
        Db::repair(PATH, repaired).unwrap();
        let db = open(&fs, &clock);
        assert!(db.clock().ahead().is_zero(), "CURRENT lost: {loses_current}");
    }
}

/// Once the clock is right again, nothing is dropped by the false time, not by an open either. So a
/// reset after a restart brings entries back.
#[test]
fn nothing_is_dropped_beyond_the_clock() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "own", life());
    own.put("table", "1").unwrap();
    db.flush().unwrap();
    own.put("log", "1").unwrap();
    mislead(&clock, &own, 50);
    drop(own);
    db.close().unwrap();
    let db = open(&fs, &clock);
    let own = db.keyspace("own").unwrap();
    assert!(own.is_empty().unwrap());
    own.compact(..).unwrap();
    settle(&db);
    db.reset_clock().unwrap();
    assert_eq!(
        (read(&own, "table").as_deref(), read(&own, "log").as_deref()),
        (Some("1"), Some("1"))
    );
    set(&clock, 101);
    settle(&db);
    own.compact(..).unwrap();
    assert_eq!(table_bytes(&db), 0);
}

/// What a flush or compaction dropped by the false time stays gone, older values of the key too.
#[test]
fn what_was_dropped_by_the_false_time_is_gone() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "own", life());
    own.with(&lives(1000)).put("a", "older").unwrap();
    own.put("kept", "older").unwrap();
    db.flush().unwrap();
    own.put("a", "newer").unwrap();
    set(&clock, FALSE);
    db.flush().unwrap();
    set(&clock, 50);
    own.put("kept", "newer").unwrap();
    db.reset_clock().unwrap();
    assert_eq!(read(&own, "a"), None);
    assert_eq!(read(&own, "kept").unwrap(), "newer");
    own.merge("a", "anew").unwrap();
    own.compact(..).unwrap();
    assert_eq!(read(&own, "a").unwrap(), "anew");
}

/// A snapshot from the false time keeps it. A merge that comes after the reset, in time to a value
/// that has expired in the snapshot, keeps its base over compactions, with the snapshot and
/// without.
#[test]
fn merges_after_a_reset_keep_the_bases_that_a_snapshot_saw_expired() {
    for held in [false, true] {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let own = lists(&db, "own", life());
        own.put("a", "1").unwrap();
        set(&clock, FALSE);
        let snapshot = db.snapshot();
        set(&clock, 50);
        db.reset_clock().unwrap();
        set(&clock, 60);
        own.merge("a", "2").unwrap();
        assert_eq!(read(&own, "a").unwrap(), "1,2");
        set(&clock, 130);
        let at = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
        let is_gone = || own.with(&at).get("a").unwrap().is_none();
        assert!(is_gone());
        let mut snapshot = Some(snapshot);
        if !held {
            snapshot = None;
        }
        db.flush().unwrap();
        own.compact(..).unwrap();
        assert_eq!(read(&own, "a").unwrap(), "1,2", "held: {held}");
        assert!(!held || is_gone());
        drop(snapshot);
        own.compact(..).unwrap();
        assert_eq!(read(&own, "a").unwrap(), "1,2");
        set(&clock, 161);
        assert_eq!(read(&own, "a"), None);
    }
}

/// A transaction that read what a reset brings back conflicts, with both isolations. One from
/// before the jump goes on.
#[test]
fn transactions_from_the_false_time_conflict() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let own = lists(&db, "own", life());
        own.put("lease", "ann").unwrap();
        let begin = || {
            let options = TransactionOptions { isolation, ..TransactionOptions::default() };
            let transaction = db.with(&options).begin().unwrap();
            let lease = transaction.keyspace(&own).get("lease").unwrap();
            (lease.is_some(), transaction)
        };
        let (has_lease, early) = begin();
        assert!(has_lease);
        set(&clock, FALSE);
        let (has_lease, false_one) = begin();
        assert!(!has_lease);
        false_one.keyspace(&own).put("lease", "bob").unwrap();
        set(&clock, 50);
        db.reset_clock().unwrap();
        assert_eq!(false_one.commit().unwrap_err().kind(), ErrorKind::Conflict, "{isolation:?}");
        assert_eq!(read(&own, "lease").unwrap(), "ann");
        early.keyspace(&own).put("seen", "ann").unwrap();
        early.commit().unwrap();
        let (has_lease, late) = begin();
        assert!(has_lease);
        late.keyspace(&own).put("seen", "twice").unwrap();
        late.commit().unwrap();
    }
}

/// Conditional writes notice a reset between their read and their write.
#[test]
fn conditional_writes_notice_a_reset() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "own", life());
    own.put("lease", "ann").unwrap();
    mislead(&clock, &own, 50);
    let mut seen = Vec::new();
    let usual = WriteOptions::default();
    own.with(&usual)
        .update("lease", |found| {
            seen.push(found.map(<[u8]>::to_vec));
            db.reset_clock().unwrap();
            found.is_none().then(|| b"bob".to_vec())
        })
        .unwrap();
    assert_eq!(seen, [None, Some(b"ann".to_vec())]);
    // The same with the first entry of a queue, whose earlier entries are back.
    let queue = lists(&db, "queue", Expiry::per_write());
    for key in ["1", "2", "3", "4"] {
        let life = if key < "3" { 100 } else { 2 * FALSE };
        queue.with(&lives(life)).put(key, "").unwrap();
    }
    mislead(&clock, &queue, 60);
    let take = || queue.with(&usual).take_first(..).unwrap().map(|(key, _)| key);
    assert_eq!(take().unwrap(), b"3");
    db.reset_clock().unwrap();
    let all: Vec<_> = std::iter::from_fn(take).collect();
    assert_eq!(all, [b"1", b"2", b"4"]);
}

/// A reset waits for a compaction that drops by the false time. So no reader sees an entry that the
/// compaction then takes away.
#[test]
fn a_reset_waits_for_compactions_that_drop() {
    let (fs, clock) = (MemFs::new(), clock());
    let gate = Gate::before_syncs_of("tbl");
    let env = Env {
        fs: Arc::new(WatchedFs::new(Arc::new(fs.clone()), gate.clone())),
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        threads: Arc::new(SystemThreads),
        seed: Some(1),
    };
    let db = Db::open(PATH, Options { env, ..options(&fs) }).unwrap();
    let own = lists(&db, "own", life());
    own.put("a", "1").unwrap();
    // So that the compaction writes a table.
    own.with(&lives(2 * FALSE)).put("b", "1").unwrap();
    db.flush().unwrap();
    set(&clock, FALSE);
    assert_eq!(read(&own, "a"), None);
    thread::scope(|scope| {
        let _end = gate.open_at_end();
        gate.close();
        let compacting = scope.spawn(|| own.compact(..));
        gate.wait_for_a_thread();
        set(&clock, 50);
        let resetting = scope.spawn(|| db.reset_clock());
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(5));
            assert_eq!(read(&own, "a"), None, "the drop is not yet installed");
        }
        assert!(!resetting.is_finished());
        gate.open();
        compacting.join().unwrap().unwrap();
        resetting.join().unwrap().unwrap();
    });
    assert!(db.clock().ahead().is_zero());
    assert_eq!((read(&own, "a"), read(&own, "b").as_deref()), (None, Some("1")));
}

/// A reset that cannot be stored changes nothing.
#[test]
fn a_reset_that_fails_changes_nothing() {
    let (fs, clock, is_full) = (MemFs::new(), clock(), Arc::new(AtomicBool::new(false)));
    let full = Arc::clone(&is_full);
    let watch = move |operation: Operation, _: &Path| -> io::Result<()> {
        match operation == Operation::Write && full.load(Ordering::SeqCst) {
            true => Err(io::Error::from(io::ErrorKind::StorageFull)),
            false => Ok(()),
        }
    };
    let watched = Arc::new(WatchedFs::new(Arc::new(fs.clone()), Arc::new(watch)));
    let env = Env { fs: watched, ..db_env(&fs, &clock) };
    let db = Db::open(PATH, Options { env, ..options(&fs) }).unwrap();
    let own = lists(&db, "own", life());
    own.put("a", "1").unwrap();
    mislead(&clock, &own, 50);
    is_full.store(true, Ordering::SeqCst);
    assert_eq!(db.reset_clock().unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!((read(&own, "a"), db.clock().ahead()), (None, seconds(FALSE - 50)));
    is_full.store(false, Ordering::SeqCst);
    db.reset_clock().unwrap();
    assert_eq!(read(&own, "a").unwrap(), "1");
    db.close().unwrap();
    assert_eq!(db.reset_clock().unwrap_err().kind(), ErrorKind::Closed);
}

/// A close stores the time that a worker has not stored yet.
#[test]
fn a_close_stores_the_time() {
    for _ in 0..30 {
        let (fs, clock) = (MemFs::new(), clock());
        let env = Env { threads: Arc::new(SystemThreads), ..db_env(&fs, &clock) };
        let db = Db::open(PATH, Options { env, ..options(&fs) }).unwrap();
        let own = lists(&db, "own", life());
        own.put("a", "1").unwrap();
        mislead(&clock, &own, 50);
        db.close().unwrap();
        let db = open(&fs, &clock);
        assert_eq!(db.clock().ahead(), seconds(FALSE - 50));
        assert_eq!(read(&db.keyspace("own").unwrap(), "a"), None);
    }
}

/// A handle that only reads shows the time, and keeps its own over a reset by the writer.
#[test]
fn a_read_only_handle_keeps_its_time() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "own", life());
    own.put("a", "1").unwrap();
    mislead(&clock, &own, 50);
    let open_reader = || {
        let options = Options { env: db_env(&fs, &clock), ..options(&fs) };
        Db::open_read_only(PATH, options).unwrap()
    };
    let is_there =
        |reader: &ReadOnlyDb| reader.keyspace("own").unwrap().get("a").unwrap().is_some();
    let reader = open_reader();
    assert_eq!(reader.clock().ahead(), seconds(FALSE - 50));
    assert_eq!(reader.stats().time_ahead_seconds, FALSE - 50);
    db.reset_clock().unwrap();
    assert!(!is_there(&reader));
    assert!(is_there(&open_reader()));
}

#[derive(Debug, Default)]
struct Resets(OnceLock<Db>, Mutex<Option<ErrorKind>>);

impl EventListener for Resets {
    fn on_event(&self, _: &Event) {
        let outcome = self.0.get().map(|db| db.reset_clock());
        *self.1.lock().unwrap() = outcome.and_then(|outcome| outcome.err()).map(|e| e.kind());
    }
}

/// A listener is refused, because the reset may wait for the work that called it.
#[test]
fn a_listener_cannot_reset() {
    let (fs, clock) = (MemFs::new(), clock());
    let resets = Arc::new(Resets::default());
    let told = Options {
        env: db_env(&fs, &clock),
        listeners: vec![Arc::clone(&resets) as _],
        ..options(&fs)
    };
    let db = Db::open(PATH, told).unwrap();
    let own = lists(&db, "own", life());
    own.put("a", "1").unwrap();
    resets.0.set(db.clone()).unwrap();
    mislead(&clock, &own, 50);
    own.get("a").unwrap();
    assert_eq!(*resets.1.lock().unwrap(), Some(ErrorKind::Reentrant));
    db.reset_clock().unwrap();
    db.close().unwrap();
}
