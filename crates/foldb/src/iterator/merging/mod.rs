//! Several sorted sources as one: a loser tree keyed on an 8-byte prefix.
//!
//! Each inner node of the tree remembers the loser of its match. So after the winner moves, one
//! match per level of the tree finds the next winner (Knuth, TAOCP 5.4.1). The first eight bytes of
//! the key decide most matches, and they are stored next to the tree. Only ties look at the keys
//! themselves.
//!
//! Sources are given newest first. Of two records with the same key and sequence number, the record
//! of the newer source comes first.

mod passing;

use std::cmp::Ordering;
use std::sync::Arc;

use foldb_chains::{Cursor as MemtableCursor, ValueBytes, Way};
use smallvec::SmallVec;

use crate::encoding::{is_same_key, key_prefix};
use crate::error::{Error, Result};
use crate::iterator::source::{Source, Sources};
use crate::key::{Comparator, Kind, Order, RecordHeader, SeqNo};
use crate::value::Value;

/// A cursor over the union of its sources. After an error it stands on no record.
pub(crate) struct MergingCursor {
    sources: Sources,
    /// What matches compare first, one per source.
    heads: SmallVec<[Head; FEW]>,
    /// `tree[i]` is the loser of the match at inner node `i`; `tree[0]` is not used.
    tree: SmallVec<[Player; FEW]>,
    /// The source that the cursor stands on.
    winner: u32,
    order: Order,
    /// Whether equal keys have the same bytes.
    same_bytes: bool,
    way: Way,
    effort: Effort,
}

/// Work of a cursor that grows with the number of sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Times that all sources were positioned.
    pub(crate) seeks: u64,
    /// Moves to the next record of several sources.
    pub(crate) steps: u64,
    /// Deleted keys of tables that a walk passed in long runs.
    pub(crate) gone: u64,
}

/// Most cursors have at most this many sources: then their state lies inside the cursor.
const FEW: usize = 8;

/// The front of a source.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// Position of the source, as far as eight bytes can tell: the first bytes of its key. In
    /// either direction the head with the smaller rank wins; equal ranks decide nothing. A source
    /// at its end has the largest rank.
    rank: u64,
    valid: bool,
}

/// A source in the tree, with the rank of its head: a match looks nowhere else.
#[derive(Clone, Copy, Debug, Default)]
struct Player {
    rank: u64,
    source: u32,
}

impl Player {
    /// Returns the winner of a match with a player of another rank, and the loser. Most matches are
    /// as likely won as lost, so there is no branch that a processor would guess wrong.
    #[inline(always)]
    fn play(self, other: Player) -> (Player, Player) {
        let loses = 0u64.wrapping_sub(u64::from(other.rank < self.rank));
        let ranks = (self.rank ^ other.rank) & loses;
        let sources = (self.source ^ other.source) & loses as u32;
        let winner = Player { rank: self.rank ^ ranks, source: self.source ^ sources };
        (winner, Player { rank: other.rank ^ ranks, source: other.source ^ sources })
    }
}

/// The head of a source at its end.
const ENDED: Head = Head { rank: u64::MAX, valid: false };

impl MergingCursor {
    pub(crate) fn new(mut sources: Sources, comparator: &Arc<dyn Comparator>) -> MergingCursor {
        // Only one value at a time is needed, however many sources stand on large ones.
        if sources.len() > 1 {
            sources.iter_mut().for_each(Source::set_values_aside);
        }
        MergingCursor {
            heads: SmallVec::from_elem(ENDED, sources.len()),
            tree: SmallVec::from_elem(Player::default(), sources.len()),
            winner: 0,
            sources,
            order: Order::of(comparator),
            same_bytes: comparator.bytewise_order() || comparator.bytewise_equality(),
            way: Way::Forward,
            effort: Effort::default(),
        }
    }

    /// Returns the work since the caller last reset it.
    #[inline]
    pub(crate) fn effort(&mut self) -> &mut Effort {
        &mut self.effort
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        match &self.sources[..] {
            [only] => only.valid(),
            _ => self.heads.get(self.winner()).is_some_and(|head| head.valid),
        }
    }

    /// Returns whether records of one key may have different bytes as their keys.
    #[inline]
    pub(crate) fn has_spellings(&self) -> bool {
        !self.same_bytes
    }

    /// Returns whether the cursor stands on a record of `key`, whatever the spelling.
    #[inline(always)]
    pub(crate) fn is_at(&self, key: &[u8]) -> bool {
        self.valid() && (is_same_key(self.key(), key) || self.is_spelled_otherwise(key))
    }

    /// Returns whether the key under the cursor, whose bytes differ from `key`, is `key` all the
    /// same.
    #[inline]
    pub(crate) fn is_spelled_otherwise(&self, key: &[u8]) -> bool {
        !self.same_bytes && self.order.compare(self.key(), key).is_eq()
    }

    /// Returns the memtable if it is the only source. The caller may move it directly.
    #[inline]
    pub(crate) fn only_memtable(&mut self) -> Option<&mut MemtableCursor> {
        match &mut self.sources[..] {
            [Source::Memtable(cursor)] => Some(cursor),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.sources[self.winner()].key()
    }

    #[inline]
    pub(crate) fn header(&self) -> RecordHeader {
        self.sources[self.winner()].header()
    }

    /// Fetches the record's value, which the caller asks for next.
    ///
    /// # Errors
    /// `Corruption`, `Io`.
    #[inline]
    pub(crate) fn hold_value(&mut self) -> Result<()> {
        let winner = self.winner();
        match self.sources[winner].hold_value() {
            Ok(()) => Ok(()),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Returns the record's value, after [`MergingCursor::hold_value`].
    #[inline]
    pub(crate) fn value(&self) -> ValueBytes<'_> {
        self.sources[self.winner()].value()
    }

    #[inline]
    pub(crate) fn pinned_value(&self) -> Value {
        self.sources[self.winner()].pinned_value()
    }

    /// Takes the record if it is a put that a reader at `seqno` sees: writes its value to `value`,
    /// and moves on. Returns whether it took the record. Allowed only after a positioning in the
    /// same direction.
    ///
    /// # Errors
    /// As [`MergingCursor::hold_value`] and [`MergingCursor::next`].
    #[inline(always)]
    pub(crate) fn take_put(&mut self, way: Way, seqno: SeqNo, value: &mut Value) -> Result<bool> {
        debug_assert_eq!(self.way, way);
        if let [Source::Run(only)] = &mut self.sources[..] {
            return only.take_put(way, seqno, value);
        }
        let winner = self.winner();
        let source = &mut self.sources[winner];
        let header = source.header();
        if header.kind != Kind::Put || header.seqno > seqno {
            return Ok(false);
        }
        if let Err(error) = source.copy_value_to(value) {
            return Err(self.fail(error));
        }
        match way {
            Way::Forward => self.next()?,
            Way::Backward => self.prev()?,
        }
        Ok(true)
    }

    /// Returns whether keys are ordered by their bytes.
    #[inline]
    pub(crate) fn is_bytewise(&self) -> bool {
        self.order.is_bytewise()
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        self.position(Way::Forward, Source::seek_to_first)
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        self.position(Way::Backward, Source::seek_to_last)
    }

    /// Moves to the newest record of the first key at or above `key`. The cursor moves forward from
    /// there.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.way = Way::Forward;
        self.effort.seeks += 1;
        let mut unfinished: SmallVec<[usize; FEW]> = SmallVec::new();
        for index in 0..self.sources.len() {
            match self.sources[index].approach(key) {
                Ok(true) => unfinished.push(index),
                Ok(false) => {}
                Err(error) => return Err(self.fail(error)),
            }
        }
        for index in unfinished {
            if let Err(error) = self.sources[index].finish_seek(key) {
                return Err(self.fail(error));
            }
        }
        for index in 0..self.sources.len() {
            self.refresh(index);
        }
        self.play_all();
        Ok(())
    }

    /// Moves to the oldest record of the last key below `key`. The cursor moves backward from
    /// there.
    pub(crate) fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.position(Way::Backward, |source| source.seek_before(key))
    }

    /// Moves to the next record. Allowed only after a forward positioning.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        debug_assert_eq!(self.way, Way::Forward);
        if let [only] = &mut self.sources[..] {
            return only.next();
        }
        self.effort.steps += 1;
        let winner = self.winner();
        match self.sources[winner].next() {
            Ok(()) => self.replay(winner),
            Err(error) => return Err(self.fail(error)),
        }
        Ok(())
    }

    /// Moves the source under the cursor, which stands on `key`, past the rest of `key`. Allowed
    /// only after a forward positioning.
    #[inline]
    pub(crate) fn next_key_of_source(&mut self, key: &[u8]) -> Result<()> {
        debug_assert_eq!(self.way, Way::Forward);
        self.effort.steps += 1;
        let (winner, same_bytes) = (self.winner(), self.same_bytes);
        let (order, bytewise) = (&self.order, self.order.is_bytewise());
        let is_same =
            |other: &[u8]| other == key || (!same_bytes && order.compare(other, key).is_eq());
        match self.sources[winner].next_key(key, bytewise, is_same) {
            Ok(()) => self.replay(winner),
            Err(error) => return Err(self.fail(error)),
        }
        Ok(())
    }

    /// Returns how many records the source under the cursor may have of the key. A memtable counts
    /// them; a run says 1.
    #[inline]
    pub(crate) fn records_of_key(&self) -> usize {
        match &self.sources[self.winner()] {
            Source::Memtable(cursor) => cursor.version_count() as usize,
            Source::Run(_) | Source::Folded(_) => 1,
        }
    }

    /// Moves to the previous record. Allowed only after a backward positioning.
    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        debug_assert_eq!(self.way, Way::Backward);
        if let [only] = &mut self.sources[..] {
            return only.prev();
        }
        self.effort.steps += 1;
        let winner = self.winner();
        match self.sources[winner].prev() {
            Ok(()) => self.replay(winner),
            Err(error) => return Err(self.fail(error)),
        }
        Ok(())
    }

    #[inline]
    fn winner(&self) -> usize {
        self.winner as usize
    }

    fn position(
        &mut self,
        way: Way,
        mut seek: impl FnMut(&mut Source) -> Result<()>,
    ) -> Result<()> {
        self.way = way;
        self.effort.seeks += 1;
        for index in 0..self.sources.len() {
            if let Err(error) = seek(&mut self.sources[index]) {
                return Err(self.fail(error));
            }
            self.refresh(index);
        }
        self.play_all();
        Ok(())
    }

    /// Takes the cursor off its record after an error, until it is positioned anew.
    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.heads.fill(ENDED);
        error
    }

    /// Refreshes a source's head from its cursor.
    #[inline]
    fn refresh(&mut self, index: usize) {
        let source = &self.sources[index];
        self.heads[index] = if source.valid() {
            let prefix = if self.is_bytewise() { key_prefix(source.key()) } else { 0 };
            let rank = match self.way {
                Way::Forward => prefix,
                Way::Backward => !prefix,
            };
            Head { rank, valid: true }
        } else {
            ENDED
        };
    }

    /// Plays every match. The leaves are nodes `n..2n`; the parent of node `i` is `i / 2`.
    fn play_all(&mut self) {
        let count = self.sources.len();
        if count < 2 {
            self.winner = 0;
            return;
        }
        let mut winners: SmallVec<[u32; 2 * FEW]> = SmallVec::from_elem(0, 2 * count);
        for leaf in 0..count {
            winners[count + leaf] = leaf as u32;
        }
        for node in (1..count).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if self.beats(b, a) { (b, a) } else { (a, b) };
            winners[node] = winner;
            let rank = self.heads[loser as usize].rank;
            self.tree[node] = Player { rank, source: loser };
        }
        debug_assert!(self.is_won_by(winners[1]), "the winner of a merge has the next record");
        self.winner = winners[1];
    }

    /// Plays the matches of source `index` up to the root, after the source moved.
    #[inline]
    fn replay(&mut self, index: usize) {
        self.refresh(index);
        let mut winner = Player { rank: self.heads[index].rank, source: index as u32 };
        let mut node = (self.sources.len() + index) / 2;
        while node > 0 {
            let other = self.tree[node];
            let (better, worse) = if other.rank != winner.rank {
                winner.play(other)
            } else if self.beats_at_same_rank(other.source, winner.source) {
                (other, winner)
            } else {
                (winner, other)
            };
            self.tree[node] = worse;
            winner = better;
            node /= 2;
        }
        debug_assert!(self.is_won_by(winner.source), "the winner of a merge has the next record");
        self.winner = winner.source;
    }

    fn is_won_by(&self, winner: u32) -> bool {
        // A caller's order may contradict itself.
        !self.is_bytewise()
            || (0..self.sources.len() as u32).all(|other| !self.beats(other, winner))
    }

    /// Returns whether source `a`'s record comes before source `b`'s, in the cursor's direction.
    #[inline]
    fn beats(&self, a: u32, b: u32) -> bool {
        let (head_a, head_b) = (self.heads[a as usize], self.heads[b as usize]);
        if head_a.rank != head_b.rank {
            return head_a.rank < head_b.rank;
        }
        self.beats_at_same_rank(a, b)
    }

    fn beats_at_same_rank(&self, a: u32, b: u32) -> bool {
        let (valid_a, valid_b) = (self.heads[a as usize].valid, self.heads[b as usize].valid);
        if !valid_a || !valid_b {
            return valid_a || (!valid_b && a < b);
        }
        let order = self.compare_records(a, b);
        match self.way {
            Way::Forward => order == Ordering::Less,
            Way::Backward => order == Ordering::Greater,
        }
    }

    /// Compares two records in the forward direction. They are never equal.
    fn compare_records(&self, a: u32, b: u32) -> Ordering {
        let (left, right) = (&self.sources[a as usize], &self.sources[b as usize]);
        let keys = self.order.compare(left.key(), right.key());
        keys.then_with(|| right.header().seqno.cmp(&left.header().seqno)).then(a.cmp(&b))
    }
}
