//! Replaced files are removed when their last reader is done, without any write.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use foldb::env::mem::Operation;
use foldb::env::{Env, FileSystem, MemFs, SystemClock, SystemThreads};
use foldb::garbage::GcOptions;
use foldb::{Db, Options};

use crate::support::segments::{check_all, key, put_all, separating};
use crate::support::{PATH, watched};

fn tables_and_segments(fs: &MemFs) -> Vec<PathBuf> {
    let names = fs.list(Path::new(PATH)).unwrap().into_iter();
    let names = names.filter(|name| name.ends_with(".tbl") || name.ends_with(".seg"));
    names.map(PathBuf::from).collect()
}

/// Replaces tables and segments by a compaction and a garbage collection, under an iterator in the
/// middle of them. Returns the files that the iterator holds, and the iterator.
fn replaced_under_a_reader(fs: &MemFs, db: &Db) -> (Vec<PathBuf>, foldb::Iter) {
    put_all(db, 0..300, 0);
    db.flush().unwrap();
    // Half of each file is dead after this.
    let before = tables_and_segments(fs);
    put_all(db, (0..300).step_by(2), 1);
    db.flush().unwrap();
    let mut reader = db.iter().unwrap();
    assert_eq!(reader.next().unwrap().unwrap().0, key(0).into_bytes());
    db.compact(..).unwrap();
    let none_dead = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
    db.with(&none_dead).collect_garbage().unwrap();
    let now = tables_and_segments(fs);
    let held: Vec<_> = before.into_iter().filter(|file| now.contains(file)).collect();
    let is_there = |extension: &str| {
        held.iter().any(|file| file.extension().is_some_and(|found| found == extension))
    };
    assert!(is_there("tbl") && is_there("seg"), "the reader needs them: {held:?}");
    (held, reader)
}

fn check(db: &Db) {
    check_all(db, 300, |n| Some(usize::from(n.is_multiple_of(2))));
}

#[test]
fn the_last_reader_of_replaced_files_wakes_a_worker_that_removes_them() {
    let fs = MemFs::new();
    let (threads, clock) = (Arc::new(SystemThreads), Arc::new(SystemClock::default()));
    let env = Env { threads, clock, ..Env::in_memory(fs.clone()) };
    let by_hand = Options { disable_auto_compactions: true, env, ..separating(&fs) };
    for round in 0..20 {
        let fs = MemFs::new();
        let env = Env { fs: Arc::new(fs.clone()), ..by_hand.env.clone() };
        let db = Db::open(PATH, Options { env, ..by_hand.clone() }).unwrap();
        let (held, reader) = replaced_under_a_reader(&fs, &db);
        assert_eq!(reader.count(), 299, "the iterator goes on");
        let start = Instant::now();
        while held.iter().any(|file| tables_and_segments(&fs).contains(file)) {
            assert!(start.elapsed() < Duration::from_secs(20), "in round {round}: {held:?}");
            std::thread::sleep(Duration::from_micros(200));
        }
        check(&db);
    }
}

#[test]
fn one_step_of_background_work_removes_released_files() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { disable_auto_compactions: true, ..separating(&fs) }).unwrap();
    let (held, reader) = replaced_under_a_reader(&fs, &db);
    drop(reader);
    db.step_background().unwrap();
    let left = tables_and_segments(&fs);
    assert!(held.iter().all(|file| !left.contains(file)), "{held:?} of {left:?}");
    check(&db);
}

/// The last garbage collection of a worker replaced files. The wait ends only when these files are
/// removed too, however long that takes.
#[test]
fn a_wait_for_background_work_ends_with_replaced_files_gone() {
    let fs = MemFs::new();
    let slow_removal = |operation: Operation, _: &Path| {
        if operation == Operation::Remove {
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    };
    let (threads, clock) = (Arc::new(SystemThreads), Arc::new(SystemClock::default()));
    let env = Env {
        fs: watched(&fs, &Arc::new(slow_removal)),
        threads,
        clock,
        ..Env::in_memory(fs.clone())
    };
    let db =
        Db::open(PATH, Options { env, create_if_missing: true, ..Options::default() }).unwrap();
    for round in 0..10u8 {
        for _ in 0..3 {
            (0..300).for_each(|n| db.put(key(n), [round; 100]).unwrap());
            db.flush().unwrap();
        }
        db.wait_for_background().unwrap();
        let stats = db.stats();
        let tables: u64 = stats.levels.iter().map(|level| level.tables).sum();
        assert_eq!(tables_and_segments(&fs).len() as u64, tables, "in round {round}: {stats:?}");
    }
}
