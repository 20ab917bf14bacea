//! Background work: its steps, and the callers that wait for them.
//!
//! Callers wait for flushes of sealed memtables, slices of compactions, and garbage collections of
//! value segments. Each of them is a step, which can be repeated until there is nothing to do. The
//! runtime's workers repeat the steps ([`crate::runtime`]). Without threads, the caller that needs
//! the outcome runs the steps on its own thread ([`crate::Db::step_background`]).
//!
//! A waiter sees only the errors of the work it waits for. A failed compaction never fails a write
//! or a flush.

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::background::Awaited;
use crate::db::state::tree::Claim;
use crate::db::throttle::full_disk::room_of_shortage;
use crate::db::trees::schedule::Asks;
use crate::error::{ErrorKind, Result};
use crate::runtime::{Tenant, Work};
use crate::user_code::Inside;

impl Core {
    /// Seals the memtables if the memory ledger asked for it. Then flushes the oldest sealed
    /// memtables if a flush is due, or at once if `eager`. Returns whether there was anything to
    /// flush.
    pub(crate) fn flush_work(&self, eager: bool) -> Result<bool> {
        self.fit_reserve();
        let flushed = self.try_flush_work(eager).or_else(|error| self.retry_step(error));
        self.end_shortage();
        flushed
    }

    fn try_flush_work(&self, eager: bool) -> Result<bool> {
        if self.background.requests.seal.take()
            && let Some(mut writer) = self.writer.try_lock()
        {
            self.seal_for_memory(&mut writer)?;
        }
        self.store_time_if_due();
        // A request after this line leads to another step.
        let soon = self.background.requests.flush.take();
        let wanted = eager || soon || self.reserve.is_open() || self.background.is_flush_awaited();
        let flushed = self.flush_step(wanted);
        if soon && !matches!(flushed, Ok(false)) {
            // More memtables may be sealed, and a flush that failed is tried again.
            self.background.requests.flush.raise();
        }
        let flushed = flushed?;
        self.trim_expired();
        Ok(flushed)
    }

    /// Runs one step of pending background work on this thread: a flush, or else a slice of a
    /// compaction, or else a garbage collection. Returns whether it ran a step. With workers it
    /// runs none.
    pub(crate) fn step_background(&self) -> Result<bool> {
        if self.has_workers() || self.standing.is_read_only() {
            return Ok(false);
        }
        self.check_may_wait()?;
        let outcome = self.flush_work(true);
        self.tell_failed_callbacks();
        self.background.stepped(Work::Flush, &outcome);
        if outcome? {
            return Ok(true);
        }
        if self.settings.disable_auto_compactions {
            return Ok(false);
        }
        let outcome = self.compaction_work();
        self.tell_failed_callbacks();
        self.background.stepped(Work::Compaction, &outcome);
        outcome
    }

    /// Runs a slice of a compaction, or else a garbage collection of value segments. A compaction
    /// that fails each time, for example because of a damaged table, does not block the collection.
    /// If there is neither, checks a file: no caller waits for that, so it does not count as a
    /// step.
    pub(crate) fn compaction_work(&self) -> Result<bool> {
        self.fit_reserve();
        let worked = match self.compaction_slice() {
            Ok(true) => Ok(true),
            Ok(false) => match self.work_beside_compactions() {
                Ok(false) => {
                    self.scrub_work();
                    Ok(false)
                }
                worked => worked,
            },
            // These need less space.
            Err(error) if error.kind() == ErrorKind::NoSpace => self
                .work_beside_compactions()
                .and_then(|worked| worked.then_some(true).ok_or(error)),
            Err(error) => self.gc_work().and(Err(error)),
        };
        let worked = worked.or_else(|error| self.retry_step(error));
        self.end_shortage();
        worked
    }

    fn work_beside_compactions(&self) -> Result<bool> {
        if self.seal_deletes_at_rest()? { Ok(true) } else { self.gc_work() }
    }

    /// Continues a paused job, or begins one. Returns whether there was a job.
    pub(crate) fn compaction_slice(&self) -> Result<bool> {
        let _slice = self.background.runs_slice();
        if self.standing.is_closed() {
            return Ok(false);
        }
        if self.spares_room_for_flushes() {
            let paused = self.background.paused_jobs.take_all();
            paused.into_iter().for_each(|job| self.end_job(&mut Some(job)));
            // A few sealed memtables would wait for more, and refused writes bring no more.
            if self.background.requests.flush.raise_first() {
                self.wake();
            }
            return Ok(false);
        }
        let paused = || self.background.paused_jobs.take_first();
        // Parts of one job may take up all threads. Level 0 does not wait for their end while it
        // slows writers.
        let job = match self.urgency(Work::Compaction) > 0.0 {
            true => self.begin_job()?.or_else(paused),
            false => match paused() {
                None => self.begin_job()?,
                paused => paused,
            },
        };
        let Some(job) = job else { return Ok(false) };
        let mut job = ClaimGuard { core: self, job: Some(job) };
        match self.compaction_step(&mut job.job) {
            // The error concerns that keyspace alone and is reported to listeners. Work for other
            // keyspaces continues.
            Err(error) if error.kind() == ErrorKind::ComparatorFailed => return Ok(true),
            stepped => stepped?,
        }
        // Between two slices no thread owns the job: the next free worker continues it.
        self.background.paused_jobs.add(job.job.take());
        Ok(true)
    }

    /// Runs the next slice of a job. Ends the job if it has no further slice, or if the slice
    /// fails. A slice that met damage is no error once the damage is set aside.
    pub(super) fn compaction_step(&self, job: &mut Option<Claim>) -> Result<()> {
        let Some(current) = job else { return Ok(()) };
        let _inside = Inside::enter(self.events.mark());
        match self.job_step(current) {
            Ok(true) => {}
            Ok(false) => {
                self.totals.add(Total::Compactions, 1);
                self.end_job(job);
            }
            Err(error) => {
                let found_damage = self.set_damage_aside(current, &error);
                self.end_job(job);
                if !found_damage {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Runs the jobs of a caller. Jobs of the policy do not run meanwhile. An error ends the jobs;
    /// finished slices stay in effect.
    pub(super) fn run_alone(&self, run: impl FnOnce() -> Result<()>) -> Result<()> {
        self.check_may_wait()?;
        let _alone = self.background.locks.alone();
        self.check_open()?;
        let _announced = self.background.runs_alone(self.runtime.workers(), self.member);
        self.wait_for_running_jobs()?;
        run()
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
        // A job that is not paused is running on another thread.
        while !are_none(self) {
            if !self.compaction_slice()? {
                self.background.wait_for_slices();
                self.check_open()?;
            }
        }
        Ok(())
    }

    /// Flushes everything written so far, and waits for the flush.
    ///
    /// # Errors
    /// `ComparatorFailed` if the comparator of a keyspace failed. The other keyspaces are flushed.
    pub(crate) fn flush(&self) -> Result<()> {
        self.flush_sealed()?;
        self.keyspaces.check_comparators()
    }

    /// Flushes everything written so far in the keyspaces whose comparators have not failed.
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

    /// Seals the memtables once the number of sealed memtables is below its limit. Without this
    /// limit, calls would add memtables and logs without end while flushes fail.
    fn seal_for_flush(&self) -> Result<()> {
        let written = self.published();
        let most = self.most_buffers();
        loop {
            {
                let mut writer = self.lock_writer()?;
                // A writer may have sealed them in the meantime.
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

    /// Waits until there is nothing left to flush, compact or collect. This includes the
    /// compactions that run only while the database is idle.
    pub(crate) fn wait_for_background(&self) -> Result<()> {
        self.check_open()?;
        self.check_may_wait()?;
        if self.standing.is_read_only() {
            return Ok(());
        }
        let written = self.published();
        let _waiter = self.background.awaits_rest();
        self.wait_while_flushing(|core| {
            if core.sealed.len() > 0 {
                return Awaited::Work(Work::Flush);
            }
            let mut tree = core.lock_tree();
            // While other threads write, the database does not become idle.
            let is_idle = core.published() == written;
            let room = room_of_shortage(core);
            let rest = Asks { for_reads: false, is_idle: is_idle || room.is_some(), room };
            let is_idle = tree.keyspaces.values().all(|own| own.running.is_empty());
            let is_compacted = is_idle
                && tree.keyspaces.values().all(|own| own.trials.is_empty())
                && (core.settings.disable_auto_compactions
                    || (core.pick(&mut tree, rest).is_none()
                        && core.pick_revealing(&tree, false).is_none()));
            match (is_compacted, core.is_gc_due()) {
                (true, false) => Awaited::Nothing,
                (true, true) => Awaited::Gc,
                (false, _) => Awaited::Work(Work::Compaction),
            }
        })?;
        self.remove_unreferenced_tables();
        self.keyspaces.check_comparators()
    }
}

/// A job that a thread runs. If the thread unwinds, the guard releases the job's claim.
pub(super) struct ClaimGuard<'a> {
    pub(super) core: &'a Core,
    pub(super) job: Option<Claim>,
}

impl Drop for ClaimGuard<'_> {
    fn drop(&mut self) {
        if self.job.is_some() {
            self.core.end_job(&mut self.job);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, OnceLock, Weak};

    use foldb_env::{Env, MemFs};

    use super::*;
    use crate::events::{Event, EventListener};
    use crate::{Db, Options};

    /// Asks for a flush while one runs.
    #[derive(Debug, Default)]
    struct Asks(OnceLock<Weak<Core>>);

    impl EventListener for Asks {
        fn on_event(&self, event: &Event) {
            let core = self.0.get().and_then(Weak::upgrade);
            if let (Event::Flush { .. }, Some(core)) = (event, core) {
                core.background.requests.flush.raise();
            }
        }
    }

    /// The flush lowered the request after its work, and with it a request that came meanwhile.
    #[test]
    fn a_request_during_a_flush_leads_to_another_step() {
        let asks = Arc::new(Asks::default());
        let options = Options {
            create_if_missing: true,
            env: Env::in_memory(MemFs::new()),
            listeners: vec![Arc::clone(&asks) as Arc<dyn EventListener>],
            ..Options::default()
        };
        let db = Db::open("db", options).unwrap();
        let core = db.core();
        asks.0.set(Arc::downgrade(core)).unwrap();
        for is_asked_before in [false, true] {
            db.put("a", "1").unwrap();
            let mut writer = core.lock_writer().unwrap();
            core.seal(&mut writer).unwrap();
            drop(writer);
            if is_asked_before {
                core.background.requests.flush.raise();
            }
            assert!(core.flush_work(true).unwrap());
            assert!(core.background.requests.flush.take(), "{is_asked_before}");
            assert!(!core.flush_work(false).unwrap(), "nothing is left");
        }
    }
}
