//! Files that are missing, torn or damaged at an open, and files that an interrupted run left.

use std::collections::BTreeMap;
use std::path::Path;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::{Db, ErrorKind, Options};

use super::durability::{SYNC, key, prefix_len};
use crate::support::only_appends;
use crate::support::{PATH, assert_error, error_of, number, open, options, reopen, text};

/// The only log of a database that was closed cleanly and holds writes: no other file replaces it.
#[test]
fn a_missing_only_log_is_named() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    db.close().unwrap();
    drop(db);
    let log = files(&fs, ".log").pop().unwrap();
    fs.remove(log.as_ref()).unwrap();
    assert_error(reopen(&fs), ErrorKind::Corruption, Some(&log));
}

/// A flush that leaves no table names a new log all the same.
#[test]
fn a_flush_of_nothing_but_dropped_deletes_survives_a_crash() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.delete("a").unwrap();
    db.flush().unwrap();
    let levels = db.stats().levels;
    assert!(levels.iter().all(|level| level.tables == 0));
    for survivor in [fs.crash(), fs.crash_with(1), fs.kill()] {
        assert_eq!(text(&reopen(&survivor).unwrap(), "a"), None);
    }
}

/// The disk fills up while a log begins. The half-made log stays between the log before and its
/// replacement.
#[test]
fn a_log_that_could_not_be_begun_does_not_hide_the_next() {
    let fail = |operation, nth| Fault::on(operation).path(".log").nth(nth).forever();
    // A log needs its reserved blocks, its header, and the definition of an operator behind it.
    let faults =
        [fail(Operation::Preallocate, 1), fail(Operation::Write, 1), fail(Operation::Write, 2)];
    // Without a write in between, the next log follows the same frame of the same log.
    // Files that only grow reserve no blocks.
    let faults = if only_appends() { &faults[1..] } else { &faults[..] };
    for (fault, at_once) in faults.iter().flat_map(|fault| [(fault, false), (fault, true)]) {
        let fs = MemFs::new();
        let buffers = Options { write_buffer_size: 4096, max_write_buffers: 16, ..options(&fs) };
        let db = Db::open(PATH, buffers).unwrap();
        db.operator("stringappend:;").unwrap();
        let mut n = 0;
        let mut fill_up_to = |logs: usize| {
            while files(&fs, ".log").len() < logs {
                db.put(key(n), [b'v'; 1000])?;
                n += 1;
            }
            Ok::<usize, foldb::Error>(n)
        };
        fill_up_to(2).unwrap();
        fs.inject(fault.clone().kind(std::io::ErrorKind::StorageFull));
        assert_error(db.flush(), ErrorKind::NoSpace, None);
        fs.clear_faults();
        if at_once {
            db.flush().unwrap();
        }
        let written = fill_up_to(4).unwrap();
        assert_eq!(prefix_len(&reopen(&fs.kill()).unwrap()), written, "{fault:?} {at_once}");
        db.sync().unwrap();
        assert_eq!(prefix_len(&reopen(&fs.crash()).unwrap()), written, "{fault:?} {at_once}");
    }
}

#[test]
fn what_follows_a_torn_frame_takes_its_place() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 0..20 {
        // Over files that only grow, a log that was cut has another name for the disk in memory.
        fs.inject(Fault::on(Operation::Write).torn_at(n * 3));
        error_of(db.put("torn", "x".repeat(50)));
        db.put(key(n), "whole").unwrap();
    }
    let survivor = reopen(&fs.kill()).unwrap();
    assert_eq!(prefix_len(&survivor), 20);
}

#[test]
fn a_torn_tail_is_cut_and_damage_is_named_in_the_manifest() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    fs.inject(Fault::on(Operation::Remove).path(".log").forever());
    for n in 0..4 {
        db.put(key(n), "value").unwrap();
        db.flush().unwrap();
    }
    let manifest = files(&fs, "MANIFEST").pop().unwrap();
    let bytes = fs.read(manifest.as_ref()).unwrap();
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    // The frame in the middle: later frames say that it is synced.
    let damaged = fs.kill();
    overwrite(&damaged, &manifest, |bytes| bytes[end / 2] ^= 1);
    let error = assert_error(reopen(&damaged), ErrorKind::Corruption, Some(&manifest));
    assert!(error.offset().is_some_and(|offset| offset <= end as u64 / 2), "{error}");
    let message = error.to_string();
    assert!(message.contains("MANIFEST") && message.contains("offset"), "{message}");
    // Its last byte, as if the power failed during its write. The log that it would have ended
    // still exists.
    let torn = fs.kill();
    overwrite(&torn, &manifest, |bytes| bytes[end] ^= 1);
    assert_eq!(prefix_len(&reopen(&torn).unwrap()), 4);
    // The same without that log: it was removed, so the edit had been written.
    let damaged = fs.kill();
    overwrite(&damaged, &manifest, |bytes| bytes[end] ^= 1);
    let log = files(&fs, ".log")[3].clone();
    damaged.remove(log.as_ref()).unwrap();
    assert_error(reopen(&damaged), ErrorKind::Corruption, Some(&log));
}

/// Every single byte of every file, flipped. An open and a read of everything either report it or
/// answer correctly, and never panic.
#[test]
fn a_flipped_byte_is_noticed_or_harmless() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 0..30 {
        db.merge(key(n), number(7)).unwrap();
    }
    db.flush().unwrap();
    for n in 0..10 {
        db.merge(key(n), number(1)).unwrap();
    }
    db.sync().unwrap();
    db.put("tail", "x").unwrap();
    db.close().unwrap();
    drop(db);
    let expected = everything(&reopen(&fs.kill()).unwrap()).unwrap();
    let mut noticed = 0;
    for file in files(&fs, "") {
        let len = fs.read(file.as_ref()).unwrap().len();
        for at in (0..len).step_by(1 + len / 400) {
            let damaged = fs.kill();
            overwrite(&damaged, &file, |bytes| bytes[at] ^= 0x41);
            match reopen(&damaged).and_then(|db| everything(&db)) {
                Ok(found) => {
                    // Everything behind the last known sync may be cut.
                    let is_log = file.ends_with(".log") || file.contains("MANIFEST");
                    assert!(found == expected || is_log, "{file} at {at}: {found:?}");
                }
                Err(error) => {
                    noticed += 1;
                    let kinds =
                        [ErrorKind::Corruption, ErrorKind::Unsupported, ErrorKind::DatabaseMissing];
                    assert!(kinds.contains(&error.kind()), "{file} at {at}: {error:?}");
                    assert!(!error.to_string().contains('\n'));
                }
            }
        }
    }
    assert!(noticed > 100, "{noticed}");
}

#[test]
fn a_missing_file_is_named() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    // Three logs, the last one synced: nothing before it may be missing.
    let buffers = Options { write_buffer_size: 4096, max_write_buffers: 8, ..options(&fs) };
    drop(db);
    let db = Db::open(PATH, buffers).unwrap();
    let mut n = 0;
    while files(&fs, ".log").len() < 3 {
        db.put(key(n), [b'v'; 100]).unwrap();
        n += 1;
    }
    for end in ["1", "2", "3"] {
        db.with(&SYNC).put("last", end).unwrap();
    }
    let logs = files(&fs, ".log");
    for name in [&logs[0], &logs[1], &files(&fs, ".tbl")[0], &files(&fs, "MANIFEST")[0]] {
        let damaged = fs.kill();
        damaged.remove(name.as_ref()).unwrap();
        let before = contents(&damaged);
        assert_error(reopen(&damaged), ErrorKind::Corruption, Some(name));
        let mut after = contents(&damaged);
        after.retain(|file, _| before.contains_key(file));
        assert_eq!(before, after, "an open that fails changes nothing");
    }
}

/// Returns the full paths of the files whose name contains `part`, in order.
pub(super) fn files(fs: &MemFs, part: &str) -> Vec<String> {
    let mut files = fs.list(PATH.as_ref()).unwrap();
    files.retain(|name| name.contains(part));
    files.sort_unstable();
    files.into_iter().map(|name| format!("{PATH}/{name}")).collect()
}

fn contents(fs: &MemFs) -> BTreeMap<String, Vec<u8>> {
    let read = |file: String| (file.clone(), fs.read(file.as_ref()).unwrap());
    files(fs, "").into_iter().map(read).collect()
}

fn overwrite(fs: &MemFs, path: &str, change: impl FnOnce(&mut [u8])) {
    let mut bytes = fs.read(path.as_ref()).unwrap();
    change(&mut bytes);
    let file = fs.create(path.as_ref()).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync().unwrap();
}

fn everything(db: &Db) -> foldb::Result<Vec<(Vec<u8>, foldb::Value)>> {
    db.iter()?.collect()
}

/// Tables that could not be installed are removed: a flush is tried again and again.
#[test]
fn tables_that_were_not_installed_are_removed() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("k", "v").unwrap();
    fs.inject(
        Fault::on(Operation::Write)
            .path("MANIFEST")
            .forever()
            .kind(std::io::ErrorKind::StorageFull),
    );
    for _ in 0..5 {
        assert_error(db.flush(), ErrorKind::NoSpace, None);
    }
    let tables =
        || fs.list(Path::new(PATH)).unwrap().into_iter().filter(|name| name.ends_with(".tbl"));
    assert_eq!(tables().count(), 0);
    fs.clear_faults();
    db.flush().unwrap();
    assert_eq!(tables().count(), 1);
}
