//! A forked child has a copy of the database's memory, but none of its threads: it writes nothing,
//! waits for nothing and reads nothing wrong. The parent notices nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::{Db, Error, ErrorKind, Options, Runtime, RuntimeOptions, WriteBatch, WriteOptions};

use crate::{alone, count, key, small};

/// How long a child may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs `body` in a forked child, and waits for it.
fn in_child(body: impl FnOnce()) {
    // SAFETY: a fork of a process with threads. The child calls only what is under test, and
    // the allocator, which the C library makes usable in a child.
    match unsafe { libc::fork() } {
        0 => {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            // SAFETY: ends the child without the parent's exit handlers.
            unsafe { libc::_exit(i32::from(outcome.is_err())) }
        }
        child => wait_for(child),
    }
}

fn wait_for(child: libc::pid_t) {
    assert!(child > 0);
    let (begun, mut status) = (Instant::now(), 0);
    // SAFETY: `status` is there for the answer.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        if begun.elapsed() > PATIENCE {
            // SAFETY: the child is this process's own and has not been waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(status, 0, "the child failed");
}

fn assert_forked<T: std::fmt::Debug>(what: &str, result: Result<T, Error>) {
    let error = result.expect_err(what);
    assert_eq!(error.kind(), ErrorKind::Forked, "{what}: {error}");
}

fn assert_forked_or<T: PartialEq + std::fmt::Debug>(result: Result<T, Error>, right: T) {
    match result {
        Ok(found) => assert_eq!(found, right),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Forked, "{error}"),
    }
}

/// Every call that writes or waits.
fn call_everything(db: &Db) {
    let one = 1u64.to_le_bytes();
    let mut batch = WriteBatch::new();
    batch.put("batch", "1").put("batch 2", "2");
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    let in_time = WriteOptions { deadline: Some(Duration::from_secs(1)), ..synced };
    assert_forked("put", db.put("child", "1"));
    assert_forked("merge", db.merge("child", one));
    assert_forked("delete", db.delete("child"));
    assert_forked("delete_range", db.delete_range("a".."z"));
    assert_forked("write", db.write(&batch));
    assert_forked("an empty write", db.write(&WriteBatch::new()));
    for options in [synced, unlogged, in_time] {
        assert_forked("a put with options", db.with(&options).put("child", "1"));
    }
    assert_forked("put_if_absent", db.put_if_absent("child", "1"));
    assert_forked("update", db.update("child", |_| Some(b"1".to_vec())));
    assert_forked("take_first", db.take_first(..));
    assert_forked("merge_get", db.merge_get("child", one));
    assert_forked("transact", db.transact(|own| own.put("child", "1")));
    assert_forked("begin", db.begin().map(drop));
    assert_forked("flush", db.flush());
    assert_forked("sync", db.sync());
    assert_forked("compact", db.compact(..));
    assert_forked("wait_for_background", db.wait_for_background());
    assert_forked("step_background", db.step_background());
    assert_forked("collect_garbage", db.collect_garbage());
    assert_forked("create_keyspace", db.create_keyspace("new", Default::default()).map(drop));
    assert_forked("drop_keyspace", db.drop_keyspace("new"));
    assert_forked("clear", db.clear());
    assert_forked("operator", db.operator("max").map(drop));
    assert_forked("sorted_load", db.sorted_load().map(drop));
    assert_forked("checkpoint", db.checkpoint(db.path().with_file_name("checkpoint")));
    assert_forked("dump", db.dump(&mut Vec::new()));
    assert_forked("verify", db.verify());
    assert_forked("close", db.close());
    let _ = (db.stats(), db.memory(), db.keyspaces(), format!("{db:?}"));
    let snapshot = db.snapshot();
    assert_forked_or(snapshot.get("before").map(|value| value.map(|value| value.to_vec())), None);
    for n in [0, 1, 999] {
        let got = db.get(key(n)).map(|value| value.map(|value| value.to_vec()));
        assert_forked_or(got, Some(b"before".to_vec()));
    }
    assert_forked_or(db.iter().and_then(|mut iter| iter.try_for_each(|entry| entry.map(drop))), ());
}

#[test]
fn a_child_gets_an_error_and_the_parent_notices_nothing() {
    alone("forks::a_child_gets_an_error_and_the_parent_notices_nothing", |base| {
        let path = base.join("db");
        let db = Db::open(&path, small()).unwrap();
        for n in 0..1000 {
            db.put(key(n), "before").unwrap();
        }
        in_child(|| call_everything(&db));
        // Another handle, an iterator, a snapshot and a transaction of the parent are dropped.
        let (snapshot, mut iter) = (db.snapshot(), db.iter().unwrap());
        let transaction = db.begin().unwrap();
        transaction.put("child", "1").unwrap();
        let kept = db.clone();
        in_child(move || {
            assert_forked("commit", transaction.commit());
            assert_forked_or(iter.try_for_each(|entry| entry.map(drop)), ());
            drop(snapshot);
            drop(db);
        });
        for n in 1000..5000 {
            kept.put(key(n), "after").unwrap();
        }
        kept.flush().unwrap();
        kept.close().unwrap();
        drop(kept);
        let db = Db::open(&path, small()).unwrap();
        assert_eq!(count(&db), 5000);
        assert!(!base.join("checkpoint").exists());
    });
}

/// A load of the parent is in the middle of a table, with or without a thread that writes it.
#[test]
fn a_child_writes_nothing_into_the_parents_load() {
    alone("forks::a_child_writes_nothing_into_the_parents_load", |base| {
        let path = base.join("db");
        let db =
            Db::open(&path, Options { create_if_missing: true, ..Options::default() }).unwrap();
        for loaded in [100, 40_000] {
            let mut load = Some(db.sorted_load().unwrap());
            for n in 0..loaded {
                load.as_mut().unwrap().put(key(n), "of the parent").unwrap();
            }
            in_child(|| {
                let mut load = load.take().unwrap();
                let value = |n: u64| format!("of the child {n:050}");
                let added = (loaded..300_000).try_for_each(|n| load.put(key(n), value(n)));
                assert_forked("put", added);
                drop(load);
                assert_forked("sorted_load", db.sorted_load().map(drop));
            });
            let mut load = load.unwrap();
            for n in loaded..80_000 {
                load.put(key(n), "of the parent").unwrap();
            }
            assert_eq!(load.finish().unwrap().entries, 80_000);
            for entry in db.iter().unwrap() {
                assert_eq!(&entry.unwrap().1[..], b"of the parent");
            }
            assert_eq!(count(&db), 80_000);
        }
        db.close().unwrap();
    });
}

/// Threads of the parent hold locks at the moment of the fork, and the child has no such threads.
#[test]
fn a_child_of_a_busy_parent_never_hangs() {
    alone("forks::a_child_of_a_busy_parent_never_hangs", |base| {
        let path = base.join("db");
        let db = Db::open(&path, small()).unwrap();
        for n in 0..1000 {
            db.put(key(n), "before").unwrap();
        }
        let ended = AtomicBool::new(false);
        let written = thread::scope(|scope| {
            let (db, ended) = (&db, &ended);
            let writers = [1u64, 2].map(|writer| {
                scope.spawn(move || {
                    let mut n = 0;
                    while !ended.load(Ordering::Relaxed) {
                        db.put(key(writer << 32 | n), [7; 50]).unwrap();
                        if n % 100 == 0 {
                            db.get(key(n % 1000)).unwrap().unwrap();
                            db.snapshot();
                        }
                        n += 1;
                    }
                    n
                })
            });
            for _ in 0..40 {
                in_child(|| call_everything(db));
            }
            ended.store(true, Ordering::Relaxed);
            writers.map(|writer| writer.join().unwrap()).iter().sum::<u64>()
        });
        db.close().unwrap();
        drop(db);
        let db = Db::open(&path, small()).unwrap();
        assert_eq!(count(&db) as u64, 1000 + written);
    });
}

/// Threads of the parent open, write and close files at the moment of the fork. The child once
/// waited for ever for a lock that such a thread held.
#[test]
fn a_child_of_a_busy_parent_opens_a_database_of_its_own() {
    alone("forks::a_child_of_a_busy_parent_opens_a_database_of_its_own", |base| {
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            for name in ["one", "two"] {
                let (path, ended) = (base.join(name), &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        use_once(&path);
                    }
                });
            }
            for n in 0..60 {
                in_child(|| use_once(&base.join(format!("of child {n}"))));
            }
            ended.store(true, Ordering::Relaxed);
        });
    });
}

/// Opens a database, writes until it has several tables and logs, reads and closes.
fn use_once(path: &std::path::Path) {
    let db = Db::open(path, small()).unwrap();
    for n in 0..500 {
        db.put(key(n), [7; 400]).unwrap();
    }
    db.flush().unwrap();
    assert_eq!(count(&db), 500);
    db.close().unwrap();
}

/// Threads of the parent wait for each other's writes at the moment of the fork, and threads of the
/// child wait for each other's, too. The queue of waiters was once part of the whole process.
#[test]
fn writers_of_a_child_wait_as_writers_of_its_parent_do() {
    alone("forks::writers_of_a_child_wait_as_writers_of_its_parent_do", |base| {
        let parents = Db::open(base.join("db"), small()).unwrap();
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let (parents, ended) = (&parents, &ended);
            for writer in 0..4_u64 {
                scope.spawn(move || {
                    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
                    while !ended.load(Ordering::Relaxed) {
                        parents.with(&unlogged).put(key(writer), [7; 50]).unwrap();
                    }
                });
            }
            for n in 0..60 {
                in_child(|| write_with_four_threads(&base.join(format!("of child {n}"))));
            }
            ended.store(true, Ordering::Relaxed);
        });
    });
}

fn write_with_four_threads(path: &std::path::Path) {
    let db = Db::open(path, small()).unwrap();
    thread::scope(|scope| {
        for writer in 0..4_u64 {
            let db = &db;
            scope.spawn(move || (0..2000).for_each(|_| db.put(key(writer), "7").unwrap()));
        }
    });
    db.close().unwrap();
}

/// The child once wrote into the log that it shares with its parent, over acknowledged writes.
#[test]
fn no_acknowledged_write_of_a_killed_parent_is_lost_to_its_child() {
    alone("forks::no_acknowledged_write_of_a_killed_parent_is_lost_to_its_child", |base| {
        let path = base.join("db");
        // SAFETY: this process has no other threads yet.
        let parent = unsafe { libc::fork() };
        if parent == 0 {
            let db = Db::open(&path, small()).unwrap();
            db.put("first", "1").unwrap();
            // SAFETY: as in `in_child`.
            let child = unsafe { libc::fork() };
            for n in 0..20_000u64 {
                let (mark, len) = if child == 0 { (1 << 32, n % 37) } else { (0, n % 53) };
                let put = db.put(key(mark | n), vec![7; len as usize]);
                assert_eq!(put.is_ok(), child != 0);
            }
            if child == 0 {
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(0) };
            }
            wait_for(child);
            // SAFETY: a kill, as far as the database can tell.
            unsafe { libc::_exit(0) };
        }
        wait_for(parent);
        let db = Db::open(&path, small()).unwrap();
        assert_eq!(count(&db), 20_001);
    });
}

/// A forked child holds no lock, so a program that was killed starts again beside its child.
#[test]
fn a_killed_program_opens_its_database_again_while_its_child_lives() {
    alone("forks::a_killed_program_opens_its_database_again_while_its_child_lives", |base| {
        let path = base.join("db");
        let token = base.join("the child lives");
        // SAFETY: this process has no other threads yet.
        let parent = unsafe { libc::fork() };
        if parent == 0 {
            let db = Db::open(&path, small()).unwrap();
            db.put("first", "1").unwrap();
            // SAFETY: as in `in_child`.
            if unsafe { libc::fork() } == 0 {
                std::fs::write(&token, "").unwrap();
                thread::sleep(Duration::from_secs(20));
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(0) };
            }
            while !token.exists() {
                thread::sleep(Duration::from_millis(1));
            }
            let open = Db::open(&path, small()).map(drop).unwrap_err();
            assert_eq!(open.kind(), ErrorKind::Locked);
            // SAFETY: a kill, as far as the database can tell.
            unsafe { libc::_exit(0) };
        }
        wait_for(parent);
        let db = Db::open(&path, small()).unwrap();
        assert_eq!(db.get("first").unwrap().unwrap(), b"1");
    });
}

/// A child opens another database than its parent's, with a runtime of its own.
#[test]
fn a_child_opens_another_database_and_its_parents_one_later() {
    alone("forks::a_child_opens_another_database_and_its_parents_one_later", |base| {
        let path = base.join("db");
        let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
        let shared = Options { runtime: Some(runtime.clone()), ..small() };
        let db = Db::open(&path, shared.clone()).unwrap();
        in_child(|| {
            let error = Db::open(base.join("other"), shared.clone()).map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Forked, "{error}");
            let error = Db::open(&path, small()).map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
            let other = Db::open(base.join("other"), small()).unwrap();
            for n in 0..5000 {
                other.put(key(n), [1; 100]).unwrap();
            }
            other.flush().unwrap();
            assert_forked("put", db.put("child", "1"));
            // A child of the child.
            in_child(|| {
                assert_forked("put", other.put("child", "1"));
                assert_forked("put", db.put("child", "1"));
            });
            other.close().unwrap();
        });
        db.close().unwrap();
        drop((db, shared));
        // Only the runtime is left, with its threads.
        in_child(|| {
            drop(runtime);
            let db = Db::open(&path, small()).unwrap();
            db.put("child", "1").unwrap();
        });
        assert_eq!(count(&Db::open(&path, small()).unwrap()), 1);
    });
}
