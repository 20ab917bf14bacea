//! Stretches of deleted keys that a walk stepped over, so that later walks need not.
//!
//! A program that drains a queue with `first` and `delete` leaves deleted keys at its front. Where
//! their old records lie in tables and the deletes in a memtable, each walk would step over all of
//! them again. So a walk that stepped over many notes the stretch:
//!
//! ```text
//! tables      a.PUT.1  b.PUT.2  c.PUT.3  d.PUT.4      a walk at 7 notes: a to c, at 7
//! memtable    a.DEL.5  b.DEL.6  c.DEL.7               the next one leads the tables to d
//! ```
//!
//! Invariant: at the number of a stretch, the newest record of each of its keys was a delete. So no
//! later reader needs a record of these keys up to that number, whatever is written afterwards. A
//! table whose records all have such numbers is led past the stretch. Compactions may give a record
//! the number 0. A stretch therefore speaks only of files that its walk saw, or older ones.
//!
//! Compactions also drop entries that have expired. An iterator from before such a drop still shows
//! them, because its moment is earlier. So a stretch is only for iterators whose version is no
//! older than that of the walk. Both iterators also have a view with every write up to their number
//! (`begin_walk` of `db::read::iterate`): an iterator whose view lacks the deletes at its number
//! would pass old records, and not show why.
//!
//! The stretches are hints of a process. They are bounded in number, and forgotten at the end.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::key::{Comparator, SeqNo};
use crate::locks::rank::DEAD;
use crate::locks::{Lock, LockGuard};
use crate::range_tombstone::Edge;
use crate::version::FileFacts;

/// Most stretches of a keyspace. Beyond it, a new one takes the place of another.
const MOST: usize = 1 << 14;

/// Bytes of keys beyond which no stretch is noted.
const LONGEST: usize = 4 << 10;

/// A stretch of deleted keys.
#[derive(Clone, Debug)]
pub(crate) struct Dead {
    pub(crate) start: Edge,
    pub(crate) end: Edge,
    pub(crate) seqno: SeqNo,
    /// The newest file that the stretch speaks of.
    pub(crate) newest_file: u64,
    /// The version in which the walk found it, by [`Origin::installs`].
    ///
    /// [`Origin::installs`]: crate::iterator::Origin::installs
    pub(crate) installs: u64,
}

impl Dead {
    pub(crate) fn holds(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        self.start.is_before(comparator, key) && !self.end.is_before(comparator, key)
    }

    /// Returns whether no reader needs the keys of the stretch in a file.
    pub(crate) fn covers(&self, file: &FileFacts) -> bool {
        file.number <= self.newest_file && file.largest_seqno <= self.seqno
    }
}

/// The stretches of a keyspace, in order. No two of them meet.
#[derive(Debug, Default)]
pub(crate) struct DeadStretches {
    known: Lock<Vec<Dead>, DEAD>,
    /// Whether there is a stretch: without one, walks take no lock. Raised with `Release` and read
    /// with `Acquire`. A walk that misses it steps over the keys once more, and one that sees it
    /// finds the stretch under the lock.
    any: AtomicBool,
}

impl DeadStretches {
    fn lock(&self) -> LockGuard<'_, Vec<Dead>, DEAD> {
        self.known.lock()
    }

    /// Returns the stretch that a key lies in, for a reader and its version.
    pub(crate) fn find(
        &self,
        comparator: &dyn Comparator,
        key: &[u8],
        reader: SeqNo,
        installs: u64,
    ) -> Option<Dead> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let known = self.lock();
        let at = known.partition_point(|dead| dead.end.is_before(comparator, key));
        let dead = known.get(at).filter(|dead| dead.holds(comparator, key));
        dead.filter(|dead| dead.seqno <= reader && dead.installs <= installs).cloned()
    }

    /// Notes a stretch. It takes the place of what was known of its keys.
    pub(crate) fn learn(&self, comparator: &dyn Comparator, dead: Dead) {
        let is_range = dead.start.compare(comparator, &dead.end).is_lt();
        if !is_range || dead.start.key_len() + dead.end.key_len() > LONGEST {
            return;
        }
        let mut known = self.lock();
        let first = known.partition_point(|old| old.end.compare(comparator, &dead.start).is_le());
        let last = known.partition_point(|old| old.start.compare(comparator, &dead.end).is_lt());
        let overlapped = known.get(first..last).unwrap_or_default();
        let left =
            overlapped.first().filter(|old| old.start.compare(comparator, &dead.start).is_lt());
        let left = left.map(|old| Dead { end: dead.start.clone(), ..old.clone() });
        let right = overlapped.last().filter(|old| dead.end.compare(comparator, &old.end).is_lt());
        let right = right.map(|old| Dead { start: dead.end.clone(), ..old.clone() });
        let now: Vec<Dead> = left.into_iter().chain([dead]).chain(right).collect();
        known.splice(first..last.max(first), now);
        debug_assert!(
            !comparator.bytewise_order()
                || known.is_sorted_by(|a, b| a.end.compare(comparator, &b.start).is_le()),
            "dead stretches do not overlap, so a search finds the only one around a key"
        );
        while known.len() > MOST {
            let at = fastrand::usize(..known.len());
            known.remove(at);
        }
        self.any.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
