//! The iterator that users see: one folded entry per key, as of one moment.
//!
//! Forwards, the records of a key come newest first and the chain ends at its base. Backwards, they
//! come oldest first and a base replaces the records collected before it. Both directions end in
//! the same fold. Where different bytes may be one key, an entry has the bytes of its newest
//! visible record.

mod both_ends;
mod watched;

use std::ops::Bound;
use std::sync::Arc;

use crate::counters::{Total, Totals};
use crate::encoding::copy_short;
use crate::error::{Error, Result};
use crate::faults::{Fault, notes_short_stretches, planted};
use crate::fold::{CachedResolver, Chain, ReadTime};
use crate::iterator::bounds::Bounds;
use crate::iterator::covers::Covers;
use crate::iterator::dead::{Dead, DeadStretches};
use crate::iterator::merging::{Effort, MergingCursor};
use crate::iterator::source::MAX_HIDDEN;
use crate::iterator::watch::Watch;
use crate::key::{Comparator, Kind, SeqNo, check_key};
use crate::memtable;
use crate::memtable::{Usual, fold_usual};
use crate::range_tombstone::Edge;
use crate::segment::ValueReader;
use crate::stats::ReadReport;
use crate::table::LARGE_BLOCK;
use crate::value::Value;

/// The parts of an iterator.
pub(crate) struct VisibleParts {
    pub(crate) records: MergingCursor,
    /// The range tombstones of the same sources, if they have any.
    pub(crate) covers: Option<Covers>,
    pub(crate) seqno: SeqNo,
    /// The moment of the reader, if the keyspace has an expiry.
    pub(crate) time: Option<ReadTime>,
    pub(crate) bounds: Bounds,
    pub(crate) comparator: Arc<dyn Comparator>,
    /// The operators that are registered at the moment of a fold. An operator that was registered
    /// after the iterator was made folds too.
    pub(crate) resolver: CachedResolver,
    /// Reads separated values, if there may be any.
    pub(crate) values: Option<ValueReader>,
    /// Keeps alive what the iterator reads, and receives its effort.
    pub(crate) origin: Arc<dyn Origin>,
    pub(crate) totals: Arc<Totals>,
    /// Counts the iterator's cost, if the caller asked for a report.
    pub(crate) report: Option<ReadReport>,
}

/// The sources that an iterator reads, at the moment of the iterator.
pub(crate) trait Origin: Send + Sync {
    /// Opens cursors over the sources, for a reader at `seqno`. An iterator that is read from both
    /// ends has two of each.
    fn open(&self, seqno: SeqNo, report: Option<&ReadReport>) -> Opened;

    /// Returns the value of an entry of [`FoldedCursor`] that could not be read.
    ///
    /// # Errors
    /// Why the value cannot be read.
    ///
    /// [`FoldedCursor`]: crate::iterator::FoldedCursor
    fn value_below(&self, _key: &[u8]) -> Result<Value> {
        unreachable!("separated values have segments")
    }

    /// Receives the effort of the iterator since the last call.
    fn pay(&self, effort: Effort);

    /// Returns the stretches of deleted keys that earlier walks found.
    fn dead(&self) -> &DeadStretches;

    /// Returns the number of the newest file that the iterator reads.
    fn newest_file(&self) -> u64;

    /// Returns the number of the version that the iterator reads: later versions have larger ones.
    fn installs(&self) -> u64;
}

/// Cursors over the sources of an iterator.
pub(crate) struct Opened {
    pub(crate) records: MergingCursor,
    /// The range tombstones of the same sources, if they have any.
    pub(crate) covers: Option<Covers>,
    /// Reads separated values, if there may be any.
    pub(crate) values: Option<ValueReader>,
}

/// A long-lived iterator reports its effort after this many seeks.
const SEEKS_BETWEEN_PAYMENTS: u64 = 1024;

/// Returns after how many deleted keys in a row the walk tries to skip many at once.
#[inline(always)]
fn few_absent() -> usize {
    if cfg!(test) || notes_short_stretches() { 2 } else { 8 }
}

/// Returns after how many deleted keys in a row the walk notes them for later walks.
#[inline(always)]
fn many_absent() -> usize {
    4 * few_absent()
}

/// The keys without an entry in a row that a walk stepped over.
#[derive(Clone, Copy, Debug, Default)]
struct Absent {
    count: usize,
    /// How many of the last of them were deleted. The others have expired, or an operator found no
    /// value.
    deleted: usize,
    /// Whether [`Iter::dead_from`] says where they begin.
    has_start: bool,
}

impl VisibleParts {
    /// Reports the effort since the last time.
    fn settle_account(&mut self) {
        let effort = std::mem::take(self.records.effort());
        self.origin.pay(effort);
    }
}

impl Drop for VisibleParts {
    fn drop(&mut self) {
        self.settle_account();
    }
}

/// A cursor over the entries of a key range, in both directions.
///
/// It starts before the first entry; position it with one of the `seek` calls. It shows the
/// database as it was when the iterator was made, and keeps that state alive.
///
/// As a Rust iterator it yields `(key, value)` pairs forwards from its position, or from the first
/// entry if it was never positioned. From the other end, [`DoubleEndedIterator::next_back`] yields
/// pairs backwards from the last entry. An entry whose merge failed is an error of its own, and
/// iteration continues after it.
///
/// Both ends meet, and each entry comes once. `next_back` also ends the range before the entry that
/// it returns: every later call finds only entries before it. A positioning call moves the front,
/// so entries after the new position that `next` yielded before come again.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// for fruit in ["apple", "cherry", "pear"] {
///     db.put(fruit, "")?;
/// }
/// let mut fruits = db.range("b"..)?;
/// assert!(fruits.seek_to_first()?);
/// assert_eq!(fruits.key(), b"cherry");
/// assert!(fruits.advance()?);
/// assert!(fruits.retreat()?);
/// assert_eq!(fruits.key(), b"cherry");
/// assert!(!fruits.retreat()?, "apple lies outside the range");
///
/// let mut fruits = db.iter()?.map(|entry| entry.map(|(key, _)| key));
/// assert_eq!(fruits.next_back().unwrap()?, b"pear");
/// assert_eq!(fruits.next().unwrap()?, b"apple");
/// assert_eq!(fruits.next_back().unwrap()?, b"cherry");
/// assert!(fruits.next().is_none() && fruits.next_back().is_none());
/// assert_eq!(db.iter()?.rev().count(), 3);
/// # Ok::<(), foldb::Error>(())
/// ```
pub struct Iter {
    parts: VisibleParts,
    state: State,
    /// Whether `Iterator::next` returned the entry under the cursor already.
    yielded: bool,
    key: Vec<u8>,
    value: Result<Value>,
    chain: Chain,
    scratch: Vec<u8>,
    /// The iterator of the back end, once both ends are in use.
    back: Option<Box<Iter>>,
    /// Scratch of `next_back`: the key that it returned before the last one.
    last_taken: Vec<u8>,
    /// Learns which ranges are read, if a transaction reads.
    watch: Option<Box<Watch>>,
    /// Where the deleted keys begin that the walk steps over, once there are some.
    dead_from: Option<Edge>,
    /// Deleted keys in a row after which the walk tries to skip many at once.
    few_absent: usize,
    /// Whether records of the key may have expired, if it has no entry.
    has_expired: bool,
}

/// The direction of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Forward,
    Backward,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Never positioned.
    Fresh,
    /// Stands on an entry; the merging cursor stands after its records.
    Forward,
    /// Stands on an entry; the merging cursor stands before its records.
    Backward,
    /// Only `next_back` moved it. The key is the one it returned last. The merging cursor stands
    /// before its records.
    FromBack,
    /// Ran off either end, or failed to read. Only a seek leads back.
    Exhausted,
}

impl Iter {
    pub(crate) fn new(parts: VisibleParts) -> Iter {
        Iter {
            parts,
            state: State::Fresh,
            yielded: false,
            key: Vec::new(),
            value: Ok(Value::default()),
            chain: Chain::default(),
            scratch: Vec::new(),
            back: None,
            last_taken: Vec::new(),
            watch: None,
            dead_from: None,
            few_absent: few_absent(),
            has_expired: false,
        }
    }

    /// Expects that the first key is a deleted one, as at the front of a queue.
    pub(crate) fn at_front(mut self) -> Iter {
        self.few_absent = 1;
        self
    }

    /// Does what a positioning call needs after calls of `next_back`.
    #[inline]
    fn before_seek(&mut self) {
        if self.back.is_some() || self.state == State::FromBack {
            self.leave_back();
        }
    }

    pub(crate) fn comparator(&self) -> &dyn Comparator {
        &*self.parts.comparator
    }

    /// Moves to the first entry. Each positioning call returns whether there is an entry.
    ///
    /// # Errors
    /// `Corruption` or `Io` when a table cannot be read.
    pub fn seek_to_first(&mut self) -> Result<bool> {
        self.before_seek();
        self.begin_walk(|bounds| Edge::at_start(bounds.as_refs().0));
        let moved = self.move_to_first();
        self.after_move(Way::Forward, moved)
    }

    fn move_to_first(&mut self) -> Result<bool> {
        self.state = State::Exhausted;
        match self.parts.bounds.lower.clone() {
            Bound::Unbounded => self.parts.records.seek_to_first()?,
            Bound::Included(key) => self.parts.records.seek(&key)?,
            Bound::Excluded(key) => self.seek_records_behind(&key)?,
        }
        self.find_forward()
    }

    /// Moves to the last entry.
    ///
    /// # Errors
    /// As [`Iter::seek_to_first`].
    pub fn seek_to_last(&mut self) -> Result<bool> {
        self.before_seek();
        self.begin_walk(|bounds| Edge::at_end(bounds.as_refs().1));
        let moved = self.move_to_last();
        self.after_move(Way::Backward, moved)
    }

    fn move_to_last(&mut self) -> Result<bool> {
        self.state = State::Exhausted;
        match self.parts.bounds.upper.clone() {
            Bound::Unbounded => self.parts.records.seek_to_last()?,
            Bound::Excluded(key) => self.parts.records.seek_before(&key)?,
            Bound::Included(key) => return self.seek_to_or_before(&key),
        }
        self.find_backward()
    }

    /// Moves to the first entry at or above `key`.
    ///
    /// # Errors
    /// As [`Iter::seek_to_first`]. `InvalidArgument` for a key that the comparator cannot compare;
    /// the iterator then stays where it is.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        self.check_key(key)?;
        if !self.above_lower(key) {
            return self.seek_to_first();
        }
        self.before_seek();
        self.begin_walk(|_| Edge::Before(key.into()));
        let moved = self.move_to_or_behind(key);
        self.after_move(Way::Forward, moved)
    }

    fn move_to_or_behind(&mut self, key: &[u8]) -> Result<bool> {
        self.state = State::Exhausted;
        if self.parts.records.effort().seeks >= SEEKS_BETWEEN_PAYMENTS {
            self.parts.settle_account();
        }
        self.parts.records.seek(key)?;
        self.find_forward()
    }

    /// Moves to the last entry at or below `key`.
    ///
    /// # Errors
    /// As [`Iter::seek`].
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        self.check_key(key)?;
        self.before_seek();
        if !self.below_upper(key) {
            return self.seek_to_last();
        }
        self.begin_walk(|_| Edge::Behind(key.into()));
        let moved = self.seek_to_or_before(key);
        self.after_move(Way::Backward, moved)
    }

    /// Refuses a key that the comparator cannot compare.
    #[inline]
    fn check_key(&self, key: &[u8]) -> Result<()> {
        if self.parts.records.is_bytewise() {
            return Ok(());
        }
        check_key(&*self.parts.comparator, key)
    }

    /// Moves to the next entry; from a fresh iterator, to the first.
    ///
    /// # Errors
    /// As [`Iter::seek_to_first`].
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        let moved = self.move_forward();
        self.after_move(Way::Forward, moved)
    }

    #[inline]
    fn move_forward(&mut self) -> Result<bool> {
        if self.state == State::Backward && self.watch.is_some() {
            self.reach_here();
        }
        match std::mem::replace(&mut self.state, State::Exhausted) {
            State::Fresh => return self.seek_to_first(),
            State::FromBack => return self.with_front(Iter::seek_to_first),
            State::Exhausted => return Ok(false),
            State::Forward => {}
            State::Backward => {
                let key = std::mem::take(&mut self.key);
                self.seek_records_behind(&key)?;
            }
        }
        self.find_forward()
    }

    /// Moves to the previous entry; from a fresh iterator, to the last.
    ///
    /// # Errors
    /// As [`Iter::seek_to_first`].
    #[inline]
    pub fn retreat(&mut self) -> Result<bool> {
        let moved = self.move_backward();
        self.after_move(Way::Backward, moved)
    }

    #[inline]
    fn move_backward(&mut self) -> Result<bool> {
        if self.state == State::Forward && self.watch.is_some() {
            self.reach_here();
        }
        match std::mem::replace(&mut self.state, State::Exhausted) {
            State::Fresh => return self.seek_to_last(),
            State::FromBack => return self.with_front(Iter::seek_to_last),
            State::Exhausted => return Ok(false),
            State::Backward => {}
            State::Forward => self.parts.records.seek_before(&self.key)?,
        }
        self.find_backward()
    }

    /// Returns whether the iterator stands on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        matches!(self.state, State::Forward | State::Backward)
    }

    /// Returns the key under the cursor.
    ///
    /// # Panics
    /// When the iterator is not [`Iter::valid`].
    #[inline]
    pub fn key(&self) -> &[u8] {
        assert!(self.valid(), "the iterator stands on no entry");
        &self.key
    }

    /// Returns the value under the cursor.
    ///
    /// # Errors
    /// `MergeFailed` when this key's merge failed. `Corruption` or `Io` when the value lies in a
    /// value segment that cannot be read. The iterator can still move on.
    ///
    /// # Panics
    /// When the iterator is not [`Iter::valid`].
    #[inline]
    pub fn value(&self) -> Result<&Value> {
        assert!(self.valid(), "the iterator stands on no entry");
        self.value.as_ref().map_err(Error::clone)
    }

    /// Folds keys from the cursor's position on until one is visible.
    fn find_forward(&mut self) -> Result<bool> {
        if self.parts.records.only_memtable().is_some() {
            return self.find_in_memtable(State::Forward);
        }
        let mut absent = Absent::default();
        let found = self.walk_forward(&mut absent);
        if absent.deleted >= many_absent() {
            self.learn(Way::Forward, &found);
        }
        found
    }

    #[inline(always)]
    fn walk_forward(&mut self, absent: &mut Absent) -> Result<bool> {
        while self.parts.records.valid() {
            set_key(&mut self.key, self.parts.records.key());
            if !self.below_upper(&self.key) {
                return Ok(false);
            }
            if absent.count >= self.few_absent && self.pass_absent(Way::Forward, absent)? {
                continue;
            }
            if self.take_plain()? {
                self.state = State::Forward;
                return Ok(true);
            }
            self.collect_forward()?;
            if self.fold() {
                self.state = State::Forward;
                return Ok(true);
            }
            self.count_absent(absent);
        }
        Ok(false)
    }

    /// Counts a key without an entry. Only a delete says for good that older records do not matter:
    /// an operator may find a value in them later, and an earlier moment sees what has expired.
    #[inline]
    fn count_absent(&self, absent: &mut Absent) {
        absent.count += 1;
        match self.chain.is_deleted() && !self.has_expired {
            true => absent.deleted += 1,
            false => (absent.deleted, absent.has_start) = (0, false),
        }
    }

    /// Takes the value of the record under the cursor if the record is the key's whole visible
    /// chain, and moves past the key. Then no chain is needed. Returns whether it took the value.
    #[inline]
    fn take_plain(&mut self) -> Result<bool> {
        let records = &mut self.parts.records;
        let header = records.header();
        if header.kind != Kind::Put
            || header.seqno > self.parts.seqno
            || self.parts.covers.is_some()
            || self.parts.time.is_some()
        {
            return Ok(false);
        }
        let Ok(value) = &mut self.value else { return Ok(false) };
        forget_large(value);
        records.copy_value_to(value)?;
        self.yielded = false;
        if let Some(report) = &self.parts.report {
            report.saw_operands(0);
        }
        records.next()?;
        if records.is_at(&self.key) {
            self.pass_key()?;
        }
        Ok(true)
    }

    /// Collects the chain of the key under the cursor, and moves past the key.
    #[inline]
    fn collect_forward(&mut self) -> Result<()> {
        self.begin_chain()?;
        let records = &mut self.parts.records;
        loop {
            let header = records.header();
            let mut is_open = true;
            if header.seqno <= self.parts.seqno {
                records.hold_value()?;
                if records.has_spellings() && self.chain.is_empty() {
                    set_key(&mut self.key, records.key());
                }
                is_open = self.chain.push(header, records.pinned_value());
            }
            records.next()?;
            if !records.is_at(&self.key) {
                return Ok(());
            }
            if !is_open {
                return self.pass_key();
            }
        }
    }

    /// Moves the cursor past the rest of the key. It passes a thousand versions as quickly as two.
    #[cold]
    fn pass_key(&mut self) -> Result<()> {
        let records = &mut self.parts.records;
        loop {
            records.next_key_of_source(&self.key)?;
            if !records.is_at(&self.key) {
                return Ok(());
            }
        }
    }

    /// Begins an empty chain for the key, covered as far as range deletes around it go.
    #[inline]
    fn begin_chain(&mut self) -> Result<()> {
        self.chain.clear();
        if let Ok(value) = &mut self.value {
            forget_large(value);
        }
        if let Some(covers) = &mut self.parts.covers {
            self.chain.cover(covers.of(&self.key)?);
        }
        Ok(())
    }

    fn find_backward(&mut self) -> Result<bool> {
        if self.parts.records.only_memtable().is_some() {
            return self.find_in_memtable(State::Backward);
        }
        let mut absent = Absent::default();
        let found = self.walk_backward(&mut absent);
        if absent.deleted >= many_absent() {
            self.learn(Way::Backward, &found);
        }
        found
    }

    #[inline(always)]
    fn walk_backward(&mut self, absent: &mut Absent) -> Result<bool> {
        while self.parts.records.valid() {
            set_key(&mut self.key, self.parts.records.key());
            if !self.above_lower(&self.key) {
                return Ok(false);
            }
            if absent.count >= self.few_absent && self.pass_absent(Way::Backward, absent)? {
                continue;
            }
            self.collect_backward()?;
            if self.fold() {
                self.state = State::Backward;
                return Ok(true);
            }
            self.count_absent(absent);
        }
        Ok(false)
    }

    /// Skips deleted keys, many at once where an earlier walk or a source knows them.
    #[cold]
    fn pass_absent(&mut self, way: Way, absent: &mut Absent) -> Result<bool> {
        if !absent.has_start {
            absent.has_start = true;
            self.dead_from = Some(match way {
                Way::Forward => Edge::Before(self.key[..].into()),
                Way::Backward => Edge::Behind(self.key[..].into()),
            });
        }
        if absent.count == self.few_absent || absent.count.is_multiple_of(few_absent()) {
            let VisibleParts { records, comparator, seqno, origin, .. } = &mut self.parts;
            if let Some(dead) =
                origin.dead().find(&**comparator, &self.key, *seqno, origin.installs())
                && records.pass_dead(&dead)?
            {
                return Ok(true);
            }
        }
        self.pass_gone()
    }

    /// Notes the deleted keys that the walk stepped over before it found an entry, or none.
    #[cold]
    fn learn(&mut self, way: Way, found: &Result<bool>) {
        let (Some(from), Ok(found)) = (self.dead_from.take(), found) else { return };
        let VisibleParts { bounds, comparator, seqno, origin, .. } = &self.parts;
        let (lower, upper) = bounds.as_refs();
        let (start, end) = match (way, found) {
            (Way::Forward, true) => (from, Edge::Before(self.key[..].into())),
            (Way::Forward, false) => (from, Edge::at_end(upper)),
            (Way::Backward, true) => (Edge::Behind(self.key[..].into()), from),
            (Way::Backward, false) => (Edge::at_start(lower), from),
        };
        let (newest_file, installs) = (origin.newest_file(), origin.installs());
        let dead = Dead { start, end, seqno: *seqno, newest_file, installs };
        origin.dead().learn(&**comparator, dead);
    }

    /// Leaves the entries forwards, as a walk to the end of the range does.
    pub(crate) fn leave_forward(&mut self) {
        self.leave(Way::Forward);
    }

    /// Leaves the entries backwards, as a walk to the start of the range does.
    pub(crate) fn leave_backward(&mut self) {
        self.leave(Way::Backward);
    }

    fn leave(&mut self, way: Way) {
        self.reach_here();
        self.state = State::Exhausted;
        let _none = self.after_move(way, Ok(false));
    }

    /// Does [`Iter::find_forward`] or [`Iter::find_backward`] where a memtable is the only source.
    /// Nothing is merged, the memtable says where keys change, and a chain borrows its values.
    fn find_in_memtable(&mut self, way: State) -> Result<bool> {
        let seqno = self.parts.seqno;
        let mut absent = 0;
        while let Some(cursor) = self.parts.records.only_memtable().filter(|c| c.valid()) {
            set_key(&mut self.key, cursor.newest_key(seqno));
            let inside = match way {
                State::Backward => self.above_lower(&self.key),
                _ => self.below_upper(&self.key),
            };
            if !inside {
                return Ok(false);
            }
            if absent >= self.few_absent && self.pass_gone()? {
                continue;
            }
            if self.fold_in_memtable(way)? {
                self.state = way;
                return Ok(true);
            }
            absent += 1;
        }
        Ok(false)
    }

    /// Skips deleted keys, many at once where a source knows them.
    #[cold]
    fn pass_gone(&mut self) -> Result<bool> {
        let VisibleParts { records, covers, seqno, .. } = &mut self.parts;
        let Some(covers) = covers else { return records.pass_gone(*seqno, 0, None) };
        let cover = covers.of(&self.key)?;
        records.pass_gone(*seqno, cover, Some(covers.fragment()))
    }

    /// Folds the key under the memtable's cursor, and moves on to the next.
    #[inline]
    fn fold_in_memtable(&mut self, way: State) -> Result<bool> {
        let found = match self.fold_lent() {
            Some(found) => found,
            None => {
                self.begin_chain()?;
                let VisibleParts { records, seqno, .. } = &mut self.parts;
                if let Some(cursor) = records.only_memtable() {
                    memtable::collect_under(cursor, *seqno, &mut self.chain);
                }
                self.fold()
            }
        };
        if let Some(cursor) = self.parts.records.only_memtable() {
            match way {
                State::Backward => cursor.prev_key(),
                _ => cursor.next_key(),
            }
        }
        Ok(found)
    }

    /// Does [`Iter::fold`] of the usual chain under the memtable's cursor. Returns `None` if the
    /// chain is not a usual one.
    #[inline]
    fn fold_lent(&mut self) -> Option<bool> {
        let Iter { parts, key, value, scratch, .. } = self;
        let VisibleParts { records, covers, resolver, report, seqno, time, .. } = parts;
        let cursor = records.only_memtable()?;
        if covers.is_some() || time.is_some() {
            return None;
        }
        let versions = memtable::versions(cursor, *seqno);
        let (answer, operands) = fold_usual(key, versions, || &**resolver.load(), scratch)?;
        if let Some(report) = report {
            report.saw_operands(operands);
        }
        let found = match answer {
            Usual::Absent => false,
            Usual::Made(made) => {
                *value = Ok(made);
                true
            }
            Usual::Lent(lent) => {
                match value {
                    Ok(value) => value.set_lent(cursor.chains(), lent),
                    Err(_) => {
                        let mut kept = Value::default();
                        kept.set_lent(cursor.chains(), lent);
                        *value = Ok(kept);
                    }
                }
                true
            }
        };
        cursor.looked_at(operands + 1);
        self.yielded = false;
        Some(found)
    }

    /// Collects the chain of the key under the cursor, and moves before the key.
    fn collect_backward(&mut self) -> Result<()> {
        self.begin_chain()?;
        let records = &mut self.parts.records;
        let mut passed = 0;
        loop {
            if passed + records.records_of_key() > MAX_HIDDEN {
                return self.collect_from_newest();
            }
            let header = records.header();
            if header.seqno <= self.parts.seqno {
                records.hold_value()?;
                if records.has_spellings() {
                    set_key(&mut self.key, records.key());
                }
                self.chain.push_newer(header, records.pinned_value());
            }
            passed += 1;
            records.prev()?;
            if !records.is_at(&self.key) {
                return Ok(());
            }
        }
    }

    /// Does [`Iter::collect_backward`] for a key that has many records: from the newest one down to
    /// the base, however many lie below it.
    #[cold]
    fn collect_from_newest(&mut self) -> Result<()> {
        self.begin_chain()?;
        let records = &mut self.parts.records;
        records.seek(&self.key)?;
        while records.is_at(&self.key) {
            let header = records.header();
            if header.seqno <= self.parts.seqno {
                records.hold_value()?;
                if records.has_spellings() && self.chain.is_empty() {
                    set_key(&mut self.key, records.key());
                }
                if !self.chain.push(header, records.pinned_value()) {
                    break;
                }
            }
            records.next()?;
        }
        records.seek_before(&self.key)
    }

    /// Folds the chain. Returns whether the key exists, if only as a failed merge.
    #[inline]
    fn fold(&mut self) -> bool {
        self.yielded = false;
        if self.chain.is_empty() {
            return false;
        }
        if let Some(report) = &self.parts.report {
            report.saw_operands(self.chain.operands());
        }
        if self.chain.separated().is_some() && !self.resolve() {
            return true;
        }
        let time = self.parts.time.as_ref();
        let mut living = Ok(());
        if let Some(time) = time {
            self.has_expired = !self.chain.is_deleted();
            living = time.drop_expired(&mut self.chain);
        }
        let resolver = self.parts.resolver.load();
        let mut folded =
            living.and_then(|()| self.chain.value(&self.key, resolver, &mut self.scratch));
        if let Some(time) = time
            && let Ok(Some(stored)) = folded
        {
            folded = time.show(stored);
        }
        settle(folded, &mut self.value, &self.parts.totals)
    }

    /// Replaces the address of the chain's separated base by the value. Returns `false` if the
    /// value cannot be read. That is an error of this entry alone, since other values may lie
    /// elsewhere.
    #[inline(never)]
    fn resolve(&mut self) -> bool {
        let Some(base) = self.chain.separated() else { return true };
        let value = match &mut self.parts.values {
            Some(values) => values.value(&base.value, &self.key),
            None => self.parts.origin.value_below(&self.key),
        };
        match value {
            Ok(value) => {
                self.chain.resolve(value);
                true
            }
            Err(error) => {
                self.value = Err(error);
                false
            }
        }
    }

    fn seek_to_or_before(&mut self, key: &[u8]) -> Result<bool> {
        self.state = State::Exhausted;
        if self.parts.records.effort().seeks >= SEEKS_BETWEEN_PAYMENTS {
            self.parts.settle_account();
        }
        // The entry of the key itself, if it is visible; else the entry before it.
        self.parts.records.seek(key)?;
        if self.parts.records.is_at(key) && self.above_lower(key) {
            self.key.clear();
            self.key.extend_from_slice(key);
            self.collect_forward()?;
            if self.fold() {
                self.state = State::Forward;
                // The next step forwards begins behind this key, so the walk must have it now.
                if self.watch.is_some() && !planted(Fault::ForgetExactHit) {
                    self.reach_here();
                }
                return Ok(true);
            }
        }
        self.parts.records.seek_before(key)?;
        self.find_backward()
    }

    /// Moves the cursor past all records of `key`.
    fn seek_records_behind(&mut self, key: &[u8]) -> Result<()> {
        let records = &mut self.parts.records;
        records.seek(key)?;
        while records.is_at(key) {
            records.next_key_of_source(key)?;
        }
        Ok(())
    }

    fn above_lower(&self, key: &[u8]) -> bool {
        match &self.parts.bounds.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => self.parts.comparator.compare(key, lower).is_ge(),
            Bound::Excluded(lower) => self.parts.comparator.compare(key, lower).is_gt(),
        }
    }

    #[inline]
    fn below_upper(&self, key: &[u8]) -> bool {
        match &self.parts.bounds.upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => self.parts.comparator.compare(key, upper).is_le(),
            Bound::Excluded(upper) => self.parts.comparator.compare(key, upper).is_lt(),
        }
    }

    /// Returns the entry under the cursor.
    fn entry(&mut self) -> Result<(Vec<u8>, Value)> {
        self.value.clone().map(|value| (self.key.clone(), value))
    }

    /// Does one step of a Rust iterator. Returns the entry under the cursor, or the one that `step`
    /// moves to if that entry was returned before.
    fn yield_entry(
        &mut self,
        step: impl FnOnce(&mut Iter) -> Result<bool>,
    ) -> Option<Result<(Vec<u8>, Value)>> {
        let moved = if self.valid() && !self.yielded { Ok(true) } else { step(self) };
        match moved {
            Ok(true) => {
                self.yielded = true;
                Some(self.entry())
            }
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Releases a large value, which should not stay in memory beside the next ones.
#[inline]
fn forget_large(value: &mut Value) {
    if value.is_longer_than(LARGE_BLOCK) {
        *value = Value::default();
    }
}

/// Makes `key` equal to the key under the cursor. Neighbouring keys mostly have one length.
#[inline]
fn set_key(key: &mut Vec<u8>, next: &[u8]) {
    if key.len() == next.len() {
        copy_short(key, next);
    } else {
        key.clear();
        key.extend_from_slice(next);
    }
}

/// Takes in the result of a fold. Returns whether the key exists, if only as a failed merge.
#[inline]
fn settle(folded: Result<Option<Value>>, value: &mut Result<Value>, totals: &Totals) -> bool {
    match folded {
        Ok(Some(found)) => *value = Ok(found),
        Ok(None) => return false,
        Err(error) => {
            totals.add(Total::FailedMerges, 1);
            *value = Err(error);
        }
    }
    true
}

impl Iterator for Iter {
    type Item = Result<(Vec<u8>, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.yield_entry(Iter::advance)
    }
}

impl std::fmt::Debug for Iter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter").field("state", &self.state).finish_non_exhaustive()
    }
}
