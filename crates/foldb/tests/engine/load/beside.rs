//! Sorted loads beside writers, readers, compactions, other loads and dropped keyspaces.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use foldb::env::{Env, MemFs};
use foldb::events::{Event, EventListener};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};

use crate::support::{PATH, RaisedAtEnd, number, options};

/// Small buffers and tables, with workers.
fn busy(fs: &MemFs) -> Options {
    let memory = Env::in_memory(fs.clone());
    Options {
        write_buffer_size: 32 << 10,
        target_file_size: 8 << 10,
        block_size: 512,
        env: Env { fs: memory.fs, ..Env::default() },
        ..options(fs)
    }
}

fn key(n: u64) -> String {
    format!("key {n:03}")
}

fn sum(db: &Db) -> u64 {
    db.iter()
        .unwrap()
        .map(|entry| u64::from_le_bytes(entry.unwrap().1[..].try_into().unwrap()))
        .sum()
}

/// Each merge adds 1 and each load adds 1 to each key. No addition is lost or counted twice, and
/// every snapshot sees whole loads.
#[test]
fn loads_beside_writers_of_the_same_keys_lose_nothing() {
    const KEYS: u64 = 200;
    const LOADS: u64 = 12;
    let fs = MemFs::new();
    let db = Db::open(PATH, busy(&fs)).unwrap();
    let (done, merges) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for writer in 0..2u64 {
            let (db, done, merges) = (&db, &done, &merges);
            scope.spawn(move || {
                let mut n = writer;
                while !done.load(Ordering::Acquire) {
                    n = (n * 31 + 7) % KEYS;
                    db.merge(key(n), number(1)).unwrap();
                    merges.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let (db_read, done_read) = (&db, &done);
        scope.spawn(move || {
            while !done_read.load(Ordering::Acquire) {
                // The load marks are keys that only loads write: in a snapshot all are alike.
                let snapshot = db_read.snapshot();
                let mark = |n: u64| snapshot.get(format!("mark {n}")).unwrap();
                let first = mark(0);
                for n in 1..5 {
                    assert_eq!(mark(n), first);
                }
            }
        });
        let _end = RaisedAtEnd(&done);
        for _ in 0..LOADS {
            let mut load = db.sorted_load().unwrap();
            for n in 0..KEYS {
                load.merge(key(n), number(1)).unwrap();
            }
            for n in 0..5 {
                load.merge(format!("mark {n}"), number(1)).unwrap();
            }
            load.finish().unwrap();
        }
    });
    let expected = merges.load(Ordering::Relaxed) + LOADS * (KEYS + 5);
    assert_eq!(sum(&db), expected);
    db.flush().unwrap();
    db.wait_for_background().unwrap();
    assert_eq!(sum(&db), expected);
    db.compact(..).unwrap();
    assert_eq!(sum(&db), expected);
    drop(db);
    assert_eq!(sum(&Db::open(PATH, busy(&fs)).unwrap()), expected);
}

#[test]
fn loads_of_several_threads_all_arrive() {
    let fs = MemFs::new();
    let db = Db::open(PATH, busy(&fs)).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let mut load = db.sorted_load().unwrap();
                    for n in 0..300 {
                        load.merge(key(n), number(1)).unwrap();
                    }
                    load.finish().unwrap();
                }
            });
        }
    });
    assert_eq!(sum(&db), 4 * 5 * 300);
    db.compact(..).unwrap();
    assert_eq!(sum(&db), 4 * 5 * 300);
}

#[test]
fn keyspaces_are_dropped_beside_loads() {
    let fs = MemFs::new();
    let db = Db::open(PATH, busy(&fs)).unwrap();
    for round in 0..20 {
        let keyspace = db.create_keyspace("gone", KeyspaceOptions::default()).unwrap();
        let mut load = keyspace.sorted_load().unwrap();
        thread::scope(|scope| {
            let db = &db;
            scope.spawn(move || {
                for n in 0..round * 20 {
                    db.put(key(n % 1000), number(0)).unwrap();
                }
                db.drop_keyspace("gone").unwrap();
            });
            let added = (0..500).try_for_each(|n| load.put(key(n), "value"));
            if let Err(error) = added.and_then(|()| load.finish().map(drop)) {
                assert_eq!(error.kind(), ErrorKind::KeyspaceDropped, "{error}");
            }
        });
    }
    drop(db);
    let db = Db::open(PATH, busy(&fs)).unwrap();
    assert_eq!(db.keyspaces(), ["default"]);
}

/// A listener that writes to its database, and tries to load.
#[derive(Debug, Default)]
struct Writes {
    db: std::sync::OnceLock<Db>,
    written: AtomicU64,
}

impl EventListener for Writes {
    fn on_event(&self, event: &Event) {
        if let (Event::Flush { .. }, Some(db)) = (event, self.db.get()) {
            let mut load = db.sorted_load().unwrap();
            load.put("key", "of the listener").unwrap();
            assert_eq!(load.finish().unwrap_err().kind(), ErrorKind::Reentrant);
            if db.put("from the listener", number(0)).is_ok() {
                self.written.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// The last round of a load flushes under the writer lock. Its listeners are told afterwards.
#[test]
fn a_listener_may_write_while_a_load_flushes() {
    let fs = MemFs::new();
    let listener = Arc::new(Writes::default());
    let db = Db::open(PATH, Options { listeners: vec![listener.clone()], ..busy(&fs) }).unwrap();
    assert!(listener.db.set(db.clone()).is_ok());
    let (done, merges) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let (db, done, merges) = (&db, &done, &merges);
        scope.spawn(move || {
            while !done.load(Ordering::Acquire) {
                db.merge(key(5), number(1)).unwrap();
                merges.fetch_add(1, Ordering::Release);
            }
        });
        let _end = RaisedAtEnd(done);
        for _ in 0..8 {
            // Each load finds a key of its range in a memtable, so it flushes.
            let before = merges.load(Ordering::Acquire);
            while merges.load(Ordering::Acquire) == before {
                thread::yield_now();
            }
            let mut load = db.sorted_load().unwrap();
            for n in 0..50 {
                load.merge(key(n), number(1)).unwrap();
            }
            load.finish().unwrap();
        }
    });
    assert!(listener.written.load(Ordering::Relaxed) > 0);
    assert_eq!(u64::from_le_bytes(db.get(key(6)).unwrap().unwrap()[..].try_into().unwrap()), 8);
    db.close().unwrap();
}
