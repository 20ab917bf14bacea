//! The benchmark that needs no database.

use std::hint::black_box;

use super::Task;
use crate::histogram::Operation;

/// Bytes to checksum.
const TOTAL: u64 = 5000 << 20;

impl Task<'_> {
    /// Checksums the same block again and again (RocksDB: `Crc32c`).
    pub(super) fn checksum(&mut self) {
        let size = self.sizes.block_size;
        let block = vec![b'x'; size];
        let mut left = TOTAL;
        while left > 0 {
            black_box(crc32c::crc32c(black_box(&block)));
            self.recorder.bytes(size);
            self.recorder.finished(1, Operation::Crc);
            left = left.saturating_sub(size as u64);
        }
        let message = format!("({size} per op)");
        self.recorder.message(&message);
    }
}
