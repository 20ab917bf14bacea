//! Repairs of databases with sorted loads: a load keeps its place in the order of writes.

use std::path::{Path, PathBuf};

use foldb::env::{FileSystem, MemFs};
use foldb::{Db, Options};

use crate::load::order::tables;
use crate::support::{PATH, count, number, options, text};

const KEYS: u64 = 40;

fn small(fs: &MemFs) -> Options {
    Options { target_file_size: 1024, block_size: 256, ..options(fs) }
}

fn key(n: u64) -> String {
    format!("count {n:02}")
}

/// Returns the files whose name begins or ends so.
fn files(fs: &MemFs, part: &str) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.starts_with(part) || name.ends_with(part));
    names.sort();
    names.into_iter().map(|name| Path::new(PATH).join(name)).collect()
}

fn lose_manifests(fs: &MemFs) {
    files(fs, "MANIFEST").iter().for_each(|manifest| fs.remove(manifest).unwrap());
}

/// Puts and merges in turn, some of them loaded, flushed and compacted. Without a manifest, the
/// tables and logs tell the order of all of them.
#[test]
fn a_manifest_is_rebuilt_with_the_places_of_loads() {
    for steps_done in 0..30 {
        let fs = MemFs::new();
        let db = Db::open(PATH, small(&fs)).unwrap();
        let mut expected = [0u64; KEYS as usize];
        for round in 0..16u64 {
            let is_load = (round + steps_done) % 3 == 0;
            let mut load = db.sorted_load().unwrap();
            for n in 0..KEYS {
                let (own, sum) = (key(n), &mut expected[n as usize]);
                let is_put = (round + n) % 5 == 0;
                *sum = if is_put { round } else { *sum + round };
                match (is_load, is_put) {
                    (true, true) => load.put(own, number(round)).unwrap(),
                    (true, false) => load.merge(own, number(round)).unwrap(),
                    (false, true) => db.put(own, number(round)).unwrap(),
                    (false, false) => db.merge(own, number(round)).unwrap(),
                }
            }
            load.finish().unwrap();
            if (round + steps_done) % 4 == 3 {
                db.flush().unwrap();
            }
        }
        for _ in 0..steps_done {
            db.step_background().unwrap();
        }
        db.merge(key(7), number(1000)).unwrap();
        expected[7] += 1000;
        db.sync().unwrap();
        drop(db);
        lose_manifests(&fs);
        let report = Db::repair(PATH, small(&fs)).unwrap();
        assert!(report.rebuilt && report.lost_tables.is_empty(), "{report:?}");
        let db = Db::open(PATH, small(&fs)).unwrap();
        let check = |db: &Db| {
            for n in 0..KEYS {
                let found = count(db, &key(n));
                assert_eq!(found, expected[n as usize], "key {n} after {steps_done} steps");
            }
        };
        check(&db);
        db.put("zz", number(1)).unwrap();
        db.compact(..).unwrap();
        check(&db);
        db.verify().unwrap();
    }
}

#[test]
fn a_rebuilt_manifest_leaves_out_a_load_that_was_killed() {
    let fs = MemFs::new();
    let db = Db::open(PATH, small(&fs)).unwrap();
    (0..KEYS).for_each(|n| db.put(key(n), number(n)).unwrap());
    db.flush().unwrap();
    let mut load = db.sorted_load().unwrap();
    for n in 0..500 {
        load.put(format!("count {n:04}"), number(7)).unwrap();
    }
    let killed = fs.kill();
    assert!(tables(&killed) > 3);
    lose_manifests(&killed);
    assert!(Db::repair(PATH, small(&killed)).unwrap().rebuilt);
    let again = Db::open(PATH, small(&killed)).unwrap();
    assert_eq!(again.iter().unwrap().count(), KEYS as usize);
    // A finished load belongs to the database.
    load.finish().unwrap();
    let finished = fs.kill();
    lose_manifests(&finished);
    Db::repair(PATH, small(&finished)).unwrap();
    let again = Db::open(PATH, small(&finished)).unwrap();
    assert_eq!(again.iter().unwrap().count(), KEYS as usize + 500);
}

/// The readable records of a damaged table stay above the older ones of their keys.
#[test]
fn salvaged_records_of_a_load_keep_its_number() {
    let fs = MemFs::new();
    let large = Options { target_file_size: 1 << 20, disable_auto_compactions: true, ..small(&fs) };
    let db = Db::open(PATH, large.clone()).unwrap();
    (0..KEYS).for_each(|n| db.put(key(n), "before").unwrap());
    db.flush().unwrap();
    let before = files(&fs, ".tbl");
    let mut load = db.sorted_load().unwrap();
    (0..KEYS).for_each(|n| load.put(key(n), "loaded").unwrap());
    load.finish().unwrap();
    db.put(key(3), "after").unwrap();
    drop(db);
    let loaded = files(&fs, ".tbl").into_iter().find(|path| !before.contains(path)).unwrap();
    let mut bytes = fs.read(&loaded).unwrap();
    bytes[10] ^= 1;
    fs.create(&loaded).unwrap().write_at(&bytes, 0).unwrap();
    let report = Db::repair(PATH, large.clone()).unwrap();
    assert_eq!(report.lost_tables.len(), 1, "{report:?}");
    assert!(report.lost_tables[0].records_salvaged > 5, "{report:?}");
    let db = Db::open(PATH, large).unwrap();
    let last = key(KEYS - 1);
    for _ in 0..2 {
        assert_eq!(text(&db, &last).unwrap(), "loaded");
        assert_eq!(text(&db, &key(3)).unwrap(), "after");
        db.compact(..).unwrap();
    }
}
