//! What the keyspaces of a database share: batches, the log, write buffers, snapshots and work.

use std::path::Path;
use std::sync::Arc;

use foldb::env::{FileSystem, MemFs};
use foldb::{BatchOp, Db, ErrorKind, Keyspace, Options, ReadOptions, WriteBatch, WriteOptions};

use super::keyspaces::{create, keys, text, with_operator};
use crate::support::{PATH, assert_error, number, open, options, reopen};

pub(super) fn files(fs: &MemFs, extension: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(extension));
    names.sort();
    names
}

fn unlogged() -> WriteOptions {
    WriteOptions { disable_wal: true, ..WriteOptions::default() }
}

/// A batch over three keyspaces, half of each, through every way to stop.
#[test]
fn batches_are_atomic_across_keyspaces() {
    for logged in [true, false] {
        let fs = MemFs::new();
        let small = Options { write_buffer_size: 4096, ..options(&fs) };
        let db = Db::open(PATH, small).unwrap();
        let (left, right) = (create(&db, "left"), create(&db, "right"));
        let options = if logged { WriteOptions::default() } else { unlogged() };
        for n in 0..400u64 {
            let mut batch = WriteBatch::new();
            batch.merge("sum", number(1)).merge_in(&left, "sum", number(1));
            batch.merge_in(&right, "sum", number(1)).put_in(&right, format!("{n}"), "x");
            db.with(&options).write(&batch).unwrap();
            if n % 23 == 0 {
                db.step_background().unwrap();
            }
            if n % 7 == 0 {
                for crashed in [fs.crash(), fs.crash_with(n), fs.kill()] {
                    let db = open(&crashed).unwrap();
                    let sum = |keyspace: &Keyspace| {
                        keyspace.get("sum").unwrap().map(|sum| sum.into_owned())
                    };
                    let sums = [sum(db.default_keyspace()), sum(&db.keyspace("left").unwrap())];
                    let right = db.keyspace("right").unwrap();
                    assert_eq!(sums[0], sums[1], "logged: {logged}, after {n}");
                    assert_eq!(sums[0], sum(&right), "logged: {logged}, after {n}");
                    let count = right.iter().unwrap().count().saturating_sub(1) as u64;
                    assert_eq!(sums[0].clone().unwrap_or(number(0).to_vec()), number(count));
                }
            }
        }
        let stats = db.stats();
        assert!(stats.flushes > 30, "{stats:?}");
    }
}

#[test]
fn a_batch_says_what_it_writes_where() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let lists = db.create_keyspace("lists", with_operator("stringappend:;")).unwrap();
    let count = db.operator("uint64add").unwrap();
    let mut batch = WriteBatch::new();
    batch.put("a", "1").put_in(&lists, "b", "2").delete_in(&lists, "c").merge_in(&lists, "d", "3");
    batch.merge_with_in(&count, &lists, "e", number(4)).put_in(db.default_keyspace(), "f", "5");
    let (default, keyspace) = ("default", "lists");
    let expected = [
        BatchOp::Put { keyspace: default, key: b"a", value: b"1" },
        BatchOp::Put { keyspace, key: b"b", value: b"2" },
        BatchOp::Delete { keyspace, key: b"c" },
        BatchOp::Merge { keyspace, key: b"d", operand: b"3" },
        BatchOp::Merge { keyspace, key: b"e", operand: &number(4) },
        BatchOp::Put { keyspace: default, key: b"f", value: b"5" },
    ];
    assert_eq!(batch.iter().collect::<Vec<_>>(), expected);
    db.write(&batch).unwrap();
    assert_eq!(keys(&lists), ["b", "d", "e"]);
    assert_eq!(keys(db.default_keyspace()), ["a", "f"]);
    batch.clear();
    assert_eq!(batch.iter().count(), 0);
}

/// A batch that cannot be applied whole does not reach the log.
#[test]
fn batches_for_missing_keyspaces_are_refused() {
    let (fs, other_fs) = (MemFs::new(), MemFs::new());
    let (db, other) = (open(&fs).unwrap(), open(&other_fs).unwrap());
    let gone = create(&db, "gone");
    let foreign = create(&other, "foreign");
    let mut of_gone = WriteBatch::new();
    of_gone.put("key", "x").put_in(&gone, "key", "x");
    db.write(&of_gone).unwrap();
    db.drop_keyspace("gone").unwrap();
    db.put("key", "y").unwrap();
    let mut of_foreign = WriteBatch::new();
    of_foreign.put("key", "x").put_in(&foreign, "key", "x");
    let mut of_both = WriteBatch::new();
    of_both.put_in(&gone, "key", "x").put_in(&foreign, "key", "x");
    let logged = db.stats().bytes_log;
    let error = assert_error(db.write(&of_gone), ErrorKind::KeyspaceDropped, None);
    assert!(error.to_string().contains("'gone'"), "{error}");
    assert_error(db.write(&of_foreign), ErrorKind::InvalidArgument, None);
    assert_error(db.write(&of_both), ErrorKind::InvalidArgument, None);
    assert_eq!(db.stats().bytes_log, logged);
    assert_eq!(db.get("key").unwrap().unwrap(), b"y");
    assert_eq!(open(&fs.kill()).unwrap().get("key").unwrap().unwrap(), b"y");
}

/// An idle keyspace's memtable is sealed and flushed with the others, and its log is released.
#[test]
fn an_idle_keyspace_does_not_pin_the_log() {
    let fs = MemFs::new();
    let small = Options { write_buffer_size: 16 << 10, wal_limit: 64 << 10, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let idle = create(&db, "idle");
    let busy = create(&db, "busy");
    idle.put("once", "and never again").unwrap();
    let first = files(&fs, ".log");
    for n in 0..5000 {
        busy.put(format!("{:04}", n % 100), "x".repeat(50)).unwrap();
    }
    assert!(files(&fs, ".log").len() <= 12, "{:?}", files(&fs, ".log"));
    assert!(!files(&fs, ".log").contains(&first[0]));
    assert_eq!(text(&idle, "once").as_deref(), Some("and never again"));
    assert_eq!(
        text(&open(&fs.kill()).unwrap().keyspace("idle").unwrap(), "once"),
        text(&idle, "once")
    );
}

/// The limit covers all keyspaces together, however many and however small their memtables are.
#[test]
fn the_log_limit_holds_over_many_keyspaces() {
    let fs = MemFs::new();
    let limit = 1 << 20;
    let hot = Options { write_buffer_size: 64 << 20, wal_limit: limit, ..options(&fs) };
    let db = Db::open(PATH, hot).unwrap();
    let all: Vec<Keyspace> = (0..20).map(|n| create(&db, &format!("{n}"))).collect();
    let mut most = 0;
    for n in 0..20_000u64 {
        let own = &all[(n % 20) as usize];
        own.put("padding", [0; 500]).unwrap();
        own.merge("sum", number(1)).unwrap();
        if n % 500 == 0 {
            let logs = files(&fs, ".log");
            let len = |name: &String| fs.len(&Path::new(PATH).join(name)).unwrap();
            most = most.max(logs.iter().map(len).sum::<u64>());
            while db.step_background().unwrap() {}
        }
    }
    // With the blocks reserved ahead in the active log.
    assert!(limit / 4 < most && most <= 3 * limit, "{most}");
    assert!(db.stats().bytes_log > 10 * limit);
    let sum: u64 = all
        .iter()
        .map(|own| u64::from_le_bytes(own.get("sum").unwrap().unwrap()[..].try_into().unwrap()))
        .sum();
    assert_eq!(sum, 20_000);
}

/// All keyspaces share one write buffer.
#[test]
fn the_write_buffer_is_shared() {
    let fs = MemFs::new();
    let buffer = 1 << 20;
    let db = Db::open(PATH, Options { write_buffer_size: buffer, ..options(&fs) }).unwrap();
    let all: Vec<Keyspace> = (0..8).map(|n| create(&db, &format!("{n}"))).collect();
    for n in 0..40_000u64 {
        let own = if n % 3 == 0 { db.default_keyspace() } else { &all[(n % 8) as usize] };
        own.put(format!("{n:08}"), [7; 40]).unwrap();
    }
    // A record takes 64 bytes and its value, or a little more with its slot in the index.
    let logs = files(&fs, ".log").len();
    assert!((4..=7).contains(&logs), "{logs} memtables' worth, {:?}", db.stats());
    let entries = |own: &Keyspace| own.iter().unwrap().count();
    assert_eq!(all.iter().map(entries).sum::<usize>() + entries(db.default_keyspace()), 40_000);
}

/// One value larger than every memtable, and a batch larger than the write buffer.
#[test]
fn large_writes_find_room() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    let (left, right) = (create(&db, "left"), create(&db, "right"));
    left.put("small", "x").unwrap();
    left.put("large", vec![1; 100_000]).unwrap();
    let mut batch = WriteBatch::new();
    for n in 0..500 {
        batch.put(format!("{n}"), [2; 30]).put_in(&left, format!("{n}"), [3; 100]);
        batch.put_in(&right, format!("{n}"), [4; 200]);
    }
    db.write(&batch).unwrap();
    left.put("after", "y").unwrap();
    for db in [db.clone(), open(&fs.kill()).unwrap()] {
        let left = db.keyspace("left").unwrap();
        assert_eq!(left.get("large").unwrap().unwrap().len(), 100_000);
        assert_eq!(left.iter().unwrap().count(), 503);
        assert_eq!(db.keyspace("right").unwrap().iter().unwrap().count(), 500);
        assert_eq!(db.iter().unwrap().count(), 500);
    }
}

#[test]
fn a_snapshot_holds_all_keyspaces() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let (left, right) = (create(&db, "left"), create(&db, "right"));
    let step = || {
        let mut batch = WriteBatch::new();
        batch.merge("sum", number(1)).merge_in(&left, "sum", number(1));
        batch.merge_in(&right, "sum", number(1));
        db.write(&batch).unwrap();
    };
    step();
    let snapshot = db.snapshot();
    let then = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
    for round in 0..3 {
        step();
        if round > 0 {
            db.compact(..).unwrap();
        }
        for own in [db.default_keyspace(), &left, &right] {
            assert_eq!(own.with(&then).get("sum").unwrap().unwrap(), number(1));
            assert_eq!(own.get("sum").unwrap().unwrap(), number(2 + round));
            let mut iter = own.with(&then).range(..).unwrap();
            assert_eq!(iter.next().unwrap().unwrap().1, number(1));
        }
    }
    let later = create(&db, "later");
    later.put("sum", "x").unwrap();
    assert_eq!(
        later.with(&then).get("sum").unwrap(),
        None,
        "the key did not exist at that snapshot"
    );
    let other = open(&MemFs::new()).unwrap();
    let foreign = other.default_keyspace().with(&then).get("sum");
    assert_error(foreign, ErrorKind::InvalidArgument, None);
}

/// Each keyspace that needs work gets some, the most urgent first, however busy another is.
#[test]
fn compaction_serves_every_keyspace() {
    let fs = MemFs::new();
    let small = Options { write_buffer_size: 4096, target_file_size: 4096, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let all: Vec<Keyspace> = (0..5).map(|n| create(&db, &format!("{n}"))).collect();
    for n in 0..6000u64 {
        // The first keyspace gets half of all writes.
        let own = if n % 2 == 0 { &all[0] } else { &all[(n / 2 % 5) as usize] };
        own.put(format!("{:05}", n * 7919 % 3001), "x".repeat(30)).unwrap();
        db.step_background().unwrap();
    }
    db.wait_for_background().unwrap();
    let stats = db.stats();
    for own in &stats.keyspaces {
        assert!(own.levels[0].runs < 12, "{own:?}");
    }
    assert_eq!(stats.compaction_debt, 0);
}

/// Threads find keyspaces through any handle and write, while other keyspaces are dropped.
#[test]
fn threads_create_write_and_drop() {
    let fs = MemFs::new();
    let env = foldb::env::Env {
        threads: Arc::new(foldb::env::SystemThreads),
        ..foldb::env::Env::in_memory(fs.clone())
    };
    let small = Options { env, write_buffer_size: 16 << 10, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let shared = create(&db, "shared");
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (db, shared) = (db.clone(), shared.clone());
            scope.spawn(move || {
                for round in 0..30u64 {
                    let own = create(&db, &format!("own {thread}"));
                    for n in 0..50u64 {
                        let mut batch = WriteBatch::new();
                        batch.merge("sum", number(1)).merge_in(&shared, "sum", number(1));
                        batch.put_in(&own, format!("{n}"), "x".repeat(20));
                        db.write(&batch).unwrap();
                    }
                    assert_eq!(own.iter().unwrap().count(), 50, "{thread} {round}");
                    db.drop_keyspace(&format!("own {thread}")).unwrap();
                    assert_error(own.get("1"), ErrorKind::KeyspaceDropped, None);
                }
            });
        }
    });
    let expected = number(3 * 30 * 50);
    assert_eq!(db.get("sum").unwrap().unwrap(), expected);
    assert_eq!(shared.get("sum").unwrap().unwrap(), expected);
    drop(shared);
    db.close().unwrap();
    let db = reopen(&fs).unwrap();
    assert_eq!(db.keyspaces(), ["default", "shared"]);
    assert_eq!(db.keyspace("shared").unwrap().get("sum").unwrap().unwrap(), expected);
    db.verify().unwrap();
}
