//! Background work: who does it, and who waits for it.
//!
//! There are two kinds of work, each a step that can be repeated until it answers "nothing to do":
//! flushing sealed memtables and doing a slice of a compaction. With threads, workers repeat them;
//! without, whoever needs the outcome steps on its own thread ([`crate::Db::step_background`]).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::db::core::Core;
use crate::db::pace::FlushSpeed;
use crate::db::room::{Patience, busy};
use crate::db::schedule::Claim;
use crate::error::{Error, ErrorKind, Result};
use crate::events::{Event, StallReason};
use crate::totals::Total;

/// The state of background work.
#[derive(Debug, Default)]
pub(crate) struct Background {
    state: Mutex<State>,
    /// Signalled when there may be work.
    work: Condvar,
    /// Signalled when a step was done, or failed.
    progress: Condvar,
    /// Bytes of the logs of sealed memtables.
    sealed_log_bytes: AtomicU64,
    has_workers: AtomicBool,
    /// How long flushes take.
    pub(crate) flushes: FlushSpeed,
    workers: Mutex<Vec<JoinHandle<()>>>,
    /// The job being stepped, where there are no workers.
    stepped_job: Mutex<Option<Claim>>,
    /// Held by who flushes: the same memtables flushed twice would be merged twice.
    pub(crate) flushing: Mutex<()>,
    /// Held by who runs a job of its own, which shares the tree with no other.
    alone: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    shutdown: bool,
    /// Why the last step failed; cleared by one that does not.
    error: Option<Error>,
    /// Callers that wait for a flush: while there are any, sealed memtables are flushed even if they
    /// are few.
    flush_waiters: usize,
    /// Callers of `compact`: no job is begun while there are any.
    manual: usize,
    /// Steps done so far, so that nobody sleeps through one.
    steps: u64,
}

/// How long a worker without work sleeps before it looks whether the database is idle.
const IDLE: Duration = Duration::from_secs(1);

/// How long a worker waits after a failed step before it tries again.
const RETRY: Duration = Duration::from_secs(1);

impl Background {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether threads do the work.
    pub(crate) fn has_workers(&self) -> bool {
        self.has_workers.load(Ordering::Relaxed)
    }

    pub(crate) fn sealed_log_bytes(&self) -> u64 {
        self.sealed_log_bytes.load(Ordering::Relaxed)
    }

    /// Memtables were sealed, and `log_bytes` of log with them.
    pub(crate) fn memtables_sealed(&self, log_bytes: u64) {
        self.sealed_log_bytes.fetch_add(log_bytes, Ordering::Relaxed);
        self.lock().steps += 1;
        self.work.notify_all();
    }

    /// Memtables were flushed, and `log_bytes` of log are not needed any more.
    pub(crate) fn memtables_flushed(&self, log_bytes: u64) {
        self.sealed_log_bytes.fetch_sub(log_bytes, Ordering::Relaxed);
    }

    /// A step was done: there may be more work, and who waits may go on.
    fn stepped(&self, outcome: &Result<bool>) {
        let mut state = self.lock();
        state.steps += 1;
        match outcome {
            Ok(true) => state.error = None,
            Ok(false) => {}
            Err(error) => state.error = Some(error.clone()),
        }
        self.work.notify_all();
        self.progress.notify_all();
    }

    /// There may be something that a worker found nothing to do about before.
    pub(crate) fn look_again(&self) {
        self.lock().steps += 1;
        self.work.notify_all();
    }

    /// Whether jobs of the policy's may begin now. Asked with the tree locked, so that who announces
    /// a job of its own and then sees none running knows that none will be.
    pub(crate) fn may_begin_jobs(&self) -> bool {
        self.lock().manual == 0
    }

    fn shutting_down(&self) -> bool {
        self.lock().shutdown
    }
}

impl Core {
    /// Starts the workers, if the environment has threads.
    pub(crate) fn start_workers(self: &Arc<Core>) -> Result<()> {
        let compactors = if self.options.disable_auto_compactions {
            0
        } else {
            self.options.max_background_compactions.min(MAX_COMPACTORS)
        };
        let mut workers = Vec::new();
        for index in 0..=compactors {
            let core = Arc::clone(self);
            let name = if index == 0 { "foldb-flush" } else { "foldb-compact" };
            let body: Box<dyn FnOnce() + Send> = if index == 0 {
                Box::new(move || core.flush_loop())
            } else {
                Box::new(move || core.compaction_loop())
            };
            let worker = self.options.env.threads.spawn(name, body).map_err(|error| {
                Error::io(self.names.directory(), "start a background thread for", &error)
            })?;
            workers.extend(worker);
        }
        self.background.has_workers.store(!workers.is_empty(), Ordering::Relaxed);
        *self.background.workers.lock().unwrap_or_else(PoisonError::into_inner) = workers;
        self.lock_tree().keyspaces.values().for_each(|own| self.set_pace(own));
        Ok(())
    }

    /// Stops the workers and waits for them.
    pub(crate) fn stop_workers(&self) {
        self.background.lock().shutdown = true;
        self.background.work.notify_all();
        self.background.progress.notify_all();
        let workers = std::mem::take(
            &mut *self.background.workers.lock().unwrap_or_else(PoisonError::into_inner),
        );
        for worker in workers {
            // A worker that panicked has said so; there is nothing left of it to wait for.
            let _panicked = worker.join();
        }
    }

    fn flush_loop(&self) {
        self.work_loop(|core| {
            let wanted = core.background.lock().flush_waiters > 0;
            core.flush_step(wanted)
        });
    }

    fn compaction_loop(&self) {
        let mut job = None;
        self.work_loop(|core| core.compaction_step(&mut job));
        self.end_job(&mut job);
    }

    fn work_loop(&self, mut step: impl FnMut(&Core) -> Result<bool>) {
        loop {
            let seen = {
                let state = self.background.lock();
                if state.shutdown {
                    return;
                }
                state.steps
            };
            let outcome = step(self);
            if let Err(error) = &outcome {
                self.events.tell(&Event::BackgroundError { error: error.clone() });
            }
            if !matches!(outcome, Ok(false)) {
                self.background.stepped(&outcome);
            }
            let state = self.background.lock();
            let ready = |state: &mut State| !state.shutdown;
            match outcome {
                Ok(true) => {}
                Ok(false) => {
                    // Sleep unless something was done, or the end came, since the step looked for work:
                    // nobody wakes who was not asleep yet.
                    if state.steps == seen && !state.shutdown {
                        let idle = |state: &mut State| state.steps == seen && !state.shutdown;
                        let work = &self.background.work;
                        match self.options.idle_runs {
                            0 => drop(work.wait_while(state, idle)),
                            _ => drop(work.wait_timeout_while(state, IDLE, idle)),
                        }
                    }
                }
                Err(_) => drop(self.background.work.wait_timeout_while(state, RETRY, ready)),
            }
        }
    }

    /// Does one step of pending background work on this thread: flushes what is sealed, or else one
    /// slice of a compaction. Whether there was any; where workers do it, there is none.
    pub(crate) fn step_background(&self) -> Result<bool> {
        if self.background.has_workers() {
            return Ok(false);
        }
        let outcome = self.step_once();
        self.background.stepped(&outcome);
        outcome
    }

    fn step_once(&self) -> Result<bool> {
        if self.flush_step(true)? {
            return Ok(true);
        }
        if self.options.disable_auto_compactions {
            return Ok(false);
        }
        let mut job = self.background.stepped_job.lock().unwrap_or_else(PoisonError::into_inner);
        self.compaction_step(&mut job)
    }

    /// Begins the job the policy picks, or does the next slice of the one begun. Whether there was
    /// anything to do.
    fn compaction_step(&self, job: &mut Option<Claim>) -> Result<bool> {
        if job.is_none() {
            *job = self.begin_job();
        }
        let Some(current) = job else { return Ok(false) };
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
        Ok(true)
    }

    /// Runs jobs of the caller's to their end, alone, until there is no next one.
    pub(crate) fn run_alone(&self, next: impl Fn(&Core) -> Option<Claim>) -> Result<()> {
        let _alone = self.background.alone.lock().unwrap_or_else(PoisonError::into_inner);
        self.background.lock().manual += 1;
        let outcome = self.wait_for_running_jobs().and_then(|()| {
            let mut outcome = Ok(true);
            while let (Ok(true), Some(job)) = (&outcome, next(self)) {
                let mut job = Some(job);
                while job.is_some() && matches!(outcome, Ok(true)) {
                    outcome = self.check_open().and_then(|()| self.compaction_step(&mut job));
                    self.background.stepped(&outcome);
                }
                self.end_job(&mut job);
            }
            outcome.map(|_| ())
        });
        self.background.lock().manual -= 1;
        self.background.stepped(&Ok(false));
        outcome
    }

    fn wait_for_running_jobs(&self) -> Result<()> {
        if !self.background.has_workers() {
            let mut job =
                self.background.stepped_job.lock().unwrap_or_else(PoisonError::into_inner);
            while job.is_some() {
                self.compaction_step(&mut job)?;
            }
            return Ok(());
        }
        self.wait_until(|core| {
            core.lock_tree().keyspaces.values().all(|own| own.running.is_empty())
        })
    }

    /// Flushes everything written so far and waits for it.
    pub(crate) fn flush(&self) -> Result<()> {
        self.check_writable()?;
        {
            let mut writer = self.lock_writer();
            if !writer.buffers.is_empty() {
                self.seal(&mut writer)?;
            }
        }
        let Some(through) = self.sealed.newest_through() else { return Ok(()) };
        self.wait_while_flushing(|core| core.sealed.are_flushed(through))
    }

    /// Waits until there is nothing left to flush or compact.
    pub(crate) fn wait_for_background(&self) -> Result<()> {
        self.check_open()?;
        self.wait_while_flushing(Core::at_rest)
    }

    fn at_rest(&self) -> bool {
        if self.sealed.len() > 0 {
            return false;
        }
        let mut tree = self.lock_tree();
        tree.keyspaces.values().all(|own| own.running.is_empty())
            && (self.options.disable_auto_compactions || self.pick(&mut tree).is_none())
    }

    fn wait_while_flushing(&self, done: impl Fn(&Core) -> bool) -> Result<()> {
        self.background.lock().flush_waiters += 1;
        self.background.stepped(&Ok(false));
        let outcome = self.wait_until(done);
        self.background.lock().flush_waiters -= 1;
        outcome
    }

    /// Counts and tells how long a write was held back.
    pub(crate) fn note_stall(&self, reason: StallReason, duration: Duration) {
        self.totals.add(Total::StallMicros, duration.as_micros() as u64);
        self.events.tell(&Event::Stall { reason, duration });
    }

    /// Waits, or steps where there are no workers, until `done`.
    ///
    /// # Errors
    /// Of the background work that would have to be done first; `Closed` when the database is closed
    /// meanwhile.
    fn wait_until(&self, done: impl Fn(&Core) -> bool) -> Result<()> {
        self.wait_until_within(Patience::ENDLESS, done)
    }

    /// [`Core::wait_until`], but no longer than patience lasts.
    ///
    /// # Errors
    /// `Busy` when it ends first.
    pub(crate) fn wait_until_within(
        &self,
        patience: Patience,
        done: impl Fn(&Core) -> bool,
    ) -> Result<()> {
        let mut is_over = false;
        loop {
            let seen = self.background.lock().steps;
            if done(self) {
                return Ok(());
            }
            let left = patience.left(&*self.options.env.clock);
            if is_over || left == Some(Duration::ZERO) {
                return Err(busy("flushes and compactions have not caught up"));
            }
            if !self.background.has_workers() {
                if !self.step_background()? {
                    return match done(self) {
                        true => Ok(()),
                        false => Err(Error::new(
                            ErrorKind::Io,
                            "background work that is waited for cannot be done",
                        )),
                    };
                }
                continue;
            }
            let state = self.background.lock();
            if state.shutdown {
                drop(state);
                return Err(Error::new(ErrorKind::Closed, "the database was closed meanwhile"));
            }
            if let Some(error) = &state.error {
                return Err(error.clone());
            }
            if state.steps == seen {
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

    /// Whether the workers are being stopped: a long step should end early.
    pub(crate) fn stopping(&self) -> bool {
        self.background.has_workers() && self.background.shutting_down()
    }
}

/// Most compaction threads; more than the machine has cores would only get in each other's way.
const MAX_COMPACTORS: usize = 8;
