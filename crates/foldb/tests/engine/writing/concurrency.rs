//! Runs readers, writers, snapshots, iterators, flushes and compactions at once, on real threads
//! and real files.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use foldb::{
    CompactionPreset, Db, ErrorKind, KeyspaceOptions, Options, ReadOptions, WriteBatch,
    WriteOptions,
};
use tempfile::TempDir;

use crate::support::{count, number};

/// Time that each test here lets its threads run.
const DURATION: Duration = Duration::from_millis(1500);
/// Longest wait for a thread that should end at once.
const PATIENCE: Duration = Duration::from_secs(60);
const KEYS: u64 = 200;

/// Options under which a second of writing flushes and compacts many times.
fn small(preset: CompactionPreset) -> Options {
    Options {
        create_if_missing: true,
        default: KeyspaceOptions {
            merge_operator: Some("uint64add".to_owned()),
            compaction: Some(preset),
            ..KeyspaceOptions::default()
        },
        write_buffer_size: 32 << 10,
        target_file_size: 8 << 10,
        block_size: 1024,
        block_cache_size: 64 << 10,
        max_open_files: 16,
        level0_compaction_trigger: 2,
        max_bytes_for_level_base: 64 << 10,
        max_bytes_for_level_multiplier: 4.0,
        max_background_compactions: 2,
        ..Options::default()
    }
}

fn open(path: &Path) -> Db {
    Db::open(path, small(CompactionPreset::LazyLeveled)).unwrap()
}

fn key(n: u64) -> String {
    format!("key-{:04}", n % KEYS)
}

/// Threads that run until they are stopped.
struct Crew {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    fn new() -> Crew {
        Crew { stop: Arc::default(), threads: Vec::new() }
    }

    /// Adds a thread that repeats `body`, which gets the number of its earlier runs.
    fn repeat(&mut self, mut body: impl FnMut(u64) + Send + 'static) {
        let stop = Arc::clone(&self.stop);
        self.threads.push(thread::spawn(move || {
            for round in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                body(round);
            }
        }));
    }

    /// Lets the threads run, stops them and waits for them.
    ///
    /// # Panics
    /// When one of them panicked or does not end.
    fn work_for(self, duration: Duration) {
        self.work_until(duration, || true);
    }

    /// Lets the threads run for a duration, and then on until `is_enough`. On a slow machine the
    /// duration alone may be too short for what a test is about.
    ///
    /// # Panics
    /// When one of them panicked or does not end, or if it is never enough.
    fn work_until(self, duration: Duration, is_enough: impl Fn() -> bool) {
        thread::sleep(duration);
        let deadline = Instant::now() + PATIENCE;
        let mut enough = is_enough();
        // A thread that ends by itself has panicked.
        while !enough && Instant::now() < deadline && !self.threads.iter().any(|t| t.is_finished())
        {
            thread::sleep(Duration::from_millis(10));
            enough = is_enough();
        }
        self.stop.store(true, Ordering::Relaxed);
        join_all(self.threads);
        assert!(enough, "what the test is about did not happen");
    }
}

fn join_all(threads: Vec<JoinHandle<()>>) {
    let deadline = Instant::now() + PATIENCE;
    while threads.iter().any(|thread| !thread.is_finished()) {
        assert!(Instant::now() < deadline, "a thread hangs");
        thread::sleep(Duration::from_millis(1));
    }
    for thread in threads {
        thread.join().expect("no thread panics");
    }
}

/// One batch changes two keys by the same amount; every reader sees them equal.
#[test]
fn two_keys_of_one_batch_are_never_seen_apart() {
    let dir = TempDir::new().unwrap();
    let db = Db::open(dir.path(), small(CompactionPreset::Leveled)).unwrap();
    let (left, right) = ("a-left", "z-right");
    let mut crew = Crew::new();
    for writer in 0..2u64 {
        let db = db.clone();
        crew.repeat(move |round| {
            let mut batch = WriteBatch::new();
            batch.merge(left, number(1)).put(key(round * 2 + writer), [b'v'; 200]);
            if round % 50 == 0 {
                batch.delete(key(round));
            }
            batch.merge(right, number(1));
            db.write(&batch).unwrap();
        });
    }
    let looks = Arc::new(AtomicU64::new(0));
    for _ in 0..2 {
        let (db, looks) = (db.clone(), Arc::clone(&looks));
        crew.repeat(move |_| {
            let snapshot = db.snapshot();
            let (first, second) = (snapshot.get(left).unwrap(), snapshot.get(right).unwrap());
            assert_eq!(first, second, "through a snapshot");
            looks.fetch_add(1, Ordering::Relaxed);
        });
    }
    let (reader, scans) = (db.clone(), Arc::clone(&looks));
    crew.repeat(move |round| {
        let mut iter = reader.iter().unwrap();
        let ends = [left, right].map(|key| {
            let there = if round % 2 == 0 { iter.seek(key) } else { iter.seek_for_prev(key) };
            let there = there.unwrap() && iter.key() == key.as_bytes();
            there.then(|| iter.value().unwrap().to_vec())
        });
        assert_eq!(ends[0], ends[1], "through an iterator");
        scans.fetch_add(1, Ordering::Relaxed);
    });
    crew.work_until(DURATION, || {
        let stats = db.stats();
        let looks = looks.load(Ordering::Relaxed);
        looks > 100 && stats.flushes > 2 && stats.compactions > 0
    });
    assert_eq!(count(&db, left), count(&db, right));
}

/// H10: batches that delete everything and put twenty keys of one round. Whatever is flushed or
/// compacted meanwhile, a reader finds all twenty of one round, by every way of reading.
#[test]
fn h10_a_range_delete_and_what_replaces_it_are_never_seen_apart() {
    const TOGETHER: u64 = 20;
    let dir = TempDir::new().unwrap();
    let db = open(dir.path());
    let replace = |db: &Db, round: u64| {
        let mut batch = WriteBatch::new();
        // Deletes everything at once, or in pieces, so that tombstones nest, touch and overlap.
        match round % 3 {
            0 => batch.delete_range(..),
            1 => batch.delete_range(key(0)..=key(7)).delete_range(key(5)..),
            _ => batch.delete_range(..key(13)).delete_range(key(13)..=key(TOGETHER)),
        };
        for n in 0..TOGETHER {
            // A merge onto a deleted key: onto nothing.
            batch.merge(key(n), number(round));
        }
        db.write(&batch).unwrap();
    };
    replace(&db, 0);
    let mut crew = Crew::new();
    crew.repeat({
        let db = db.clone();
        move |round| replace(&db, round)
    });
    for way in 0..3u64 {
        let db = db.clone();
        crew.repeat(move |_| {
            let snapshot = db.snapshot();
            let options = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
            let keys = (0..TOGETHER).map(key);
            let values: Vec<Vec<u8>> = match way {
                0 => {
                    let entries = db.with(&options).range(..).unwrap();
                    entries.map(|entry| entry.unwrap().1.to_vec()).collect()
                }
                1 => {
                    let entries = db.with(&options).range(..).unwrap().rev();
                    entries.map(|entry| entry.unwrap().1.to_vec()).collect()
                }
                _ => {
                    let read = db.default_keyspace().with(&options).multi_get(keys).unwrap();
                    read.into_iter().map(|value| value.unwrap().unwrap().to_vec()).collect()
                }
            };
            assert_eq!(values.len() as u64, TOGETHER, "way {way}");
            assert!(values.iter().all(|value| *value == values[0]), "way {way}: {values:?}");
        });
    }
    crew.work_until(DURATION, || {
        let stats = db.stats();
        stats.flushes > 2 && stats.range_deletes > 100
    });
    db.verify().unwrap();
}

#[test]
fn counters_add_up_exactly() {
    let presets =
        [CompactionPreset::Leveled, CompactionPreset::Tiered, CompactionPreset::LazyLeveled];
    for preset in presets {
        let dir = TempDir::new().unwrap();
        let db = Db::open(dir.path(), small(preset)).unwrap();
        let total = Arc::new(AtomicU64::new(0));
        let mut crew = Crew::new();
        for writer in 0..3u64 {
            let (db, total) = (db.clone(), Arc::clone(&total));
            crew.repeat(move |round| {
                let sync = WriteOptions { sync: round % 500 == 0, ..WriteOptions::default() };
                db.with(&sync).merge(key(round * 7 + writer), number(1)).unwrap();
                total.fetch_add(1, Ordering::Relaxed);
            });
        }
        let reader = db.clone();
        crew.repeat(move |_| {
            let merges = reader.stats().merges;
            assert!(sum(&reader) > 0 || merges == 0);
        });
        let worker = db.clone();
        crew.repeat(move |round| match round % 3 {
            0 => worker.flush().unwrap(),
            1 => worker.compact(key(round * 31)..key(round * 31 + 50)).unwrap(),
            _ => thread::sleep(Duration::from_millis(20)),
        });
        crew.work_for(DURATION / 2);
        let total = total.load(Ordering::Relaxed);
        assert_eq!(sum(&db), total, "{preset:?}");
        db.wait_for_background().unwrap();
        assert_eq!(sum(&db), total, "{preset:?} at rest");
        db.close().unwrap();
        drop(db);
        let db = Db::open(dir.path(), small(preset)).unwrap();
        assert_eq!(sum(&db), total, "{preset:?} opened again");
        assert_eq!(db.stats().merges, total);
        db.compact(..).unwrap();
        assert_eq!(sum(&db), total, "{preset:?} compacted");
    }
}

/// Keys only ever grow here, and no read sees less than an earlier one (H3).
#[test]
fn reads_never_go_back_in_time() {
    let dir = TempDir::new().unwrap();
    let db = open(dir.path());
    let mut crew = Crew::new();
    let writer = db.clone();
    crew.repeat(move |round| {
        writer.merge("k", number(1)).unwrap();
        writer.put(key(round), [b'v'; 100]).unwrap();
        if round % 100 == 0 {
            writer.flush().unwrap();
        }
    });
    for by_scan in [false, false, true] {
        let db = db.clone();
        let mut last = 0;
        crew.repeat(move |_| {
            let now = if by_scan {
                let mut iter = db.iter().unwrap();
                let there = iter.seek("k").unwrap() && iter.key() == b"k";
                let value = there.then(|| iter.value().unwrap()[..].try_into().unwrap());
                value.map_or(0, u64::from_le_bytes)
            } else {
                count(&db, "k")
            };
            assert!(now >= last, "{now} after {last}");
            last = now;
        });
    }
    let compactor = db.clone();
    crew.repeat(move |_| compactor.compact(..).unwrap());
    crew.work_for(DURATION);
}

/// A snapshot and its iterator give the same answers however often and late they are asked.
#[test]
fn a_snapshot_reads_the_same_twice() {
    let dir = TempDir::new().unwrap();
    let db = open(dir.path());
    let mut crew = Crew::new();
    let writer = db.clone();
    crew.repeat(move |round| {
        let n = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        match n % 4 {
            0 => writer.delete(key(n)).unwrap(),
            1 => writer.put(key(n), number(n)).unwrap(),
            _ => writer.merge(key(n), number(1)).unwrap(),
        }
    });
    let compactor = db.clone();
    crew.repeat(move |_| {
        compactor.compact(..).unwrap();
        thread::sleep(Duration::from_millis(5));
    });
    for _ in 0..2 {
        let db = db.clone();
        crew.repeat(move |_| {
            let snapshot = db.snapshot();
            let mut late = snapshot.iter().unwrap();
            let first: Vec<_> = snapshot.iter().unwrap().map(Result::unwrap).collect();
            thread::sleep(Duration::from_millis(10));
            let again: Vec<_> = snapshot.iter().unwrap().map(Result::unwrap).collect();
            assert_eq!(first, again);
            let mut backwards = Vec::new();
            while late.retreat().unwrap() {
                backwards.push((late.key().to_vec(), late.value().unwrap().clone()));
            }
            backwards.reverse();
            assert_eq!(first, backwards, "an iterator made early and moved late");
            for (key, value) in &first {
                assert_eq!(snapshot.get(key).unwrap().as_ref(), Some(value));
            }
        });
    }
    crew.work_for(DURATION);
}

/// Operands of one writer stay in its order, whatever other writers do.
#[test]
fn each_writers_operands_stay_in_order() {
    let dir = TempDir::new().unwrap();
    let mut options = small(CompactionPreset::Tiered);
    options.default.merge_operator = Some("stringappend:,".to_owned());
    let db = Db::open(dir.path(), options).unwrap();
    let mut crew = Crew::new();
    for name in ["a", "b", "c"] {
        let db = db.clone();
        crew.repeat(move |round| {
            // A list of a hundred operands, then the next list.
            db.merge(format!("list-{}", round / 100), format!("{name}{}", round % 100)).unwrap();
        });
    }
    crew.work_for(DURATION / 2);
    db.compact(..).unwrap();
    for entry in db.prefix("list-").unwrap() {
        let (key, list) = entry.unwrap();
        let list = std::str::from_utf8(&list).unwrap();
        for name in ["a", "b", "c"] {
            let own = list.split(',').filter_map(|operand| operand.strip_prefix(name));
            let own: Vec<usize> = own.map(|n| n.parse().unwrap()).collect();
            let expected: Vec<usize> = (0..own.len()).collect();
            assert_eq!(own, expected, "{name} in {}", key.escape_ascii());
        }
    }
}

/// A close while all threads work: they get `Closed`, no thread panics or hangs, and every
/// acknowledged write is there at the next open.
#[test]
fn close_while_readers_and_writers_run() {
    for round in 0..6 {
        let dir = TempDir::new().unwrap();
        let db = open(dir.path());
        let acknowledged = Arc::new(AtomicU64::new(0));
        let mut threads = Vec::new();
        for _ in 0..2 {
            let (db, acknowledged) = (db.clone(), Arc::clone(&acknowledged));
            threads.push(thread::spawn(move || {
                until_closed(|| {
                    db.merge("k", number(1))?;
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                    db.put(key(acknowledged.load(Ordering::Relaxed)), [b'v'; 300])
                });
            }));
        }
        for work in 0..5 {
            let db = db.clone();
            threads.push(thread::spawn(move || {
                until_closed(|| match work {
                    0 => db.get("k").map(drop),
                    1 => db.iter()?.try_for_each(|entry| entry.map(drop)),
                    2 => db.flush(),
                    3 => db.compact(..),
                    _ => db.sync(),
                });
            }));
        }
        thread::sleep(Duration::from_millis(20 + 15 * round));
        db.close().unwrap();
        join_all(threads);
        db.close().unwrap();
        for error in [
            db.get("k").unwrap_err(),
            db.put("k", "1").unwrap_err(),
            db.iter().unwrap_err(),
            db.flush().unwrap_err(),
            db.compact(..).unwrap_err(),
            db.sync().unwrap_err(),
            db.wait_for_background().unwrap_err(),
            db.step_background().unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        }
        drop(db);
        let db = open(dir.path());
        assert_eq!(count(&db, "k"), acknowledged.load(Ordering::Relaxed));
    }
}

fn until_closed(mut work: impl FnMut() -> foldb::Result<()>) {
    loop {
        match work() {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Closed => return,
            Err(error) => panic!("expected Closed, got {error}"),
        }
    }
}

/// Iterators and snapshots keep the database alive; the last of them closes it.
#[test]
fn snapshots_and_iterators_outlive_the_handle() {
    let dir = TempDir::new().unwrap();
    let db = open(dir.path());
    for n in 0..KEYS {
        db.put(key(n), number(n)).unwrap();
    }
    db.flush().unwrap();
    let (snapshot, mut iter) = (db.snapshot(), db.iter().unwrap());
    let opt = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
    let bounded = db.with(&opt).range(key(10)..key(20)).unwrap();
    drop((db, opt));

    let locked = Db::open(dir.path(), small(CompactionPreset::Leveled)).unwrap_err();
    assert_eq!(locked.kind(), ErrorKind::Locked);
    assert_eq!(snapshot.get(key(7)).unwrap().unwrap(), number(7));
    assert_eq!(snapshot.iter().unwrap().count() as u64, KEYS);
    drop(snapshot);
    assert_eq!(bounded.count(), 10);
    assert!(iter.seek(key(100)).unwrap());
    let last = thread::spawn(move || {
        assert!(iter.retreat().unwrap());
        assert_eq!(iter.key(), key(99).as_bytes());
        drop(iter);
    });
    last.join().unwrap();
    assert_eq!(open(dir.path()).iter().unwrap().count() as u64, KEYS);
}

/// After a close, an existing iterator goes on; a snapshot returns `Closed`.
#[test]
fn iterators_go_on_after_close() {
    let dir = TempDir::new().unwrap();
    let db = open(dir.path());
    for n in 0..KEYS {
        db.put(key(n), [b'v'; 500]).unwrap();
    }
    db.flush().unwrap();
    let (snapshot, iter) = (db.snapshot(), db.iter().unwrap());
    db.compact(..).unwrap();
    db.close().unwrap();
    assert_eq!(snapshot.get(key(0)).unwrap_err().kind(), ErrorKind::Closed);
    for entry in iter {
        assert_eq!(entry.unwrap().1, [b'v'; 500]);
    }
}

/// Flushes and compactions wake the writers that wait for them.
#[test]
fn stalled_writers_are_woken() {
    let dir = TempDir::new().unwrap();
    let options = Options {
        write_buffer_size: 8 << 10,
        max_write_buffers: 2,
        level0_slowdown_trigger: 3,
        level0_stop_trigger: 4,
        ..small(CompactionPreset::Leveled)
    };
    let db = Db::open(dir.path(), options).unwrap();
    let threads = (0..3u64)
        .map(|writer| {
            let db = db.clone();
            thread::spawn(move || {
                for round in 0..500 {
                    db.put(format!("{writer}-{round}"), [b'v'; 400]).unwrap();
                }
            })
        })
        .collect();
    join_all(threads);
    assert_eq!(db.iter().unwrap().count(), 1500);
    assert!(db.stats().stall_micros > 0, "no writer was stalled: {:?}", db.stats());
}

/// Returns the sum of all counters.
fn sum(db: &Db) -> u64 {
    db.iter()
        .unwrap()
        .map(|entry| u64::from_le_bytes(entry.unwrap().1[..].try_into().expect("8 bytes")))
        .sum()
}
