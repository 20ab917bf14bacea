//! Repairs without `CURRENT` or without a manifest: what other files tell, and what the report
//! says.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb::custom::Comparator;
use foldb::env::{FileSystem, MemFs};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};

use crate::support::orders::Descending;
use crate::support::{PATH, assert_error, count, number, options};

fn by_hand(fs: &MemFs) -> Options {
    Options { disable_auto_compactions: true, ..options(fs) }
}

/// Returns the files whose name begins with `part`, the oldest first.
fn files(fs: &MemFs, part: &str) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.starts_with(part));
    names.sort();
    names.into_iter().map(|name| Path::new(PATH).join(name)).collect()
}

fn lose(fs: &MemFs, part: &str) {
    files(fs, part).iter().for_each(|file| fs.remove(file).unwrap());
}

/// An iterator held tables that compactions had replaced. Repair built a manifest from all tables,
/// although the manifest was whole, and the count came back larger.
#[test]
fn a_whole_manifest_is_used_when_only_current_is_lost() {
    for content in [None, Some("nonsense")] {
        let fs = MemFs::new();
        let db = Db::open(PATH, by_hand(&fs)).unwrap();
        let mut held = Vec::new();
        for _ in 0..3 {
            let mut load = db.sorted_load().unwrap();
            load.merge("count", number(1)).unwrap();
            load.finish().unwrap();
            let mut iterator = db.iter().unwrap();
            iterator.seek_to_first().unwrap();
            held.push(iterator);
            db.compact(..).unwrap();
        }
        db.merge("count", number(1)).unwrap();
        let left = fs.kill();
        lose(&left, "CURRENT");
        if let Some(content) = content {
            let current = left.create(&Path::new(PATH).join("CURRENT")).unwrap();
            current.write_at(content.as_bytes(), 0).unwrap();
        }
        let report = Db::repair(PATH, by_hand(&left)).unwrap();
        assert!(!report.rebuilt && report.lost_nothing(), "{report:?}");
        assert_eq!(count(&Db::open(PATH, by_hand(&left)).unwrap(), "count"), 4);
    }
}

/// The manifest of an earlier open is still there. It knows less.
#[test]
fn the_manifest_of_an_earlier_open_is_not_used() {
    let fs = MemFs::new();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    db.merge("count", number(1)).unwrap();
    db.flush().unwrap();
    drop(db);
    // The second open replaces the manifest, and the removal of the first one is lost.
    let earlier = files(&fs, "MANIFEST")[0].clone();
    let before = fs.read(&earlier).unwrap();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    db.merge("count", number(1)).unwrap();
    db.flush().unwrap();
    let left = fs.kill();
    left.create(&earlier).unwrap().write_at(&before, 0).unwrap();
    lose(&left, "CURRENT");
    let report = Db::repair(PATH, by_hand(&left)).unwrap();
    assert!(!report.rebuilt && report.lost_nothing(), "{report:?}");
    assert_eq!(count(&Db::open(PATH, by_hand(&left)).unwrap(), "count"), 2);
}

/// Repair opened the tables of all keyspaces in the default order and failed, and the open told the
/// user to run repair.
#[test]
fn keyspaces_of_other_orders_are_repaired() {
    for lost in ["CURRENT", "MANIFEST"] {
        let fs = MemFs::new();
        let with = |fs: &MemFs| Options { comparators: vec![Arc::new(Descending)], ..by_hand(fs) };
        let db = Db::open(PATH, with(&fs)).unwrap();
        let comparator = Some(Arc::new(Descending) as Arc<dyn Comparator>);
        let down = KeyspaceOptions { comparator, ..KeyspaceOptions::default() };
        let down = db.create_keyspace("down", down).unwrap();
        for key in ["a", "b", "c"] {
            db.put(key, "up").unwrap();
            down.put(key, "down").unwrap();
        }
        db.flush().unwrap();
        down.delete_range("c".."b").unwrap();
        db.flush().unwrap();
        drop((down, db));
        lose(&fs, lost);
        if lost == "MANIFEST" {
            let unregistered = Db::repair(PATH, by_hand(&fs));
            let error = assert_error(unregistered, ErrorKind::UnknownComparator, None);
            assert!(error.to_string().contains("'test.descending'"), "{error}");
        }
        let report = Db::repair(PATH, with(&fs)).unwrap();
        assert_eq!(report.rebuilt, lost == "MANIFEST", "{report:?}");
        let db = Db::open(PATH, with(&fs)).unwrap();
        let name = if report.rebuilt { "keyspace-1" } else { "down" };
        let down = db.keyspace(name).unwrap();
        let keys = |iterator: foldb::Iter| -> Vec<Vec<u8>> {
            iterator.map(|entry| entry.unwrap().0.to_vec()).collect()
        };
        assert_eq!(keys(db.iter().unwrap()), [b"a", b"b", b"c"]);
        assert_eq!(keys(down.iter().unwrap()), [b"b", b"a"]);
    }
}
