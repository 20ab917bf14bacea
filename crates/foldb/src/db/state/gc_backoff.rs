//! When garbage collection checks a keyspace's value segments again. After it found nothing to do,
//! it waits for a change of the tree. After a failure it waits for some time.
//!
//! An install shows the version first and counts second. A look reads the number of installs first
//! and loads the version second. The number is raised with `AcqRel` and read with `Acquire`, so a
//! look that has an install in its number also sees its version. An install that the look missed
//! has a larger number, and ends the rest.
//!
//! Only one collection at a time stores the number at which it rests. `Release` and `Acquire` are
//! more than that needs: other threads compare the number and follow no pointer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::Error;
use crate::locks::rank::GC_BACKOFF;
use crate::locks::{Lock, LockGuard};

/// The pause after a failed collection: the first one, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// Counts installed changes of the tree. With a flag instead, a collection that sets it at its end
/// would miss a flush that was installed during the collection.
#[derive(Debug)]
pub(crate) struct GcBackoff {
    /// Installs so far.
    changes: AtomicU64,
    /// The value of `changes` at which a collection last found nothing to do.
    settled_at: AtomicU64,
    failing: Lock<Failing, GC_BACKOFF>,
}

#[derive(Debug, Default)]
struct Failing {
    /// Failed collections in a row.
    times: u32,
    /// Why the last collection failed.
    error: Option<Error>,
    /// The earliest time of the next attempt, on the environment's clock.
    not_before: Duration,
}

impl Default for GcBackoff {
    fn default() -> GcBackoff {
        let (changes, settled_at) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        GcBackoff { changes, settled_at, failing: Lock::default() }
    }
}

impl GcBackoff {
    fn failing(&self) -> LockGuard<'_, Failing, GC_BACKOFF> {
        self.failing.lock()
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

    /// Returns why the last collection failed, or `None` if it succeeded.
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
    fn an_install_during_a_useless_collection_is_noticed() {
        let backoff = GcBackoff::default();
        assert!(!backoff.is_settled(), "no collection has looked yet");
        let seen = backoff.changes();
        backoff.changed();
        backoff.settle_at(seen + 1);
        assert!(backoff.is_settled(), "the only install was the collection's own");
        let seen = backoff.changes();
        backoff.changed();
        backoff.changed();
        backoff.settle_at(seen + 1);
        assert!(!backoff.is_settled(), "one install was a flush's");
    }

    #[test]
    fn each_failed_collection_lengthens_the_pause_up_to_a_limit() {
        let (backoff, mut now) = (GcBackoff::default(), Duration::ZERO);
        for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
            assert!(backoff.may_try(now));
            backoff.failed(Error::corruption("it"), now);
            now += Duration::from_secs(pause);
            assert!(!backoff.may_try(now - Duration::from_millis(1)), "{pause} s");
        }
        backoff.failed(Error::corruption("it"), now);
        assert!(backoff.error().is_some());
        backoff.succeeded();
        assert!(backoff.may_try(now) && backoff.error().is_none());
    }
}
