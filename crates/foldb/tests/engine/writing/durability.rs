//! Tests what a returned write guarantees, and how the database reacts to a failed sync.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, MemFs, Watch};
use foldb::{Db, ErrorKind, Options, TransactionOptions, WriteBatch, WriteOptions};

use crate::support::{
    PATH, assert_error, count, error_of, number, open, options, reopen, text, watched,
};

pub(super) const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };

const UNLOGGED: WriteOptions = WriteOptions { disable_wal: true, ..WriteOptions::DEFAULT };

pub(super) fn key(n: usize) -> String {
    format!("key-{n:04}")
}

/// Returns the number of keys, after checking that they are a prefix of the writes.
pub(super) fn prefix_len(db: &Db) -> usize {
    let keys: Vec<_> = db.iter().unwrap().map(|entry| entry.unwrap().0).collect();
    let expected: Vec<_> = (0..keys.len()).map(|n| key(n).into_bytes()).collect();
    assert_eq!(keys, expected, "the surviving writes are no prefix");
    keys.len()
}

#[test]
fn a_killed_process_loses_nothing() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    for n in 0..300 {
        db.put(key(n), "value").unwrap();
        if n % 37 == 0 {
            assert_eq!(prefix_len(&reopen(&fs.kill()).unwrap()), n + 1);
        }
    }
    assert_eq!(prefix_len(&reopen(&fs.kill()).unwrap()), 300);
}

#[test]
fn power_loss_takes_an_unsynced_tail_only() {
    let fs = MemFs::new();
    let buffers = Options { write_buffer_size: 4096, max_write_buffers: 8, ..options(&fs) };
    let db = Db::open(PATH, buffers).unwrap();
    let mut synced = 0;
    let mut lost_some = false;
    for n in 0..200 {
        if n % 29 == 13 {
            db.with(&SYNC).put(key(n), [b'v'; 100]).unwrap();
            synced = n + 1;
        } else {
            db.put(key(n), [b'v'; 100]).unwrap();
        }
        if n % 7 == 0 {
            let survivors = [fs.crash(), fs.crash_with(n as u64)];
            for left in survivors.map(|fs| prefix_len(&open(&fs).unwrap())) {
                assert!((synced..=n + 1).contains(&left), "{left} of {}, {synced} synced", n + 1);
                lost_some |= left < n + 1;
            }
        }
    }
    assert!(lost_some, "no crash lost a write: the test shows nothing");
}

#[test]
fn db_sync_makes_all_earlier_writes_durable() {
    let fs = MemFs::new();
    let buffers = Options { write_buffer_size: 4096, max_write_buffers: 8, ..options(&fs) };
    let db = Db::open(PATH, buffers).unwrap();
    for n in 0..50 {
        db.put(key(n), [b'v'; 200]).unwrap();
    }
    db.sync().unwrap();
    db.put(key(50), "after").unwrap();
    assert_eq!(prefix_len(&reopen(&fs.crash()).unwrap()), 50);
    assert_eq!(prefix_len(&reopen(&fs.kill()).unwrap()), 51);
}

#[test]
fn a_batch_is_whole_or_not_there() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&SYNC).put("zero", "").unwrap();
    let mut batch = WriteBatch::new();
    // Larger than one frame of the log.
    for n in 0..3000 {
        batch.put(key(n), [b'v'; 500]);
    }
    db.write(&batch).unwrap();
    assert!(batch.byte_len() > 1 << 20);
    let mut left = Vec::new();
    for seed in 0..6 {
        let db = reopen(&fs.crash_with(seed)).unwrap();
        left.push(db.iter().unwrap().count());
    }
    left.push(reopen(&fs.crash()).unwrap().iter().unwrap().count());
    left.push(reopen(&fs.kill()).unwrap().iter().unwrap().count());
    assert!(left.iter().all(|left| [1, 3001].contains(left)), "{left:?}");
    assert!(left.contains(&1) && left.contains(&3001), "{left:?}");
}

#[test]
fn unlogged_writes_live_from_their_flush_on() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let logged = db.stats().bytes_log;
    db.with(&UNLOGGED).put("a", "1").unwrap();
    assert_eq!(db.stats().bytes_log, logged);
    assert_eq!(text(&db, "a").unwrap(), "1");
    assert_eq!(text(&reopen(&fs.kill()).unwrap(), "a"), None);
    db.flush().unwrap();
    assert_eq!(text(&reopen(&fs.crash()).unwrap(), "a").unwrap(), "1");
    // Between logged writes, whose sequence numbers go on across a restart.
    db.with(&UNLOGGED).merge("b", number(1)).unwrap();
    db.merge("b", number(10)).unwrap();
    let survivor = reopen(&fs.kill()).unwrap();
    assert_eq!(count(&survivor, "b"), 10);
    survivor.merge("b", number(100)).unwrap();
    assert_eq!(count(&survivor, "b"), 110);
    assert_eq!(count(&db, "b"), 11);
}

#[test]
fn close_flushes_what_is_in_no_log() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&UNLOGGED).put("a", "1").unwrap();
    db.close().unwrap();
    drop(db);
    let db = reopen(&fs).unwrap();
    assert_eq!(text(&db, "a").unwrap(), "1");
    db.with(&UNLOGGED).put("b", "2").unwrap();
    drop(db);
    assert_eq!(text(&reopen(&fs).unwrap(), "b").unwrap(), "2");
}

#[test]
fn a_failed_sync_poisons() {
    for by_write in [true, false] {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.with(&SYNC).put("a", "1").unwrap();
        fs.inject(Fault::on(Operation::Sync).path(".log"));
        let failed = if by_write {
            db.with(&SYNC).put("b", "2")
        } else {
            db.put("b", "2").and_then(|()| db.sync())
        };
        assert_error(failed, ErrorKind::Io, None);
        // The next sync would succeed over the hole, so every later write is refused.
        assert_error(db.put("c", "3"), ErrorKind::Poisoned, None);
        assert_error(db.merge("c", number(1)), ErrorKind::Poisoned, None);
        assert_error(db.sync(), ErrorKind::Poisoned, None);
        assert_error(db.flush(), ErrorKind::Poisoned, None);
        assert_eq!(text(&db, "a").unwrap(), "1", "reads still work");
        // A close without an error would promise that all of it is durable.
        assert_error(db.close(), ErrorKind::Poisoned, None);
        assert_error(db.get("a").map(drop), ErrorKind::Closed, None);
        drop(db);
        let db = reopen(&fs.crash()).unwrap();
        assert_eq!(text(&db, "a").unwrap(), "1");
        assert_eq!(text(&db, "c"), None);
        db.with(&SYNC).put("c", "3").unwrap();
    }
}

#[test]
fn a_failed_sync_of_the_manifest_poisons() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&SYNC).put("a", "1").unwrap();
    fs.inject(Fault::on(Operation::Sync).path("MANIFEST-"));
    let error = error_of(db.flush());
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert_error(db.put("b", "2"), ErrorKind::Poisoned, None);
    for survivor in [fs.crash(), fs.kill(), fs.crash_with(3)] {
        assert_eq!(text(&reopen(&survivor).unwrap(), "a").unwrap(), "1");
    }
}

/// The disk stops at the n-th change, for every n; then the power fails.
#[test]
fn a_crash_at_every_moment_leaves_a_prefix() {
    // All writes of the program, some of them synced, with flushes and compactions between.
    let program = |fs: &MemFs| -> (usize, usize) {
        let small = Options { level0_compaction_trigger: 2, target_file_size: 1024, ..options(fs) };
        let (mut attempted, mut durable) = (0, 0);
        let Ok(db) = Db::open(PATH, small) else { return (0, 0) };
        for n in 0..24 {
            let options = if n % 5 == 3 { SYNC } else { WriteOptions::default() };
            attempted = n + 1;
            if db.with(&options).put(key(n), [b'v'; 60]).is_err() {
                return (attempted, durable);
            }
            if options.sync {
                durable = n + 1;
            }
            if n % 6 == 5 && db.flush().is_ok() {
                durable = n + 1;
            }
            if n % 8 == 7 {
                let _may_fail = db.step_background();
            }
            if n == 20 && db.compact(..).is_ok() {
                durable = n + 1;
            }
        }
        let _may_fail = db.close();
        (attempted, durable)
    };
    let whole = MemFs::new();
    assert_eq!(program(&whole).0, 24);
    let mutations = whole.counts().mutations();
    assert!(mutations > 100, "{mutations}");
    for stop in 1..=mutations + 1 {
        for torn_at in [0, 40] {
            let fs = MemFs::new();
            fs.inject(Fault::on_mutation().nth(stop).forever().torn_at(torn_at));
            let (attempted, durable) = program(&fs);
            for survivor in [fs.crash(), fs.kill(), fs.crash_with(stop)] {
                let db = open(&survivor)
                    .unwrap_or_else(|error| panic!("after a stop at {stop}: {error}"));
                let left = prefix_len(&db);
                assert!(
                    (durable..=attempted).contains(&left),
                    "after a stop at {stop}: {left} left, {durable} durable, {attempted} tried"
                );
                db.with(&SYNC).put("goes on", "1").unwrap();
            }
        }
    }
}

/// `close` flushes unlogged writes, also those that a later write sealed.
#[test]
fn closing_flushes_unlogged_writes_that_are_sealed_already() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 64 << 10, ..options(&fs) }).unwrap();
    (0..100).for_each(|n| db.with(&UNLOGGED).put(key(n), [0; 400]).unwrap());
    (100..200).for_each(|n| db.put(key(n), [0; 400]).unwrap());
    db.close().unwrap();
    drop(db);
    let db = reopen(&fs).unwrap();
    assert_eq!(db.iter().unwrap().count(), 200);
}

/// The write was acknowledged, and a kill lost it.
#[test]
fn a_synced_write_outside_of_the_log_is_refused() {
    let db = Db::open(PATH, options(&MemFs::new())).unwrap();
    let keyspace = db.keyspace("default").unwrap();
    let both = WriteOptions { sync: true, ..UNLOGGED };
    let mut batch = WriteBatch::new();
    batch.put("a", "1").put("b", "2");
    let outcomes = [
        db.with(&both).put("a", "1"),
        db.with(&both).delete("a"),
        keyspace.with(&both).delete_range("a".."b"),
        keyspace.with(&both).delete_range("a".."a"),
        db.with(&both).write(&batch),
        db.with(&both).write(&WriteBatch::new()),
        db.with(&TransactionOptions { write: both, ..Default::default() }).begin().map(drop),
        keyspace.with(&both).put_if_absent("a", "1").map(drop),
        keyspace.with(&both).take_first(..).map(drop),
    ];
    for outcome in outcomes {
        assert_error(outcome, ErrorKind::InvalidArgument, None);
    }
    assert!(db.is_empty().unwrap());
}

/// A disk that shows at each sync of a log what a reader sees meanwhile, and may refuse the sync.
#[derive(Default)]
struct Meanwhile {
    db: OnceLock<Weak<Db>>,
    seen: Mutex<Vec<(Option<String>, u64)>>,
    refuses: AtomicBool,
}

impl Watch for Meanwhile {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let is_log = path.extension().is_some_and(|name| name == "log");
        if operation != Operation::Sync || !is_log {
            return Ok(());
        }
        if let Some(db) = self.db.get().and_then(Weak::upgrade) {
            let now = (text(&*db, "k"), count(&*db, "n"));
            assert_eq!(text(&db.snapshot(), "k"), now.0);
            self.seen.lock().unwrap().push(now);
        }
        match self.refuses.load(Ordering::Relaxed) {
            true => Err(io::Error::other("no sync today")),
            false => Ok(()),
        }
    }
}

fn meanwhile(visible_when_durable: bool) -> (Arc<Meanwhile>, Arc<Db>) {
    let (fs, disk) = (MemFs::new(), Arc::new(Meanwhile::default()));
    let env = Env { fs: watched(&fs, &disk), ..Env::in_memory(fs.clone()) };
    let options = Options { env, visible_when_durable, ..options(&fs) };
    let db = Arc::new(Db::open(PATH, options).unwrap());
    db.with(&SYNC).put("k", "old").unwrap();
    disk.db.set(Arc::downgrade(&db)).unwrap();
    (disk, db)
}

#[test]
fn a_synced_write_is_visible_when_it_is_durable_if_the_option_says_so() {
    for visible_when_durable in [false, true] {
        let (disk, db) = meanwhile(visible_when_durable);
        db.with(&SYNC).put("k", "new").unwrap();
        db.with(&SYNC).merge("n", number(1)).unwrap();
        db.with(&SYNC).merge("n", number(1)).unwrap();
        let mut batch = WriteBatch::new();
        batch.put("k", "batch").merge("n", number(5));
        db.with(&SYNC).write(&batch).unwrap();
        let in_transaction = TransactionOptions { write: SYNC, ..TransactionOptions::default() };
        db.with(&in_transaction).transact(|txn| txn.put("k", "transaction")).unwrap();
        let early = [("new", 0), ("new", 1), ("new", 2), ("batch", 7), ("transaction", 7)];
        let late = [("old", 0), ("new", 0), ("new", 1), ("new", 2), ("batch", 7)];
        let expected = if visible_when_durable { late } else { early };
        let seen = disk.seen.lock().unwrap();
        let seen: Vec<_> = seen.iter().map(|(k, n)| (k.as_deref().unwrap(), *n)).collect();
        assert_eq!(seen, expected);
        assert_eq!((text(&*db, "k").as_deref(), count(&*db, "n")), (Some("transaction"), 7));
    }
}

#[test]
fn a_synced_write_that_fails_is_never_seen_if_the_option_says_so() {
    for visible_when_durable in [false, true] {
        let (disk, db) = meanwhile(visible_when_durable);
        disk.refuses.store(true, Ordering::Relaxed);
        assert_eq!(error_of(db.with(&SYNC).put("k", "new")).kind(), ErrorKind::Io);
        disk.refuses.store(false, Ordering::Relaxed);
        let seen = text(&*db, "k");
        assert_eq!(seen.as_deref(), Some(if visible_when_durable { "old" } else { "new" }));
        assert_eq!(error_of(db.put("x", "1")).kind(), ErrorKind::Poisoned);
        assert_eq!(text(&*db, "x"), None);
    }
}
