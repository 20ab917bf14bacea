//! Measures pushes, and claims with acks: `cargo run --release -p foldb-queue --example rates`.
//!
//! Three arguments set the jobs of each row (200 000), the done jobs before the last rows
//! (2 000 000), and the directory for the database.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use foldb::Db;
use foldb_queue::{PushOptions, Queue, QueueOptions, Result};

const LEASE: Duration = Duration::from_secs(60);
const BODY: [u8; 100] = [b'x'; 100];

/// How much is measured.
pub(crate) struct Sizes<'a> {
    pub(crate) jobs: u64,
    pub(crate) done: u64,
    pub(crate) threads: &'a [u64],
}

/// Runs `work` on some threads, for `jobs` jobs together. Returns microseconds for each job.
fn timed(threads: u64, jobs: u64, work: impl Fn(u64) -> Result<()> + Sync) -> Result<f64> {
    let (begun, work) = (Instant::now(), &work);
    thread::scope(|scope| {
        let started: Vec<_> =
            (0..threads).map(|_| scope.spawn(move || work(jobs / threads))).collect();
        started.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(begun.elapsed().as_secs_f64() * 1e6 / jobs as f64)
}

fn push(queue: &Queue, jobs: u64) -> Result<()> {
    (0..jobs).try_for_each(|_| queue.push(BODY).map(|_| ()))
}

/// Pushes many jobs with one commit for each thousand.
fn fill(db: &Db, queue: &Queue, jobs: u64) -> Result<()> {
    for first in (0..jobs).step_by(1000) {
        db.transact(|transaction| {
            for _ in first..jobs.min(first + 1000) {
                queue.push_in(transaction, BODY, PushOptions::default())?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn claim_and_ack(queue: &Queue, jobs: u64) -> Result<()> {
    for _ in 0..jobs {
        let job = queue.claim("worker", LEASE)?.expect("as many jobs as claims");
        queue.ack(&job)?;
    }
    Ok(())
}

fn measure_in(directory: &Path, sizes: &Sizes<'_>) -> Result<()> {
    let db = Db::create(directory.join("db"))?;
    for &threads in sizes.threads {
        let name = format!("{threads} threads");
        let queue = Queue::open(&db, &name, QueueOptions::default())?;
        let jobs = sizes.jobs / threads * threads;
        let pushes = timed(threads, jobs, |jobs| push(&queue, jobs))?;
        let claims = timed(threads, jobs, |jobs| claim_and_ack(&queue, jobs))?;
        println!("{threads} threads: push {pushes:.2} us, claim and ack {claims:.2} us");
    }
    let queue = Queue::open(&db, "long", QueueOptions::default())?;
    fill(&db, &queue, sizes.done + 2 * sizes.jobs)?;
    db.flush()?;
    let begin = timed(1, sizes.jobs, |jobs| claim_and_ack(&queue, jobs))?;
    timed(1, sizes.done, |jobs| claim_and_ack(&queue, jobs))?;
    let end = timed(1, sizes.jobs, |jobs| claim_and_ack(&queue, jobs))?;
    println!("of a flushed queue: claim and ack {begin:.2} us, behind {} {end:.2} us", sizes.done);
    assert_eq!(queue.depth()?.done, sizes.done + 2 * sizes.jobs);
    Ok(())
}

/// Measures in a directory of its own, which is removed.
pub(crate) fn measure(sizes: &Sizes<'_>) -> Result<()> {
    let directory = tempfile::tempdir().map_err(foldb::Error::from)?;
    measure_in(directory.path(), sizes)
}

#[allow(dead_code, reason = "the test of the examples calls `measure`")]
fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual| {
        arguments.get(at).map_or(usual, |text| text.parse().expect("a number of jobs"))
    };
    let sizes = Sizes { jobs: number(0, 200_000), done: number(1, 2_000_000), threads: &[1, 4] };
    match arguments.get(2) {
        Some(directory) => measure_in(Path::new(directory), &sizes),
        None => measure(&sizes),
    }
}
