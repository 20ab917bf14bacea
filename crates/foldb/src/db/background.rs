//! Background work: what one step of it is, and who waits for it.
//!
//! There are two kinds of work that callers wait for, each a step that can be repeated until it
//! answers "nothing to do": flushing sealed memtables and doing a slice of a compaction. The
//! runtime's workers repeat them ([`crate::runtime`]); without threads, whoever needs the outcome
//! steps on its own thread ([`crate::Db::step_background`]).
//!
//! Who waits learns of errors of the work that he waits for, and of no other: a compaction that
//! fails does not fail a write or a flush that can go on.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldb_env::scheduling_point;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::ordering::RecentScans;
use crate::db::pace::FlushSpeed;
use crate::db::room::{Patience, busy};
use crate::db::schedule::Claim;
use crate::error::{Error, ErrorKind, Result};
use crate::events::{Event, StallReason};
use crate::faults::{Fault, planted};
use crate::runtime::Work;

/// The state of background work.
#[derive(Debug, Default)]
pub(crate) struct Background {
    state: Mutex<State>,
    /// Signalled when a step was done, or failed.
    progress: Condvar,
    /// Bytes of the logs of sealed memtables.
    sealed_log_bytes: AtomicU64,
    /// How long flushes take.
    pub(crate) flushes: FlushSpeed,
    /// Jobs between two of their slices.
    paused_jobs: Mutex<Vec<Claim>>,
    /// Whether somebody needs the memory of this database's memtables.
    seal_requested: AtomicBool,
    /// Whether sealed memtables are to be flushed even if they are few.
    flush_soon: AtomicBool,
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
    /// Held by who merges value segments.
    pub(crate) merging: Mutex<()>,
    /// Callers that want to merge value segments: a merge in the background does not rest
    /// meanwhile.
    pub(crate) merge_callers: AtomicUsize,
    /// Held by who runs a job of its own, which shares the tree with no other.
    pub(crate) alone: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    shutdown: bool,
    /// Why the last flush failed; cleared by one that does not.
    flush_error: Option<Error>,
    /// Why the last slice failed; cleared by one that does not.
    compaction_error: Option<Error>,
    /// Callers that wait for a flush: while there are any, sealed memtables are flushed even if
    /// they are few.
    flush_waiters: usize,
    /// Callers that wait for rest: while there are any, what is done when nobody writes is done at
    /// once.
    rest_waiters: usize,
    /// Callers of `compact`: no job is begun while there are any.
    manual: usize,
    /// Slices that threads are at: a close waits for them, for they number files.
    slices: usize,
    /// Steps done so far, so that nobody sleeps through one.
    steps: u64,
}

impl State {
    /// The error of work that callers wait for.
    fn error(&mut self, work: Work) -> Option<&mut Option<Error>> {
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
    /// Merges of value segments.
    Merges,
}

impl Background {
    fn lock(&self) -> MutexGuard<'_, State> {
        scheduling_point();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_paused_jobs(&self) -> MutexGuard<'_, Vec<Claim>> {
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
        self.flush_soon.store(true, Ordering::Release);
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

    fn shutting_down(&self) -> bool {
        self.lock().shutdown
    }
}

impl Core {
    /// Whether threads do the background work.
    pub(crate) fn has_workers(&self) -> bool {
        self.runtime.workers().are_running()
    }

    /// Tells the workers that there may be work.
    pub(crate) fn wake(&self) {
        self.background.lock().steps += 1;
        self.runtime.workers().wake(self.member);
    }

    /// Seals if somebody needs the memory, and flushes what is due or, if `eager`, all there is.
    pub(crate) fn flush_work(&self, eager: bool) -> Result<bool> {
        if self.background.seal_requested.swap(false, Ordering::AcqRel)
            && let Some(mut writer) = self.writer.try_lock()
        {
            self.seal_for_memory(&mut writer)?;
        }
        let soon = self.background.flush_soon.load(Ordering::Acquire);
        let wanted = eager || soon || self.background.lock().flush_waiters > 0;
        let flushed = self.flush_step(wanted)?;
        if soon && !flushed {
            self.background.flush_soon.store(false, Ordering::Release);
        }
        Ok(flushed)
    }

    /// Does one step of pending background work on this thread: flushes what is sealed, or else one
    /// slice of a compaction. Whether there was any; where workers do it, there is none.
    pub(crate) fn step_background(&self) -> Result<bool> {
        if self.has_workers() || self.read_only {
            return Ok(false);
        }
        self.check_may_wait()?;
        let outcome = self.flush_work(true);
        self.tell_failed_comparators();
        self.background.stepped(Work::Flush, &outcome);
        if outcome? {
            return Ok(true);
        }
        if self.settings.disable_auto_compactions {
            return Ok(false);
        }
        let outcome = self.compaction_work();
        self.tell_failed_comparators();
        self.background.stepped(Work::Compaction, &outcome);
        outcome
    }

    /// A slice of a compaction, or else a merge of value segments. A compaction that fails each
    /// time, over a damaged table say, keeps no merge from being done.
    pub(crate) fn compaction_work(&self) -> Result<bool> {
        match self.compaction_slice() {
            Ok(true) => Ok(true),
            Ok(false) => self.merge_work(),
            Err(error) => self.merge_work().and(Err(error)),
        }
    }

    /// Goes on with a paused job, or begins one. Whether there was any.
    pub(crate) fn compaction_slice(&self) -> Result<bool> {
        let _slice = SliceInHand::new(self);
        if self.closed.load(Ordering::Acquire) {
            return Ok(false);
        }
        let mut paused = self.background.lock_paused_jobs();
        let job = if paused.is_empty() { None } else { Some(paused.remove(0)) };
        drop(paused);
        let Some(job) = job.or_else(|| self.begin_job()) else { return Ok(false) };
        let mut job = ClaimGuard { core: self, job: Some(job) };
        match self.compaction_step(&mut job.job) {
            // It concerns that keyspace alone, which is told of: others go on, and wait for
            // nothing.
            Err(error) if error.kind() == ErrorKind::ComparatorFailed => return Ok(true),
            stepped => stepped?,
        }
        // Between two slices the job is nobody's: who is free next goes on, here or elsewhere.
        self.background.lock_paused_jobs().extend(job.job.take());
        Ok(true)
    }

    /// Does the next slice of a job; when there is none, or it fails, the job is ended.
    fn compaction_step(&self, job: &mut Option<Claim>) -> Result<()> {
        let Some(current) = job else { return Ok(()) };
        match self.job_step(current) {
            Ok(true) => {}
            Ok(false) => {
                self.totals.add(Total::Compactions, 1);
                self.end_job(job);
            }
            Err(error) => {
                self.end_job(job);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Runs jobs of the caller's to their end, alone, until there is no next one. `stepped` is
    /// called after each slice; an error of it is the last of them, and what was done until then
    /// stands.
    pub(crate) fn run_alone(
        &self,
        next: impl Fn(&Core) -> Option<Claim>,
        stepped: impl Fn() -> Result<()>,
    ) -> Result<()> {
        self.check_may_wait()?;
        let _alone = self.background.alone.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_open()?;
        self.background.lock().manual += 1;
        let _manual = Manual(self);
        self.wait_for_running_jobs()?;
        while let Some(job) = next(self) {
            let mut job = ClaimGuard { core: self, job: Some(job) };
            while job.job.is_some() {
                self.check_open()?;
                let outcome = self.compaction_step(&mut job.job);
                self.background.stepped(Work::Compaction, &outcome.clone().map(|()| true));
                outcome?;
                stepped()?;
            }
        }
        Ok(())
    }

    fn wait_for_running_jobs(&self) -> Result<()> {
        let are_none =
            |core: &Core| core.lock_tree().keyspaces.values().all(|own| own.running.is_empty());
        if self.has_workers() {
            return self.wait_until(|core| match are_none(core) {
                true => Awaited::Nothing,
                false => Awaited::EndOfJobs,
            });
        }
        // What is not paused is in the hand of another caller.
        while !are_none(self) {
            if !self.compaction_slice()? {
                self.background.wait_for_slices();
                self.check_open()?;
            }
        }
        Ok(())
    }

    /// Flushes everything written so far and waits for it.
    ///
    /// # Errors
    /// `ComparatorFailed` if that of some keyspace did: what was written to others is flushed.
    pub(crate) fn flush(&self) -> Result<()> {
        self.flush_sealed()?;
        self.check_comparators()
    }

    /// Flushes everything written so far, of the keyspaces whose comparators have not failed.
    pub(crate) fn flush_sealed(&self) -> Result<()> {
        self.check_writable()?;
        self.check_may_wait()?;
        self.seal_for_flush()?;
        let Some(through) = self.sealed.newest_through() else { return Ok(()) };
        self.wait_while_flushing(|core| match core.sealed.are_flushed(through) {
            true => Awaited::Nothing,
            false => Awaited::Work(Work::Flush),
        })
    }

    /// Seals what was written so far, as soon as there are fewer memtables than there may be. While
    /// flushes fail, calls would else pile up memtables and logs without end.
    fn seal_for_flush(&self) -> Result<()> {
        let written = self.published();
        let most = self.settings.write_buffers.most;
        loop {
            {
                let mut writer = self.lock_writer();
                // A writer may have sealed it meanwhile.
                let is_sealed = self.sealed.newest_through().is_some_and(|last| last >= written);
                if is_sealed || writer.buffers.is_empty() {
                    return Ok(());
                }
                if self.sealed.len() + 1 < most {
                    return self.seal(&mut writer);
                }
            }
            self.wait_while_flushing(|core| match core.sealed.len() + 1 < most {
                true => Awaited::Nothing,
                false => Awaited::Work(Work::Flush),
            })?;
        }
    }

    /// Waits until there is nothing left to flush or compact, of what is done when nobody writes
    /// neither.
    pub(crate) fn wait_for_background(&self) -> Result<()> {
        self.check_open()?;
        self.check_may_wait()?;
        if self.read_only {
            return Ok(());
        }
        // While others write there is no rest to wait for.
        let written = self.published();
        self.background.lock().rest_waiters += 1;
        let _waiter = RestWaiter(self);
        self.wait_while_flushing(|core| {
            if core.sealed.len() > 0 {
                return Awaited::Work(Work::Flush);
            }
            let mut tree = core.lock_tree();
            let is_idle = tree.keyspaces.values().all(|own| own.running.is_empty());
            let is_compacted = is_idle
                && (core.settings.disable_auto_compactions
                    || (core.pick(&mut tree).is_none()
                        && (core.published() != written || core.pick_when_idle(&tree).is_none())
                        && core.pick_revealing(&tree, false).is_none()));
            match (is_compacted, core.is_merge_due()) {
                (true, false) => Awaited::Nothing,
                (true, true) => Awaited::Merges,
                (false, _) => Awaited::Work(Work::Compaction),
            }
        })?;
        self.remove_unreferenced_tables();
        self.check_comparators()
    }

    /// # Errors
    /// `ComparatorFailed`.
    fn check_comparators(&self) -> Result<()> {
        self.all_keyspaces().iter().try_for_each(|keyspace| keyspace.check_comparator())
    }

    /// Tells listeners of keyspaces whose comparators have failed. Called without locks.
    pub(crate) fn tell_failed_comparators(&self) {
        for keyspace in self.all_keyspaces() {
            if let Some(error) = keyspace.take_untold_failure() {
                self.events.tell(&Event::BackgroundError { error });
            }
        }
    }

    fn wait_while_flushing(&self, awaited: impl Fn(&Core) -> Awaited) -> Result<()> {
        self.background.lock().flush_waiters += 1;
        self.wake();
        let outcome = self.wait_until(awaited);
        self.background.lock().flush_waiters -= 1;
        outcome
    }

    /// Counts and tells how long a write was held back.
    pub(crate) fn note_stall(&self, reason: StallReason, duration: Duration) {
        self.totals.add(Total::StallMicros, duration.as_micros() as u64);
        self.events.tell(&Event::Stall { reason, duration });
    }

    /// Waits, or steps where there are no workers, until nothing is awaited any more.
    ///
    /// # Errors
    /// Of the work that is awaited; `Closed` when the database is closed meanwhile.
    fn wait_until(&self, awaited: impl Fn(&Core) -> Awaited) -> Result<()> {
        self.wait_until_within(Patience::ENDLESS, awaited)
    }

    /// [`Core::wait_until`], but no longer than patience lasts.
    ///
    /// # Errors
    /// `Busy` when it ends first.
    pub(crate) fn wait_until_within(
        &self,
        patience: Patience,
        awaited: impl Fn(&Core) -> Awaited,
    ) -> Result<()> {
        let mut is_over = false;
        loop {
            let seen = self.background.lock().steps;
            let work = awaited(self);
            if work == Awaited::Nothing {
                return Ok(());
            }
            let left = patience.left(&*self.options.env.clock);
            if is_over || left == Some(Duration::ZERO) {
                return Err(busy("flushes and compactions have not caught up"));
            }
            if !self.has_workers() {
                if !self.step_background()? {
                    let cannot = || {
                        let message = "background work that is waited for cannot be done";
                        Error::new(ErrorKind::Io, message)
                    };
                    return match awaited(self) {
                        Awaited::Nothing => Ok(()),
                        Awaited::Merges => Err(self.merge_error().unwrap_or_else(cannot)),
                        _ => Err(cannot()),
                    };
                }
                continue;
            }
            if work == Awaited::Merges {
                if let Some(error) = self.merge_error() {
                    return Err(error);
                }
                // No worker merges after a failed sync, and none says that it does not.
                self.check_sound()?;
            }
            let mut state = self.background.lock();
            if state.shutdown {
                return Err(Error::new(ErrorKind::Closed, "the database was closed meanwhile"));
            }
            if let Awaited::Work(work) = work
                && let Some(Some(error)) = state.error(work)
            {
                return Err(error.clone());
            }
            if state.steps == seen || planted(Fault::SleepThroughStep) {
                let progress = &self.background.progress;
                match left {
                    None => drop(progress.wait(state)),
                    Some(left) => {
                        let waited = progress.wait_timeout(state, left);
                        let waited = waited.unwrap_or_else(PoisonError::into_inner);
                        is_over = waited.1.timed_out();
                    }
                }
            }
        }
    }

    /// Whether background work is being ended: a long step should end early.
    pub(crate) fn stopping(&self) -> bool {
        self.closed.load(Ordering::Acquire) || self.has_workers() && self.background.shutting_down()
    }
}

/// A job in hand: its claim is given up when whoever has it does not come back.
struct ClaimGuard<'a> {
    core: &'a Core,
    job: Option<Claim>,
}

impl Drop for ClaimGuard<'_> {
    fn drop(&mut self) {
        if self.job.is_some() {
            self.core.end_job(&mut self.job);
        }
    }
}

/// A thread is at a slice of a compaction.
struct SliceInHand<'a>(&'a Core);

impl SliceInHand<'_> {
    /// A thread that then finds the database open is waited for by whoever closes it.
    fn new(core: &Core) -> SliceInHand<'_> {
        core.background.lock().slices += 1;
        SliceInHand(core)
    }
}

impl Drop for SliceInHand<'_> {
    fn drop(&mut self) {
        self.0.background.lock().slices -= 1;
        self.0.background.progress.notify_all();
    }
}

/// Somebody waits for rest.
struct RestWaiter<'a>(&'a Core);

impl Drop for RestWaiter<'_> {
    fn drop(&mut self) {
        self.0.background.lock().rest_waiters -= 1;
    }
}

/// A caller runs jobs of its own: the policy's begin again when it is done.
struct Manual<'a>(&'a Core);

impl Drop for Manual<'_> {
    fn drop(&mut self) {
        // The workers are woken in the same moment: none of them has looked in vain in between.
        let mut state = self.0.background.lock();
        state.manual -= 1;
        state.steps += 1;
        self.0.runtime.workers().wake(self.0.member);
    }
}
