//! The rows of a general store: transactions, counters, loads, and reads in memory.
//!
//! Every row checks its result. The sum of the counters is the number of commits, so an engine
//! that lost one, or did nothing, fails the run.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use foldb_report::results::Run;
use foldb_report::system;
use xxhash_rust::xxh3::Xxh3;

use super::session::timed;
use super::{Job, Row, Sizes, StoreTask, published, wide};
use crate::data::{Draws, key};
use crate::digest::{self, NOT_CHECKED};
use crate::engine::Name;
use crate::failure::{Failure, Result};
use crate::measure::{Recorded, Recorder};
use crate::store::{Key, Setup, Store};

/// Streams of draws.
const WARM: u64 = 2000;
const LOADED: u64 = 3000;
/// Untimed transactions before the timed ones, as a fraction of them.
const WARM_FRACTION: u64 = 10;
/// Begins the note of a run whose rate reaches no bar.
pub const DOES_NOT_COUNT: &str = "does not count: ";

/// Runs a job of a general store on one engine. Returns one run for each row that the engine has.
///
/// # Errors
/// Fails if a call of the engine fails, or if the result is wrong.
pub fn run<S: Store>(
    job: &Job,
    task: StoreTask,
    engine: Name,
    sizes: &Sizes,
    directory: &Path,
) -> Result<Vec<Run>> {
    let setup = Setup { nominal: sizes.nominal.clone(), synced: task.synced() };
    let store = S::open(&setup, directory)?;
    let measured = match task {
        StoreTask::Transact { .. } => vec![transact(&store, sizes, S::add)?],
        StoreTask::Count => vec![transact(&store, sizes, S::merge)?],
        StoreTask::Load => vec![load(&store, sizes)?],
        StoreTask::Insert { batch } => vec![wide::insert(&store, sizes, batch)?],
        StoreTask::Read => wide::read(&store, sizes)?,
        StoreTask::Published => published::run(&store, sizes)?,
        StoreTask::Queue { .. } | StoreTask::Call(_) => {
            return Err(Failure::new(format!("{}: only foldb runs it", job.name)));
        }
    };
    let mut common = Run {
        settings: S::settings(&setup),
        space: system::space(directory),
        digest: NOT_CHECKED.to_owned(),
        ..Run::default()
    };
    if S::READS {
        common.notes.extend(peak_memory());
        common.digest = check(&store, task, sizes)?;
    }
    if task.writes() && !setup.synced && !engine.keeps_unsynced_commits() {
        common.notes.push(format!("{DOES_NOT_COUNT}a kill of the process loses returned commits"));
    }
    let has = |(_, row): &(usize, &Row)| row.only.is_none_or(|engines| engines.contains(&engine));
    let named = |(place, row): (usize, &Row)| {
        // All rows of a job share its run, or each has one.
        let run = measured[place.min(measured.len() - 1)].clone();
        let Run { settings, space, digest, notes, .. } = common.clone();
        let notes = [run.notes, notes].concat();
        Run { workload: row.name.to_owned(), settings, space, digest, notes, ..run }
    };
    Ok(job.rows.iter().enumerate().filter(has).map(named).collect())
}

/// Returns the peak memory of this process as a note. Stores with a memory map share their pages
/// with the kernel, so no row of a general store compares memory.
pub(super) fn peak_memory() -> Option<String> {
    system::peak_memory().map(|bytes| format!("peak memory: {bytes} bytes"))
}

/// Returns the number of untimed transactions.
fn warm(sizes: &Sizes) -> u64 {
    sizes.operations / WARM_FRACTION
}

/// Runs one transaction an operation, each on a random key of `sizes.keys`.
fn transact<S: Store>(
    store: &S,
    sizes: &Sizes,
    transaction: impl Fn(&S, &Key) -> Result<u64> + Sync,
) -> Result<Run> {
    store.load((0..sizes.keys).map(|number| (key(number), 0)))?;
    let mut draws = Draws::new(WARM);
    for _ in 0..warm(sizes) {
        transaction(store, &draws.key(sizes.keys))?;
    }
    let each = sizes.operations / sizes.threads;
    let attempts = AtomicU64::new(0);
    let work = |thread: u64, store: &S, recorder: &mut Recorder| {
        let mut draws = Draws::new(thread);
        let mut own_attempts = 0;
        for _ in 0..each {
            own_attempts += transaction(store, &draws.key(sizes.keys))?;
            recorder.finished();
        }
        attempts.fetch_add(own_attempts, Ordering::Relaxed);
        Ok(())
    };
    let recorded = timed(store, sizes.threads, each, work)?;
    let per_commit = attempts.into_inner() as f64 / recorded.operations as f64;
    let mut run = of(recorded);
    run.notes.push(format!("{per_commit:.4} attempts a commit"));
    Ok(run)
}

/// Loads `sizes.operations` entries in key order.
fn load<S: Store>(store: &S, sizes: &Sizes) -> Result<Run> {
    let began = Instant::now();
    store.load(loaded(sizes))?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Run { operations: sizes.operations, seconds, ..Run::default() })
}

/// Returns the entries of a load: keys in order, values that do not compress.
fn loaded(sizes: &Sizes) -> impl Iterator<Item = (Key, u64)> {
    let mut draws = Draws::new(LOADED);
    (0..sizes.operations).map(move |number| (key(number), draws.below(u64::MAX)))
}

/// Returns a run with its times alone.
pub(super) fn of(recorded: Recorded) -> Run {
    Run {
        operations: recorded.operations,
        seconds: recorded.seconds,
        latencies: recorded.latencies,
        slowest_micros: recorded.slowest_micros,
        timeline: recorded.timeline,
        ..Run::default()
    }
}

/// Checks number and sum of the entries, and returns their digest.
fn check<S: Store>(store: &S, task: StoreTask, sizes: &Sizes) -> Result<String> {
    let (entries, sum) = match task {
        StoreTask::Load => {
            let sum = loaded(sizes).fold(0_u64, |sum, (_, value)| sum.wrapping_add(value));
            (sizes.operations, sum)
        }
        StoreTask::Insert { .. } | StoreTask::Read => wide::Entries::new(sizes).told(),
        StoreTask::Published => published::Phases::new(sizes).told(&published::Entries::new(sizes)),
        _ => (sizes.keys, sizes.operations + warm(sizes)),
    };
    let (mut found_entries, mut found_sum) = (0_u64, 0_u64);
    let mut hash = Xxh3::new();
    store.each(|key, value| {
        digest::add(&mut hash, key, value);
        found_entries += 1;
        found_sum = found_sum.wrapping_add(wide::sum(value));
    })?;
    if (found_entries, found_sum) != (entries, sum) {
        return Err(Failure::new(format!(
            "the store holds {found_entries} entries with the sum {found_sum}, \
             and should hold {entries} with the sum {sum}"
        )));
    }
    Ok(digest::text(&hash, entries))
}
