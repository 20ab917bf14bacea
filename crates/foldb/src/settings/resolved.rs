//! The values that the engine works with.
//!
//! `Options` holds what the user set. `options::resolve` makes [`Settings`] of it once, when a
//! database is opened. It computes every automatic number, and makes every size fit into the memory
//! there is. The engine and the compaction policy read these values here, so no two of them can
//! compute different defaults.
//!
//! Three groups of options are read elsewhere. Handles, such as `env` and the comparators, stay in
//! `Options`. A runtime has its memory and `max_open_files` from `options::memory`. An open or a
//! repair reads what only it needs, such as `map_log`, from `Options`.

use crate::settings::{KeyspaceSettings, LogAdoption, WalRetention};

/// Resolved settings of an open database. The options of the same names document each one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) write_buffers: WriteBuffers,
    /// Bytes of log after which the oldest memtables are flushed.
    pub(crate) wal_limit: u64,
    pub(crate) wal_retention: WalRetention,
    pub(crate) tree: TreeSettings,
    /// The settings of the default keyspace.
    pub(crate) keyspace: KeyspaceSettings,
    pub(crate) block_size: usize,
    pub(crate) min_level_to_compress: usize,
    pub(crate) disable_auto_compactions: bool,
    pub(crate) max_background_compactions: usize,
    pub(crate) segments: SegmentSettings,
    /// Bytes per second; 0 for no scrub.
    pub(crate) scrub_io_budget: u64,
    pub(crate) allow_unresolved_operators: bool,
    pub(crate) visible_when_durable: bool,
    /// Most bytes of the reserve for a full disk; 0: none.
    pub(crate) space_reserve: u64,
}

/// The write buffers: how much is written before a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteBuffers {
    /// Bytes of one.
    pub(crate) size: usize,
    /// The most that may exist at once, including the one being filled.
    pub(crate) most: usize,
    /// Bytes that all of them may take together.
    pub(crate) bytes: usize,
    /// How many sealed ones make a flush worthwhile: the writer fills as many meanwhile.
    pub(crate) flushed_together: usize,
}

impl WriteBuffers {
    /// Returns the bytes of memtables that become one run of level 0 under fast writes.
    pub(crate) fn bytes_of_a_flush(&self) -> u64 {
        self.size as u64 * self.flushed_together as u64
    }
}

/// The settings that determine the shape of a tree, except for its preset.
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

/// The settings of separated values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SegmentSettings {
    /// Bytes of a segment file.
    pub(crate) size: u64,
    pub(crate) hints: bool,
    pub(crate) adopt_logs: LogAdoption,
    pub(crate) max_dead_fraction: f64,
    pub(crate) gc_memory_budget: usize,
    /// Bytes per second; 0 for no limit.
    pub(crate) gc_io_budget: u64,
}
