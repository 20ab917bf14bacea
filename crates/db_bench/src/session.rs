//! A run: the database, its threads, and the results in order.
//!
//! As in RocksDB, a run destroys an existing database at the start and before each benchmark that
//! needs a fresh database. With `--use_existing_db` it destroys none. All other benchmarks continue
//! with the existing data.

use std::io::{StdoutLock, Write};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use foldb::Db;

use crate::benchmark::Benchmark;
use crate::evidence::Evidence;
use crate::failure::Failure;
use crate::header;
use crate::histogram::Operation;
use crate::keys::Draws;
use crate::plan::Plan;
use crate::rate::OfferedRates;
use crate::recorder::{Keep, Pace, Progress, Recorder};
use crate::report::{Totals, statistics_lines, stats_lines};
use crate::values::ValueSource;
use crate::workload::{Sizes, Task};

/// Runs `plan` and prints the results on standard output.
///
/// # Errors
/// The first error of the database, or of standard output.
pub(crate) fn run(mut plan: Plan) -> Result<(), Failure> {
    let out = std::io::stdout().lock();
    let evidence = Evidence::begin(&mut plan);
    let db = open_first(&plan)?;
    let largest = plan.flags.value_size as usize;
    let values = ValueSource::new(plan.flags.compression_ratio, largest);
    let mut session = Session { plan, out, db, values, evidence, threads_so_far: 0 };
    header::print(&mut session.out, &session.plan)?;
    for benchmark in session.plan.benchmarks.clone() {
        session.run(benchmark)?;
    }
    session.finish()
}

struct Session {
    plan: Plan,
    out: StdoutLock<'static>,
    db: Db,
    values: ValueSource,
    /// The data of `--report`.
    evidence: Option<Evidence>,
    /// Threads of the whole run so far: each has its own seed.
    threads_so_far: u64,
}

impl Session {
    fn run(&mut self, benchmark: Benchmark) -> Result<(), Failure> {
        let name = benchmark.name();
        if benchmark.entry().fresh {
            if self.plan.flags.use_existing_db {
                writeln!(self.out, "{name:<12} : skipped (--use_existing_db is true)")?;
                return Ok(());
            }
            self.start_afresh()?;
        }
        match benchmark {
            Benchmark::Stats => {
                let lines = stats_lines(&self.db.stats());
                write!(self.out, "\n{lines}")?;
            }
            Benchmark::WaitForCompaction => self.wait_for_compaction()?,
            _ => {
                writeln!(self.out, "DB path: [{}]", self.plan.directory.display())?;
                let totals = self.measure(benchmark)?;
                writeln!(self.out, "{}", totals.line(name))?;
                if let (true, Some(histograms)) = (self.plan.flags.histogram, &totals.histograms) {
                    writeln!(self.out, "{}", histograms.blocks())?;
                }
            }
        }
        self.out.flush()?;
        Ok(())
    }

    fn measure(&mut self, benchmark: Benchmark) -> Result<Totals, Failure> {
        if let Some(evidence) = &mut self.evidence {
            evidence.before(&self.db);
        }
        let totals = match benchmark {
            Benchmark::Open => self.reopen_repeatedly()?,
            _ => self.run_threads(benchmark)?,
        };
        if let Some(evidence) = &mut self.evidence {
            evidence.after(benchmark, &totals, &self.db);
        }
        Ok(totals)
    }

    /// Replaces the database by a new, empty one.
    fn start_afresh(&mut self) -> Result<(), Failure> {
        self.db.close().map_err(Failure::during("close"))?;
        destroy(&self.plan)?;
        self.db = open(&self.plan)?;
        Ok(())
    }

    /// Runs all threads of a benchmark from a common start, and sums the counted ones.
    fn run_threads(&mut self, benchmark: Benchmark) -> Result<Totals, Failure> {
        let (plan, db) = (&self.plan, &self.db);
        let sizes = Sizes::of(benchmark, &plan.flags);
        let larger = (sizes.value_size > plan.flags.value_size as usize)
            .then(|| ValueSource::new(plan.flags.compression_ratio, sizes.value_size));
        let values = larger.as_ref().unwrap_or(&self.values);
        let counted = plan.flags.threads as usize;
        let background = usize::from(benchmark.has_background_writer());
        let first_thread = self.threads_so_far + 1;
        self.threads_so_far += (counted + background) as u64;

        let start = Barrier::new(counted + background);
        let running = AtomicUsize::new(counted);
        let rates = OfferedRates::begin(&plan.flags);
        let work = |index: usize| -> foldb::Result<Totals> {
            let draws = Draws::new(plan.seed, first_thread + index as u64);
            let values = values.values(sizes.value_size);
            let progress = progress(plan, db);
            start.wait();
            let recorder = Recorder::start(index, keep(plan), progress);
            let mut task = Task::new(db, &sizes, draws, values, &rates, recorder);
            if index < background {
                task.run_in_background(benchmark, &running)?;
            } else {
                let _done = CountDown(&running);
                task.run(benchmark)?;
            }
            Ok(task.recorder.stop())
        };
        let results: Vec<foldb::Result<Totals>> = thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> =
                (0..counted + background).map(|i| scope.spawn(move || work(i))).collect();
            threads.into_iter().map(join).collect()
        });

        let mut totals: Option<Totals> = None;
        for (index, result) in results.into_iter().enumerate() {
            let result = result.map_err(Failure::during(benchmark.name()))?;
            match &mut totals {
                _ if index < background => {}
                Some(totals) => totals.merge(&result),
                None => totals = Some(result),
            }
        }
        Ok(totals.expect("at least one thread is counted"))
    }

    /// Closes and opens the database again and again (LevelDB: `OpenBench`).
    fn reopen_repeatedly(&mut self) -> Result<Totals, Failure> {
        let sizes = Sizes::of(Benchmark::Open, &self.plan.flags);
        self.threads_so_far += 1;
        self.flush_unlogged()?;
        // No handle may keep the first database open here.
        let progress = Progress { stats_of: None, ..progress(&self.plan, &self.db) };
        let mut recorder = Recorder::start(0, keep(&self.plan), progress);
        for _ in 0..sizes.keys {
            self.db.close().map_err(Failure::during("close"))?;
            self.db = open(&self.plan)?;
            recorder.finished(1, Operation::Other);
        }
        Ok(recorder.stop())
    }

    fn wait_for_compaction(&mut self) -> Result<(), Failure> {
        let directory = self.plan.directory.display();
        writeln!(self.out, "waitforcompaction({directory}): started")?;
        self.out.flush()?;
        let started = Instant::now();
        self.db.wait_for_background().map_err(Failure::during("waitforcompaction"))?;
        if let Some(evidence) = &mut self.evidence {
            evidence.rested(started.elapsed(), &self.db);
        }
        writeln!(self.out, "waitforcompaction({directory}): finished")?;
        Ok(())
    }

    /// Flushes unlogged writes, as RocksDB does in its close.
    fn flush_unlogged(&self) -> Result<(), Failure> {
        if self.plan.flags.disable_wal {
            self.db.flush().map_err(Failure::during("flush"))?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        if self.plan.flags.statistics {
            write!(self.out, "{}", statistics_lines(&self.db.stats()))?;
        }
        self.out.flush()?;
        if let Some(evidence) = self.evidence.take() {
            evidence.write()?;
        }
        self.flush_unlogged()?;
        self.db.close().map_err(Failure::during("close"))
    }
}

fn keep(plan: &Plan) -> Keep {
    match (&plan.report, plan.flags.histogram) {
        (Some(_), _) => Keep::LatencyAndTime,
        (None, true) => Keep::Latency,
        (None, false) => Keep::Nothing,
    }
}

fn progress(plan: &Plan, db: &Db) -> Progress {
    Progress {
        pace: Pace::new(plan.flags.stats_interval),
        stats_of: (plan.flags.stats_per_interval > 0).then(|| db.clone()),
    }
}

/// Counts a thread as done when it ends, also by a panic.
struct CountDown<'a>(&'a AtomicUsize);

impl Drop for CountDown<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Returns a thread's result, or continues its panic here.
fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn open_first(plan: &Plan) -> Result<Db, Failure> {
    if plan.flags.db.as_deref().is_none_or(str::is_empty) {
        eprintln!("db_bench: no --db given: the database is {}", plan.directory.display());
    }
    if !plan.flags.use_existing_db {
        destroy(plan)?;
    }
    open(plan)
}

fn open(plan: &Plan) -> Result<Db, Failure> {
    Db::open(&plan.directory, plan.options.clone()).map_err(Failure::during("open"))
}

fn destroy(plan: &Plan) -> Result<(), Failure> {
    match Db::destroy(&plan.directory, &plan.options) {
        Err(error) if error.kind() != foldb::ErrorKind::DatabaseMissing => {
            Err(Failure::during("destroy")(error))
        }
        _ => Ok(()),
    }
}
