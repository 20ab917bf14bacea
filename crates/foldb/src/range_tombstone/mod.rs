//! Range tombstones: deletes of whole key ranges, and the one question everybody asks of them:
//! *up to which sequence number is this key deleted, for a reader at that one?*
//!
//! ```text
//! [a, m)@5 [f, z)@9            a        f        m        z
//! covers at 9 and later        |---5----|--------9--------|
//! covers from 5 to 8           |--------5--------|
//! ```
//!
//! A *cover* is a sequence number: records of the key below it are gone, exactly as by a delete
//! written at that number; 0 covers nothing. Covers are compared with records by sequence number
//! and never by level (H10), so it does not matter where a tombstone lies.
//!
//! [`RangeTombstones`] holds those of a memtable or a table and answers the question. [`skyline`]
//! makes tombstones that overlap into fragments that do not. The same code serves reads, iterators
//! in both directions, flushes and compactions.

mod edge;
mod set;
pub(crate) mod skyline;
#[cfg(test)]
mod tests;

pub(crate) use edge::{Edge, Key};
pub(crate) use set::RangeTombstones;

use crate::key::{Comparator, SeqNo};

/// A range of keys that was deleted, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangeTombstone {
    pub(crate) start: Edge,
    pub(crate) end: Edge,
    pub(crate) seqno: SeqNo,
}

impl RangeTombstone {
    /// Whether a key lies inside.
    #[inline]
    pub(crate) fn contains(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        self.start.is_before(comparator, key) && !self.end.is_before(comparator, key)
    }

    /// The part between two edges, if there is any.
    pub(crate) fn clipped(
        &self,
        comparator: &dyn Comparator,
        start: &Edge,
        end: &Edge,
    ) -> Option<RangeTombstone> {
        let start = Edge::later(comparator, &self.start, start);
        let end = Edge::earlier(comparator, &self.end, end);
        start.compare(comparator, end).is_lt().then(|| RangeTombstone {
            start: start.clone(),
            end: end.clone(),
            seqno: self.seqno,
        })
    }

    /// Estimated bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<RangeTombstone>() + self.start.key_len() + self.end.key_len()
    }
}
