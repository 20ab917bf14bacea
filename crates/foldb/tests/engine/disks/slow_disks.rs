//! Tests disks that are slow, hang or sometimes fail, under several threads. Writes are paced,
//! calls keep their deadlines, and every waiting writer is woken. Memory stays in its budget, and
//! the database reports no write as durable that is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::env::{Env, MemFs, SystemClock, SystemThreads, Trouble};
use foldb::{Db, ErrorKind, Options, WriteOptions};

use crate::support::{PATH, watched};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
const WRITE_BUFFER: usize = 16 << 10;
const MOST_BUFFERS: usize = 4;

/// Opens a database in memory with real threads. Returns it with the switch for its disk's trouble.
fn open(fs: &MemFs) -> (Db, Arc<Trouble>) {
    let trouble = Arc::new(Trouble::default());
    let env = Env {
        fs: watched(fs, &trouble),
        clock: Arc::new(SystemClock::default()),
        threads: Arc::new(SystemThreads),
        seed: Some(1),
    };
    let options = Options {
        create_if_missing: true,
        write_buffer_size: WRITE_BUFFER,
        max_write_buffers: MOST_BUFFERS,
        level0_compaction_trigger: 2,
        level0_slowdown_trigger: 4,
        level0_stop_trigger: 6,
        env,
        ..Options::default()
    };
    (Db::open(PATH, options).unwrap(), trouble)
}

fn key(thread: usize, n: usize) -> String {
    format!("{thread}-{n:06}")
}

/// The thousands of calls behind these writes take one or two milliseconds each instead of
/// microseconds.
#[test]
fn writes_to_a_disk_a_hundred_times_slower_are_paced_and_kept_in_memory_within_bounds() {
    let fs = MemFs::new();
    let (db, trouble) = open(&fs);
    trouble.slow_down(Duration::from_micros(500));
    let most_bytes = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..3 {
            let (db, most_bytes) = (&db, &most_bytes);
            scope.spawn(move || {
                for n in 0..300 {
                    db.put(key(thread, n), [7; 300]).unwrap();
                    most_bytes.fetch_max(db.stats().memtable_bytes, Ordering::Relaxed);
                }
            });
        }
    });
    // One active memtable and the sealed ones. Arenas are rounded up to pages and shards.
    let (most, bound) =
        (most_bytes.into_inner(), (MOST_BUFFERS * (WRITE_BUFFER + (32 << 10))) as u64);
    assert!(most <= bound, "{most} bytes of memtables, {bound} are allowed");
    let stats = db.stats();
    assert!(stats.flushes > 5, "{} flushes are too few", stats.flushes);
    trouble.end();
    assert_eq!(db.iter().unwrap().count(), 900);
    db.close().unwrap();
}

/// One writer hangs in the log with the writer lock. The others meet their deadlines.
#[test]
fn a_hanging_append_holds_no_writer_beyond_its_deadline() {
    let hang = Duration::from_millis(1500);
    let fs = MemFs::new();
    let (db, trouble) = open(&fs);
    db.put("warm", "up").unwrap();
    trouble.hang_once(hang);
    thread::scope(|scope| {
        let (db, trouble) = (&db, &trouble);
        scope.spawn(move || db.put("first", "1").unwrap());
        while trouble.hung() == 0 {
            thread::yield_now();
        }
        for deadline in [Duration::ZERO, Duration::from_millis(20)] {
            let options = WriteOptions { deadline: Some(deadline), ..WriteOptions::default() };
            let begun = Instant::now();
            let outcome = db.with(&options).put("second", "2");
            let took = begun.elapsed();
            // On a busy machine this thread may come late, and find the disk working again.
            assert!(took < hang, "a deadline of {deadline:?} was kept after {took:?}");
            let kind = outcome.map_err(|error| error.kind());
            assert!(matches!(kind, Ok(()) | Err(ErrorKind::Busy)), "{kind:?}");
        }
    });
    assert_eq!(&db.get("first").unwrap().unwrap()[..], b"1");
}

/// Any call of the engine may hang: the disk hangs at another call after each of many writes.
#[test]
fn every_writer_is_woken_after_a_disk_hangs() {
    let fs = MemFs::new();
    let (db, trouble) = open(&fs);
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..3 {
            let (db, done) = (&db, &done);
            scope.spawn(move || {
                for n in 0..400_usize {
                    db.with(&WriteOptions { sync: n.is_multiple_of(50), ..SYNC })
                        .put(key(thread, n), [7; 300])
                        .unwrap();
                }
                done.fetch_add(1, Ordering::Release);
            });
        }
        while done.load(Ordering::Acquire) < 3 {
            trouble.hang_once(Duration::from_millis(20));
            thread::sleep(Duration::from_millis(7));
        }
    });
    assert!(trouble.hung() > 3, "{} calls hung", trouble.hung());
    assert_eq!(db.iter().unwrap().count(), 1200);
    db.wait_for_background().unwrap();
    db.close().unwrap();
}

/// A sync fails at some moment. Every write acknowledged as synced, before or after it, survives a
/// power loss.
#[test]
fn after_a_failed_sync_nothing_is_called_durable_that_is_not() {
    let mut failures = 0;
    for failing in 0..40 {
        let fs = MemFs::new();
        let (db, trouble) = open(&fs);
        let mut durable = Vec::new();
        for n in 0..40 {
            if n == failing {
                trouble.fail_next_sync();
            }
            let value = vec![n as u8; 600];
            match db.with(&SYNC).put(key(0, n), &value) {
                Ok(()) => durable.push(n),
                Err(error) => {
                    failures += 1;
                    let expected = [ErrorKind::Io, ErrorKind::Poisoned];
                    assert!(expected.contains(&error.kind()), "{error}");
                }
            }
        }
        let left = fs.crash();
        drop(db);
        let (db, _) = open(&left);
        for n in durable {
            assert!(
                db.get(key(0, n)).unwrap().is_some(),
                "write {n} was durable, {failing} failed"
            );
        }
    }
    assert!(failures > 0, "no write met the failure");
}

/// One call in twenty fails while three writers run. Readers see every acknowledged write. Every
/// write acknowledged as synced survives a power loss.
#[test]
fn calls_that_fail_at_random_lose_nothing_that_was_acknowledged() {
    let mut failed = 0;
    for seed in 0..15 {
        let fs = MemFs::new();
        let (db, trouble) = open(&fs);
        trouble.fail_one_in(20, seed);
        let acknowledged: Vec<Vec<usize>> = thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|thread| {
                    let db = &db;
                    scope.spawn(move || {
                        let put = |n: usize| {
                            let options = WriteOptions { sync: n.is_multiple_of(3), ..SYNC };
                            db.with(&options).put(key(thread, n), [n as u8; 300])
                        };
                        (0..60).filter(|n| put(*n).is_ok()).collect()
                    })
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        trouble.end();
        failed += trouble.failed();
        let left = fs.crash();
        for (thread, numbers) in acknowledged.iter().enumerate() {
            for n in numbers {
                assert!(db.get(key(thread, *n)).unwrap().is_some(), "seed {seed}: {thread} {n}");
            }
        }
        drop(db);
        let (db, _) = open(&left);
        for (thread, numbers) in acknowledged.iter().enumerate() {
            for n in numbers.iter().filter(|n| n.is_multiple_of(3)) {
                let found = db.get(key(thread, *n)).unwrap();
                assert!(found.is_some(), "seed {seed}: synced write {n} of {thread} is lost");
            }
        }
    }
    assert!(failed > 30, "{failed} failures are too few");
}
