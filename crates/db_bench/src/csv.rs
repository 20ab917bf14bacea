//! The operations of each interval of a benchmark, as CSV in `--report_file`.
//!
//! Each benchmark writes the file anew, as RocksDB's does: a header, then one line an interval with
//! the seconds since the start and the operations that all threads ended in the interval.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::flags::Flags;

/// The first line of the file.
const HEADER: &str = "secs_elapsed,interval_qps";

/// Counts the operations of all threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Counts operations.
    #[inline]
    pub(crate) fn add(&self, operations: u64) {
        self.0.fetch_add(operations, Ordering::Relaxed);
    }
}

/// A thread that writes a line an interval, until this is dropped.
pub(crate) struct IntervalReport {
    counter: Counter,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl IntervalReport {
    /// Begins the file of the flags; `None` without `--report_interval_seconds`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn begin(flags: &Flags) -> Result<Option<IntervalReport>, Failure> {
        if flags.report_interval_seconds == 0 {
            return Ok(None);
        }
        let path = PathBuf::from(&flags.report_file);
        let interval = Duration::from_secs(flags.report_interval_seconds);
        let begun = IntervalReport::every(interval, &path);
        begun.map(Some).map_err(|error| {
            Failure::new(format!("--report_file: cannot write {}: {error}", path.display()))
        })
    }

    fn every(interval: Duration, path: &Path) -> io::Result<IntervalReport> {
        let mut file = File::create(path)?;
        writeln!(file, "{HEADER}")?;
        let counter = Counter::default();
        let (stop, stopped) = mpsc::channel();
        let (counted, started) = (counter.clone(), Instant::now());
        let thread = thread::spawn(move || {
            let mut before = 0;
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let now = counted.0.load(Ordering::Relaxed);
                let seconds = started.elapsed().as_secs_f64().round();
                if let Err(error) = writeln!(file, "{seconds},{}", now - before) {
                    eprintln!("db_bench: --report_file ends here: {error}");
                    return;
                }
                before = now;
            }
        });
        Ok(IntervalReport { counter, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns what the threads count with.
    pub(crate) fn counter(&self) -> Counter {
        self.counter.clone()
    }
}

impl Drop for IntervalReport {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has printed its message.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_have_the_operations_of_their_interval() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.csv");
        let report = IntervalReport::every(Duration::from_millis(20), &path).unwrap();
        report.counter().add(7);
        while fs::read_to_string(&path).unwrap().lines().count() < 4 {
            thread::sleep(Duration::from_millis(5));
        }
        drop(report);
        let text = fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("secs_elapsed,interval_qps"));
        let counts = lines.map(|line| line.split_once(',').unwrap().1.parse::<u64>().unwrap());
        assert_eq!(counts.sum::<u64>(), 7);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let flags = Flags {
            report_file: "/no/such/directory/report.csv".to_owned(),
            report_interval_seconds: 1,
            ..Flags::default()
        };
        let Err(Failure::Message(message)) = IntervalReport::begin(&flags) else { panic!("taken") };
        assert!(message.starts_with("--report_file: cannot write /no/such"), "{message}");
    }
}
