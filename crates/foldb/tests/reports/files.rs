//! Files: read-only opens, copies, lost names.

use std::path::Path;

use foldb::env::{FileSystem, MemFs};
use foldb::{Db, ErrorKind, Options};

use crate::support::{PATH, assert_error, count, number, open, options, reopen};

fn listing(fs: &MemFs) -> Vec<(String, u64)> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.sort();
    let len = |name: &String| fs.len(&Path::new(PATH).join(name)).unwrap();
    names.into_iter().map(|name| (name.clone(), len(&name))).collect()
}

/// Reads wrote: a database that was only read changed its files, and could not be opened from a
/// medium without writes. (dermesser/leveldb-rs#53, google/leveldb#1082, cockroachdb/pebble#1583)
#[test]
fn a_read_only_open_changes_no_file() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 0..500u32 {
        db.merge((n % 50).to_be_bytes(), number(1)).unwrap();
        if n % 100 == 99 {
            db.flush().unwrap();
        }
    }
    db.merge("in the log", number(1)).unwrap();
    let killed = fs.kill();
    let before = listing(&killed);
    for _ in 0..3 {
        let reader = Db::open_read_only(PATH, options(&killed)).unwrap();
        assert_eq!(reader.iter().unwrap().count(), 51);
        assert_eq!(count(&reader, "in the log"), 1);
    }
    assert_eq!(listing(&killed), before);
}

/// Readers of another process failed while the writer flushed and compacted.
/// (HarperFast/rocksdb-js#812, facebook/rocksdb#14125, google/leveldb#182)
#[test]
fn a_read_only_open_beside_a_writer_shows_one_moment() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for round in 1..=30u64 {
        for key in ["a", "b", "c"] {
            db.merge(key, number(1)).unwrap();
        }
        let reader = Db::open_read_only(PATH, options(&fs)).unwrap();
        if round % 3 == 0 {
            db.flush().unwrap();
        }
        if round % 10 == 0 {
            db.compact(..).unwrap();
        }
        for key in ["a", "b", "c"] {
            assert_eq!(count(&reader, key), round);
        }
    }
}

/// Two checkpoints into one directory were mixed, and one over the database destroyed it.
/// (facebook/rocksdb#13914)
#[test]
fn a_checkpoint_goes_into_a_directory_of_its_own() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("key", "1").unwrap();
    db.checkpoint("copy").unwrap();
    assert!(db.checkpoint("copy").is_err());
    assert!(db.checkpoint(PATH).is_err());
    db.put("key", "2").unwrap();
    db.close().unwrap();
    assert_eq!(crate::scan(&Db::open("copy", options(&fs)).unwrap()), "key=1");
    assert_eq!(crate::scan(&reopen(&fs).unwrap()), "key=2");
}

/// A checkpoint missed writes that had returned before it began, if they were not logged and a
/// flush was on its way. (facebook/rocksdb#13652, #7789 and #10083)
#[test]
fn a_checkpoint_has_every_write_that_returned_before_it() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 1..=20u64 {
        let unlogged = foldb::WriteOptions { disable_wal: n % 2 == 0, ..Default::default() };
        db.with(&unlogged).merge("key", number(1)).unwrap();
        if n % 5 == 0 {
            db.flush().unwrap();
        }
        let directory = format!("copy-{n}");
        db.checkpoint(&directory).unwrap();
        let copy = Db::open(&directory, options(&fs)).unwrap();
        assert_eq!(count(&copy, "key"), n);
    }
}

/// All data was gone after the first restart of a program that never closed its database.
/// (google/leveldb#736, basho/riak_kv#1356)
#[test]
fn the_first_restart_keeps_the_first_writes() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("key", "1").unwrap();
    assert_error(open(&fs), ErrorKind::Locked, None);
    let fs = fs.kill();
    let not_asked = Options { create_if_missing: false, ..options(&fs) };
    assert_error(Db::open("mistyped", not_asked), ErrorKind::DatabaseMissing, None);
    for n in 2..=4 {
        let db = reopen(&fs).unwrap();
        assert_eq!(db.iter().unwrap().count(), n - 1);
        db.put(format!("key {n}"), "1").unwrap();
        db.close().unwrap();
    }
}
