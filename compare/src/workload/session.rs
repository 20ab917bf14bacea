//! One database from its opening to its digest, and the measurements on the way.
//!
//! ```text
//! open -> load -> stopped (memory, debt) -> rested (time, bytes written, space, runs) -> finish (digest)
//!                  reads may come anywhere after the load
//! ```

use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use foldb_report::results::{self, BackgroundEvent, Run};
use foldb_report::system;

use super::{Job, Row, Sizes};
use crate::data::KEY_SIZE;
use crate::digest;
use crate::engine::{Engine, State};
use crate::failure::Result;
use crate::measure::{Clock, Recorded, Recorder, Written};

/// A database that a job works on.
pub struct Session<E> {
    /// The database.
    pub engine: E,
    sizes: Sizes,
    directory: PathBuf,
    written_before: Written,
    opened: Instant,
    /// Seconds from the open to the start of the last timed work.
    began: f64,
    /// Bytes stored into mapped files before the database was opened again.
    mapped_before: u64,
    /// Whether the engine's own statistics cover all work: not after a second open.
    opened_once: bool,
    entries_written: u64,
}

/// The figures of the database when the clock stopped.
#[derive(Clone, Debug, Default)]
pub struct Stopped {
    /// Peak memory of the process.
    pub peak_memory: Option<u64>,
    /// Bytes of background work that is left.
    pub owed: Option<u64>,
    events: Vec<BackgroundEvent>,
}

/// The figures of the database once background work rests.
#[derive(Clone, Debug, Default)]
pub struct Rested {
    seconds: f64,
    runs_per_read: Option<u32>,
    written: results::Written,
    space: Option<u64>,
}

impl<E: Engine> Session<E> {
    /// Opens a new database.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    pub fn open(sizes: &Sizes, directory: &Path) -> Result<Session<E>> {
        let written_before = Written::now()?;
        let opened = Instant::now();
        let engine = E::open(&sizes.nominal, directory)?;
        Ok(Session {
            engine,
            sizes: sizes.clone(),
            directory: directory.to_owned(),
            written_before,
            opened,
            began: 0.0,
            mapped_before: 0,
            opened_once: true,
            entries_written: 0,
        })
    }

    /// Closes the database, does `meanwhile` and opens it again.
    ///
    /// # Errors
    /// Fails if a call of the engine or `meanwhile` fails.
    pub fn reopen(self, meanwhile: impl FnOnce(&Path) -> Result<()>) -> Result<Session<E>> {
        let Session { engine, sizes, directory, .. } = self;
        let mapped_before = self.mapped_before + engine.state().mapped;
        engine.close()?;
        meanwhile(&directory)?;
        let opened = Instant::now();
        let engine = E::open(&sizes.nominal, &directory)?;
        Ok(Session { engine, sizes, directory, opened, mapped_before, opened_once: false, ..self })
    }

    /// Runs `work` on `threads` threads from a common start, `operations` times on each.
    ///
    /// # Errors
    /// The first error of a thread.
    pub fn timed(
        &mut self,
        threads: u64,
        operations: u64,
        work: impl Fn(u64, &E, &mut Recorder) -> Result<()> + Sync,
    ) -> Result<Recorded> {
        self.began = self.opened.elapsed().as_secs_f64();
        timed(&self.engine, threads, operations, work)
    }

    /// Counts entries that the user wrote.
    pub fn wrote(&mut self, entries: u64) {
        self.entries_written += entries;
    }

    /// Takes the figures of the database after the clock has stopped.
    pub fn stopped(&self) -> Stopped {
        let peak_memory = system::peak_memory();
        let State { owed, .. } = self.engine.state();
        Stopped { peak_memory, owed, events: self.events() }
    }

    /// Returns the flushes and compactions, in seconds since the start of the timed work.
    fn events(&self) -> Vec<BackgroundEvent> {
        let shifted = |event: BackgroundEvent| BackgroundEvent {
            began: (event.began - self.began).max(0.0),
            ended: event.ended - self.began,
            ..event
        };
        self.engine.events().into_iter().map(shifted).filter(|event| event.ended >= 0.0).collect()
    }

    /// Flushes, waits until background work rests, and takes the figures again.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    pub fn rested(&self) -> Result<Rested> {
        let stopped = Instant::now();
        self.engine.rest(true)?;
        let seconds = stopped.elapsed().as_secs_f64();
        let State { runs_per_read, .. } = self.engine.state();
        let written = self.written()?;
        Ok(Rested { seconds, runs_per_read, written, space: system::space(&self.directory) })
    }

    /// Returns the bytes written so far.
    ///
    /// # Errors
    /// Fails if the system has no `/proc`.
    pub fn written(&self) -> Result<results::Written> {
        let State { own, mapped, .. } = self.engine.state();
        let bytes = Written::now()?.since(self.written_before);
        Ok(results::Written {
            user: self.entries_written * (KEY_SIZE + self.sizes.value) as u64,
            calls: bytes.calls,
            mapped: self.mapped_before + mapped,
            device: bytes.device,
            own: own.filter(|_| self.opened_once),
        })
    }

    /// Computes the digest, closes the database, and returns the completed runs.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    pub fn finish(self, mut runs: Vec<Run>) -> Result<Vec<Run>> {
        let digest = digest::of(&self.engine)?;
        self.engine.close()?;
        let settings = E::settings(&self.sizes.nominal);
        for run in &mut runs {
            run.digest.clone_from(&digest);
            run.settings.clone_from(&settings);
        }
        Ok(runs)
    }
}

/// Runs `work` on `threads` threads from a common start, `operations` times on each.
///
/// # Errors
/// The first error of a thread.
pub fn timed<T: Sync>(
    on: &T,
    threads: u64,
    operations: u64,
    work: impl Fn(u64, &T, &mut Recorder) -> Result<()> + Sync,
) -> Result<Recorded> {
    let mut clock = Clock::new();
    let start = Barrier::new(threads as usize + 1);
    let (work, start, shared) = (&work, &start, &clock.clone());
    let recorders = thread::scope(|scope| {
        let spawn = |thread| {
            scope.spawn(move || {
                let mut recorder = Recorder::new(shared, operations);
                start.wait();
                recorder.begin();
                work(thread, on, &mut recorder).map(|()| recorder.end())
            })
        };
        let running: Vec<_> = (0..threads).map(spawn).collect();
        clock.begin();
        start.wait();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<Recorder>>| {
            thread.join().expect("threads answer their errors")
        };
        running.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    Ok(Recorded::of(&clock, recorders))
}

/// Returns a run of `row` with its times alone.
pub fn timed_run(row: &Row, recorded: Recorded) -> Run {
    Run {
        workload: row.name.to_owned(),
        operations: recorded.operations,
        seconds: recorded.seconds,
        latencies: recorded.latencies,
        slowest_micros: recorded.slowest_micros,
        timeline: recorded.timeline,
        ..Run::default()
    }
}

/// Returns a run of `row`, without the parts that [`Session::finish`] adds.
pub fn run(row: &Row, recorded: Recorded, stopped: Stopped, rested: Rested) -> Run {
    Run {
        events: stopped.events,
        peak_memory: stopped.peak_memory,
        owed_bytes: stopped.owed,
        seconds_to_rest: Some(rested.seconds),
        runs_per_read: rested.runs_per_read,
        written: Some(rested.written),
        space: rested.space,
        ..timed_run(row, recorded)
    }
}

/// Adds the peak memory of the load to the notes of a run that only reads.
pub fn note_load(run: &mut Run, load: &Stopped) {
    if let Some(bytes) = load.peak_memory {
        run.notes.push(format!("peak memory of the load: {bytes} bytes"));
    }
}

/// Returns the row of `job` at this index.
pub fn row(job: &Job, place: usize) -> &'static Row {
    &job.rows[place]
}
