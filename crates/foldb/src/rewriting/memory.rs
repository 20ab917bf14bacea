//! What a flush or a slice of a compaction may take in memory.
//!
//! Three things grow with the work: a window of each input that is read ahead, the hashes of the
//! keys of the table being written (its filter is made when their number is known), and the index
//! of that table. Windows shrink as inputs get more; a table of very many small records is ended
//! before its hashes take more than their share, whatever its size.

use std::sync::Arc;

use crate::memory::{Charge, Gauge};
use crate::table::READAHEAD;

/// Least that is read ahead of an input, in bytes: less would be a system call a block.
const SMALLEST_WINDOW: usize = 16 << 10;

/// Bytes that a key of the table being written takes: its hash, its part of the finished filter,
/// and a little for the index.
const BYTES_PER_KEY: usize = 12;

/// Fewest keys that end a table for the sake of memory.
const FEWEST_KEYS: usize = 16 << 10;

/// The memory of one piece of background work.
#[derive(Clone, Debug)]
pub(crate) struct WorkMemory {
    gauge: Arc<Gauge>,
    budget: usize,
}

impl WorkMemory {
    /// At most `budget` bytes, charged to `gauge`.
    pub(crate) fn new(gauge: Arc<Gauge>, budget: usize) -> WorkMemory {
        WorkMemory { gauge, budget }
    }

    /// Bytes to read ahead of each of so many inputs: a third of the memory for all.
    pub(crate) fn readahead(&self, inputs: usize) -> usize {
        (self.budget / 3 / inputs.max(1)).clamp(SMALLEST_WINDOW, READAHEAD)
    }

    /// Keys after which a table is ended.
    pub(crate) fn max_keys(&self) -> usize {
        (self.budget / 3 * 2 / BYTES_PER_KEY).max(FEWEST_KEYS)
    }

    /// Charges what the work takes, until the answer is dropped.
    pub(crate) fn charge(&self, bytes: usize) -> Charge {
        Charge::new(&self.gauge, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_shrink_as_inputs_get_more() {
        let memory = WorkMemory::new(Arc::default(), 6 << 20);
        assert_eq!(memory.readahead(0), READAHEAD);
        assert_eq!(memory.readahead(8), READAHEAD);
        assert_eq!(memory.readahead(32), 64 << 10);
        assert_eq!(memory.readahead(100_000), SMALLEST_WINDOW);
        assert_eq!(memory.max_keys(), (4 << 20) / BYTES_PER_KEY);
        assert_eq!(WorkMemory::new(Arc::default(), 0).max_keys(), FEWEST_KEYS);
    }
}
