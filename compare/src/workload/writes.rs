//! Counters: merges, updates, and reads after them.

use std::path::Path;

use foldb_report::results::Run;

use super::session::{Session, note_load, row, run};
use super::{Job, Sizes};
use crate::data::{Draws, Values};
use crate::engine::{Engine, Scan, used};
use crate::failure::Result;
use crate::measure::{OfferedRate, Recorded, Recorder};

/// Streams of draws: reads draw other keys than the writes before them.
const READS: u64 = 1000;
const WARM: u64 = 2000;
const OFFERED: u64 = 1 << 32;

/// Merges on random keys (RocksDB: `MergeRandom`).
///
/// # Errors
/// Fails if a call of the engine fails.
pub fn merge<E: Engine>(job: &Job, sizes: &Sizes, directory: &Path) -> Result<Vec<Run>> {
    let mut session = Session::<E>::open(sizes, directory)?;
    let recorded = merge_random(&mut session, sizes)?;
    let stopped = session.stopped();
    let rested = session.rested()?;
    session.finish(vec![run(row(job, 0), recorded, stopped, rested)])
}

fn merge_random<E: Engine>(session: &mut Session<E>, sizes: &Sizes) -> Result<Recorded> {
    let values = Values::new(sizes.value, sizes.compressed);
    let each = sizes.operations / sizes.threads;
    session.wrote(sizes.operations);
    session.timed(sizes.threads, each, |thread, engine, recorder| {
        let mut draws = Draws::new(thread);
        let mut values = values.clone().skip_to(thread);
        for _ in 0..each {
            engine.merge(&draws.key(sizes.keys), values.take())?;
            recorder.finished();
        }
        Ok(())
    })
}

/// Merges that come at a fixed rate, whether or not the engine keeps up. Keys and operands follow
/// from the number of the operation, so it does not matter which thread carries it out.
///
/// # Errors
/// Fails if a call of the engine fails.
pub fn offered<E: Engine>(
    job: &Job,
    sizes: &Sizes,
    a_second: u64,
    directory: &Path,
) -> Result<Vec<Run>> {
    let mut session = Session::<E>::open(sizes, directory)?;
    let values = Values::new(sizes.value, sizes.compressed);
    let rate = OfferedRate::new(a_second, sizes.operations);
    session.wrote(sizes.operations);
    let each = sizes.operations / sizes.threads;
    let recorded = session.timed(sizes.threads, each, |_, engine, recorder| {
        while let Some(number) = rate.wait(recorder) {
            let mut draws = Draws::new(OFFERED + number);
            engine.merge(&draws.key(sizes.keys), values.of(number))?;
            recorder.finished();
        }
        Ok(())
    })?;
    let stopped = session.stopped();
    let rested = session.rested()?;
    session.finish(vec![run(row(job, 0), recorded, stopped, rested)])
}

/// Gets, each with a put of a new value to the same key (RocksDB: `UpdateRandom`).
///
/// # Errors
/// Fails if a call of the engine fails.
pub fn update<E: Engine>(job: &Job, sizes: &Sizes, directory: &Path) -> Result<Vec<Run>> {
    let mut session = Session::<E>::open(sizes, directory)?;
    let values = Values::new(sizes.value, sizes.compressed);
    session.wrote(sizes.operations);
    let recorded = session.timed(1, sizes.operations, |thread, engine, recorder| {
        let mut draws = Draws::new(thread);
        let mut values = values.clone();
        for _ in 0..sizes.operations {
            let key = draws.key(sizes.keys);
            engine.get(&key, used)?;
            engine.put(&key, values.take())?;
            recorder.finished();
        }
        Ok(())
    })?;
    let stopped = session.stopped();
    let rested = session.rested()?;
    session.finish(vec![run(row(job, 0), recorded, stopped, rested)])
}

/// Merges, then reads random keys with warm caches. No flush comes between, so reads find the
/// memtable of the merges. In a job of two rows, the merges are a row of their own.
///
/// # Errors
/// Fails if a call of the engine fails.
pub fn merge_then_read<E: Engine>(job: &Job, sizes: &Sizes, directory: &Path) -> Result<Vec<Run>> {
    let mut session = Session::<E>::open(sizes, directory)?;
    let merged = merge_random(&mut session, sizes)?;
    let loaded = session.stopped();
    session.engine.rest(false)?;
    warm(&session.engine, sizes)?;
    let read = session
        .timed(1, sizes.reads, |_, engine, recorder| read_random(engine, sizes, recorder))?;
    let stopped = session.stopped();
    let rested = session.rested()?;
    let mut reading = run(row(job, job.rows.len() - 1), read, stopped, rested.clone());
    note_load(&mut reading, &loaded);
    let mut runs = Vec::new();
    if job.rows.len() == 2 {
        runs.push(run(row(job, 0), merged, loaded, rested));
    }
    runs.push(reading);
    session.finish(runs)
}

/// Gets random keys.
pub(super) fn read_random<E: Engine>(
    engine: &E,
    sizes: &Sizes,
    recorder: &mut Recorder,
) -> Result<()> {
    let mut draws = Draws::new(READS);
    for _ in 0..sizes.reads {
        engine.get(&draws.key(sizes.keys), used)?;
        recorder.finished();
    }
    Ok(())
}

/// Reads all entries in order, then a fifth of the timed number of random keys.
fn warm<E: Engine>(engine: &E, sizes: &Sizes) -> Result<()> {
    engine.scan(Scan::Forward, |key, value| {
        used(key);
        used(value);
        true
    })?;
    let mut draws = Draws::new(WARM);
    for _ in 0..sizes.reads / 5 {
        engine.get(&draws.key(sizes.keys), used)?;
    }
    Ok(())
}
