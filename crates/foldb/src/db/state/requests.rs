//! What other threads ask of the workers of a database.
//!
//! A worker lowers a flag before it does the work, so a request during the work leads to another
//! step. It lowers the flag by a swap, and not by a store:
//!
//! ```text
//! caller   note a delete | raise
//! worker                         store false | look for deletes     may miss the delete
//! worker                         swap: true  | look for deletes     sees it
//! ```
//!
//! A store says nothing about the value that it replaces, and a later load may even come before
//! it. The swap reads the raise, and sees with it what the caller did before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The requests of other threads.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// The memory ledger wants the memtables sealed.
    pub(crate) seal: Flag,
    /// Sealed memtables are to be flushed even if they are few.
    pub(crate) flush: Flag,
    /// A memtable is to be sorted.
    pub(crate) order: Flag,
    /// Deletes came to memtables ([`crate::db::trees::deleted`]). A write that finds it raised does
    /// not raise it again, so it is lowered under the writer lock.
    pub(crate) see_deletes: Flag,
    /// A reader dropped a file that waits for its removal. The runtime raises and lowers it.
    pub(crate) poke: Arc<AtomicBool>,
}

/// Whether something is asked for.
#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    #[inline]
    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn raise(&self) {
        // A swap with AcqRel, as the one that lowers the flag. So a worker that lowers it also sees
        // what an earlier raiser did, whose flag this call finds.
        let _is_first = self.raise_first();
    }

    /// Raises the flag. Returns whether it was down.
    pub(crate) fn raise_first(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn lower(&self) {
        let _was_raised = self.take();
    }

    /// Lowers the flag. Returns whether it was raised.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}
