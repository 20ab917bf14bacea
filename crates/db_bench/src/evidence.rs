//! The data that `--report` collects in a run, and the page made from it.
//!
//! Every benchmark with a result line is a workload with one run. The program asks the process and
//! the database for their figures before the benchmark's clock starts and after it stops, so these
//! calls are not timed. When the clock stops, compactions may have work left. A `waitforcompaction`
//! after a benchmark adds the figures once no work is left.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use foldb::Db;
use foldb::events::{Event, EventListener};
use foldb::stats::Stats;
use foldb_report::results::{BackgroundEvent, Engine, Percentile, Results, Run, Workload, Written};
use foldb_report::system::{self, Moved};
use foldb_report::{page, results};

use crate::benchmark::Benchmark;
use crate::failure::Failure;
use crate::flags::{Flags, HONOURED};
use crate::plan::Plan;
use crate::report::Totals;

/// The engine's name in the results.
const FOLDB: &str = "foldb";
/// The percentiles of the results.
const PERCENTS: [f64; 6] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99];

/// Returns the file of `--report`, if the flag is given. Tries to open the file first, so that no
/// run ends without its page.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn path(flag: &str) -> Result<Option<PathBuf>, Failure> {
    if flag.is_empty() {
        return Ok(None);
    }
    let path = PathBuf::from(flag);
    let existed = path.symlink_metadata().is_ok();
    if path.is_dir() {
        return Err(Failure::new(format!("--report: {} is a directory", path.display())));
    }
    OpenOptions::new().append(true).create(true).open(&path).map_err(cannot_write(&path))?;
    if !existed {
        fs::remove_file(&path).map_err(cannot_write(&path))?;
    }
    Ok(Some(path))
}

fn cannot_write(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| Failure::new(format!("--report: cannot write {}: {error}", path.display()))
}

/// The results so far.
pub(crate) struct Evidence {
    path: PathBuf,
    directory: PathBuf,
    flags: Flags,
    background: Arc<Background>,
    results: Results,
    /// The state before the current or last benchmark.
    before: Snapshot,
    /// Start and end of the clock of the last benchmark.
    clock: Option<(Instant, Instant)>,
}

/// The figures of the process and the database at one moment.
#[derive(Default)]
struct Snapshot {
    moved: Option<Moved>,
    stats: Stats,
}

impl Snapshot {
    fn now(db: &Db) -> Snapshot {
        Snapshot { moved: Moved::now(), stats: db.stats() }
    }
}

impl Evidence {
    /// Returns a collector if `plan` asks for a page, and registers a listener with its database.
    pub(crate) fn begin(plan: &mut Plan) -> Option<Evidence> {
        let path = plan.report.clone()?;
        let background = Arc::new(Background::default());
        plan.options.listeners.push(background.clone());
        let results = Results {
            format: 1,
            command: std::env::args().collect::<Vec<_>>().join(" "),
            began: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            engines: vec![Engine {
                name: FOLDB.to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                absent: None,
            }],
            ..Results::default()
        };
        let (directory, flags) = (plan.directory.clone(), plan.flags.clone());
        let before = Snapshot::default();
        Some(Evidence { path, directory, flags, background, results, before, clock: None })
    }

    /// Notes the state before a benchmark.
    pub(crate) fn before(&mut self, db: &Db) {
        self.settle_events();
        system::forget_peak_memory();
        self.before = Snapshot::now(db);
    }

    /// Adds a benchmark whose clock has stopped.
    pub(crate) fn after(&mut self, benchmark: &Benchmark, totals: &Totals, db: &Db) {
        let peak_memory = system::peak_memory();
        let stats = db.stats();
        let workload = self.workload(benchmark);
        let length = totals.elapsed();
        let (latencies, slowest_micros) = latencies(totals);
        let mut run = Run {
            workload: workload.name.clone(),
            engine: FOLDB.to_owned(),
            repetition: 1,
            settings: given(&self.flags, |steers| steers.contains("ptions::"))
                .trim_start()
                .to_owned(),
            operations: totals.done.max(1),
            seconds: length.as_secs_f64(),
            latencies,
            slowest_micros,
            timeline: timeline(totals, length),
            peak_memory,
            owed_bytes: Some(stats.compaction_debt),
            digest: "not checked".to_owned(),
            ..Run::default()
        };
        self.tell_shape(&mut run, &stats);
        self.results.workloads.push(workload);
        self.results.runs.push(run);
        self.clock = Some((totals.started, totals.finished));
        self.settle_events();
    }

    /// Adds to the last run the flushes and compactions that began before its clock stopped. Some
    /// of them end only later.
    fn settle_events(&mut self) {
        let ended = self.background.take();
        if let (Some(run), Some((started, finished))) = (self.results.runs.last_mut(), self.clock) {
            run.events.extend(ended.iter().filter_map(|ended| ended.during(started, finished)));
        }
    }

    /// Adds the figures at rest to the last benchmark. No work was left after `time`.
    pub(crate) fn rested(&mut self, time: Duration, db: &Db) {
        self.settle_events();
        let Some(mut run) = self.results.runs.pop() else { return };
        // The first of two waits counts: after it, no work was left.
        run.seconds_to_rest.get_or_insert(time.as_secs_f64());
        self.tell_shape(&mut run, &db.stats());
        self.results.runs.push(run);
    }

    /// Returns the bytes written since the benchmark began, and the shape of the database now.
    fn tell_shape(&self, run: &mut Run, stats: &Stats) {
        run.written = self.written(stats);
        run.space = system::space(&self.directory);
        run.runs_per_read = u32::try_from(stats.runs_per_read()).ok();
    }

    fn written(&self, stats: &Stats) -> Option<Written> {
        let since = |of: fn(&Stats) -> u64| of(stats).saturating_sub(of(&self.before.stats));
        let user = since(|stats| stats.bytes_user);
        let own = since(Stats::bytes_written);
        let moved = Moved::now()?.since(self.before.moved?);
        // Bytes that no call wrote went through the log's mapped window.
        let mapped = own.saturating_sub(moved.calls);
        let written =
            Written { user, calls: moved.calls, mapped, device: moved.device, own: Some(own) };
        (user > 0).then_some(written)
    }

    /// Adds a row for `benchmark`. The second row of a name is `NAME/2`.
    fn workload(&self, benchmark: &Benchmark) -> Workload {
        let name = benchmark.name;
        let earlier = |workload: &&Workload| workload.name.split('/').next() == Some(name);
        let number = self.results.workloads.iter().filter(earlier).count() + 1;
        Workload {
            name: if number == 1 { name.to_owned() } else { format!("{name}/{number}") },
            about: benchmark.help.to_owned(),
            command: format!(
                "db_bench --benchmarks={name}{}",
                given(&self.flags, |steers| steers != "report" && steers != "Db::open")
            ),
            ..Workload::default()
        }
    }

    /// Writes the page.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(mut self) -> Result<(), Failure> {
        self.settle_events();
        self.results.machine = system::machine(&self.directory);
        let page = page::html(&self.results);
        fs::write(&self.path, page).map_err(cannot_write(&self.path))?;
        eprintln!("db_bench: the report is {}", self.path.display());
        Ok(())
    }
}

/// Returns a text such as ` --a=1 --b=2`: the flags without their default value, except
/// `benchmarks`, whose steered setting `shown` accepts, and the engine's options by their names.
fn given(flags: &Flags, shown: impl Fn(&str) -> bool) -> String {
    let defaults = Flags::default();
    let mut text = String::new();
    for flag in HONOURED.iter().filter(|flag| shown(flag.steers) && flag.name != "benchmarks") {
        let value = flags.show(flag.name);
        if value != defaults.show(flag.name) {
            text.push_str(&format!(" --{}={value}", flag.name));
        }
    }
    text.extend(flags.options.iter().map(|(name, value)| format!(" --{name}={value}")));
    text
}

fn latencies(totals: &Totals) -> (Vec<Percentile>, Option<f64>) {
    let Some(all) = totals.histograms.as_ref().and_then(|histograms| histograms.all()) else {
        return (Vec::new(), None);
    };
    let micros = |nanos: u64| nanos as f64 / 1000.0;
    let percentile =
        |percent: f64| Percentile { percent, micros: micros(all.value_at_percentile(percent)) };
    (PERCENTS.map(percentile).into(), Some(micros(all.max())))
}

fn timeline(totals: &Totals, length: Duration) -> Vec<results::Moment> {
    match &totals.timeline {
        Some(timeline) if totals.done > 0 => timeline.clone().moments(length),
        // The whole benchmark is one operation.
        _ => vec![results::Moment { at: length.as_secs_f64(), operations: 1 }],
    }
}

/// Flushes and compactions, from the events of the database.
#[derive(Debug, Default)]
struct Background(Mutex<Vec<Ended>>);

/// A flush or compaction.
#[derive(Clone, Debug)]
struct Ended {
    kind: &'static str,
    at: Instant,
    took: Duration,
    bytes: u64,
}

impl EventListener for Background {
    fn on_event(&self, event: &Event) {
        let (kind, took, bytes) = match event {
            Event::Flush { duration, bytes_written, .. } => ("flush", duration, bytes_written),
            Event::Compaction { duration, bytes_written, .. } => {
                ("compaction", duration, bytes_written)
            }
            _ => return,
        };
        let ended = Ended { kind, at: Instant::now(), took: *took, bytes: *bytes };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
    }
}

impl Background {
    fn take(&self) -> Vec<Ended> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ended {
    /// Returns its times in seconds of a clock that ran from `started` to `finished`, if the two
    /// overlap. A job that began earlier counts from the start.
    fn during(&self, started: Instant, finished: Instant) -> Option<BackgroundEvent> {
        let until = self.at.checked_duration_since(started)?;
        let began = until.saturating_sub(self.took);
        (began < finished.duration_since(started)).then(|| BackgroundEvent {
            kind: self.kind.to_owned(),
            began: began.as_secs_f64(),
            ended: until.as_secs_f64(),
            bytes: self.bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_flags_that_were_changed_are_told() {
        let options = vec![("write_buffer_size", "9".to_owned())];
        let flags = Flags { num: 7, sync: true, histogram: true, options, ..Flags::default() };
        let (all, of_engine) = (" --num=7 --sync=true", " --sync=true");
        let option = " --write_buffer_size=9";
        assert_eq!(given(&flags, |steers| steers != "report"), format!("{all}{option}"));
        let shown = given(&flags, |steers| steers.contains("ptions::"));
        assert_eq!(shown, format!("{of_engine}{option}"));
    }

    #[test]
    fn events_count_from_the_start_of_the_clock() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let during = |end, millis| {
            let took = Duration::from_millis(millis);
            let ended = Ended { kind: "flush", at: at(end), took, bytes: 9 };
            let event = ended.during(at(100), at(200))?;
            Some(((event.began * 1e3).round(), (event.ended * 1e3).round()))
        };
        assert_eq!(during(130, 20), Some((10.0, 30.0)));
        assert_eq!(during(105, 50), Some((0.0, 5.0)), "began before");
        assert_eq!(during(260, 70), Some((90.0, 160.0)), "ended after");
        assert_eq!(during(99, 50), None);
        assert_eq!(during(260, 50), None);
    }

    #[test]
    fn a_path_is_tried_without_leaving_anything() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name).display().to_string();
        assert!(path("").unwrap().is_none());
        assert!(path(&file("page.html")).unwrap().is_some());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        fs::write(file("old.html"), "old").unwrap();
        assert!(path(&file("old.html")).is_ok());
        assert_eq!(fs::read_to_string(file("old.html")).unwrap(), "old");
        for bad in [file("absent/page.html"), file("")] {
            let Err(Failure::Message(message)) = path(&bad) else { panic!("{bad} taken") };
            assert!(message.starts_with("--report"), "{message}");
        }
    }
}
