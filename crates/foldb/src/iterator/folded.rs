//! A source of folded entries: an iterator below another one.
//!
//! A transaction reads its own records over the entries of its snapshot. Each entry counts as a put
//! that is older than every own record.

use std::cmp::Ordering;

use foldb_chains::{ValueBytes, Way};

use crate::error::Result;
use crate::iterator::dead::Dead;
use crate::key::{Comparator, Kind, NO_OPERATOR, RecordHeader, SeqNo};
use crate::range_tombstone::Edge;
use crate::value::Value;

/// The sequence number of an entry: every own record is newer.
const OLDEST: SeqNo = 0;

/// The iterator below. A trait, so that sources do not depend on the parts above them.
pub(crate) trait Entries: Send + Sync {
    fn comparator(&self) -> &dyn Comparator;
    fn valid(&self) -> bool;
    fn key(&self) -> &[u8];
    fn value(&self) -> &Result<Value>;
    fn seek_to_first(&mut self) -> Result<bool>;
    fn seek_to_last(&mut self) -> Result<bool>;
    fn seek(&mut self, key: &[u8]) -> Result<bool>;
    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool>;
    fn advance(&mut self) -> Result<bool>;
    fn retreat(&mut self) -> Result<bool>;

    /// Leaves the entries, as a walk to the end of the range does.
    fn leave(&mut self, way: Way);
}

/// A cursor over the entries of an iterator.
pub(crate) struct FoldedCursor {
    entries: Box<dyn Entries>,
    value: Value,
}

impl FoldedCursor {
    pub(crate) fn new(entries: impl Entries + 'static) -> FoldedCursor {
        FoldedCursor { entries: Box::new(entries), value: Value::default() }
    }

    pub(crate) fn valid(&self) -> bool {
        self.entries.valid()
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.entries.key()
    }

    /// Returns the header of a put. An entry whose value cannot be read counts as a separated put.
    /// Its value is looked for only if no newer record hides it ([`Origin::value_below`]), and its
    /// key alone fails.
    ///
    /// [`Origin::value_below`]: crate::iterator::Origin::value_below
    pub(crate) fn header(&self) -> RecordHeader {
        let kind = if self.entries.value().is_ok() { Kind::Put } else { Kind::Separated };
        RecordHeader { seqno: OLDEST, kind, operator: NO_OPERATOR }
    }

    /// Fetches the value, for [`FoldedCursor::value`] and [`FoldedCursor::pinned_value`].
    pub(crate) fn hold_value(&mut self) {
        self.value = self.entries.value().clone().unwrap_or_default();
    }

    pub(crate) fn value(&self) -> ValueBytes<'_> {
        ValueBytes::Lent(&self.value)
    }

    pub(crate) fn pinned_value(&self) -> Value {
        self.value.clone()
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        self.entries.seek_to_first().map(drop)
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        self.entries.seek_to_last().map(drop)
    }

    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.entries.seek(key).map(drop)
    }

    /// Moves to the last entry below `key`.
    pub(crate) fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        if self.entries.seek_for_prev(key)?
            && self.entries.comparator().compare(self.entries.key(), key) == Ordering::Equal
        {
            self.entries.retreat()?;
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Result<()> {
        self.entries.advance().map(drop)
    }

    pub(crate) fn prev(&mut self) -> Result<()> {
        self.entries.retreat().map(drop)
    }

    /// Skips a stretch of deleted keys around the current entry. Returns whether it moved.
    pub(crate) fn pass_dead(&mut self, way: Way, dead: &Dead) -> Result<bool> {
        let is_here = |key: &[u8]| self.entries.comparator().compare(self.key(), key).is_eq();
        match (way, &dead.start, &dead.end) {
            (Way::Forward, _, Edge::Behind(key)) if is_here(key) => return Ok(false),
            (Way::Forward, _, Edge::Before(key) | Edge::Behind(key)) => self.seek(key)?,
            (Way::Backward, Edge::Behind(key), _) => self.entries.seek_for_prev(key).map(drop)?,
            (Way::Backward, Edge::Before(key), _) => self.seek_before(key)?,
            _ => self.entries.leave(way),
        }
        Ok(true)
    }
}
