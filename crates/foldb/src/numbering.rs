//! The sequence numbers of a thread's last write, for tests that order writes as the engine did.
//!
//! They exist in builds with debug assertions only; elsewhere nothing is noted. A history checker
//! needs them: with them it knows the order of all writes, and need not search for one.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sequence numbers that a write got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// One for each operation.
    pub numbers: RangeInclusive<u64>,
    /// Which write of this process it was. A write that failed and a later one may have the same
    /// numbers; the turns say which came first.
    pub turn: u64,
}

thread_local! {
    static LAST_WRITE: Cell<Option<(u64, u64, u64)>> = const { Cell::new(None) };
}

static TURNS: AtomicU64 = AtomicU64::new(0);

/// Forgets the last write of this thread.
pub fn forget() {
    LAST_WRITE.set(None);
}

/// What this thread's last write since [`forget`] got. `None`: it ended before it got any.
pub fn last_write() -> Option<Given> {
    LAST_WRITE.get().map(|(first, last, turn)| Given { numbers: first..=last, turn })
}

/// Called with the writer lock held.
pub(crate) fn note(first: u64, last: u64) {
    LAST_WRITE.set(Some((first, last, TURNS.fetch_add(1, Ordering::Relaxed))));
}
