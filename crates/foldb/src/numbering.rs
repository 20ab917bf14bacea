//! The sequence numbers of a thread's last write, for tests that order writes as the engine did.
//!
//! They exist in builds with debug assertions only; elsewhere nothing is noted. A history checker
//! needs them: with them it knows the order of all writes, and need not search for one.

use std::cell::Cell;
use std::ops::RangeInclusive;

thread_local! {
    static LAST_WRITE: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// Forgets the last write of this thread.
pub fn forget() {
    LAST_WRITE.set(None);
}

/// The numbers that this thread's last write since [`forget`] got, one for each operation. `None`:
/// it ended before it got any. A write that failed had numbers that another one may have now.
pub fn last_write() -> Option<RangeInclusive<u64>> {
    LAST_WRITE.get().map(|(first, last)| first..=last)
}

pub(crate) fn note(first: u64, last: u64) {
    LAST_WRITE.set(Some((first, last)));
}
