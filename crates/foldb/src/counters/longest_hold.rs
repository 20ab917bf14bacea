//! How long locks were held that readers and writers may wait for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldb_env::thread_cpu_time;

/// The longest time that a lock was held since somebody asked.
///
/// Time on the clock is what others may have waited. It has times in it when the holder did not
/// have the processor; its processor time has not.
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
    /// The longer one of each.
    pub(crate) fn max(self, other: Hold) -> Hold {
        Hold { wall: self.wall.max(other.wall), cpu: self.cpu.max(other.cpu) }
    }
}

impl LongestHold {
    /// Does `work`, for which the caller holds the lock.
    pub(crate) fn measure<T>(&self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), thread_cpu_time());
        let done = work();
        note(&self.wall_nanos, wall.elapsed());
        note(&self.cpu_nanos, thread_cpu_time().saturating_sub(cpu));
        done
    }

    /// The longest since the last call.
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
    fn the_longest_is_told_once() {
        let longest = LongestHold::default();
        longest.measure(|| std::thread::sleep(Duration::from_millis(5)));
        longest.measure(|| ());
        let hold = longest.take();
        assert!(hold.wall >= Duration::from_millis(5), "{hold:?}");
        assert!(hold.cpu < hold.wall, "asleep, it had no processor: {hold:?}");
        assert_eq!(longest.take(), Hold::default());
    }
}
