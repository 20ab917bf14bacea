//! The locks that a thread holds while it works. They guard no data: each rules out other work.

use crate::locks::rank::{ALONE, COLLECTING, DROPPING, FLUSHING};
use crate::locks::{Lock, LockGuard, ReadGuard, SharedLock, WriteGuard};

/// Locks of kinds of work that exclude each other.
#[derive(Debug, Default)]
pub(crate) struct WorkLocks {
    flushing: Lock<(), FLUSHING>,
    dropping: SharedLock<(), DROPPING>,
    collecting: Lock<(), COLLECTING>,
    alone: Lock<(), ALONE>,
}

impl WorkLocks {
    /// Held during a flush. Two flushes of one memtable would apply its operands twice.
    pub(crate) fn flush(&self) -> LockGuard<'_, (), FLUSHING> {
        self.flushing.lock()
    }

    /// Held during a slice of a compaction, which may drop expired records.
    pub(crate) fn drop_expired(&self) -> ReadGuard<'_, (), DROPPING> {
        self.dropping.read()
    }

    /// Held while the database's time is reset: no slice drops expired records meanwhile.
    pub(crate) fn keep_expired(&self) -> WriteGuard<'_, (), DROPPING> {
        self.dropping.write()
    }

    /// Held during garbage collection of value segments.
    pub(crate) fn collect(&self) -> LockGuard<'_, (), COLLECTING> {
        self.collecting.lock()
    }

    /// Does what [`WorkLocks::collect`] does, unless another thread collects.
    pub(crate) fn try_collect(&self) -> Option<LockGuard<'_, (), COLLECTING>> {
        self.collecting.try_lock()
    }

    /// Held by a caller that runs its own jobs. No other job runs during that time.
    pub(crate) fn alone(&self) -> LockGuard<'_, (), ALONE> {
        self.alone.lock()
    }

    /// Waits until no caller flushes, compacts or collects garbage on its own thread. The database
    /// is closed, so no further work begins.
    pub(crate) fn wait_for_callers(&self) {
        drop(self.alone());
        drop(self.collect());
        drop(self.flush());
    }
}
