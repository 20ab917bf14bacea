//! Transactions: what conflicts, what is read, and savepoints.

use foldb::env::MemFs;
use foldb::{Db, ErrorKind, Isolation, TransactionOptions};

use crate::scan;
use crate::support::{assert_error, count, number, open, text};

fn begin(db: &Db, isolation: Isolation) -> foldb::Transaction {
    db.with(&TransactionOptions { isolation, ..TransactionOptions::default() }).begin().unwrap()
}

/// An iterator of a transaction did not show the transaction's own writes. (dgraph-io/badger#286)
#[test]
fn an_iterator_shows_the_writes_of_its_transaction() {
    let db = open(&MemFs::new()).unwrap();
    db.put("b", "stored").unwrap();
    db.put("d", "stored").unwrap();
    let transaction = db.begin().unwrap();
    transaction.put("a", "own").unwrap();
    transaction.put("b", "own").unwrap();
    transaction.delete("d").unwrap();
    transaction.put("e", "own").unwrap();
    assert_eq!(scan(&transaction), "a=own b=own e=own");
    let mut prefix = transaction.prefix("e").unwrap();
    assert_eq!(prefix.next().unwrap().unwrap().0, b"e");
    drop(prefix);
    transaction.rollback();
    assert_eq!(scan(&db), "b=stored d=stored");
}

/// A plain write between the check of a transaction and its commit was not noticed.
/// (facebook/rocksdb#10663)
#[test]
fn a_transaction_conflicts_with_plain_writes_of_what_it_read() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let db = open(&MemFs::new()).unwrap();
        db.put("key", number(1)).unwrap();
        let transaction = begin(&db, isolation);
        assert_eq!(count(&transaction, "key"), 1);
        transaction.put("key", number(2)).unwrap();
        db.put("key", number(10)).unwrap();
        assert_error(transaction.commit(), ErrorKind::Conflict, None);
        assert_eq!(count(&db, "key"), 10);
    }
}

/// The check for conflicts missed merges of others into a key that was read.
/// (facebook/rocksdb#10724)
#[test]
fn a_merge_of_another_writer_conflicts_with_a_read() {
    let db = open(&MemFs::new()).unwrap();
    let transaction = begin(&db, Isolation::Serializable);
    assert_eq!(count(&transaction, "key"), 0);
    transaction.put("seen", number(0)).unwrap();
    db.merge("key", number(1)).unwrap();
    assert_error(transaction.commit(), ErrorKind::Conflict, None);
    // Two blind merges do not conflict.
    let transaction = begin(&db, Isolation::Serializable);
    transaction.merge("key", number(1)).unwrap();
    db.merge("key", number(1)).unwrap();
    transaction.commit().unwrap();
    assert_eq!(count(&db, "key"), 3);
}

/// Two transactions each read what the other wrote, and both committed: the sum fell below its
/// limit. Engines with snapshot isolation alone allow it. (slatedb/slatedb#260)
#[test]
fn write_skew_is_refused_under_serializable() {
    let db = open(&MemFs::new()).unwrap();
    db.put("left", number(1)).unwrap();
    db.put("right", number(1)).unwrap();
    let first = begin(&db, Isolation::Serializable);
    let second = begin(&db, Isolation::Serializable);
    for (transaction, key) in [(&first, "left"), (&second, "right")] {
        assert_eq!(count(transaction, "left") + count(transaction, "right"), 2);
        transaction.put(key, number(0)).unwrap();
    }
    first.commit().unwrap();
    assert_error(second.commit(), ErrorKind::Conflict, None);
}

/// Restoring a savepoint lost pages, or a later commit damaged the file.
/// (cberner/redb#400, #832 and #1135)
#[test]
fn writes_after_a_rollback_to_a_savepoint_are_whole() {
    let db = open(&MemFs::new()).unwrap();
    for round in 0..20u64 {
        let transaction = db.begin().unwrap();
        transaction.merge("kept", number(1)).unwrap();
        let savepoint = transaction.savepoint();
        for n in 0..50 {
            transaction.put(format!("undone-{n}"), [7; 100]).unwrap();
            transaction.merge("kept", number(1000)).unwrap();
        }
        transaction.delete_range(..).unwrap();
        transaction.rollback_to(savepoint).unwrap();
        transaction.put(format!("round-{round:02}"), "after").unwrap();
        assert_eq!(count(&transaction, "kept"), round + 1);
        transaction.commit().unwrap();
        db.flush().unwrap();
    }
    assert_eq!(count(&db, "kept"), 20);
    assert_eq!(db.prefix("undone-").unwrap().count(), 0);
    assert_eq!(db.prefix("round-").unwrap().count(), 20);
}

/// A savepoint of one database was restored in another, and crashed it. (cberner/redb#413, #416)
#[test]
fn a_savepoint_of_another_transaction_is_refused() {
    let db = open(&MemFs::new()).unwrap();
    let first = db.begin().unwrap();
    first.put("first", "1").unwrap();
    let savepoint = first.savepoint();
    let second = db.begin().unwrap();
    second.put("second", "1").unwrap();
    assert_error(second.rollback_to(savepoint), ErrorKind::InvalidArgument, None);
    assert_eq!(text(&second, "second").unwrap(), "1");
}

/// A transaction had a hidden limit of size, and failed at a commit that could not be split.
/// (dgraph-io/badger#441 and #1325, ostafen/clover#147)
#[test]
fn a_transaction_larger_than_the_write_buffer_commits_whole() {
    let fs = MemFs::new();
    let small = foldb::Options { write_buffer_size: 64 << 10, ..crate::support::options(&fs) };
    let db = Db::open(crate::support::PATH, small).unwrap();
    let transaction = db.begin().unwrap();
    for n in 0..20_000u32 {
        transaction.put(n.to_be_bytes(), [7; 16]).unwrap();
    }
    transaction.commit().unwrap();
    assert_eq!(db.iter().unwrap().count(), 20_000);
    let db = crate::support::reopen(&fs.kill()).unwrap();
    assert_eq!(db.iter().unwrap().count(), 20_000);
}
