//! The state of background work: what is to be done, and which callers wait for it.
//!
//! A waiter sees only the errors of its own kind of work: a compaction that fails does not fail a
//! write or a flush that can go on.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldb_env::scheduling_point;

use crate::db::state::recent_scans::RecentScans;
use crate::db::state::tree::Claim;
use crate::db::throttle::pace::FlushSpeed;
use crate::error::{Error, Result};
use crate::runtime::Work;

/// The state of background work.
#[derive(Debug, Default)]
pub(crate) struct Background {
    state: Mutex<State>,
    /// Signalled when a step was done, or failed.
    pub(crate) progress: Condvar,
    /// Bytes of the logs of sealed memtables.
    sealed_log_bytes: AtomicU64,
    /// How long flushes take.
    pub(crate) flushes: FlushSpeed,
    /// Jobs between two of their slices.
    paused_jobs: Mutex<Vec<Claim>>,
    /// Whether somebody needs the memory of this database's memtables.
    pub(crate) seal_requested: AtomicBool,
    /// Whether sealed memtables are to be flushed even if they are few.
    pub(crate) is_flush_due: AtomicBool,
    /// Whether a memtable is worth a worker's sorting.
    pub(crate) order_wanted: AtomicBool,
    /// How long ago an iterator was made.
    pub(crate) scans: RecentScans,
    /// Whether nothing was left to do, not even what waits until nobody writes, and nothing
    /// happened since.
    pub(crate) at_rest: AtomicBool,
    /// Set when a file was let go of.
    pub(crate) poke: Arc<AtomicBool>,
    /// Held by who flushes: the same memtables flushed twice would be merged twice.
    pub(crate) flushing: Mutex<()>,
    /// Held by who collects the garbage of value segments.
    pub(crate) collecting: Mutex<()>,
    /// Callers that want to collect the garbage of value segments: a merge in the background does
    /// not rest meanwhile.
    pub(crate) gc_callers: AtomicUsize,
    /// Held by who runs a job of its own, which shares the tree with no other.
    pub(crate) alone: Mutex<()>,
}

/// What the lock of background work guards.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) shutdown: bool,
    /// Why the last flush failed; cleared by one that does not.
    pub(crate) flush_error: Option<Error>,
    /// Why the last slice failed; cleared by one that does not.
    pub(crate) compaction_error: Option<Error>,
    /// Callers that wait for a flush: while there are any, sealed memtables are flushed even if
    /// they are few.
    pub(crate) flush_waiters: usize,
    /// Callers that wait for rest: while there are any, what is done when nobody writes is done at
    /// once.
    pub(crate) rest_waiters: usize,
    /// Callers of `compact`: no job is begun while there are any.
    pub(crate) manual: usize,
    /// Slices that threads are at: a close waits for them, for they number files.
    pub(crate) slices: usize,
    /// Steps done so far, so that nobody sleeps through one.
    pub(crate) steps: u64,
}

impl State {
    /// The error of work that callers wait for.
    pub(crate) fn error(&mut self, work: Work) -> Option<&mut Option<Error>> {
        match work {
            Work::Flush => Some(&mut self.flush_error),
            Work::Compaction => Some(&mut self.compaction_error),
            Work::Order => None,
        }
    }
}

/// What somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Nothing any more.
    Nothing,
    /// This work: when it fails there is no use in waiting.
    Work(Work),
    /// That jobs end, be it because they fail.
    EndOfJobs,
    /// Garbage collections of value segments.
    Gc,
}

impl Background {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        scheduling_point();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_paused_jobs(&self) -> MutexGuard<'_, Vec<Claim>> {
        self.paused_jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn sealed_log_bytes(&self) -> u64 {
        self.sealed_log_bytes.load(Ordering::Relaxed)
    }

    /// Memtables were sealed, and `log_bytes` of log with them.
    pub(crate) fn memtables_sealed(&self, log_bytes: u64) {
        self.sealed_log_bytes.fetch_add(log_bytes, Ordering::Relaxed);
    }

    /// Memtables were flushed, and `log_bytes` of log are not needed any more.
    pub(crate) fn memtables_flushed(&self, log_bytes: u64) {
        self.sealed_log_bytes.fetch_sub(log_bytes, Ordering::Relaxed);
    }

    /// Somebody needs the memory of this database's memtables.
    pub(crate) fn request_seal(&self) {
        self.seal_requested.store(true, Ordering::Release);
    }

    /// Nothing is begun any more, and nobody waits any more.
    pub(crate) fn shut_down(&self) {
        self.lock().shutdown = true;
        self.progress.notify_all();
    }

    /// Takes the jobs that nobody goes on with.
    pub(crate) fn take_paused_jobs(&self) -> Vec<Claim> {
        std::mem::take(&mut *self.lock_paused_jobs())
    }

    /// Wants what is sealed flushed, however little it is.
    pub(crate) fn flush_soon(&self) {
        self.is_flush_due.store(true, Ordering::Release);
    }

    /// A step was done: who waits may go on.
    pub(crate) fn stepped(&self, work: Work, outcome: &Result<bool>) {
        let mut state = self.lock();
        let Some(last) = state.error(work) else { return };
        match outcome {
            Ok(true) => *last = None,
            Ok(false) => {}
            Err(error) => *last = Some(error.clone()),
        }
        state.steps += 1;
        self.progress.notify_all();
    }

    /// Whether jobs of the policy's may begin now. Asked with the tree locked, so that who
    /// announces a job of its own and then sees none running knows that none will be.
    pub(crate) fn may_begin_jobs(&self) -> bool {
        self.lock().manual == 0
    }

    /// Whether somebody waits for what is done when nobody writes.
    pub(crate) fn is_rest_awaited(&self) -> bool {
        self.lock().rest_waiters > 0
    }

    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest.load(Ordering::Acquire)
    }

    /// Whether the last flush failed: until it is tried again no worker flushes.
    pub(crate) fn is_flush_failing(&self) -> bool {
        self.lock().flush_error.is_some()
    }

    /// Whether the last slice of a compaction failed.
    pub(crate) fn is_compaction_failing(&self) -> bool {
        self.lock().compaction_error.is_some()
    }

    /// Waits for a step of a worker. `false` when none was done in time.
    pub(crate) fn wait_for_step(&self, at_most: Duration) -> bool {
        let state = self.lock();
        if state.shutdown {
            return true;
        }
        let waited = self.progress.wait_timeout(state, at_most);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Waits until no thread is at a slice of a compaction.
    pub(crate) fn wait_for_slices(&self) {
        let are_any = |state: &mut State| state.slices > 0;
        let waited = self.progress.wait_while(self.lock(), are_any);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Calls `look` with the callers' jobs kept as they are; not while there are any.
    #[cfg(debug_assertions)]
    pub(crate) fn without_callers<T>(&self, look: impl FnOnce() -> T) -> Option<T> {
        let state = self.lock();
        (state.manual == 0 && !state.shutdown).then(look)
    }

    pub(crate) fn shutting_down(&self) -> bool {
        self.lock().shutdown
    }
}
