//! A log that is about to become a segment.
//!
//! While a flush writes the tables, the log has a hard link under the name of the segment file. The
//! edit that adds the tables says where the segment lies. If an [`AdoptedLog`] is dropped before
//! that edit, it removes the link. A crash leaves the link as an orphan file, and the log
//! unchanged.

use std::sync::Arc;

use crate::key::{KeyspaceId, SeqNo};
use crate::segment::file::SegmentFile;
use crate::segment::map::Placement;
use crate::separated::address::Address;
use crate::wal::{SealedLog, SeparableValues};

/// A log whose values a flush refers to instead of copying them. Its bytes are durable.
pub(crate) struct AdoptedLog {
    pub(crate) keyspace: KeyspaceId,
    pub(super) placement: Placement,
    values: Arc<SeparableValues>,
    /// The link. It is taken out when the segment becomes part of the flush's edit.
    pub(super) file: Option<Arc<SegmentFile>>,
    /// Bytes of the records that the flush refers to.
    pub(super) used: u64,
}

impl AdoptedLog {
    /// Makes an adopted log whose link is `file`.
    pub(crate) fn new(keyspace: KeyspaceId, log: &SealedLog, file: Arc<SegmentFile>) -> AdoptedLog {
        let placement = Placement::adopted(log.number, log.len, log.values.len() as u64);
        let values = Arc::clone(&log.values);
        AdoptedLog { keyspace, placement, values, file: Some(file), used: 0 }
    }

    /// Returns the address of the value of a write, if this log holds the value.
    pub(super) fn take(&mut self, seqno: SeqNo, value: &[u8]) -> Option<Address> {
        let address = self.values.address(self.placement.segment, seqno, value)?;
        self.used += address.record_len();
        debug_assert!(
            self.used <= self.placement.records_len,
            "tables refer to each value of an adopted log at most once"
        );
        Some(address)
    }
}

impl Drop for AdoptedLog {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            file.set_obsolete(true);
        }
    }
}
