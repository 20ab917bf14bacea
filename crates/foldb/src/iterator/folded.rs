//! A source of folded entries: an iterator below another one.
//!
//! A transaction reads its own records over the entries of its snapshot. Each entry counts as a put
//! that is older than every own record.

use std::cmp::Ordering;

use foldb_chains::ValueBytes;

use crate::error::{ErrorKind, Result};
use crate::iterator::visible::Iter;
use crate::key::{Kind, NO_OPERATOR, RecordHeader, SeqNo};
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

    /// Returns the header of a put. An entry whose merge failed counts as an operand that no
    /// operator folds. So its key alone fails, unless a newer record is a base.
    pub(crate) fn header(&self) -> RecordHeader {
        let kind = if self.merge_failed() { Kind::Merge } else { Kind::Put };
        RecordHeader { seqno: OLDEST, kind, operator: NO_OPERATOR }
    }

    fn merge_failed(&self) -> bool {
        self.entries.value().is_err_and(|error| error.kind() == ErrorKind::MergeFailed)
    }

    /// Fetches the value, for [`FoldedCursor::value`] and [`FoldedCursor::pinned_value`].
    ///
    /// # Errors
    /// As [`Iter::value`].
    pub(crate) fn hold_value(&mut self) -> Result<()> {
        self.value = match self.entries.value() {
            Ok(value) => value.clone(),
            Err(_) if self.merge_failed() => Value::default(),
            Err(error) => return Err(error),
        };
        Ok(())
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
}
