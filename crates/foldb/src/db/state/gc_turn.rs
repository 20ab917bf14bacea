//! When to look at a keyspace's value segments again: once something changed since there was
//! nothing to collect, and not too soon after a failure.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Error;

/// How long a failed collection is left alone, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// Counts installs, so that none is missed. A flag that a collection sets at its end would hide a
/// flush that was installed meanwhile.
#[derive(Debug)]
pub(crate) struct GcTurn {
    /// Installs so far.
    changes: AtomicU64,
    /// The number of installs after which there was last nothing to do.
    settled_at: AtomicU64,
    failing: Mutex<Failing>,
}

#[derive(Debug, Default)]
struct Failing {
    /// Failed collections in a row.
    times: u32,
    /// Why the last one failed.
    error: Option<Error>,
    /// No attempt before this moment of the environment's clock.
    not_before: Duration,
}

impl Default for GcTurn {
    fn default() -> GcTurn {
        let (changes, settled_at) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        GcTurn { changes, settled_at, failing: Mutex::default() }
    }
}

impl GcTurn {
    fn failing(&self) -> MutexGuard<'_, Failing> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an install.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the number of installs. The caller reads it before it looks for work.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Notes that there was nothing to do after this number of installs.
    pub(crate) fn settle_at(&self, changes: u64) {
        self.settled_at.store(changes, Ordering::Release);
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.settled_at.load(Ordering::Acquire) == self.changes()
    }

    pub(crate) fn failed(&self, error: Error, now: Duration) {
        let mut failing = self.failing();
        let pause = FIRST_PAUSE.saturating_mul(1 << failing.times.min(16)).min(LONGEST_PAUSE);
        failing.times = failing.times.saturating_add(1);
        failing.not_before = now.saturating_add(pause);
        failing.error = Some(error);
    }

    pub(crate) fn succeeded(&self) {
        *self.failing() = Failing::default();
    }

    /// Returns why the last collection failed, if it did.
    pub(crate) fn error(&self) -> Option<Error> {
        self.failing().error.clone()
    }

    /// Returns whether the pause after the last failure is over.
    pub(crate) fn may_try(&self, now: Duration) -> bool {
        self.failing().not_before <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_install_during_a_collection_that_helped_nothing_is_not_slept_through() {
        let turn = GcTurn::default();
        assert!(!turn.is_settled(), "no collection has looked yet");
        let seen = turn.changes();
        turn.changed();
        turn.settle_at(seen + 1);
        assert!(turn.is_settled(), "the only install was the collection's own");
        let seen = turn.changes();
        turn.changed();
        turn.changed();
        turn.settle_at(seen + 1);
        assert!(!turn.is_settled(), "one install was a flush's");
    }

    #[test]
    fn collections_that_fail_are_tried_again_later_and_later() {
        let (turn, mut now) = (GcTurn::default(), Duration::ZERO);
        for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
            assert!(turn.may_try(now));
            turn.failed(Error::corruption("it"), now);
            now += Duration::from_secs(pause);
            assert!(!turn.may_try(now - Duration::from_millis(1)), "{pause} s");
        }
        turn.failed(Error::corruption("it"), now);
        assert!(turn.error().is_some());
        turn.succeeded();
        assert!(turn.may_try(now) && turn.error().is_none());
    }
}
