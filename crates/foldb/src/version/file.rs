//! Table files: what the manifest stores about each, and the removal of files that no version
//! needs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::files::Trash;
use crate::fold::stamp::Moment;
use crate::key::{KeyList, RecordHeader, SeqNo};
use crate::separated::SegmentId;
use crate::table::expiry::TableExpiry;
use crate::version::bounds::{Key, Upper};
use crate::version::open_tables::TableSlot;

/// What the manifest stores about a table file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) number: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    pub(crate) entries: u64,
    pub(crate) deletes: u64,
    pub(crate) merges: u64,
    /// Number of range tombstones.
    pub(crate) range_deletes: u64,
    /// Estimated number of older records that the range tombstones deleted when the file was
    /// written.
    pub(crate) range_deleted: u64,
    /// Smallest key of a record, or start of a range tombstone, whichever is smaller.
    pub(crate) smallest: Key,
    /// Upper bound of the keys of records and range tombstones.
    pub(crate) end: Upper,
    /// Smallest sequence number of records and range tombstones.
    pub(crate) smallest_seqno: SeqNo,
    pub(crate) largest_seqno: SeqNo,
    /// The newest snapshot that kept records of the file from being folded; 0 for none. After the
    /// release of that snapshot, the file is worth rewriting.
    pub(crate) kept_apart: SeqNo,
    /// The first file of the sorted load that wrote this one, if a load did. All records of the
    /// file then have the number `largest_seqno`, which the file itself does not store.
    pub(crate) loaded: Option<u64>,
    /// Keys evenly spaced by bytes, to estimate how many bytes of the file lie in a range. For a
    /// file with only range tombstones, samples of the keys that the tombstones delete.
    pub(crate) samples: KeyList,
    /// The value segments that the file's records refer to. The number is the total bytes of those
    /// value records.
    pub(crate) references: Arc<[(SegmentId, u64)]>,
    /// The expiry of the records, if the keyspace has one.
    pub(crate) expiry: Option<TableExpiry>,
}

impl FileFacts {
    /// Returns the header of a record of the file as readers see it.
    pub(crate) fn header_of(&self, stored: RecordHeader) -> RecordHeader {
        match self.loaded {
            Some(_) => RecordHeader { seqno: self.largest_seqno, ..stored },
            None => stored,
        }
    }
}

/// Returns whether at least half of a file's records have expired.
pub(crate) fn has_much_expired(file: &FileFacts, now: Moment) -> bool {
    file.expiry.is_some_and(|expiry| expiry.half_expires <= now)
}

/// A table file in use, shared by every version that refers to it.
pub(crate) struct FileMeta {
    facts: FileFacts,
    /// The open table, while it is open.
    pub(crate) slot: TableSlot,
    /// Set when the current version no longer refers to the file. The swap makes one thread note
    /// that the trash expects it. `AcqRel` and `Acquire` are more than this needs: that thread
    /// holds the file, and the last holder reads the mark behind all others, by the count of
    /// holders.
    obsolete: AtomicBool,
    trash: Arc<Trash>,
}

impl FileMeta {
    pub(crate) fn new(facts: FileFacts, trash: &Arc<Trash>) -> FileMeta {
        let trash = Arc::clone(trash);
        FileMeta { facts, slot: TableSlot::default(), obsolete: AtomicBool::new(false), trash }
    }

    pub(crate) fn facts(&self) -> &FileFacts {
        &self.facts
    }

    pub(super) fn is_obsolete(&self) -> bool {
        self.obsolete.load(Ordering::Acquire)
    }

    /// Marks the file as obsolete. The file is removed when its last reader drops it.
    pub(crate) fn mark_obsolete(&self) {
        if !self.obsolete.swap(true, Ordering::AcqRel) {
            self.trash.expect_table(self.facts.number);
        }
    }
}

impl std::ops::Deref for FileMeta {
    type Target = FileFacts;

    fn deref(&self) -> &FileFacts {
        &self.facts
    }
}

impl fmt::Debug for FileMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}.tbl", self.facts.number)
    }
}

impl Drop for FileMeta {
    fn drop(&mut self) {
        if *self.obsolete.get_mut() {
            self.trash.throw_table(self.facts.number);
        }
    }
}
