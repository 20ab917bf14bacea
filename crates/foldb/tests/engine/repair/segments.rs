//! Tests repair of value segments: repair finds the values of tables wherever they are intact, and
//! reports the lost values.

use std::path::{Path, PathBuf};

use foldb::env::{FileSystem, MemFs};
use foldb::repair::RepairReport;
use foldb::{Db, ErrorKind, Options, Value};

use crate::support::segments::{check_all, key, open, put_all, segment_files, separating, value};
use crate::support::{PATH, assert_error};

fn by_hand(fs: &MemFs) -> Options {
    Options { disable_auto_compactions: true, ..separating(fs) }
}

fn files(fs: &MemFs, part: &str) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(part) || name.starts_with(part));
    names.sort();
    names.into_iter().map(|name| Path::new(PATH).join(name)).collect()
}

fn write(fs: &MemFs, path: &Path, bytes: &[u8]) {
    fs.create(path).unwrap().write_at(bytes, 0).unwrap();
}

fn remove_manifest(fs: &MemFs) {
    for file in files(fs, "MANIFEST").into_iter().chain(files(fs, "CURRENT")) {
        fs.remove(&file).unwrap();
    }
}

fn rebuild(options: Options) -> RepairReport {
    let report = Db::repair(PATH, options).unwrap();
    assert!(report.rebuilt, "{report:?}");
    report
}

/// Returns the segment file in which a value lies, its bytes, and the value's offset.
fn find(fs: &MemFs, needle: &str) -> (PathBuf, Vec<u8>, usize) {
    let found = files(fs, ".seg").into_iter().find_map(|path| {
        let bytes = fs.read(&path).unwrap();
        let at = bytes.windows(needle.len()).position(|window| window == needle.as_bytes())?;
        Some((path, bytes, at))
    });
    found.expect("the value lies in a segment")
}

/// Many segments lie in one file, and their ids name no file. Ids given after the rebuild are new.
#[test]
fn a_rebuilt_manifest_gives_no_segment_id_twice() {
    const KEYS: usize = 1500;
    let fs = MemFs::new();
    let mut options = by_hand(&fs);
    options.knobs.gc_memory_budget = 64 << 10;
    options.knobs.segment_size = 4 << 20;
    let long_key = |n: usize| format!("{:08x}", (n as u32).wrapping_mul(0x9E37_79B1)).repeat(13);
    let put = |db: &Db, keys: std::ops::Range<usize>| {
        keys.for_each(|n| db.put(long_key(n), value(n, 0)).unwrap());
        db.flush().unwrap();
    };
    let db = Db::open(PATH, options.clone()).unwrap();
    put(&db, 0..KEYS);
    let stats = db.stats().segments;
    assert!(stats.segments > 15 && stats.files == 1, "{stats:?}");
    drop(db);
    remove_manifest(&fs);
    rebuild(options.clone());
    let db = Db::open(PATH, options).unwrap();
    put(&db, KEYS..2 * KEYS);
    for n in 0..2 * KEYS {
        let found = db.get(long_key(n)).unwrap().map(Value::into_owned);
        assert!(found == Some(value(n, 0)), "{n}");
    }
    db.verify().unwrap();
}

/// Five flushes of ten keys, all in one file.
fn five_sections(fs: &MemFs) {
    let db = Db::open(PATH, by_hand(fs)).unwrap();
    for round in 0..5 {
        put_all(&db, 10 * round..10 * (round + 1), 0);
        db.flush().unwrap();
    }
    drop(db);
    assert_eq!(segment_files(fs).len(), 1);
}

/// The length of a record in the second section is changed. The rebuild still finds the sections
/// after it.
#[test]
fn a_rebuild_finds_the_sections_after_a_damaged_one() {
    let fs = MemFs::new();
    five_sections(&fs);
    let (path, mut bytes, at) = find(&fs, "13.0.");
    bytes[at - 2] ^= 0x40;
    write(&fs, &path, &bytes);
    remove_manifest(&fs);
    let report = rebuild(by_hand(&fs));
    assert_eq!(report.lost_segments.len(), 1, "{report:?}");
    assert!(report.lost_tables.is_empty(), "{report:?}");
    let db = open(&fs);
    for n in 0..50 {
        match n {
            10..20 => drop(assert_error(db.get(key(n)), ErrorKind::Corruption, None)),
            _ => assert_eq!(db.get(key(n)).unwrap().unwrap().into_owned(), value(n, 0)),
        }
    }
}

#[test]
fn a_rebuild_without_a_segment_file_loses_its_values_alone() {
    let fs = MemFs::new();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    put_all(&db, 0..300, 0);
    db.put("inline", "value").unwrap();
    db.flush().unwrap();
    drop(db);
    let (path, _, _) = find(&fs, "0.0.");
    fs.remove(&path).unwrap();
    remove_manifest(&fs);
    let report = rebuild(by_hand(&fs));
    assert!(!report.lost_segments.is_empty(), "{report:?}");
    let db = open(&fs);
    assert_eq!(db.get("inline").unwrap().unwrap(), b"value");
    let lost: Vec<usize> = (0..300).filter(|&n| db.get(key(n)).is_err()).collect();
    assert!(lost.contains(&0) && (50..100).contains(&lost.len()), "{lost:?}");
    let error = assert_error(db.get(key(0)), ErrorKind::Corruption, None);
    assert!(error.to_string().contains("key0000"), "{error}");
    // The database goes on and keeps new writes.
    put_all(&db, lost.iter().copied(), 0);
    db.compact(..).unwrap();
    check_all_but_inline(&db, 300);
    db.verify().unwrap();
    drop(db);
    assert!(Db::repair(PATH, by_hand(&fs)).unwrap().found_nothing());
}

fn check_all_but_inline(db: &Db, count: usize) {
    db.delete("inline").unwrap();
    check_all(db, count, |_| Some(0));
}

/// The power failed while a garbage collection wrote segments: its file has the full length, with
/// zeros from some byte on.
#[test]
fn a_torn_copy_of_a_segment_does_not_stand_in_for_the_whole_one() {
    let fs = MemFs::new();
    let options = Options { max_dead_fraction: 1.0, ..by_hand(&fs) };
    let db = Db::open(PATH, options.clone()).unwrap();
    put_all(&db, 0..200, 0);
    db.flush().unwrap();
    put_all(&db, 0..100, 1);
    db.compact(..).unwrap();
    let before = fs.kill();
    db.collect_garbage().unwrap();
    drop(db);
    let new = files(&fs, ".seg").into_iter().find(|path| !before.exists(path)).unwrap();
    let copy = fs.read(&new).unwrap();
    // Behind the header of the file, and that of its first section.
    for whole in [40, 64, 500, copy.len() / 2, copy.len() - 9, copy.len()] {
        let fs = before.kill();
        let mut torn = copy.clone();
        torn[whole..].fill(0);
        write(&fs, &new, &torn);
        remove_manifest(&fs);
        let options = Options { env: foldb::env::Env::in_memory(fs.clone()), ..options.clone() };
        let report = rebuild(options.clone());
        assert!(report.lost_segments.is_empty(), "{whole}: {report:?}");
        let db = Db::open(PATH, options).unwrap();
        check_all(&db, 200, |n| Some(usize::from(n < 100)));
        db.verify().unwrap();
    }
}

/// The hints are damaged, so repair cannot find what the lost table referred to. It keeps the
/// values for other tools.
#[test]
fn a_segment_that_a_repair_cannot_make_use_of_is_put_aside() {
    let fs = MemFs::new();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    put_all(&db, 0..20, 0);
    db.flush().unwrap();
    drop(db);
    let path = files(&fs, ".seg").pop().unwrap();
    let mut bytes = fs.read(&path).unwrap();
    // In the only chunk of hints, before the end mark.
    let at = bytes.len() - 22;
    bytes[at] ^= 1;
    write(&fs, &path, &bytes);
    for table in files(&fs, ".tbl") {
        fs.remove(&table).unwrap();
    }
    let report = Db::repair(PATH, by_hand(&fs)).unwrap();
    assert_eq!(report.lost_segments, std::slice::from_ref(&path));
    assert_eq!(report.values_recovered, 0);
    let aside = PathBuf::from(format!("{}.unknown", path.display()));
    assert!(fs.exists(&aside), "{:?}", fs.list(Path::new(PATH)));
    assert_eq!(fs.read(&aside).unwrap(), bytes);
}

/// Manifest and tables are gone. Segments give the newest value of each key, with and without
/// hints, even where no log is left to name the database.
#[test]
fn values_are_found_again_without_manifest_and_tables() {
    for (hints, logs) in [(true, true), (false, true), (true, false)] {
        let fs = MemFs::new();
        let mut options = by_hand(&fs);
        options.knobs.value_hints = hints;
        let db = Db::open(PATH, options.clone()).unwrap();
        let other = foldb::KeyspaceOptions::default();
        let other = db.create_keyspace("other", other).unwrap();
        put_all(&db, 0..100, 0);
        put_all(&db, 0..50, 1);
        other.put(key(7), value(7, 3)).unwrap();
        db.flush().unwrap();
        put_all(&db, 30..60, 2);
        db.flush().unwrap();
        drop((db, other));
        remove_manifest(&fs);
        let gone = files(&fs, ".tbl").into_iter();
        let gone = gone.chain(files(&fs, ".log").into_iter().filter(|_| !logs));
        gone.for_each(|file| fs.remove(&file).unwrap());
        let report = rebuild(options.clone());
        assert_eq!((report.tables, report.values_recovered), (0, 101), "{report:?}");
        assert_eq!(report.incomplete_keyspaces, ["default", "keyspace-1"]);
        let db = Db::open(PATH, options.clone()).unwrap();
        check_all(&db, 100, |n| match n {
            30..60 => Some(2),
            _ => Some(usize::from(n < 50)),
        });
        let other = db.keyspace("keyspace-1").unwrap();
        assert_eq!(other.get(key(7)).unwrap().unwrap().into_owned(), value(7, 3));
        // New writes have larger sequence numbers.
        put_all(&db, 0..100, 4);
        db.flush().unwrap();
        check_all(&db, 100, |_| Some(4));
        db.compact(..).unwrap();
        check_all(&db, 100, |_| Some(4));
        db.verify().unwrap();
        drop((db, other));
        assert!(Db::repair(PATH, options).unwrap().found_nothing());
    }
}

/// Without a manifest, the keys that a damaged table showed are unknown. Found values never replace
/// keys that intact tables show.
#[test]
fn a_damaged_table_without_a_manifest_has_its_values_found_again() {
    let fs = MemFs::new();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    put_all(&db, 0..100, 0);
    db.flush().unwrap();
    let damaged = files(&fs, ".tbl").pop().unwrap();
    put_all(&db, 50..80, 1);
    (80..90).for_each(|n| db.delete(key(n)).unwrap());
    db.put(key(90), "inline").unwrap();
    db.flush().unwrap();
    drop(db);
    remove_manifest(&fs);
    let mut bytes = fs.read(&damaged).unwrap();
    // No part of the table can be salvaged.
    bytes.fill(0xa5);
    write(&fs, &damaged, &bytes);
    let report = rebuild(by_hand(&fs));
    assert_eq!((report.lost_tables.len(), &*report.lost_tables[0].file), (1, &*damaged));
    assert_eq!((report.tables, report.values_recovered), (1, 59), "{report:?}");
    assert_eq!(report.incomplete_keyspaces, ["default"]);
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    assert_eq!(db.get(key(90)).unwrap().unwrap(), b"inline");
    db.put(key(90), value(90, 0)).unwrap();
    check_all(&db, 100, |n| match n {
        50..80 => Some(1),
        80..90 => None,
        _ => Some(0),
    });
    db.verify().unwrap();
}

/// An old manifest was never removed, and the current one is gone. In between there was a flush, or
/// segments moved.
#[test]
fn an_older_manifest_does_not_hide_newer_files() {
    for merge in [false, true] {
        let fs = MemFs::new();
        let options = Options { max_dead_fraction: 1.0, ..by_hand(&fs) };
        let db = Db::open(PATH, options.clone()).unwrap();
        put_all(&db, 0..100, 0);
        db.flush().unwrap();
        put_all(&db, 0..50, 1);
        db.compact(..).unwrap();
        drop(db);
        let older = files(&fs, "MANIFEST").pop().unwrap();
        let bytes = fs.read(&older).unwrap();
        let db = Db::open(PATH, options.clone()).unwrap();
        if merge {
            assert!(db.collect_garbage().unwrap().commits > 0);
        } else {
            put_all(&db, 100..200, 0);
            put_all(&db, 0..50, 2);
            db.flush().unwrap();
        }
        drop(db);
        for manifest in files(&fs, "MANIFEST") {
            fs.remove(&manifest).unwrap();
        }
        write(&fs, &older, &bytes);
        let report = rebuild(options.clone());
        assert!(report.lost_tables.is_empty() && report.lost_segments.is_empty(), "{report:?}");
        let db = Db::open(PATH, options).unwrap();
        let generation = |n| if n < 50 { 2 - usize::from(merge) } else { 0 };
        check_all(&db, if merge { 100 } else { 200 }, |n| Some(generation(n)));
    }
}
