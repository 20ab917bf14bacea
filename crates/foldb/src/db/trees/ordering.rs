//! Memtables are put in order while they fill, by the runtime's workers.
//!
//! A memtable keeps its keys in the order they came, and a flush or an iterator wants them sorted.
//! If the iterator did all of that, the first one over a million keys would take 100 ms. So a
//! worker sorts the memtable piece by piece while it fills, and merges the pieces. The flush sorts
//! nothing a second time: the work is done earlier, not more of it.
//!
//! The worker reads what the writer has just written, and the processors' caches have to share it:
//! a fill of random keys takes 30 to 40 % longer (measured). So it is done only for programs that
//! scan: while an iterator was made since the seal before the last one ([`RecentScans`]).
//!
//! A writer asks for it when it looks at the pace, an iterator when it meets many pieces. Both set
//! a flag, and wake a worker if the flag was not set. No caller depends on the work: an iterator
//! that finds keys unsorted sorts them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::db::core::Core;
use crate::memtable::Memtable;

impl Core {
    /// Has a worker put memtables in order.
    #[cold]
    pub(crate) fn order_soon(&self) {
        if self.has_workers() && !self.background.order_wanted.swap(true, Ordering::AcqRel) {
            self.runtime.workers().wake_one();
        }
    }

    /// Sorts a piece of each memtable where that is due. Whether there was one.
    pub(crate) fn order_work(&self) -> bool {
        // Whoever asks from now on asks for another step.
        self.background.order_wanted.store(false, Ordering::Release);
        let views = self.all_keyspaces().into_iter().map(|keyspace| keyspace.view.load_full());
        let worked = views.fold(false, |worked, view| {
            view.memtables().fold(worked, |worked, memtable| advance(memtable) || worked)
        });
        if worked {
            // Between two pieces other work has its turn.
            self.background.order_wanted.store(true, Ordering::Release);
        }
        worked
    }
}

/// A comparator that panics does so in the calls that need its order, too, where the application
/// sees it. Here it only ends the work on this memtable.
fn advance(memtable: &Arc<Memtable>) -> bool {
    let step = catch_unwind(AssertUnwindSafe(|| memtable.advance_order()));
    step.unwrap_or_else(|_| {
        memtable.leave_unordered();
        false
    })
}
