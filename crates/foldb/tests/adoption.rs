//! Adoption: a log of mostly separated values becomes a value segment, and nobody can tell but by what is
//! written.

mod support;

use std::path::Path;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::{
    Db, ErrorKind, KeyspaceOptions, MergeOptions, Options, Value, WriteBatch, WriteOptions,
};

use support::segments::{key, segment_files};
use support::{PATH, assert_error, error_of, steps};

/// Logs of some kilobytes are adopted. Nothing happens in the background.
fn adopting(fs: &MemFs) -> Options {
    Options {
        value_separation_min: Some(500),
        segment_size: 16 << 10,
        disable_auto_compactions: true,
        ..support::options(fs)
    }
}

fn open(fs: &MemFs) -> Db {
    Db::open(PATH, adopting(fs)).unwrap()
}

/// A value of 1000 bytes that says whose it is.
fn value(n: usize, generation: usize) -> Vec<u8> {
    let mut value = format!("{n}.{generation}.").into_bytes();
    value.resize(1000, b'a' + (n + generation) as u8 % 26);
    value
}

/// In an order that is not that of the keys.
fn put_all(db: &Db, count: usize, generation: usize) {
    (0..count).for_each(|n| {
        let n = (n * 37 + 11) % count;
        db.put(key(n), value(n, generation)).unwrap();
    });
}

fn check_all(db: &Db, count: usize, generation: impl Fn(usize) -> usize) {
    let expected: Vec<_> =
        (0..count).map(|n| (key(n).into_bytes(), value(n, generation(n)))).collect();
    let owned = |entry: foldb::Result<(Vec<u8>, Value)>| {
        entry.map(|(key, value)| (key, value.into_owned())).unwrap()
    };
    assert!(db.iter().unwrap().map(owned).eq(expected.iter().cloned()));
    assert!(db.iter().unwrap().reversed().map(owned).eq(expected.iter().rev().cloned()));
    for (n, found) in db.multi_get((0..count).map(key)).unwrap().into_iter().enumerate() {
        assert_eq!(found.unwrap().unwrap().into_owned(), value(n, generation(n)));
        assert_eq!(db.get(key(n)).unwrap().unwrap().into_owned(), value(n, generation(n)));
    }
}

fn files(fs: &MemFs, extension: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(extension));
    names.sort();
    names
}

#[test]
fn a_log_of_separated_values_becomes_a_segment_and_reads_like_one() {
    for hints in [true, false] {
        let fs = MemFs::new();
        let db = Db::open(PATH, Options { value_hints: hints, ..adopting(&fs) }).unwrap();
        let log = files(&fs, ".log")[0].clone();
        put_all(&db, 100, 0);
        db.put("small", "inline").unwrap();
        let snapshot = db.snapshot();
        db.flush().unwrap();
        let stats = db.stats();
        assert_eq!((stats.bytes_segments, stats.bytes_adopted / 1000), (0, 101), "{stats:?}");
        assert!(stats.bytes_flush < 10_000, "the tree holds addresses");
        assert!(stats.write_amplification() < 1.2, "{}", stats.write_amplification());
        assert_eq!(segment_files(&fs), [log.replace(".log", ".seg")]);
        assert!(!files(&fs, ".log").contains(&log), "nobody needs it as a log");
        db.delete("small").unwrap();
        check_all(&db, 100, |_| 0);
        put_all(&db, 50, 1);
        assert_eq!(snapshot.get(key(7)).unwrap().unwrap().into_owned(), value(7, 0));
        db.flush().unwrap();
        assert_eq!(segment_files(&fs).len(), 2);
        let generation = |n| usize::from(n < 50);
        check_all(&db, 100, generation);
        db.verify().unwrap();
        assert_eq!(snapshot.get(key(7)).unwrap().unwrap().into_owned(), value(7, 0));
        drop(snapshot);
        db.checkpoint("copy").unwrap();
        drop(db);
        for path in [PATH, "copy"] {
            let db = Db::open_read_only(path, adopting(&fs)).unwrap();
            check_all(&db, 100, generation);
            drop(db);
            let db = Db::open(path, adopting(&fs)).unwrap();
            check_all(&db, 100, generation);
            db.verify().unwrap();
            db.compact::<&str>(..).unwrap();
            check_all(&db, 100, generation);
            assert_eq!(db.stats().bytes_segments, 0);
            db.verify().unwrap();
        }
    }
}
