//! A transaction that keeps losing gets a turn.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::{Db, ErrorKind, TransactionOptions, WriteOptions};
use tempfile::TempDir;

use crate::support::RaisedAtEnd;

/// A writer changes the key faster than the transaction can read it and commit. The transaction
/// succeeds all the same, and the writer goes on.
#[test]
fn a_transaction_that_keeps_losing_is_let_through() {
    let dir = TempDir::new().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let (stop, writes) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let _stop = RaisedAtEnd(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                db.put("hot", "x").unwrap();
                writes.fetch_add(1, Ordering::Relaxed);
            }
        });
        for round in 0..3 {
            let mut attempts = 0;
            db.transact(|transaction| {
                attempts += 1;
                transaction.get("hot")?;
                let (begun, before) = (Instant::now(), writes.load(Ordering::Relaxed));
                // The second write began behind the read.
                let has_lost = || writes.load(Ordering::Relaxed) > before + 1;
                while attempts <= 8 && !has_lost() && begun.elapsed() < Duration::from_secs(20) {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(3));
                transaction.put("done", format!("{round}"))
            })
            .unwrap();
            assert!(attempts > 8, "the writer did not make the transaction lose: {attempts}");
            assert!(attempts <= 16, "turns did not let the transaction through: {attempts}");
        }
        let (begun, before) = (Instant::now(), writes.load(Ordering::Relaxed));
        while writes.load(Ordering::Relaxed) <= before + 1 {
            assert!(begun.elapsed() < Duration::from_secs(20), "the writer stopped");
            thread::yield_now();
        }
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

/// A transaction that always loses stops at its deadline, whatever it waits for then.
#[test]
fn a_deadline_ends_a_transaction_that_always_loses() {
    let dir = TempDir::new().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let deadline = Duration::from_millis(200);
    let soon = TransactionOptions {
        deadline: Some(deadline),
        max_attempts: u32::MAX,
        ..Default::default()
    };
    let lose = || {
        let mut attempts = 0;
        let begun = Instant::now();
        let outcome = db.transact_opt(&soon, |transaction| {
            attempts += 1;
            transaction.get("key")?;
            db.put("key", "1")?;
            thread::sleep(Duration::from_millis(5));
            transaction.put("done", "1")
        });
        let kind = outcome.unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::Conflict | ErrorKind::Busy), "{kind:?}");
        (attempts, begun.elapsed())
    };
    // Each of the two waits for the turns of the other one.
    let outcomes = thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(lose));
        threads.map(|thread| thread.join().unwrap())
    });
    for (attempts, time) in outcomes {
        assert!(attempts > 8 && time >= deadline / 2, "{attempts} attempts in {time:?}");
        assert!(time < deadline + Duration::from_secs(5), "{attempts} attempts in {time:?}");
    }
    assert_eq!(db.get("done").unwrap(), None);
}
