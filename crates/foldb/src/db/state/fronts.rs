//! The fronts of queues: which keys may come first in a range.
//!
//! A front says: at a sequence number, between the start of the range and a place, no other keys
//! than these had entries. The notes of recent writes bring it up to the present:
//!
//! ```text
//! start .... c .... f .... place      at 812
//!            c . d  f                 at 815: the notes have d.PUT.813, z.PUT.814, c.DELETE.815
//! ```
//!
//! It does not say which of its keys have entries, so its user reads them. Deletes therefore change
//! nothing.

use std::collections::VecDeque;
use std::ops::Bound;

use foldb_env::scheduling_point;

use crate::db::state::recent_writes::{EdgeRange, RecentWrites};
use crate::key::{Comparator, KeyspaceId, SeqNo};
use crate::locks::rank::FRONTS;
use crate::locks::{Lock, LockGuard};
use crate::range_tombstone::{Edge, Key};

/// Most fronts kept. Beyond it, the one unused for longest goes.
const MOST: usize = 64;

/// Bytes of keys beyond which no front is kept.
const LONGEST: usize = 4 << 10;

/// Most keys of a front. Beyond it, the front ends at half of them.
const MOST_KEYS: usize = 64;

/// Writes since a front was left, up to which a look through them is cheaper than a walk.
const MOST_SINCE: usize = 256;

/// The keys that may come first in a range.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    /// Where the range begins.
    start: Edge,
    /// In order.
    keys: VecDeque<Key>,
    /// Where the knowledge ends, behind the last key.
    through: Edge,
    seqno: SeqNo,
}

impl Front {
    /// Makes the front of which nothing is known.
    pub(crate) fn new(start: Edge, seqno: SeqNo) -> Front {
        Front { through: start.clone(), start, keys: VecDeque::new(), seqno }
    }

    pub(crate) fn through(&self) -> &Edge {
        &self.through
    }

    pub(crate) fn first(&self) -> Option<&Key> {
        self.keys.front()
    }

    /// Removes the first key: it has no entry now, or the caller deletes it.
    pub(crate) fn take_first(&mut self) -> Option<Key> {
        self.keys.pop_front()
    }

    /// Adds what a walk from the place on met, up to a farther place.
    pub(crate) fn extend(&mut self, keys: impl IntoIterator<Item = Key>, through: Edge) {
        self.keys.extend(keys);
        debug_assert!(self.keys.len() <= MOST_SINCE + MOST_KEYS, "a front stays small");
        self.through = through;
    }

    /// Returns whether the front is that of this moment.
    pub(crate) fn is_of(&self, published: SeqNo) -> bool {
        self.seqno == published
    }

    /// Takes in the writes up to the last one. The caller holds the writer lock. Returns `false` if
    /// the front must be dropped: the notes do not say which keys were written, or have too many.
    pub(crate) fn catch_up(
        &mut self,
        recent: &RecentWrites,
        (keyspace, comparator): (KeyspaceId, &dyn Comparator),
        published: SeqNo,
    ) -> bool {
        let Some(newer) = recent.keys_since(self.seqno).filter(|newer| newer.len() <= MOST_SINCE)
        else {
            return false;
        };
        for note in newer.filter(|note| note.keyspace == keyspace) {
            self.add(comparator, note.key);
        }
        let known = EdgeRange { start: self.start.clone(), end: self.through.clone() };
        let overlaps = |(own, range): (KeyspaceId, &EdgeRange)| {
            own == keyspace && range.overlaps(comparator, &known)
        };
        if !recent.knows_ranges_since(self.seqno) || recent.ranges_since(self.seqno).any(overlaps) {
            return false;
        }
        self.seqno = published;
        true
    }

    /// Adds a key that was written, if it lies before the place.
    fn add(&mut self, comparator: &dyn Comparator, key: &[u8]) {
        if self.through.is_before(comparator, key) || !self.start.is_before(comparator, key) {
            return;
        }
        if let Err(at) = self.keys.binary_search_by(|known| comparator.compare(known, key)) {
            self.keys.insert(at, key.into());
            if self.keys.len() > MOST_KEYS {
                self.end_at(MOST_KEYS / 2);
            }
        }
    }

    /// Keeps only the first keys, at least one.
    fn end_at(&mut self, keys: usize) {
        self.keys.truncate(keys);
        if let Some(last) = self.keys.back() {
            self.through = Edge::Behind(last.clone());
        }
    }

    fn bytes(&self) -> usize {
        let keys: usize = self.keys.iter().map(|key| key.len()).sum();
        self.start.key_len() + keys + self.through.key_len()
    }

    fn begins_at(&self, start: Bound<&[u8]>) -> bool {
        match (&self.start, start) {
            (Edge::Lowest, Bound::Unbounded) => true,
            (Edge::Before(own), Bound::Included(key))
            | (Edge::Behind(own), Bound::Excluded(key)) => **own == *key,
            _ => false,
        }
    }
}

/// The fronts of all keyspaces.
#[derive(Debug, Default)]
pub(crate) struct Fronts(Lock<Queues, FRONTS>);

#[derive(Debug, Default)]
struct Queues {
    /// The one used last at the end.
    list: Vec<(KeyspaceId, Front)>,
    /// No front was seen at or before this number.
    after: SeqNo,
}

impl Fronts {
    fn lock(&self) -> LockGuard<'_, Queues, FRONTS> {
        scheduling_point();
        self.0.lock()
    }

    /// Forgets all fronts, and those up to this number that a thread has not set yet. Other keys
    /// may have entries again.
    pub(crate) fn forget_all(&self, through: SeqNo) {
        *self.lock() = Queues { list: Vec::new(), after: through };
    }

    /// Takes the front of a range out. The caller sets it again, once it has used it.
    pub(crate) fn take(&self, keyspace: KeyspaceId, start: Bound<&[u8]>) -> Option<Front> {
        let list = &mut self.lock().list;
        let is_it = |(own, front): &(KeyspaceId, Front)| *own == keyspace && front.begins_at(start);
        let at = list.iter().rposition(is_it)?;
        Some(list.remove(at).1)
    }

    /// Sets the front of a range, unless another thread has set a newer one.
    pub(crate) fn set(&self, keyspace: KeyspaceId, mut front: Front) {
        if front.bytes() > LONGEST {
            front.end_at(1);
            if front.bytes() > LONGEST {
                return;
            }
        }
        let Queues { list, after } = &mut *self.lock();
        if front.seqno <= *after {
            return;
        }
        let is_it =
            |(own, known): &(KeyspaceId, Front)| *own == keyspace && known.start == front.start;
        if let Some(at) = list.iter().rposition(is_it) {
            if list[at].1.seqno > front.seqno {
                return;
            }
            list.remove(at);
        } else if list.len() >= MOST {
            list.remove(0);
        }
        list.push((keyspace, front));
    }
}
