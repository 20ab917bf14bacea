//! The database's own time, by which entries expire.
//!
//! It follows the machine's time of day, in whole seconds, and falls only when a caller resets it
//! ([`crate::Db::reset_clock`]). Readers and writers see it in memory: no call waits for a disk to
//! learn the time, and no failure of a disk stops it. A worker stores each second that a call saw
//! in the manifest. So after a crash the time begins at least at the last stored second, even if
//! the machine's clock was set back.
//!
//! Invariant: expired records are dropped only up to a stored second. After every crash, later
//! writes have moments at or after it, so no operand comes in time to a value that is gone:
//!
//! ```text
//! stored 9, seen 12: a compaction keeps a.PUT@0 (to 10)
//! crash, clock set back to 9: a.MERGE@9 finds it
//! ```
//!
//! A write has its moment before it is published. Until then readers see no later time. So no
//! reader finds a value expired to which a merge then comes in time:
//!
//! ```text
//! writer: moment 9 ................................ publishes a.MERGE@9
//! reader:             at 12: a.PUT@0 (to 10) is gone               at 12: PUT and MERGE
//! ```
//!
//! Only keyspaces with expiry ask for the time. At most once a second a worker then stores it, or
//! the caller if there are no workers.
//!
//! A reset makes the time fall. So a caller that must know whether the time changed compares
//! *readings*, which count the resets in their upper half, and a reading never falls.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use foldb_env::Clock;

use crate::db::state::clock_jumps::{Jump, JumpDetector};
use crate::fold::stamp::{CommitTime, Moment, NEVER, moment_of};

/// The resets so far, in the upper half, and a moment. It never falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reading(u64);

impl Reading {
    fn new(resets: u32, moment: Moment) -> Reading {
        Reading(u64::from(resets) << 32 | u64::from(moment))
    }

    fn resets(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn moment(self) -> Moment {
        self.0 as Moment
    }
}

/// The time that readers and writers see.
#[derive(Debug)]
pub(crate) struct DatabaseTime {
    /// The latest [`Reading`] that a call made.
    seen: AtomicU64,
    /// The second of the machine's clock that a call noted last; [`NEVER`] before the first.
    noted: AtomicU32,
    /// Finds jumps of the machine's clock.
    jumps: JumpDetector,
    /// The last second that is in the manifest, durably.
    stored: AtomicU32,
    /// Whether a worker should store the time. Raised and lowered by swaps with `AcqRel`. So a
    /// worker that lowers it also sees the second that each caller noted before.
    is_store_due: AtomicBool,
    /// Whether a keyspace with expiry exists, or existed since the open.
    is_used: AtomicBool,
    /// The moment of the write that has its moment and is not yet in its memtable; [`NEVER`] if
    /// there is none. 0 while that moment is being chosen.
    writing: AtomicU32,
    /// The moment before which no table of an idle database is worth a rewrite. Until then its
    /// workers do not ask for the time, because each second stored costs a sync.
    next_end: AtomicU32,
}

impl DatabaseTime {
    /// Begins at the stored time.
    pub(crate) fn new(stored: Moment) -> DatabaseTime {
        DatabaseTime {
            seen: AtomicU64::new(Reading::new(0, stored).0),
            noted: AtomicU32::new(NEVER),
            jumps: JumpDetector::default(),
            stored: AtomicU32::new(stored),
            is_store_due: AtomicBool::new(false),
            is_used: AtomicBool::new(false),
            writing: AtomicU32::new(NEVER),
            next_end: AtomicU32::new(0),
        }
    }

    /// Gives a write its moment. The caller holds the writer lock.
    pub(crate) fn begin_write(&self) -> MomentOfWrite<'_> {
        // The order matters: see `Core::expired_through`.
        debug_assert_eq!(self.moment_of_write(), NEVER, "one write at a time has a moment");
        self.writing.store(0, Ordering::SeqCst);
        // 0 says that the moment is not chosen yet.
        let moment = self.last_seen().max(1);
        self.writing.store(moment, Ordering::SeqCst);
        MomentOfWrite { time: self, moment }
    }

    /// Lets nothing expire for good while writes are logged and not yet in memtables. The caller is
    /// an open, so no other write has its moment meanwhile.
    pub(crate) fn await_logged_writes(&self) -> MomentOfWrite<'_> {
        debug_assert_eq!(self.moment_of_write(), NEVER, "one write at a time has a moment");
        let earliest = 1;
        self.writing.store(earliest, Ordering::SeqCst);
        MomentOfWrite { time: self, moment: earliest }
    }

    /// Notes that a keyspace with expiry exists.
    pub(crate) fn note_use(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    /// Returns whether a keyspace with expiry exists, or existed since the open.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        // Relaxed: a thread that has the keyspace got it through a lock, behind the store.
        self.is_used.load(Ordering::Relaxed)
    }

    /// Returns whether a worker should ask for the time.
    pub(crate) fn is_end_due(&self, clock: &dyn Clock) -> bool {
        // Relaxed: a late look asks at the next round of the worker.
        moment_of(clock.time_of_day()) >= self.next_end.load(Ordering::Relaxed)
    }

    /// Notes the moment before which workers need not ask for the time.
    pub(crate) fn note_next_end(&self, end: Moment) {
        self.next_end.store(end, Ordering::Relaxed);
    }

    /// Returns the time that readers see, without asking the clock. A reader that takes it before
    /// its sequence number sees every write with an earlier moment.
    pub(crate) fn shown(&self) -> Moment {
        self.shown_reading().moment()
    }

    /// Returns what [`DatabaseTime::shown`] does, with the resets before it.
    pub(crate) fn shown_reading(&self) -> Reading {
        loop {
            let seen = self.last_reading();
            match self.writing.load(Ordering::SeqCst) {
                // A writer needs a few instructions to choose its moment.
                0 => std::thread::yield_now(),
                moment => return Reading::new(seen.resets(), seen.moment().min(moment)),
            }
        }
    }

    /// Returns the latest reading of a call, without asking the clock.
    #[inline]
    pub(crate) fn last_reading(&self) -> Reading {
        Reading(self.seen.load(Ordering::SeqCst))
    }

    /// Returns whether the time was reset since a reading.
    #[inline]
    pub(crate) fn was_reset_since(&self, reading: Reading) -> bool {
        self.last_reading().resets() != reading.resets()
    }

    /// Returns the last second that a call saw, without asking the clock.
    #[inline]
    pub(crate) fn last_seen(&self) -> Moment {
        self.last_reading().moment()
    }

    /// Returns whether a call noted this second of the machine's clock last.
    #[inline]
    pub(crate) fn is_noted(&self, clock: Moment) -> bool {
        clock == self.noted.load(Ordering::SeqCst)
    }

    /// Notes another second of the machine's clock. Returns whether it is later than the time, and
    /// how far the clock jumped since the last look.
    pub(crate) fn note(&self, clock: &dyn Clock) -> (bool, Option<Jump>) {
        // The reading comes before the clock. So a clock that was read before a reset does not make
        // the time rise after it.
        let before = self.last_reading();
        let second = moment_of(clock.time_of_day());
        let jump = self.jumps.look(clock, self.last_seen());
        let now = Reading::new(before.resets(), second);
        let before = Reading(self.seen.fetch_max(now.0, Ordering::SeqCst));
        self.noted.store(second, Ordering::SeqCst);
        (before < now, jump)
    }

    /// Returns the moment of the write that has its moment and is not yet in its memtable;
    /// [`NEVER`] if there is none, and 0 while that moment is being chosen.
    pub(crate) fn moment_of_write(&self) -> Moment {
        self.writing.load(Ordering::SeqCst)
    }

    /// Asks a worker to store the time.
    pub(crate) fn store_soon(&self) {
        // A swap, so that the worker also sees the second of an earlier caller.
        let _was_due = self.is_store_due.swap(true, Ordering::AcqRel);
    }

    /// Returns whether a store was asked for since the last call.
    pub(crate) fn take_store_due(&self) -> bool {
        self.is_store_due.swap(false, Ordering::AcqRel)
    }

    /// Notes that a second is in the manifest, durably.
    pub(crate) fn note_stored(&self, second: Moment) {
        self.stored.fetch_max(second, Ordering::SeqCst);
    }

    /// Makes the time fall to a moment that is stored. The caller holds the locks that
    /// `Core::reset_time` takes.
    pub(crate) fn reset(&self, moment: Moment) {
        let resets = self.last_reading().resets().wrapping_add(1);
        self.stored.store(moment, Ordering::SeqCst);
        self.seen.store(Reading::new(resets, moment).0, Ordering::SeqCst);
        self.noted.store(NEVER, Ordering::SeqCst);
        self.next_end.store(0, Ordering::Relaxed);
        self.jumps.forget();
    }

    /// Returns the last stored second. It is never later than [`DatabaseTime::last_seen`].
    pub(crate) fn last_stored(&self) -> Moment {
        self.stored.load(Ordering::SeqCst)
    }
}

/// The moment of a write. Dropped when the write is in its memtables.
pub(crate) struct MomentOfWrite<'a> {
    time: &'a DatabaseTime,
    moment: Moment,
}

impl MomentOfWrite<'_> {
    /// Returns the time of the write, from which the lifetimes of its entries count.
    pub(crate) fn commit_time(&self, clock: &dyn Clock) -> CommitTime {
        CommitTime::within(self.moment, clock.time_of_day())
    }
}

impl Drop for MomentOfWrite<'_> {
    fn drop(&mut self) {
        debug_assert_eq!(self.time.moment_of_write(), self.moment, "a write ends its own moment");
        self.time.writing.store(NEVER, Ordering::SeqCst);
    }
}
