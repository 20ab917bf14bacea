//! The benchmarks that need no database.

use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, Ordering};

use foldb::Result;
use xxhash_rust::xxh3::xxh3_64;
use xxhash_rust::xxh32::xxh32;
use xxhash_rust::xxh64::xxh64;

use super::Task;
use crate::benchmark::Hash;
use crate::histogram::Operation;

/// Bytes to checksum.
const TOTAL: u64 = 5000 << 20;
/// Rounds of `acquireload`, of 1000 loads each.
const ROUNDS: u64 = 100_000;

impl Task<'_> {
    /// Checksums the same block again and again (RocksDB: `ChecksumBenchmark`).
    pub(super) fn checksum(&mut self, hash: Hash) -> Result<()> {
        let kind = if hash == Hash::Crc32c { Operation::Crc } else { Operation::Hash };
        let size = self.sizes.block_size;
        let block = vec![b'x'; size];
        let mut left = TOTAL;
        while left > 0 {
            let block = black_box(&block[..]);
            black_box(match hash {
                Hash::Crc32c => u64::from(crc32c::crc32c(block)),
                Hash::XxHash32 => u64::from(xxh32(block, 0)),
                Hash::XxHash64 => xxh64(block, 0),
                Hash::Xxh3 => xxh3_64(block),
            });
            self.recorder.bytes(size);
            self.recorder.finished(1, kind);
            left = left.saturating_sub(size as u64);
        }
        self.recorder.message(&format!("({size} per op)"));
        Ok(())
    }

    /// Loads a pointer again and again (RocksDB: `AcquireLoad`).
    pub(super) fn acquire_load(&mut self) -> Result<()> {
        let mut target = 0_u64;
        let pointer = AtomicPtr::new(&raw mut target);
        self.recorder.message("(each op is 1000 loads)");
        for _ in 0..ROUNDS {
            for _ in 0..1000 {
                black_box(black_box(&pointer).load(Ordering::Acquire));
            }
            self.recorder.finished(1, Operation::Other);
        }
        Ok(())
    }
}
