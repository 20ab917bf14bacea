//! One source of records: a memtable, a sorted run, or the folded entries of another iterator.

use foldb_chains::{Cursor as MemtableCursor, ValueBytes};
use smallvec::SmallVec;

use crate::error::Result;
use crate::iterator::folded::FoldedCursor;
use crate::iterator::run::RunCursor;
use crate::key::RecordHeader;
use crate::memtable;
use crate::value::Value;

/// Most hidden records of a key that a walk steps over before it seeks instead. A seek costs about
/// as much as a few dozen steps.
pub(crate) const MAX_HIDDEN: usize = 16;

/// The sources of a cursor, newest first. Two of them lie inside the cursor.
pub(crate) type Sources = SmallVec<[Source; 2]>;

/// A cursor over one source. Keys and values are valid until the cursor moves.
pub(crate) enum Source {
    /// Boxed so that sources are small and cheap to move.
    Memtable(Box<MemtableCursor>),
    Run(RunCursor),
    Folded(FoldedCursor),
}

impl Source {
    #[inline(always)]
    pub(crate) fn valid(&self) -> bool {
        match self {
            Source::Memtable(cursor) => cursor.valid(),
            Source::Run(cursor) => cursor.valid(),
            Source::Folded(cursor) => cursor.valid(),
        }
    }

    #[inline(always)]
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            Source::Memtable(cursor) => cursor.key(),
            Source::Run(cursor) => cursor.key(),
            Source::Folded(cursor) => cursor.key(),
        }
    }

    #[inline(always)]
    pub(crate) fn header(&self) -> RecordHeader {
        match self {
            Source::Memtable(cursor) => memtable::header(cursor),
            Source::Run(cursor) => cursor.header(),
            Source::Folded(cursor) => cursor.header(),
        }
    }

    /// Releases large values until [`Source::hold_value`] asks for them.
    pub(crate) fn set_values_aside(&mut self) {
        if let Source::Run(cursor) = self {
            cursor.set_values_aside();
        }
    }

    /// Fetches the value, for [`Source::value`] and [`Source::pinned_value`].
    #[inline]
    pub(crate) fn hold_value(&mut self) -> Result<()> {
        match self {
            Source::Memtable(_) => Ok(()),
            Source::Run(cursor) => cursor.hold_value(),
            Source::Folded(cursor) => {
                cursor.hold_value();
                Ok(())
            }
        }
    }

    /// Returns the value's bytes. Only those that may change are copied.
    #[inline]
    pub(crate) fn value(&self) -> ValueBytes<'_> {
        match self {
            Source::Memtable(cursor) => cursor.value(),
            Source::Run(cursor) => ValueBytes::Lent(cursor.value()),
            Source::Folded(cursor) => cursor.value(),
        }
    }

    /// Returns the value, pinned in place.
    #[inline]
    pub(crate) fn pinned_value(&self) -> Value {
        match self {
            Source::Memtable(cursor) => memtable::pinned_value(cursor),
            Source::Run(cursor) => cursor.pinned_value(),
            Source::Folded(cursor) => cursor.pinned_value(),
        }
    }

    /// Writes the record's value to `value`. Equals [`Source::pinned_value`].
    ///
    /// # Errors
    /// As [`Source::hold_value`].
    #[inline]
    pub(crate) fn copy_value_to(&mut self, value: &mut Value) -> Result<()> {
        match self {
            Source::Memtable(cursor) => value.set_lent(cursor.chains(), cursor.value()),
            Source::Run(cursor) => {
                cursor.hold_value()?;
                value.set_entry(cursor.entry_value());
            }
            Source::Folded(cursor) => {
                cursor.hold_value();
                *value = cursor.pinned_value();
            }
        }
        Ok(())
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.seek_to_first(),
            Source::Run(cursor) => cursor.seek_to_first()?,
            Source::Folded(cursor) => cursor.seek_to_first()?,
        }
        Ok(())
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.seek_to_last(),
            Source::Run(cursor) => cursor.seek_to_last()?,
            Source::Folded(cursor) => cursor.seek_to_last()?,
        }
        Ok(())
    }

    /// Does the first half of a seek to the newest record of the first key at or above `key`. It
    /// finds the memory where the record lies, and prefetches it. Returns whether
    /// [`Source::finish_seek`] has work to do.
    ///
    /// A caller runs this half for all sources before the second half of any. Then the cache misses
    /// of all sources overlap.
    pub(crate) fn approach(&mut self, key: &[u8]) -> Result<bool> {
        match self {
            Source::Memtable(cursor) => {
                cursor.approach(key);
                Ok(true)
            }
            Source::Run(cursor) => cursor.approach(key),
            Source::Folded(cursor) => cursor.seek(key).map(|()| false),
        }
    }

    /// Does the second half of a seek, after [`Source::approach`] of the same key.
    pub(crate) fn finish_seek(&mut self, key: &[u8]) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.land(),
            Source::Run(cursor) => cursor.seek_in_block(key)?,
            Source::Folded(_) => {}
        }
        Ok(())
    }

    /// Moves to the oldest record of the last key below `key`.
    pub(crate) fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.seek_before(key),
            Source::Run(cursor) => cursor.seek_before(key)?,
            Source::Folded(cursor) => cursor.seek_before(key)?,
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.next(),
            Source::Run(cursor) => cursor.next()?,
            Source::Folded(cursor) => cursor.next()?,
        }
        Ok(())
    }

    /// Moves past all records of `key`; the cursor stands on one of them. A memtable has a direct
    /// link to the next key. A run steps over a few records, then seeks the key's successor if the
    /// order is bytewise. `is_same` says whether a key is `key`.
    pub(crate) fn next_key(
        &mut self,
        key: &[u8],
        bytewise: bool,
        is_same: impl Fn(&[u8]) -> bool,
    ) -> Result<()> {
        let cursor = match self {
            Source::Memtable(cursor) => {
                cursor.next_key();
                return Ok(());
            }
            Source::Folded(cursor) => return cursor.next(),
            Source::Run(cursor) => cursor,
        };
        let mut hidden = 0;
        while cursor.valid() && is_same(cursor.key()) {
            if bytewise && hidden == MAX_HIDDEN {
                let behind = [key, &[0]].concat();
                return if cursor.approach(&behind)? {
                    cursor.seek_in_block(&behind)
                } else {
                    Ok(())
                };
            }
            cursor.next()?;
            hidden += 1;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.prev(),
            Source::Run(cursor) => cursor.prev()?,
            Source::Folded(cursor) => cursor.prev()?,
        }
        Ok(())
    }
}
