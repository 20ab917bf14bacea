//! Giving way: work that nobody is in a hurry for rests while others read and write.
//!
//! Garbage collection of segments gives space back, and whoever reads or writes meanwhile should
//! hardly notice. It takes processor time, memory bandwidth and the disk's queue, in which a synced
//! write stands behind what the collection wrote; and what it replaces is no longer in anybody's
//! cache. How much of that others feel is a matter of the share of time in which it works:
//!
//! ```text
//! nobody there     ██████████████████        as fast as it can
//! reads, writes    ██░░░░██░░░░██░░░░        a third of the time
//! writes that sync ██░░░░░░░░░░██░░░░        a sixth
//! ```
//!
//! A write that syncs hardly gets through while a collection fills the disk's queue: it takes the
//! whole of the time that the collection works.
//!
//! Invariant: it rests only if there was an operation since it last looked, and then no longer than
//! [`REST_FOR_SYNCS`] times what it has worked since: there is always an end.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::counters::Total;
use crate::db::core::Core;

/// Time that it rests for each unit of time that it worked beside reads and writes.
const REST: u32 = 2;

/// And beside writes that sync.
const REST_FOR_SYNCS: u32 = 5;

/// Longest rest without asking whether the database closes.
const LONGEST_NAP: Duration = Duration::from_millis(20);

/// Somebody who works and rests.
pub(crate) struct Courtesy<'a> {
    core: &'a Core,
    /// Operations of others when it last looked.
    operations: Cell<u64>,
    /// How many of them had synced.
    syncs: Cell<u64>,
    /// When it began to work again.
    since: Cell<Duration>,
}

impl<'a> Courtesy<'a> {
    /// Of a work that begins now.
    pub(crate) fn new(core: &'a Core) -> Courtesy<'a> {
        let (operations, syncs) = (Cell::new(0), Cell::new(0));
        let courtesy = Courtesy { core, operations, syncs, since: Cell::default() };
        courtesy.resume();
        courtesy
    }

    /// It begins to work again: what happened before disturbed nobody, for it waited.
    pub(crate) fn resume(&self) {
        self.rest_due();
        self.since.set(self.core.options.env.clock.now());
    }

    /// How long it has to rest for each unit of time that it worked since this was last asked.
    fn rest_due(&self) -> u32 {
        let (operations, syncs) = (self.core.operations(), self.core.syncs.load(Ordering::Relaxed));
        if self.syncs.replace(syncs) != syncs {
            self.operations.set(operations);
            REST_FOR_SYNCS
        } else if self.operations.replace(operations) != operations {
            REST
        } else {
            0
        }
    }

    /// Call every few milliseconds, holding no lock that readers or writers wait for.
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
    /// Writes, and reads that looked at a block of a table. Only that it grows is of interest.
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

    /// A database on a clock that moves when somebody sleeps, with a table.
    fn open() -> (Db, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        let env = Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(MemFs::new()) };
        let options = Options { create_if_missing: true, env, ..Options::default() };
        let db = Db::open("db", options).unwrap();
        db.put("key", "value").unwrap();
        db.flush().unwrap();
        (db, clock)
    }

    /// How long it rests after `WORK` and what `meanwhile` does.
    fn rest_after(courtesy: &Courtesy<'_>, clock: &ManualClock, meanwhile: impl Fn()) -> Duration {
        meanwhile();
        clock.advance(WORK);
        let before = clock.now();
        courtesy.give_way();
        clock.now() - before
    }

    #[test]
    fn it_rests_for_its_share_while_there_are_operations_and_never_without() {
        let (db, clock) = open();
        let courtesy = Courtesy::new(db.core());
        let put = || db.put("other", "value").unwrap();
        let read = || assert!(db.get("key").unwrap().is_some());
        assert_eq!(rest_after(&courtesy, &clock, || ()), Duration::ZERO);
        assert_eq!(rest_after(&courtesy, &clock, put), WORK * REST);
        assert_eq!(rest_after(&courtesy, &clock, || ()), Duration::ZERO);
        assert_eq!(rest_after(&courtesy, &clock, read), WORK * REST);
        let synced = crate::WriteOptions { sync: true, ..Default::default() };
        let put_synced = || db.put_opt("other", "value", &synced).unwrap();
        assert_eq!(rest_after(&courtesy, &clock, put_synced), WORK * REST_FOR_SYNCS);
        assert_eq!(rest_after(&courtesy, &clock, || ()), Duration::ZERO);
    }

    #[test]
    fn what_it_waited_for_others_is_not_work() {
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
    fn it_does_not_rest_while_the_database_closes() {
        let (db, clock) = open();
        let courtesy = Courtesy::new(db.core());
        db.put("other", "value").unwrap();
        db.close().unwrap();
        assert_eq!(rest_after(&courtesy, &clock, || ()), Duration::ZERO);
    }
}
