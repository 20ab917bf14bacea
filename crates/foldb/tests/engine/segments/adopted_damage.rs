//! Damage of adopted logs, and what repair finds in them.

use std::path::Path;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::{Db, ErrorKind, KeyspaceOptions};

use super::adopted_collections::none_dead;
use super::adoption::{adopting, check_all, is_adopted, open, put_all, value};
use crate::support::segments::{key, segment_files};
use crate::support::{PATH, assert_error, error_of, skipped_where_files_only_grow};

/// The durable part of such a log is unknown: nothing may refer to it, and no caller may be told
/// that it is durable.
#[test]
fn a_log_that_cannot_be_synced_is_not_adopted_and_the_database_takes_no_more_writes() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    put_all(&db, 50, 0);
    fs.inject(Fault::on(Operation::Sync).path(".log"));
    assert_error(db.flush(), ErrorKind::Io, None);
    assert!(db.put("a", "b").is_err());
    check_all(&db, 50, |_| 0);
    drop(db);
    let db = open(&fs);
    check_all(&db, 50, |_| 0);
    assert_eq!(db.stats().segments.files, segment_files(&fs).len() as u64);
}

/// Damages a byte of a file: in a value, or before the first value of a frame. Returns the file.
pub(super) fn damage(fs: &MemFs, n: usize, generation: usize, offset: isize) -> String {
    let name = segment_files(fs).into_iter().find(|name| at_of(fs, name, n, generation).is_some());
    let name = name.expect("the value lies in a segment");
    let at = at_of(fs, &name, n, generation).unwrap();
    let path = Path::new(PATH).join(&name);
    let mut bytes = fs.read(&path).unwrap();
    bytes[at.checked_add_signed(offset).unwrap()] ^= 1;
    fs.create(&path).unwrap().write_at(&bytes, 0).unwrap();
    name
}

fn at_of(fs: &MemFs, name: &str, n: usize, generation: usize) -> Option<usize> {
    let bytes = fs.read(&Path::new(PATH).join(name)).unwrap();
    let value = value(n, generation);
    bytes.windows(value.len()).position(|window| window == value)
}

#[test]
fn a_damaged_value_of_an_adopted_log_fails_the_reads_of_its_key_alone() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    put_all(&db, 40, 0);
    assert!(is_adopted(&db));
    drop(db);
    let name = damage(&fs, 7, 0, 500);
    let db = open(&fs);
    let error = assert_error(db.get(key(7)), ErrorKind::Corruption, Some(&name));
    assert!(error.to_string().contains("key0007"), "{error}");
    for n in (0..40).filter(|&n| n != 7) {
        assert_eq!(db.get(key(n)).unwrap().unwrap().into_owned(), value(n, 0));
    }
    assert_eq!(db.iter().unwrap().filter(Result::is_err).count(), 1);
    assert!(error_of(db.verify()).to_string().contains(&name));
    // A garbage collection leaves the file alone.
    (20..40).for_each(|n| db.put(key(n), value(n, 1)).unwrap());
    db.compact(..).unwrap();
    db.with(&none_dead()).collect_garbage().unwrap();
    assert!(segment_files(&fs).contains(&name));
    db.put(key(7), value(7, 0)).unwrap();
    check_all(&db, 40, |n| usize::from(n >= 20));
}

#[test]
fn another_file_in_place_of_an_adopted_log_is_found_out() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    put_all(&db, 40, 0);
    assert!(is_adopted(&db));
    drop(db);
    let elsewhere = MemFs::new();
    let db = open(&elsewhere);
    (0..2).for_each(|_| put_all(&db, 40, 0));
    assert!(!is_adopted(&db));
    put_all(&db, 40, 0);
    assert!(is_adopted(&db));
    drop(db);
    let name = segment_files(&fs)[0].clone();
    let path = Path::new(PATH).join(&name);
    let other = Path::new(PATH).join(segment_files(&elsewhere).last().unwrap());
    // A byte of the header's frame, another log, a file cut short.
    let own = fs.read(&path).unwrap();
    let mut broken = own.clone();
    broken[60] ^= 1;
    for bytes in [broken, elsewhere.read(&other).unwrap(), own[..50].to_vec(), Vec::new()] {
        fs.create(&path).unwrap().write_at(&bytes, 0).unwrap();
        let db = open(&fs);
        assert_error(db.get(key(7)), ErrorKind::Corruption, Some(&name));
        assert_error(db.verify(), ErrorKind::Corruption, Some(&name));
    }
    fs.create(&path).unwrap().write_at(&own, 0).unwrap();
    check_all(&open(&fs), 40, |_| 0);
}

fn remove(fs: &MemFs, part: &str) {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(part) || name.starts_with(part));
    assert!(!names.is_empty(), "{part}");
    names.iter().for_each(|name| fs.remove(&Path::new(PATH).join(name)).unwrap());
}

/// H26: a log names the keys of its values, also after a garbage collection copied them.
#[test]
fn repair_finds_the_values_of_a_lost_table_in_adopted_logs() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    for collected in [false, true] {
        for hints in [true, false] {
            let fs = MemFs::new();
            let options = || {
                let mut options = adopting(&fs);
                options.knobs.value_hints = hints;
                options
            };
            let db = Db::open(PATH, options()).unwrap();
            put_all(&db, 60, 0);
            (0..5).for_each(|n| db.put(key(n), value(n, 1)).unwrap());
            assert!(is_adopted(&db));
            if collected {
                db.with(&none_dead()).collect_garbage().unwrap();
            }
            drop(db);
            remove(&fs, ".tbl");
            let report = Db::repair(PATH, options()).unwrap();
            assert_eq!((report.values_recovered, report.lost_tables.len()), (60, 1), "{report:?}");
            let db = Db::open(PATH, options()).unwrap();
            check_all(&db, 60, |n| usize::from(n < 5));
            db.verify().unwrap();
        }
    }
}

/// Repair does not trust a damaged frame, but takes the frames before it.
#[test]
fn repair_takes_the_whole_frames_before_a_damaged_one() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    let fs = MemFs::new();
    let db = open(&fs);
    (0..60).for_each(|n| db.put(key(n), value(n, 0)).unwrap());
    assert!(is_adopted(&db));
    drop(db);
    // The damage is in its key.
    damage(&fs, 40, 0, -4);
    remove(&fs, ".tbl");
    let report = Db::repair(PATH, adopting(&fs)).unwrap();
    assert_eq!((report.values_recovered, report.lost_segments.len()), (40, 1), "{report:?}");
    check_all(&open(&fs), 40, |_| 0);
}

#[test]
fn a_rebuilt_manifest_knows_adopted_logs() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    for collected in [false, true] {
        let fs = MemFs::new();
        let db = open(&fs);
        let own = KeyspaceOptions { value_separation_min: Some(500), ..KeyspaceOptions::default() };
        let other = db.create_keyspace("other", own).unwrap();
        put_all(&db, 60, 0);
        assert!(is_adopted(&db));
        (0..60).for_each(|n| other.put(key(n), value(n, 1)).unwrap());
        assert!(is_adopted(&db));
        if collected {
            (0..30).for_each(|n| db.put(key(n), value(n, 0)).unwrap());
            db.compact(..).unwrap();
            db.with(&none_dead()).collect_garbage().unwrap();
        }
        db.put("logged", "only").unwrap();
        drop(other);
        drop(db);
        remove(&fs, "MANIFEST");
        remove(&fs, "CURRENT");
        let report = Db::repair(PATH, adopting(&fs)).unwrap();
        assert!(report.rebuilt && report.lost_segments.is_empty(), "{report:?}");
        let db = open(&fs);
        assert_eq!(db.get("logged").unwrap().unwrap(), b"only");
        db.delete("logged").unwrap();
        check_all(&db, 60, |_| 0);
        let other = db.keyspaces().into_iter().find(|name| name != "default").unwrap();
        let other = db.keyspace(&other).unwrap();
        for n in 0..60 {
            assert_eq!(other.get(key(n)).unwrap().unwrap().into_owned(), value(n, 1));
        }
        db.verify().unwrap();
        put_all(&db, 60, 3);
        assert!(is_adopted(&db));
        check_all(&db, 60, |_| 3);
    }
}

/// Only the log that became a segment is left. It names the database and keyspace.
#[test]
fn repair_finds_the_values_of_adopted_logs_without_manifest_tables_and_logs() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    for logs in [true, false] {
        let fs = MemFs::new();
        let db = open(&fs);
        let own = KeyspaceOptions { value_separation_min: Some(500), ..KeyspaceOptions::default() };
        let other = db.create_keyspace("other", own).unwrap();
        other.put(key(1), value(1, 5)).unwrap();
        (0..60).for_each(|n| other.put(key(n), value(n, 1)).unwrap());
        assert!(is_adopted(&db));
        // A keyspace that only a log knows.
        let late = db.create_keyspace(
            "late",
            KeyspaceOptions { value_separation_min: Some(500), ..KeyspaceOptions::default() },
        );
        late.unwrap().put(key(2), value(2, 7)).unwrap();
        drop((db, other));
        for part in ["MANIFEST", "CURRENT", ".tbl"] {
            remove(&fs, part);
        }
        if !logs {
            remove(&fs, ".log");
        }
        let report = Db::repair(PATH, adopting(&fs)).unwrap();
        assert_eq!((report.tables, report.values_recovered), (0, 60), "{report:?}");
        let db = open(&fs);
        let other = db.keyspace("keyspace-1").unwrap();
        for n in 0..60 {
            assert_eq!(other.get(key(n)).unwrap().unwrap().into_owned(), value(n, 1));
        }
        if logs {
            let late = db.keyspace("keyspace-2").unwrap();
            assert_eq!(late.get(key(2)).unwrap().unwrap().into_owned(), value(2, 7));
        }
        db.verify().unwrap();
    }
}
