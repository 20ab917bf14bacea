//! Time: a monotonic clock for durations and pacing, and the time of day for expiry.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// A clock, and a way to wait by it.
pub trait Clock: Debug + Send + Sync {
    /// Returns the time since some fixed moment; it never goes back.
    fn now(&self) -> Duration;
    /// Returns the time of day since 1970 (UTC), by which entries expire. It may go back. The
    /// default implementation asks the machine.
    fn time_of_day(&self) -> Duration {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }
    /// Waits for `duration`.
    fn sleep(&self, duration: Duration);
}

/// The machine's monotonic clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, duration: Duration) {
        nap(duration);
    }
}

/// Puts the calling thread to sleep by the machine's time, whatever clock the engine uses. Use it
/// between two checks of a lock: a simulated clock would not end that wait.
pub fn nap(duration: Duration) {
    std::thread::sleep(duration);
}

/// Returns the processor time of the calling thread. Unlike wall time it does not grow while other
/// threads have the processor. Zero on systems that do not report it, and under Miri.
pub fn thread_cpu_time() -> Duration {
    #[cfg(all(not(miri), any(target_os = "linux", target_os = "android", target_os = "macos")))]
    {
        use rustix::time::{ClockId, clock_gettime};
        Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
    }
    #[cfg(any(miri, not(any(target_os = "linux", target_os = "android", target_os = "macos"))))]
    {
        Duration::ZERO
    }
}

/// A clock that stands still until [`ManualClock::advance`] or [`Clock::sleep`] moves it. `sleep`
/// returns at once.
///
/// ```
/// use std::time::Duration;
/// use foldb_env::{Clock, ManualClock};
///
/// let clock = ManualClock::default();
/// clock.sleep(Duration::from_secs(3));
/// clock.advance(Duration::from_secs(1));
/// assert_eq!(clock.now(), Duration::from_secs(4));
/// ```
#[derive(Debug)]
pub struct ManualClock {
    nanos: AtomicU64,
    /// The time of day at zero, in seconds since 1970.
    origin: AtomicU64,
}

impl Default for ManualClock {
    fn default() -> ManualClock {
        ManualClock { nanos: AtomicU64::new(0), origin: AtomicU64::new(DAWN) }
    }
}

/// The time of day at which a manual clock begins: 2026-01-01T00:00:00Z.
const DAWN: u64 = 1_767_225_600;

impl ManualClock {
    /// Moves the clock forward by `duration`, at most to 584 years from zero.
    pub fn advance(&self, duration: Duration) {
        let step = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let later = |now: u64| Some(now.saturating_add(step));
        // Never an error: there always is a later time.
        let _ = self.nanos.fetch_update(Ordering::SeqCst, Ordering::SeqCst, later);
    }

    /// Sets the time of day, in seconds since 1970. It may go back; [`Clock::now`] does not.
    pub fn set_time_of_day(&self, seconds: u64) {
        let now = self.now().as_secs();
        self.origin.store(seconds.saturating_sub(now), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::SeqCst))
    }

    fn time_of_day(&self) -> Duration {
        Duration::from_secs(self.origin.load(Ordering::SeqCst)) + self.now()
    }

    fn sleep(&self, duration: Duration) {
        self.advance(duration);
    }
}
