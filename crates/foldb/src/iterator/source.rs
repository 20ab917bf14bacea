//! One source of records: a memtable or a sorted run.

use foldb_chains::{Cursor as MemtableCursor, ValueBytes};

use crate::error::Result;
use crate::iterator::run::RunCursor;
use crate::key::RecordHeader;
use crate::memtable;
use crate::value::Value;

/// Hidden records of a key that a walk steps over before it seeks instead: a seek costs as much as
/// some dozen steps.
pub(crate) const MAX_HIDDEN: usize = 16;

/// A cursor over one source. Keys and values are valid until it moves.
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation for each iterator")]
pub(crate) enum Source {
    Memtable(MemtableCursor),
    Run(RunCursor),
}

impl Source {
    #[inline]
    pub(crate) fn valid(&self) -> bool {
        match self {
            Source::Memtable(cursor) => cursor.valid(),
            Source::Run(cursor) => cursor.valid(),
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            Source::Memtable(cursor) => cursor.key(),
            Source::Run(cursor) => cursor.key(),
        }
    }

    #[inline]
    pub(crate) fn header(&self) -> RecordHeader {
        match self {
            Source::Memtable(cursor) => memtable::header(cursor),
            Source::Run(cursor) => cursor.header(),
        }
    }

    /// Lets go of large values until [`Source::hold_value`] asks for them.
    pub(crate) fn set_values_aside(&mut self) {
        if let Source::Run(cursor) = self {
            cursor.set_values_aside();
        }
    }

    /// Has the value there, for [`Source::value`] and [`Source::pinned_value`].
    #[inline]
    pub(crate) fn hold_value(&mut self) -> Result<()> {
        match self {
            Source::Memtable(_) => Ok(()),
            Source::Run(cursor) => cursor.hold_value(),
        }
    }

    /// The value's bytes, uncopied but for those that may change.
    #[inline]
    pub(crate) fn value(&self) -> ValueBytes<'_> {
        match self {
            Source::Memtable(cursor) => cursor.value(),
            Source::Run(cursor) => ValueBytes::Lent(cursor.value()),
        }
    }

    /// The value, pinned where it lies.
    #[inline]
    pub(crate) fn pinned_value(&self) -> Value {
        match self {
            Source::Memtable(cursor) => memtable::pinned_value(cursor),
            Source::Run(cursor) => cursor.pinned_value(),
        }
    }

    /// Makes `value` the record's: what [`Source::pinned_value`] answers, written where it is kept.
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
        }
        Ok(())
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.seek_to_first(),
            Source::Run(cursor) => cursor.seek_to_first()?,
        }
        Ok(())
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.seek_to_last(),
            Source::Run(cursor) => cursor.seek_to_last()?,
        }
        Ok(())
    }

    /// The first half of a seek to the newest record of the first key at or above `key`: finds the
    /// memory in which it lies, and asks for it. Whether [`Source::finish_seek`] has something to
    /// do.
    ///
    /// Done for all sources before the second half of any, their cache misses are waited for
    /// together.
    pub(crate) fn approach(&mut self, key: &[u8]) -> Result<bool> {
        match self {
            Source::Memtable(cursor) => {
                cursor.approach(key);
                Ok(true)
            }
            Source::Run(cursor) => cursor.approach(key),
        }
    }

    /// The second half of a seek, after [`Source::approach`] of the same key.
    pub(crate) fn finish_seek(&mut self, key: &[u8]) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.land(),
            Source::Run(cursor) => cursor.seek_in_block(key)?,
        }
        Ok(())
    }

    /// To the oldest record of the last key below `key`.
    pub(crate) fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.seek_before(key),
            Source::Run(cursor) => cursor.seek_before(key)?,
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        match self {
            Source::Memtable(cursor) => cursor.next(),
            Source::Run(cursor) => cursor.next()?,
        }
        Ok(())
    }

    /// Behind all records of `key`, on one of which it stands. A memtable knows the way; a run
    /// steps over a few, then seeks what follows the key, if the comparator says what that is.
    pub(crate) fn next_key(&mut self, key: &[u8], bytewise: bool) -> Result<()> {
        let cursor = match self {
            Source::Memtable(cursor) => {
                cursor.next_key();
                return Ok(());
            }
            Source::Run(cursor) => cursor,
        };
        let mut hidden = 0;
        while cursor.valid() && cursor.key() == key {
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
        }
        Ok(())
    }
}
