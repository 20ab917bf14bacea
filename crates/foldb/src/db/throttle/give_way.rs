//! Garbage collection yields to foreground reads and writes.
//!
//! Garbage collection of value segments reclaims space; foreground operations should hardly notice
//! it. But it takes processor time and memory bandwidth, and its writes fill the disk's queue. So
//! the collection limits the share of time in which it works:
//!
//! ```text
//! no operations     ██████████████████  without rest
//! reads, writes     ██░░░░██░░░░██░░░░  a third of the time
//! synced writes     ██░░░░░░░░░░██░░░░  a sixth
//! ```
//!
//! While the collection works, a synced write hardly advances, because it waits in the disk's queue
//! until the collection's writes are done.
//!
//! Invariant: the collection rests only if an operation ran since its last check. A rest takes at
//! most [`REST_FOR_SYNCS`] times as long as the work since that check, so the collection always
//! ends.

use std::cell::Cell;
use std::time::Duration;

use crate::counters::Total;
use crate::db::core::Core;

/// Rest for each unit of work while reads or writes run.
const REST: u32 = 2;

/// Rest for each unit of work while synced writes run.
const REST_FOR_SYNCS: u32 = 5;

/// Longest sleep between two checks whether the database closes.
const LONGEST_NAP: Duration = Duration::from_millis(20);

/// A task that alternates work and rest.
pub(crate) struct Courtesy<'a> {
    core: &'a Core,
    /// Foreground operations at the last check.
    operations: Cell<u64>,
    /// Synced writes at the last check.
    syncs: Cell<u64>,
    /// When the task began to work again.
    since: Cell<Duration>,
}

impl<'a> Courtesy<'a> {
    /// Starts the clock of a task that begins now.
    pub(crate) fn new(core: &'a Core) -> Courtesy<'a> {
        let (operations, syncs) = (Cell::new(0), Cell::new(0));
        let courtesy = Courtesy { core, operations, syncs, since: Cell::default() };
        courtesy.resume();
        courtesy
    }

    /// Notes that the task works again. Operations during its wait do not count, because the task
    /// did not disturb them.
    pub(crate) fn resume(&self) {
        self.rest_due();
        self.since.set(self.core.options.env.clock.now());
    }

    /// Returns the rest that is due for each unit of work since the last call.
    fn rest_due(&self) -> u32 {
        let (operations, syncs) = (self.core.operations(), self.core.logs.waits());
        if self.syncs.replace(syncs) != syncs {
            self.operations.set(operations);
            REST_FOR_SYNCS
        } else if self.operations.replace(operations) != operations {
            REST
        } else {
            0
        }
    }

    /// Rests if a rest is due. The task calls this every few milliseconds, and holds no lock that
    /// readers or writers wait for.
    pub(crate) fn give_way(&self) {
        let clock = &self.core.options.env.clock;
        let due = self.rest_due();
        if due > 0 {
            let now = clock.now();
            let until = now + (now - self.since.get()) * due;
            while let Some(left) = until.checked_sub(clock.now()).filter(|left| !left.is_zero()) {
                if self.core.stopping() || self.core.check_open().is_err() {
                    break;
                }
                clock.sleep(left.min(LONGEST_NAP));
            }
        }
        self.resume();
    }
}

impl Core {
    /// Returns a count that grows with each write, and each read that uses a block of a table.
    fn operations(&self) -> u64 {
        let writes = [Total::Puts, Total::Deletes, Total::Merges, Total::RangeDeletes];
        let writes: u64 = writes.into_iter().map(|total| self.totals.get(total)).sum();
        writes + self.cache.hits() + self.cache.misses()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use foldb_env::{Clock, Env, ManualClock, MemFs};

    use super::*;
    use crate::{Db, Options};

    const WORK: Duration = Duration::from_millis(6);

    /// Opens a database with a table, on a clock that moves only when a thread sleeps.
    fn open() -> (Db, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        let env = Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(MemFs::new()) };
        let options = Options { create_if_missing: true, env, ..Options::default() };
        let db = Db::open("db", options).unwrap();
        db.put("key", "value").unwrap();
        db.flush().unwrap();
        (db, clock)
    }

    /// Returns how long the task rests after `WORK`, during which `meanwhile` runs.
    fn rest_after(courtesy: &Courtesy<'_>, clock: &ManualClock, meanwhile: impl Fn()) -> Duration {
        meanwhile();
        clock.advance(WORK);
        let before = clock.now();
        courtesy.give_way();
        clock.now() - before
    }

    #[test]
    fn the_task_rests_only_if_operations_ran() {
        let (db, clock) = open();
        let courtesy = Courtesy::new(db.core());
        let put = || db.put("other", "value").unwrap();
        let read = || assert!(db.get("key").unwrap().is_some());
        assert_eq!(rest_after(&courtesy, &clock, || ()), Duration::ZERO);
        assert_eq!(rest_after(&courtesy, &clock, put), WORK * REST);
        assert_eq!(rest_after(&courtesy, &clock, || ()), Duration::ZERO);
        assert_eq!(rest_after(&courtesy, &clock, read), WORK * REST);
        let synced = crate::WriteOptions { sync: true, ..Default::default() };
        let put_synced = || db.with(&synced).put("other", "value").unwrap();
        assert_eq!(rest_after(&courtesy, &clock, put_synced), WORK * REST_FOR_SYNCS);
        assert_eq!(rest_after(&courtesy, &clock, || ()), Duration::ZERO);
    }

    #[test]
    fn time_that_the_task_waits_is_not_work() {
        let (db, clock) = open();
        let courtesy = Courtesy::new(db.core());
        let wait = || {
            db.put("other", "value").unwrap();
            clock.advance(WORK * 100);
            courtesy.resume();
        };
        assert_eq!(rest_after(&courtesy, &clock, wait), Duration::ZERO);
    }

    #[test]
    fn the_task_does_not_rest_while_the_database_closes() {
        let (db, clock) = open();
        let courtesy = Courtesy::new(db.core());
        db.put("other", "value").unwrap();
        db.close().unwrap();
        assert_eq!(rest_after(&courtesy, &clock, || ()), Duration::ZERO);
    }
}
