//! The writes of the recent past, which the commits of transactions look through.
//!
//! A commit asks: was this key, or a key of this range, written after that sequence number? The
//! answer must come within a microsecond, because the commit holds the writer lock. So while
//! transactions are open, each write notes its key twice:
//!
//! ```text
//! slots:  hash(key) -> the last write to any key of that hash     for keys
//! recent: a.PUT.7  d.MERGE.8  a.PUT.9  ..                         for ranges, the newest 16384
//! ```
//!
//! Invariant: a write after the number at which the notes began is in its slot, and is in `recent`
//! unless `recent_from` is at least its number. So "unchanged" is always true. "Perhaps changed"
//! may be wrong, because keys share slots: the commit then reads the key itself, without the lock.
//!
//! The memory is bounded: 1 MiB of slots, and at most [`RECENT_BYTES`] of keys. While no
//! transaction is open, a write pays one test of a flag.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::encoding::key_hash;
use crate::faults::keeps_few_notes;
use crate::key::{Comparator, KeyspaceId, Kind, SeqNo};
use crate::operation::Operation;
use crate::range_tombstone::Edge;

/// Most bytes of keys kept for ranges, and most bytes of range deletes.
const RECENT_BYTES: usize = 1 << 20;

/// How much the notes hold.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Number of slots: a power of two.
    slots: usize,
    /// Most keys kept for ranges.
    keys: usize,
    /// Most range deletes kept.
    ranges: usize,
    /// The notes end if no transaction was open at two looks, this many writes apart.
    writes_between_looks: u32,
}

const USUAL: Sizes =
    Sizes { slots: 1 << 16, keys: 1 << 14, ranges: 256, writes_between_looks: 4096 };

/// Sizes with which tests reach every path within a few writes.
const FEW: Sizes = Sizes { slots: 4, keys: 2, ranges: 1, writes_between_looks: 4 };

/// The last writes to the keys that share a slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastWrites {
    /// The last write of any kind.
    pub(crate) any: SeqNo,
    /// The last write that was no merge.
    pub(crate) base: SeqNo,
}

/// What the notes know about a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    Unchanged,
    Changed,
    /// The notes do not reach back far enough.
    Unknown,
}

/// A range of keys.
#[derive(Clone, Debug)]
pub(crate) struct EdgeRange {
    pub(crate) start: Edge,
    pub(crate) end: Edge,
}

impl EdgeRange {
    /// Returns whether the range holds a key.
    pub(crate) fn holds(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        self.start.is_before(comparator, key) && !self.end.is_before(comparator, key)
    }

    /// Returns whether a key may lie in both ranges.
    pub(crate) fn overlaps(&self, comparator: &dyn Comparator, other: &EdgeRange) -> bool {
        self.start.compare(comparator, &other.end).is_lt()
            && other.start.compare(comparator, &self.end).is_lt()
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<EdgeRange>() + self.start.key_len() + self.end.key_len()
    }
}

#[derive(Debug)]
struct RecentKey {
    seqno: SeqNo,
    keyspace: KeyspaceId,
    key: SmallVec<[u8; 24]>,
}

#[derive(Debug)]
struct RecentRange {
    seqno: SeqNo,
    keyspace: KeyspaceId,
    range: EdgeRange,
}

/// The notes. The writer lock guards them.
#[derive(Debug)]
pub(crate) struct RecentWrites {
    sizes: Sizes,
    is_on: bool,
    writes_until_look: u32,
    slots: Vec<LastWrites>,
    /// Keys written, oldest first.
    recent: VecDeque<RecentKey>,
    recent_bytes: usize,
    /// Every key written after this number is in `recent`.
    recent_from: SeqNo,
    /// Range deletes, oldest first.
    ranges: VecDeque<RecentRange>,
    range_bytes: usize,
    /// Every range delete after this number is in `ranges`.
    ranges_from: SeqNo,
}

impl RecentWrites {
    /// Makes notes that are off.
    pub(crate) fn new() -> RecentWrites {
        RecentWrites::with(if keeps_few_notes() { FEW } else { USUAL })
    }

    fn with(sizes: Sizes) -> RecentWrites {
        RecentWrites {
            sizes,
            is_on: false,
            writes_until_look: sizes.writes_between_looks,
            slots: Vec::new(),
            recent: VecDeque::new(),
            recent_bytes: 0,
            recent_from: 0,
            ranges: VecDeque::new(),
            range_bytes: 0,
            ranges_from: 0,
        }
    }

    /// Returns whether writes must be noted.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Begins to note writes. `published` is the last write before.
    pub(crate) fn turn_on(&mut self, published: SeqNo) {
        if self.is_on {
            return;
        }
        self.is_on = true;
        self.slots.resize(self.sizes.slots, LastWrites::default());
        (self.recent_from, self.ranges_from) = (published, published);
    }

    /// Ends the notes, and releases their memory.
    pub(crate) fn turn_off(&mut self) {
        *self = RecentWrites::with(self.sizes);
    }

    /// Notes a write. Returns whether it is time to look whether transactions are still open.
    #[inline(never)]
    pub(crate) fn note(&mut self, operation: &Operation<'_>, seqno: SeqNo) -> bool {
        let Operation { kind, keyspace, key, .. } = *operation;
        if kind == Kind::DeleteRange {
            self.note_range(keyspace, range_of(operation), seqno);
        } else {
            let slot = self.slot_of(keyspace, key_hash(key));
            let slot = &mut self.slots[slot];
            slot.any = seqno;
            if kind != Kind::Merge {
                slot.base = seqno;
            }
            self.note_key(keyspace, key, seqno);
        }
        self.writes_until_look -= 1;
        let is_due = self.writes_until_look == 0;
        if is_due {
            self.writes_until_look = self.sizes.writes_between_looks;
        }
        is_due
    }

    /// Returns the slot of a key. Keys of two keyspaces share a slot as seldom as keys of one.
    #[inline]
    fn slot_of(&self, keyspace: KeyspaceId, hash: u64) -> usize {
        let mixed = hash ^ u64::from(keyspace).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 16) as usize & (self.sizes.slots - 1)
    }

    fn note_key(&mut self, keyspace: KeyspaceId, key: &[u8], seqno: SeqNo) {
        while self.recent.len() >= self.sizes.keys || self.recent_bytes > RECENT_BYTES {
            let Some(oldest) = self.recent.pop_front() else { break };
            self.recent_bytes -= oldest.key.len();
            self.recent_from = oldest.seqno;
        }
        self.recent_bytes += key.len();
        self.recent.push_back(RecentKey { seqno, keyspace, key: SmallVec::from_slice(key) });
    }

    /// Notes a write that may have changed every key of a range.
    pub(crate) fn note_range(&mut self, keyspace: KeyspaceId, range: EdgeRange, seqno: SeqNo) {
        self.range_bytes += range.bytes();
        while self.ranges.len() >= self.sizes.ranges || self.range_bytes > RECENT_BYTES {
            let Some(oldest) = self.ranges.pop_front() else { break };
            self.range_bytes -= oldest.range.bytes();
            self.ranges_from = oldest.seqno;
        }
        self.ranges.push_back(RecentRange { seqno, keyspace, range });
    }

    /// Returns the last writes to keys of this hash, apart from range deletes.
    #[inline]
    pub(crate) fn last_writes(&self, keyspace: KeyspaceId, hash: u64) -> LastWrites {
        self.slots[self.slot_of(keyspace, hash)]
    }

    /// Returns whether a range delete after `since` covers a key.
    pub(crate) fn is_covered(
        &self,
        keyspace: KeyspaceId,
        comparator: &dyn Comparator,
        key: &[u8],
        since: SeqNo,
    ) -> Noted {
        self.ranges_with(keyspace, since, |range| range.holds(comparator, key))
    }

    /// Returns whether a key of a range was written or deleted after `since`.
    pub(crate) fn has_changed(
        &self,
        keyspace: KeyspaceId,
        comparator: &dyn Comparator,
        range: &EdgeRange,
        since: SeqNo,
    ) -> Noted {
        let Some(mut newer) = self.keys_since(since) else { return Noted::Unknown };
        if newer.any(|(own, key)| own == keyspace && range.holds(comparator, key)) {
            return Noted::Changed;
        }
        self.ranges_with(keyspace, since, |other| other.overlaps(comparator, range))
    }

    fn ranges_with(
        &self,
        keyspace: KeyspaceId,
        since: SeqNo,
        matches: impl Fn(&EdgeRange) -> bool,
    ) -> Noted {
        if self.ranges_since(since).any(|(own, range)| own == keyspace && matches(range)) {
            Noted::Changed
        } else if self.knows_ranges_since(since) {
            Noted::Unchanged
        } else {
            Noted::Unknown
        }
    }

    /// Returns all keys written after `since`, newest first; `None` if the notes do not reach back
    /// that far.
    pub(crate) fn keys_since(
        &self,
        since: SeqNo,
    ) -> Option<impl Iterator<Item = (KeyspaceId, &[u8])>> {
        let newer = self.recent.iter().rev().take_while(move |recent| recent.seqno > since);
        (self.recent_from <= since).then(|| newer.map(|recent| (recent.keyspace, &recent.key[..])))
    }

    /// Returns the ranges deleted after `since`, newest first, as far back as the notes reach.
    pub(crate) fn ranges_since(
        &self,
        since: SeqNo,
    ) -> impl Iterator<Item = (KeyspaceId, &EdgeRange)> {
        let newer = self.ranges.iter().rev().take_while(move |recent| recent.seqno > since);
        newer.map(|recent| (recent.keyspace, &recent.range))
    }

    /// Returns whether every range deleted after `since` is noted.
    pub(crate) fn knows_ranges_since(&self, since: SeqNo) -> bool {
        self.ranges_from <= since
    }
}

/// Returns the range of a range delete.
pub(crate) fn range_of(operation: &Operation<'_>) -> EdgeRange {
    let (start, end) = operation.range();
    EdgeRange { start: Edge::at_start(start), end: Edge::at_end(end) }
}
