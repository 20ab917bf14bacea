//! Passes over all entries: small values in tables, and large operands of `max`.

use std::path::Path;
use std::time::Instant;

use foldb_report::results::Run;

use super::cold::fill_random;
use super::session::{Session, note_load, row, run};
use super::{Job, Sizes};
use crate::data::{Draws, Values, each_once, key};
use crate::engine::{Engine, Scan, used};
use crate::failure::Result;
use crate::measure::Recorded;

/// Seconds after which passes end, even if fewer than wanted are done.
const ENOUGH: f64 = 20.0;
/// The stream of draws of the seeks.
const SEEKS: u64 = 3000;

/// Passes over operands of `max`, in the memtable or in the block cache (after closing and opening
/// the database, whose log is then recovered into a table).
///
/// # Errors
/// Fails if a call of the engine fails.
pub fn max<E: Engine>(
    job: &Job,
    sizes: &Sizes,
    cached: bool,
    directory: &Path,
) -> Result<Vec<Run>> {
    let mut session = Session::<E>::open(sizes, directory)?;
    let values = Values::new(sizes.value, sizes.compressed);
    session.wrote(sizes.operations);
    session.timed(1, sizes.operations, |_, engine, _| {
        let mut values = values.clone();
        // Each key gets the same number of operands, spread over the whole load.
        for turn in 0..sizes.operations / sizes.keys {
            for number in each_once(sizes.keys) {
                engine.merge(&key((number + turn) % sizes.keys), values.take())?;
            }
        }
        Ok(())
    })?;
    if cached {
        session = session.reopen(|_| Ok(()))?;
        session.engine.rest(true)?;
    }
    let recorded = passes(&session.engine, Scan::Forward, sizes.passes)?;
    let stopped = session.stopped();
    let rested = session.rested()?;
    session.finish(vec![run(row(job, 0), recorded, stopped, rested)])
}

/// Passes over small values in both directions, and seeks. Background work rests, and everything is
/// in the block cache.
///
/// # Errors
/// Fails if a call of the engine fails.
pub fn scans<E: Engine>(job: &Job, sizes: &Sizes, directory: &Path) -> Result<Vec<Run>> {
    let mut session = Session::<E>::open(sizes, directory)?;
    let mut values = Values::new(sizes.value, sizes.compressed);
    for number in each_once(sizes.keys) {
        session.engine.put(&key(number), values.take())?;
    }
    session.wrote(sizes.keys);
    let rested = session.rested()?;

    let forward = passes(&session.engine, Scan::Forward, sizes.passes)?;
    let mut runs = vec![run(row(job, 0), forward, session.stopped(), rested.clone())];
    let reverse = passes(&session.engine, Scan::Reverse, sizes.passes)?;
    runs.push(run(row(job, 1), reverse, session.stopped(), rested.clone()));
    let seeks = seek_random(&mut session, sizes)?;
    runs.push(run(row(job, 2), seeks, session.stopped(), rested));
    session.finish(runs)
}

/// Puts to random keys, waits until background work rests, then passes over all entries.
///
/// # Errors
/// Fails if a call of the engine fails.
pub fn fill_then_scan<E: Engine>(job: &Job, sizes: &Sizes, directory: &Path) -> Result<Vec<Run>> {
    let mut session = Session::<E>::open(sizes, directory)?;
    let filled = fill_random(&mut session, sizes)?;
    let loaded = session.stopped();
    let rested = session.rested()?;
    let filling = run(row(job, 0), filled, loaded.clone(), rested.clone());
    let forward = passes(&session.engine, Scan::Forward, sizes.passes)?;
    let mut reading = run(row(job, 1), forward, session.stopped(), rested);
    reading.written = None;
    note_load(&mut reading, &loaded);
    session.finish(vec![filling, reading])
}

/// Makes one pass that does not count, then returns the median of `count` passes.
fn passes<E: Engine>(engine: &E, scan: Scan<'_>, count: usize) -> Result<Recorded> {
    pass(engine, scan)?;
    let began = Instant::now();
    let (mut seconds, mut entries) = (Vec::with_capacity(count), 0);
    while seconds.len() < count && (seconds.is_empty() || began.elapsed().as_secs_f64() < ENOUGH) {
        let pass_began = Instant::now();
        entries = pass(engine, scan)?;
        seconds.push(pass_began.elapsed().as_secs_f64());
    }
    Ok(Recorded { operations: entries, seconds: median(&mut seconds), ..Recorded::default() })
}

fn pass<E: Engine>(engine: &E, scan: Scan<'_>) -> Result<u64> {
    let mut entries = 0;
    engine.scan(scan, |key, value| {
        used(key);
        used(value);
        entries += 1;
        true
    })?;
    Ok(entries)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Seeks random keys and looks at the one entry there (RocksDB: `SeekRandom`).
fn seek_random<E: Engine>(session: &mut Session<E>, sizes: &Sizes) -> Result<Recorded> {
    session.timed(1, sizes.reads, |_, engine, recorder| {
        let mut draws = Draws::new(SEEKS);
        for _ in 0..sizes.reads {
            engine.scan(Scan::From(&draws.key(sizes.keys)), |key, value| {
                used(key);
                used(value);
                false
            })?;
            recorder.finished();
        }
        Ok(())
    })
}
