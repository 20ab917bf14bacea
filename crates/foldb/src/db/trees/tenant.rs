//! The database as a tenant of its runtime. A runtime serves one database or several: its tenants.
//! This file has the steps of work that workers call, and how a database joins and leaves.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::throttle::full_disk::wanted_reserve;
use crate::db::trees::schedule::begins_at_rest;
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::runtime::{Tenant, Ticked, Work};

impl Tenant for Core {
    fn step(&self, work: Work) -> Result<bool> {
        match work {
            Work::Flush => self.flush_work(false),
            Work::Compaction => self.compaction_work(),
            Work::Order => Ok(self.order_work()),
        }
    }

    fn step_beside(&self, work: Work) -> Result<bool> {
        match work {
            // A garbage collection may rest, so it does not run here.
            Work::Compaction => self.compaction_slice(),
            Work::Flush | Work::Order => self.step(work),
        }
    }

    fn urgency(&self, work: Work) -> f64 {
        match work {
            Work::Flush => (self.sealed.len() + 1) as f64 / self.settings.write_buffers.most as f64,
            Work::Order => 0.0,
            Work::Compaction => {
                let slow = self.settings.tree.level0_slowdown_trigger;
                let runs = |own: &Arc<KeyspaceState>| own.level0_runs(&own.view.load().version);
                let deepest = self.keyspaces.look(|all| all.map(runs).max()).unwrap_or(0);
                // Databases whose writers are not slowed are equally urgent.
                if deepest < slow {
                    0.0
                } else {
                    deepest as f64 / self.settings.tree.level0_stop_trigger as f64
                }
            }
        }
    }

    fn stepped(&self, work: Work, outcome: &Result<bool>) {
        self.tell_failed_callbacks();
        // A step that a close ended early did not fail.
        if let Err(error) = outcome
            && error.kind() != ErrorKind::Closed
        {
            self.events.tell(&Event::BackgroundError { error: error.clone() });
        }
        self.background.stepped(work, outcome);
    }

    fn panicked(&self, work: Work, message: &str) -> Error {
        let doing = match work {
            Work::Flush => "a flush",
            Work::Compaction => "a compaction",
            Work::Order => "sorting a memtable",
        };
        // The panic may leave memory half changed, so nothing may build on it.
        let error = Error::new(
            ErrorKind::Poisoned,
            format!("{doing} panicked ({message}); reopen the database"),
        );
        self.standing.poison(&error);
        error
    }

    fn max_compactions(&self) -> usize {
        if self.settings.disable_auto_compactions {
            0
        } else {
            // Those that flush also compact if no thread is kept for flushes.
            self.settings.max_background_compactions.max(1)
        }
    }

    fn works_when_idle(&self, work: Work) -> bool {
        match work {
            // A file that a reader holds is removed after the reader has dropped it. The reader
            // then wakes the worker.
            Work::Flush => {
                let expires = self.feed.as_ref().is_some_and(|feed| feed.expires());
                expires || self.segment_files.expects_trash() || self.reserve.is_open()
            }
            Work::Order => false,
            Work::Compaction => {
                let scrubs = self.settings.scrub_io_budget > 0;
                scrubs || !self.background.rest.is_at_rest() || self.keyspaces.gc_error().is_some()
            }
        }
    }

    fn wants_order(&self) -> bool {
        self.background.requests.order.is_raised()
    }

    fn poke(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.background.requests.poke)
    }

    fn request_seal(&self) {
        self.background.requests.seal.raise();
    }

    fn has_work(&self) -> bool {
        let lacks_reserve = wanted_reserve(self).is_some() && self.free_space().is_some();
        let is_due = self.sealed.len() > 0 || lacks_reserve || self.is_gc_due();
        is_due
            || self.works_when_idle(Work::Flush)
            || self.settings.scrub_io_budget > 0
            || self.background.requests.see_deletes.is_raised()
            || !begins_at_rest(self)
    }

    fn log_bytes(&self) -> usize {
        self.logs.memory_bytes()
    }
}

impl Core {
    /// Registers the database with the workers of its runtime.
    pub(crate) fn join_runtime(self: &Arc<Core>) {
        let (workers, poke) = (Arc::downgrade(self.runtime.workers()), self.poke());
        self.segment_files.trash().listen(move || {
            if let Some(workers) = workers.upgrade() {
                workers.poke(&poke);
            }
        });
        self.lock_tree().keyspaces.values().for_each(|own| self.set_pace(own));
        // Last, because it looks for work. That look clears a pace that no work would end.
        let tenant: Arc<dyn Tenant> = Arc::clone(self) as Arc<dyn Tenant>;
        self.runtime.workers().add(self.member, tenant);
        if let Some(recorder) = &self.recorder {
            let ticker = self.runtime.ticker();
            ticker.add(self.member, Arc::clone(self) as Arc<dyn Ticked>);
            recorder.join(ticker, self.member);
        }
    }

    /// Ends all background work and leaves the runtime.
    pub(crate) fn leave_runtime(&self) {
        self.background.shut_down();
        self.runtime.ticker().remove(self.member);
        self.runtime.workers().remove(self.member);
        self.background.wait_for_slices();
        self.background
            .paused_jobs
            .take_all()
            .into_iter()
            .for_each(|job| self.end_job(&mut Some(job)));
        self.cache.clear();
    }
}
