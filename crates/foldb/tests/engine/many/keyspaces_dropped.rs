//! Dropped keyspaces, and creations and drops that fail or lose power.

use foldb::env::MemFs;
use foldb::env::mem::{Fault, Operation};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, ReadOptions};

use super::keyspaces::{create, keys, text};
use super::keyspaces_together::files;
use crate::support::{PATH, assert_error, number, open, options, steps};

/// The engine removes the files of a dropped keyspace after the last iterator over them is dropped.
/// Until then the iterator works.
#[test]
fn a_keyspace_is_dropped_under_its_iterators() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let gone = create(&db, "gone");
    for n in 0..1000 {
        gone.put(format!("{n:04}"), "in a table").unwrap();
    }
    db.put("stays", "here").unwrap();
    db.flush().unwrap();
    for n in 0..1000 {
        gone.put(format!("{n:04}b"), "in a memtable").unwrap();
    }
    assert_eq!(files(&fs, ".tbl").len(), 2);
    let mut iter = gone.iter().unwrap();
    let snapshot = db.snapshot();
    assert!(iter.advance().unwrap());
    db.drop_keyspace("gone").unwrap();

    let dropped = ErrorKind::KeyspaceDropped;
    assert_error(gone.get("0000"), dropped, None);
    assert_error(gone.put("0000", "x"), dropped, None);
    assert_error(gone.delete("0000"), dropped, None);
    assert_error(gone.merge("0000", number(1)), dropped, None);
    assert_error(gone.iter(), dropped, None);
    assert_error(gone.prefix("0"), dropped, None);
    assert_error(gone.multi_get(["0000"]), dropped, None);
    assert_error(gone.get_operands("0000"), dropped, None);
    assert_error(gone.approximate_size(..), dropped, None);
    assert_error(gone.approximate_count(..), dropped, None);
    assert_error(gone.compact(..), dropped, None);
    let then = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    assert_error(gone.with(&then).get("0000"), dropped, None);
    assert_error(db.keyspace("gone"), ErrorKind::KeyspaceMissing, None);
    assert_error(db.drop_keyspace("gone"), ErrorKind::KeyspaceMissing, None);

    assert_eq!(files(&fs, ".tbl").len(), 2, "the iterator needs the table");
    let mut count = 1;
    while iter.advance().unwrap() {
        count += 1;
    }
    assert_eq!(count, 2000);
    drop(iter);
    steps::run_background(&db, |_| {});
    assert_eq!(files(&fs, ".tbl").len(), 1, "the table is not needed any more");
    db.flush().unwrap();
    db.compact(..).unwrap();
    db.verify().unwrap();
    for db in [db.clone(), open(&fs.kill()).unwrap(), open(&fs.crash()).unwrap()] {
        assert_eq!(db.keyspaces(), ["default"]);
        assert_eq!(db.get("stays").unwrap().unwrap(), b"here");
    }
}

/// A name may come back; records of its old keyspace in an old log do not.
#[test]
fn ids_of_dropped_keyspaces_are_never_reused() {
    let mut fs = MemFs::new();
    for round in 0..6 {
        let db = open(&fs).unwrap();
        assert_eq!(db.keyspaces(), ["default"], "round {round}");
        let own = create(&db, "again");
        assert_eq!(keys(&own), [""; 0], "round {round}");
        own.put(format!("{round}"), "logged").unwrap();
        assert_eq!(
            keys(&open(&fs.kill()).unwrap().keyspace("again").unwrap()),
            [round.to_string()]
        );
        db.drop_keyspace("again").unwrap();
        let anew = create(&db, "again");
        assert_eq!(keys(&anew), [""; 0], "round {round}");
        if round % 2 == 0 {
            db.flush().unwrap();
        }
        anew.put("anew", "logged").unwrap();
        assert_eq!(keys(&open(&fs.kill()).unwrap().keyspace("again").unwrap()), ["anew"]);
        db.drop_keyspace("again").unwrap();
        fs = fs.kill();
    }
}

/// Creation and drop are durable when they return, and a drop loses no earlier write.
#[test]
fn creation_and_drop_survive_power_loss() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let from = create(&db, "from");
    from.put("key", "precious").unwrap();
    let to = create(&db, "to");
    to.put("key", &*from.get("key").unwrap().unwrap()).unwrap();
    db.drop_keyspace("from").unwrap();
    let survivor = open(&fs.crash()).unwrap();
    assert_eq!(survivor.keyspaces(), ["default", "to"]);
    assert_eq!(text(&survivor.keyspace("to").unwrap(), "key").as_deref(), Some("precious"));
}

/// An edit that finds no space changes nothing, and may be tried again.
#[test]
fn a_full_disk_neither_creates_nor_drops() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let kept = create(&db, "kept");
    kept.put("key", "x").unwrap();
    let full =
        || Fault::on(Operation::Write).path("MANIFEST").kind(std::io::ErrorKind::StorageFull);
    fs.inject(full());
    let refused = db.create_keyspace("new", KeyspaceOptions::default());
    assert_error(refused, ErrorKind::NoSpace, None);
    fs.inject(full());
    assert_error(db.drop_keyspace("kept"), ErrorKind::NoSpace, None);
    assert_eq!(db.keyspaces(), ["default", "kept"]);
    kept.put("key", "y").unwrap();
    create(&db, "new").put("key", "z").unwrap();
    let db = open(&fs.kill()).unwrap();
    assert_eq!(text(&db.keyspace("kept").unwrap(), "key").as_deref(), Some("y"));
    assert_eq!(text(&db.keyspace("new").unwrap(), "key").as_deref(), Some("z"));
}

/// A drop comes while its keyspace is being compacted or waits to be flushed.
#[test]
fn work_under_way_ends_with_its_keyspace() {
    let fs = MemFs::new();
    let small = Options {
        write_buffer_size: 4096,
        target_file_size: 2048,
        level0_compaction_trigger: 2,
        ..options(&fs)
    };
    let db = Db::open(PATH, small).unwrap();
    for steps_before in 0..12 {
        let gone = create(&db, "gone");
        for n in 0..600 {
            gone.put(format!("{:04}", n * 7919 % 1000), "x".repeat(20)).unwrap();
            db.put(format!("{:03}", n % 50), format!("{n}")).unwrap();
        }
        for _ in 0..steps_before {
            db.step_background().unwrap();
        }
        drop(gone);
        db.drop_keyspace("gone").unwrap();
        steps::run_background(&db, |_| {});
        db.flush().unwrap();
        steps::run_background(&db, |_| {});
        let tables: u64 = db.stats().levels.iter().map(|level| level.tables).sum();
        assert_eq!(files(&fs, ".tbl").len() as u64, tables, "after {steps_before} steps");
    }
    assert_eq!(db.iter().unwrap().count(), 50);
}
