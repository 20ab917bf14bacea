//! A transaction that keeps losing gets a turn.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use foldb::{Db, ErrorKind, TransactionOptions, WriteOptions};
use tempfile::TempDir;

/// A writer changes the key faster than the transaction can read it and commit. The transaction
/// succeeds all the same, and the writer goes on.
#[test]
fn a_transaction_that_keeps_losing_is_let_through() {
    let dir = TempDir::new().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let (stop, writes) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                db.put("hot", "x").unwrap();
                writes.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut attempts = 0;
        for round in 0..3 {
            db.transact(|transaction| {
                attempts += 1;
                transaction.get("hot")?;
                thread::sleep(Duration::from_millis(3));
                transaction.put("done", format!("{round}"))
            })
            .unwrap();
        }
        assert!(attempts >= 12, "the writer was too slow to make the transaction lose: {attempts}");
        assert!(attempts <= 36, "turns did not let the transaction through: {attempts}");
        let before = writes.load(Ordering::Relaxed);
        thread::sleep(Duration::from_millis(50));
        assert!(writes.load(Ordering::Relaxed) > before, "the writer stopped");
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(db.get("done").unwrap().unwrap(), b"2");
}

/// The closure of a turn may write past its transaction, on its own thread and on another one.
#[test]
fn a_turn_that_waits_for_another_writer_ends() {
    let dir = TempDir::new().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let mut attempts = 0;
    let outcome = db.transact_opt(
        &TransactionOptions { max_attempts: 11, ..Default::default() },
        |transaction| {
            attempts += 1;
            transaction.get("key")?;
            db.put("own thread", "1")?;
            thread::scope(|scope| scope.spawn(|| db.put("key", "1")).join().unwrap())?;
            transaction.put("done", "1")
        },
    );
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(attempts, 11);
    assert_eq!(db.get("done").unwrap(), None);
}

/// A write with a deadline does not wait for a turn longer than that.
#[test]
fn a_deadline_holds_during_a_turn() {
    let dir = TempDir::new().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let soon = WriteOptions { deadline: Some(Duration::ZERO), ..Default::default() };
    let mut attempts = 0;
    let mut refused = 0;
    db.transact(|transaction| {
        attempts += 1;
        transaction.get("key")?;
        let outcome =
            thread::scope(|scope| scope.spawn(|| db.put_opt("key", "1", &soon)).join().unwrap());
        if outcome.is_err_and(|error| error.kind() == ErrorKind::Busy) {
            refused += 1;
        }
        transaction.put("done", "1")
    })
    .unwrap();
    assert_eq!((attempts, refused), (9, 1));
}
