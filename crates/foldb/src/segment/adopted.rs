//! A log on its way to be a segment.
//!
//! While a flush writes the tables, the log has a second name, that of the segment file; the edit
//! that brings the tables says where the segment lies. Dropped before, the second name is thrown
//! away: nobody knows of it. A crash leaves it as a file of nobody, and the log as it was.

use std::sync::Arc;

use crate::key::{KeyspaceId, SeqNo};
use crate::segment::file::SegmentFile;
use crate::segment::map::Placement;
use crate::separated::address::Address;
use crate::wal::{SealedLog, SeparableValues};

/// A log of which a flush refers to values instead of copying them. Its bytes are durable.
pub(crate) struct AdoptedLog {
    pub(crate) keyspace: KeyspaceId,
    pub(super) placement: Placement,
    values: Arc<SeparableValues>,
    /// Taken when the segment is part of what was written.
    pub(super) file: Option<Arc<SegmentFile>>,
    /// Bytes of records referred to.
    pub(super) used: u64,
}

impl AdoptedLog {
    /// One whose second name is that of `file`.
    pub(crate) fn new(keyspace: KeyspaceId, log: &SealedLog, file: Arc<SegmentFile>) -> AdoptedLog {
        let placement = Placement::adopted(log.number, log.len, log.values.len() as u64);
        let values = Arc::clone(&log.values);
        AdoptedLog { keyspace, placement, values, file: Some(file), used: 0 }
    }

    /// Where the value of a write lies, if it lies here.
    pub(super) fn take(&mut self, seqno: SeqNo, value: &[u8]) -> Option<Address> {
        let address = self.values.address(self.placement.segment, seqno, value)?;
        self.used += address.record_len();
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
