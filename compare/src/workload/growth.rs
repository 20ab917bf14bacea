//! A database that grows: its costs step by step.
//!
//! Each step merges on random keys, reads random keys, closes the database and opens it again. The
//! last open is followed by a rest. So the figures of a step belong to a database that was never
//! given time to compact.

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use foldb_report::results::{Moment, Run, Step};
use foldb_report::system;

use super::session::{Session, Stopped, row, run};
use super::writes::read_random;
use super::{Job, Sizes};
use crate::data::{Draws, Values};
use crate::engine::Engine;
use crate::failure::Result;
use crate::measure::{Processor, Recorded};

/// The stream of draws of the first step.
const FIRST_STEP: u64 = 5000;

/// Merges in `steps` steps of equal size.
///
/// # Errors
/// Fails if a call of the engine fails.
pub fn grow<E: Engine>(job: &Job, sizes: &Sizes, steps: u64, directory: &Path) -> Result<Vec<Run>> {
    let mut session = Session::<E>::open(sizes, directory)?;
    let mut grown = Recorded::default();
    let mut stopped = Stopped::default();
    let mut taken: Vec<Step> = Vec::new();
    for number in 0..steps {
        let own_peak = system::forget_peak_memory();
        let busy = Processor::of_process();
        let merged = merge(&mut session, sizes, FIRST_STEP + number, sizes.operations / steps)?;
        stopped = session.stopped();
        let mut step = Step {
            operations: merged.operations,
            seconds: merged.seconds,
            written: session.written()?,
            owed_bytes: stopped.owed,
            peak_memory: stopped.peak_memory.filter(|_| own_peak),
            ..Step::default()
        };
        add(&mut grown, merged);
        let (read, reading) = read(&mut session, sizes)?;
        (step.reads, step.read_seconds) = (read.operations, read.seconds);
        step.read_processor_seconds = reading;
        let mut closed = Instant::now();
        session = session.reopen(|_| {
            closed = Instant::now();
            Ok(())
        })?;
        step.open_seconds = closed.elapsed().as_secs_f64();
        step.processor_seconds = Processor::of_process() - busy - reading;
        taken.push(step);
    }
    let rested = session.rested()?;
    let run = run(row(job, 0), grown, stopped, rested);
    let peak_memory = taken.iter().filter_map(|step| step.peak_memory).max().or(run.peak_memory);
    session.finish(vec![Run { steps: taken, peak_memory, events: Vec::new(), ..run }])
}

fn merge<E: Engine>(
    session: &mut Session<E>,
    sizes: &Sizes,
    stream: u64,
    operations: u64,
) -> Result<Recorded> {
    let values = Values::new(sizes.value, sizes.compressed);
    session.wrote(operations);
    session.timed(1, operations, |_, engine, recorder| {
        let mut draws = Draws::new(stream);
        let mut values = values.clone();
        for _ in 0..operations {
            engine.merge(&draws.key(sizes.keys), values.take())?;
            recorder.finished();
        }
        Ok(())
    })
}

/// Reads random keys. Also returns the processor time of the reading thread.
fn read<E: Engine>(session: &mut Session<E>, sizes: &Sizes) -> Result<(Recorded, f64)> {
    let reading = Mutex::new(0.0);
    let recorded = session.timed(1, sizes.reads, |_, engine, recorder| {
        let before = Processor::of_thread();
        read_random(engine, sizes, recorder)?;
        *reading.lock().expect("one thread") = Processor::of_thread() - before;
        Ok(())
    })?;
    Ok((recorded, reading.into_inner().expect("one thread")))
}

/// Adds the records of a step to those before it. Percentiles do not add up, so there are none.
fn add(grown: &mut Recorded, step: Recorded) {
    let begun = grown.seconds;
    let shifted = |moment: Moment| Moment { at: begun + moment.at, ..moment };
    grown.timeline.extend(step.timeline.into_iter().map(shifted));
    grown.operations += step.operations;
    grown.seconds += step.seconds;
    let slowest = [grown.slowest_micros, step.slowest_micros].into_iter().flatten();
    grown.slowest_micros = slowest.reduce(f64::max);
}
