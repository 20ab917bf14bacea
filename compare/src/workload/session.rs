//! One database from its opening to its digest, and what is looked at on the way.
//!
//! ```text
//! open -> load -> stopped (memory, debt) -> rested (time, bytes written, space, runs) -> finish (digest)
//!                  reading may lie anywhere behind the load
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
    /// From opening to the beginning of what is timed last.
    began: f64,
    /// Bytes stored into mapped files before the database was opened again.
    mapped_before: u64,
    /// Whether the engine's own statistics saw everything: not after opening it again.
    opened_once: bool,
    entries_written: u64,
}

/// How the database was when the clock stopped.
#[derive(Clone, Debug, Default)]
pub struct Stopped {
    peak_memory: Option<u64>,
    owed: Option<u64>,
    events: Vec<BackgroundEvent>,
}

/// How it is when background work rests.
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
    /// Of the engine.
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
    /// Of the engine or of `meanwhile`.
    pub fn reopen(self, meanwhile: impl FnOnce(&Path) -> Result<()>) -> Result<Session<E>> {
        let Session { engine, sizes, directory, .. } = self;
        let mapped_before = self.mapped_before + engine.state().mapped;
        engine.close()?;
        meanwhile(&directory)?;
        let opened = Instant::now();
        let engine = E::open(&sizes.nominal, &directory)?;
        Ok(Session { engine, sizes, directory, opened, mapped_before, opened_once: false, ..self })
    }

    /// Has `threads` threads do `work` from a common start, each `operations` times.
    ///
    /// # Errors
    /// The first error of a thread.
    pub fn timed(
        &mut self,
        threads: u64,
        operations: u64,
        work: impl Fn(u64, &E, &mut Recorder) -> Result<()> + Sync,
    ) -> Result<Recorded> {
        let mut clock = Clock::new();
        let start = Barrier::new(threads as usize + 1);
        self.began = self.opened.elapsed().as_secs_f64();
        let (engine, work, start, shared) = (&self.engine, &work, &start, &clock.clone());
        let recorders = thread::scope(|scope| {
            let spawn = |thread| {
                scope.spawn(move || {
                    let mut recorder = Recorder::new(shared, operations);
                    start.wait();
                    recorder.begin();
                    work(thread, engine, &mut recorder).map(|()| recorder.end())
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

    /// Counts entries that the user wrote.
    pub fn wrote(&mut self, entries: u64) {
        self.entries_written += entries;
    }

    /// Looks at the database when the clock has stopped.
    pub fn stopped(&self) -> Stopped {
        let peak_memory = system::peak_memory();
        let State { owed, .. } = self.engine.state();
        Stopped { peak_memory, owed, events: self.events() }
    }

    /// Flushes and compactions, counted from the beginning of what was timed.
    fn events(&self) -> Vec<BackgroundEvent> {
        let shifted = |event: BackgroundEvent| BackgroundEvent {
            began: (event.began - self.began).max(0.0),
            ended: event.ended - self.began,
            ..event
        };
        self.engine.events().into_iter().map(shifted).filter(|event| event.ended >= 0.0).collect()
    }

    /// Waits until background work rests, everything in tables, and looks again.
    ///
    /// # Errors
    /// Of the engine.
    pub fn rested(&self) -> Result<Rested> {
        let stopped = Instant::now();
        self.engine.rest(true)?;
        let seconds = stopped.elapsed().as_secs_f64();
        let State { runs_per_read, own, mapped, .. } = self.engine.state();
        let bytes = Written::now()?.since(self.written_before);
        let written = results::Written {
            user: self.entries_written * (KEY_SIZE + self.sizes.value) as u64,
            calls: bytes.calls,
            mapped: self.mapped_before + mapped,
            device: bytes.device,
            own: own.filter(|_| self.opened_once),
        };
        Ok(Rested { seconds, runs_per_read, written, space: system::space(&self.directory) })
    }

    /// Takes the digest and closes the database: the runs are complete then.
    ///
    /// # Errors
    /// Of the engine.
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

/// A run of `row`, but for what [`Session::finish`] adds.
pub fn run(row: &Row, recorded: Recorded, stopped: Stopped, rested: Rested) -> Run {
    Run {
        workload: row.name.to_owned(),
        operations: recorded.operations,
        seconds: recorded.seconds,
        latencies: recorded.latencies,
        slowest_micros: recorded.slowest_micros,
        timeline: recorded.timeline,
        events: stopped.events,
        peak_memory: stopped.peak_memory,
        owed_bytes: stopped.owed,
        seconds_to_rest: Some(rested.seconds),
        runs_per_read: rested.runs_per_read,
        written: Some(rested.written),
        space: rested.space,
        ..Run::default()
    }
}

/// Says how much memory the load of a job needed, beside a run that only read.
pub fn note_load(run: &mut Run, load: &Stopped) {
    if let Some(bytes) = load.peak_memory {
        run.notes.push(format!("peak memory of the load: {bytes} bytes"));
    }
}

/// The row of `job` of this place.
pub fn row(job: &Job, place: usize) -> &'static Row {
    &job.rows[place]
}
