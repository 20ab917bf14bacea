//! Many workers at once: each job goes to one, and its effect happens once.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use foldb::{Db, Keyspace, KeyspaceOptions, Options};
use foldb_queue::{PushOptions, Queue, QueueOptions};
use tempfile::TempDir;

use crate::support::{LEASE, Stage, audit, is_lost};

fn open() -> (TempDir, Db) {
    let dir = TempDir::new().unwrap();
    let small =
        Options { create_if_missing: true, write_buffer_size: 256 << 10, ..Options::default() };
    let db = Db::open(dir.path().join("db"), small).unwrap();
    (dir, db)
}

/// Producers push while workers claim, through one handle or through a handle for each thread.
#[test]
fn each_job_goes_to_one_worker() {
    const THREADS: u64 = 4;
    const JOBS: u64 = 3000;
    for is_one_handle in [true, false] {
        let (_dir, db) = open();
        let jobs = Queue::open(&db, "jobs", QueueOptions::default()).unwrap();
        let handle = || match is_one_handle {
            true => jobs.clone(),
            false => Queue::open(&db, "jobs", QueueOptions::default()).unwrap(),
        };
        let (pushed, done) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..THREADS / 2 {
                let own = handle();
                let pushed = &pushed;
                scope.spawn(move || {
                    for job in 0..JOBS {
                        let priority = (job % 3) as i32;
                        let options = PushOptions { priority, ..PushOptions::default() };
                        own.push_with(job.to_be_bytes(), options).unwrap();
                    }
                    pushed.fetch_add(1, Ordering::SeqCst);
                });
            }
            for _ in 0..THREADS / 2 {
                let own = handle();
                let (pushed, done) = (&pushed, &done);
                scope.spawn(move || {
                    loop {
                        let is_last = pushed.load(Ordering::SeqCst) == THREADS / 2;
                        match own.claim("worker", LEASE).unwrap() {
                            Some(job) => {
                                own.ack(&job).unwrap();
                                done.lock().unwrap().push(job.id);
                            }
                            None if is_last => break,
                            None => thread::yield_now(),
                        }
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        done.dedup();
        assert_eq!(done.len() as u64, JOBS * THREADS / 2);
        assert_eq!(jobs.depth().unwrap().done, JOBS * THREADS / 2);
        audit(&db, &jobs);
    }
}

/// Returns the counters of a keyspace.
fn counts(of: &Keyspace) -> BTreeMap<Vec<u8>, u64> {
    let count = |value: &[u8]| u64::from_le_bytes(value.try_into().unwrap());
    of.iter()
        .unwrap()
        .map(|entry| entry.map(|(key, value)| (key, count(&value))).unwrap())
        .collect()
}

/// Workers die with jobs in their hands, and live ones lose leases, because the clock runs on while
/// they work. An effect is written with the ack, so each one happens once.
#[test]
fn effects_happen_once_though_workers_die() {
    const WORKERS: u64 = 8;
    const JOBS: u64 = 2000;
    let (_dir, db) = open();
    let effects = db.create_keyspace("effects", KeyspaceOptions::with_operator("uint64add"));
    let effects = effects.unwrap();
    let stage = Stage::new(QueueOptions { max_attempts: u32::MAX, ..QueueOptions::default() });
    let jobs = Queue::open(&db, "jobs", stage.options.clone()).unwrap();
    for job in 0..JOBS {
        jobs.push(job.to_be_bytes()).unwrap();
    }
    let (deaths, lost) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (jobs, effects, clock) = (&jobs, &effects, &stage.clock);
            let (deaths, lost) = (&deaths, &lost);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(worker);
                while jobs.depth().unwrap().done < JOBS {
                    let Some(job) = jobs.claim(&worker.to_string(), LEASE).unwrap() else {
                        thread::sleep(Duration::from_millis(1));
                        clock.advance(LEASE / 50);
                        continue;
                    };
                    match rng.u8(..10) {
                        0 | 1 => {
                            deaths.fetch_add(1, Ordering::Relaxed);
                            continue;
                        }
                        2 => clock.advance(LEASE / 3),
                        3 => thread::yield_now(),
                        _ => {}
                    }
                    let outcome = jobs.ack_with(&job, |transaction| {
                        transaction.keyspace(effects).merge(&job.body, 1u64.to_le_bytes())
                    });
                    if is_lost(&outcome) {
                        lost.fetch_add(1, Ordering::Relaxed);
                    } else {
                        outcome.unwrap();
                    }
                }
            });
        }
    });
    println!("{deaths:?} deaths, {lost:?} lost leases");
    let happened = counts(&effects);
    let expected = (0..JOBS).map(|job| (job.to_be_bytes().to_vec(), 1)).collect();
    assert!(happened == expected, "{} effects", happened.len());
    assert!(deaths.into_inner() > JOBS / 10);
    audit(&db, &jobs);
}
