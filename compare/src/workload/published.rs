//! The rows of redb's published benchmark, on every general store.
//!
//! Random keys of 24 bytes and values of 150 bytes that do not compress, a cache that holds all of
//! them. The phases come in the order of the published benchmark, on one store. Every phase checks
//! what it reads, and the entries are compared at the end.
//!
//! Source: the crate `redb-bench` of redb's repository, without its phases `retain`, `extract_if`,
//! `pop` and `compaction`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use foldb_report::results::Run;

use super::Sizes;
use super::general::of;
use super::session::timed;
use super::wide::sum;
use crate::data::{Draws, Values, random_wide_key, wide_key_behind_all};
use crate::failure::{Failure, Result};
use crate::store::{Reads, Store, WideKey, WideValue};

/// Entries of a batch.
const BATCH: u64 = 1000;
/// Entries of a range.
const RANGE: usize = 10;
/// The stream of draws of the first reading thread.
const READS: u64 = 5000;
/// Threads of the rows with several.
const FEW: u64 = 4;
const MANY: u64 = 32;

/// How many entries each phase writes or reads, in the published proportions.
#[derive(Clone, Copy, Debug)]
pub struct Phases {
    bulk: u64,
    single: u64,
    batched: u64,
    unsynced: u64,
    sorted: u64,
    reads: u64,
    ranges: u64,
}

impl Phases {
    /// Returns the phases of a job of these sizes, whose operations are the bulk.
    pub fn new(sizes: &Sizes) -> Phases {
        let bulk = sizes.operations;
        let of = |divisor: u64| (bulk / divisor).max(1);
        Phases {
            bulk,
            single: of(5000),
            batched: of(50),
            unsynced: of(100),
            sorted: of(5),
            reads: of(5),
            ranges: of(10),
        }
    }

    /// Returns the random entries before the removals.
    fn random(&self) -> u64 {
        self.bulk + self.single + self.batched + self.unsynced
    }

    fn removed(&self) -> u64 {
        self.random() / 2
    }

    /// Returns the number of entries at the end, and the sum over their bytes.
    pub fn told(&self, values: &Entries) -> (u64, u64) {
        let left = self.removed()..self.random();
        let numbers = left.clone().chain(0..self.sorted);
        let sum = numbers.fold(0_u64, |all, number| all.wrapping_add(sum(values.value(number))));
        (self.random() - self.removed() + self.sorted, sum)
    }
}

/// The values of the entries.
pub struct Entries(Values);

impl Entries {
    /// Makes the values.
    pub fn new(sizes: &Sizes) -> Entries {
        Entries(Values::new(size_of::<WideValue>(), sizes.compressed))
    }

    fn value(&self, number: u64) -> &WideValue {
        self.0.of(number).try_into().expect("values have this size")
    }

    fn random(&self, numbers: std::ops::Range<u64>) -> impl Iterator<Item = (WideKey, &WideValue)> {
        numbers.map(|number| (random_wide_key(number), self.value(number)))
    }

    fn behind_all(&self, count: u64) -> impl Iterator<Item = (WideKey, &WideValue)> {
        (0..count).map(|number| (wide_key_behind_all(number), self.value(number)))
    }
}

/// Runs all phases. Returns a run for each, in the order of the rows.
///
/// # Errors
/// Fails if a call of the engine fails, or if a read finds something else than was written.
pub fn run<S: Store>(store: &S, sizes: &Sizes) -> Result<Vec<Run>> {
    let (entries, phases) = (&Entries::new(sizes), Phases::new(sizes));
    let mut runs = Vec::new();
    let mut written = 0;
    let mut next = |count: u64| {
        written += count;
        written - count..written
    };
    runs.push(timed_once(phases.bulk, || store.commit(true, entries.random(next(phases.bulk))))?);
    let single = next(phases.single);
    runs.push(timed_once(phases.single, || {
        single.clone().try_for_each(|at| store.commit(true, entries.random(at..at + 1)))
    })?);
    let batched = next(phases.batched);
    runs.push(timed_once(phases.batched, || {
        let starts = batched.clone().step_by(BATCH as usize);
        starts.into_iter().try_for_each(|at| {
            store.commit(true, entries.random(at..(at + BATCH).min(batched.end)))
        })
    })?);
    let unsynced = next(phases.unsynced);
    runs.push(timed_once(phases.unsynced, || {
        unsynced.clone().try_for_each(|at| store.commit(false, entries.random(at..at + 1)))
    })?);
    runs.push(timed_once(1, || match store.count()? {
        found if !S::READS || found == written => Ok(()),
        found => Err(Failure::new(format!("the store counts {found} entries, not {written}"))),
    })?);
    runs.push(median(|| gets(store, entries, phases.reads, written, 1))?);
    runs.push(median(|| ranges(store, phases.ranges, written))?);
    runs.push(gets(store, entries, written, written, FEW)?);
    runs.push(gets(store, entries, written, written, MANY)?);
    runs.push(timed_once(phases.removed(), || {
        store.remove((0..phases.removed()).map(random_wide_key))
    })?);
    runs.push(timed_once(phases.sorted, || store.load_wide(entries.behind_all(phases.sorted)))?);
    Ok(runs)
}

fn timed_once(operations: u64, work: impl FnOnce() -> Result<()>) -> Result<Run> {
    let began = Instant::now();
    work()?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Run { operations, seconds, ..Run::default() })
}

/// Measures three times, and returns the run with the median time.
fn median(measure: impl Fn() -> Result<Run>) -> Result<Run> {
    let mut runs = (0..3).map(|_| measure()).collect::<Result<Vec<_>>>()?;
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(runs.swap_remove(1))
}

/// Gets random entries, `reads` on all threads together.
fn gets<S: Store>(
    store: &S,
    entries: &Entries,
    reads: u64,
    written: u64,
    threads: u64,
) -> Result<Run> {
    let wrong = AtomicU64::new(0);
    let each = (reads / threads).max(1);
    let recorded = timed(store, threads, each, |thread, store, recorder| {
        let state = store.reads()?;
        let mut draws = Draws::new(READS + thread);
        for _ in 0..each {
            let number = draws.below(written);
            let is_right = |value: &[u8]| value == entries.value(number);
            if state.get(&random_wide_key(number), is_right)? != Some(true) {
                wrong.fetch_add(1, Ordering::Relaxed);
            }
            recorder.finished();
        }
        Ok(())
    })?;
    all_right::<S>(wrong.into_inner(), "gets")?;
    Ok(of(recorded))
}

/// Reads ranges that begin at random entries.
fn ranges<S: Store>(store: &S, reads: u64, written: u64) -> Result<Run> {
    let wrong = AtomicU64::new(0);
    let recorded = timed(store, 1, reads, |_, store, recorder| {
        let mut state = store.reads()?;
        let mut draws = Draws::new(READS);
        for _ in 0..reads {
            let mut found = 0;
            let from = random_wide_key(draws.below(written));
            state.range(&from, RANGE, |value| found += usize::from(!value.is_empty()))?;
            // The last entries have fewer behind them.
            if found == 0 || found < RANGE && from[0] != u8::MAX && written > 100_000 {
                wrong.fetch_add(1, Ordering::Relaxed);
            }
            recorder.finished();
        }
        Ok(())
    })?;
    all_right::<S>(wrong.into_inner(), "ranges")?;
    Ok(of(recorded))
}

fn all_right<S: Store>(wrong: u64, reads: &str) -> Result<()> {
    if S::READS && wrong > 0 {
        return Err(Failure::new(format!("{wrong} {reads} found something else than was written")));
    }
    Ok(())
}
