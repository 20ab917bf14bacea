//! The counts and times of one thread.
//!
//! With `--histogram` or `--report`, a recorder reads the clock once for each operation. Without
//! them it reads the clock only for progress lines, and an operation costs an addition and a
//! comparison.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant, SystemTime};

use foldb_report::timeline::Timeline;

use crate::csv::Counter;
use crate::flags::Flags;
use crate::histogram::{Histograms, Operation};
use crate::observed::Observed;
use crate::report::Totals;

/// Which times of each operation a recorder keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Nothing.
    Nothing,
    /// Its duration, for `--histogram`.
    Latency,
    /// Its duration and its end, for `--report`.
    LatencyAndTime,
}

/// A thread's progress lines on stderr.
#[derive(Clone)]
pub(crate) struct Progress {
    /// When to print a progress line.
    pub pace: Pace,
    /// The least time between two lines of [`Pace::Every`].
    pub at_least: Duration,
    /// The database whose counters the first thread prints after its lines; `None` prints no
    /// counters.
    pub stats_of: Option<Observed>,
    /// Counts the operations of all threads for `--report_file`.
    pub counter: Option<Counter>,
}

/// How often to print progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Never.
    Silent,
    /// On a terminal, at growing intervals, each line over the one before.
    Growing,
    /// One line after this many operations.
    Every(u64),
}

impl Pace {
    /// Returns the pace of `--stats_interval`. Without the flag, only a terminal shows progress.
    /// With `--stats_interval_seconds`, a thread looks at the clock once in 1000 operations.
    pub(crate) fn new(flags: &Flags) -> Pace {
        match flags.stats_interval {
            _ if !flags.progress_reports => Pace::Silent,
            _ if flags.stats_interval_seconds > 0 => Pace::Every(1000),
            0 if std::io::stderr().is_terminal() => Pace::Growing,
            0 => Pace::Silent,
            interval => Pace::Every(interval),
        }
    }

    /// Returns the count after `done` at which to print next.
    fn next(self, done: u64) -> u64 {
        match self {
            Pace::Silent => u64::MAX,
            Pace::Growing => done + growing_step(done),
            Pace::Every(interval) => (done / interval + 1).saturating_mul(interval),
        }
    }
}

/// Returns the interval between two progress lines: 100 at first, then 500, 1000, ... up to 100000.
fn growing_step(done: u64) -> u64 {
    match done {
        0..1_000 => 100,
        1_000..5_000 => 500,
        5_000..10_000 => 1_000,
        10_000..50_000 => 5_000,
        50_000..100_000 => 10_000,
        100_000..500_000 => 50_000,
        _ => 100_000,
    }
}

/// The counts and times of one thread.
pub(crate) struct Recorder {
    done: u64,
    tell_at: u64,
    times: Option<Times>,
    bytes: u64,
    message: String,
    notes: Vec<String>,
    started: Instant,
    thread: usize,
    progress: Progress,
    told: Told,
}

/// The times of operations.
struct Times {
    histograms: Histograms,
    timeline: Option<Timeline<u64>>,
    last_operation: Instant,
}

impl Times {
    fn start(keep: Keep, now: Instant) -> Option<Times> {
        (keep != Keep::Nothing).then(|| Times {
            histograms: Histograms::default(),
            timeline: (keep == Keep::LatencyAndTime).then(Timeline::default),
            last_operation: now,
        })
    }

    #[inline]
    fn record(&mut self, operations: u64, kind: Operation, started: Instant) {
        let now = Instant::now();
        self.histograms.record(kind, now - self.last_operation);
        self.last_operation = now;
        if let Some(timeline) = &mut self.timeline {
            timeline.record(now - started, &operations);
        }
    }
}

/// The figures of the last progress line.
#[derive(Debug)]
struct Told {
    done: u64,
    at: Instant,
}

impl Recorder {
    /// Starts the `thread`-th thread's clock, counted from 0 within the benchmark.
    pub(crate) fn start(thread: usize, keep: Keep, progress: Progress) -> Recorder {
        let now = Instant::now();
        Recorder {
            done: 0,
            tell_at: progress.pace.next(0),
            times: Times::start(keep, now),
            bytes: 0,
            message: String::new(),
            notes: Vec::new(),
            started: now,
            thread,
            progress,
            told: Told { done: 0, at: now },
        }
    }

    /// Counts the `operations` of one call.
    #[inline]
    pub(crate) fn finished(&mut self, operations: u64, kind: Operation) {
        if let Some(times) = &mut self.times {
            times.record(operations, kind, self.started);
        }
        if let Some(counter) = &self.progress.counter {
            counter.add(operations);
        }
        self.done += operations;
        if self.done >= self.tell_at {
            self.tell();
        }
    }

    /// Begins an operation whose time leaves out what came before.
    #[inline]
    pub(crate) fn begins(&mut self) {
        if let Some(times) = &mut self.times {
            times.last_operation = Instant::now();
        }
    }

    /// Counts bytes of keys and values.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Operations so far.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Appends `message` to the end of the result line.
    pub(crate) fn message(&mut self, message: &str) {
        if !self.message.is_empty() {
            self.message.push(' ');
        }
        self.message.push_str(message);
    }

    /// Notes a line to print before the result line.
    pub(crate) fn note(&mut self, line: impl Into<String>) {
        self.notes.push(line.into());
    }

    /// Starts the clock again, and forgets what was counted.
    pub(crate) fn restart(&mut self) {
        let keep = match &self.times {
            None => Keep::Nothing,
            Some(times) if times.timeline.is_none() => Keep::Latency,
            Some(_) => Keep::LatencyAndTime,
        };
        *self = Recorder::start(self.thread, keep, self.progress.clone());
    }

    /// Stops the clock.
    pub(crate) fn stop(self) -> Totals {
        let finished = Instant::now();
        if self.progress.pace == Pace::Growing {
            eprint!("\r{:50}\r", "");
        }
        let (histograms, timeline) = match self.times {
            Some(times) => (Some(times.histograms), times.timeline),
            None => (None, None),
        };
        Totals {
            done: self.done,
            bytes: self.bytes,
            busy: finished - self.started,
            started: self.started,
            finished,
            message: self.message,
            notes: self.notes,
            histograms,
            timeline,
        }
    }

    #[cold]
    fn tell(&mut self) {
        self.tell_at = self.progress.pace.next(self.done);
        match self.progress.pace {
            Pace::Silent => {}
            Pace::Growing => eprint!("\r... finished {} ops{:30}", self.done, ""),
            Pace::Every(_) => self.tell_line(),
        }
    }

    fn tell_line(&mut self) {
        let now = Instant::now();
        let (since_told, since_start) = (now - self.told.at, now - self.started);
        if since_told < self.progress.at_least {
            return;
        }
        let fresh = self.done - self.told.done;
        eprintln!(
            "{} ... thread {}: ({fresh},{}) ops and ({:.1},{:.1}) ops/second in ({:.6},{:.6}) \
             seconds",
            humantime::format_rfc3339_seconds(SystemTime::now()),
            self.thread,
            self.done,
            rate(fresh, since_told),
            rate(self.done, since_start),
            since_told.as_secs_f64(),
            since_start.as_secs_f64(),
        );
        if let (0, Some(observed)) = (self.thread, &self.progress.stats_of) {
            eprint!("{}", observed.lines());
        }
        self.told = Told { done: self.done, at: now };
    }
}

/// Operations a second.
fn rate(operations: u64, time: Duration) -> f64 {
    operations as f64 / time.max(Duration::from_nanos(1)).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(keep: Keep) -> Recorder {
        let (pace, at_least) = (Pace::Silent, Duration::ZERO);
        Recorder::start(0, keep, Progress { pace, at_least, stats_of: None, counter: None })
    }

    #[test]
    fn counts_operations_bytes_and_messages() {
        let mut recorder = recorder(Keep::Nothing);
        recorder.finished(10, Operation::Write);
        recorder.finished(1, Operation::Write);
        recorder.bytes(24);
        recorder.message("(1000 ops)");
        recorder.message("(x)");
        let totals = recorder.stop();
        assert_eq!((totals.done, totals.bytes), (11, 24));
        assert_eq!(totals.message, "(1000 ops) (x)");
        assert!(totals.histograms.is_none() && totals.timeline.is_none());
    }

    #[test]
    fn histogram_has_one_entry_a_call() {
        let mut recorder = recorder(Keep::Latency);
        recorder.finished(10, Operation::Write);
        recorder.finished(10, Operation::Write);
        let blocks = recorder.stop().histograms.unwrap().blocks();
        assert!(blocks.starts_with("Microseconds per write:\nCount: 2 "), "{blocks}");
    }

    #[test]
    fn timeline_has_every_operation_of_a_call() {
        let mut recorder = recorder(Keep::LatencyAndTime);
        recorder.finished(10, Operation::Write);
        recorder.finished(5, Operation::Read);
        let totals = recorder.stop();
        let moments = totals.timeline.clone().unwrap().moments(totals.elapsed());
        assert_eq!(moments.iter().map(|moment| moment.operations).sum::<u64>(), 15);
        assert_eq!(totals.histograms.unwrap().all().unwrap().len(), 2);
    }

    #[test]
    fn a_restart_forgets_what_was_counted() {
        let mut recorder = recorder(Keep::Latency);
        recorder.finished(10, Operation::Write);
        recorder.bytes(24);
        recorder.restart();
        recorder.finished(1, Operation::Seek);
        let totals = recorder.stop();
        assert_eq!((totals.done, totals.bytes), (1, 0));
        assert!(totals.histograms.unwrap().blocks().starts_with("Microseconds per seek:\n"));
    }

    #[test]
    fn pace_tells_at_multiples_also_when_batches_jump_over_one() {
        assert_eq!(Pace::Every(1000).next(0), 1000);
        assert_eq!(Pace::Every(1000).next(1999), 2000);
        assert_eq!(Pace::Every(1000).next(2000), 3000);
        assert_eq!(Pace::Silent.next(5), u64::MAX);
        assert_eq!(Pace::Growing.next(900), 1000);
        assert_eq!(Pace::Growing.next(1_000_000), 1_100_000);
    }
}
