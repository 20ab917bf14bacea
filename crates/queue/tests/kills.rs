//! A program with workers is killed again and again. At the end, every job that was pushed has had
//! its effect once.
//!
//! This is a program of its own: the test starts its executable again, and kills it.

#![cfg(unix)]

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use foldb::{Db, Keyspace, KeyspaceOptions, Options};
use foldb_queue::{Error, PushOptions, Queue, QueueOptions};

const DIRECTORY: &str = "FOLDB_TEST_DIRECTORY";
const KILLS: u64 = 6;
const WORKERS: u64 = 8;
/// Short, so that jobs of killed workers come back while the test runs.
const LEASE: Duration = Duration::from_millis(100);

struct Opened {
    db: Db,
    jobs: Queue,
    /// The jobs that were pushed, by body.
    pushed: Keyspace,
    /// How often each had its effect.
    effects: Keyspace,
}

fn open(directory: &Path) -> Opened {
    let options =
        Options { create_if_missing: true, write_buffer_size: 256 << 10, ..Options::default() };
    let db = Db::open(directory.join("db"), options).unwrap();
    let counters = KeyspaceOptions::with_operator("uint64add");
    Opened {
        jobs: Queue::open(&db, "jobs", QueueOptions { max_attempts: 1000, ..Default::default() })
            .unwrap(),
        pushed: db.keyspace_or_create("pushed", KeyspaceOptions::default()).unwrap(),
        effects: db.keyspace_or_create("effects", counters).unwrap(),
        db,
    }
}

impl Opened {
    fn push(&self, rng: &mut fastrand::Rng) {
        let (body, priority) = (rng.u64(..).to_be_bytes(), rng.i32(0..3));
        let delay = Duration::from_millis(rng.u64(..4) / 3 * 20);
        let pushed = self.db.transact(|transaction| {
            transaction.keyspace(&self.pushed).put(body, "")?;
            self.jobs.push_in(transaction, body, PushOptions { priority, delay })?;
            Ok(())
        });
        pushed.unwrap();
    }

    /// Does a job, or drops it as a worker that dies. Returns whether there was one.
    fn work(&self, rng: &mut fastrand::Rng) -> bool {
        let Some(job) = self.jobs.claim("worker", LEASE).unwrap() else { return false };
        match rng.u8(..16) {
            0 => return true,
            1 => {
                let _ = self.jobs.retry(&job, Duration::from_millis(rng.u64(..30)));
                return true;
            }
            _ => {}
        }
        let outcome = self.jobs.ack_with(&job, |transaction| {
            transaction.keyspace(&self.effects).merge(&job.body, 1u64.to_le_bytes())
        });
        assert!(matches!(outcome, Ok(()) | Err(Error::LeaseLost { .. })), "{outcome:?}");
        true
    }
}

/// Not a test of its own: pushes and works until it is killed.
#[test]
fn push_and_work() {
    let Some(directory) = env::var_os(DIRECTORY).map(PathBuf::from) else { return };
    let (opened, worked) = (open(&directory), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let mut rng = fastrand::Rng::new();
                loop {
                    match opened.work(&mut rng) {
                        true => worked.fetch_add(1, Ordering::Relaxed),
                        false => {
                            thread::sleep(Duration::from_millis(1));
                            continue;
                        }
                    };
                }
            });
        }
        let mut rng = fastrand::Rng::new();
        loop {
            (0..20).for_each(|_| opened.push(&mut rng));
            println!("worked {}", worked.load(Ordering::Relaxed));
            thread::sleep(Duration::from_millis(1));
        }
    });
}

#[test]
fn each_effect_happens_once_though_the_process_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    for kill in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "push_and_work", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let least = 100 + 77 * kill;
        let has_worked = |line: &str| {
            let told: Option<u64> = line.strip_prefix("worked ").and_then(|n| n.parse().ok());
            told >= Some(least)
        };
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| has_worked(&line)), "the program ended by itself in life {kill}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let opened = open(directory.path());
    let mut rng = fastrand::Rng::with_seed(1);
    while let Some(due) = opened.jobs.next_due().unwrap() {
        if !opened.work(&mut rng) {
            thread::sleep(due.min(LEASE));
        }
    }
    let keys = |of: &Keyspace| -> Vec<Vec<u8>> {
        of.iter().unwrap().map(|entry| entry.unwrap().0).collect()
    };
    let once = 1u64.to_le_bytes();
    assert!(opened.effects.iter().unwrap().all(|entry| entry.unwrap().1 == once[..]));
    assert_eq!(keys(&opened.effects), keys(&opened.pushed));
    let depth = opened.jobs.depth().unwrap();
    println!("{} jobs, killed {KILLS} times", depth.done);
    assert_eq!(depth.done, keys(&opened.pushed).len() as u64);
    assert_eq!((depth.ready, depth.delayed, depth.leased, depth.dead), (0, 0, 0, 0));
}
