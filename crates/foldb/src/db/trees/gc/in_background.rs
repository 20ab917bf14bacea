//! Garbage collection in the background: one step at a time, within the I/O budget.
//!
//! A collection that rests occupies a worker, and with a small `gc_io_budget` it may rest for
//! hours. So the worker runs due compactions during the rest. A caller that wants to collect
//! garbage ends the rest.

use std::sync::Arc;
use std::time::Duration;

use crate::compaction::policy::CutRange;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Claim;
use crate::db::state::tree::{KeyspaceTree, Tree};
use crate::db::throttle::give_way::Courtesy;
use crate::db::trees::gc::step::{Collected, candidates, stopped};
use crate::db::trees::schedule::Rewritten;
use crate::error::Result;
use crate::events::Event;
use crate::gc::pick;
use crate::options::Options;
use crate::runtime::{Tenant, Work};

/// Time between two checks whether a rest should end.
const NAP: Duration = Duration::from_millis(50);

/// How long a resting collection starts no compaction after one has failed.
const RETRY: Duration = Duration::from_secs(1);

/// Returns the time that the bytes take at a rate per second: a century at most.
pub(in crate::db::trees) fn time_at(bytes: u64, a_second: u64) -> Duration {
    const CENTURY: f64 = 100.0 * 365.0 * 86_400.0;
    Duration::from_secs_f64((bytes as f64 / a_second as f64).min(CENTURY))
}

impl Core {
    /// Runs one collection in the background. Returns whether there was one to run.
    pub(crate) fn gc_work(&self) -> Result<bool> {
        if !self.collects_by_itself() {
            return Ok(false);
        }
        let Some(_collecting) = self.background.locks.try_collect() else { return Ok(false) };
        let bound = self.gc_bound(self.settings.segments.max_dead_fraction);
        let memory = self.settings.knobs.gc_memory_budget;
        let start = self.options.env.clock.now();
        let courtesy = Courtesy::new(self);
        let progress = |read: u64| {
            courtesy.give_way();
            self.compact_for_writers();
            self.keep_to_io_budget(2 * read, start);
            courtesy.resume();
            if self.stopping() { Err(stopped()) } else { Ok(()) }
        };
        for keyspace in self.keyspaces.all() {
            let backoff = &keyspace.gc_backoff;
            // The number is read before the check, so a change after this line leads to another
            // check.
            let seen = backoff.changes();
            if backoff.is_settled() || !backoff.may_try(start) || keyspace.has_failed() {
                continue;
            }
            let collected = self.gc_step(&keyspace, bound, memory, &progress);
            if collected.is_ok() {
                backoff.succeeded();
            }
            match collected {
                Ok(Collected::Nothing) => backoff.settle_at(seen),
                Ok(Collected::Rewritten(step)) => {
                    if !step.helped() {
                        backoff.settle_at(seen + u64::from(step.installed));
                    }
                    return Ok(true);
                }
                Ok(Collected::LeftAlone) => return Ok(true),
                Err(_) if self.stopping() => return Ok(false),
                Err(error) if self.check_writable().is_err() => return Err(error),
                Err(error) => {
                    // The failure stops neither the collections of other keyspaces nor writes.
                    backoff.failed(error.clone(), self.options.env.clock.now());
                    self.events.tell(&Event::BackgroundError { error });
                }
            }
        }
        Ok(false)
    }

    fn collects_by_itself(&self) -> bool {
        self.settings.segments.max_dead_fraction < 1.0
            && !self.settings.disable_auto_compactions
            && self.background.may_begin_jobs()
    }

    /// Returns whether a collection is due in the background.
    pub(crate) fn is_gc_due(&self) -> bool {
        self.collects_by_itself()
            && self.keyspaces.all().iter().any(|keyspace| {
                // The background does no work for a keyspace whose comparator failed.
                !keyspace.has_failed() && !keyspace.gc_backoff.is_settled() && {
                    let version = Arc::clone(&keyspace.view.load().version);
                    // The bound asks the system for the free space.
                    let bound = self.gc_bound(self.settings.segments.max_dead_fraction);
                    !pick(candidates(keyspace, &version), bound).is_empty()
                }
            })
    }

    /// Waits until the bytes moved since `start` are within the budget. During the wait this worker
    /// compacts and does other work of the runtime: the rest may take hours, and this may be the
    /// only worker. The wait ends when a caller wants to collect.
    fn keep_to_io_budget(&self, bytes: u64, start: Duration) {
        let budget = self.settings.knobs.gc_io_budget;
        if budget == 0 {
            return;
        }
        let clock = &self.options.env.clock;
        let due = start.saturating_add(time_at(bytes, budget));
        let mut compact_from = Duration::ZERO;
        while let Some(left) = due.checked_sub(clock.now()).filter(|left| !left.is_zero()) {
            if self.stopping() || self.background.is_collection_awaited() {
                return;
            }
            let helped = self.runtime.workers().step_beside();
            let outcome =
                if clock.now() < compact_from { Ok(false) } else { self.compact_beside() };
            match outcome {
                Ok(true) => {}
                Ok(false) if helped => {}
                Ok(false) => clock.sleep(left.min(NAP)),
                Err(_) => compact_from = clock.now() + RETRY,
            }
        }
    }

    /// Runs one step of a compaction on the worker that collects. Returns whether it ran one.
    fn compact_beside(&self) -> Result<bool> {
        let outcome = self.compaction_slice();
        if !matches!(outcome, Ok(false)) {
            Tenant::stepped(self, Work::Compaction, &outcome);
        }
        outcome
    }

    /// Compacts while level 0 of a keyspace slows or stops writers.
    pub(crate) fn compact_for_writers(&self) {
        // While the database closes, a job ends as soon as it begins, and level 0 keeps its depth.
        while self.level0_is_deep()
            && !self.stopping()
            && !self.background.is_compaction_failing()
            && matches!(self.compact_beside(), Ok(true))
        {}
    }

    /// Returns whether level 0 of a keyspace slows or stops writers.
    fn level0_is_deep(&self) -> bool {
        let Options { level0_slowdown_trigger, level0_stop_trigger, .. } = self.options;
        let most = level0_slowdown_trigger.min(level0_stop_trigger);
        let runs = |own: &Arc<KeyspaceState>| own.level0_runs(&own.view.load().version);
        let is_deep = |own: &Arc<KeyspaceState>| !own.has_failed() && runs(own) >= most;
        self.keyspaces.all().iter().any(is_deep)
    }

    /// Returns a compaction that finds hidden dead values, if the dead bytes probably exceed the
    /// bound only with them (H21).
    ///
    /// It compacts the whole tree. So while writes arrive, it runs only if it probably finds many
    /// dead values. On an idle database it runs whenever the bound is probably exceeded.
    pub(crate) fn pick_revealing(&self, tree: &Tree, is_idle: bool) -> Option<Claim> {
        let bound = self.settings.segments.max_dead_fraction;
        if bound >= 1.0 {
            return None;
        }
        let least = if is_idle { 0.0 } else { bound / 4.0 };
        let hides = |own: &&KeyspaceTree| {
            own.running.is_empty()
                && own.trials.is_empty()
                && !own.keyspace.has_failed()
                && own.hides_dead_values(bound, least)
        };
        let pick = |own: &KeyspaceTree| {
            self.pick_manual(tree, own.keyspace.id, &CutRange::ALL, Rewritten::default())
        };
        // A keyspace without such a job keeps no other from its own.
        tree.keyspaces.values().filter(hides).find_map(pick)
    }
}
