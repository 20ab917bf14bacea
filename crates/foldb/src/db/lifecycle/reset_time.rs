//! Resets the database's time, after the machine's clock was ahead by mistake.
//!
//! The time never falls otherwise, so one reading ten years ahead would end expiry for ten years.
//! A reset makes the time fall to the machine's clock. Entries that had expired by the false time,
//! and that no flush or compaction has dropped, are alive again.
//!
//! Invariant: an entry that a reader sees after a reset does not vanish before its end. The reset
//! waits for flushes and slices that may drop up to the false time, and no other begins meanwhile.
//! They are installed before the time falls, so a view from before them never meets the new time:
//!
//! ```text
//! compaction: drops a.PUT (to 100) by the time 1000 ........ installs
//! reset:      to 50 ....................................... waits; then the time falls
//! reader:     its view is the current one before and after it takes the time
//! ```
//!
//! Later drops go up to the new time at most, also those below older snapshots: see
//! [`SnapshotList::reset`](crate::db::state::snapshots::SnapshotList::reset).

use std::time::{Duration, SystemTime};

use crate::db::core::Core;
use crate::error::Result;
use crate::fold::stamp::{moment_of, time_of};
use crate::version::Edit;

/// The time of a database, and that of the machine, in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockReading {
    /// The time by which entries expire.
    pub database: SystemTime,
    /// The machine's time of day; 2020-01-01 if it is earlier.
    pub machine: SystemTime,
}

impl ClockReading {
    /// Returns how far the database's time is ahead of the machine's clock. Nothing expires until
    /// the clock catches up.
    pub fn ahead(&self) -> Duration {
        self.database.duration_since(self.machine).unwrap_or_default()
    }
}

impl Core {
    pub(crate) fn clock(&self) -> ClockReading {
        let machine = moment_of(self.options.env.clock.time_of_day());
        let database = self.time.last_seen().max(machine);
        // Neither is the moment that stands for never.
        let time = |moment| time_of(moment).unwrap_or(SystemTime::UNIX_EPOCH);
        ClockReading { database: time(database), machine: time(machine) }
    }

    pub(crate) fn reset_time(&self) -> Result<ClockReading> {
        self.check_writable()?;
        self.check_may_wait()?;
        let _flushing = self.background.locks.flush();
        let _dropping = self.background.locks.keep_expired();
        // No write has its moment while this lock is held.
        let writer = self.lock_writer()?;
        let mut tree = self.lock_tree();
        self.check_writable()?;
        let before = self.clock();
        let moment = moment_of(self.options.env.clock.time_of_day());
        if moment >= self.time.last_seen() {
            return Ok(before);
        }
        self.append_edit(&mut tree, &Edit { time: Some(moment), ..Edit::default() })?;
        // The fronts go first: a call with the new time must not find one that lacks the keys that
        // come back. A call with the old time notices the reset before it keeps a front.
        self.fronts.forget_all(self.published());
        self.snapshots.reset(&self.time, moment);
        tree.keyspaces.values_mut().for_each(|own| own.settled = false);
        drop((tree, writer));
        self.wake();
        Ok(before)
    }
}
