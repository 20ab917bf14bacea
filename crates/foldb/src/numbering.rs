//! The sequence numbers of a thread's last write, for tests that check the order of writes.
//!
//! The numbers exist only in builds with debug assertions and the feature `internals`. A history
//! checker that knows them need not search for a possible order.

use std::cell::{Cell, RefCell};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sequence numbers that a write received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The numbers, one for each operation.
    pub numbers: RangeInclusive<u64>,
    /// The position of the write among all writes of this process. A failed write and a later write
    /// may have the same numbers. Their ranks differ.
    pub rank: u64,
}

thread_local! {
    static LAST_WRITE: Cell<Option<(u64, u64, u64)>> = const { Cell::new(None) };
    static LAST_KEY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The next rank. `Relaxed`: the writer lock orders the writes of a database, and an addition
/// behind another one gets a larger number.
static RANKS: AtomicU64 = AtomicU64::new(0);

/// Forgets the last write of this thread.
pub fn forget() {
    LAST_WRITE.set(None);
}

/// Returns the numbers of this thread's last write since [`forget`]. `None` if the write received
/// no number.
pub fn last_write() -> Option<Given> {
    LAST_WRITE.get().map(|(first, last, rank)| Given { numbers: first..=last, rank })
}

/// Returns the first key of this thread's last write. A call that chooses the key itself and fails
/// does not tell it.
pub fn last_key() -> Vec<u8> {
    LAST_KEY.with_borrow(Vec::clone)
}

/// Notes the first key of a write.
pub(crate) fn note_key(key: &[u8]) {
    // A thread that ends may write after its values are gone.
    let _ended = LAST_KEY.try_with(|last| {
        let mut last = last.borrow_mut();
        last.clear();
        last.extend_from_slice(key);
    });
}

/// Notes the numbers of a write. The caller holds the writer lock.
pub(crate) fn note(first: u64, last: u64) {
    LAST_WRITE.set(Some((first, last, RANKS.fetch_add(1, Ordering::Relaxed))));
}
