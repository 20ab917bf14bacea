//! Optimistic and pessimistic transactions.

use foldb_rocksdb_crate::{creating, directory, joining};
use rocksdb::{
    ErrorKind, IteratorMode, OptimisticTransactionDB, OptimisticTransactionOptions, SingleThreaded,
    TransactionDB, TransactionDBOptions, TransactionOptions, WriteOptions,
};

type Optimistic = OptimisticTransactionDB<SingleThreaded>;
type Pessimistic = TransactionDB<SingleThreaded>;

fn locking(path: &std::path::Path) -> Pessimistic {
    let mut options = TransactionDBOptions::default();
    options.set_default_lock_timeout(20);
    options.set_txn_lock_timeout(20);
    Pessimistic::open(&joining(), &options, path).unwrap()
}

#[test]
fn optimistic_transactions_conflict_when_they_commit() {
    let dir = directory();
    let db = Optimistic::open(&creating(), dir.path()).unwrap();
    db.put(b"key", b"old").unwrap();
    let one = db.transaction();
    one.put(b"key", b"of one").unwrap();
    assert_eq!(one.get(b"key").unwrap().unwrap(), b"of one");
    db.put(b"key", b"from outside").unwrap();
    let error = one.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"from outside");
    let two = db.transaction();
    two.put(b"key", b"of two").unwrap();
    two.commit().unwrap();
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"of two");
}

#[test]
fn an_optimistic_read_for_update_counts() {
    let dir = directory();
    let db = Optimistic::open(&creating(), dir.path()).unwrap();
    db.put(b"read", b"1").unwrap();
    let mut options = OptimisticTransactionOptions::default();
    options.set_snapshot(true);
    let one = db.transaction_opt(&WriteOptions::default(), &options);
    assert_eq!(one.get_for_update(b"read", true).unwrap().unwrap(), b"1");
    one.put(b"written", b"2").unwrap();
    db.put(b"read", b"changed").unwrap();
    assert_eq!(one.snapshot().get(b"read").unwrap().unwrap(), b"1");
    assert_eq!(one.commit().unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(db.get(b"written").unwrap(), None);
}

#[test]
fn pessimistic_transactions_lock_what_they_write() {
    let dir = directory();
    let db = locking(dir.path());
    let one = db.transaction();
    one.put(b"key", b"of one").unwrap();
    one.merge(b"key", b"more").unwrap();
    let error = db.put(b"key", b"from outside").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    let two = db.transaction();
    assert_eq!(two.get_for_update(b"key", true).unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(two.get(b"key").unwrap(), None);
    one.commit().unwrap();
    assert_eq!(two.get_for_update(b"key", true).unwrap().unwrap(), b"of one,more");
    two.rollback().unwrap();
    db.put(b"key", b"from outside").unwrap();
}

#[test]
fn a_savepoint_takes_writes_back() {
    let dir = directory();
    let db = locking(dir.path());
    let one = db.transaction();
    one.put(b"a", b"kept").unwrap();
    one.set_savepoint();
    one.put(b"b", b"lost").unwrap();
    one.delete(b"a").unwrap();
    one.rollback_to_savepoint().unwrap();
    let inside: Vec<_> = one.iterator(IteratorMode::Start).map(|entry| entry.unwrap().0).collect();
    assert_eq!(inside, [b"a".to_vec().into_boxed_slice()]);
    one.commit().unwrap();
    assert_eq!(db.get(b"a").unwrap().unwrap(), b"kept");
    assert_eq!(db.get(b"b").unwrap(), None);
}

/// A prepared transaction outlives the database: the program that opens it again decides.
#[test]
fn a_prepared_transaction_waits_for_its_decision() {
    let dir = directory();
    let db = locking(dir.path());
    let two = TransactionOptions::default();
    let one = db.transaction_opt(&WriteOptions::default(), &two);
    one.set_name(b"first").unwrap();
    one.put(b"key", b"prepared").unwrap();
    one.prepare().unwrap();
    drop(one);
    drop(db);
    let db = locking(dir.path());
    assert_eq!(db.get(b"key").unwrap(), None);
    let waiting = db.prepared_transactions();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].get_name().as_deref(), Some(&b"first"[..]));
    for transaction in waiting {
        transaction.commit().unwrap();
    }
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"prepared");
}
