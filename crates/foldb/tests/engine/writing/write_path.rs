//! Tests concurrent writers: deadlines, pacing, time slices, and a mix of logged, synced and
//! unlogged writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::env::{Env, MemFs, SystemClock, SystemThreads};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteBatch, WriteOptions};

use crate::support::gates::Gate;
use crate::support::{PATH, RaisedAtEnd, assert_error, count, number, options, reopen, watched};

const NOW: WriteOptions = WriteOptions { deadline: Some(Duration::ZERO), ..WriteOptions::DEFAULT };

/// A database with real threads and time, two small write buffers, and gated files.
fn open_gated(fs: &MemFs, gate: &Arc<Gate>) -> Db {
    let env = Env {
        fs: watched(fs, gate),
        clock: Arc::new(SystemClock::default()),
        threads: Arc::new(SystemThreads),
        seed: Some(0),
    };
    let small = Options { write_buffer_size: 64 << 10, max_write_buffers: 2, ..options(fs) };
    Db::open(PATH, Options { env, ..small }).unwrap()
}

/// Puts until a put may not wait. Returns how many there were.
fn fill(db: &Db) -> usize {
    for n in 0..100_000 {
        match db.with(&NOW).put(format!("fill-{n}"), [b'v'; 100]) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Busy => return n,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("no write had to wait");
}

/// A large write buffer is sealed before it is full if it fills faster than it is flushed. The
/// writes during its flush take at most half a write buffer more.
#[test]
fn a_large_write_buffer_need_not_fit_twice() {
    const BUFFER: u64 = 48 << 20;
    let (fs, gate) = (MemFs::new(), Gate::before_syncs_of("tbl"));
    let env = Env {
        fs: watched(&fs, &gate),
        clock: Arc::new(SystemClock::default()),
        threads: Arc::new(SystemThreads),
        seed: Some(0),
    };
    let large = Options { write_buffer_size: BUFFER as usize, ..options(&fs) };
    let db = Db::open(PATH, Options { env, ..large }).unwrap();
    let _end = gate.open_at_end();
    gate.close();
    let options = WriteOptions { disable_wal: true, ..NOW };
    let mut written = 0u64;
    for n in 0u64.. {
        match db.with(&options).put(n.to_be_bytes(), [b'v'; 4000]) {
            Ok(()) => written += 4000,
            Err(error) if error.kind() == ErrorKind::Busy => break,
            Err(error) => panic!("{error}"),
        }
        assert!(written <= BUFFER * 3 / 2, "the writer was not slowed");
    }
    assert!(written > BUFFER, "a write was refused while there was space: {written}");
    let memory = db.memory();
    // Keys, index and partly used huge pages come on top.
    assert!(memory.active_memtables + memory.sealed_memtables < BUFFER * 3 / 2 + (12 << 20));
    assert!(memory.sealed_memtables < BUFFER, "the buffer was full when it was sealed: {memory:?}");

    gate.open();
    let put = |n: u64| db.put(n.to_be_bytes(), [b'w'; 4000]).unwrap();
    (1_000_000..1_005_000).for_each(put);
    db.flush().unwrap();
    let first = |key: u64| db.get(key.to_be_bytes()).unwrap().map(|value| value[0]);
    assert_eq!((first(0), first(written / 4000 - 1)), (Some(b'v'), Some(b'v')));
    assert_eq!((first(1_004_999), first(written / 4000)), (Some(b'w'), None));
}

#[test]
fn a_write_that_may_not_wait_for_a_flush_fails_and_writes_nothing() {
    let (fs, gate) = (MemFs::new(), Gate::before_syncs_of("tbl"));
    let db = open_gated(&fs, &gate);
    let _end = gate.open_at_end();
    gate.close();
    let filled = fill(&db);
    assert!(filled > 300, "a write was refused while there was space: {filled}");

    // One writer waits as long as it takes, and delays no other call.
    let (stalled, done) = (db.clone(), Arc::new(AtomicBool::new(false)));
    let is_done = Arc::clone(&done);
    let waiter = thread::spawn(move || {
        stalled.put("patient", [b'p'; 20_000]).unwrap();
        is_done.store(true, Ordering::SeqCst);
    });
    gate.wait_for_a_thread();

    let message =
        assert_error(db.with(&NOW).put("a", [0; 1000]), ErrorKind::Busy, None).to_string();
    assert!(message.contains("try again later"), "{message}");
    let start = Instant::now();
    let soon = WriteOptions { deadline: Some(Duration::from_millis(30)), sync: true, ..NOW };
    let mut batch = WriteBatch::new();
    batch.put("a", [0; 1000]).merge("b", number(1)).put("c", [0; 1000]);
    assert_error(db.with(&soon).write(&batch), ErrorKind::Busy, None);
    assert!(start.elapsed() >= Duration::from_millis(30));
    assert_error(
        db.default_keyspace().with(&NOW).delete_range("fill-0".."fill-9"),
        ErrorKind::Busy,
        None,
    );
    let whole_reach = WriteOptions { deadline: Some(Duration::MAX), ..NOW };

    // Readers, snapshots, syncs and new keyspaces do not wait behind the stall.
    let snapshot = db.snapshot();
    for key in ["a", "b", "c", "patient"] {
        assert_eq!(db.get(key).unwrap(), None, "{key} was written half-way");
        assert_eq!(snapshot.get(key).unwrap(), None);
    }
    assert_eq!(db.iter().unwrap().count(), filled);
    db.sync().unwrap();
    db.create_keyspace("new", KeyspaceOptions::default()).unwrap();
    assert!(!done.load(Ordering::SeqCst), "no writer waited");

    gate.open();
    db.with(&whole_reach).write(&batch).unwrap();
    waiter.join().unwrap();
    assert_eq!((count(&db, "b"), db.iter().unwrap().count()), (1, filled + 4));
    assert!(db.stats().stall_micros >= 30_000, "{:?}", db.stats());
}

/// Without workers, a write does background work itself. With a deadline of zero it does not.
#[test]
fn without_threads_zero_means_not_to_work_either() {
    let fs = MemFs::new();
    let small = Options { write_buffer_size: 64 << 10, max_write_buffers: 2, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let filled = fill(&db);
    assert_eq!(db.stats().flushes, 0);
    let soon = WriteOptions { deadline: Some(Duration::from_secs(1)), ..NOW };
    db.with(&soon).put("soon", [0; 100]).unwrap();
    assert!(db.stats().flushes > 0);
    assert_eq!(db.iter().unwrap().count(), filled + 1);
}

/// H23: a sync that does not end delays only its caller.
#[test]
fn h23_writes_without_sync_do_not_wait_for_syncs() {
    let (fs, gate) = (MemFs::new(), Gate::before_syncs_of("log"));
    let db = open_gated(&fs, &gate);
    let _end = gate.open_at_end();
    db.merge("counter", number(1)).unwrap();
    gate.close();
    let syncing = db.clone();
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    let waiter = thread::spawn(move || syncing.with(&synced).put("synced", "v").unwrap());
    gate.wait_for_a_thread();
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    for _ in 0..1000 {
        db.merge("counter", number(1)).unwrap();
        db.with(&unlogged).merge("unlogged", number(1)).unwrap();
        db.with(&NOW).merge("counter", number(1)).unwrap();
    }
    assert_eq!((count(&db, "counter"), count(&db, "unlogged")), (2001, 1000));
    assert!(db.get("synced").unwrap().is_some(), "the write is visible before it is durable");
    assert!(!waiter.is_finished(), "the syncing caller did not wait");
    // The part that is now cut off was never called durable.
    assert_eq!(count(&reopen(&fs.crash()).unwrap(), "counter"), 0);
    gate.open();
    waiter.join().unwrap();
    let survivor = reopen(&fs.crash()).unwrap();
    assert!(survivor.get("synced").unwrap().is_some());
    assert!(count(&survivor, "counter") > 0, "what was logged before is durable with it");
}

/// H15: writers take the lock in any order, but each gets it.
#[test]
fn h15_every_writer_gets_its_share() {
    const WRITERS: usize = 6;
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 256 << 20, ..options(&fs) }).unwrap();
    let writes: [AtomicUsize; WRITERS] = Default::default();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for own in &writes {
            let (db, stop) = (&db, &stop);
            let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    db.with(&unlogged).merge("hot", number(1)).unwrap();
                    own.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _stop = RaisedAtEnd(&stop);
        let start = Instant::now();
        let counts = || writes.iter().map(|own| own.load(Ordering::Relaxed));
        // Each writer writes hundreds of times in time, whatever else the machine does.
        while counts().min().unwrap() < 500 {
            let waited = start.elapsed();
            let so_far: Vec<_> = counts().collect();
            assert!(waited < Duration::from_secs(30), "a writer starves: {so_far:?}");
            thread::sleep(Duration::from_millis(5));
        }
    });
    let all: usize = writes.iter().map(|own| own.load(Ordering::Relaxed)).sum();
    assert_eq!(count(&db, "hot"), all as u64);
}

/// Progress of one writer of the mix.
#[derive(Default)]
struct Done {
    /// Logged batches that returned.
    logged: AtomicUsize,
    /// Logged batches that had returned before some finished sync began.
    durable: AtomicUsize,
}

const MIXED: usize = 4;

/// Runs one writer: logged batches, some of them synced, and unlogged batches between. It writes
/// while `pause` is false.
fn write_a_mix(
    db: &Db,
    writer: usize,
    all: &[Done; MIXED],
    (pause, stop): (&AtomicBool, &AtomicBool),
) {
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    for n in 0.. {
        thread::sleep(Duration::from_micros(100));
        while pause.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_micros(100));
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let mut batch = WriteBatch::new();
        let sync = n % 7 == writer;
        batch.put(format!("logged-{writer}-{n:06}"), [b'v'; 40]).merge("logged", number(1));
        let before: [usize; MIXED] =
            std::array::from_fn(|other| all[other].logged.load(Ordering::SeqCst));
        db.with(&WriteOptions { sync, ..WriteOptions::default() }).write(&batch).unwrap();
        all[writer].logged.store(n + 1, Ordering::SeqCst);
        if sync {
            for (other, before) in all.iter().zip(before) {
                other.durable.fetch_max(before, Ordering::SeqCst);
            }
            all[writer].durable.fetch_max(n + 1, Ordering::SeqCst);
        }
        if n % 3 == 0 {
            let mut batch = WriteBatch::new();
            batch.put(format!("unlogged-a-{writer}-{n:06}"), [b'v'; 40]);
            batch.merge("unlogged", number(1)).put(format!("unlogged-b-{writer}-{n:06}"), "v");
            db.with(&unlogged).write(&batch).unwrap();
        }
    }
}

/// Checks what a crash left. Returns the numbers of logged and unlogged batches.
fn check_survivors(db: &Db, least: [usize; MIXED]) -> (usize, usize) {
    let keys: Vec<String> =
        db.iter().unwrap().map(|entry| String::from_utf8(entry.unwrap().0).unwrap()).collect();
    let with = |prefix: &str| -> Vec<&str> {
        keys.iter().filter_map(|key| key.strip_prefix(prefix)).collect()
    };
    for (writer, least) in least.into_iter().enumerate() {
        let left = with(&format!("logged-{writer}-"));
        let prefix: Vec<_> = (0..left.len()).map(|n| format!("{n:06}")).collect();
        assert_eq!(left, prefix, "the batches of writer {writer} are no prefix");
        assert!(left.len() >= least, "{} left of writer {writer}, {least} durable", left.len());
    }
    let (logged, unlogged) = (with("logged-").len(), with("unlogged-a-"));
    assert_eq!(unlogged, with("unlogged-b-"), "the crash left half of an unlogged batch");
    assert_eq!(count(db, "logged"), logged as u64, "not exactly once");
    assert_eq!(count(db, "unlogged"), unlogged.len() as u64, "not exactly once");
    (logged, unlogged.len())
}

#[test]
fn a_crash_under_a_mix_of_synced_and_unlogged_writers_leaves_a_prefix() {
    let fs = MemFs::new();
    let env = Env { threads: Arc::new(SystemThreads), ..Env::in_memory(fs.clone()) };
    let small = Options {
        env,
        write_buffer_size: 32 << 10,
        max_write_buffers: 4,
        level0_compaction_trigger: 2,
        ..options(&fs)
    };
    let db = Db::open(PATH, small).unwrap();
    let all = <[Done; MIXED]>::default();
    let (pause, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut lost = 0;
    let mut unlogged_left = 0;
    thread::scope(|scope| {
        for writer in 0..MIXED {
            let (db, all, flags) = (&db, &all, (&pause, &stop));
            scope.spawn(move || write_a_mix(db, writer, all, flags));
        }
        let _stop = RaisedAtEnd(&stop);
        for seed in 0..30 {
            thread::sleep(Duration::from_millis(10));
            let durable = std::array::from_fn(|n| all[n].durable.load(Ordering::SeqCst));
            let crashed = fs.crash_with(seed);
            let returned = std::array::from_fn(|n| all[n].logged.load(Ordering::SeqCst));
            let killed = fs.kill();
            // On a slow machine the checks would never catch up with the writers.
            pause.store(true, Ordering::Relaxed);
            let left = check_survivors(&reopen(&crashed).unwrap(), durable);
            let killed = check_survivors(&reopen(&killed).unwrap(), returned);
            pause.store(false, Ordering::Relaxed);
            lost += killed.0.saturating_sub(left.0);
            unlogged_left = unlogged_left.max(left.1);
        }
    });
    assert!(
        lost > 0 && unlogged_left > 0,
        "the crashes lost too little to test anything: {lost} {unlogged_left}"
    );
    drop(db);
    let all = all.map(|done| done.logged.into_inner());
    let whole = check_survivors(&reopen(&fs).unwrap(), all);
    assert_eq!(whole.0, all.iter().sum::<usize>());
}

/// Batches onto a memtable that no cache holds fetch ahead. Whatever keys, kinds and keyspaces a
/// group mixes, each write happens.
#[test]
fn a_batch_that_fetches_ahead_loses_no_write() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 16 << 20, ..options(&fs) }).unwrap();
    let other = db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
    let add = db.operator("int64add").unwrap();
    let key = |n: u64| format!("{:05}", n * 7919 % 20_000);
    for n in 0..20_000 {
        db.put(key(n), [b'v'; 100]).unwrap();
    }
    assert!(db.stats().memtable_bytes > 2 << 20, "no flush has taken the keys");
    for len in [15, 16, 17, 33, 1000] {
        let mut batch = WriteBatch::new();
        for n in 0..len {
            match n % 5 {
                0 => batch.put(key(n), format!("{len}-{n}")),
                1 => batch.put_in(&other, key(n), format!("{len}-{n}")),
                2 => batch.delete(key(n)),
                3 => batch.delete_range(format!("absent-{n}")..format!("absent-{n}x")),
                _ => batch.delete(key(n)).merge_with(&add, key(n), 7_i64.to_le_bytes()),
            };
        }
        db.write(&batch).unwrap();
        for n in 0..len {
            let expected = (n % 5 == 0).then(|| format!("{len}-{n}").into_bytes());
            match n % 5 {
                0 | 2 => assert_eq!(db.get(key(n)).unwrap().map(|v| v.to_vec()), expected),
                1 => assert_eq!(
                    &*other.get(key(n)).unwrap().unwrap(),
                    format!("{len}-{n}").as_bytes()
                ),
                4 => assert_eq!(&*db.get(key(n)).unwrap().unwrap(), 7_i64.to_le_bytes()),
                _ => {}
            }
        }
    }
}
