//! Encodes records into a sub-block, in place in the chunk that will be written or handed on.

use crate::key::RecordHeader;
use crate::table::chunk::Chunk;
use crate::table::data_block::RESTART_INTERVAL;
use crate::table::entry::{MAX_HEAD, decode_entry, encode_entry};

/// Bytes of entries from which on the next entry is a restart. A search reads on from a restart,
/// and a prefetch brings in about as many bytes.
const RESTART_BYTES: usize = 512;

/// A restart stores the whole key. It comes early only where this is a small part of the bytes
/// since the last one.
const BYTES_A_SHARED_BYTE: usize = 32;

/// The sub-block being written. Its format is drawn in [`super::data_block`].
#[derive(Debug, Default)]
pub(super) struct BlockBuilder {
    /// The position of its first byte in the chunk.
    start: usize,
    restarts: Vec<u32>,
    /// Entries until the next restart.
    until_restart: usize,
    /// The position of the last restart in the chunk.
    restarted_at: usize,
}

impl BlockBuilder {
    /// Returns whether it has no record.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.restarts.is_empty()
    }

    /// Returns the bytes of its payload so far.
    #[inline]
    pub(super) fn len(&self, chunk: &Chunk) -> usize {
        if self.is_empty() {
            return 0;
        }
        chunk.position() - self.start + 4 * (self.restarts.len() + 1)
    }

    /// Adds a record whose key shares its first `shared` bytes with the previous key.
    #[inline]
    pub(super) fn add(
        &mut self,
        chunk: &mut Chunk,
        key: &[u8],
        mut shared: usize,
        header: RecordHeader,
        value: &[u8],
    ) {
        if self.until_restart == 0 || self.is_restart_early(chunk, shared) {
            let position = chunk.position();
            if self.is_empty() {
                self.start = position;
            }
            self.restarts.push((position - self.start) as u32);
            (self.until_restart, self.restarted_at) = (RESTART_INTERVAL, position);
            shared = 0;
        }
        self.until_restart -= 1;
        debug_assert!(
            chunk.position() - self.start <= u32::MAX as usize,
            "a restart is stored in 32 bits"
        );
        let suffix = &key[shared..];
        let out = chunk.room(MAX_HEAD + suffix.len() + value.len());
        let len = encode_entry(out, header, shared, suffix, value);
        debug_assert!(
            decode_entry(out, 0, len)
                .is_ok_and(|read| (read.header, read.shared, read.end) == (header, shared, len)),
            "a reader reads each record as it was written"
        );
        chunk.advance(len);
    }

    /// Returns whether a restart comes before its interval ends, because its entries are large.
    #[inline]
    fn is_restart_early(&self, chunk: &Chunk, shared: usize) -> bool {
        let since = chunk.position() - self.restarted_at;
        since >= RESTART_BYTES.max(BYTES_A_SHARED_BYTE * shared)
    }

    /// Cuts the records of an unfinished sub-block off its chunk, and returns them.
    pub(super) fn leave(&mut self, chunk: &mut Chunk) -> Vec<u8> {
        if self.is_empty() {
            return Vec::new();
        }
        let records = chunk.filled()[self.start..].to_vec();
        chunk.truncate(self.start);
        records
    }

    /// Goes on in this chunk, with the records that [`BlockBuilder::leave`] returned.
    pub(super) fn go_on(&mut self, chunk: &mut Chunk, records: &[u8]) {
        let start = chunk.position();
        self.restarted_at = self.restarted_at - self.start + start;
        self.start = start;
        chunk.put(records);
    }

    /// Writes the restarts and starts over. Returns the position of the payload's first byte.
    pub(super) fn finish(&mut self, chunk: &mut Chunk) -> usize {
        debug_assert!(!self.is_empty(), "a reader accepts no block without a record");
        for restart in &self.restarts {
            chunk.put(&restart.to_le_bytes());
        }
        chunk.put(&(self.restarts.len() as u32).to_le_bytes());
        self.restarts.clear();
        self.until_restart = 0;
        self.start
    }
}
