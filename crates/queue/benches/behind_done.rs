//! What the calls of a queue cost at the start, and behind many done jobs:
//! `cargo bench -p foldb-queue --bench behind_done [-- JOBS DONE]`.
//!
//! The program does JOBS jobs (100 000) in a fresh database, then DONE jobs (10 M), then JOBS
//! again. It prints the time of each call: processor time of the calling thread, and elapsed time.

use std::path::Path;
use std::time::{Duration, Instant};

use foldb::Db;
use foldb_queue::{Claimed, PushOptions, Queue, QueueOptions, Result};

const LEASE: Duration = Duration::from_secs(60);
const BODY: [u8; 100] = [b'x'; 100];

/// Jobs that one commit pushes between the measured rounds.
const BATCH: u64 = 1000;

/// Jobs that workers hold at a time. Each reading of the clocks is for as many calls.
const HELD: u64 = 100;

/// Calls of the empty queue.
const ASKED: u64 = 1000;

/// Returns the processor time of the calling thread in seconds.
fn processor_time() -> f64 {
    // The system brings the number up to date when it looks for another thread to run.
    std::thread::yield_now();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok());
    nanos.expect("the system tells the processor time of a thread") / 1e9
}

/// Seconds in calls of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    processor: f64,
    elapsed: f64,
    calls: u64,
}

impl Spent {
    /// Adds some calls.
    fn time<T>(&mut self, calls: u64, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let (begun, processor) = (Instant::now(), processor_time());
        let outcome = work();
        self.processor += processor_time() - processor;
        self.elapsed += begun.elapsed().as_secs_f64();
        self.calls += calls;
        outcome
    }

    /// Returns microseconds a call, of the processor and of the clock.
    fn micros(&self) -> (f64, f64) {
        let calls = self.calls as f64;
        (self.processor / calls * 1e6, self.elapsed / calls * 1e6)
    }
}

/// The calls of a round.
const CALLS: [&str; 6] =
    ["push", "claim", "ack", "claim of an empty queue", "the first depth", "depth"];

type Round = [Spent; CALLS.len()];

fn claim(queue: &Queue, jobs: u64) -> Result<Vec<Claimed>> {
    (0..jobs).map(|_| Ok(queue.claim("worker", LEASE)?.expect("as many jobs as claims"))).collect()
}

fn ack(queue: &Queue, jobs: &[Claimed]) -> Result<()> {
    jobs.iter().try_for_each(|job| queue.ack(job))
}

/// Pushes jobs, claims and acks them all, and asks the empty queue.
fn round(queue: &Queue, jobs: u64) -> Result<Round> {
    let mut spent = Round::default();
    let [push, claims, acks, nothing, first, depth] = &mut spent;
    push.time(jobs, || (0..jobs).try_for_each(|_| queue.push(BODY).map(drop)))?;
    for from in (0..jobs).step_by(HELD as usize) {
        let some = HELD.min(jobs - from);
        let held = claims.time(some, || claim(queue, some))?;
        acks.time(some, || ack(queue, &held))?;
    }
    nothing.time(ASKED, || {
        (0..ASKED).try_for_each(|_| {
            assert!(queue.claim("worker", LEASE)?.is_none(), "all jobs are done");
            Ok(())
        })
    })?;
    first.time(1, || queue.depth())?;
    depth.time(ASKED, || (0..ASKED).try_for_each(|_| queue.depth().map(drop)))?;
    Ok(spent)
}

/// Does jobs as fast as one thread can: at most `most` wait at a time.
fn work(db: &Db, queue: &Queue, jobs: u64, most: u64) -> Result<()> {
    for from in (0..jobs).step_by(most as usize) {
        let through = jobs.min(from + most);
        for first in (from..through).step_by(BATCH as usize) {
            db.transact(|transaction| {
                for _ in first..through.min(first + BATCH) {
                    queue.push_in(transaction, BODY, PushOptions::default())?;
                }
                Ok(())
            })?;
        }
        for first in (from..through).step_by(HELD as usize) {
            ack(queue, &claim(queue, through.min(first + HELD) - first)?)?;
        }
    }
    Ok(())
}

fn directory_bytes(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|entry| entry.len()).sum()
}

/// Returns the memory of the process in bytes.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

fn print_size(when: &str, db: &Db, directory: &Path) {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let (disk, memory) = (mib(directory_bytes(directory)), mib(resident_bytes()));
    let skipped = db.stats().skipped_deletes;
    println!("{when}: disk {disk:.1} MiB, memory {memory:.1} MiB, {skipped} skipped deletes");
}

fn main() -> Result<()> {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<u64>().ok());
    let jobs = numbers.next().unwrap_or(100_000);
    let done = numbers.next().unwrap_or(10_000_000);
    let directory = tempfile::tempdir().map_err(foldb::Error::from)?;
    let directory = directory.path().join("db");
    let db = Db::create(&directory)?;
    let queue = Queue::open(&db, "jobs", QueueOptions::default())?;

    let start = round(&queue, jobs)?;
    print_size("at the start", &db, &directory);
    let begun = Instant::now();
    work(&db, &queue, done, jobs)?;
    println!("{done} jobs in {:.0} s", begun.elapsed().as_secs_f64());
    print_size("behind them", &db, &directory);
    let end = round(&queue, jobs)?;
    print_size("at the end", &db, &directory);

    println!("\nmicroseconds a call: of the processor (elapsed)");
    for ((name, start), end) in CALLS.iter().zip(start).zip(end) {
        let ((processor, elapsed), (later, elapsed_later)) = (start.micros(), end.micros());
        let ratio = later / processor;
        println!(
            "{name:<24} at the start {processor:>6.2} ({elapsed:>6.2}), behind the done jobs \
             {later:>6.2} ({elapsed_later:>6.2}): {ratio:.2} times"
        );
    }
    assert_eq!(queue.depth()?.done, 2 * jobs + done, "each job was done once");
    Ok(())
}
