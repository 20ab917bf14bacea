//! Tests writes that fail or panic half-way: neither later writes nor the next open see them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::operators::{Full, Growth, MergeOperator, Partial};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteBatch, WriteOptions};

#[cfg(debug_assertions)]
use crate::support::quiet;
use crate::support::{PATH, assert_error, open, options, reopen, text};
#[cfg(debug_assertions)]
use foldb::faults::{Fault as Planted, plant};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
const MIB: usize = 1 << 20;
/// Bytes of the headers of a frame and of a batch.
const FRAME: usize = 32;
const BATCH: usize = 17;

/// Makes the n-th write to a log from now on fail.
fn fail_write(fs: &MemFs, n: u64) {
    let fault = Fault::on(Operation::Write).path(".log").nth(n);
    fs.inject(fault.kind(io::ErrorKind::StorageFull));
}

/// Returns what a crash may leave: everything, only what is durable, and some states between.
fn survivors(fs: &MemFs) -> Vec<MemFs> {
    let torn = (0..20).map(|seed| fs.crash_with(seed));
    [fs.kill(), fs.crash()].into_iter().chain(torn).collect()
}

/// A record of several frames fails in one of them. The record after it ends where a frame of the
/// failed record begins. Replay once took that frame for the next one and reported `Corruption`,
/// "frame 4 (Middle)"; so did repair.
#[test]
fn parts_of_a_failed_record_are_not_taken_for_what_follows() {
    for failing in 1..=3 {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.with(&SYNC).put("before", "1").unwrap();
        fail_write(&fs, failing);
        assert_error(db.put("big", vec![b'x'; 3 * MIB]), ErrorKind::NoSpace, None);
        // Kind, keyspace, length and key, length of the value.
        let value = MIB - BATCH - 4 - 3;
        db.with(&SYNC).put("k", vec![b'y'; value]).unwrap();
        for left in survivors(&fs) {
            let db = reopen(&left).unwrap();
            assert_eq!(db.get("k").unwrap().unwrap().len(), value);
            assert_eq!(db.get("big").unwrap(), None);
            assert_eq!(text(&db, "before").unwrap(), "1");
        }
    }
}

/// The same with many small records, whose frames divide the one of the failed record.
#[test]
fn parts_of_a_failed_record_are_not_taken_for_small_ones() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&SYNC).put("before", "1").unwrap();
    fail_write(&fs, 3);
    assert_error(db.put("big", vec![b'x'; 3 * MIB]), ErrorKind::NoSpace, None);
    let (span, record) = (MIB + FRAME, 96);
    assert_eq!(span % record, 0);
    let value = [b'v'; 96 - FRAME - BATCH - 12];
    for n in 0..span / record {
        db.put(format!("{n:08}"), value).unwrap();
    }
    db.sync().unwrap();
    for left in [fs.kill(), fs.crash()] {
        assert_eq!(reopen(&left).unwrap().iter().unwrap().count(), span / record + 1);
    }
}

/// The operating system may have the whole frame of a write that it reports as failed.
#[test]
fn a_failed_write_does_not_come_back() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&SYNC).put("before", "1").unwrap();
    fs.inject(Fault::on(Operation::Write).path(".log").torn_at(4096).kind(io::ErrorKind::Other));
    assert_error(db.put("failed", "1"), ErrorKind::Io, None);
    for left in survivors(&fs) {
        assert_eq!(text(&reopen(&left).unwrap(), "failed"), None);
    }
    db.put("after", "1").unwrap();
    db.flush().unwrap();
    db.with(&SYNC).put("later", "1").unwrap();
    for left in survivors(&fs) {
        let db = reopen(&left).unwrap();
        assert_eq!(text(&db, "failed"), None);
        assert_eq!(
            (text(&db, "after").unwrap(), text(&db, "later").unwrap()),
            ("1".into(), "1".into())
        );
    }
}

/// A flush whose edit failed, and could not be cleared, may be in force for the next open. So the
/// tables that the edit names stay.
#[test]
fn the_tables_of_a_failed_edit_stay_while_the_manifest_may_hold_it() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&SYNC).put("key", "1").unwrap();
    fs.inject(Fault::on(Operation::Write).path("MANIFEST").torn_at(1 << 20));
    for operation in [Operation::Write, Operation::Truncate] {
        fs.inject(Fault::on(operation).path("MANIFEST").forever());
    }
    db.flush().unwrap_err();
    for left in survivors(&fs) {
        assert_eq!(text(&reopen(&left).unwrap(), "key").unwrap(), "1");
    }
    fs.clear_faults();
    db.flush().unwrap();
    for left in survivors(&fs) {
        assert_eq!(text(&reopen(&left).unwrap(), "key").unwrap(), "1");
    }
}

/// If a failed frame cannot be cleared, the log takes no more writes and gets no successor. A
/// successor would follow a frame that no caller knows of, and replay would skip it with all its
/// writes.
#[test]
fn nothing_is_written_while_a_failed_write_cannot_be_cleared() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&SYNC).put("before", "1").unwrap();
    let list = fs.list(PATH.as_ref()).unwrap();
    let log = list.iter().find(|name| name.ends_with(".log")).unwrap();
    let torn = Fault::on(Operation::Write).path(log).torn_at(4096);
    fs.inject(torn.kind(io::ErrorKind::StorageFull));
    for operation in [Operation::Write, Operation::Truncate] {
        fs.inject(Fault::on(operation).path(log).forever().kind(io::ErrorKind::StorageFull));
    }
    let anew = Fault::on(Operation::Create).path(foldb::env::SCRATCH_NAME);
    fs.inject(anew.forever().kind(io::ErrorKind::StorageFull));
    assert_error(db.put("failed", "1"), ErrorKind::NoSpace, None);
    for _ in 0..3 {
        assert_error(db.flush(), ErrorKind::NoSpace, None);
        assert_error(db.put("failed", "2"), ErrorKind::NoSpace, None);
    }
    fs.clear_faults();
    db.flush().unwrap();
    db.with(&SYNC).put("after", "1").unwrap();
    for left in survivors(&fs) {
        let db = reopen(&left).unwrap();
        assert_eq!(text(&db, "failed"), None);
        assert_eq!(text(&db, "after").unwrap(), "1");
    }
}

/// An operator that panics on demand when asked whether it grows.
#[derive(Debug, Default)]
struct Moody {
    asked: AtomicU32,
}

impl MergeOperator for Moody {
    fn name(&self) -> &str {
        "test.moody"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        out.extend_from_slice(base.unwrap_or_default());
        operands.iter().for_each(|operand| out.extend_from_slice(operand));
        Full::Value
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        self.full(key, None, operands, out);
        Partial::Operand
    }

    fn growth(&self) -> Growth {
        assert_eq!(self.asked.fetch_add(1, Ordering::Relaxed), 0, "asked again");
        Growth::Grows
    }
}

/// Writers once asked with every sixteenth operand of a key, between log and publication.
#[test]
fn an_operator_is_asked_once_whether_it_grows() {
    let fs = MemFs::new();
    let moody = Arc::new(Moody::default());
    let merge_operator = Some("test.moody".to_owned());
    let options = Options {
        operators: vec![moody.clone()],
        default: KeyspaceOptions { merge_operator, ..KeyspaceOptions::default() },
        ..options(&fs)
    };
    let db = Db::open(PATH, options).unwrap();
    for n in 0..300 {
        db.merge("k", format!("{n},")).unwrap();
    }
    assert_eq!(moody.asked.load(Ordering::Relaxed), 1);
}

/// A write that panicked after its log record once left its sequence number to the next write. That
/// one was acknowledged and synced. The open then failed: "expected a batch behind sequence number
/// 3, found one from 3 on". The panics came from operators and comparators, which are guarded now;
/// other code of the engine is not.
#[cfg(debug_assertions)]
#[test]
fn a_write_that_panics_takes_no_number_from_the_next() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    db.with(&SYNC).put("b", "1").unwrap();
    plant(Some(Planted::PanicBehindLog));
    let panicked = quiet::catch(|| db.put("panicked", "1"));
    plant(None);
    assert!(panicked.is_err(), "the write panics behind the log");
    assert_error(db.with(&SYNC).put("c", "1"), ErrorKind::Poisoned, None);
    assert_eq!(text(&db, "a").unwrap(), "1");
    for left in survivors(&fs) {
        let db = reopen(&left).unwrap();
        assert_eq!(text(&db, "b").unwrap(), "1");
        assert_eq!(db.iter().unwrap().count(), 2, "only acknowledged writes are visible");
        db.with(&SYNC).put("c", "1").unwrap();
        drop(db);
        assert_eq!(reopen(&left).unwrap().iter().unwrap().count(), 3);
    }
    drop(db);
    assert_eq!(reopen(&fs).unwrap().iter().unwrap().count(), 2);
}

#[test]
fn an_empty_batch_with_sync_syncs() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    db.write(&WriteBatch::new()).unwrap();
    assert_eq!(text(&reopen(&fs.crash()).unwrap(), "a"), None);
    db.with(&SYNC).write(&WriteBatch::new()).unwrap();
    assert_eq!(text(&reopen(&fs.crash()).unwrap(), "a").unwrap(), "1");
    db.put("a", "2").unwrap();
    db.default_keyspace().with(&SYNC).delete_range("x".."x").unwrap();
    assert_eq!(text(&reopen(&fs.crash()).unwrap(), "a").unwrap(), "2");
}

/// The manifest had the definition, and the log did not get it. The next attempt then found the
/// operator known, and a repair without the manifest could not read the log.
#[test]
fn a_definition_that_was_not_logged_is_logged_before_its_first_use() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    fail_write(&fs, 1);
    assert_error(db.operator("stringappend:;"), ErrorKind::NoSpace, None);
    let append = db.operator("stringappend:;").unwrap();
    db.merge_with(&append, "k", "a").unwrap();
    db.sync().unwrap();
    let left = fs.kill();
    for name in left.list(PATH.as_ref()).unwrap() {
        if name.starts_with("MANIFEST") || name == "CURRENT" {
            left.remove(&PathBuf::from(PATH).join(name)).unwrap();
        }
    }
    Db::repair(PATH, options(&left)).unwrap();
    assert_eq!(text(&reopen(&left).unwrap(), "k").unwrap(), "a");
}

/// The error of such an open once told only which file could not be written.
#[test]
fn an_open_on_a_full_disk_changes_nothing_and_names_the_read_only_open() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&SYNC).put("key", "1").unwrap();
    let fs = fs.kill();
    drop(db);
    fs.inject(Fault::on(Operation::Write).forever().kind(io::ErrorKind::StorageFull));
    let error = reopen(&fs).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    assert!(error.to_string().contains("open_read_only"), "{error}");
    let read_only = Db::open_read_only(PATH, options(&fs)).unwrap();
    assert_eq!(read_only.get("key").unwrap().unwrap(), b"1");
    drop(read_only);
    assert_eq!(text(&reopen(&fs.kill()).unwrap(), "key").unwrap(), "1");
}
