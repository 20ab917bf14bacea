//! Repairs that stop at any call: what they replace or rename stays, under one name or another.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::repair::{LogCut, RepairOptions};
use foldb::{Db, ErrorKind, Options};

use crate::support::segments::{put_all, separating};
use crate::support::{PATH, options, skipped_where_files_only_grow, watched};

fn by_hand(fs: &MemFs) -> Options {
    let small = Options { write_buffer_size: 64 << 10, ..options(fs) };
    Options { disable_auto_compactions: true, ..small }
}

/// Returns the files whose names have this part.
fn files(fs: &MemFs, part: &str) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.contains(part));
    names.sort();
    names.into_iter().map(|name| Path::new(PATH).join(name)).collect()
}

/// Returns the contents of the files whose names have this part.
fn contents(fs: &MemFs, part: &str) -> Vec<Vec<u8>> {
    files(fs, part).iter().map(|file| fs.read(file).unwrap()).collect()
}

fn refuse_links(fs: &MemFs) {
    fs.inject(Fault::on(Operation::HardLink).kind(std::io::ErrorKind::Unsupported).forever());
}

/// Three logs of which the first is damaged, and a cut of that log.
fn damaged_logs() -> (MemFs, LogCut) {
    let fs = MemFs::new();
    let db = Db::open(PATH, by_hand(&fs)).unwrap();
    let mut n = 0;
    while files(&fs, ".log").len() < 3 {
        db.put(format!("{n:06}"), vec![b'x'; 1000]).unwrap();
        if n < 20 {
            db.sync().unwrap();
        }
        n += 1;
    }
    let fs = fs.kill();
    drop(db);
    let log = files(&fs, ".log").remove(0);
    let mut bytes = fs.read(&log).unwrap();
    bytes[5000] ^= 1;
    let file = fs.create(&log).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync().unwrap();
    let error = Db::open(PATH, by_hand(&fs)).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corruption, Some(&*log)));
    (fs, LogCut { file: log, offset: error.offset().unwrap() })
}

fn cut(fs: &MemFs, cut: &LogCut) -> RepairOptions {
    RepairOptions { cut_log: Some(cut.clone()), ..by_hand(fs).into() }
}

/// A copy that a full disk stopped counted as the damaged log, and the next cut replaced the log.
#[test]
fn a_damaged_log_is_kept_whole_by_a_cut_on_a_disk_that_was_full() {
    for step in 0.. {
        let (fs, place) = damaged_logs();
        let whole = fs.read(&place.file).unwrap();
        refuse_links(&fs);
        let full = Fault::on_mutation().kind(std::io::ErrorKind::StorageFull).torn_at(100);
        fs.inject(full.nth(step + 1).forever());
        let done = Db::repair(PATH, cut(&fs, &place)).is_ok();
        fs.clear_faults();
        let fs = fs.kill();
        refuse_links(&fs);
        // The first one may have cut the log, and its open may have used it up.
        if let Err(error) = Db::repair(PATH, cut(&fs, &place)) {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "step {step}: {error}");
        }
        assert!(contents(&fs, ".log").contains(&whole), "step {step}");
        if done {
            assert!(step > 5, "{step} steps");
            return;
        }
    }
}

/// A power loss kept the replacement and lost the name of the damaged log.
#[test]
fn a_damaged_log_is_kept_whole_by_a_cut_that_a_power_loss_stops() {
    for links in [true, false] {
        let (fs, place) = damaged_logs();
        let whole = fs.read(&place.file).unwrap();
        if !links {
            refuse_links(&fs);
        }
        let stops = Arc::new(Mutex::new(Vec::new()));
        let (own, seen) = (fs.clone(), Arc::clone(&stops));
        let watch = Arc::new(move |operation: Operation, path: &Path| {
            if operation.is_mutation() {
                let call = format!("before {operation:?} of {}", path.display());
                let crashes = (0..8).map(|seed| (call.clone(), own.crash_with(seed)));
                seen.lock().unwrap().extend(crashes);
            }
            Ok(())
        });
        let mut how = cut(&fs, &place);
        how.open.env.fs = watched(&fs, &watch);
        Db::repair(PATH, how).unwrap();
        let stops = stops.lock().unwrap();
        assert!(stops.len() > 50, "{} stops", stops.len());
        for (call, left) in &*stops {
            assert!(contents(left, ".log").contains(&whole), "links {links}, {call}");
        }
    }
}

/// An open between two tries of a cut removed the later logs, which the cut keeps.
#[test]
fn an_open_after_a_cut_that_was_stopped_removes_no_later_log() {
    for step in 0.. {
        let (fs, place) = damaged_logs();
        let logs = contents(&fs, ".log");
        fs.inject(Fault::on_mutation().nth(step + 1).forever());
        let done = Db::repair(PATH, cut(&fs, &place)).is_ok();
        fs.clear_faults();
        let fs = fs.kill();
        if let Err(error) = Db::open(PATH, by_hand(&fs)).map(drop) {
            assert_eq!(error.kind(), ErrorKind::Corruption, "step {step}: {error}");
            Db::repair(PATH, cut(&fs, &place)).unwrap();
        }
        let left = contents(&fs, ".log");
        let lost = logs.iter().position(|log| !left.contains(log));
        assert_eq!(lost, None, "step {step}: a log is gone");
        if done {
            assert!(step > 5, "{step} steps");
            return;
        }
    }
}

/// Numbers of logs that were cut off may be given again.
#[test]
fn a_cut_replaces_no_file_of_an_earlier_one() {
    let (fs, place) = damaged_logs();
    let mut all = contents(&fs, ".log");
    for log in files(&fs, ".log") {
        for ending in ["cut", "damaged"] {
            let earlier = PathBuf::from(format!("{}.{ending}", log.display()));
            let bytes = earlier.to_string_lossy().into_owned().into_bytes();
            fs.create(&earlier).unwrap().write_at(&bytes, 0).unwrap();
            all.push(bytes);
        }
    }
    Db::repair(PATH, cut(&fs, &place)).unwrap();
    let left = contents(&fs, ".log");
    all.iter().for_each(|bytes| assert!(left.contains(bytes)));
}

/// Options that separate values and archive logs.
fn archiving(fs: &MemFs) -> Options {
    let separating = Options { disable_auto_compactions: true, ..separating(fs) };
    Options { wal_retention_bytes: 1 << 30, ..separating }
}

/// A database without its manifest, with a damaged table.
fn without_manifest() -> MemFs {
    let fs = MemFs::new();
    let db = Db::open(PATH, archiving(&fs)).unwrap();
    for (round, keys) in [0..100, 0..50].into_iter().enumerate() {
        put_all(&db, keys, round);
        db.sync().unwrap();
        db.flush().unwrap();
    }
    db.put("logged", "in the log").unwrap();
    drop(db);
    for lost in ["CURRENT", "MANIFEST"] {
        files(&fs, lost).iter().for_each(|file| fs.remove(file).unwrap());
    }
    fs.sync_dir(Path::new(PATH)).unwrap();
    let table = files(&fs, ".tbl").pop().unwrap();
    let mut bytes = fs.read(&table).unwrap();
    bytes.iter_mut().rev().take(200).for_each(|byte| *byte ^= 1);
    let file = fs.create(&table).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync().unwrap();
    fs
}

/// The manifest was in force before the repair renamed the files that it does not name. The next
/// open, or that of the next repair, removed them.
#[test]
fn a_repair_that_is_stopped_keeps_the_files_that_no_manifest_names() {
    if skipped_where_files_only_grow("they have no second names") {
        return;
    }
    const ENDINGS: [&str; 3] = [".tbl", ".seg", ".arc"];
    let whole = without_manifest().crash();
    let before = ENDINGS.map(|ending| contents(&whole, ending));
    assert!(before.iter().all(|files| !files.is_empty()));
    let how: [fn(&MemFs); 2] = [
        |fs| drop(Db::open(PATH, archiving(fs))),
        |fs| drop(Db::repair(PATH, archiving(fs)).unwrap()),
    ];
    for step in 0.. {
        let fs = whole.kill();
        fs.inject(Fault::on_mutation().nth(step + 1).forever());
        let done = Db::repair(PATH, archiving(&fs)).is_ok();
        fs.clear_faults();
        let survive = [MemFs::kill, MemFs::crash];
        for (survive, next) in survive.iter().flat_map(|it| how.map(|next| (it, next))) {
            let fs = survive(&fs);
            next(&fs);
            for (ending, before) in ENDINGS.iter().zip(&before) {
                let left = contents(&fs, ending);
                let lost = before.iter().position(|file| !left.contains(file));
                assert_eq!(lost, None, "step {step}: a file {ending} is gone");
            }
        }
        if done {
            assert!(step > 10, "{step} steps");
            return;
        }
    }
}
