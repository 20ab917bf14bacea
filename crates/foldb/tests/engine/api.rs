//! Tests what a Rust program expects of the public types: they cross threads, compare, hash and
//! convert.

use std::collections::{BTreeSet, HashMap};
use std::error::Error as _;
use std::io;

use foldb::operators::{Finalized, Operator, merge_fn};
use foldb::stats::Stats;
use foldb::{
    Db, Error, ErrorKind, Iter, Keyspace, KeyspaceOptions, Options, Runtime, Snapshot, Value,
    WriteBatch,
};

#[test]
fn public_types_cross_threads() {
    fn crosses_threads<T: Send + Sync>() {}
    crosses_threads::<Db>();
    crosses_threads::<Keyspace>();
    crosses_threads::<Snapshot>();
    crosses_threads::<Options>();
    crosses_threads::<KeyspaceOptions>();
    crosses_threads::<Runtime>();
    crosses_threads::<Operator>();
    crosses_threads::<WriteBatch>();
    crosses_threads::<Value>();
    crosses_threads::<Error>();
    crosses_threads::<Stats>();
    crosses_threads::<Finalized>();
    fn moves_to_another_thread<T: Send>() {}
    moves_to_another_thread::<Iter>();
}

/// The bytes of a value never change (H14), whatever memory it pins.
#[expect(clippy::mutable_key_type, reason = "the lint sees the memory that a value pins")]
#[test]
fn values_compare_hash_and_convert_as_their_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let long = vec![b'x'; 100];
    db.put("long", &long).unwrap();
    db.put("short", "b").unwrap();
    let (pinned, inline) = (db.get("long").unwrap().unwrap(), db.get("short").unwrap().unwrap());
    assert_eq!(pinned, long);
    assert!(inline < pinned, "b comes before x, wherever the bytes lie");
    let order: BTreeSet<Value> = [pinned.clone(), inline.clone(), Value::from(long.clone())].into();
    assert_eq!(order.len(), 2, "equal bytes are equal values");
    let counts = HashMap::from([(pinned.clone(), 1)]);
    assert_eq!(counts.get(&Value::from(long.clone())), Some(&1));
    assert_eq!(counts.get(long.as_slice()), Some(&1), "a map of values is asked by bytes");
    assert_eq!(Vec::from(pinned), long);
}

#[test]
fn errors_have_a_source_and_pass_through_io_errors() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "no directory").unwrap();
    let error = Db::create(file.join("db")).unwrap_err();
    let source = error.source().expect("the operating system's error");
    let expected = source.downcast_ref::<io::Error>().unwrap().kind();
    // Windows has several answers.
    assert!(cfg!(windows) || expected == io::ErrorKind::NotADirectory, "{expected}");
    let (kind, message) = (error.kind(), error.to_string());
    let outer = io::Error::from(error);
    assert_eq!(outer.kind(), expected);
    let back = Error::from(outer);
    assert_eq!((back.kind(), back.to_string()), (kind, message), "nothing is lost on the way");

    let full = Error::from(io::Error::from(io::ErrorKind::StorageFull));
    assert_eq!(full.kind(), ErrorKind::NoSpace);
    let missing = Db::open(dir.path().join("none"), Options::default()).unwrap_err();
    assert_eq!(io::Error::from(missing).kind(), io::ErrorKind::NotFound);
}

#[test]
fn batches_are_collected_and_extended() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let mut batch: WriteBatch = (0..3u8).map(|n| ([n], [n + 1])).collect();
    batch.extend([("key", "value")]);
    assert_eq!(batch.len(), 4);
    db.write(&batch).unwrap();
    assert_eq!(db.get([2]).unwrap().unwrap(), [3]);
    assert!(db.contains_key("key").unwrap() && !db.contains_key("other").unwrap());
    db.clear().unwrap();
    assert_eq!(db.iter().unwrap().count(), 0);
}

#[test]
fn a_keyspace_is_found_or_created_once_by_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let db = &db;
            scope.spawn(move || {
                for round in 0..20 {
                    let name = format!("k{round}");
                    let own = db.keyspace_or_create(&name, KeyspaceOptions::default()).unwrap();
                    own.put([thread], "here").unwrap();
                }
            });
        }
    });
    assert_eq!(db.keyspaces().len(), 21);
    for round in 0..20 {
        let keyspace = db.keyspace(&format!("k{round}")).unwrap();
        assert_eq!(keyspace.iter().unwrap().count(), 4, "k{round}");
    }
    let wrong = db.keyspace_or_create("", KeyspaceOptions::default()).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::InvalidArgument);
}

/// A closure that cannot read an operand fails that key's reads, and no others.
#[test]
fn an_operator_made_of_a_closure_folds_and_fails() {
    let dir = tempfile::tempdir().unwrap();
    let sum = || {
        merge_fn("app.sum", |base, operands| {
            let mut sum = match base {
                Some(base) => std::str::from_utf8(base).ok()?.parse().ok()?,
                None => 0i64,
            };
            for operand in operands {
                sum += std::str::from_utf8(operand).ok()?.parse::<i64>().ok()?;
            }
            Some(sum.to_string().into_bytes())
        })
    };
    let options = || Options { create_if_missing: true, ..Options::default() }.operator(sum());
    {
        let db = Db::open(dir.path().join("db"), options()).unwrap();
        db.put("a", "40").unwrap();
        db.merge("a", "2").unwrap();
        db.flush().unwrap();
        db.merge("a", "-7").unwrap();
        db.merge("b", "three").unwrap();
        assert_eq!(db.get("a").unwrap().unwrap(), b"35");
        assert_eq!(db.get("b").unwrap_err().kind(), ErrorKind::MergeFailed);
    }
    let db = Db::open(dir.path().join("db"), options()).unwrap();
    db.compact(..).unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), b"35");
}
