//! Tests repairs of a copy, repairs that change nothing, and logs cut at an offset that the caller
//! names.

use std::path::{Path, PathBuf};

use foldb::env::mem::Fault;
use foldb::env::{FileSystem, MemFs};
use foldb::repair::{LogCut, RepairOptions};
use foldb::{Db, ErrorKind, Options, Value};

use crate::support::segments::{check_all, key, put_all, separating, value};
use crate::support::{PATH, assert_error, text};

const COPY: &str = "copy";

fn options(fs: &MemFs) -> Options {
    Options { disable_auto_compactions: true, ..separating(fs) }
}

fn contents(fs: &MemFs, dir: &str) -> Vec<(String, Vec<u8>)> {
    let mut names = fs.list(Path::new(dir)).unwrap();
    names.sort();
    let read = |name: String| (name.clone(), fs.read(&Path::new(dir).join(name)).unwrap());
    names.into_iter().map(read).collect()
}

fn file(fs: &MemFs, ending: &str) -> PathBuf {
    let files = contents(fs, PATH).into_iter().map(|(name, _)| name);
    let last = files.filter(|name| name.ends_with(ending)).max().unwrap();
    Path::new(PATH).join(last)
}

fn flip(fs: &MemFs, file: &Path, at: usize) {
    let mut bytes = fs.read(file).unwrap();
    bytes[at] ^= 1;
    fs.create(file).unwrap().write_at(&bytes, 0).unwrap();
}

/// Two tables, the newer one damaged, segments and a log.
fn damaged() -> MemFs {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    put_all(&db, 0..100, 0);
    db.flush().unwrap();
    put_all(&db, 0..50, 1);
    db.put("inline", "in a table").unwrap();
    db.flush().unwrap();
    db.put("logged", "in the log").unwrap();
    drop(db);
    let table = file(&fs, ".tbl");
    flip(&fs, &table, 10);
    fs
}

#[test]
fn a_copy_is_repaired_and_the_database_is_left_alone() {
    let fs = damaged();
    let before = contents(&fs, PATH);
    let how = RepairOptions { copy_to: Some(COPY.into()), ..options(&fs).into() };
    let report = Db::repair(PATH, how.clone()).unwrap();
    assert_eq!((report.copy.as_deref(), report.lost_tables.len()), (Some(Path::new(COPY)), 1));
    assert_eq!(contents(&fs, PATH), before);
    let db = Db::open(COPY, options(&fs)).unwrap();
    assert_eq!(text(&db, "logged").as_deref(), Some("in the log"));
    ["inline", "logged"].iter().for_each(|key| db.delete(key).unwrap());
    check_all(&db, 100, |n| Some(usize::from(n < 50)));
    // Neither database sees changes of the other.
    db.compact(..).unwrap();
    drop(db);
    assert_eq!(contents(&fs, PATH), before);
    Db::destroy(PATH, &options(&fs)).unwrap();
    let db = Db::open(COPY, options(&fs)).unwrap();
    assert_eq!(db.get(key(70)).unwrap().map(Value::into_owned), Some(value(70, 0)));
    db.verify().unwrap();
    drop(db);
    // Repair leaves a directory with contents alone.
    let copied = contents(&fs, COPY);
    let again = Db::repair(COPY, how.clone());
    assert_error(again, ErrorKind::DatabaseExists, Some(COPY));
    assert_eq!(contents(&fs, COPY), copied);
}

#[test]
fn nothing_is_left_of_a_copy_that_fails() {
    let fs = damaged();
    let before = contents(&fs, PATH);
    let how = RepairOptions { copy_to: Some(COPY.into()), ..options(&fs).into() };
    for step in 0.. {
        fs.inject(Fault::on_mutation().nth(step + 1));
        let done = Db::repair(PATH, how.clone()).is_ok();
        fs.clear_faults();
        assert_eq!(contents(&fs, PATH), before, "step {step}");
        if done {
            assert!(step > 10, "{step} steps");
            return;
        }
        assert!(!fs.exists(Path::new(COPY)) || contents(&fs, COPY).len() <= 1, "step {step}");
        for name in fs.list(Path::new(COPY)).into_iter().flatten() {
            fs.remove(&Path::new(COPY).join(name)).unwrap();
        }
    }
}

/// A dry run reports the same as a real repair.
#[test]
fn a_dry_run_changes_nothing() {
    let fs = damaged();
    let before = contents(&fs, PATH);
    let how = RepairOptions { dry_run: true, ..options(&fs).into() };
    let told = Db::repair(PATH, how.clone()).unwrap();
    assert_eq!(contents(&fs, PATH), before);
    assert!(!told.lost_nothing());
    let done = Db::repair(PATH, options(&fs)).unwrap();
    assert_eq!(format!("{told:?}"), format!("{done:?}"));
}

/// Three logs, the first damaged before its end. Returns the files, the log and the offset.
fn damaged_log() -> (MemFs, PathBuf, u64) {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    for n in 0..20 {
        db.put(format!("logged{n:02}"), "x").unwrap();
        db.sync().unwrap();
    }
    let log = file(&fs, ".log");
    drop(db);
    flip(&fs, &log, 600);
    let error = Db::open(PATH, options(&fs)).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corruption, Some(&*log)));
    let offset = error.offset().unwrap();
    (fs, log, offset)
}

#[test]
fn a_damaged_log_is_cut_where_the_caller_says() {
    let (fs, log, offset) = damaged_log();
    let whole = fs.read(&log).unwrap();
    let cut = LogCut { file: log.clone(), offset };
    let how = RepairOptions { cut_log: Some(cut), ..options(&fs).into() };
    let report = Db::repair(PATH, how.clone()).unwrap();
    let told = report.cut_log.as_ref().unwrap();
    assert_eq!((&told.file, told.offset), (&log, offset));
    assert!(!report.lost_nothing() && told.bytes == whole.len() as u64 - offset);
    let aside = format!("{}.damaged", log.display());
    assert_eq!(fs.read(Path::new(&aside)).unwrap(), whole);
    let db = Db::open(PATH, options(&fs)).unwrap();
    let found = db.iter().unwrap().count();
    assert!((1..20).contains(&found), "{found}");
    // The remaining writes are a prefix.
    assert!((0..found).all(|n| text(&db, &format!("logged{n:02}")).is_some()));
}

#[test]
fn only_a_log_that_is_there_is_cut() {
    let (fs, log, offset) = damaged_log();
    let before = contents(&fs, PATH);
    let other = log.with_file_name("000099.log");
    for cut in [
        LogCut { file: other, offset },
        LogCut { file: "CURRENT".into(), offset },
        LogCut { file: log, offset: 1 << 40 },
    ] {
        let how = RepairOptions { cut_log: Some(cut), ..options(&fs).into() };
        let refused = Db::repair(PATH, how.clone());
        assert_error(refused, ErrorKind::InvalidArgument, None);
        assert_eq!(contents(&fs, PATH), before);
    }
}

/// Stopped at any moment, a log of that name exists, whole or cut, and the cut can be done again.
#[test]
fn a_cut_that_is_cut_short_can_be_done_again() {
    for step in 0.. {
        let (fs, log, offset) = damaged_log();
        fs.open(&log).unwrap();
        let cut = LogCut { file: log.clone(), offset };
        let how = RepairOptions { cut_log: Some(cut), ..options(&fs).into() };
        fs.inject(Fault::on_mutation().nth(step + 1).forever());
        let done = Db::repair(PATH, how.clone()).is_ok();
        fs.clear_faults();
        let fs = fs.kill();
        if let Err(error) = Db::open(PATH, options(&fs)).map(drop) {
            assert_eq!(error.kind(), ErrorKind::Corruption, "step {step}: {error}");
            Db::repair(PATH, RepairOptions { open: options(&fs), ..how }).unwrap();
        }
        let db = Db::open(PATH, options(&fs)).unwrap();
        let found = db.iter().unwrap().count();
        assert!((1..20).contains(&found), "step {step}: {found}");
        if done {
            assert!(step > 5, "{step} steps");
            return;
        }
    }
}
