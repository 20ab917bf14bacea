//! A run: the database, its threads, and the results in order.
//!
//! As in RocksDB, a run destroys an existing database at the start and before each benchmark that
//! needs a fresh database. With `--use_existing_db` it destroys none. All other benchmarks continue
//! with the existing data.

mod steps;

use std::io::{StdoutLock, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use foldb::Db;
use foldb::stats::Stats;

use crate::benchmark::{Benchmark, Beside, Request, What, Work};
use crate::csv::{Counter, IntervalReport};
use crate::evidence::Evidence;
use crate::failure::Failure;
use crate::header;
use crate::histogram::Operation;
use crate::keys::Draws;
use crate::observed::{Activity, Observed};
use crate::plan::Plan;
use crate::rate::OfferedRates;
use crate::recorder::{Keep, Pace, Progress, Recorder};
use crate::repeated::Repeated;
use crate::report::{Totals, statistics_lines};
use crate::values::ValueSource;
use crate::workload::{Shared, Sizes, Task, sums_agree};

/// Runs `plan` and prints the results on standard output.
///
/// # Errors
/// The first error of the database, or of standard output.
pub(crate) fn run(mut plan: Plan) -> Result<(), Failure> {
    let out = std::io::stdout().lock();
    let evidence = Evidence::begin(&mut plan);
    let activity = Arc::new(Activity::default());
    plan.options.listeners.push(activity.clone());
    let db = open_first(&plan)?;
    let opened = Instant::now();
    let (at_open, baseline) = (db.stats(), Stats::default());
    let database = Observed { db, opened, activity, at_open, baseline };
    let mut session = Session { plan, out, database, evidence, threads_so_far: 0 };
    header::print(&mut session.out, &session.plan)?;
    for request in session.plan.benchmarks.clone() {
        session.run(request)?;
    }
    session.finish()
}

struct Session {
    plan: Plan,
    out: StdoutLock<'static>,
    database: Observed,
    /// The data of `--report`.
    evidence: Option<Evidence>,
    /// Threads of the whole run so far: each has its own seed.
    threads_so_far: u64,
}

impl Session {
    fn run(&mut self, request: Request) -> Result<(), Failure> {
        let benchmark = request.benchmark;
        if let Some(why) = self.reason_to_skip(benchmark) {
            writeln!(self.out, "{:<12} : skipped ({why})", benchmark.name)?;
            return Ok(());
        }
        if benchmark.fresh {
            self.start_afresh()?;
        }
        match benchmark.what {
            What::Session(step) => self.step(benchmark.name, step)?,
            _ => self.measure_repeatedly(request)?,
        }
        if benchmark.what.work() == Some(Work::Transactions) {
            self.check_sums()?;
        }
        self.out.flush()?;
        Ok(())
    }

    fn reason_to_skip(&self, benchmark: &Benchmark) -> Option<&'static str> {
        let is_shaped = matches!(benchmark.what.work(), Some(Work::FillShaped { .. }));
        match benchmark.what {
            What::Nothing(why) => Some(why),
            _ if benchmark.fresh && self.plan.flags.use_existing_db => {
                Some("--use_existing_db is true")
            }
            _ if is_shaped && !self.plan.options.disable_auto_compactions => {
                Some("it needs --disable_auto_compactions")
            }
            _ => None,
        }
    }

    fn measure_repeatedly(&mut self, request: Request) -> Result<(), Failure> {
        let Request { benchmark, runs, warm_ups } = request;
        let name = benchmark.name;
        writeln!(self.out, "DB path: [{}]", self.plan.directory.display())?;
        match benchmark.what.work() {
            Some(Work::Backup) => self.tell_backup_directory()?,
            Some(Work::Restore) => {
                self.tell_backup_directory()?;
                writeln!(self.out, "Restore path: [{}]", self.plan.restore_directory.display())?;
            }
            _ => {}
        }
        if warm_ups > 0 {
            writeln!(self.out, "Warming up benchmark by running {warm_ups} times")?;
        }
        for _ in 0..warm_ups {
            self.measure(benchmark)?;
        }
        if runs > 1 {
            writeln!(self.out, "Running benchmark for {runs} times")?;
        }
        let mut repeated = Repeated::default();
        for _ in 0..runs {
            let totals = self.measure(benchmark)?;
            repeated.add(&totals);
            if let Some(line) = repeated.line(name, self.plan.flags.confidence_interval_only) {
                writeln!(self.out, "{line}")?;
            }
        }
        if let Some(lines) = repeated.last_lines(name) {
            writeln!(self.out, "{lines}")?;
        }
        Ok(())
    }

    fn tell_backup_directory(&mut self) -> Result<(), Failure> {
        writeln!(self.out, "Backup path: [{}]", self.plan.backup_directory.display())?;
        Ok(())
    }

    /// Runs a benchmark once, and prints its result.
    fn measure(&mut self, benchmark: &'static Benchmark) -> Result<Totals, Failure> {
        if let Some(evidence) = &mut self.evidence {
            evidence.before(&self.database.db);
        }
        let totals = match benchmark.what {
            What::Reopen => self.reopen_repeatedly(benchmark)?,
            _ => self.run_threads(benchmark)?,
        };
        if let Some(evidence) = &mut self.evidence {
            evidence.after(benchmark, &totals, &self.database.db);
        }
        self.tell(benchmark.name, &totals)?;
        Ok(totals)
    }

    fn tell(&mut self, name: &str, totals: &Totals) -> Result<(), Failure> {
        for note in &totals.notes {
            writeln!(self.out, "{note}")?;
        }
        writeln!(self.out, "{}", totals.line(name))?;
        if let (true, Some(histograms)) = (self.plan.flags.histogram, &totals.histograms) {
            writeln!(self.out, "{}", histograms.blocks())?;
        }
        Ok(())
    }

    /// Checks the sums that transactions keep equal.
    fn check_sums(&mut self) -> Result<(), Failure> {
        let flags = &self.plan.flags;
        if !flags.transaction_db && !flags.optimistic_transaction_db {
            return Ok(());
        }
        let agree = sums_agree(&self.database.db, flags.transaction_sets);
        let result = match agree.map_err(Failure::during("randomtransaction"))? {
            true => "Success.",
            false => "FAILED!!",
        };
        writeln!(self.out, "RandomTransactionVerify {result}")?;
        Ok(())
    }

    /// Replaces the database by a new, empty one.
    fn start_afresh(&mut self) -> Result<(), Failure> {
        self.database.db.close().map_err(Failure::during("close"))?;
        destroy(&self.plan)?;
        self.database.db = open(&self.plan)?;
        self.database.opened = Instant::now();
        self.database.at_open = Stats::default();
        self.database.baseline = Stats::default();
        Ok(())
    }

    /// Runs all threads of a benchmark from a common start, and sums the counted ones.
    fn run_threads(&mut self, benchmark: &Benchmark) -> Result<Totals, Failure> {
        let (plan, db) = (&self.plan, &self.database.db);
        let report = IntervalReport::begin(&plan.flags)?;
        let counter = report.as_ref().map(IntervalReport::counter);
        let sizes = Sizes::of(benchmark, &plan.flags);
        let values = value_source(plan, &sizes);
        let (work, beside) = (benchmark.what.work(), benchmark.what.beside());
        let counted = counted_threads(benchmark, plan.flags.threads as usize);
        let background = usize::from(beside.is_some());
        let first_thread = self.threads_so_far + 1;
        self.threads_so_far += (counted + background) as u64;

        let start = Barrier::new(counted + background);
        let shared = Shared {
            db,
            options: &plan.options,
            sizes: &sizes,
            flags: &plan.flags,
            seed: plan.seed,
            rates: OfferedRates::begin(work, &plan.flags),
            backup_directory: &plan.backup_directory,
            restore_directory: &plan.restore_directory,
            time: AtomicU64::new(0),
            counted: AtomicUsize::new(counted),
            beside: AtomicUsize::new(background),
        };
        let run = |index: usize| -> foldb::Result<Totals> {
            let draws = Draws::new(plan.seed, first_thread + index as u64);
            let values = values.values(sizes.values, plan.seed.wrapping_add(index as i64));
            let progress = progress(plan, Some(&self.database), counter.clone());
            start.wait();
            let recorder = Recorder::start(index, keep(plan), progress);
            let number = index.saturating_sub(background);
            let mut task = Task::new(&shared, number, draws, values, recorder);
            match (beside, work) {
                (Some(beside), _) if index < background => {
                    let _done = CountDown(&shared.beside);
                    task.run_beside(beside)?;
                }
                (_, Some(work)) => {
                    let _done = CountDown(&shared.counted);
                    task.run(work)?;
                }
                (_, None) => {}
            }
            Ok(task.recorder.stop())
        };
        let results: Vec<foldb::Result<Totals>> = thread::scope(|scope| {
            let run = &run;
            let threads: Vec<_> =
                (0..counted + background).map(|i| scope.spawn(move || run(i))).collect();
            threads.into_iter().map(join).collect()
        });
        drop(report);
        self.sum(benchmark, background, results)
    }

    /// Sums the results of counted threads. Prints that of the writer of `timeseries`.
    fn sum(
        &mut self,
        benchmark: &Benchmark,
        background: usize,
        results: Vec<foldb::Result<Totals>>,
    ) -> Result<Totals, Failure> {
        let mut notes = Vec::new();
        let mut totals: Option<Totals> = None;
        for (index, result) in results.into_iter().enumerate() {
            let result = result.map_err(Failure::during(benchmark.name))?;
            match &mut totals {
                _ if index < background => {
                    if benchmark.what.beside() == Some(Beside::Series) {
                        self.tell("timeseries write", &result)?;
                    }
                    notes.extend(result.notes);
                }
                Some(totals) => totals.merge(&result),
                None => totals = Some(result),
            }
        }
        let mut totals = totals.expect("at least one thread is counted");
        totals.notes.append(&mut notes);
        Ok(totals)
    }

    /// Closes and opens the database again and again (LevelDB: `OpenBench`).
    fn reopen_repeatedly(&mut self, benchmark: &Benchmark) -> Result<Totals, Failure> {
        let sizes = Sizes::of(benchmark, &self.plan.flags);
        self.threads_so_far += 1;
        self.flush_unlogged()?;
        // No handle may keep the first database open here.
        let mut recorder = Recorder::start(0, keep(&self.plan), progress(&self.plan, None, None));
        for _ in 0..sizes.keys {
            self.database.db.close().map_err(Failure::during("close"))?;
            self.database.db = open(&self.plan)?;
            recorder.finished(1, Operation::Other);
        }
        Ok(recorder.stop())
    }

    /// Flushes unlogged writes, as RocksDB does in its close.
    fn flush_unlogged(&self) -> Result<(), Failure> {
        if self.plan.flags.disable_wal {
            self.database.db.flush().map_err(Failure::during("flush"))?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        if self.plan.flags.statistics {
            write!(self.out, "{}", statistics_lines(&self.database.db.stats()))?;
        }
        self.out.flush()?;
        if let Some(evidence) = self.evidence.take() {
            evidence.write()?;
        }
        self.flush_unlogged()?;
        self.database.db.close().map_err(Failure::during("close"))
    }
}

/// Returns the number of counted threads. The writer of `timeseries` is one of `--threads`.
fn counted_threads(benchmark: &Benchmark, given: usize) -> usize {
    match benchmark.what.beside() {
        _ if benchmark.single => 1,
        Some(Beside::Series) => (given - 1).max(1),
        _ => given,
    }
}

fn value_source(plan: &Plan, sizes: &Sizes) -> ValueSource {
    let flags = &plan.flags;
    let largest = [
        sizes.values.most(),
        sizes.block_size,
        flags.disposable_entries_value_size as usize,
        flags.persistent_entries_value_size as usize,
    ];
    let largest = largest.into_iter().max().unwrap_or(0);
    ValueSource::new(flags.compression_ratio, flags.same_value_percentage, largest)
}

fn keep(plan: &Plan) -> Keep {
    match (&plan.report, plan.flags.histogram) {
        (Some(_), _) => Keep::LatencyAndTime,
        (None, true) => Keep::Latency,
        (None, false) => Keep::Nothing,
    }
}

fn progress(plan: &Plan, database: Option<&Observed>, counter: Option<Counter>) -> Progress {
    Progress {
        pace: Pace::new(&plan.flags),
        at_least: Duration::from_secs(plan.flags.stats_interval_seconds),
        stats_of: database.filter(|_| plan.flags.stats_per_interval > 0).cloned(),
        counter,
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
