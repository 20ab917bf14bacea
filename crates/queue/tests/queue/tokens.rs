//! Leases as text, queues that tools look at, and lists of jobs.

use std::time::Duration;

use foldb::ErrorKind;
use foldb_queue::{Error, JobState, PushOptions, Queue, QueueOptions};

use crate::support::{LEASE, Stage, audit};

#[test]
fn a_claim_goes_on_by_its_token_until_its_lease_is_lost() {
    let mut stage = Stage::new(QueueOptions::default());
    let id = stage.jobs.push("job").unwrap();
    let token = stage.claim().unwrap().token();
    stage.reopen();
    let mut job = stage.jobs.resume(id, &token).unwrap();
    assert_eq!((&job.body[..], job.attempt, job.token()), (&b"job"[..], 1, token.clone()));
    stage.jobs.extend(&mut job, LEASE + LEASE).unwrap();
    let lost = stage.jobs.resume(id, &token).unwrap_err();
    assert!(matches!(lost, Error::LeaseLost { attempt: 1, is_gone: false, .. }), "{lost}");
    let token = job.token();
    stage.clock.advance(3 * LEASE);
    // No other claim has the job yet.
    stage.jobs.resume(id, &token).unwrap();
    let again = stage.claim().unwrap();
    let lost = stage.jobs.resume(id, &token).unwrap_err();
    assert!(matches!(lost, Error::LeaseLost { is_gone: false, .. }), "{lost}");
    stage.jobs.ack(&stage.jobs.resume(id, &again.token()).unwrap()).unwrap();
    let gone = stage.jobs.resume(id, &again.token()).unwrap_err();
    assert!(matches!(gone, Error::LeaseLost { attempt: 2, is_gone: true, .. }), "{gone}");
    audit(&stage.db, &stage.jobs);
}

#[test]
fn a_token_of_another_job_or_another_text_ends_no_lease() {
    let stage = Stage::new(QueueOptions::default());
    stage.jobs.push("a").unwrap();
    stage.jobs.push("b").unwrap();
    let (a, b) = (stage.claim().unwrap(), stage.claim().unwrap());
    let lost = stage.jobs.resume(a.id, &b.token()).unwrap_err();
    assert!(matches!(lost, Error::LeaseLost { is_gone: false, .. }), "{lost}");
    let (rest, last) = (a.token(), a.token().pop().unwrap());
    let forged = rest[..rest.len() - 1].to_owned() + if last == '0' { "1" } else { "0" };
    assert!(matches!(stage.jobs.resume(a.id, &forged), Err(Error::LeaseLost { .. })));
    for text in
        ["", "1", "1.2", "x.y.z", "1.2.3", "1.+8c5d1a3b2c40000.9f3ac0de12345678", &rest[1..]]
    {
        let error = stage.jobs.resume(a.id, text).unwrap_err();
        let Error::Engine(error) = error else { panic!("{text}: {error}") };
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
    }
}

#[test]
fn a_tool_opens_queues_and_creates_none() {
    let stage = Stage::new(QueueOptions::default());
    let open = |name: &str| Queue::open_existing(&stage.db, name, QueueOptions::default());
    assert!(open("jobs").is_ok());
    assert!(matches!(open("default"), Err(Error::NotAQueue { .. })), "it is empty");
    assert!(Queue::open(&stage.db, "default", QueueOptions::default()).is_ok());
    let Err(Error::Engine(missing)) = open("none") else { panic!("the queue is missing") };
    assert_eq!(missing.kind(), ErrorKind::KeyspaceMissing);
    assert!(stage.db.keyspace("none").is_err());
}

#[test]
fn the_list_has_each_job_in_its_state() {
    let stage = Stage::new(QueueOptions::default());
    let push = |body: &str, priority, delay| {
        stage.jobs.push_with(body, PushOptions { priority, delay }).unwrap();
    };
    for body in ["dead", "leased", "second"] {
        push(body, 1, Duration::ZERO);
    }
    let dead = stage.claim().unwrap();
    stage.jobs.bury(&dead, "bad").unwrap();
    stage.claim().unwrap();
    push("first", 2, Duration::ZERO);
    push("later", 0, LEASE);
    let listed: Vec<_> = stage.jobs.jobs().unwrap().map(Result::unwrap).collect();
    let shown: Vec<_> = listed
        .iter()
        .map(|job| {
            let body = String::from_utf8(job.body.clone()).unwrap();
            let state = match &job.state {
                JobState::Ready => "ready".to_owned(),
                JobState::Delayed(_) => "delayed".to_owned(),
                JobState::Leased { worker, .. } => format!("leased by {worker}"),
                JobState::Dead { reason, .. } => format!("dead: {reason}"),
                other => panic!("{other:?}"),
            };
            format!("{body} {} {} {state}", job.priority, job.attempts)
        })
        .collect();
    let expected = [
        "first 2 0 ready",
        "second 1 0 ready",
        "later 0 0 delayed",
        "leased 1 1 leased by ann",
        "dead 1 1 dead: bad",
    ];
    assert_eq!(shown, expected);
}
