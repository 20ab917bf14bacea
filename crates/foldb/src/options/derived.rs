//! Settings that follow from others where they are left automatic.

use crate::options::Options;
use crate::options::memory::{automatic_count, memtable_bytes};

impl Options {
    /// Memtables that may exist at once.
    pub(crate) fn max_write_buffers(&self) -> usize {
        match self.max_write_buffers {
            0 => automatic_count(self.write_buffer_size, usize::MAX),
            given => given,
        }
    }

    /// Bytes that memtables may take together, filled and sealed.
    pub(crate) fn memtable_bytes(&self) -> usize {
        memtable_bytes(
            self.write_buffer_size,
            self.max_write_buffers(),
            self.max_write_buffers == 0,
        )
    }

    /// Sealed memtables that are worth a flush: the writer fills as many meanwhile.
    pub(crate) fn flush_together(&self) -> usize {
        (self.max_write_buffers() / 2).clamp(1, 8)
    }

    /// Bytes of log after which the oldest memtable is flushed.
    pub(crate) fn wal_limit(&self) -> u64 {
        match self.wal_limit {
            0 => (4 * self.write_buffer_size as u64).max(64 << 20),
            given => given,
        }
    }

    /// Bytes at which a table is ended.
    pub(crate) fn target_file_size(&self) -> u64 {
        match self.target_file_size {
            0 => (self.write_buffer_size as u64).clamp(8 << 20, 64 << 20),
            given => given,
        }
    }
}
