//! Opening queues, and what is there after a reopen or a power loss.

use std::sync::Arc;

use foldb::custom::Comparator;
use foldb::expiry::Expiry;
use foldb::{ErrorKind, KeyspaceOptions};
use foldb_queue::{Error, PushOptions, Queue, QueueOptions};

use crate::support::{LEASE, Stage, audit};

fn kind(outcome: Result<Queue, Error>) -> ErrorKind {
    match outcome {
        Err(Error::Engine(error)) => error.kind(),
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn a_queue_is_refused_where_it_cannot_work() {
    let stage = Stage::new(QueueOptions::default());
    let (db, options) = (&stage.db, QueueOptions::default);
    let never = QueueOptions { max_attempts: 0, ..options() };
    assert_eq!(kind(Queue::open(db, "new", never)), ErrorKind::InvalidArgument);
    let expiry = Some(Expiry::after_last_write(LEASE));
    let expires = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    db.create_keyspace("expires", expires).unwrap();
    assert_eq!(kind(Queue::open(db, "expires", options())), ErrorKind::InvalidArgument);
    let comparator = Some(Arc::new(Descending) as _);
    let descends = KeyspaceOptions { comparator, ..KeyspaceOptions::default() };
    db.create_keyspace("descends", descends).unwrap();
    assert_eq!(kind(Queue::open(db, "descends", options())), ErrorKind::InvalidArgument);
    db.create_keyspace("other", KeyspaceOptions::default()).unwrap().put("r", "1").unwrap();
    let other = Queue::open(db, "other", options());
    assert!(matches!(other, Err(Error::NotAQueue { name }) if name == "other"));
    db.keyspace("jobs").unwrap().put("f", [2]).unwrap();
    assert_eq!(kind(Queue::open(db, "jobs", options())), ErrorKind::Unsupported);
}

#[derive(Debug)]
struct Descending;

impl Comparator for Descending {
    fn name(&self) -> &str {
        "test.descending"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        b.cmp(a)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

#[test]
fn two_handles_of_a_queue_share_its_jobs() {
    let stage = Stage::new(QueueOptions::default());
    let other = Queue::open(&stage.db, "jobs", stage.options.clone()).unwrap();
    let ids: Vec<u64> =
        (0..6).map(|at| [&stage.jobs, &other][at % 2].push(at.to_string()).unwrap()).collect();
    let mut claimed: Vec<u64> = (0..6)
        .map(|at| [&other, &stage.jobs][at % 2].claim("ann", LEASE).unwrap().unwrap().id)
        .collect();
    claimed.sort_unstable();
    let mut expected = ids;
    expected.sort_unstable();
    assert_eq!(claimed, expected);
    assert_eq!(other.claim("bob", LEASE).unwrap(), None);
    audit(&stage.db, &other);
}

/// A handle reads ahead, and does not learn what another handle or a slow transaction writes.
#[test]
fn jobs_of_another_handle_come_after_a_bounded_number_of_claims() {
    const AHEAD: usize = 256;
    let stage = Stage::new(QueueOptions::default());
    let other = Queue::open(&stage.db, "jobs", stage.options.clone()).unwrap();
    for _ in 0..4 * AHEAD {
        stage.jobs.push("job").unwrap();
    }
    stage.claim().unwrap();
    let urgent = PushOptions { priority: 1, ..PushOptions::default() };
    let later = PushOptions { delay: LEASE / 2, ..urgent };
    other.push_with("urgent", urgent).unwrap();
    other.push_with("later", later).unwrap();
    stage.clock.advance(LEASE / 2);
    let before = |body: &[u8]| {
        let claims = std::iter::from_fn(|| stage.claim());
        claims.take_while(|claim| claim.body != body).count()
    };
    assert!(before(b"urgent") <= AHEAD);
    assert!(before(b"later") <= AHEAD);
    audit(&stage.db, &other);
}

#[test]
fn ids_rise_over_reopens() {
    let mut stage = Stage::new(QueueOptions::default());
    let mut last = 0;
    for _ in 0..3 {
        for _ in 0..3 {
            let id = stage.jobs.push("job").unwrap();
            assert!(id > last);
            last = id;
        }
        stage.reopen();
    }
    let depth = stage.jobs.depth().unwrap();
    assert_eq!((depth.ready, depth.done), (9, 0));
}

#[test]
fn a_lease_outlives_a_reopen() {
    let mut stage = Stage::new(QueueOptions::default());
    stage.jobs.push("job").unwrap();
    let job = stage.claim().unwrap();
    stage.reopen();
    assert_eq!(stage.claim(), None);
    stage.jobs.ack(&job).unwrap();
    stage.jobs.push("other").unwrap();
    stage.claim().unwrap();
    stage.reopen();
    stage.clock.advance(LEASE);
    assert_eq!(stage.claim().unwrap().attempt, 2);
}

/// A synced push and a synced end survive, with the claim between them, which was not synced.
#[test]
fn a_power_loss_takes_no_synced_push_and_no_synced_end() {
    let stage = Stage::new(QueueOptions { sync: true, ..QueueOptions::default() });
    stage.jobs.push("done").unwrap();
    stage.jobs.push("waits").unwrap();
    let done = stage.claim().unwrap();
    stage.jobs.ack_with(&done, |transaction| transaction.put("effect", "1")).unwrap();
    let unfinished = stage.claim().unwrap();
    assert_eq!(unfinished.body, b"waits");
    let after = stage.after_power_loss();
    assert!(after.db.contains_key("effect").unwrap());
    audit(&after.db, &after.jobs);
    let depth = after.jobs.depth().unwrap();
    assert_eq!((depth.done, depth.ready + depth.leased), (1, 1));
    after.clock.advance(LEASE);
    assert_eq!(after.claim().unwrap().body, b"waits");
}
