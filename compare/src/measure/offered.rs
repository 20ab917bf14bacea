//! A rate at which the threads of a run together offer operations.
//!
//! Each operation has a due time on one schedule for all threads. A thread takes the next operation
//! and waits until it is due. An operation that comes late does not move the later ones: after a
//! stall, the threads make up what they missed. So two engines get the same load. The time of an
//! operation begins when it is due, so it includes the wait behind a stall.

use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::recorder::{Recorder, Ticks};

/// A schedule of operations.
#[derive(Debug)]
pub struct OfferedRate {
    a_second: u64,
    operations: u64,
    next: AtomicU64,
    begun: OnceLock<Ticks>,
}

impl OfferedRate {
    /// Makes the schedule of `operations`. It begins with the first call of [`OfferedRate::wait`].
    pub fn new(a_second: u64, operations: u64) -> OfferedRate {
        OfferedRate { a_second, operations, next: AtomicU64::new(0), begun: OnceLock::new() }
    }

    /// Takes the next operation, waits until it is due, and returns its number; `None` after the
    /// last one.
    pub fn wait(&self, recorder: &mut Recorder) -> Option<u64> {
        let begun = *self.begun.get_or_init(|| recorder.now());
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number >= self.operations {
            return None;
        }
        recorder.begin_when_due(begun, self.due(number));
        Some(number)
    }

    /// Returns when an operation is due, in nanoseconds since the beginning.
    fn due(&self, number: u64) -> u64 {
        let nanos = u128::from(number) * 1_000_000_000 / u128::from(self.a_second);
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// Lets sleeps of this thread end when they should. The kernel's default is to let them end up to
/// 50 microseconds later.
pub(super) fn wake_at_once() {
    // A system that refuses this makes all engines late alike.
    let _refused = rustix::thread::set_current_timer_slack(NonZero::new(1));
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::measure::{Clock, Recorded};

    #[test]
    fn operations_are_due_at_one_rate() {
        let rate = OfferedRate::new(1000, 4);
        assert_eq!([0, 1, 3].map(|number| rate.due(number)), [0, 1_000_000, 3_000_000]);
    }

    #[test]
    fn an_operation_that_comes_late_counts_from_its_due_time_and_moves_no_later_one() {
        let clock = Clock::new();
        let mut recorder = Recorder::new(&clock, 3);
        let rate = OfferedRate::new(100, 3);
        assert_eq!(rate.wait(&mut recorder), Some(0));
        thread::sleep(Duration::from_millis(25));
        recorder.finished();
        for number in [1, 2] {
            assert_eq!(rate.wait(&mut recorder), Some(number));
            recorder.finished();
        }
        assert_eq!(rate.wait(&mut recorder), None);
        let recorded = Recorded::of(&clock, vec![recorder.end()]);
        // Due after 0, 10 and 20 ms; finished after 25 ms.
        assert_eq!(recorded.operations, 3);
        assert!(recorded.slowest_micros.unwrap() >= 24_900.0, "{recorded:?}");
        let middle = recorded.latencies.iter().find(|latency| latency.percent == 50.0).unwrap();
        assert!(middle.micros >= 14_900.0, "{recorded:?}");
    }
}
