//! A cursor over the entries of a key range, in both directions.
//!
//! It walks from key to key until one has an entry, and stays inside the range. After a walk the
//! records' cursor stands on the far side of the entry. So a step in the same direction goes on
//! from there, and a step back reverses first:
//!
//! ```text
//! advance, advance    [a] [b]|c        the records' cursor stands behind b
//! retreat             [a]|b c          it goes before b, and walks on from there
//! ```
//!
//! Invariant: the position is [`Position::On`] only while `entries` holds the entry of that key.
//! Every move begins by leaving the position, so a move that fails or panics leaves the cursor
//! nowhere. Then only a seek leads back. A move does not also return whether it found an entry: a
//! result with a flag in it goes through memory, which makes walks over tables a quarter slower.

use std::ops::Bound;
use std::time::Duration;

use foldb_chains::Way;

use crate::error::Result;
use crate::faults::notes_short_stretches;
use crate::iterator::bounds::Bounds;
use crate::iterator::origin::{Opened, Viewpoint};
use crate::iterator::visible::Visible;
use crate::key::{Comparator, Order, check_key};
use crate::range_tombstone::Edge;
use crate::stats::Call;
use crate::value::Value;

/// Where a cursor stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Never positioned.
    Fresh,
    /// On an entry, which a walk in this direction found. The records' cursor stands on the far
    /// side of the entry's records.
    On(Way),
    /// As [`Position::On`], but the entry was taken from the range and shows no more.
    Taken(Way),
    /// Ran off either end, or failed to read. Only a seek leads back.
    Nowhere,
}

/// A cursor over the entries of a key range.
pub(crate) struct Bounded {
    /// Boxed, because iterators are moved on their way to the caller.
    entries: Box<Visible>,
    bounds: Bounds,
    position: Position,
    /// Deleted keys in a row after which a walk tries to skip many at once.
    few_absent: usize,
    /// Where the deleted keys begin that the walk steps over, once there are some.
    dead_from: Option<Edge>,
}

impl Bounded {
    /// Opens the sources of a reader.
    pub(crate) fn open(viewpoint: Viewpoint, bounds: Bounds) -> Bounded {
        Bounded::over(Visible::open(viewpoint), bounds)
    }

    /// Reads sources that were opened for a reader.
    pub(crate) fn new(viewpoint: Viewpoint, opened: Opened, bounds: Bounds) -> Bounded {
        Bounded::over(Visible::new(viewpoint, opened), bounds)
    }

    fn over(entries: Visible, bounds: Bounds) -> Bounded {
        let entries = Box::new(entries);
        let (position, few_absent) = (Position::Fresh, few_absent());
        Bounded { entries, bounds, position, few_absent, dead_from: None }
    }

    /// Opens the same sources again, for a second cursor of the same reader over the same range.
    pub(crate) fn second(&self) -> Bounded {
        Bounded::open(self.entries.viewpoint.clone(), self.bounds.clone())
    }

    /// Notes how long a seek took.
    pub(super) fn note_seek(&self, took: Duration) {
        self.entries.viewpoint.origin.totals().calls.note(Call::Seek, took);
    }

    /// Expects that the first key is a deleted one, as at the front of a queue.
    pub(super) fn expect_deleted(&mut self) {
        self.few_absent = 1;
    }

    pub(super) fn comparator(&self) -> &dyn Comparator {
        self.order().comparator()
    }

    #[inline]
    fn order(&self) -> &Order {
        &self.entries.viewpoint.order
    }

    pub(super) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// Returns whether the cursor stands on an entry.
    #[inline]
    pub(super) fn valid(&self) -> bool {
        matches!(self.position, Position::On(_))
    }

    /// Returns the key of the entry, also of one that was taken.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        &self.entries.key
    }

    #[inline]
    pub(super) fn value(&self) -> &Result<Value> {
        &self.entries.value
    }

    /// Refuses a key that the comparator cannot compare.
    #[inline]
    pub(super) fn check_key(&self, key: &[u8]) -> Result<()> {
        if self.entries.records.is_bytewise() {
            return Ok(());
        }
        check_key(self.comparator(), key)
    }

    /// Takes the entry from the range: it shows no more, and the range ends before it.
    pub(super) fn take(&mut self) {
        if let Position::On(way) = self.position {
            self.position = Position::Taken(way);
            self.bounds.end_before(&self.entries.key);
        }
    }

    /// Ends the range before a key in it.
    pub(super) fn end_before(&mut self, key: &[u8]) {
        self.bounds.end_before(key);
    }

    /// Leaves the entries, as a walk to the end of the range does.
    pub(super) fn leave(&mut self) {
        self.position = Position::Nowhere;
    }

    /// Moves to the first entry, as every move if there is one ([`Bounded::valid`]).
    pub(super) fn seek_to_first(&mut self) -> Result<()> {
        self.leave();
        match &self.bounds.lower {
            Bound::Unbounded => self.entries.records.seek_to_first()?,
            Bound::Included(key) => self.entries.records.seek(key)?,
            Bound::Excluded(key) => self.entries.seek_behind(key)?,
        }
        self.find_forward()
    }

    /// Moves to the last entry.
    pub(super) fn seek_to_last(&mut self) -> Result<()> {
        self.leave();
        match &self.bounds.upper {
            Bound::Unbounded => self.entries.records.seek_to_last()?,
            Bound::Excluded(key) => self.entries.records.seek_before(key)?,
            Bound::Included(key) => {
                let key = key.clone();
                return self.seek_for_prev_inside(&key);
            }
        }
        self.find_backward()
    }

    /// Moves to the first entry at or above `key`.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<()> {
        if !self.bounds.is_above_lower(self.order(), key) {
            return self.seek_to_first();
        }
        self.leave();
        self.entries.seek(key)?;
        self.find_forward()
    }

    /// Moves to the last entry at or below `key`.
    pub(super) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        match self.bounds.is_below_upper(self.order(), key) {
            true => self.seek_for_prev_inside(key),
            false => self.seek_to_last(),
        }
    }

    /// Moves to the entry of `key` itself, if it is visible; else to the entry before it.
    fn seek_for_prev_inside(&mut self, key: &[u8]) -> Result<()> {
        self.leave();
        if self.bounds.is_above_lower(self.order(), key) && self.entries.fold_exactly(key)? {
            self.position = Position::On(Way::Forward);
            return Ok(());
        }
        self.entries.records.seek_before(key)?;
        self.find_backward()
    }

    /// Moves to the next entry. From no entry there is none.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.position, Position::Nowhere) {
            Position::On(Way::Forward) | Position::Taken(Way::Forward) => {}
            Position::On(Way::Backward) | Position::Taken(Way::Backward) => {
                self.entries.reverse(Way::Forward)?;
            }
            Position::Fresh | Position::Nowhere => return Ok(()),
        }
        self.find_forward()
    }

    /// Moves to the previous entry. From no entry there is none.
    #[inline]
    pub(super) fn retreat(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.position, Position::Nowhere) {
            Position::On(Way::Backward) | Position::Taken(Way::Backward) => {}
            Position::On(Way::Forward) | Position::Taken(Way::Forward) => {
                self.entries.reverse(Way::Backward)?;
            }
            Position::Fresh | Position::Nowhere => return Ok(()),
        }
        self.find_backward()
    }

    fn find_forward(&mut self) -> Result<()> {
        self.find(Way::Forward)
    }

    fn find_backward(&mut self) -> Result<()> {
        self.find(Way::Backward)
    }

    /// Folds keys from the records' cursor on until one has an entry.
    #[inline(always)]
    fn find(&mut self, way: Way) -> Result<()> {
        let found = self.find_anywhere(way);
        debug_assert!(
            !self.valid() || self.is_within_bounds(),
            "an iterator shows only keys of its range"
        );
        found
    }

    #[inline(always)]
    fn find_anywhere(&mut self, way: Way) -> Result<()> {
        if self.entries.is_in_memtable() {
            return self.find_in_memtable(way);
        }
        let mut absent = Absent::default();
        let walked = self.walk(way, &mut absent);
        if absent.deleted >= many_absent() {
            self.note_dead(way, walked.is_ok());
        }
        walked
    }

    fn is_within_bounds(&self) -> bool {
        // A caller's order may contradict itself.
        !self.entries.records.is_bytewise()
            || (self.is_inside(Way::Forward) && self.is_inside(Way::Backward))
    }

    #[inline(always)]
    fn walk(&mut self, way: Way, absent: &mut Absent) -> Result<()> {
        while self.entries.come_to_key() {
            if !self.is_inside(way) {
                return Ok(());
            }
            if absent.count >= self.few_absent && self.pass_absent(way, absent)? {
                continue;
            }
            if self.entries.fold_key(way)? {
                self.position = Position::On(way);
                return Ok(());
            }
            absent.note(self.entries.is_deleted());
        }
        Ok(())
    }

    /// Does [`Bounded::find`] where a memtable is the only source.
    fn find_in_memtable(&mut self, way: Way) -> Result<()> {
        let mut absent = 0;
        while self.entries.come_to_key_of_memtable() {
            if !self.is_inside(way) {
                return Ok(());
            }
            if absent >= self.few_absent && self.entries.pass_gone()? {
                continue;
            }
            if self.entries.fold_key_of_memtable(way)? {
                self.position = Position::On(way);
                return Ok(());
            }
            absent += 1;
        }
        Ok(())
    }

    /// Returns whether a walk that came to a key is still inside the range.
    #[inline]
    fn is_inside(&self, way: Way) -> bool {
        match way {
            Way::Forward => self.bounds.is_below_upper(self.order(), &self.entries.key),
            Way::Backward => self.bounds.is_above_lower(self.order(), &self.entries.key),
        }
    }

    /// Skips deleted keys, many at once where an earlier walk or a source knows them.
    #[cold]
    fn pass_absent(&mut self, way: Way, absent: &mut Absent) -> Result<bool> {
        if !absent.has_start {
            absent.has_start = true;
            self.dead_from = Some(match way {
                Way::Forward => Edge::Before(self.key().into()),
                Way::Backward => Edge::Behind(self.key().into()),
            });
        }
        let is_time = absent.count == self.few_absent || absent.count.is_multiple_of(few_absent());
        if is_time && self.entries.pass_dead()? {
            return Ok(true);
        }
        self.entries.pass_gone()
    }

    /// Notes the deleted keys that a walk stepped over before it found an entry, or none. A walk
    /// that failed has not ended.
    #[cold]
    fn note_dead(&mut self, way: Way, has_ended: bool) {
        let (Some(from), true) = (self.dead_from.take(), has_ended) else { return };
        let (lower, upper) = self.bounds.as_refs();
        let (start, end) = match (way, self.valid()) {
            (Way::Forward, true) => (from, Edge::Before(self.key().into())),
            (Way::Forward, false) => (from, Edge::at_end(upper)),
            (Way::Backward, true) => (Edge::Behind(self.key().into()), from),
            (Way::Backward, false) => (Edge::at_start(lower), from),
        };
        self.entries.note_dead(start, end);
    }
}

/// The keys without an entry in a row that a walk stepped over.
#[derive(Clone, Copy, Debug, Default)]
struct Absent {
    count: usize,
    /// How many of the last of them were deleted. The others have expired, or an operator found no
    /// value.
    deleted: usize,
    /// Whether [`Bounded::dead_from`] says where they begin.
    has_start: bool,
}

impl Absent {
    #[inline]
    fn note(&mut self, is_deleted: bool) {
        self.count += 1;
        match is_deleted {
            true => self.deleted += 1,
            false => (self.deleted, self.has_start) = (0, false),
        }
    }
}

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
