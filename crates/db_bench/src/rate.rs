//! Rates at which the threads of a benchmark together offer operations.
//!
//! Each operation has a due time on one schedule for all threads, and waits for it. An operation
//! that comes late does not move the later ones: after a stall, the threads make up what they
//! missed. So two engines get the same load, and their times of operations compare.
//!
//! As in RocksDB, the time of an operation begins when it is due or later, without the wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::flags::Flags;

/// The rates of one benchmark, for all of its threads.
#[derive(Debug)]
pub(crate) struct OfferedRates {
    /// Bytes of keys and values a second.
    pub writes: Option<OfferedRate>,
    /// Reads a second.
    pub reads: Option<OfferedRate>,
}

impl OfferedRates {
    /// Begins the schedules of the flags now.
    pub(crate) fn begin(flags: &Flags) -> OfferedRates {
        let rate = |a_second: u64| (a_second > 0).then(|| OfferedRate::begin(a_second));
        OfferedRates {
            writes: rate(flags.benchmark_write_rate_limit),
            reads: rate(flags.benchmark_read_rate_limit),
        }
    }
}

/// A schedule of units, such as bytes.
#[derive(Debug)]
pub(crate) struct OfferedRate {
    a_second: u64,
    begun: Instant,
    /// Units of the operations so far.
    offered: AtomicU64,
}

impl OfferedRate {
    fn begin(a_second: u64) -> OfferedRate {
        OfferedRate { a_second, begun: Instant::now(), offered: AtomicU64::new(0) }
    }

    /// Waits until the next operation is due, which has this many units.
    pub(crate) fn wait(&self, units: u64) {
        let left = self.due(units).saturating_duration_since(Instant::now());
        if !left.is_zero() {
            thread::sleep(left);
        }
    }

    fn due(&self, units: u64) -> Instant {
        let before = self.offered.fetch_add(units, Ordering::Relaxed);
        let nanos = u128::from(before) * 1_000_000_000 / u128::from(self.a_second);
        self.begun + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_all_threads_are_due_at_one_rate() {
        let rate = OfferedRate::begin(1000);
        let due: Vec<_> = (0..4).map(|_| (rate.due(500) - rate.begun).as_millis()).collect();
        assert_eq!(due, [0, 500, 1000, 1500]);
    }

    #[test]
    fn a_late_operation_moves_no_later_one() {
        let rate = OfferedRate::begin(100);
        rate.due(1);
        thread::sleep(Duration::from_millis(25));
        let start = Instant::now();
        rate.wait(1); // Due after 10 ms: at once.
        assert!(start.elapsed() < Duration::from_millis(10), "{:?}", start.elapsed());
        assert_eq!((rate.due(1) - rate.begun).as_millis(), 20);
    }

    #[test]
    fn a_rate_of_nothing_is_no_limit() {
        let parsed = crate::flags::parse(["--benchmark_write_rate_limit=5".into()]);
        let rates = OfferedRates::begin(&parsed.unwrap().flags);
        assert!(rates.reads.is_none() && rates.writes.is_some());
    }
}
