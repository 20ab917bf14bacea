//! Rates at which the threads of a benchmark together offer operations.
//!
//! Each operation has a due time on one schedule for all threads, and waits for it. An operation
//! that comes late does not move the later ones: after a stall, the threads make up what they
//! missed. So two engines get the same load, and their times of operations compare.
//!
//! As in RocksDB, the time of an operation begins when it is due or later, without the wait. A rate
//! may follow a sine over time. It then keeps its value for an interval.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::benchmark::Work;
use crate::flags::Flags;

/// The rates of one benchmark, for all of its threads.
#[derive(Debug)]
pub(crate) struct OfferedRates {
    /// Writes a second, in [`OfferedRates::write_unit`].
    pub writes: Option<OfferedRate>,
    /// Reads a second.
    pub reads: Option<OfferedRate>,
    /// What the rate of writes counts.
    pub write_unit: WriteUnit,
}

/// What a rate of writes counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteUnit {
    /// Bytes of keys and values.
    Bytes,
    /// Entries.
    Entries,
}

impl OfferedRates {
    /// Begins the schedules of the flags now.
    pub(crate) fn begin(work: Option<Work>, flags: &Flags) -> OfferedRates {
        if work == Some(Work::MixGraph) && flags.sine_mix_rate {
            return OfferedRates::of_mix(flags);
        }
        let fixed = |a_second: u64| (a_second > 0).then_some(Rate::Fixed(a_second));
        let is_fill = matches!(work, Some(Work::FillInOrder | Work::FillRandom | Work::FillUnique));
        let writes = if is_fill && flags.sine_write_rate {
            Some(Rate::Sine(Sine::new(flags, flags.sine_write_rate_interval_milliseconds)))
        } else {
            fixed(flags.benchmark_write_rate_limit)
        };
        OfferedRates {
            writes: writes.map(OfferedRate::begin),
            reads: fixed(flags.benchmark_read_rate_limit).map(OfferedRate::begin),
            write_unit: WriteUnit::Bytes,
        }
    }

    /// The rate of `--sine_mix_rate`, shared out by the ratios of `mixgraph`.
    fn of_mix(flags: &Flags) -> OfferedRates {
        let (reads, puts) = (flags.mix_get_ratio + flags.mix_seek_ratio, flags.mix_put_ratio);
        let all = Sine {
            noise: flags.sine_mix_rate_noise,
            ..Sine::new(flags, flags.sine_mix_rate_interval_milliseconds)
        };
        let part = |ratio: f64| {
            let share = ratio / (reads + puts);
            (ratio > 0.0).then(|| OfferedRate::begin(Rate::Sine(Sine { share, ..all })))
        };
        OfferedRates { writes: part(puts), reads: part(reads), write_unit: WriteUnit::Entries }
    }
}

/// Units a second.
#[derive(Clone, Copy, Debug)]
enum Rate {
    Fixed(u64),
    Sine(Sine),
}

/// The rate `share * (a * sin(b * t + c) + d)`, with noise of up to `noise * a / 2`.
#[derive(Clone, Copy, Debug)]
struct Sine {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    share: f64,
    noise: f64,
    /// How long the rate keeps its value.
    interval: Duration,
}

impl Sine {
    fn new(flags: &Flags, interval_millis: u64) -> Sine {
        let interval = Duration::from_millis(interval_millis.max(1));
        let (a, b, c, d) = (flags.sine_a, flags.sine_b, flags.sine_c, flags.sine_d);
        Sine { a, b, c, d, share: 1.0, noise: 0.0, interval }
    }

    /// Returns the rate after `time`, at least 1 a second.
    fn at(&self, time: Duration) -> f64 {
        let step = (time.as_nanos() / self.interval.as_nanos()) as u64;
        let seconds = step as f64 * self.interval.as_secs_f64();
        let rate = self.a * (self.b * seconds + self.c).sin() + self.d;
        // Between -1/2 and 1/2, another number in each step.
        let random = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) as f64 / u64::MAX as f64 - 0.5;
        let noisy = rate + random * self.a * self.noise;
        (self.share * if noisy < 0.0 { rate } else { noisy }).max(1.0)
    }
}

/// A schedule of units, such as bytes.
#[derive(Debug)]
pub(crate) struct OfferedRate {
    rate: Rate,
    begun: Instant,
    /// When the next operation is due, from the beginning.
    next: Mutex<Duration>,
}

impl OfferedRate {
    fn begin(rate: Rate) -> OfferedRate {
        OfferedRate { rate, begun: Instant::now(), next: Mutex::new(Duration::ZERO) }
    }

    /// Waits until the next operation is due, which has this many units.
    pub(crate) fn wait(&self, units: u64) {
        let left = self.due(units).saturating_duration_since(Instant::now());
        if !left.is_zero() {
            thread::sleep(left);
        }
    }

    fn due(&self, units: u64) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let due = *next;
        let a_second = match &self.rate {
            Rate::Fixed(a_second) => *a_second as f64,
            Rate::Sine(sine) => sine.at(due),
        };
        let takes = Duration::try_from_secs_f64(units as f64 / a_second);
        *next = due.saturating_add(takes.unwrap_or(Duration::MAX));
        self.begun.checked_add(due).unwrap_or(self.begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_all_threads_are_due_at_one_rate() {
        let rate = OfferedRate::begin(Rate::Fixed(1000));
        let due: Vec<_> = (0..4).map(|_| (rate.due(500) - rate.begun).as_millis()).collect();
        assert_eq!(due, [0, 500, 1000, 1500]);
    }

    #[test]
    fn a_late_operation_moves_no_later_one() {
        let rate = OfferedRate::begin(Rate::Fixed(100));
        rate.due(1);
        thread::sleep(Duration::from_millis(25));
        let start = Instant::now();
        rate.wait(1); // Due after 10 ms: at once.
        assert!(start.elapsed() < Duration::from_millis(10), "{:?}", start.elapsed());
        assert_eq!((rate.due(1) - rate.begun).as_millis(), 20);
    }

    fn flags(arguments: &[&str]) -> Flags {
        crate::flags::parse(arguments.iter().map(Into::into)).unwrap().flags
    }

    #[test]
    fn a_rate_of_nothing_is_no_limit() {
        let rates = OfferedRates::begin(None, &flags(&["--benchmark_write_rate_limit=5"]));
        assert!(rates.reads.is_none() && rates.writes.is_some());
    }

    /// The due times follow from the schedule alone, so no test waits for a clock.
    #[test]
    fn a_sine_changes_the_rate_after_each_interval() {
        let flags = flags(&[
            "--sine_write_rate",
            "--sine_a=1000",
            "--sine_b=1.5707963267948966",
            "--sine_d=2000",
            "--sine_write_rate_interval_milliseconds=1000",
        ]);
        let rates = OfferedRates::begin(Some(Work::FillRandom), &flags);
        let rate = rates.writes.unwrap();
        let mut in_second = [0_u64; 4];
        loop {
            let second = (rate.due(1) - rate.begun).as_secs() as usize;
            match in_second.get_mut(second) {
                Some(count) => *count += 1,
                None => break,
            }
        }
        for (count, expected) in in_second.into_iter().zip([2000_u64, 3000, 2000, 1000]) {
            assert!(count.abs_diff(expected) <= 1, "{in_second:?}");
        }
    }

    #[test]
    fn mixgraph_shares_its_rate_out_by_the_mix() {
        let flags = flags(&[
            "--sine_mix_rate",
            "--sine_a=0",
            "--sine_d=1000",
            "--mix_get_ratio=0.7",
            "--mix_put_ratio=0.25",
            "--mix_seek_ratio=0.05",
        ]);
        let rates = OfferedRates::begin(Some(Work::MixGraph), &flags);
        assert_eq!(rates.write_unit, WriteUnit::Entries);
        let gap = |rate: &OfferedRate| {
            rate.due(1);
            (rate.due(1) - rate.begun).as_micros()
        };
        assert_eq!(gap(&rates.reads.unwrap()), 1333);
        assert_eq!(gap(&rates.writes.unwrap()), 4000);
    }
}
