//! The memory that a flush or a slice of a compaction may take.
//!
//! Three things grow with the work: the read-ahead window of each input, the key hashes of the
//! table being written, and that table's index. The hashes wait because the filter is made when
//! their number is known. The windows shrink as the number of inputs grows. A table of very many
//! small records ends before its hashes exceed their share, whatever its size. A sorted load has no
//! inputs; it may take their share for the batches of a helper.

use std::sync::Arc;

use crate::memory::{Charge, Gauge};
use crate::table::{HELPER_BYTES, READAHEAD};

/// Smallest read-ahead window of an input, in bytes. A smaller one would cost a system call for
/// each block.
const SMALLEST_WINDOW: usize = 16 << 10;

/// Bytes that each key of the table being written takes: its hash, its part of the finished filter,
/// and a little for the index.
const BYTES_PER_KEY: usize = 12;

/// Fewest keys after which a table ends to save memory.
const FEWEST_KEYS: usize = 16 << 10;

/// The memory of one piece of background work.
#[derive(Clone, Debug)]
pub(crate) struct WorkMemory {
    gauge: Arc<Gauge>,
    budget: usize,
}

impl WorkMemory {
    /// Makes the memory account of one piece of work: at most `budget` bytes, charged to `gauge`.
    pub(crate) fn new(gauge: Arc<Gauge>, budget: usize) -> WorkMemory {
        WorkMemory { gauge, budget }
    }

    /// Returns the bytes to read ahead of each input. All inputs together get a third of the
    /// memory.
    pub(crate) fn readahead(&self, inputs: usize) -> usize {
        (self.budget / 3 / inputs.max(1)).clamp(SMALLEST_WINDOW, READAHEAD)
    }

    /// Returns the number of keys after which a table ends.
    pub(crate) fn max_keys(&self) -> usize {
        (self.budget / 3 * 2 / BYTES_PER_KEY).max(FEWEST_KEYS)
    }

    /// Returns whether writing a table without inputs may take memory for a helper: it fits in the
    /// share of the inputs.
    pub(crate) fn allows_helper(&self) -> bool {
        self.budget / 3 >= HELPER_BYTES
    }

    /// Charges memory until the returned charge is dropped.
    pub(crate) fn charge(&self, bytes: usize) -> Charge {
        Charge::new(&self.gauge, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_shrink_as_the_number_of_inputs_grows() {
        let memory = WorkMemory::new(Arc::default(), 6 << 20);
        assert_eq!(memory.readahead(0), READAHEAD);
        assert_eq!(memory.readahead(8), READAHEAD);
        assert_eq!(memory.readahead(32), 64 << 10);
        assert_eq!(memory.readahead(100_000), SMALLEST_WINDOW);
        assert_eq!(memory.max_keys(), (4 << 20) / BYTES_PER_KEY);
        assert!(memory.allows_helper());
        let none = WorkMemory::new(Arc::default(), 0);
        assert_eq!((none.max_keys(), none.allows_helper()), (FEWEST_KEYS, false));
    }
}
