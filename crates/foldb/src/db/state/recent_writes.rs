//! The writes of the recent past, which the commits of transactions look through.
//!
//! A commit asks: was this key, or a key of this range, written after that sequence number? So
//! while transactions are open, each write leaves a note, in the order of the sequence numbers:
//!
//! ```text
//! notes:  7 base | 8 merge | 9 base     the newest 65536
//! bytes:  a d a                         their keys, one behind the other
//! ```
//!
//! A write only appends a few bytes, so it touches memory that no other write has to find. The
//! commit walks over the notes that are newer than its snapshot, and hashes their keys if it must.
//!
//! Invariant: a write after `notes_from` is in `notes`, and a range delete after `ranges_from` is
//! in `ranges`. So "unchanged" is always true. Beyond these numbers the notes know nothing, and the
//! commit reads the records of its claims without the lock.
//!
//! The memory is bounded: 1.5 MiB of notes, and [`RECENT_BYTES`] each of keys and of range deletes.
//! While no transaction is open, a write pays one test of a flag.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::encoding::{copy_short, key_hash};
use crate::faults::keeps_few_notes;
use crate::key::{Comparator, KeyspaceId, Kind, SeqNo};
use crate::limits::MAX_KEY_BYTES;
use crate::memory::{Gauge, RoughCharge};
use crate::operation::Operation;
use crate::range_tombstone::Edge;

/// Most bytes of keys kept for ranges, and most bytes of range deletes.
const RECENT_BYTES: usize = 1 << 20;

/// How much the notes hold.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Most keys kept.
    keys: usize,
    /// Most range deletes kept.
    ranges: usize,
    /// The notes end if no transaction was open at two looks, this many writes apart.
    writes_between_looks: u32,
}

const USUAL: Sizes = Sizes { keys: 1 << 16, ranges: 256, writes_between_looks: 4096 };

/// Sizes with which tests reach every path within a few writes.
const FEW: Sizes = Sizes { keys: 2, ranges: 1, writes_between_looks: 4 };

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

/// One write to a key.
#[derive(Clone, Copy, Debug)]
struct Note {
    seqno: SeqNo,
    /// Where the key begins, counted from the first byte that was ever noted.
    begin: u64,
    /// The length of the key, and [`IS_BASE`].
    len: u32,
    keyspace: KeyspaceId,
}

/// Set in [`Note::len`] if the write was no merge.
const IS_BASE: u32 = 1 << 31;
const _: () = assert!(MAX_KEY_BYTES <= RECENT_BYTES && RECENT_BYTES < IS_BASE as usize);

/// One write to a key, as a commit sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenKey<'a> {
    pub(crate) seqno: SeqNo,
    pub(crate) keyspace: KeyspaceId,
    /// Whether the write was no merge.
    pub(crate) is_base: bool,
    pub(crate) key: &'a [u8],
}

impl WrittenKey<'_> {
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        key_hash(self.key)
    }
}

const _: () = assert!(size_of::<Note>() == 24);

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
    /// Writes to keys, oldest first.
    notes: VecDeque<Note>,
    /// The bytes of the keys: a ring in which each key is in one piece. Empty while notes are off.
    bytes: Vec<u8>,
    /// Where the next key begins at the earliest, counted from the first byte ever noted.
    end: u64,
    /// Every key written after this number is in `notes`.
    notes_from: SeqNo,
    /// Range deletes, oldest first.
    ranges: VecDeque<RecentRange>,
    range_bytes: usize,
    /// Every range delete after this number is in `ranges`.
    ranges_from: SeqNo,
    charge: RoughCharge,
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
            notes: VecDeque::new(),
            bytes: Vec::new(),
            end: 0,
            notes_from: 0,
            ranges: VecDeque::new(),
            range_bytes: 0,
            ranges_from: 0,
            charge: RoughCharge::default(),
        }
    }

    /// Returns whether writes must be noted.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Begins to note writes. `published` is the last write before.
    pub(crate) fn start(&mut self, published: SeqNo) {
        if self.is_on {
            return;
        }
        self.is_on = true;
        // The system gives zeroed pages when they are written to.
        self.bytes = vec![0; RECENT_BYTES];
        (self.notes_from, self.ranges_from) = (published, published);
    }

    /// Ends the notes, and releases their memory.
    pub(crate) fn stop(&mut self) {
        *self = RecentWrites::with(self.sizes);
    }

    /// Returns the number of writes that the notes reach back, if their keys are as long as those
    /// of the notes now.
    pub(crate) fn reach(&self) -> usize {
        let Some(oldest) = self.notes.front() else { return self.sizes.keys };
        // Beyond the range of a `usize` of 32 bits.
        let room_for = RECENT_BYTES as u64 * self.notes.len() as u64;
        let writes = room_for / (self.end - oldest.begin).max(1);
        usize::try_from(writes).map_or(self.sizes.keys, |writes| writes.min(self.sizes.keys))
    }

    /// Notes a write. Returns whether it is time to look whether transactions are still open.
    #[inline]
    pub(crate) fn note(&mut self, operation: &Operation<'_>, seqno: SeqNo) -> bool {
        let Operation { kind, keyspace, key, .. } = *operation;
        if kind == Kind::DeleteRange {
            self.note_range(keyspace, range_of(operation), seqno);
        } else {
            let begin = self.add_bytes(key);
            let is_base = if kind == Kind::Merge { 0 } else { IS_BASE };
            let len = key.len() as u32 | is_base;
            debug_assert!(
                self.notes.back().is_none_or(|newest| newest.seqno < seqno)
                    && seqno > self.notes_from,
                "a search finds the notes after a sequence number, which rise"
            );
            self.notes.push_back(Note { seqno, begin, len, keyspace });
        }
        self.writes_until_look -= 1;
        let is_due = self.writes_until_look == 0;
        if is_due {
            self.writes_until_look = self.sizes.writes_between_looks;
        }
        is_due
    }

    /// Adds a key to the bytes, makes room for its note, and forgets the notes whose keys were
    /// written over. Returns where the key begins.
    #[inline]
    fn add_bytes(&mut self, key: &[u8]) -> u64 {
        let mut at = (self.end as usize) % RECENT_BYTES;
        if at + key.len() > RECENT_BYTES {
            self.end += (RECENT_BYTES - at) as u64;
            at = 0;
        }
        let begin = self.end;
        self.end += key.len() as u64;
        let lost = self.end.saturating_sub(RECENT_BYTES as u64);
        while let Some(oldest) = self.notes.front()
            && (oldest.begin < lost || self.notes.len() >= self.sizes.keys)
        {
            self.notes_from = oldest.seqno;
            self.notes.pop_front();
        }
        debug_assert!(
            self.notes.front().is_none_or(|oldest| begin + key.len() as u64 - oldest.begin <= RECENT_BYTES as u64),
            "no key that is noted is written over"
        );
        copy_short(&mut self.bytes[at..], key);
        begin
    }

    /// Notes a write that may have changed every key of a range.
    pub(crate) fn note_range(&mut self, keyspace: KeyspaceId, range: EdgeRange, seqno: SeqNo) {
        self.range_bytes += range.bytes();
        while self.ranges.len() >= self.sizes.ranges || self.range_bytes > RECENT_BYTES {
            let Some(oldest) = self.ranges.pop_front() else { break };
            self.range_bytes -= oldest.range.bytes();
            self.ranges_from = oldest.seqno;
        }
        debug_assert!(
            self.ranges.back().is_none_or(|newest| newest.seqno < seqno)
                && seqno > self.ranges_from,
            "deleted ranges are noted in the order of their writes"
        );
        self.ranges.push_back(RecentRange { seqno, keyspace, range });
    }

    /// Returns whether a key was written or deleted after `since`, by its bytes.
    pub(crate) fn has_changed(
        &self,
        keyspace: KeyspaceId,
        comparator: &dyn Comparator,
        key: &[u8],
        since: SeqNo,
    ) -> Noted {
        let is_it = |note: WrittenKey<'_>| note.key == key && note.keyspace == keyspace;
        match self.keys_since(since).map(|mut newer| newer.any(is_it)) {
            None => Noted::Unknown,
            Some(true) => Noted::Changed,
            Some(false) => self.ranges_with(keyspace, since, |range| range.holds(comparator, key)),
        }
    }

    /// Returns whether a key of a range was written or deleted after `since`.
    pub(crate) fn has_range_changed(
        &self,
        keyspace: KeyspaceId,
        comparator: &dyn Comparator,
        range: &EdgeRange,
        since: SeqNo,
    ) -> Noted {
        let is_inside =
            |note: WrittenKey<'_>| note.keyspace == keyspace && range.holds(comparator, note.key);
        match self.keys_since(since).map(|mut newer| newer.any(is_inside)) {
            None => Noted::Unknown,
            Some(true) => Noted::Changed,
            Some(false) => {
                self.ranges_with(keyspace, since, |other| other.overlaps(comparator, range))
            }
        }
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

    /// Returns the writes to keys after `since`, oldest first; `None` if the notes do not reach
    /// back that far.
    #[inline]
    pub(crate) fn keys_since(
        &self,
        since: SeqNo,
    ) -> Option<impl ExactSizeIterator<Item = WrittenKey<'_>>> {
        if self.notes_from > since {
            return None;
        }
        // Most callers ask for no or few writes.
        let newest = self.notes.back().map_or(0, |note| note.seqno);
        let at = match newest > since {
            true => self.notes.partition_point(|note| note.seqno <= since),
            false => self.notes.len(),
        };
        Some(self.notes.range(at..).map(|note| self.written(note)))
    }

    fn written(&self, note: &Note) -> WrittenKey<'_> {
        let &Note { seqno, begin, len, keyspace } = note;
        let (begin, is_base) = ((begin as usize) % RECENT_BYTES, len & IS_BASE != 0);
        let key = &self.bytes[begin..begin + (len & !IS_BASE) as usize];
        WrittenKey { seqno, keyspace, is_base, key }
    }

    /// Returns the ranges deleted after `since`, newest first, as far back as the notes reach.
    pub(crate) fn ranges_since(
        &self,
        since: SeqNo,
    ) -> impl Iterator<Item = (KeyspaceId, &EdgeRange)> {
        let newer = self.ranges.iter().rev().take_while(move |recent| recent.seqno > since);
        newer.map(|recent| (recent.keyspace, &recent.range))
    }

    /// Counts the memory of the notes in a gauge.
    pub(crate) fn charge(&mut self, gauge: &Arc<Gauge>) {
        let notes = self.notes.capacity() * size_of::<Note>();
        let bytes = self.bytes.len().min(self.end as usize);
        self.charge.note(gauge, notes + bytes + self.range_bytes);
    }

    /// Returns the number of the newest range delete; 0 if none is noted.
    pub(crate) fn last_range(&self) -> SeqNo {
        self.ranges.back().map_or(0, |range| range.seqno)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::NO_OPERATOR;

    /// A reading of claims catches up after a quarter of the reach. Long keys fill the ring of
    /// their bytes long before there are as many notes as there may be.
    #[test]
    fn half_the_reach_of_writes_is_still_noted_however_long_their_keys_are() {
        for key_len in [1, 8, 20, 100, 3000, 100_000] {
            for writes_before in [1, 10, 1000, 150_000] {
                let mut recent = RecentWrites::new();
                recent.start(0);
                let key = vec![7; key_len];
                let put = Operation {
                    kind: Kind::Put,
                    keyspace: 0,
                    operator: NO_OPERATOR,
                    key: &key,
                    value: b"",
                    stamped: false,
                };
                let writes_before = writes_before.min(20_000_000 / key_len as u64);
                for seqno in 1..=writes_before {
                    recent.note(&put, seqno);
                }
                let reach = recent.reach() as u64;
                assert!((4..=1 << 16).contains(&reach), "{reach} writes");
                for seqno in 1..=reach / 2 {
                    recent.note(&put, writes_before + seqno);
                }
                let newer = recent.keys_since(writes_before).expect("they are all noted");
                assert_eq!(newer.len() as u64, reach / 2, "keys of {key_len} bytes");
            }
        }
    }
}
