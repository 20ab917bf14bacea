//! Simulates power loss at every call that changes the disk. The directory keeps its changes in no
//! particular order.

use std::path::Path;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::internals::Knobs;
use foldb::{Db, ErrorKind, KeyspaceOptions, LogAdoption, Options, Result, WriteOptions};

use crate::support::{PATH, only_appends, options};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
const COPY: &str = "copy";
/// Number of crash outcomes to check.
const SEEDS: u64 = 6;

/// Options that separate values and adopt logs as segments.
fn with(fs: &MemFs) -> Options {
    Options {
        default: KeyspaceOptions { value_separation_min: Some(256), ..options(fs).default },
        knobs: Knobs { segment_size: 16 << 10, ..Knobs::default() },
        adopt_logs: LogAdoption::Always,
        ..options(fs)
    }
}

fn value(n: usize) -> Vec<u8> {
    format!("{n:04}").into_bytes().repeat(if n.is_multiple_of(2) { 2 } else { 500 })
}

/// The progress of a program: acknowledged writes, and whether the checkpoint was acknowledged.
#[derive(Default)]
struct Progress {
    acknowledged: usize,
    in_checkpoint: Option<usize>,
}

/// Opens, writes, flushes, compacts, makes a checkpoint, closes and opens again.
fn program(fs: &MemFs, progress: &mut Progress) -> Result<()> {
    for _ in 0..2 {
        let db = Db::open(PATH, with(fs))?;
        let put = |count: usize, progress: &mut Progress| -> Result<()> {
            for _ in 0..count {
                let n = progress.acknowledged;
                db.with(&SYNC).put(format!("{n:04}"), value(n))?;
                progress.acknowledged += 1;
            }
            Ok(())
        };
        put(5, progress)?;
        db.flush()?;
        if progress.in_checkpoint.is_none() {
            db.create_keyspace("other", KeyspaceOptions::default())?;
            put(40, progress)?;
            db.flush()?;
            put(3, progress)?;
            db.checkpoint(COPY)?;
            progress.in_checkpoint = Some(progress.acknowledged);
            db.compact(..)?;
        }
        db.operator("stringappend:;")?;
        put(3, progress)?;
        db.close()?;
    }
    Ok(())
}

/// Checks that every acknowledged write is there, and at most the unfinished one besides.
fn check(path: &str, fs: &MemFs, acknowledged: usize, moment: &str) {
    let db = Db::open(path, with(fs)).unwrap_or_else(|error| panic!("{moment}: {error}"));
    let mut count = 0;
    for (n, entry) in db.iter().unwrap().enumerate() {
        let (key, found) = entry.unwrap_or_else(|error| panic!("{moment}: {error}"));
        assert_eq!(&key[..], format!("{n:04}").as_bytes(), "{moment}");
        assert!(found[..] == value(n), "{moment}: value {n}");
        count += 1;
    }
    assert!((acknowledged..=acknowledged + 1).contains(&count), "{moment}: {count} keys");
}

fn database_is_at(path: &str, fs: &MemFs) -> bool {
    fs.exists(&Path::new(path).join("CURRENT"))
}

#[test]
fn what_was_acknowledged_survives_power_loss_at_every_call() {
    let whole = MemFs::new();
    program(&whole, &mut Progress::default()).unwrap();
    let calls = whole.counts().mutations();
    let links = whole.counts().of(Operation::HardLink);
    assert!(links > 3 || only_appends(), "no log was adopted, no table linked");
    for point in 1..=calls {
        let fs = MemFs::new();
        fs.inject(Fault::on_mutation().nth(point).forever());
        let mut progress = Progress::default();
        // The first failing calls may be ones whose failure does no harm.
        let _stopped = program(&fs, &mut progress);
        for seed in 0..SEEDS {
            let left = fs.crash_with(seed);
            let moment = format!("call {point} of {calls}, seed {seed}");
            check(PATH, &left, progress.acknowledged, &moment);
            if let Some(acknowledged) = progress.in_checkpoint {
                check(COPY, &left, acknowledged, &format!("{moment}, checkpoint"));
            } else if database_is_at(COPY, &left) {
                check(
                    COPY,
                    &left,
                    progress.acknowledged,
                    &format!("{moment}, unfinished checkpoint"),
                );
            }
        }
    }
}

/// One call fails, and later ones work. Every acknowledged write is readable at once. The database
/// goes on where it can, or says that it must be reopened. Nothing is lost.
#[test]
fn an_error_that_heals_at_once_loses_nothing_at_any_call() {
    let whole = MemFs::new();
    program(&whole, &mut Progress::default()).unwrap();
    let calls = whole.counts().mutations();
    let (mut went_on, mut reopened) = (0, 0);
    for point in 1..=calls {
        let fs = MemFs::new();
        fs.inject(Fault::on_mutation().nth(point));
        let mut progress = Progress::default();
        let moment = format!("call {point} of {calls}");
        let stopped = program(&fs, &mut progress);
        let kinds = [ErrorKind::Io, ErrorKind::NoSpace, ErrorKind::Poisoned];
        if let Err(error) = stopped {
            assert!(kinds.contains(&error.kind()), "{moment}: {error}");
            reopened += 1;
        } else {
            went_on += 1;
        }
        check(PATH, &fs.crash(), progress.acknowledged, &format!("{moment}, power"));
        check(PATH, &fs.kill(), progress.acknowledged, &format!("{moment}, kill"));
        // The path takes the program again, from where it was: an unfinished copy is no copy.
        let again = fs.kill();
        if database_is_at(COPY, &again) && progress.in_checkpoint.is_none() {
            Db::destroy(COPY, &with(&again)).unwrap();
        }
        let before = progress.acknowledged;
        let db = Db::open(PATH, with(&again)).unwrap();
        let next = db.iter().unwrap().count();
        assert!((before..=before + 1).contains(&next), "{moment}: {next} keys");
        db.with(&SYNC).put(format!("{next:04}"), value(next)).unwrap();
        db.close().unwrap();
        check(PATH, &again, next + 1, &format!("{moment}, again"));
    }
    assert!(went_on > 5 && reopened > 20, "{went_on} went on, {reopened} were reopened");
}

#[test]
fn a_repair_survives_power_loss_at_every_call() {
    let whole = MemFs::new();
    let mut progress = Progress::default();
    program(&whole, &mut progress).unwrap();
    whole.remove(&Path::new(PATH).join("CURRENT")).unwrap();
    whole.sync_dir(Path::new(PATH)).unwrap();
    let repaired = whole.kill();
    Db::repair(PATH, with(&repaired)).unwrap();
    let calls = repaired.counts().mutations();
    for point in 1..=calls {
        let fs = whole.kill();
        fs.inject(Fault::on_mutation().nth(point).forever());
        let _stopped = Db::repair(PATH, with(&fs));
        for seed in 0..SEEDS {
            let left = fs.crash_with(seed);
            let moment = format!("call {point} of {calls}, seed {seed}");
            if !database_is_at(PATH, &left) {
                Db::repair(PATH, with(&left)).unwrap_or_else(|error| panic!("{moment}: {error}"));
            }
            check(PATH, &left, progress.acknowledged, &moment);
        }
    }
}
