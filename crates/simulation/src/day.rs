//! The time of day, by which entries expire. Clients move it, forward and back.
//!
//! Calls of clients run while the time of day stands still, so the second of each call is known.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use foldb_env::{Clock, SystemClock};

/// The second at which a run begins: 2026-01-01T00:00:00Z.
const DAWN: u64 = 1_767_225_600;

/// The machine's clock, with a time of day of its own.
#[derive(Debug)]
pub struct Day {
    clock: SystemClock,
    /// The time of day, in seconds since 1970.
    second: AtomicU64,
    /// The latest second that the database has seen.
    seen: AtomicU64,
    /// Whether the database may have seen the time of day or not, until the next open.
    unsure: AtomicBool,
    gate: RwLock<()>,
}

impl Default for Day {
    fn default() -> Day {
        let (second, seen) = (AtomicU64::new(DAWN), AtomicU64::new(DAWN));
        let (clock, unsure, gate) =
            (SystemClock::default(), AtomicBool::new(false), RwLock::new(()));
        Day { clock, second, seen, unsure, gate }
    }
}

impl Day {
    /// Lets the time of day stand still until the guard is dropped.
    pub fn hold(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for all calls in progress. The holder of the guard may move the time of day.
    pub fn stop(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the second of the database's time: the latest that it has seen.
    pub fn second(&self) -> u64 {
        self.second.load(Ordering::SeqCst).max(self.seen.load(Ordering::SeqCst))
    }

    /// Notes that the database has seen the time of day.
    pub fn note_seen(&self) {
        self.seen.store(self.second(), Ordering::SeqCst);
        self.unsure.store(false, Ordering::SeqCst);
    }

    /// Notes that the database may have seen the time of day or not. No client reads any more.
    pub fn note_unsure(&self) {
        self.unsure.store(true, Ordering::SeqCst);
    }

    /// Returns whether the second of the database's time is unknown.
    pub fn is_unsure(&self) -> bool {
        self.unsure.load(Ordering::SeqCst)
    }

    /// Returns whether the database's time is ahead of the time of day.
    pub fn is_behind(&self) -> bool {
        self.second.load(Ordering::SeqCst) < self.seen.load(Ordering::SeqCst)
    }

    /// Notes that the database's time was set back to the time of day.
    pub fn note_reset(&self) {
        self.seen.store(self.second.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// Moves the time of day, perhaps back.
    pub fn move_by(&self, seconds: i64) {
        let now = self.second.load(Ordering::SeqCst);
        self.second.store(now.saturating_add_signed(seconds), Ordering::SeqCst);
    }

    /// Lets the time of day catch up with the database's time.
    pub fn catch_up(&self) {
        self.second.store(self.second(), Ordering::SeqCst);
    }
}

impl Clock for Day {
    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn time_of_day(&self) -> Duration {
        Duration::from_secs(self.second.load(Ordering::SeqCst))
    }

    fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration);
    }
}
