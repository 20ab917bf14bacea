//! Sorted loads that are large enough for a helper, a thread that compresses and writes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use foldb::custom::Comparator;
use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, MemFs, SystemThreads, Thread, ThreadBody, Threads};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, Result};

use crate::load::order::tables;
use crate::support::{PATH, number, options};

/// Keys of a load that has a helper.
const KEYS: u64 = 60_000;

/// The operating system's threads, of which those of tables are counted.
#[derive(Debug, Default)]
struct Counted {
    started: AtomicUsize,
    running: Arc<AtomicUsize>,
}

/// A thread that runs.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Threads for Counted {
    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<Option<Thread>> {
        if name != "foldb-table" {
            return SystemThreads.spawn(name, body);
        }
        self.started.fetch_add(1, SeqCst);
        self.running.fetch_add(1, SeqCst);
        let running = Running(Arc::clone(&self.running));
        let body = move || {
            let _running = running;
            body();
        };
        SystemThreads.spawn(name, Box::new(body))
    }
}

/// Returns options with threads, and the count of those of tables.
fn threaded(fs: &MemFs) -> (Options, Arc<Counted>) {
    let threads = Arc::new(Counted::default());
    let env = Env { threads: Arc::clone(&threads) as Arc<dyn Threads>, ..options(fs).env };
    (Options { env, ..options(fs) }, threads)
}

fn key(n: u64) -> String {
    format!("key {n:08}")
}

/// A value of 48 bytes, half of which compress.
fn value(n: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(n);
    let mut value: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(24).collect();
    value.resize(48, b'v');
    value
}

/// Loads this number of keys.
fn load(db: &Db, keys: u64) -> Result<u64> {
    let mut load = db.sorted_load()?;
    (0..keys).try_for_each(|n| load.put(key(n), value(n)))?;
    Ok(load.finish()?.entries)
}

fn assert_loaded(db: &Db, keys: u64) {
    let mut expected = 0;
    for entry in db.iter().unwrap() {
        let (found, stored) = entry.unwrap();
        assert!(found == key(expected).as_bytes() && stored == value(expected), "{expected}");
        expected += 1;
    }
    assert_eq!(expected, keys);
}

#[test]
fn only_a_large_load_starts_a_helper_and_it_ends_with_the_table() {
    let fs = MemFs::new();
    let (options, threads) = threaded(&fs);
    let db = Db::open(PATH, options.clone()).unwrap();
    load(&db, 2000).unwrap();
    assert_eq!(threads.started.load(SeqCst), 0);
    load(&db, KEYS).unwrap();
    assert_eq!((threads.started.load(SeqCst), threads.running.load(SeqCst)), (1, 0));
    assert_loaded(&db, KEYS);
    drop(db);
    assert_loaded(&Db::open(PATH, options).unwrap(), KEYS);
}

/// The first write or sync that fails, with a helper or before it, ends the load.
#[test]
fn an_error_of_the_disk_reaches_the_load_and_nothing_stays() {
    let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::Other];
    for (operation, most) in [(Operation::Write, 9), (Operation::Sync, 3)] {
        for (nth, kind) in (1..=most).flat_map(|nth| kinds.map(|kind| (nth, kind))) {
            let what = format!("{operation:?} {nth}, {kind:?}");
            let fs = MemFs::new();
            let (options, threads) = threaded(&fs);
            let db = Db::open(PATH, options).unwrap();
            fs.inject(Fault::on(operation).path(".tbl").nth(nth).kind(kind));
            let mut load = db.sorted_load().unwrap();
            let added = (0..KEYS).try_for_each(|n| load.put(key(n), value(n)));
            let expected = match kind {
                io::ErrorKind::StorageFull => ErrorKind::NoSpace,
                _ => ErrorKind::Io,
            };
            if let Err(error) = &added {
                assert_eq!(error.kind(), expected, "{what}: {error}");
                let again = load.put("key 99999999", "later").unwrap_err();
                assert_eq!(again.to_string(), error.to_string(), "{what}");
            }
            let finished = added.and(load.finish().map(drop));
            let error = finished.expect_err(&what);
            assert_eq!(error.kind(), expected, "{what}: {error}");
            assert_eq!(threads.running.load(SeqCst), 0, "{what}");
            assert_eq!((tables(&fs), db.iter().unwrap().count()), (0, 0), "{what}");
            // The load as a whole failed, and a later one works.
            assert_eq!(self::load(&db, 10_000).unwrap(), 10_000, "{what}");
            assert_loaded(&db, 10_000);
        }
    }
}

#[test]
fn a_load_that_is_dropped_ends_its_helper_and_leaves_nothing() {
    let fs = MemFs::new();
    let (options, threads) = threaded(&fs);
    let db = Db::open(PATH, options).unwrap();
    for keys in [1000, 10_000, 12_345, 30_000, KEYS] {
        let mut load = db.sorted_load().unwrap();
        (0..keys).try_for_each(|n| load.put(key(n), value(n))).unwrap();
        drop(load);
        assert_eq!((threads.running.load(SeqCst), tables(&fs)), (0, 0), "{keys}");
    }
    assert!(threads.started.load(SeqCst) >= 3);
    load(&db, KEYS).unwrap();
    assert_loaded(&db, KEYS);
}

#[test]
fn several_large_loads_at_once_all_arrive() {
    let fs = MemFs::new();
    let (options, threads) = threaded(&fs);
    let db = Db::open(PATH, Options { target_file_size: 300 << 10, ..options }).unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut load = db.sorted_load().unwrap();
                (0..KEYS).for_each(|n| load.merge(key(n), number(n)).unwrap());
                assert!(load.finish().unwrap().tables > 1);
            });
        }
    });
    assert!(threads.started.load(SeqCst) >= 3);
    assert_eq!(threads.running.load(SeqCst), 0);
    let sums = db.iter().unwrap().map(|entry| entry.unwrap().1);
    assert!(sums.eq((0..KEYS).map(|n| number(3 * n))));
}

/// The order of the bytes, until it panics.
#[derive(Debug)]
struct PanicsAfter(AtomicUsize);

impl Comparator for PanicsAfter {
    fn name(&self) -> &'static str {
        "test.panics_after"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        if a == b {
            return a.cmp(b);
        }
        let left = self.0.load(SeqCst);
        assert!(left > 0, "as planned");
        self.0.store(left - 1, SeqCst);
        a.cmp(b)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

#[test]
fn a_comparator_that_panics_in_a_large_load_fails_it_and_hangs_nothing() {
    for compares in [1000, 60_000, 110_000] {
        let fs = MemFs::new();
        let (options, threads) = threaded(&fs);
        let db = Db::open(PATH, options).unwrap();
        let comparator = Arc::new(PanicsAfter(AtomicUsize::new(usize::MAX)));
        let own =
            KeyspaceOptions { comparator: Some(comparator.clone()), ..KeyspaceOptions::default() };
        let keyspace = db.create_keyspace("own", own).unwrap();
        let mut load = keyspace.sorted_load().unwrap();
        comparator.0.store(compares, SeqCst);
        let error = (0..KEYS).try_for_each(|n| load.put(key(n), value(n))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ComparatorFailed, "{error}");
        assert!(load.entries() > compares as u64 / 4, "{}", load.entries());
        assert!(load.finish().is_err());
        assert_eq!((threads.running.load(SeqCst), tables(&fs)), (0, 0), "{compares}");
        self::load(&db, 10_000).unwrap();
        assert_loaded(&db, 10_000);
    }
}

/// The batches of a helper count as background memory. A budget with no room for them has none.
#[test]
fn the_memory_of_a_helper_is_within_the_budget() {
    for (budget, is_helped) in [(8 << 20, false), (64 << 20, true)] {
        let fs = MemFs::new();
        let (options, threads) = threaded(&fs);
        let db = Db::open(PATH, Options { memory_budget: budget, ..options }).unwrap();
        let mut load = db.sorted_load().unwrap();
        let mut background = 0;
        for n in 0..KEYS {
            load.put(key(n), value(n)).unwrap();
            if n % 100 == 0 {
                let memory = db.memory();
                assert!(memory.total() <= memory.budget, "{budget}: {memory:?}");
                background = memory.background.max(background);
            }
        }
        load.finish().unwrap();
        assert_eq!(threads.started.load(SeqCst) > 0, is_helped, "{budget}");
        assert_eq!(background > 900 << 10, is_helped, "{budget}: {background}");
        assert_loaded(&db, KEYS);
    }
}
