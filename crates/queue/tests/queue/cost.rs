//! What calls cost, in comparisons of keys: the work of walks, whatever the machine does besides.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldb::KeyspaceOptions;
use foldb::custom::Comparator;
use foldb_queue::{Queue, QueueOptions};

use crate::support::{LEASE, Stage, audit};

/// The order of the bytes, which counts its comparisons.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &str {
        "test.counting"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        self.0.fetch_add(1, Ordering::Relaxed);
        a.cmp(b)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

const WAITING: u64 = 2000;
const MEASURED: u64 = 500;

/// Does `done` jobs, then counts the comparisons of one claim and its ack. The same number of jobs
/// waits in every case.
fn cost_behind(done: u64, is_flushed: bool) -> u64 {
    let stage = Stage::with_room(QueueOptions::default());
    let counting = Arc::new(Counting::default());
    let comparator = Some(Arc::clone(&counting) as Arc<dyn Comparator>);
    let options = KeyspaceOptions { comparator, ..KeyspaceOptions::default() };
    stage.db.create_keyspace("counted", options).unwrap();
    let jobs = Queue::open(&stage.db, "counted", stage.options.clone()).unwrap();
    let work = |n: u64| {
        for _ in 0..n {
            let job = jobs.claim("ann", LEASE).unwrap().unwrap();
            jobs.ack(&job).unwrap();
            // The ends of most leases lie in the past: walks for ended ones come across them.
            stage.clock.advance(LEASE / 100);
        }
    };
    for _ in 0..done + WAITING {
        jobs.push("job").unwrap();
    }
    // One walk sorts the memtable, as a background thread does where there is one.
    stage.db.keyspace("counted").unwrap().iter().unwrap().for_each(|entry| drop(entry.unwrap()));
    if is_flushed {
        stage.db.flush().unwrap();
    }
    work(done);
    if is_flushed {
        stage.db.flush().unwrap();
    }
    // One walk notes what was deleted before a flush.
    work(1);
    counting.0.store(0, Ordering::Relaxed);
    work(MEASURED);
    let comparisons = counting.0.load(Ordering::Relaxed) / MEASURED;
    assert_eq!(jobs.depth().unwrap().done, done + 1 + MEASURED);
    audit(&stage.db, &jobs);
    comparisons
}

/// A walk over the deleted entries of done jobs would take a hundred times as long.
#[test]
fn a_claim_behind_many_done_jobs_costs_as_at_the_start() {
    for is_flushed in [false, true] {
        let (at_start, later) = (cost_behind(200, is_flushed), cost_behind(20_000, is_flushed));
        println!("flushed: {is_flushed}: {at_start} comparisons, behind 20000 jobs {later}");
        assert!(later <= 3 * at_start, "{later} comparisons, at the start {at_start}");
    }
}
