//! Claims and the ends of attempts, one by one.

use std::time::Duration;

use foldb_queue::{Error, Fate, PushOptions, QueueOptions};

use crate::support::{LEASE, Stage, audit, is_lost};

#[test]
fn jobs_are_claimed_in_the_order_of_priority_and_push() {
    let stage = Stage::new(QueueOptions::default());
    for (priority, body) in [(0, "c"), (0, "d"), (7, "a"), (-1, "e"), (7, "b"), (i32::MIN, "f")] {
        stage.jobs.push_with(body, PushOptions { priority, ..PushOptions::default() }).unwrap();
    }
    let mut claimed = Vec::new();
    while let Some(job) = stage.claim() {
        claimed.extend(job.body);
    }
    assert_eq!(claimed, b"abcdef");
}

#[test]
fn a_delayed_job_is_claimed_when_its_time_has_come() {
    let stage = Stage::new(QueueOptions::default());
    let delay = Duration::from_millis(1500);
    stage.jobs.push_with("later", PushOptions { delay, ..PushOptions::default() }).unwrap();
    assert_eq!(stage.jobs.next_due().unwrap(), Some(delay));
    stage.clock.advance(delay - Duration::from_nanos(1));
    assert_eq!(stage.claim(), None);
    stage.clock.advance(Duration::from_nanos(1));
    assert_eq!(stage.claim().unwrap().body, b"later");
    assert_eq!(stage.jobs.next_due().unwrap(), Some(LEASE));
    let never = PushOptions { delay: Duration::MAX, ..PushOptions::default() };
    stage.jobs.push_with("never", never).unwrap();
    stage.clock.advance(Duration::from_secs(1 << 34));
    assert_eq!(stage.claim().unwrap().body, b"later");
    assert_eq!(stage.claim(), None);
}

/// A claim wakes a bounded number of jobs, so further claims must bring the rest.
#[test]
fn all_of_very_many_due_jobs_are_claimed() {
    const MANY: u64 = 500;
    let stage = Stage::new(QueueOptions::default());
    let delay = Duration::from_secs(1);
    for _ in 0..MANY {
        stage.jobs.push_with("later", PushOptions { delay, ..PushOptions::default() }).unwrap();
    }
    stage.later(1);
    for round in 1..=2 {
        for _ in 0..MANY {
            assert_eq!(stage.claim().unwrap().attempt, round);
        }
        assert_eq!(stage.claim(), None);
        audit(&stage.db, &stage.jobs);
        stage.clock.advance(LEASE);
    }
}

#[test]
fn a_lost_lease_is_told_by_every_call() {
    let stage = Stage::new(QueueOptions::default());
    let id = stage.jobs.push("job").unwrap();
    let mut lost = stage.claim().unwrap();
    stage.clock.advance(LEASE);
    let holder = stage.claim().unwrap();
    assert_eq!((holder.id, holder.attempt), (id, 2));
    let jobs = &stage.jobs;
    for outcome in [
        jobs.ack(&lost),
        jobs.extend(&mut lost, LEASE),
        jobs.retry(&lost, LEASE).map(|_| ()),
        jobs.fail(&lost, "why").map(|_| ()),
        jobs.bury(&lost, "why"),
        jobs.ack_with(&lost, |_| -> foldb::Result<()> { panic!("the effects of a lost lease") }),
    ] {
        let Err(Error::LeaseLost { id: told, attempt: 1, is_gone: false }) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(told, id);
    }
    jobs.ack(&holder).unwrap();
    let again = jobs.ack(&holder).unwrap_err();
    assert!(matches!(again, Error::LeaseLost { is_gone: true, .. }));
    assert_eq!(
        again.to_string(),
        format!(
            "attempt 2 of job {id} no longer holds its lease, and the job has ended: nothing was \
             written, drop the result of this attempt"
        )
    );
    audit(&stage.db, jobs);
}

/// An ack that comes late is right as long as the queue gave the job to no other worker.
#[test]
fn a_late_ack_counts_if_the_job_was_not_given_away() {
    let stage = Stage::new(QueueOptions::default());
    stage.jobs.push("job").unwrap();
    let job = stage.claim().unwrap();
    stage.clock.advance(LEASE * 10);
    stage.jobs.ack(&job).unwrap();
    assert_eq!(stage.claim(), None);
    assert_eq!(stage.jobs.depth().unwrap().done, 1);
}

#[test]
fn an_extended_lease_ends_later() {
    let stage = Stage::new(QueueOptions::default());
    stage.jobs.push("job").unwrap();
    let mut job = stage.claim().unwrap();
    for _ in 0..5 {
        stage.clock.advance(LEASE / 2);
        stage.jobs.extend(&mut job, LEASE).unwrap();
        assert_eq!(stage.claim(), None);
    }
    stage.jobs.ack(&job).unwrap();
    audit(&stage.db, &stage.jobs);
}

#[test]
fn a_job_dies_when_its_attempts_are_used_up() {
    let stage = Stage::new(QueueOptions { max_attempts: 2, ..QueueOptions::default() });
    let jobs = &stage.jobs;
    let ids = ["lease", "retry", "fail"].map(|body| jobs.push(body).unwrap());
    let claims = ids.map(|_| stage.claim().unwrap());
    assert_eq!(jobs.retry(&claims[1], Duration::ZERO).unwrap(), Fate::Waits);
    assert_eq!(jobs.fail(&claims[2], "first").unwrap(), Fate::Waits);
    stage.clock.advance(LEASE);
    let claims = ids.map(|id| {
        let claim = stage.claim().unwrap();
        assert_eq!((claim.id, claim.attempt), (id, 2));
        claim
    });
    assert_eq!(jobs.retry(&claims[1], Duration::ZERO).unwrap(), Fate::Dead);
    assert_eq!(jobs.fail(&claims[2], "second").unwrap(), Fate::Dead);
    stage.clock.advance(LEASE);
    assert_eq!(stage.claim(), None);
    let dead = jobs.dead().unwrap().map(|letter| letter.unwrap());
    let reasons: Vec<_> = dead.map(|letter| (letter.id, letter.reason)).collect();
    let expected = ["the lease of worker 'ann' ended", "worker 'ann' gave the job back", "second"];
    assert_eq!(reasons, ids.into_iter().zip(expected.map(String::from)).collect::<Vec<_>>());
    assert!(claims.iter().all(|claim| is_lost(&jobs.ack(claim))));
    audit(&stage.db, jobs);
}

#[test]
fn a_revived_job_has_all_attempts_again() {
    let stage = Stage::new(QueueOptions::default());
    let jobs = &stage.jobs;
    let id = jobs.push("job").unwrap();
    jobs.bury(&stage.claim().unwrap(), "why").unwrap();
    assert_eq!(stage.claim(), None);
    jobs.revive(id).unwrap();
    assert_eq!(stage.claim().unwrap().attempt, 1);
    for outcome in [jobs.revive(id), jobs.discard(id), jobs.revive(id + 1)] {
        assert!(matches!(outcome, Err(Error::NotDead { .. })), "{outcome:?}");
    }
    audit(&stage.db, jobs);
}
