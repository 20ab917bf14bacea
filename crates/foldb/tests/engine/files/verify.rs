//! Verification of a closed database: it names the file and offset of each damage, and changes
//! nothing.

use std::path::{Path, PathBuf};

use foldb::env::{FileSystem, MemFs};
use foldb::repair::VerifyReport;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};

use crate::support::segments::{put_all, separating};
use crate::support::{PATH, assert_error, number};

fn options(fs: &MemFs) -> Options {
    Options { disable_auto_compactions: true, block_size: 512, ..separating(fs) }
}

/// Two keyspaces, tables with every kind of record, segments, and a log whose writes are known to
/// be synced except at its end.
fn database() -> MemFs {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    let other = db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
    for round in 0..2 {
        put_all(&db, 0..30, round);
        for n in 0..60 {
            db.merge(format!("count{n:02}"), number(n)).unwrap();
            other.put(format!("plain{n:02}"), "x".repeat(20)).unwrap();
        }
        db.delete_range("key0010".."key0012").unwrap();
        db.flush().unwrap();
    }
    for n in 0..10 {
        db.merge(format!("count{n:02}"), number(1)).unwrap();
        db.sync().unwrap();
    }
    drop((other, db));
    fs
}

fn names(fs: &MemFs) -> Vec<String> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.sort();
    names
}

fn contents(fs: &MemFs) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| (name.clone(), fs.read(&Path::new(PATH).join(name)).unwrap());
    names(fs).into_iter().map(read).collect()
}

fn verify(fs: &MemFs) -> VerifyReport {
    let before = contents(fs);
    let report = foldb::repair::verify(PATH, options(fs)).unwrap();
    assert_eq!(contents(fs), before, "a verification changes nothing");
    report
}

fn flip(fs: &MemFs, file: &Path, at: usize) {
    let mut bytes = fs.read(file).unwrap();
    bytes[at] ^= 1;
    fs.create(file).unwrap().write_at(&bytes, 0).unwrap();
}

#[test]
fn a_sound_database_is_found_sound() {
    let fs = database();
    let mut told = Vec::new();
    let report =
        foldb::repair::verify_with_progress(PATH, options(&fs), |progress| told.push(progress))
            .unwrap();
    assert!(report.is_sound() && report.leftovers.is_empty(), "{report:?}");
    assert_eq!(report.unchecked_operands, 0);
    let found = |ending: &str| {
        let files = report.files.iter();
        files.filter(|it| it.file.to_str().unwrap().contains(ending)).collect::<Vec<_>>()
    };
    assert_eq!((found(".tbl").len(), found(".log").len(), found("MANIFEST").len()), (4, 1, 1));
    assert!(found(".seg").iter().map(|it| it.records).sum::<u64>() > 50);
    assert!(found(".log")[0].records >= 10 && report.bytes() > 10_000);
    assert!(told.windows(2).all(|pair| pair[0].bytes_done <= pair[1].bytes_done));
    assert_eq!(told.last().unwrap().bytes_total, told[0].bytes_total);
}

/// Bytes of each kind of file, flipped one at a time.
#[test]
fn a_flipped_byte_is_reported_with_file_and_offset() {
    let whole = database();
    let mut flipped = 0;
    for name in names(&whole).into_iter().filter(|name| name != "LOCK") {
        let file = Path::new(PATH).join(&name);
        let len = whole.read(&file).unwrap().len();
        // The last frame of a log may be torn: nothing behind it says that it was synced.
        let end =
            if name.ends_with(".log") || name.starts_with("MANIFEST") { len / 2 } else { len };
        for at in (0..end).step_by((end / 40).max(1)) {
            let fs = whole.kill();
            flip(&fs, &file, at);
            let report = verify(&fs);
            let told = report.faults.iter().find(|error| error.path() == Some(&*file));
            if name == "CURRENT" {
                // Or the manifest that CURRENT then names is missing.
                assert!(!report.is_sound(), "byte {at} of {name}");
                continue;
            }
            let told = told.unwrap_or_else(|| panic!("byte {at} of {name}: {:?}", report.faults));
            assert_eq!(told.kind(), ErrorKind::Corruption, "byte {at} of {name}: {told}");
            assert!(told.offset().is_some_and(|found| found <= len as u64), "{told:?}");
            flipped += 1;
        }
    }
    assert!(flipped > 200, "{flipped}");
}

#[test]
fn missing_and_extra_files_are_reported() {
    let whole = database();
    for name in names(&whole) {
        // Without the record of the close, the database looks like one after a power loss.
        if name == "LOCK" || name == "CLOSED" {
            continue;
        }
        let fs = whole.kill();
        fs.remove(&Path::new(PATH).join(&name)).unwrap();
        let report = verify(&fs);
        assert!(!report.is_sound(), "{name} is missing");
        let named = |error: &foldb::Error| error.to_string().contains(&name);
        assert!(report.faults.iter().any(named), "{name}: {:?}", report.faults);
    }
    let fs = whole.kill();
    let extra: Vec<PathBuf> =
        ["000900.tbl", "notes.txt"].iter().map(|name| Path::new(PATH).join(name)).collect();
    extra.iter().for_each(|file| drop(fs.create(file).unwrap()));
    let report = verify(&fs);
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.leftovers, extra);
}

/// Without a manifest each file is checked by itself, and damage is still found.
#[test]
fn files_are_checked_without_a_manifest() {
    let whole = database();
    let manifest = names(&whole).into_iter().find(|name| name.starts_with("MANIFEST")).unwrap();
    for ending in [".tbl", ".seg", ".log"] {
        let fs = whole.kill();
        fs.remove(&Path::new(PATH).join(&manifest)).unwrap();
        let sound = verify(&fs);
        assert_eq!(sound.faults.len(), 1, "{sound:?}");
        let name = names(&fs).into_iter().find(|name| name.ends_with(ending)).unwrap();
        let file = Path::new(PATH).join(name);
        flip(&fs, &file, 200);
        let report = verify(&fs);
        assert!(report.faults.iter().any(|error| error.path() == Some(&*file)), "{report:?}");
        assert_eq!((report.faults.len(), report.files.len()), (2, sound.files.len() - 1));
    }
}

/// A table of the same number from before a compaction is intact, but the wrong one.
#[test]
fn a_file_swapped_with_another_is_noticed() {
    let whole = database();
    let tables: Vec<_> = names(&whole).into_iter().filter(|name| name.ends_with(".tbl")).collect();
    let bytes = whole.read(&Path::new(PATH).join(&tables[0])).unwrap();
    let file = Path::new(PATH).join(&tables[1]);
    whole.create(&file).unwrap().write_at(&bytes, 0).unwrap();
    let report = verify(&whole);
    assert_eq!(report.faults[0].path(), Some(&*file), "{report:?}");
}

#[test]
fn verification_needs_a_closed_database() {
    let fs = MemFs::new();
    assert_error(foldb::repair::verify(PATH, options(&fs)), ErrorKind::DatabaseMissing, None);
    let db = Db::open(PATH, options(&fs)).unwrap();
    assert_error(foldb::repair::verify(PATH, options(&fs)), ErrorKind::Locked, Some("LOCK"));
    drop(db);
    assert!(verify(&fs).is_sound());
}

/// Operands whose operators are not registered are counted instead of checked.
#[test]
fn operands_of_unknown_operators_are_counted() {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    let spec = options(&fs).operators[0].name().to_owned();
    let operator = db.operator(&spec).unwrap();
    db.merge_with(&operator, "a", number(1)).unwrap();
    // Over nothing an operand becomes a value.
    db.flush().unwrap();
    db.merge_with(&operator, "a", number(1)).unwrap();
    drop(db);
    let without = Options { operators: Vec::new(), ..options(&fs) };
    let report = foldb::repair::verify(PATH, without).unwrap();
    assert!(report.is_sound() && report.unchecked_operands == 1, "{report:?}");
}

/// A flush cuts a range delete down to the keys below it, so the range delete ends directly after
/// the last of these keys. Verification once took the end for one before that key, and called a
/// sound database damaged. Repair wrote the end in that way, and reads of that key no longer met
/// the delete.
#[test]
fn a_range_delete_that_ends_after_a_key_verifies_and_is_repaired() {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    for n in 0..10 {
        db.put(format!("key{n}"), "x").unwrap();
    }
    db.flush().unwrap();
    db.delete_range("key".."kez").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    drop(db);

    let report = verify(&fs);
    assert!(report.is_sound(), "{:?}", report.faults);
    for manifest in names(&fs).iter().filter(|name| name.starts_with("MANIFEST")) {
        fs.remove(&Path::new(PATH).join(manifest)).unwrap();
    }
    Db::repair(PATH, options(&fs)).unwrap();
    let db = Db::open(PATH, options(&fs)).unwrap();
    for n in 0..10 {
        assert!(db.get(format!("key{n}")).unwrap().is_none(), "key{n} is back");
    }
    assert_eq!(db.iter().unwrap().count(), 0);
}
