//! Sorting memtables while they fill, by the runtime's workers.
//!
//! A memtable keeps its keys in the order of their arrival, but a flush or an iterator needs them
//! sorted. If iterators did all the sorting, the first iterator over a million keys would take 100
//! ms. So a worker sorts the memtable piece by piece while it fills, and merges the pieces. The
//! flush does not sort again, so the work is done earlier and does not grow.
//!
//! The worker reads bytes that the writer has just written, and the processors' caches must share
//! them: a fill of random keys takes 30 to 40 % longer (measured). So workers sort only for
//! programs that scan: while an iterator was made since the seal before the last one
//! ([`RecentScans`]).
//!
//! A writer asks for a sort when it checks the pace. An iterator asks when it meets many unsorted
//! pieces. Both set a flag, and wake a worker if the flag was not set. No caller depends on the
//! work: an iterator that finds unsorted keys sorts them itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::db::core::Core;
use crate::memtable::Memtable;

impl Core {
    /// Sorts one piece of each memtable that has an unsorted piece. Returns whether it sorted any.
    pub(crate) fn order_work(&self) -> bool {
        // A request after this line leads to another step.
        self.background.requests.order.lower();
        let views = self.keyspaces.all().into_iter().map(|keyspace| keyspace.view.load_full());
        let worked = views.fold(false, |worked, view| {
            view.memtables().fold(worked, |worked, memtable| advance(memtable) || worked)
        });
        if worked {
            // Other work runs between two pieces.
            self.background.requests.order.raise();
        }
        worked
    }
}

/// Sorts one piece. A comparator that panics also panics in the calls that need its order, where
/// the program sees it. Here a panic only ends the work on this memtable.
fn advance(memtable: &Arc<Memtable>) -> bool {
    let step = catch_unwind(AssertUnwindSafe(|| memtable.advance_order()));
    step.unwrap_or_else(|_| {
        memtable.leave_unordered();
        false
    })
}
