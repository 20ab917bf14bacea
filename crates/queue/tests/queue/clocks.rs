//! Clocks that jump. Whatever a clock does, one claim holds a job.

use foldb::env::Clock;
use foldb_queue::QueueOptions;

use crate::support::{LEASE, Stage, audit, is_lost};

#[test]
fn a_clock_that_goes_back_gives_no_job_to_two_workers() {
    let stage = Stage::new(QueueOptions::default());
    stage.jobs.push("job").unwrap();
    let job = stage.claim().unwrap();
    stage.clock.set_time_of_day(1000);
    assert_eq!(stage.claim(), None);
    stage.later(59);
    assert_eq!(stage.claim(), None);
    stage.jobs.ack(&job).unwrap();
    audit(&stage.db, &stage.jobs);
}

/// The second claim has the end of the first one, because the clock went back: the entries of
/// their leases have the same key.
#[test]
fn a_lease_with_the_same_end_is_another_lease() {
    let stage = Stage::new(QueueOptions::default());
    let begin = stage.clock.time_of_day().as_secs();
    stage.jobs.push("job").unwrap();
    let first = stage.claim().unwrap();
    stage.clock.advance(LEASE);
    // The second claim gives the job back and gets it again; so does the third one.
    let second = stage.claim().unwrap();
    stage.clock.advance(LEASE);
    stage.jobs.retry(&stage.claim().unwrap(), std::time::Duration::ZERO).unwrap();
    stage.clock.set_time_of_day(begin);
    let fourth = stage.claim().unwrap();
    assert_eq!((fourth.id, fourth.attempt), (first.id, 4));
    assert_eq!(fourth.lease_end(), first.lease_end());
    assert!(is_lost(&stage.jobs.ack(&first)) && is_lost(&stage.jobs.ack(&second)));
    assert!(is_lost(&stage.jobs.retry(&first, LEASE)));
    stage.jobs.ack(&fourth).unwrap();
    audit(&stage.db, &stage.jobs);
}

/// A clock that jumps forward ends leases early. The worker is told at its ack.
#[test]
fn a_clock_that_jumps_ahead_ends_leases_and_tells() {
    let stage = Stage::new(QueueOptions::default());
    stage.jobs.push("job").unwrap();
    let first = stage.claim().unwrap();
    stage.later(1 << 40);
    let second = stage.claim().unwrap();
    assert!(is_lost(&stage.jobs.ack(&first)));
    stage.jobs.ack(&second).unwrap();
}
