//! Queues inside the transactions of programs.

use foldb::{ErrorKind, Isolation, TransactionOptions};
use foldb_queue::{Error, PushOptions, QueueOptions};

use crate::support::{LEASE, Stage, audit, is_lost};

#[test]
fn a_push_is_there_if_the_transaction_commits() {
    let stage = Stage::new(QueueOptions::default());
    let transaction = stage.db.begin().unwrap();
    stage.jobs.push_in(&transaction, "dropped", PushOptions::default()).unwrap();
    drop(transaction);
    assert_eq!(stage.claim(), None);
    let transaction = stage.db.begin().unwrap();
    stage.jobs.push_in(&transaction, "kept", PushOptions::default()).unwrap();
    assert_eq!(stage.claim(), None);
    transaction.commit().unwrap();
    assert_eq!(stage.claim().unwrap().body, b"kept");
    audit(&stage.db, &stage.jobs);
}

/// Pushes of two transactions, and a claim between them, touch the same counters.
#[test]
fn pushes_and_claims_do_not_conflict() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let stage = Stage::new(QueueOptions::default());
        let options = TransactionOptions { isolation, ..TransactionOptions::default() };
        stage.jobs.push("first").unwrap();
        let pushes = [(); 2].map(|()| {
            let transaction = stage.db.with(&options).begin().unwrap();
            stage.jobs.push_in(&transaction, "job", PushOptions::default()).unwrap();
            transaction
        });
        let first = stage.claim().unwrap();
        stage.jobs.ack(&first).unwrap();
        pushes.into_iter().for_each(|transaction| transaction.commit().unwrap());
        assert_eq!(stage.jobs.depth().unwrap().ready, 2);
        audit(&stage.db, &stage.jobs);
    }
}

#[test]
fn effects_and_ack_are_one_commit() {
    let stage = Stage::new(QueueOptions::default());
    stage.jobs.push("job").unwrap();
    let job = stage.claim().unwrap();
    let failed = stage.jobs.ack_with(&job, |transaction| {
        transaction.put("effect", "1")?;
        Err::<(), _>(foldb::Error::aborted("the effect is wrong"))
    });
    assert!(matches!(failed, Err(Error::Engine(error)) if error.kind() == ErrorKind::Aborted));
    assert!(!stage.db.contains_key("effect").unwrap());
    // The claim still holds its job.
    let told = stage.jobs.ack_with(&job, |transaction| {
        transaction.put("effect", "1")?;
        Ok(7)
    });
    assert_eq!(told.unwrap(), 7);
    assert!(is_lost(&stage.jobs.ack_with(&job, |transaction| transaction.put("effect", "2"))));
    assert_eq!(stage.db.get("effect").unwrap().unwrap(), b"1");
}

/// The lease ends between the ack in a transaction and its commit, and another worker gets the job.
#[test]
fn a_lease_that_is_lost_before_the_commit_fails_it() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let stage = Stage::new(QueueOptions::default());
        stage.jobs.push("job").unwrap();
        let job = stage.claim().unwrap();
        let options = TransactionOptions { isolation, ..TransactionOptions::default() };
        let transaction = stage.db.with(&options).begin().unwrap();
        stage.jobs.ack_in(&transaction, &job).unwrap();
        transaction.put("effect", "1").unwrap();
        stage.clock.advance(LEASE);
        let other = stage.claim().unwrap();
        assert_eq!(transaction.commit().unwrap_err().kind(), ErrorKind::Conflict);
        assert!(!stage.db.contains_key("effect").unwrap());
        stage.jobs.ack(&other).unwrap();
        audit(&stage.db, &stage.jobs);
    }
}

#[test]
fn a_lost_lease_ends_a_transaction_of_the_program() {
    let stage = Stage::new(QueueOptions::default());
    stage.jobs.push("job").unwrap();
    let job = stage.claim().unwrap();
    stage.jobs.ack(&job).unwrap();
    let outcome = stage.db.transact(|transaction| {
        transaction.put("effect", "1")?;
        Ok(stage.jobs.ack_in(transaction, &job)?)
    });
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Aborted);
    assert!(!stage.db.contains_key("effect").unwrap());
}

#[test]
fn a_transaction_ends_many_jobs_and_pushes_the_next_ones() {
    let stage = Stage::new(QueueOptions::default());
    let jobs = &stage.jobs;
    for _ in 0..10 {
        jobs.push("first").unwrap();
    }
    let claimed: Vec<_> = (0..10).map(|_| stage.claim().unwrap()).collect();
    stage
        .db
        .transact(|transaction| {
            for job in &claimed {
                jobs.ack_in(transaction, job)?;
                jobs.push_in(transaction, "next", PushOptions::default())?;
            }
            // The second ack of a job sees the first one.
            assert!(is_lost(&jobs.ack_in(transaction, &claimed[3])));
            Ok(())
        })
        .unwrap();
    let depth = jobs.depth().unwrap();
    assert_eq!((depth.ready, depth.leased, depth.done), (10, 0, 10));
    audit(&stage.db, jobs);
}

/// A transaction that is nearly full has room for the body of a job and not for its state.
#[test]
fn a_push_that_fails_leaves_nothing() {
    let stage = Stage::new(QueueOptions::default());
    let transaction = stage.db.begin().unwrap();
    let filler = vec![7; 64 << 20];
    let mut size = filler.len();
    while size > 500 {
        if transaction.put("filler", &filler[..size]).is_err() {
            size /= 2;
        }
    }
    let (mut pushed, mut failed) = (0, 0);
    for body in (0..200).rev() {
        let body = &filler[..body];
        match stage.jobs.push_in(&transaction, body, PushOptions::default()) {
            Ok(_) => pushed += 1,
            Err(Error::Engine(error)) => {
                assert_eq!(error.kind(), ErrorKind::TransactionTooLarge);
                failed += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(failed > 100, "{failed} failed");
    let own = stage.db.keyspace("jobs").unwrap();
    let entries = |tag| transaction.keyspace(&own).prefix([tag]).unwrap().count();
    assert_eq!((entries(b'j'), entries(b'r')), (pushed, pushed));
}
