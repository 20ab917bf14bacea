//! The state of background work: pending work, and the callers that wait for it.
//!
//! A waiter sees only the errors of the work it waits for: a failed compaction never fails a write
//! or a flush.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use foldb_env::scheduling_point;

use crate::db::state::pace::FlushSpeed;
use crate::db::state::recent_scans::RecentScans;
use crate::db::state::scrub::Scrub;
use crate::db::state::tree::Claim;
use crate::error::{Error, ErrorKind, Result};
use crate::locks::rank::{ALONE, BACKGROUND, COLLECTING, DROPPING, FLUSHING, PAUSED};
use crate::locks::{Condition, Lock, LockGuard, SharedLock};
use crate::runtime::Work;

/// The state of background work.
#[derive(Debug, Default)]
pub(crate) struct Background {
    state: Lock<State, BACKGROUND>,
    /// Signalled after each step, even after a failed one.
    pub(crate) progress: Condition,
    /// Bytes of the logs of sealed memtables.
    sealed_log_bytes: AtomicU64,
    /// How long flushes take.
    pub(crate) flushes: FlushSpeed,
    /// Jobs that no thread runs now: the next free worker continues them with their next slice.
    paused_jobs: Lock<Vec<Claim>, PAUSED>,
    /// Whether the memory ledger asked this database to seal its memtables.
    pub(crate) seal_requested: AtomicBool,
    /// Whether to flush sealed memtables even if they are few.
    pub(crate) is_flush_due: AtomicBool,
    /// Whether a worker should sort a memtable.
    pub(crate) order_wanted: AtomicBool,
    /// How many seals ago the last iterator was made.
    pub(crate) scans: RecentScans,
    /// Whether the last check found no job, not even one for an idle database.
    pub(crate) at_rest: AtomicBool,
    /// Counts what may have made a job for an idle database.
    news: AtomicU64,
    /// The count at the last check that found no such job, and 1 more.
    rested_at: AtomicU64,
    /// Whether deletes came to memtables since a worker last looked at them
    /// ([`crate::db::trees::deleted`]).
    pub(crate) has_new_deletes: AtomicBool,
    /// Set when a reader drops a file that waits for its removal.
    pub(crate) poke: Arc<AtomicBool>,
    /// Held during a flush. Two flushes of one memtable would apply its operands twice.
    pub(crate) flushing: Lock<(), FLUSHING>,
    /// Held for reading during a slice of a compaction, which may drop expired records. Held for
    /// writing while the database's time is reset.
    pub(crate) dropping: SharedLock<(), DROPPING>,
    /// Held during garbage collection of value segments.
    pub(crate) collecting: Lock<(), COLLECTING>,
    /// How far the check of files has come.
    pub(crate) scrub: Scrub,
    /// Callers that want to collect garbage. While there are any, a background collection does not
    /// pause for its I/O budget.
    pub(crate) gc_callers: AtomicUsize,
    /// Held by a caller that runs its own jobs. No other job runs during that time.
    pub(crate) alone: Lock<(), ALONE>,
}

/// The state that the lock guards.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) shutdown: bool,
    /// Why the last flush failed; a flush that succeeds clears it.
    pub(crate) flush_error: Option<Error>,
    /// Why the last slice failed; a slice that succeeds clears it.
    pub(crate) compaction_error: Option<Error>,
    /// Callers that wait for a flush. While this is not 0, sealed memtables are flushed even if
    /// they are few.
    pub(crate) flush_waiters: usize,
    /// Callers that wait until the database is idle. While this is not 0, work for an idle database
    /// runs at once.
    pub(crate) rest_waiters: usize,
    /// Callers that run their own jobs. While this is not 0, no job of the policy begins.
    pub(crate) manual: usize,
    /// Slices that threads run. A close waits for them, because they take file numbers.
    pub(crate) slices: usize,
    /// Steps that did something.
    pub(crate) done: u64,
    /// Steps done so far. A waiter sleeps only if the number has not changed since its last check.
    pub(crate) steps: u64,
}

impl State {
    /// Returns the last error of a kind of work that callers wait for.
    pub(crate) fn error(&mut self, work: Work) -> Option<&mut Option<Error>> {
        match work {
            Work::Flush => Some(&mut self.flush_error),
            Work::Compaction => Some(&mut self.compaction_error),
            Work::Order => None,
        }
    }
}

/// Counts its owner in the state while it lives.
pub(crate) struct Counted<'a> {
    background: &'a Background,
    count: fn(&mut State) -> &mut usize,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        *(self.count)(&mut self.background.lock()) -= 1;
    }
}

/// The work that a caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Nothing: the wait ends.
    Nothing,
    /// This kind of work. If it fails, the wait ends.
    Work(Work),
    /// The end of all jobs, failed ones included.
    EndOfJobs,
    /// Garbage collections of value segments.
    Gc,
}

impl Background {
    pub(crate) fn lock(&self) -> LockGuard<'_, State, BACKGROUND> {
        scheduling_point();
        self.state.lock()
    }

    /// Counts the caller in the state until it drops the guard.
    pub(crate) fn count(&self, count: fn(&mut State) -> &mut usize) -> Counted<'_> {
        *count(&mut self.lock()) += 1;
        Counted { background: self, count }
    }

    pub(crate) fn lock_paused_jobs(&self) -> LockGuard<'_, Vec<Claim>, PAUSED> {
        self.paused_jobs.lock()
    }

    pub(crate) fn sealed_log_bytes(&self) -> u64 {
        self.sealed_log_bytes.load(Ordering::Relaxed)
    }

    /// Notes that memtables were sealed, with `log_bytes` of log.
    pub(crate) fn memtables_sealed(&self, log_bytes: u64) {
        self.sealed_log_bytes.fetch_add(log_bytes, Ordering::Relaxed);
    }

    /// Notes that memtables were flushed, so that `log_bytes` of log are no longer needed.
    pub(crate) fn memtables_flushed(&self, log_bytes: u64) {
        let before = self.sealed_log_bytes.fetch_sub(log_bytes, Ordering::Relaxed);
        assert!(before >= log_bytes, "a flush gives up the log that its seal has noted");
    }

    /// Asks the database to seal its memtables.
    pub(crate) fn request_seal(&self) {
        self.seal_requested.store(true, Ordering::Release);
    }

    /// Prevents further work, and wakes all waiters.
    pub(crate) fn shut_down(&self) {
        self.lock().shutdown = true;
        self.progress.notify_all();
    }

    /// Takes the paused jobs.
    pub(crate) fn take_paused_jobs(&self) -> Vec<Claim> {
        std::mem::take(&mut *self.lock_paused_jobs())
    }

    /// Returns how many flushes and slices were done.
    pub(crate) fn done(&self) -> u64 {
        self.lock().done
    }

    /// Asks workers to flush all sealed memtables, even if they are few.
    pub(crate) fn flush_soon(&self) {
        self.is_flush_due.store(true, Ordering::Release);
    }

    /// Notes a step, and wakes the waiters.
    pub(crate) fn stepped(&self, work: Work, outcome: &Result<bool>) {
        let mut state = self.lock();
        let Some(last) = state.error(work) else { return };
        match outcome {
            Ok(true) => {
                *last = None;
                state.done += 1;
            }
            Ok(false) => {}
            Err(error) => *last = Some(error.clone()),
        }
        state.steps += 1;
        self.progress.notify_all();
    }

    /// Forgets errors of a full disk, after space came back: the next steps may work.
    pub(crate) fn forget_full_disk(&self) {
        let mut state = self.lock();
        let State { flush_error, compaction_error, .. } = &mut *state;
        for error in [flush_error, compaction_error] {
            error.take_if(|error| error.kind() == ErrorKind::NoSpace);
        }
        state.steps += 1;
        self.progress.notify_all();
    }

    /// Returns whether jobs of the policy may begin now. The caller holds the tree lock. So a
    /// caller that announces its own job, and then sees no job running, knows that none will begin.
    pub(crate) fn may_begin_jobs(&self) -> bool {
        self.lock().manual == 0
    }

    /// Returns whether a caller waits until the database is idle.
    pub(crate) fn is_rest_awaited(&self) -> bool {
        self.lock().rest_waiters > 0
    }

    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest.load(Ordering::Acquire)
    }

    /// Notes that there may be a job, even if the database is at rest.
    pub(crate) fn note_news(&self) {
        self.news.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the count of what may have made a job. A check reads it before it looks for a job.
    pub(crate) fn news(&self) -> u64 {
        self.news.load(Ordering::Acquire)
    }

    /// Notes that a check found no job for an idle database. `seen` is the count before the check.
    pub(crate) fn note_rest(&self, seen: u64) {
        self.rested_at.store(seen + 1, Ordering::Release);
    }

    /// Returns whether nothing came that may have made a job since a check found none.
    pub(crate) fn has_no_news(&self) -> bool {
        self.rested_at.load(Ordering::Acquire) == self.news() + 1
    }

    /// Returns whether the last flush failed. Until the next attempt, flushes reduce no backlog.
    pub(crate) fn is_flush_failing(&self) -> bool {
        self.lock().flush_error.is_some()
    }

    /// Returns whether the last slice of a compaction failed.
    pub(crate) fn is_compaction_failing(&self) -> bool {
        self.lock().compaction_error.is_some()
    }

    /// Waits until a worker ends a step. Returns `false` if no step ended in time.
    pub(crate) fn wait_for_step(&self, at_most: Duration) -> bool {
        let state = self.lock();
        state.shutdown || self.progress.wait_for(state, at_most).1
    }

    /// Waits until no thread runs a slice of a compaction.
    pub(crate) fn wait_for_slices(&self) {
        drop(self.progress.wait_while(self.lock(), |state| state.slices > 0));
    }

    /// Waits until no caller flushes, compacts or collects garbage on its own thread. The database
    /// is closed, so no further work begins.
    pub(crate) fn wait_for_callers(&self) {
        drop(self.alone.lock());
        drop(self.collecting.lock());
        drop(self.flushing.lock());
    }

    /// Calls `look` while no caller can announce jobs. Returns `None` if a caller runs jobs
    /// already, or if the database shuts down.
    #[cfg(debug_assertions)]
    pub(crate) fn without_callers<T>(&self, look: impl FnOnce() -> T) -> Option<T> {
        let state = self.lock();
        (state.manual == 0 && !state.shutdown).then(look)
    }

    pub(crate) fn shutting_down(&self) -> bool {
        self.lock().shutdown
    }
}
