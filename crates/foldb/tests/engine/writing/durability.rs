//! Tests what a returned write guarantees, and how the database reacts to a disk that fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::{fs, io};

use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, FileSystem, MemFs, Watch};
use foldb::{Db, ErrorKind, Options, TransactionOptions, WriteBatch, WriteOptions};
use tempfile::TempDir;

use crate::support::only_appends;
use crate::support::{
    PATH, assert_error, count, error_of, number, open, options, reopen, steps, text, watched,
};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
const UNLOGGED: WriteOptions = WriteOptions { disable_wal: true, ..WriteOptions::DEFAULT };

fn key(n: usize) -> String {
    format!("key-{n:04}")
}

/// Returns the number of keys, after checking that they are a prefix of the writes.
fn prefix_len(db: &Db) -> usize {
    let keys: Vec<_> = db.iter().unwrap().map(|entry| entry.unwrap().0).collect();
    let expected: Vec<_> = (0..keys.len()).map(|n| key(n).into_bytes()).collect();
    assert_eq!(keys, expected, "the surviving writes are no prefix");
    keys.len()
}

#[test]
fn a_killed_process_loses_nothing() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    for n in 0..300 {
        db.put(key(n), "value").unwrap();
        if n % 37 == 0 {
            assert_eq!(prefix_len(&reopen(&fs.kill()).unwrap()), n + 1);
        }
    }
    assert_eq!(prefix_len(&reopen(&fs.kill()).unwrap()), 300);
}

#[test]
fn power_loss_takes_an_unsynced_tail_only() {
    let fs = MemFs::new();
    let buffers = Options { write_buffer_size: 4096, max_write_buffers: 8, ..options(&fs) };
    let db = Db::open(PATH, buffers).unwrap();
    let mut synced = 0;
    let mut lost_some = false;
    for n in 0..200 {
        if n % 29 == 13 {
            db.with(&SYNC).put(key(n), [b'v'; 100]).unwrap();
            synced = n + 1;
        } else {
            db.put(key(n), [b'v'; 100]).unwrap();
        }
        if n % 7 == 0 {
            let survivors = [fs.crash(), fs.crash_with(n as u64)];
            for left in survivors.map(|fs| prefix_len(&open(&fs).unwrap())) {
                assert!((synced..=n + 1).contains(&left), "{left} of {}, {synced} synced", n + 1);
                lost_some |= left < n + 1;
            }
        }
    }
    assert!(lost_some, "no crash lost a write: the test shows nothing");
}

#[test]
fn db_sync_makes_all_earlier_writes_durable() {
    let fs = MemFs::new();
    let buffers = Options { write_buffer_size: 4096, max_write_buffers: 8, ..options(&fs) };
    let db = Db::open(PATH, buffers).unwrap();
    for n in 0..50 {
        db.put(key(n), [b'v'; 200]).unwrap();
    }
    db.sync().unwrap();
    db.put(key(50), "after").unwrap();
    assert_eq!(prefix_len(&reopen(&fs.crash()).unwrap()), 50);
    assert_eq!(prefix_len(&reopen(&fs.kill()).unwrap()), 51);
}

#[test]
fn a_batch_is_whole_or_not_there() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&SYNC).put("zero", "").unwrap();
    let mut batch = WriteBatch::new();
    // Larger than one frame of the log.
    for n in 0..3000 {
        batch.put(key(n), [b'v'; 500]);
    }
    db.write(&batch).unwrap();
    assert!(batch.byte_len() > 1 << 20);
    let mut left = Vec::new();
    for seed in 0..6 {
        let db = reopen(&fs.crash_with(seed)).unwrap();
        left.push(db.iter().unwrap().count());
    }
    left.push(reopen(&fs.crash()).unwrap().iter().unwrap().count());
    left.push(reopen(&fs.kill()).unwrap().iter().unwrap().count());
    assert!(left.iter().all(|left| [1, 3001].contains(left)), "{left:?}");
    assert!(left.contains(&1) && left.contains(&3001), "{left:?}");
}

#[test]
fn unlogged_writes_live_from_their_flush_on() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let logged = db.stats().bytes_log;
    db.with(&UNLOGGED).put("a", "1").unwrap();
    assert_eq!(db.stats().bytes_log, logged);
    assert_eq!(text(&db, "a").unwrap(), "1");
    assert_eq!(text(&reopen(&fs.kill()).unwrap(), "a"), None);
    db.flush().unwrap();
    assert_eq!(text(&reopen(&fs.crash()).unwrap(), "a").unwrap(), "1");
    // Between logged writes, whose sequence numbers go on across a restart.
    db.with(&UNLOGGED).merge("b", number(1)).unwrap();
    db.merge("b", number(10)).unwrap();
    let survivor = reopen(&fs.kill()).unwrap();
    assert_eq!(count(&survivor, "b"), 10);
    survivor.merge("b", number(100)).unwrap();
    assert_eq!(count(&survivor, "b"), 110);
    assert_eq!(count(&db, "b"), 11);
}

#[test]
fn close_flushes_what_is_in_no_log() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&UNLOGGED).put("a", "1").unwrap();
    db.close().unwrap();
    drop(db);
    let db = reopen(&fs).unwrap();
    assert_eq!(text(&db, "a").unwrap(), "1");
    db.with(&UNLOGGED).put("b", "2").unwrap();
    drop(db);
    assert_eq!(text(&reopen(&fs).unwrap(), "b").unwrap(), "2");
}

#[test]
fn a_failed_sync_poisons() {
    for by_write in [true, false] {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.with(&SYNC).put("a", "1").unwrap();
        fs.inject(Fault::on(Operation::Sync).path(".log"));
        let failed = if by_write {
            db.with(&SYNC).put("b", "2")
        } else {
            db.put("b", "2").and_then(|()| db.sync())
        };
        assert_error(failed, ErrorKind::Io, None);
        // The next sync would succeed over the hole, so every later write is refused.
        assert_error(db.put("c", "3"), ErrorKind::Poisoned, None);
        assert_error(db.merge("c", number(1)), ErrorKind::Poisoned, None);
        assert_error(db.sync(), ErrorKind::Poisoned, None);
        assert_error(db.flush(), ErrorKind::Poisoned, None);
        assert_eq!(text(&db, "a").unwrap(), "1", "reads still work");
        // A close without an error would promise that all of it is durable.
        assert_error(db.close(), ErrorKind::Poisoned, None);
        assert_error(db.get("a").map(drop), ErrorKind::Closed, None);
        drop(db);
        let db = reopen(&fs.crash()).unwrap();
        assert_eq!(text(&db, "a").unwrap(), "1");
        assert_eq!(text(&db, "c"), None);
        db.with(&SYNC).put("c", "3").unwrap();
    }
}

#[test]
fn a_failed_sync_of_the_manifest_poisons() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&SYNC).put("a", "1").unwrap();
    fs.inject(Fault::on(Operation::Sync).path("MANIFEST-"));
    let error = error_of(db.flush());
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert_error(db.put("b", "2"), ErrorKind::Poisoned, None);
    for survivor in [fs.crash(), fs.kill(), fs.crash_with(3)] {
        assert_eq!(text(&reopen(&survivor).unwrap(), "a").unwrap(), "1");
    }
}

#[test]
fn a_full_disk_refuses_writes_and_resumes_by_itself() {
    let full = |operation| Fault::on(operation).forever().kind(std::io::ErrorKind::StorageFull);
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    db.put("a", "1").unwrap();
    fs.inject(full(Operation::Write).path(".log").torn_at(20));
    fs.inject(full(Operation::Preallocate));
    fs.inject(full(Operation::Create));
    for _ in 0..3 {
        assert_error(db.put("b", "2"), ErrorKind::NoSpace, None);
        assert_eq!(text(&db, "a").unwrap(), "1", "reads still work");
        assert_eq!(text(&db, "b"), None, "the failed write is not visible");
    }
    fs.clear_faults();
    db.put("b", "3").unwrap();
    assert_eq!(text(&db, "b").unwrap(), "3");
    db.sync().unwrap();
    let survivor = reopen(&fs.crash()).unwrap();
    assert_eq!(text(&survivor, "a").unwrap(), "1");
    assert_eq!(text(&survivor, "b").unwrap(), "3");
}

#[test]
fn a_full_disk_under_a_flush_or_compaction_heals_too() {
    for (operation, path) in
        [(Operation::Write, ".tbl"), (Operation::Create, ".tbl"), (Operation::Create, ".log")]
    {
        let fs = MemFs::new();
        let small = Options { level0_compaction_trigger: 2, ..options(&fs) };
        let db = Db::open(PATH, small).unwrap();
        for n in 0..40 {
            db.merge(key(n), number(1)).unwrap();
        }
        fs.inject(Fault::on(operation).path(path).forever().kind(std::io::ErrorKind::StorageFull));
        assert_error(db.flush(), ErrorKind::NoSpace, None);
        assert_error(db.compact(..), ErrorKind::NoSpace, None);
        assert_eq!(count(&db, &key(7)), 1);
        fs.clear_faults();
        for _ in 0..3 {
            for n in 0..40 {
                db.merge(key(n), number(1)).unwrap();
            }
            db.flush().unwrap();
        }
        steps::run_background(&db, |_| {});
        for db in [db, reopen(&fs.crash()).unwrap()] {
            for n in 0..40 {
                assert_eq!(count(&db, &key(n)), 4, "{operation:?} of {path}");
            }
        }
    }
}

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

#[test]
fn one_database_is_open_once() {
    let dir = TempDir::new().unwrap();
    let on_disk = || Options { create_if_missing: true, ..Options::default() };
    let db = Db::open(dir.path(), on_disk()).unwrap();
    let error = assert_error(Db::open(dir.path(), on_disk()), ErrorKind::Locked, None);
    assert!(error.to_string().contains("LOCK"), "{error}");
    assert_error(Db::destroy(dir.path(), &on_disk()), ErrorKind::Locked, None);
    let clone = db.clone();
    drop(db);
    assert_error(Db::open(dir.path(), on_disk()), ErrorKind::Locked, None);
    clone.close().unwrap();
    drop(Db::open(dir.path(), on_disk()).unwrap());
}

#[test]
fn create_if_missing_and_error_if_exists() {
    let fs = MemFs::new();
    assert_error(reopen(&fs), ErrorKind::DatabaseMissing, None);
    assert!(!fs.exists(PATH.as_ref()), "a refused open creates nothing");
    let fresh = || Options { error_if_exists: true, ..options(&fs) };
    drop(Db::open(PATH, fresh()).unwrap());
    assert_error(Db::open(PATH, fresh()), ErrorKind::DatabaseExists, None);
    assert!(reopen(&fs).is_ok());
}

#[test]
fn a_directory_without_a_database_is_refused_and_left_alone() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("notes.txt");
    fs::write(&file, "notes").unwrap();
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("photo"), "photo").unwrap();
    for create_if_missing in [false, true] {
        let on_disk = Options { create_if_missing, ..Options::default() };
        error_of(Db::open(&file, on_disk.clone()));
        assert_eq!(fs::read(&file).unwrap(), b"notes");
        if !create_if_missing {
            assert_error(Db::open(&other, on_disk), ErrorKind::DatabaseMissing, None);
            assert_eq!(names(&other), ["photo"]);
        }
    }
    Db::destroy(&other, &Options::default()).unwrap();
    assert_eq!(names(&other), ["photo"]);
    assert_eq!(fs::read(other.join("photo")).unwrap(), b"photo");
}

#[test]
fn destroy_removes_only_files_it_knows() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let on_disk = Options { create_if_missing: true, ..Options::default() };
    Db::destroy(&path, &on_disk).unwrap();
    let db = Db::open(&path, on_disk.clone()).unwrap();
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    drop(db);
    for strange in ["notes.txt", "1.tbl", "000001.sst", "MANIFEST-old", "000001.log.bak"] {
        fs::write(path.join(strange), "mine").unwrap();
    }
    Db::destroy(&path, &on_disk).unwrap();
    let mut expected = ["notes.txt", "1.tbl", "000001.sst", "MANIFEST-old", "000001.log.bak"];
    expected.sort_unstable();
    assert_eq!(names(&path), expected);
    for strange in expected {
        fs::remove_file(path.join(strange)).unwrap();
    }
    drop(Db::open(&path, on_disk.clone()).unwrap());
    Db::destroy(&path, &on_disk).unwrap();
    assert!(!path.exists(), "destroy removes the empty directory");
}

/// A directory without a database, with files of the user's that have names like a database's.
#[test]
fn destroy_leaves_files_that_foldb_did_not_write() {
    let mine = [
        "000007.log",
        "000008.tbl",
        "000010.seg",
        "000011.arc",
        "MANIFEST-000009",
        "CURRENT.tmp",
        "CLOSED",
        "LOCK",
    ];
    let text = "a text of the user's that is longer than all magics and footers: ".repeat(4);
    for beside in [None, Some("CURRENT")] {
        let dir = TempDir::new().unwrap();
        for name in mine.into_iter().chain(beside) {
            fs::write(dir.path().join(name), &text).unwrap();
        }
        let on_disk = Options { create_if_missing: true, ..Options::default() };
        let refused = Db::destroy(dir.path(), &on_disk);
        let error = assert_error(refused, ErrorKind::InvalidArgument, None);
        assert!(error.to_string().contains("nothing is removed"), "{error}");
        for name in mine.into_iter().chain(beside) {
            assert_eq!(fs::read_to_string(dir.path().join(name)).unwrap(), text, "{name}");
        }
    }
}

#[cfg(unix)]
#[test]
fn destroy_through_a_link_removes_the_database_and_leaves_the_link() {
    if crate::support::skipped_where_files_only_grow("they have no links") {
        return;
    }
    let dir = TempDir::new().unwrap();
    let (path, link) = (dir.path().join("db"), dir.path().join("link"));
    let on_disk = Options { create_if_missing: true, ..Options::default() };
    Db::open(&path, on_disk.clone()).unwrap().put("a", "1").unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    Db::destroy(&link, &on_disk).unwrap();
    assert_eq!(names(&path), Vec::<String>::new());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

/// A destroy that stops at any call can be finished by another.
#[test]
fn an_interrupted_destroy_can_be_finished() {
    let whole = MemFs::new();
    let db = Db::open(PATH, options(&whole)).unwrap();
    for n in 0..100 {
        db.put(key(n), [b'v'; 60]).unwrap();
    }
    db.flush().unwrap();
    db.put("logged", "value").unwrap();
    drop(db);
    for point in 1.. {
        let left = whole.kill();
        left.inject(Fault::on_mutation().nth(point).forever());
        let done = Db::destroy(PATH, &options(&left)).is_ok();
        for left in [left.kill(), left.crash_with(point)] {
            Db::destroy(PATH, &options(&left)).unwrap();
            let is_gone = !left.exists(Path::new(PATH));
            assert!(is_gone || left.list(Path::new(PATH)).unwrap().is_empty(), "call {point}");
        }
        if done {
            assert!(point > 4, "{point}");
            break;
        }
    }
}

/// RocksDB and LevelDB use the same names for their files as foldb.
#[test]
fn destroy_and_open_leave_the_database_of_another_engine() {
    let dir = TempDir::new().unwrap();
    let files: [(&str, &[u8]); 5] = [
        ("CURRENT", b"MANIFEST-000002\n"),
        ("MANIFEST-000002", b"\x56\xf9\xb8\xf8\x1c\0\x01\x01\x1aleveldb.BytewiseComparator\x02\0"),
        ("000003.log", b""),
        ("LOCK", b""),
        ("LOG", b"opened"),
    ];
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    let on_disk = Options { create_if_missing: true, ..Options::default() };
    let error = assert_error(Db::destroy(dir.path(), &on_disk), ErrorKind::ForeignDatabase, None);
    assert!(error.to_string().contains("a LevelDB database"), "{error}");
    let error = assert_error(Db::open(dir.path(), on_disk), ErrorKind::ForeignDatabase, None);
    assert!(error.to_string().contains("foldb import --from leveldb SRC DST"), "{error}");
    assert_eq!(names(dir.path()).len(), files.len());
    for (name, bytes) in files {
        assert_eq!(fs::read(dir.path().join(name)).unwrap(), bytes, "{name}");
    }
}

/// The disk stops at the n-th change, for every n; then the power fails.
#[test]
fn a_crash_at_every_moment_leaves_a_prefix() {
    // All writes of the program, some of them synced, with flushes and compactions between.
    let program = |fs: &MemFs| -> (usize, usize) {
        let small = Options { level0_compaction_trigger: 2, target_file_size: 1024, ..options(fs) };
        let (mut attempted, mut durable) = (0, 0);
        let Ok(db) = Db::open(PATH, small) else { return (0, 0) };
        for n in 0..24 {
            let options = if n % 5 == 3 { SYNC } else { WriteOptions::default() };
            attempted = n + 1;
            if db.with(&options).put(key(n), [b'v'; 60]).is_err() {
                return (attempted, durable);
            }
            if options.sync {
                durable = n + 1;
            }
            if n % 6 == 5 && db.flush().is_ok() {
                durable = n + 1;
            }
            if n % 8 == 7 {
                let _may_fail = db.step_background();
            }
            if n == 20 && db.compact(..).is_ok() {
                durable = n + 1;
            }
        }
        let _may_fail = db.close();
        (attempted, durable)
    };
    let whole = MemFs::new();
    assert_eq!(program(&whole).0, 24);
    let mutations = whole.counts().mutations();
    assert!(mutations > 100, "{mutations}");
    for stop in 1..=mutations + 1 {
        for torn_at in [0, 40] {
            let fs = MemFs::new();
            fs.inject(Fault::on_mutation().nth(stop).forever().torn_at(torn_at));
            let (attempted, durable) = program(&fs);
            for survivor in [fs.crash(), fs.kill(), fs.crash_with(stop)] {
                let db = open(&survivor)
                    .unwrap_or_else(|error| panic!("after a stop at {stop}: {error}"));
                let left = prefix_len(&db);
                assert!(
                    (durable..=attempted).contains(&left),
                    "after a stop at {stop}: {left} left, {durable} durable, {attempted} tried"
                );
                db.with(&SYNC).put("goes on", "1").unwrap();
            }
        }
    }
}

/// After a kill, statistics once said that nothing was ever written.
#[test]
fn counts_of_writes_survive_a_kill() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    let counts = |db: &Db| {
        let stats = db.stats();
        (stats.puts, stats.merges, stats.deletes, stats.range_deletes, stats.bytes_user)
    };
    for flushed in [false, true] {
        for n in 0..200 {
            db.put(key(n), "value").unwrap();
            db.merge("count", number(1)).unwrap();
            db.delete(key(n + 1)).unwrap();
            db.delete_range(key(n)..key(n + 1)).unwrap();
        }
        let killed = fs.kill();
        let reopened = reopen(&killed).unwrap();
        assert_eq!(counts(&reopened), counts(&db), "{flushed}");
        drop(reopened);
        assert_eq!(counts(&reopen(&killed).unwrap()), counts(&db), "once more: {flushed}");
        db.flush().unwrap();
    }
    assert_eq!(count(&db, "count"), 400);
}

#[test]
fn stats_survive_a_clean_close() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    for n in 0..300 {
        db.put(key(n), "value").unwrap();
        db.merge("count", number(1)).unwrap();
        db.delete(key(n + 1)).unwrap();
    }
    db.compact(..).unwrap();
    db.put("in the log", "1").unwrap();
    let before = db.stats();
    assert_eq!((before.puts, before.merges, before.deletes), (301, 300, 300));
    assert!(before.flushes > 1 && before.bytes_flush > 0 && before.bytes_log > 0);
    assert!(before.write_amplification() > 1.0);
    db.close().unwrap();
    drop(db);
    let db = reopen(&fs).unwrap();
    let after = db.stats();
    assert_eq!((after.puts, after.merges, after.deletes), (301, 300, 300));
    assert_eq!(after.bytes_user, before.bytes_user);
    assert_eq!(after.compactions, before.compactions);
    assert_eq!(after.compaction_records_in, before.compaction_records_in);
    assert!(after.flushes >= before.flushes && after.bytes_flush >= before.bytes_flush);
    assert!(after.bytes_log >= before.bytes_log);
    assert!(after.levels.iter().any(|level| level.bytes_written > 0));
    db.put("one", "more").unwrap();
    assert_eq!(db.stats().puts, 302);
}

/// Returns the full paths of the files whose name contains `part`, in order.
fn files(fs: &MemFs, part: &str) -> Vec<String> {
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

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// `close` flushes unlogged writes, also those that a later write sealed.
#[test]
fn closing_flushes_unlogged_writes_that_are_sealed_already() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 64 << 10, ..options(&fs) }).unwrap();
    (0..100).for_each(|n| db.with(&UNLOGGED).put(key(n), [0; 400]).unwrap());
    (100..200).for_each(|n| db.put(key(n), [0; 400]).unwrap());
    db.close().unwrap();
    drop(db);
    let db = reopen(&fs).unwrap();
    assert_eq!(db.iter().unwrap().count(), 200);
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

/// The write was acknowledged, and a kill lost it.
#[test]
fn a_synced_write_outside_of_the_log_is_refused() {
    let db = Db::open(PATH, options(&MemFs::new())).unwrap();
    let keyspace = db.keyspace("default").unwrap();
    let both = WriteOptions { sync: true, ..UNLOGGED };
    let mut batch = WriteBatch::new();
    batch.put("a", "1").put("b", "2");
    let outcomes = [
        db.with(&both).put("a", "1"),
        db.with(&both).delete("a"),
        keyspace.with(&both).delete_range("a".."b"),
        keyspace.with(&both).delete_range("a".."a"),
        db.with(&both).write(&batch),
        db.with(&both).write(&WriteBatch::new()),
        db.with(&TransactionOptions { write: both, ..Default::default() }).begin().map(drop),
        keyspace.with(&both).put_if_absent("a", "1").map(drop),
        keyspace.with(&both).take_first(..).map(drop),
    ];
    for outcome in outcomes {
        assert_error(outcome, ErrorKind::InvalidArgument, None);
    }
    assert!(db.is_empty().unwrap());
}

/// A disk that shows at each sync of a log what a reader sees meanwhile, and may refuse the sync.
#[derive(Default)]
struct Meanwhile {
    db: OnceLock<Weak<Db>>,
    seen: Mutex<Vec<(Option<String>, u64)>>,
    refuses: AtomicBool,
}

impl Watch for Meanwhile {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let is_log = path.extension().is_some_and(|name| name == "log");
        if operation != Operation::Sync || !is_log {
            return Ok(());
        }
        if let Some(db) = self.db.get().and_then(Weak::upgrade) {
            let now = (text(&*db, "k"), count(&*db, "n"));
            assert_eq!(text(&db.snapshot(), "k"), now.0);
            self.seen.lock().unwrap().push(now);
        }
        match self.refuses.load(Ordering::Relaxed) {
            true => Err(io::Error::other("no sync today")),
            false => Ok(()),
        }
    }
}

fn meanwhile(visible_when_durable: bool) -> (Arc<Meanwhile>, Arc<Db>) {
    let (fs, disk) = (MemFs::new(), Arc::new(Meanwhile::default()));
    let env = Env { fs: watched(&fs, &disk), ..Env::in_memory(fs.clone()) };
    let options = Options { env, visible_when_durable, ..options(&fs) };
    let db = Arc::new(Db::open(PATH, options).unwrap());
    db.with(&SYNC).put("k", "old").unwrap();
    disk.db.set(Arc::downgrade(&db)).unwrap();
    (disk, db)
}

#[test]
fn a_synced_write_is_visible_when_it_is_durable_if_the_option_says_so() {
    for visible_when_durable in [false, true] {
        let (disk, db) = meanwhile(visible_when_durable);
        db.with(&SYNC).put("k", "new").unwrap();
        db.with(&SYNC).merge("n", number(1)).unwrap();
        db.with(&SYNC).merge("n", number(1)).unwrap();
        let mut batch = WriteBatch::new();
        batch.put("k", "batch").merge("n", number(5));
        db.with(&SYNC).write(&batch).unwrap();
        let in_transaction = TransactionOptions { write: SYNC, ..TransactionOptions::default() };
        db.with(&in_transaction).transact(|txn| txn.put("k", "transaction")).unwrap();
        let early = [("new", 0), ("new", 1), ("new", 2), ("batch", 7), ("transaction", 7)];
        let late = [("old", 0), ("new", 0), ("new", 1), ("new", 2), ("batch", 7)];
        let expected = if visible_when_durable { late } else { early };
        let seen = disk.seen.lock().unwrap();
        let seen: Vec<_> = seen.iter().map(|(k, n)| (k.as_deref().unwrap(), *n)).collect();
        assert_eq!(seen, expected);
        assert_eq!((text(&*db, "k").as_deref(), count(&*db, "n")), (Some("transaction"), 7));
    }
}

#[test]
fn a_synced_write_that_fails_is_never_seen_if_the_option_says_so() {
    for visible_when_durable in [false, true] {
        let (disk, db) = meanwhile(visible_when_durable);
        disk.refuses.store(true, Ordering::Relaxed);
        assert_eq!(error_of(db.with(&SYNC).put("k", "new")).kind(), ErrorKind::Io);
        disk.refuses.store(false, Ordering::Relaxed);
        let seen = text(&*db, "k");
        assert_eq!(seen.as_deref(), Some(if visible_when_durable { "old" } else { "new" }));
        assert_eq!(error_of(db.put("x", "1")).kind(), ErrorKind::Poisoned);
        assert_eq!(text(&*db, "x"), None);
    }
}
