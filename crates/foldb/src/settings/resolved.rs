//! What the engine works by.
//!
//! `Options` is what a user said. [`Settings`] is made of it once, when a database is opened: every
//! number that was left automatic is worked out, and every size fits into the memory there is. The
//! engine and the compaction policy read nothing else, so no two of them can work a default out
//! differently. `options::resolve` makes it.

use crate::settings::{KeyspaceSettings, LogAdoption};

/// Resolved settings of an open database. Options of the same name say what each one is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) write_buffers: WriteBuffers,
    /// Bytes of log after which the oldest memtables are flushed.
    pub(crate) wal_limit: u64,
    pub(crate) tree: TreeSettings,
    /// Those of the default keyspace.
    pub(crate) keyspace: KeyspaceSettings,
    pub(crate) block_size: usize,
    pub(crate) min_level_to_compress: usize,
    pub(crate) disable_auto_compactions: bool,
    pub(crate) max_background_compactions: usize,
    pub(crate) segments: SegmentSettings,
    pub(crate) allow_unresolved_operators: bool,
}

/// How much is written before it is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteBuffers {
    /// Bytes of one.
    pub(crate) size: usize,
    /// Most that may exist at once, the one being filled included.
    pub(crate) most: usize,
    /// Bytes that all of them may take together.
    pub(crate) bytes: usize,
    /// Sealed ones that are worth a flush: the writer fills as many meanwhile.
    pub(crate) flushed_together: usize,
}

impl WriteBuffers {
    /// Bytes of memtables that become one run of level 0 where writes are fast.
    pub(crate) fn bytes_of_a_flush(&self) -> u64 {
        self.size as u64 * self.flushed_together as u64
    }
}

/// What the shape of a tree follows from, its preset aside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TreeSettings {
    pub(crate) num_levels: usize,
    /// Bytes at which a table is ended.
    pub(crate) target_file_size: u64,
    pub(crate) tier_fan_in: usize,
    pub(crate) staging_ratio: f64,
    pub(crate) level0_compaction_trigger: usize,
    pub(crate) level0_slowdown_trigger: usize,
    pub(crate) level0_stop_trigger: usize,
    pub(crate) max_bytes_for_level_base: u64,
    pub(crate) max_bytes_for_level_multiplier: f64,
    pub(crate) idle_runs: usize,
}

/// How separated values are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SegmentSettings {
    /// Bytes of a segment file.
    pub(crate) size: u64,
    pub(crate) hints: bool,
    pub(crate) adopt_logs: LogAdoption,
    pub(crate) max_dead_fraction: f64,
    pub(crate) gc_memory_budget: usize,
    /// Bytes per second; 0 for no bound.
    pub(crate) gc_io_budget: u64,
}
