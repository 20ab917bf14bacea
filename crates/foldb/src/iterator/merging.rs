//! Several sorted sources as one: a loser tree keyed on an 8-byte prefix.
//!
//! Each inner node of the tree remembers the loser of the match played there, so that after the
//! winner moved, one match per level of the tree finds the next winner (Knuth, TAOCP 5.4.1). Most
//! matches are decided by the first eight bytes of the key, which lie beside the tree; only ties
//! look at the keys themselves.
//!
//! Sources are given newest first; of two records with the same key and sequence number the newer
//! source's comes first.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use foldb_chains::{Cover, Cursor as MemtableCursor, ValueBytes, Way};
use smallvec::SmallVec;

use crate::encoding::key_prefix;
use crate::error::{Error, Result};
use crate::iterator::source::Source;
use crate::key::{Comparator, RecordHeader, SeqNo};
use crate::range_tombstone::Edge;
use crate::value::Value;

/// A cursor over the union of its sources. After an error it stands on no record.
pub(crate) struct MergingCursor {
    sources: Vec<Source>,
    /// What the matches look at first, one per source.
    heads: SmallVec<[Head; FEW]>,
    /// `tree[0]` is the winner; `tree[i]` the loser of the match at inner node `i`.
    tree: SmallVec<[u32; FEW]>,
    comparator: Arc<dyn Comparator>,
    bytewise: bool,
    direction: Direction,
    effort: Effort,
}

/// What a cursor did that more sources make dearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Positionings of all sources.
    pub(crate) seeks: u64,
    /// Moves to the next record of several sources.
    pub(crate) steps: u64,
    /// Keys of tables, of many in a row, that were passed because they are gone.
    pub(crate) gone: u64,
}

/// Sources that most cursors have no more of: what is kept about each is then in the cursor itself.
const FEW: usize = 8;

/// The front of a source.
#[derive(Clone, Copy, Debug)]
struct Head {
    /// Where the source stands, as far as eight bytes can say: of two heads the one with the
    /// smaller rank wins, whatever the direction; equal ranks decide nothing. It is made of the
    /// first bytes of the key, and the largest for a source at its end.
    rank: u64,
    valid: bool,
}

/// The head of a source at its end.
const ENDED: Head = Head { rank: u64::MAX, valid: false };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl MergingCursor {
    pub(crate) fn new(mut sources: Vec<Source>, comparator: Arc<dyn Comparator>) -> MergingCursor {
        // One value at a time is asked for, however many sources stand on large ones.
        if sources.len() > 1 {
            sources.iter_mut().for_each(Source::set_values_aside);
        }
        MergingCursor {
            heads: SmallVec::from_elem(ENDED, sources.len()),
            tree: SmallVec::from_elem(0, sources.len().max(1)),
            sources,
            bytewise: comparator.bytewise_order(),
            comparator,
            direction: Direction::Forward,
            effort: Effort::default(),
        }
    }

    /// What was done since it was last asked.
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

    /// The memtable, if it is the only source. It may be moved directly: nothing is merged.
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

    /// Has the record's value there, which is asked for next.
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

    /// The record's value, after [`MergingCursor::hold_value`].
    #[inline]
    pub(crate) fn value(&self) -> ValueBytes<'_> {
        self.sources[self.winner()].value()
    }

    #[inline]
    pub(crate) fn pinned_value(&self) -> Value {
        self.sources[self.winner()].pinned_value()
    }

    /// Makes `value` the record's: what [`MergingCursor::pinned_value`] answers, written where it
    /// is kept. Nothing need be held before.
    ///
    /// # Errors
    /// As [`MergingCursor::hold_value`].
    #[inline]
    pub(crate) fn copy_value_to(&mut self, value: &mut Value) -> Result<()> {
        let winner = self.winner();
        match self.sources[winner].copy_value_to(value) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Whether the order is that of the bytes.
    #[inline]
    pub(crate) fn is_bytewise(&self) -> bool {
        self.bytewise
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        self.position(Direction::Forward, Source::seek_to_first)
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        self.position(Direction::Backward, Source::seek_to_last)
    }

    /// To the newest record of the first key at or above `key`; moves forward from there.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.direction = Direction::Forward;
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

    /// To the oldest record of the last key below `key`; moves backward from there.
    pub(crate) fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.position(Direction::Backward, |source| source.seek_before(key))
    }

    /// To the next record. Only after a forward positioning.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        debug_assert_eq!(self.direction, Direction::Forward);
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

    /// Moves the source under the cursor behind the rest of `key`, on which it stands. Only after a
    /// forward positioning.
    #[inline]
    pub(crate) fn next_key_of_source(&mut self, key: &[u8]) -> Result<()> {
        debug_assert_eq!(self.direction, Direction::Forward);
        self.effort.steps += 1;
        let (winner, bytewise) = (self.winner(), self.bytewise);
        match self.sources[winner].next_key(key, bytewise) {
            Ok(()) => self.replay(winner),
            Err(error) => return Err(self.fail(error)),
        }
        Ok(())
    }

    /// Moves on from records that no reader at `seqno` sees any more, as far as sources tell that
    /// at once: those of a table under a range delete up to `cover`, in the fragment between these
    /// edges, and runs of a memtable's keys that are gone where no other source has any. Whether it
    /// moved.
    #[cold]
    pub(crate) fn pass_gone(
        &mut self,
        seqno: SeqNo,
        cover: SeqNo,
        fragment: Option<(&Edge, &Edge)>,
    ) -> Result<bool> {
        let winner = self.winner();
        let way = match self.direction {
            Direction::Forward => Way::Forward,
            Direction::Backward => Way::Backward,
        };
        if let Source::Run(cursor) = &mut self.sources[winner] {
            self.effort.gone += 1;
            let Some(fragment) = fragment.filter(|_| cover > 0) else { return Ok(false) };
            match cursor.pass_covered(way, cover, fragment) {
                Ok(false) => return Ok(false),
                Ok(true) => {}
                Err(error) => return Err(self.fail(error)),
            }
        } else {
            let limit = self.next_of_others(winner).map(|key| key.to_vec());
            if limit.as_deref() == Some(self.sources[winner].key()) {
                return Ok(false);
            }
            let Source::Memtable(cursor) = &mut self.sources[winner] else { return Ok(false) };
            let cover = fragment.and_then(|fragment| memtable_cover(cover, fragment));
            if !cursor.pass_gone(way, seqno, cover, limit.as_deref()) {
                return Ok(false);
            }
        }
        self.effort.steps += 1;
        self.replay(winner);
        Ok(true)
    }

    /// The key that comes first, in the cursor's direction, of all sources but one.
    fn next_of_others(&self, winner: usize) -> Option<&[u8]> {
        let others = self.sources.iter().enumerate().filter(|(index, _)| *index != winner);
        let keys = others.map(|(_, source)| source).filter(|source| source.valid());
        let keys = keys.map(Source::key);
        let compare = |a: &&[u8], b: &&[u8]| self.comparator.compare(a, b);
        match self.direction {
            Direction::Forward => keys.min_by(compare),
            Direction::Backward => keys.max_by(compare),
        }
    }

    /// How many records the source under the cursor may have of the key, as far as it can tell: a
    /// memtable counts them.
    #[inline]
    pub(crate) fn records_of_key(&self) -> usize {
        match &self.sources[self.winner()] {
            Source::Memtable(cursor) => cursor.version_count() as usize,
            Source::Run(_) => 1,
        }
    }

    /// To the previous record. Only after a backward positioning.
    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        debug_assert_eq!(self.direction, Direction::Backward);
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
        self.tree[0] as usize
    }

    fn position(
        &mut self,
        direction: Direction,
        mut seek: impl FnMut(&mut Source) -> Result<()>,
    ) -> Result<()> {
        self.direction = direction;
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

    /// After an error the cursor stands on no record until it is positioned anew.
    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.heads.fill(ENDED);
        error
    }

    /// Takes a source's head from its cursor.
    #[inline]
    fn refresh(&mut self, index: usize) {
        let source = &self.sources[index];
        self.heads[index] = if source.valid() {
            let prefix = if self.bytewise { key_prefix(source.key()) } else { 0 };
            let rank = match self.direction {
                Direction::Forward => prefix,
                Direction::Backward => !prefix,
            };
            Head { rank, valid: true }
        } else {
            ENDED
        };
    }

    /// Plays every match. The leaves are nodes `n..2n`, the parent of node `i` is `i / 2`.
    fn play_all(&mut self) {
        let count = self.sources.len();
        if count < 2 {
            self.tree[0] = 0;
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
            self.tree[node] = loser;
        }
        self.tree[0] = winners[1];
    }

    /// After source `index` moved: plays its matches up to the root.
    #[inline]
    fn replay(&mut self, index: usize) {
        self.refresh(index);
        let mut winner = index as u32;
        let mut node = (self.sources.len() + index) / 2;
        while node > 0 {
            if self.beats(self.tree[node], winner) {
                std::mem::swap(&mut self.tree[node], &mut winner);
            }
            node /= 2;
        }
        self.tree[0] = winner;
    }

    /// Whether source `a`'s record comes before source `b`'s, in the cursor's direction.
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
        match self.direction {
            Direction::Forward => order == Ordering::Less,
            Direction::Backward => order == Ordering::Greater,
        }
    }

    /// Order of two records in the forward direction; never equal.
    fn compare_records(&self, a: u32, b: u32) -> Ordering {
        let (left, right) = (&self.sources[a as usize], &self.sources[b as usize]);
        let keys = if self.bytewise {
            left.key().cmp(right.key())
        } else {
            self.comparator.compare(left.key(), right.key())
        };
        keys.then_with(|| right.header().seqno.cmp(&left.header().seqno)).then(a.cmp(&b))
    }
}

/// What a memtable's cursor is told of a range delete; `None` where there is none.
fn memtable_cover<'a>(seqno: SeqNo, (from, to): (&'a Edge, &'a Edge)) -> Option<Cover<'a>> {
    let from = match from {
        Edge::Lowest => Bound::Unbounded,
        Edge::Before(key) => Bound::Included(&**key),
        Edge::Behind(key) => Bound::Excluded(&**key),
        Edge::Highest => return None,
    };
    let to = match to {
        Edge::Lowest => return None,
        Edge::Before(key) => Bound::Excluded(&**key),
        Edge::Behind(key) => Bound::Included(&**key),
        Edge::Highest => Bound::Unbounded,
    };
    (seqno > 0).then_some(Cover { seqno, from, to })
}
