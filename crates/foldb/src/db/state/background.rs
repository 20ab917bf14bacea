//! The state of background work: its steps, and the callers that wait for them.
//!
//! [`Background`] owns the lock of the steps. Its open fields are parts of their own: requests to
//! the workers, the locks of kinds of work, measurements.
//!
//! A waiter sees only the errors of the work it waits for: a failed compaction never fails a write
//! or a flush.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foldb_env::scheduling_point;

use crate::db::state::pace::FlushSpeed;
use crate::db::state::paused_jobs::PausedJobs;
use crate::db::state::recent_scans::RecentScans;
use crate::db::state::requests::Requests;
use crate::db::state::rest::Rest;
use crate::db::state::scrub::Scrub;
use crate::db::state::work_locks::WorkLocks;
use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::locks::rank::BACKGROUND;
use crate::locks::{Condition, Lock, LockGuard};
use crate::runtime::{Work, Workers};

/// The state of background work.
#[derive(Debug, Default)]
pub(crate) struct Background {
    state: Lock<State, BACKGROUND>,
    /// Signalled after each step, even after a failed one.
    progress: Condition,
    /// Bytes of the logs of sealed memtables.
    sealed_log_bytes: AtomicU64,
    pub(crate) locks: WorkLocks,
    pub(crate) requests: Requests,
    pub(crate) rest: Rest,
    pub(crate) paused_jobs: PausedJobs,
    /// How long flushes take.
    pub(crate) flushes: FlushSpeed,
    /// How many seals ago the last iterator was made.
    pub(crate) scans: RecentScans,
    /// How far the check of files has come.
    pub(crate) scrub: Scrub,
}

/// What the lock guards.
#[derive(Debug, Default)]
struct State {
    shutdown: bool,
    /// Why the last flush failed; a flush that succeeds clears it.
    flush_error: Option<Error>,
    /// Why the last slice failed; a slice that succeeds clears it.
    compaction_error: Option<Error>,
    /// Callers that wait for a flush. While this is not 0, sealed memtables are flushed even if
    /// they are few.
    flush_waiters: usize,
    /// Callers that wait until the database is idle. While this is not 0, work for an idle database
    /// runs at once.
    rest_waiters: usize,
    /// Callers that run their own jobs. While this is not 0, no job of the policy begins.
    alone: usize,
    /// Callers that want to collect garbage. While this is not 0, a background collection does not
    /// pause for its I/O budget.
    collectors: usize,
    /// Slices that threads run. A close waits for them, because they take file numbers.
    slices: usize,
    /// Steps that did something.
    done: u64,
    /// Steps done so far. A waiter sleeps only if the number has not changed since its last check.
    steps: u64,
}

impl State {
    /// Returns the last error of a kind of work that callers wait for.
    fn error(&mut self, work: Work) -> Option<&mut Option<Error>> {
        match work {
            Work::Flush => Some(&mut self.flush_error),
            Work::Compaction => Some(&mut self.compaction_error),
            Work::Order => None,
        }
    }
}

/// Counts its owner in the state while it lives.
#[must_use]
pub(crate) struct Counted<'a> {
    background: &'a Background,
    count: fn(&mut State) -> &mut usize,
    end: End<'a>,
}

/// What follows when a [`Counted`] ends.
enum End<'a> {
    Nothing,
    /// The waiters look again.
    Waiters,
    /// There may be work for the workers of this tenant.
    Workers(&'a Workers, u64),
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let mut state = self.background.lock();
        let count = (self.count)(&mut state);
        assert!(*count > 0, "a call that ends was counted when it began");
        *count -= 1;
        match self.end {
            End::Nothing => {}
            End::Waiters => self.background.progress.notify_all(),
            // The workers are woken under the same lock, so no worker checks for jobs between the
            // two changes.
            End::Workers(workers, tenant) => {
                state.steps += 1;
                workers.wake(tenant);
            }
        }
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

/// Those who are counted.
impl Background {
    /// Counts a caller that waits for a flush.
    pub(crate) fn awaits_flush(&self) -> Counted<'_> {
        self.count(|state| &mut state.flush_waiters, End::Nothing)
    }

    /// Counts a caller that waits until the database is idle.
    pub(crate) fn awaits_rest(&self) -> Counted<'_> {
        self.count(|state| &mut state.rest_waiters, End::Nothing)
    }

    /// Counts a slice that this thread runs. The thread then checks whether the database is open.
    /// If it is, a later close waits for this slice.
    pub(crate) fn runs_slice(&self) -> Counted<'_> {
        self.count(|state| &mut state.slices, End::Waiters)
    }

    /// Counts a caller that runs its own jobs. At the end, the policy's jobs may begin again.
    pub(crate) fn runs_alone<'a>(&'a self, workers: &'a Workers, tenant: u64) -> Counted<'a> {
        self.count(|state| &mut state.alone, End::Workers(workers, tenant))
    }

    /// Counts a caller that collects garbage, or waits for another collection. At the end, a worker
    /// that found the lock of collections taken looks again.
    pub(crate) fn collects<'a>(&'a self, workers: &'a Workers, tenant: u64) -> Counted<'a> {
        self.count(|state| &mut state.collectors, End::Workers(workers, tenant))
    }

    fn count<'a>(&'a self, count: fn(&mut State) -> &mut usize, end: End<'a>) -> Counted<'a> {
        *count(&mut self.lock()) += 1;
        Counted { background: self, count, end }
    }

    /// Returns whether a caller waits for a flush.
    pub(crate) fn is_flush_awaited(&self) -> bool {
        self.lock().flush_waiters > 0
    }

    /// Returns whether a caller waits until the database is idle.
    pub(crate) fn is_rest_awaited(&self) -> bool {
        self.lock().rest_waiters > 0
    }

    /// Returns whether a caller wants to collect garbage.
    pub(crate) fn is_collection_awaited(&self) -> bool {
        self.lock().collectors > 0
    }

    /// Returns whether jobs of the policy may begin now. The caller holds the tree lock. So a
    /// caller that announces its own job, and then sees no job running, knows that none will begin.
    pub(crate) fn may_begin_jobs(&self) -> bool {
        self.lock().alone == 0
    }

    /// Calls `look` while no caller can announce jobs. Returns `None` if a caller runs jobs
    /// already, or if the database shuts down.
    #[cfg(debug_assertions)]
    pub(crate) fn without_callers<T>(&self, look: impl FnOnce() -> T) -> Option<T> {
        let state = self.lock();
        (state.alone == 0 && !state.shutdown).then(look)
    }

    /// Waits until no thread runs a slice of a compaction.
    pub(crate) fn wait_for_slices(&self) {
        drop(self.progress.wait_while(self.lock(), |state| state.slices > 0));
    }
}

impl Background {
    fn lock(&self) -> LockGuard<'_, State, BACKGROUND> {
        scheduling_point();
        self.state.lock()
    }

    pub(crate) fn sealed_log_bytes(&self) -> u64 {
        // Relaxed, as all accesses: a sum for estimates. A lock orders the memtables.
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

    /// Prevents further work, and wakes all waiters.
    pub(crate) fn shut_down(&self) {
        self.lock().shutdown = true;
        self.progress.notify_all();
    }

    pub(crate) fn shutting_down(&self) -> bool {
        self.lock().shutdown
    }

    /// Returns how many flushes and slices were done.
    pub(crate) fn done(&self) -> u64 {
        self.lock().done
    }

    /// Returns how many steps were done.
    pub(crate) fn steps(&self) -> u64 {
        self.lock().steps
    }

    /// Lets a waiter that is about to sleep check once more.
    pub(crate) fn check_again(&self) {
        self.lock().steps += 1;
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

    /// Waits until more than `seen` steps are done, for at most this long. Returns `false` if no
    /// step ended in time.
    ///
    /// # Errors
    /// The error of the awaited work; `Closed` if the database is closed.
    pub(crate) fn wait_for_step_after(
        &self,
        seen: u64,
        awaited: Awaited,
        at_most: Option<Duration>,
    ) -> Result<bool> {
        let mut state = self.lock();
        if state.shutdown {
            return Err(Error::new(ErrorKind::Closed, "the database was closed during this call"));
        }
        if let Awaited::Work(work) = awaited
            && let Some(Some(error)) = state.error(work)
        {
            return Err(error.clone());
        }
        if state.steps != seen && !planted(Fault::SleepThroughStep) {
            return Ok(true);
        }
        match at_most {
            None => drop(self.progress.wait(state)),
            Some(at_most) => return Ok(self.progress.wait_for(state, at_most).1),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::plant;

    /// A caller looks, a step ends, and only then the caller waits: it must not sleep until the
    /// next step.
    #[test]
    fn a_step_between_the_look_and_the_wait_ends_the_wait() {
        let background = Background::default();
        let seen = background.steps();
        background.lock().steps += 1;
        let wait = |at_most| background.wait_for_step_after(seen, Awaited::Nothing, Some(at_most));
        assert!(wait(Duration::from_secs(60)).unwrap());
        plant(Some(Fault::SleepThroughStep));
        let slept = wait(Duration::from_millis(1));
        plant(None);
        assert!(!slept.unwrap(), "the planted fault sleeps");
    }
}
