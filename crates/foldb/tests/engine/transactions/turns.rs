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
    let outcome = db.with(&TransactionOptions { max_attempts: 11, ..Default::default() }).transact(
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
            thread::scope(|scope| scope.spawn(|| db.with(&soon).put("key", "1")).join().unwrap());
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
    // Long enough for nine attempts on a slow machine: then the two take turns.
    let deadline = Duration::from_secs(1);
    let soon = TransactionOptions {
        deadline: Some(deadline),
        max_attempts: u32::MAX,
        ..Default::default()
    };
    let lose = || {
        let mut attempts = 0;
        let begun = Instant::now();
        let outcome = db.with(&soon).transact(|transaction| {
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

/// Runs `work` while another thread writes a key all the time.
fn beside_a_hot_key(db: &Db, work: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = RaisedAtEnd(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                db.put("hot", "x").unwrap();
            }
        });
        work();
    });
}

/// A closure that takes longer than the first turns gets a turn that is long enough.
#[test]
fn an_update_slower_than_its_first_turns_ends() {
    let dir = TempDir::new().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    db.put("hot", "x").unwrap();
    beside_a_hot_key(&db, || {
        let mut calls = 0;
        let new = db.update("hot", |_| {
            calls += 1;
            thread::sleep(Duration::from_millis(60));
            Some(b"updated".to_vec())
        });
        assert_eq!(new.unwrap().unwrap(), b"updated");
        assert!(calls <= 16, "{calls} calls");
    });
}

/// An update that always loses gives up.
#[test]
fn an_update_that_always_loses_gives_up() {
    let dir = TempDir::new().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let mut calls = 0;
    let outcome = db.update("key", |_| {
        calls += 1;
        db.put("key", "changed by the closure").unwrap();
        Some(Vec::new())
    });
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(calls, 100);
}

/// The turn of a transaction outlasts the turns of transactions that its closure runs.
#[test]
fn a_turn_goes_on_after_a_turn_inside_it() {
    let dir = TempDir::new().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    beside_a_hot_key(&db, || {
        let mut attempts = 0;
        db.transact(|outer| {
            attempts += 1;
            outer.get("hot")?;
            let mut losses = 0;
            db.transact(|inner| {
                inner.get("inner")?;
                // It loses to its own thread, until it has had a turn.
                losses += 1;
                if losses < 10 {
                    db.put("inner", "")?;
                }
                inner.put("inner", "")
            })?;
            thread::sleep(Duration::from_millis(2));
            outer.put("done", "1")
        })
        .unwrap();
        assert!(attempts <= 20, "{attempts} attempts");
    });
}

/// Only the commit makes a transaction run again, not an error of its closure.
#[test]
fn a_conflict_of_the_closure_is_the_callers() {
    let dir = TempDir::new().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let mut attempts = 0;
    let outcome = db.transact(|_| {
        attempts += 1;
        let other = db.begin()?;
        other.get("key")?;
        other.put("done", "1")?;
        db.put("key", "1")?;
        other.commit()
    });
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(attempts, 1);
}
