//! A source of folded entries: an iterator below another one.
//!
//! A transaction reads its own records over the entries of its snapshot. Each entry counts as a put
//! that is older than every own record.

use std::cmp::Ordering;

use foldb_chains::{ValueBytes, Way};

use crate::error::Result;
use crate::iterator::dead::Dead;
use crate::iterator::visible::Iter;
use crate::key::{Kind, NO_OPERATOR, RecordHeader, SeqNo};
use crate::range_tombstone::Edge;
use crate::value::Value;

/// The sequence number of an entry: every own record is newer.
const OLDEST: SeqNo = 0;

/// A cursor over the entries of an iterator.
pub(crate) struct FoldedCursor {
    entries: Box<Iter>,
    value: Value,
}

impl FoldedCursor {
    pub(crate) fn new(entries: Iter) -> FoldedCursor {
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
        self.value = self.entries.value().cloned().unwrap_or_default();
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
            (Way::Forward, ..) => self.entries.leave_forward(),
            (Way::Backward, ..) => self.entries.leave_backward(),
        }
        Ok(true)
    }
}
