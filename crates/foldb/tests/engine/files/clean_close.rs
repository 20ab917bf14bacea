//! A clean close is provable: any file that changed afterwards is damaged. After a crash the open
//! says what it left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, FileSystem, MemFs};
use foldb::events::{DroppedTail, Event, EventListener};
use foldb::{Db, Error, ErrorKind, KeyspaceOptions, Options, WriteOptions};

use crate::support::gates::Gate;
use crate::support::{PATH, assert_error, only_appends, open, options, reopen, text, watched};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };

type Files = BTreeMap<String, Vec<u8>>;

/// Returns the files that are not tables, by name.
fn files(fs: &MemFs) -> Files {
    let names = fs.list(PATH.as_ref()).unwrap().into_iter();
    let names = names.filter(|name| name != "LOCK" && !name.ends_with(".tbl"));
    names.map(|name| (name.clone(), fs.read(&Path::new(PATH).join(name)).unwrap())).collect()
}

/// Returns a copy of a file system with other bytes in one file.
fn with_file(fs: &MemFs, name: &str, bytes: &[u8]) -> MemFs {
    let copy = fs.kill();
    let file = copy.create(&Path::new(PATH).join(name)).unwrap();
    file.write_at(bytes, 0).unwrap();
    copy
}

/// Asserts that an open reports damage with the file and an offset, and a read-only open the same.
fn assert_noticed(fs: &MemFs, what: &str) -> Error {
    let read_only = Db::open_read_only(PATH, Options { create_if_missing: false, ..options(fs) });
    for opened in [reopen(fs).map(drop), read_only.map(drop)] {
        let error = opened.err().unwrap_or_else(|| panic!("{what} was not noticed"));
        assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
        assert!(error.path().is_some(), "{what}: {error}");
    }
    assert_error(reopen(fs), ErrorKind::Corruption, None)
}

/// Returns a small database, closed: a table, a keyspace, an operator, and writes that are only in
/// the log. Adds earlier states of its files to `older`.
fn closed(older: &mut Vec<Files>) -> MemFs {
    let fs = MemFs::new();
    for round in 0..2 {
        let db = open(&fs).unwrap();
        older.push(files(&fs));
        db.put("table", "1").unwrap();
        db.flush().unwrap();
        if round == 0 {
            db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
        }
        db.operator("stringappend:;").unwrap();
        older.push(files(&fs));
        db.put("log", "1").unwrap();
        older.push(files(&fs));
        db.with(&SYNC).put("log", "2").unwrap();
        db.delete("table").unwrap();
        older.push(files(&fs));
        db.close().unwrap();
        older.push(files(&fs));
    }
    older.pop();
    fs
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn assert_whole(fs: &MemFs) {
    let db = reopen(fs).unwrap();
    assert_eq!((text(&db, "table"), text(&db, "log").as_deref()), (None, Some("2")));
}

/// A delete once came back when one byte of the last frame changed.
#[test]
fn every_flipped_byte_is_noticed() {
    let fs = closed(&mut Vec::new());
    let files = files(&fs);
    assert_eq!(files.len(), 4, "CURRENT, CLOSED, a manifest and a log: {:?}", files.keys());
    for (name, bytes) in &files {
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            assert_noticed(&with_file(&fs, name, &flipped), &format!("byte {at} of {name}"));
        }
    }
    assert_whole(&fs);
}

#[test]
fn every_cut_is_noticed() {
    let fs = closed(&mut Vec::new());
    for (name, bytes) in &files(&fs) {
        for len in 0..bytes.len() {
            let what = format!("{name} of {} bytes cut to {len}", bytes.len());
            let error = assert_noticed(&with_file(&fs, name, &bytes[..len]), &what);
            let is_numbered = name.ends_with(".log") || name.starts_with("MANIFEST");
            if is_numbered {
                assert!(error.path().unwrap().ends_with(name), "{what}: {error}");
                assert!(error.offset().is_some_and(|at| at <= len as u64), "{what}: {error}");
            }
        }
    }
}

/// The bytes of an earlier time are intact, but wrong.
#[test]
fn a_file_swapped_with_its_older_self_is_noticed() {
    let mut older = Vec::new();
    let fs = closed(&mut older);
    let mut swapped = 0;
    for (name, bytes) in &files(&fs) {
        for (age, before) in older.iter().enumerate() {
            // CURRENT or CLOSED may come from the session before. Space that was reserved for a log
            // is no other content.
            let cut =
                |before: &Vec<u8>| before.starts_with(bytes) && is_zero(&before[bytes.len()..]);
            let Some(before) = before.get(name).filter(|before| !cut(before)) else { continue };
            assert_noticed(&with_file(&fs, name, before), &format!("{name} as of moment {age}"));
            swapped += 1;
        }
    }
    assert!(swapped >= 8, "only {swapped} files were swapped");
}

#[test]
fn a_missing_file_is_noticed() {
    let fs = closed(&mut Vec::new());
    for name in files(&fs).keys().filter(|name| *name != "CLOSED") {
        let copy = fs.kill();
        copy.remove(&Path::new(PATH).join(name)).unwrap();
        reopen(&copy).map(drop).unwrap_err();
        // An open that may create a database creates none here.
        assert_error(open(&copy), ErrorKind::Corruption, Some(name));
    }
}

/// The next open removes the record before it changes anything that the record describes.
#[test]
fn the_next_open_takes_the_record_away_first() {
    let before = closed(&mut Vec::new());
    let whole = before.kill();
    drop(reopen(&whole).unwrap());
    let calls = whole.counts().mutations();
    for point in 1..=calls {
        let fs = before.kill();
        fs.inject(Fault::on_mutation().nth(point).forever());
        let stopped = reopen(&fs).and_then(|db| {
            db.with(&SYNC).put("new", "1")?;
            db.close()
        });
        for seed in 0..8 {
            let left = if seed == 0 { fs.crash() } else { fs.crash_with(seed) };
            assert_whole(&left);
            if stopped.is_ok() {
                assert_eq!(text(&reopen(&left).unwrap(), "new").unwrap(), "1");
            }
        }
        assert_whole(&fs.kill());
    }
}

/// Every write, synced or not, is durable when the close returns, and no log has a tail.
#[test]
fn a_clean_close_is_durable() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    for n in 0..200 {
        db.put(format!("{n:03}"), [b'v'; 100]).unwrap();
    }
    db.close().unwrap();
    for left in [fs.crash(), fs.crash_with(1), fs.crash_with(2)] {
        let db = reopen(&left).unwrap();
        assert_eq!(db.iter().unwrap().count(), 200);
        assert_eq!(db.stats().dropped_tail_bytes, 0);
    }
}

/// The record of the close once became the last change of a directory whose earlier changes nothing
/// had synced. A power loss could keep the record and lose the name of a log in it.
#[test]
fn no_power_loss_keeps_the_record_without_the_files_it_describes() {
    for fails in [true, false] {
        let fs = MemFs::new();
        // Several logs whose writes no table holds.
        let own = Options { write_buffer_size: 4096, max_write_buffers: 8, ..options(&fs) };
        let db = Db::open(PATH, own).unwrap();
        db.with(&SYNC).put("first", "synced").unwrap();
        for n in 0..60 {
            db.put(format!("{n:03}"), [b'v'; 100]).unwrap();
        }
        let logs = fs.list(Path::new(PATH)).unwrap();
        assert!(logs.iter().filter(|name| name.ends_with(".log")).count() > 1, "{logs:?}");
        if fails {
            fs.inject(Fault::on(Operation::SyncDir).forever());
        }
        assert_eq!(db.close().is_err(), fails);
        let mut kept = 0;
        for seed in 0..100 {
            let left = fs.crash_with(seed);
            kept += u32::from(left.exists(&Path::new(PATH).join("CLOSED")));
            let db = reopen(&left).unwrap();
            assert_eq!(text(&db, "first").unwrap(), "synced");
            assert!(fails || db.iter().unwrap().count() == 61, "seed {seed}");
        }
        // The close does not sync the name of the record.
        assert!(fails || (1..100).contains(&kept), "{kept} of 100 power losses kept the record");
    }
}

/// A second close once returned `Ok` while the first was syncing, or after it had failed.
#[test]
fn every_caller_that_closes_gets_the_outcome_of_the_close() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    fs.inject(Fault::on(Operation::Rename).forever());
    let failed = db.clone().close().unwrap_err();
    fs.clear_faults();
    assert_eq!(db.close().unwrap_err().to_string(), failed.to_string());

    let (fs, gate) = (MemFs::new(), Gate::before_syncs_of("tmp"));
    let env = Env { fs: watched(&fs, &gate), ..Env::in_memory(fs.clone()) };
    let db = Db::open(PATH, Options { env, ..options(&fs) }).unwrap();
    db.put("a", "1").unwrap();
    let (first, second) = (db.clone(), db.clone());
    assert_waits(&gate, || first.close().unwrap(), || second.close().unwrap());
}

/// Runs one action at a closed gate, and asserts that the other waits for it.
fn assert_waits(gate: &Arc<Gate>, gated: impl FnOnce() + Send, waiting: impl FnOnce() + Send) {
    gate.close();
    std::thread::scope(|scope| {
        let _end = gate.open_at_end();
        scope.spawn(gated);
        gate.wait_for_a_thread();
        let (sender, done) = mpsc::channel();
        scope.spawn(move || {
            waiting();
            sender.send(())
        });
        let early = done.recv_timeout(Duration::from_millis(50));
        assert_eq!(early, Err(mpsc::RecvTimeoutError::Timeout), "the call did not wait");
        gate.open();
        done.recv().unwrap();
    });
}

/// Without workers, a close once released the directory while another caller compacted. The tables
/// of that slice then took the numbers of the next open's. A compaction of everything ran at the
/// same time as such a slice, and left out its input.
#[test]
fn callers_wait_for_the_slice_of_another_caller() {
    for closes in [false, true] {
        let (fs, gate) = (MemFs::new(), Gate::before_syncs_of("tbl"));
        let env = Env { fs: watched(&fs, &gate), ..Env::in_memory(fs.clone()) };
        let own = Options { env, level0_compaction_trigger: 2, ..options(&fs) };
        let db = Db::open(PATH, own).unwrap();
        for generation in ["older", "newer"] {
            for key in ["a", "b"] {
                db.put(key, generation).unwrap();
            }
            db.flush().unwrap();
        }
        let waiting = || match closes {
            true => db.close().unwrap(),
            false => db.compact(..).unwrap(),
        };
        assert_waits(&gate, || assert!(db.step_background().unwrap()), waiting);
        if !closes {
            let levels = db.stats().keyspaces[0].levels.clone();
            let runs: u64 = levels.iter().map(|level| level.runs).sum();
            assert_eq!(runs, 1, "{levels:?}");
        }
        db.close().unwrap();
        let db = reopen(&fs).unwrap();
        assert_eq!(text(&db, "a").unwrap(), "newer");
    }
}

/// Dropping the last handle is a close, too. A failed one leaves no record.
#[test]
fn only_a_close_that_succeeds_leaves_a_record() {
    let record = PathBuf::from(PATH).join("CLOSED");
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    assert!(!fs.exists(&record));
    drop(db);
    assert!(fs.exists(&record), "a drop closes");
    for failing in [Operation::Truncate, Operation::Sync, Operation::Rename, Operation::Write] {
        if failing == Operation::Truncate && only_appends() {
            continue;
        }
        let db = open(&fs).unwrap();
        db.put("a", "1").unwrap();
        assert!(!fs.exists(&record), "{failing:?}: a database that is written to has no record");
        fs.inject(Fault::on(failing).forever());
        db.close().unwrap_err();
        assert!(!fs.exists(&record), "{failing:?}");
        fs.clear_faults();
        drop(db);
    }
    assert_eq!(text(&reopen(&fs).unwrap(), "a").unwrap(), "1");
}

/// A power loss may bring the record back after the first write has begun the next log. Whether the
/// record is outdated is known from that log only.
#[test]
fn a_log_that_cannot_be_read_does_not_count_as_one_without_writes() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    db.close().unwrap();
    let record = fs.read(&Path::new(PATH).join("CLOSED")).unwrap();
    let before = files(&fs);
    let db = open(&fs).unwrap();
    db.put("a", "2").unwrap();
    let fs = with_file(&fs, "CLOSED", &record);
    let after = files(&fs);
    let log = after.keys().find(|name| name.ends_with(".log") && !before.contains_key(*name));
    for failing in [Operation::Open, Operation::Read] {
        let fs = fs.kill();
        fs.inject(Fault::on(failing).path(log.unwrap()).forever());
        assert_error(reopen(&fs), ErrorKind::Io, None);
        fs.clear_faults();
        assert_eq!(text(&reopen(&fs).unwrap(), "a").unwrap(), "2", "{failing:?}");
    }
}

#[test]
fn a_checkpoint_is_as_complete_as_a_closed_database() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    db.checkpoint("copy").unwrap();
    let copy = Path::new("copy");
    let names = fs.list(copy).unwrap();
    assert!(names.iter().any(|name| name == "CLOSED"));
    let log = copy.join(names.iter().find(|name| name.ends_with(".log")).unwrap());
    let mut bytes = fs.read(&log).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs.create(&log).unwrap().write_at(&bytes, 0).unwrap();
    let opened = Db::open(copy, options(&fs));
    assert_error(opened, ErrorKind::Corruption, Some(log.file_name().unwrap().to_str().unwrap()));
}

#[test]
fn a_repair_says_what_is_missing_since_the_close() {
    let fs = closed(&mut Vec::new());
    assert!(Db::repair(PATH, options(&fs.kill())).unwrap().found_nothing());
    let files = files(&fs);
    for name in files.keys().filter(|name| name.ends_with(".log") || *name == "CLOSED") {
        let bytes = &files[name];
        let copy = with_file(&fs, name, &bytes[..bytes.len() - 1]);
        let report = Db::repair(PATH, options(&copy)).unwrap();
        assert!(!report.found_nothing());
        let cut = &report.cut[..];
        assert!(cut.len() == 1 && cut[0].path().unwrap().ends_with(name), "{name}: {cut:?}");
        assert_eq!(text(&reopen(&copy).unwrap(), "log").unwrap(), "2");
    }
}

#[derive(Debug, Default)]
struct Told(Mutex<Vec<DroppedTail>>);

impl EventListener for Told {
    fn on_event(&self, event: &Event) {
        if let Event::TailDropped(tail) = event {
            self.0.lock().unwrap().push(tail.clone());
        }
    }
}

/// A power loss keeps a later frame but not the one before it.
#[test]
fn an_open_after_a_crash_says_what_it_left_out() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&SYNC).put("kept", "1").unwrap();
    let list = fs.list(PATH.as_ref()).unwrap();
    let log = list.iter().find(|name| name.ends_with(".log")).unwrap();
    let before = fs.read(&Path::new(PATH).join(log)).unwrap();
    let end = before.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    db.put("lost", "1").unwrap();
    db.put("cut off", "1").unwrap();
    let mut bytes = fs.read(&Path::new(PATH).join(log)).unwrap();
    let len = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    bytes[end + 40] ^= 1;
    let left = with_file(&fs, log, &bytes);
    for read_only in [true, false] {
        let told = Arc::new(Told::default());
        let with = Options { listeners: vec![told.clone()], ..options(&left) };
        let (stats, entries) = match read_only {
            true => {
                let db = Db::open_read_only(PATH, with).unwrap();
                (db.stats(), db.iter().unwrap().count())
            }
            false => {
                let db = Db::open(PATH, with).unwrap();
                (db.stats(), db.iter().unwrap().count())
            }
        };
        let told = told.0.lock().unwrap();
        let [tail] = &told[..] else { panic!("{told:?}") };
        assert!(tail.file.ends_with(log));
        assert_eq!((tail.offset, tail.bytes), (end as u64, (len - end) as u64));
        assert_eq!((tail.frames, tail.last_seqno), (1, 1));
        assert_eq!((stats.dropped_tail_bytes, stats.dropped_tail_frames), (tail.bytes, 1));
        assert_eq!(entries, 1);
    }
}
