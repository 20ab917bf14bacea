//! Repairs of damaged logs: every write whose frames are intact survives, and the report names the
//! damaged parts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foldb::env::{FileSystem, MemFs};
use foldb::repair::RepairReport;
use foldb::{Db, ErrorKind, Options, WriteBatch, WriteOptions};

use crate::support::{PATH, assert_error, number, options};

fn by_hand(fs: &MemFs) -> Options {
    Options { disable_auto_compactions: true, ..options(fs) }
}

fn log_of(fs: &MemFs) -> PathBuf {
    logs_of(fs).pop().unwrap()
}

fn logs_of(fs: &MemFs) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(".log"));
    names.sort();
    names.into_iter().map(|name| Path::new(PATH).join(name)).collect()
}

fn flip(fs: &MemFs, file: &Path, at: usize) {
    let mut bytes = fs.read(file).unwrap();
    bytes[at] ^= 0x80;
    fs.create(file).unwrap().write_at(&bytes, 0).unwrap();
}

fn take_manifest_away(fs: &MemFs) {
    for name in fs.list(Path::new(PATH)).unwrap() {
        if name.starts_with("MANIFEST") || name == "CURRENT" {
            fs.remove(&Path::new(PATH).join(name)).unwrap();
        }
    }
}

/// Returns where each frame of a log begins and ends.
fn frames(log: &[u8]) -> Vec<(usize, usize)> {
    let (mut frames, mut at) = (Vec::new(), 0);
    while at + 32 <= log.len() && log[at + 8] != 0 {
        let length = u32::from_le_bytes(log[at + 4..at + 8].try_into().unwrap()) as usize;
        frames.push((at, at + 32 + length));
        at += 32 + length;
    }
    frames
}

/// One write: puts of two keys, an increment of a counter, or a large value in three frames.
fn write(db: &Db, n: usize, how: &WriteOptions) {
    let mut batch = WriteBatch::new();
    match n {
        25 => batch.put("large", vec![n as u8; 5 << 19]),
        _ if n.is_multiple_of(3) => batch
            .put(format!("first{n}"), format!("{n}"))
            .put(format!("second{n}"), vec![n as u8; 90]),
        _ => batch.merge(format!("count{}", n % 4), number(1 << n)),
    };
    db.with(how).write(&batch).unwrap();
}

/// Returns what is there after the writes for which `counts` says so.
fn expected(counts: impl Fn(usize) -> bool) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut all: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for n in (0..40).filter(|n| counts(*n)) {
        match n {
            25 => drop(all.insert(b"large".to_vec(), vec![n as u8; 5 << 19])),
            _ if n.is_multiple_of(3) => {
                all.insert(format!("first{n}").into(), format!("{n}").into());
                all.insert(format!("second{n}").into(), vec![n as u8; 90]);
            }
            _ => {
                let sum = all.entry(format!("count{}", n % 4).into()).or_insert(vec![0; 8]);
                let before = u64::from_le_bytes(sum[..].try_into().unwrap());
                *sum = number(before + (1 << n)).to_vec();
            }
        }
    }
    all
}

fn found(fs: &MemFs) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let db = Db::open(PATH, by_hand(fs)).unwrap();
    db.verify().unwrap();
    let entries = db.iter().unwrap().map(|entry| entry.unwrap());
    entries.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Returns the write that each frame after the header belongs to.
fn write_of(frame: usize) -> usize {
    match frame {
        1..=25 => frame - 1,
        26..=28 => 25,
        _ => frame - 3,
    }
}

fn check(report: &RepairReport, fs: &MemFs, broken: usize, all: &[(usize, usize)], at: usize) {
    let lost = (broken > 0).then(|| write_of(broken));
    assert!(found(fs) == expected(|n| Some(n) != lost), "byte {at}, frame {}", broken + 1);
    let is_last = broken + 1 == all.len();
    assert_eq!(report.lost_nothing(), broken == 0 || (is_last && report.cut.is_empty()), "{at}");
    if is_last {
        return;
    }
    let [skipped] = &report.skipped[..] else { panic!("byte {at}: {report:?}") };
    let (start, frames) = match broken {
        26..=28 => (all[26].0, 3),
        _ => (all[broken].0, 1),
    };
    assert_eq!((skipped.offset, skipped.frames), (start as u64, frames), "byte {at}");
    let aside = format!("{}.damaged", skipped.file.display());
    assert!(fs.exists(Path::new(&aside)));
}

/// Repair failed for a synced log, and kept only what lay before the damage of another.
#[test]
fn every_intact_write_of_a_damaged_log_survives() {
    for (sync, close) in [(true, true), (true, false), (false, true), (false, false)] {
        let fs = MemFs::new();
        let db = Db::open(PATH, by_hand(&fs)).unwrap();
        let how = WriteOptions { sync, ..WriteOptions::default() };
        (0..40).for_each(|n| write(&db, n, &how));
        let whole = match close {
            true => {
                db.close().unwrap();
                fs
            }
            false => fs.kill(),
        };
        let log = log_of(&whole);
        let all = frames(&whole.read(&log).unwrap());
        assert_eq!(all.len(), 43);
        let end = all.last().unwrap().1;
        let large = all[26].0 + 500..all[28].1 - 500;
        let small = (0..end).step_by(97).filter(|at| !large.contains(at));
        for at in small.chain(large.clone().step_by(1 << 19)) {
            let broken = all.iter().position(|(_, end)| at < *end).unwrap();
            let fs = whole.kill();
            flip(&fs, &log, at);
            let shown = format!("sync {sync}, close {close}, byte {at}");
            let says_synced = sync && broken + 1 < all.len();
            if says_synced && !close {
                let error = assert_error(Db::open(PATH, by_hand(&fs)), ErrorKind::Corruption, None);
                assert!(error.to_string().contains("foldb repair"), "{shown}: {error}");
            }
            let report =
                Db::repair(PATH, by_hand(&fs)).unwrap_or_else(|error| panic!("{shown}: {error}"));
            check(&report, &fs, broken, &all, at);
        }
    }
}

/// The manifest is lost too, or the header of the log.
#[test]
fn a_damaged_log_is_all_that_is_left() {
    for at in [20, 300] {
        let fs = MemFs::new();
        let db = Db::open(PATH, by_hand(&fs)).unwrap();
        (0..40).for_each(|n| write(&db, n, &WriteOptions::default()));
        let fs = fs.kill();
        take_manifest_away(&fs);
        let log = log_of(&fs);
        let all = frames(&fs.read(&log).unwrap());
        let broken = all.iter().position(|(_, end)| at < *end).unwrap();
        flip(&fs, &log, at);
        let report = Db::repair(PATH, by_hand(&fs)).unwrap();
        check(&report, &fs, broken, &all, at);
    }
}

/// Logs after a damaged one follow it by its number of frames, so they are kept. So are the logs
/// around a missing one.
#[test]
fn logs_after_a_damaged_one_are_kept() {
    for lost in [false, true] {
        let fs = MemFs::new();
        let with = |fs: &MemFs| Options { write_buffer_size: 64 << 10, ..by_hand(fs) };
        let db = Db::open(PATH, with(&fs)).unwrap();
        let mut key = 0;
        while logs_of(&fs).len() < 3 {
            db.put(format!("{key:06}"), vec![b'x'; 1000]).unwrap();
            key += 1;
        }
        let fs = fs.kill();
        let logs = logs_of(&fs);
        let mut lost_keys = 1;
        match lost {
            true => {
                lost_keys = frames(&fs.read(&logs[1]).unwrap()).len() - 1;
                fs.remove(&logs[1]).unwrap();
            }
            false => flip(&fs, &logs[0], 5000),
        }
        let report = Db::repair(PATH, with(&fs)).unwrap();
        assert_eq!(report.lost_logs, if lost { vec![logs[1].clone()] } else { Vec::new() });
        assert_eq!(report.skipped.len(), usize::from(!lost), "{report:?}");
        assert!(!report.lost_nothing());
        let db = Db::open(PATH, with(&fs)).unwrap();
        assert_eq!(db.iter().unwrap().count(), key - lost_keys);
    }
}

/// The definition of an operator lies in the gap. The manifest has it too. Without a manifest, the
/// operands stay, and reads of them say what is missing.
#[test]
fn operands_stay_if_the_definition_of_their_operator_is_damaged() {
    for without_manifest in [false, true] {
        let fs = MemFs::new();
        let db = Db::open(PATH, by_hand(&fs)).unwrap();
        db.put("before", "1").unwrap();
        let lists = db.operator("stringappend:;").unwrap();
        db.merge_with(&lists, "list", "a").unwrap();
        db.put("after", "2").unwrap();
        let fs = fs.kill();
        if without_manifest {
            take_manifest_away(&fs);
        }
        let log = log_of(&fs);
        let all = frames(&fs.read(&log).unwrap());
        assert_eq!(all.len(), 5);
        flip(&fs, &log, all[2].0 + 40);
        let report = Db::repair(PATH, by_hand(&fs)).unwrap();
        assert_eq!(report.skipped.len(), 1);
        let with = Options { allow_unresolved_operators: true, ..by_hand(&fs) };
        let db = Db::open(PATH, with).unwrap();
        assert!(db.get("before").unwrap().is_some() && db.get("after").unwrap().is_some());
        match db.get("list") {
            Ok(value) => assert!(!without_manifest && value.unwrap() == b"a"),
            Err(error) => {
                assert!(without_manifest && error.to_string().contains("'unknown.128'"), "{error}");
            }
        }
    }
}
