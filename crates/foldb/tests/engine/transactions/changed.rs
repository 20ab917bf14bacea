//! Whether a key was written after a snapshot: wherever its records lie, and however they folded.

use foldb::env::MemFs;
use foldb::{Db, ErrorKind};

use crate::support::{assert_error, number, open};

fn changed(db: &Db, key: &str, before: &foldb::Snapshot) -> bool {
    db.default_keyspace().is_written_after(key, before).unwrap()
}

#[test]
fn a_write_after_the_snapshot_is_found_wherever_it_lies() {
    let db = open(&MemFs::new()).unwrap();
    for key in ["put", "merged", "deleted", "covered", "same"] {
        db.put(key, number(1)).unwrap();
    }
    db.flush().unwrap();
    let before = db.snapshot();
    let written = ["put", "merged", "deleted", "covered", "new"];
    let all = || written.iter().chain(&["same", "absent"]);
    assert!(all().all(|key| !changed(&db, key, &before)));

    db.put("put", number(1)).unwrap();
    db.merge("merged", number(0)).unwrap();
    db.delete("deleted").unwrap();
    db.delete_range("covered".."covered~").unwrap();
    db.merge("new", number(1)).unwrap();
    for place in ["memtable", "level 0", "last level"] {
        for key in all() {
            assert_eq!(changed(&db, key, &before), written.contains(key), "{key} in {place}");
        }
        match place {
            "memtable" => db.flush().unwrap(),
            _ => db.compact(..).unwrap(),
        }
    }
}

#[test]
fn merges_that_fold_in_place_count_as_writes() {
    let db = open(&MemFs::new()).unwrap();
    db.merge("hot", number(1)).unwrap();
    for _ in 0..100 {
        let before = db.snapshot();
        assert!(!changed(&db, "hot", &before));
        for _ in 0..50 {
            db.merge("hot", number(1)).unwrap();
        }
        assert!(changed(&db, "hot", &before));
    }
}

#[test]
fn a_snapshot_of_another_database_is_refused() {
    let (one, other) = (open(&MemFs::new()).unwrap(), open(&MemFs::new()).unwrap());
    let keys = one.default_keyspace();
    let found = keys.is_written_after("key", &other.snapshot());
    assert_error(found, ErrorKind::InvalidArgument, None);
    let before = one.snapshot();
    one.close().unwrap();
    assert_error(keys.is_written_after("key", &before), ErrorKind::Closed, None);
}
