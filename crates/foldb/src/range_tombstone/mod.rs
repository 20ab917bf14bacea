//! Range tombstones: deletes of whole key ranges. They answer one question: for a reader at a given
//! sequence number, *up to which sequence number is this key deleted?*
//!
//! ```text
//! [a, m)@5 [f, z)@9            a        f        m        z
//! covers at 9 and later        |---5----|--------9--------|
//! covers from 5 to 8           |--------5--------|
//! ```
//!
//! A *cover* is a sequence number. Records of the key below it are gone, exactly as by a delete
//! written at that number; 0 covers nothing. The engine compares covers with records by sequence
//! number and never by level (H10), so the place of a tombstone does not matter.
//!
//! [`RangeTombstones`] holds the tombstones of a memtable or a table and answers the question.
//! [`skyline`] cuts overlapping tombstones into fragments that do not overlap. Reads, iterators in
//! both directions, flushes and compactions use the same code.

mod edge;
mod set;
pub(crate) mod skyline;
#[cfg(test)]
mod tests;

pub(crate) use edge::{Edge, Key};
pub(crate) use set::RangeTombstones;

use crate::key::{Comparator, SeqNo};

/// A deleted range of keys, and the sequence number of the delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangeTombstone {
    pub(crate) start: Edge,
    pub(crate) end: Edge,
    pub(crate) seqno: SeqNo,
}

impl RangeTombstone {
    /// Returns whether a key lies inside the range.
    #[inline]
    pub(crate) fn contains(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        self.start.is_before(comparator, key) && !self.end.is_before(comparator, key)
    }

    /// Returns the part of the tombstone between two edges; `None` if that part is empty.
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

    /// Returns the estimated bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<RangeTombstone>() + self.start.key_len() + self.end.key_len()
    }
}
