//! Merge operators: what users of other engines saw them do.

use std::time::Instant;

use foldb::env::MemFs;
use foldb::operators::merge_fn;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteBatch};

use crate::support::{PATH, assert_error, count, number, open, operators, options, reopen, text};
use crate::{everywhere, scan};

fn with(fs: &MemFs, operator: &str) -> Db {
    let merge_operator = Some(operator.to_owned());
    Db::open(
        PATH,
        Options {
            default: KeyspaceOptions { merge_operator, ..KeyspaceOptions::default() },
            ..options(fs)
        },
    )
    .unwrap()
}

/// Writing 50 000 small operands took 50 ms, reading them 20 s. (facebook/rocksdb#1988, #4095)
#[test]
fn a_read_of_many_small_appends_takes_no_longer_than_their_writes() {
    let db = with(&MemFs::new(), "stringappend:,");
    let start = Instant::now();
    for n in 0..50_000 {
        db.merge("key", format!("{:04}", n % 10_000)).unwrap();
    }
    let writing = start.elapsed();
    let start = Instant::now();
    assert_eq!(db.get("key").unwrap().unwrap().len(), 50_000 * 5 - 1);
    let reading = start.elapsed();
    assert!(reading < 10 * writing, "reading {reading:?}, writing {writing:?}");
}

/// Operands that take things away stayed for ever, because no put lay below them.
/// (facebook/rocksdb#9297, #4909)
#[test]
fn keys_of_operands_alone_are_resolved_and_emptied() {
    let db = with(&MemFs::new(), "test.references");
    for round in 0..50u64 {
        for key in ["a", "b", "c"] {
            db.merge(key, number(1)).unwrap();
            db.merge(key, number(1u64.wrapping_neg())).unwrap();
        }
        db.merge("kept", number(round)).unwrap();
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    assert_eq!(count(&db, "kept"), (0..50).sum::<u64>());
    assert_eq!(db.iter().unwrap().count(), 1);
    let records: u64 = db.tables().unwrap().iter().map(|table| table.records).sum();
    assert_eq!(records, 1, "nothing is left of keys that are gone");
}

/// An operator could not say that its key is gone, or the key was back after a compaction that
/// dropped the answer. (facebook/rocksdb#4667 and #14593, cockroachdb/pebble#6169)
#[test]
fn an_operator_deletes_its_key_for_the_next_read_and_for_good() {
    let db = with(&MemFs::new(), "test.references");
    db.put("key", number(2)).unwrap();
    db.compact(..).unwrap();
    db.merge("key", number(1u64.wrapping_neg())).unwrap();
    db.flush().unwrap();
    db.merge("key", number(1u64.wrapping_neg())).unwrap();
    everywhere(&db, |db| assert!(db.get("key").unwrap().is_none()));
    db.merge("key", number(5)).unwrap();
    everywhere(&db, |db| assert_eq!(count(db, "key"), 5));
}

/// A database with operands opened without their operator, and crashed, looped or lied later.
/// (rust-rocksdb/rust-rocksdb#1008 and #29, Level/rocksdb#152, facebook/rocksdb#7667)
#[test]
fn an_open_without_a_needed_operator_names_it() {
    let fs = MemFs::new();
    let db = with(&fs, "test.register");
    db.merge("key", "value").unwrap();
    db.put("plain", "value").unwrap();
    drop(db);
    let without =
        Options { operators: Vec::new(), default: KeyspaceOptions::default(), ..options(&fs) };
    let error = assert_error(Db::open(PATH, without.clone()), ErrorKind::UnknownOperator, None);
    assert!(error.to_string().contains("test.register"), "{error}");
    let unresolved = Options { allow_unresolved_operators: true, ..without };
    let db = Db::open(PATH, unresolved).unwrap();
    assert_eq!(text(&db, "plain").unwrap(), "value");
    assert!(db.get("key").is_err());
    db.flush().unwrap();
    db.compact(..).unwrap();
    drop(db);
    assert_eq!(text(&with(&fs, "test.register"), "key").unwrap(), "value");
}

/// An operand that its operator rejects made the whole database read-only in a compaction, or ended
/// every walk. (facebook/rocksdb#11092, #11231, #1665 and #3226)
#[test]
fn a_rejected_operand_fails_its_key_and_no_other() {
    let fs = MemFs::new();
    let db = with(&fs, "test.fussy");
    for key in ["a", "b", "c"] {
        db.merge(key, "1").unwrap();
    }
    db.merge("b", "!").unwrap();
    everywhere(&db, |db| {
        assert_error(db.get("b"), ErrorKind::MergeFailed, None);
        let entries: Vec<_> = db.iter().unwrap().collect();
        assert_eq!(entries.iter().filter(|entry| entry.is_ok()).count(), 2);
        assert_eq!(db.list_failed_merges().unwrap().count(), 1);
        db.put("d", "1").unwrap();
        db.delete("d").unwrap();
    });
    db.put("b", "well").unwrap();
    everywhere(&db, |db| assert_eq!(scan(db), "a=1 b=well c=1"));
}

/// Merges of a batch were read back wrongly before and after the batch was written, in five of
/// eight combinations with puts, deletes and range deletes. (facebook/rocksdb#8135, #1100, #5577)
#[test]
fn a_transaction_reads_back_merges_over_everything() {
    let db = with(&MemFs::new(), "stringappend:,");
    for key in ["a", "b", "c", "d"] {
        db.put(key, "base").unwrap();
    }
    let transaction = db.begin().unwrap();
    transaction.merge("a", "1").unwrap();
    transaction.put("b", "own").unwrap();
    transaction.merge("b", "1").unwrap();
    transaction.delete("c").unwrap();
    transaction.merge("c", "1").unwrap();
    transaction.delete_range("d".."e").unwrap();
    transaction.merge("d", "1").unwrap();
    transaction.merge("e", "1").unwrap();
    transaction.merge("e", "2").unwrap();
    let expected = "a=base,1 b=own,1 c=1 d=1 e=1,2";
    assert_eq!(scan(&transaction), expected);
    assert_eq!(text(&transaction, "d").unwrap(), "1");
    transaction.commit().unwrap();
    everywhere(&db, |db| assert_eq!(scan(db), expected));
}

/// A grouped fold gave another answer than a fold in turn, and the answer changed with compactions.
/// An operator that does not compose must be folded in turn. (slatedb/slatedb#1866)
#[test]
fn an_operator_without_partial_folds_gives_one_answer_everywhere() {
    let counts = merge_fn("report.first_then_count", |base, operands: &[&[u8]]| {
        let first = base.or_else(|| operands.first().copied())?;
        let more = operands.len() - usize::from(base.is_none());
        Some(vec![first[0].wrapping_add(u8::try_from(more).ok()?)])
    });
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs).operator(counts)).unwrap();
    for operand in [68, 110, 116, 9, 200] {
        db.merge("key", [operand]).unwrap();
        db.flush().unwrap();
    }
    everywhere(&db, |db| assert_eq!(db.get("key").unwrap().unwrap(), [72]));
}

/// A counter gave no answer to an increment, so programs read before they wrote.
/// (OpenAtomFoundation/pikiwidb#2843, tecbot/gorocksdb#90)
#[test]
fn an_increment_can_answer_with_the_new_value() {
    let db = open(&MemFs::new()).unwrap();
    for expected in 1..=100u64 {
        assert_eq!(db.merge_get("key", number(1)).unwrap().unwrap(), number(expected));
    }
}

/// Programs in two languages could not read each other's counters, because the name of the operator
/// was no part of the data. (twmht/python-rocksdb#2, facebook/rocksdb#201, #12033)
#[test]
fn counters_sets_and_lists_live_in_one_database_and_its_copies() {
    let fs = MemFs::new();
    let db =
        Db::open(PATH, Options { default: KeyspaceOptions::default(), ..options(&fs) }).unwrap();
    for (name, operator, operand) in [
        ("counts", "int64add", &number(1)[..]),
        ("words", "stringappend:;", b"word"),
        ("largest", "uint64max", &number(7)),
    ] {
        let merge_operator = Some(operator.to_owned());
        let kind = KeyspaceOptions { merge_operator, ..KeyspaceOptions::default() };
        let keyspace = db.create_keyspace(name, kind).unwrap();
        keyspace.merge("key", operand).unwrap();
        keyspace.merge("key", operand).unwrap();
    }
    db.checkpoint("copy").unwrap();
    db.close().unwrap();
    for path in [PATH, "copy"] {
        let plain =
            Options { default: KeyspaceOptions::default(), operators: Vec::new(), ..options(&fs) };
        let db = Db::open(path, plain).unwrap();
        let value = |name: &str| db.keyspace(name).unwrap().get("key").unwrap().unwrap();
        assert_eq!(value("counts"), number(2));
        assert_eq!(value("words"), b"word;word");
        assert_eq!(value("largest"), number(7));
    }
}

/// Merges of one batch were dropped. (slatedb/slatedb#1581)
#[test]
fn each_merge_of_a_batch_is_applied_once_also_after_a_crash() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let other = db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
    let add = db.operator("uint64add").unwrap();
    for round in 0..20 {
        let mut batch = WriteBatch::new();
        batch.merge("key", number(1)).merge_with_in(&add, &other, "key", number(1));
        db.write(&batch).unwrap();
        if round % 6 == 5 {
            db.flush().unwrap();
        }
    }
    let db = reopen(&fs.kill()).unwrap();
    assert_eq!(count(&db, "key"), 20);
    assert_eq!(count(&db.keyspace("other").unwrap(), "key"), 20);
}

/// An operator's failure was told as corruption of the database. (facebook/rocksdb#11231)
#[test]
fn a_panic_of_an_operator_is_told_with_its_name_and_key() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { operators: operators::all(), ..options(&fs) }).unwrap();
    let fussy = db.operator("test.fussy").unwrap();
    db.merge_with(&fussy, "key", "?").unwrap();
    let error = assert_error(db.get("key"), ErrorKind::MergeFailed, None);
    assert!(error.to_string().contains("test.fussy"), "{error}");
    assert_ne!(error.kind(), ErrorKind::Corruption);
}
