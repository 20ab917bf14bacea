//! Random puts of large values, then reads of them from the device.

use std::path::Path;
use std::time::Instant;

use foldb_report::results::Run;

use super::session::{Session, note_load, row, run};
use super::{Job, Sizes};
use crate::data::{Draws, Values};
use crate::engine::{Engine, used};
use crate::failure::Result;
use crate::measure::{Recorded, Recorder, Written, drop_machines_page_cache, drop_page_cache};

/// The stream of draws of the reads.
const READS: u64 = 1000;

/// Puts to random keys (LevelDB: `FillRandom`) and waits until background work rests. Then drops
/// the page cache, and gets random keys (LevelDB: `ReadRandom`).
///
/// # Errors
/// Fails if a call of the engine fails.
pub fn fill_then_read<E: Engine>(job: &Job, sizes: &Sizes, directory: &Path) -> Result<Vec<Run>> {
    let mut session = Session::<E>::open(sizes, directory)?;
    let filled = fill_random(&mut session, sizes)?;
    let loaded = session.stopped();
    let rested = session.rested()?;
    let filling = run(row(job, 0), filled, loaded.clone(), rested.clone());

    session = session.reopen(|directory| {
        drop_page_cache(directory)?;
        if sizes.drops_caches {
            drop_machines_page_cache();
        }
        Ok(())
    })?;
    let cost = std::sync::Mutex::new(Cost::default());
    let mut read = session.timed(1, sizes.reads, |_, engine, recorder| {
        *cost.lock().expect("one thread") = read_cold(engine, sizes, recorder)?;
        Ok(())
    })?;
    let cost = cost.into_inner().expect("one thread");
    read.seconds = cost.seconds;
    let mut reading = run(row(job, 1), read, session.stopped(), rested);
    reading.written = None;
    reading.notes.extend(cost.notes());
    note_load(&mut reading, &loaded);
    session.finish(vec![filling, reading])
}

/// Puts to random keys (LevelDB: `FillRandom`).
///
/// # Errors
/// Fails if a call of the engine fails.
pub fn fill_random<E: Engine>(session: &mut Session<E>, sizes: &Sizes) -> Result<Recorded> {
    let values = Values::new(sizes.value, sizes.compressed);
    session.wrote(sizes.operations);
    session.timed(1, sizes.operations, |thread, engine, recorder| {
        let mut draws = Draws::new(thread);
        let mut values = values.clone();
        for _ in 0..sizes.operations {
            engine.put(&draws.key(sizes.keys), values.take())?;
            recorder.finished();
        }
        Ok(())
    })
}

/// The time and bytes of reads, without those of the measurement.
#[derive(Clone, Debug, Default)]
struct Cost {
    seconds: f64,
    hits: Fetched,
    misses: Fetched,
}

/// Reads of one kind, and what they fetched from the device.
#[derive(Clone, Debug, Default)]
struct Fetched {
    reads: u64,
    bytes: u64,
}

impl Cost {
    fn notes(&self) -> Vec<String> {
        let note = |kind: &str, fetched: &Fetched| {
            let each = fetched.bytes as f64 / fetched.reads.max(1) as f64;
            format!("{} {kind} fetched {each:.0} bytes from the device each", fetched.reads)
        };
        vec![note("hits", &self.hits), note("misses", &self.misses)]
    }
}

/// After each read, asks the kernel how many bytes the read fetched. This call is not timed.
fn read_cold<E: Engine>(engine: &E, sizes: &Sizes, recorder: &mut Recorder) -> Result<Cost> {
    let mut draws = Draws::new(READS);
    let mut cost = Cost::default();
    let mut before = Written::now()?;
    for _ in 0..sizes.reads {
        let key = draws.key(sizes.keys);
        let began = Instant::now();
        recorder.begin();
        let found = engine.get(&key, used)?.is_some();
        recorder.finished();
        cost.seconds += began.elapsed().as_secs_f64();
        let now = Written::now()?;
        let kind = if found { &mut cost.hits } else { &mut cost.misses };
        kind.reads += 1;
        kind.bytes += now.since(before).read;
        before = now;
    }
    Ok(cost)
}
