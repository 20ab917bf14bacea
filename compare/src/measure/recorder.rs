//! Records the latency of every operation, and the rate over time.
//!
//! A thread reads the clock once for each operation. The difference of two readings is the time of
//! one operation, including the harness's own work for it. The clock is the processor's counter;
//! ticks are converted to seconds after the run.

use std::thread;
use std::time::Duration;

use foldb_report::results::{Moment, Percentile};
use hdrhistogram::Histogram;

use super::offered::wake_at_once;

/// Points in a timeline.
const MOMENTS: u64 = 200;
/// The largest recorded latency, in ticks: minutes on every processor.
const LARGEST: u64 = 1 << 42;
/// Significant digits of a latency.
const DIGITS: u8 = 3;
/// The reported percentiles.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// A reading of the processor's counter.
pub type Ticks = u64;

/// The clock of one run, shared by its threads.
#[derive(Clone, Debug)]
pub struct Clock {
    clock: quanta::Clock,
    began: u64,
}

impl Clock {
    /// Calibrates the clock, which takes some milliseconds.
    pub fn new() -> Clock {
        let clock = quanta::Clock::new();
        let began = clock.raw();
        Clock { clock, began }
    }

    /// Starts the run.
    pub fn begin(&mut self) {
        self.began = self.clock.raw();
    }

    fn nanos_to(&self, raw: u64) -> u64 {
        self.clock.delta_as_nanos(self.began, raw)
    }

    fn ticks(&self, nanos: u64) -> Ticks {
        const MANY: u64 = 1 << 40;
        let ticks = u128::from(nanos) * u128::from(MANY) / u128::from(self.nanos(MANY).max(1));
        Ticks::try_from(ticks).unwrap_or(Ticks::MAX)
    }

    fn nanos(&self, ticks: u64) -> u64 {
        self.clock.delta_as_nanos(0, ticks)
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

/// The records of one thread.
#[derive(Debug)]
pub struct Recorder {
    clock: Clock,
    last: u64,
    done: u64,
    mark_every: u64,
    mark_at: u64,
    /// For each mark of the timeline: the time, and the operations since the mark before.
    marks: Vec<(u64, u64)>,
    marked: u64,
    ticks: Histogram<u64>,
}

impl Recorder {
    /// Makes the recorder of a thread that will do `operations`.
    pub fn new(clock: &Clock, operations: u64) -> Recorder {
        let mark_every = operations.div_ceil(MOMENTS).max(1);
        Recorder {
            clock: clock.clone(),
            last: clock.began,
            done: 0,
            mark_every,
            mark_at: mark_every,
            marks: Vec::with_capacity(MOMENTS as usize + 1),
            marked: 0,
            ticks: Histogram::new_with_bounds(1, LARGEST, DIGITS).expect("these bounds are right"),
        }
    }

    /// Starts the thread's first operation.
    #[inline]
    pub fn begin(&mut self) {
        self.last = self.clock.clock.raw();
    }

    /// Returns the time.
    pub fn now(&self) -> Ticks {
        self.clock.clock.raw()
    }

    /// Waits until `nanos` nanoseconds after `begun`. The next operation starts at that moment,
    /// even if the moment has passed.
    pub fn begin_when_due(&mut self, begun: Ticks, nanos: u64) {
        if self.done == 0 {
            wake_at_once();
        }
        let due = begun + self.clock.ticks(nanos);
        let mut now = self.now();
        while now < due {
            thread::sleep(Duration::from_nanos(self.clock.nanos(due - now)));
            now = self.now();
        }
        self.last = due;
    }

    /// Records the end of an operation.
    #[inline]
    pub fn finished(&mut self) {
        let now = self.clock.clock.raw();
        self.ticks.saturating_record(now.wrapping_sub(self.last));
        self.last = now;
        self.done += 1;
        if self.done == self.mark_at {
            self.mark(now);
        }
    }

    #[cold]
    fn mark(&mut self, now: u64) {
        self.marks.push((now, self.done - self.marked));
        self.marked = self.done;
        self.mark_at = self.done + self.mark_every;
    }

    /// Ends the thread: adds the operations since the last mark.
    pub fn end(mut self) -> Recorder {
        if self.done > self.marked {
            self.mark(self.last);
        }
        self
    }
}

/// The records of all threads of a run.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Operations.
    pub operations: u64,
    /// From the beginning of the run to the last operation of the last thread.
    pub seconds: f64,
    /// Percentiles.
    pub latencies: Vec<Percentile>,
    /// The slowest operation, microseconds.
    pub slowest_micros: Option<f64>,
    /// Operations in each interval.
    pub timeline: Vec<Moment>,
}

impl Recorded {
    /// Combines the records of the threads.
    pub fn of(clock: &Clock, threads: Vec<Recorder>) -> Recorded {
        let operations = threads.iter().map(|thread| thread.done).sum();
        let end = threads.iter().map(|thread| thread.last).max().unwrap_or(clock.began);
        let count = threads.len();
        let mut ticks: Histogram<u64> =
            Histogram::new_with_bounds(1, LARGEST, DIGITS).expect("these bounds are right");
        let mut marks = Vec::new();
        for thread in threads {
            ticks.add(&thread.ticks).expect("all have the same bounds");
            marks.extend(thread.marks);
        }
        let micros = |ticks: u64| clock.nanos(ticks) as f64 / 1e3;
        let percentile = |percent| Percentile {
            percent,
            micros: micros(ticks.value_at_quantile(percent / 100.0)),
        };
        let any = !ticks.is_empty();
        Recorded {
            operations,
            seconds: clock.nanos_to(end) as f64 / 1e9,
            latencies: if any { PERCENTILES.map(percentile).to_vec() } else { Vec::new() },
            slowest_micros: any.then(|| micros(ticks.max())),
            timeline: timeline(clock, marks, count),
        }
    }
}

/// Combines marks into moments: one mark of each thread makes one moment.
fn timeline(clock: &Clock, mut marks: Vec<(u64, u64)>, threads: usize) -> Vec<Moment> {
    marks.sort_unstable();
    let moment = |marks: &[(u64, u64)]| Moment {
        at: clock.nanos_to(marks[marks.len() - 1].0) as f64 / 1e9,
        operations: marks.iter().map(|(_, operations)| operations).sum(),
    };
    marks.chunks(threads.max(1)).map(moment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(threads: usize, operations: u64) -> Recorded {
        let mut clock = Clock::new();
        clock.begin();
        let thread = |_| {
            let mut recorder = Recorder::new(&clock, operations);
            (0..operations).for_each(|_| recorder.finished());
            recorder.end()
        };
        let threads = (0..threads).map(thread).collect();
        Recorded::of(&clock, threads)
    }

    #[test]
    fn every_operation_is_in_the_timeline_once() {
        for (threads, operations) in [(1, 7), (1, 1000), (4, 1001), (1, 200)] {
            let recorded = record(threads, operations);
            let sum: u64 = recorded.timeline.iter().map(|moment| moment.operations).sum();
            assert_eq!(sum, threads as u64 * operations);
            assert_eq!(recorded.operations, sum);
            assert!(recorded.timeline.len() <= 202, "{}", recorded.timeline.len());
            assert!(recorded.timeline.is_sorted_by(|a, b| a.at <= b.at));
        }
    }

    #[test]
    fn percentiles_grow_up_to_the_slowest() {
        let recorded = record(1, 10_000);
        assert!(recorded.latencies.is_sorted_by(|a, b| a.micros <= b.micros));
        let last = recorded.latencies.last().unwrap();
        assert!(last.micros <= recorded.slowest_micros.unwrap() * 1.001);
        assert!(recorded.seconds >= recorded.slowest_micros.unwrap() / 1e6);
    }

    #[test]
    fn nothing_recorded_has_no_percentiles() {
        let recorded = record(1, 0);
        assert!(recorded.latencies.is_empty() && recorded.slowest_micros.is_none());
    }
}
