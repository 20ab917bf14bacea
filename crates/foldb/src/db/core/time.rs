//! The database's time, with what it needs of the database: the clock, the workers that store it,
//! and the manifest. [`crate::db::state::time`] explains the order of its steps.

use std::sync::Arc;

use foldb_env::scheduling_point;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::clock_jumps::Jump;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::time::Reading;
use crate::db::state::tree::Tree;
use crate::events::{ClockJump, Event};
use crate::faults::{Fault, planted};
use crate::fold::stamp::{CommitTime, Moment, moment_of};
use crate::memtable::Memtable;
use crate::version::Edit;

impl Core {
    /// Returns the time now.
    #[inline]
    pub(crate) fn time(&self) -> Moment {
        self.time_reading().moment()
    }

    /// Returns the time now, to be compared with a later
    /// [`last_reading`](crate::db::state::time::DatabaseTime::last_reading).
    #[inline]
    pub(crate) fn time_reading(&self) -> Reading {
        let clock = moment_of(self.options.env.clock.time_of_day());
        if !self.time.is_noted(clock) {
            self.note_clock();
        }
        self.time.shown_reading()
    }

    /// Returns the time now, for an entry whose life begins.
    pub(crate) fn commit_time(&self) -> CommitTime {
        CommitTime::within(self.time(), self.options.env.clock.time_of_day())
    }

    /// Returns the time up to which a flush of these memtables, or a compaction, may drop expired
    /// records; `None` if entries of the keyspace never expire. Operands in the other memtables
    /// need the values that they came to in time. A compaction passes no memtables.
    ///
    /// A write may have its moment and not be in its memtable yet. So the order is: the stored
    /// time, that moment, the snapshots, the memtables. A write whose moment this call does not see
    /// is in a memtable, or has a later moment than this time. A snapshot that this call does not
    /// see is from after the write, and has a later time too.
    ///
    /// ```text
    /// writer: moment 9 ........................ a.MERGE@9 in the memtable
    /// here:             time 12, no operand: drop a.PUT@0 (to 10), too early
    ///
    /// writer:   moment 9 ......................... ends
    /// snapshot:                 at the time 9
    /// here:        no snapshot              no write: drop b.PUT@0 (to 10), too early
    /// ```
    pub(crate) fn expired_through(
        &self,
        keyspace: &KeyspaceState,
        flushed: &[Arc<Memtable>],
    ) -> Option<Moment> {
        keyspace.settings.expiry?;
        self.store_time_now();
        let through = self.time.last_stored().min(self.time.moment_of_write());
        scheduling_point();
        let through = through.min(self.droppable_through());
        if planted(Fault::DropExpiredBelowMerge) {
            return Some(through);
        }
        let view = keyspace.view.load();
        let is_flushed = |own: &Memtable| flushed.iter().any(|other| std::ptr::eq(&**other, own));
        let newer = view.memtables().filter(|memtable| !is_flushed(memtable));
        Some(newer.map(|memtable| memtable.merged_since()).fold(through, Moment::min))
    }

    /// Returns the time up to which expired records may go, as far as the time itself decides. The
    /// clock may be behind the time, because it was ahead by mistake before. Until it catches up,
    /// records stay that a reset of the time would bring back.
    pub(crate) fn droppable_through(&self) -> Moment {
        let clock = moment_of(self.options.env.clock.time_of_day());
        self.snapshots.expired_through(&self.time).min(clock)
    }

    /// Notes another second of the machine's clock. If it is later than the time, shows it and has
    /// it stored. This call waits for no disk if there are workers.
    #[cold]
    fn note_clock(&self) {
        let (is_later, jump) = self.time.note(&*self.options.env.clock);
        if is_later && !self.standing.is_read_only() {
            self.store_soon();
        }
        if let Some(jump) = jump {
            let Jump { forward, by, .. } = jump;
            let total = if forward { Total::ClockJumpsForward } else { Total::ClockJumpsBack };
            self.totals.add(total, 1);
            let ahead = jump.behind(self.time.last_seen());
            self.events.tell(&Event::ClockJumped(ClockJump { forward, by, ahead }));
        }
    }

    /// Has the time stored: by a worker, or by this call if there are none.
    fn store_soon(&self) {
        if self.has_workers() {
            self.time.store_soon();
            self.wake();
            return;
        }
        // Otherwise the call that holds the lock is one of a later second, or the next second
        // stores this one too.
        if let Some(mut tree) = self.tree.try_lock() {
            self.store_time(&mut tree);
        }
    }

    /// Stores the time if a call saw a later second than the stored one. Workers call this.
    pub(crate) fn store_time_if_due(&self) {
        if self.time.take_store_due() {
            self.store_time(&mut self.lock_tree());
        }
    }

    /// Asks the clock, and stores the time. The caller may wait for the disk, and does not hold the
    /// tree's lock.
    pub(crate) fn store_time_now(&self) {
        self.time();
        if self.time.last_stored() < self.time.last_seen() {
            self.store_time(&mut self.lock_tree());
        }
    }

    /// Stores the last second that a call saw. If it cannot be stored, records that have expired
    /// since the stored second keep their space.
    fn store_time(&self, tree: &mut Tree) {
        let seen = self.time.last_seen();
        if self.standing.is_read_only() || seen <= self.time.last_stored() {
            return;
        }
        let edit = Edit { time: Some(seen), ..Edit::default() };
        if self.append_edit(tree, &edit).is_ok() {
            self.time.note_stored(seen);
            // A failure poisons the database, or leaves the old manifest in force.
            let _best_effort = self.roll_long_manifest(tree);
        }
    }
}
