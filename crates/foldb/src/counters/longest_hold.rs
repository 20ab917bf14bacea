//! Measures how long threads hold the locks that readers and writers may wait for.
//!
//! All accesses are `Relaxed`: nothing else depends on the times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldb_env::thread_cpu_time;

/// The longest time that a lock was held since the last query.
///
/// The wall time is what other threads may have waited. It includes time in which the holder was
/// off the processor; the processor time does not.
#[derive(Debug, Default)]
pub(crate) struct LongestHold {
    wall_nanos: AtomicU64,
    cpu_nanos: AtomicU64,
}

/// How long a lock was held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

impl Hold {
    /// Returns the longer of both, for each of the two times.
    pub(crate) fn max(self, other: Hold) -> Hold {
        Hold { wall: self.wall.max(other.wall), cpu: self.cpu.max(other.cpu) }
    }
}

impl LongestHold {
    /// Runs `work`, for which the caller holds the lock.
    pub(crate) fn measure<T>(&self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), thread_cpu_time());
        let done = work();
        note(&self.wall_nanos, wall.elapsed());
        note(&self.cpu_nanos, thread_cpu_time().saturating_sub(cpu));
        done
    }

    /// Returns the longest hold since the last call.
    pub(crate) fn take(&self) -> Hold {
        let take = |nanos: &AtomicU64| Duration::from_nanos(nanos.swap(0, Ordering::Relaxed));
        Hold { wall: take(&self.wall_nanos), cpu: take(&self.cpu_nanos) }
    }
}

fn note(longest: &AtomicU64, time: Duration) {
    longest.fetch_max(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_hold_is_returned_once() {
        let longest = LongestHold::default();
        longest.measure(|| std::thread::sleep(Duration::from_millis(5)));
        longest.measure(|| ());
        let hold = longest.take();
        assert!(hold.wall >= Duration::from_millis(5), "{hold:?}");
        assert!(hold.cpu < hold.wall, "asleep, it had no processor: {hold:?}");
        assert_eq!(longest.take(), Hold::default());
    }
}
