//! Statistics: what the engine did, and the shape of its trees.

mod figures;
pub(crate) mod latency;
mod prometheus;
mod report;

pub use crate::memory::MemoryUsage;
pub(crate) use figures::FigureKind;
pub use latency::{Call, Histogram, Latencies};
pub use report::ReadReport;

/// Statistics of a database, cumulative over all its opens. A crash may lose the counts since the
/// last manifest edit, except for those of logged writes, which the next open counts again. All
/// sizes are bytes.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// let db = foldb::Db::open(dir.path(), options)?;
/// db.put("key", "value")?;
/// assert_eq!(db.stats().puts, 1);
/// assert_eq!(db.stats().bytes_user, 8);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Puts accepted.
    pub puts: u64,
    /// Deletes accepted.
    pub deletes: u64,
    /// Range deletes accepted.
    pub range_deletes: u64,
    /// Merges accepted: one operand each.
    pub merges: u64,
    /// Bytes of keys and values accepted.
    pub bytes_user: u64,
    /// Bytes written to the log, framing included.
    pub bytes_log: u64,
    /// Bytes that flushes wrote to tables.
    pub bytes_flush: u64,
    /// Bytes that compactions wrote to tables.
    pub bytes_compaction: u64,
    /// Bytes that compactions read from tables.
    pub bytes_compaction_read: u64,
    /// Bytes written to the manifest.
    pub bytes_manifest: u64,
    /// Bytes that flushes and compactions wrote to value segments.
    pub bytes_segments: u64,
    /// Bytes of values in logs that became value segments. They were not written again.
    pub bytes_adopted: u64,
    /// Bytes that garbage collection wrote to value segments.
    pub bytes_gc_written: u64,
    /// Bytes that garbage collection read from value segments.
    pub bytes_gc_read: u64,
    /// Garbage collections installed; one may rewrite several segment files.
    pub garbage_collections: u64,
    /// Bytes of segment files that garbage collection reclaimed.
    pub bytes_reclaimed: u64,
    /// Memtables flushed.
    pub flushes: u64,
    /// Compaction jobs finished, each part of a divided one; a job may have many slices.
    pub compactions: u64,
    /// Compaction slices installed.
    pub compaction_slices: u64,
    /// Tables moved down a level without rewriting.
    pub trivial_moves: u64,
    /// Records that flushes read.
    pub flush_records_in: u64,
    /// Records that flushes wrote, after folding.
    pub flush_records_out: u64,
    /// Records that compactions read.
    pub compaction_records_in: u64,
    /// Records that compactions wrote, after folding.
    pub compaction_records_out: u64,
    /// Failed merges of keys, counted each time the engine meets one.
    pub failed_merges: u64,
    /// Microseconds that writers were stalled. Writers that wait at the same time each count.
    pub stall_micros: u64,
    /// Blocks found in the cache.
    pub block_cache_hits: u64,
    /// Blocks read and decoded.
    pub block_cache_misses: u64,
    /// Deleted keys that iterators stepped over. Many of them at the front of a range make its
    /// seeks slow until a compaction drops them.
    pub skipped_deletes: u64,
    /// Moments that snapshots and transactions show now.
    pub snapshots: u64,
    /// Writes since the oldest of these moments. Older versions are kept for it.
    pub writes_since_oldest_snapshot: u64,
    /// Table lookups that a filter ruled out.
    pub filter_negatives: u64,
    /// Table lookups since the open that went without the filter, because the memory budget has no
    /// room for it. If there are many, a larger [`crate::Options::memory_budget`] makes gets
    /// faster.
    pub filters_left_out: u64,
    /// Bytes that the open found after the ends of manifest and logs and dropped: see
    /// [`crate::events::DroppedTail`].
    pub dropped_tail_bytes: u64,
    /// Whole log frames among the dropped bytes.
    pub dropped_tail_frames: u64,
    /// How often the machine's clock jumped forward: see [`crate::events::ClockJump`].
    pub clock_jumps_forward: u64,
    /// How often the machine's clock jumped back.
    pub clock_jumps_back: u64,
    /// Bytes of files that the background checked: see [`crate::Options::scrub_io_budget`].
    pub bytes_scrubbed: u64,
    /// How many seconds the database's time is ahead of the machine's clock now. Nothing expires
    /// until the clock catches up: see [`crate::Db::reset_clock`].
    pub time_ahead_seconds: u64,
    /// Archived logs now, which the change feed reads: see
    /// [`crate::Options::wal_retention_bytes`].
    pub archived_logs: u64,
    /// Bytes of the archived logs.
    pub archived_log_bytes: u64,
    /// Bytes in memtables now, sealed ones included.
    pub memtable_bytes: u64,
    /// Bytes of cached blocks now, of all databases with the same [`crate::Runtime`].
    pub block_cache_bytes: u64,
    /// Bytes of indexes and filters of open tables now, of all databases with the same
    /// [`crate::Runtime`].
    pub open_table_bytes: u64,
    /// An estimate of the bytes that compactions must still read now, until the policy has no job
    /// left.
    pub compaction_debt: u64,
    /// Parts of tables that compactions or scrubs found damaged since the open: see
    /// [`crate::events::Event::TableDamaged`]. Compactions go round them. 0 says nothing about
    /// tables that neither has read.
    pub damaged_parts: u64,
    /// Whether the log is written through a mapping; false: by system calls. See
    /// [`crate::Options::map_log`].
    pub log_is_mapped: bool,
    /// Bytes of the reserve for a full disk: see [`crate::Options::space_reserve`].
    pub reserved_space: u64,
    /// Whether the disk is full: only deletes pass, and use the reserve.
    pub disk_is_full: bool,
    /// Memory use now, by item: see [`crate::Db::memory`].
    pub memory: MemoryUsage,
    /// Value segments now.
    pub segments: SegmentStats,
    /// The current pace of the slowest keyspace: microseconds that each MiB written costs because
    /// compaction is behind. 0 while no keyspace is slowed.
    pub pace_micros_per_mib: u64,
    /// The levels of all keyspaces now, added up, from level 0 down.
    pub levels: Vec<LevelStats>,
    /// Each keyspace now, by name.
    pub keyspaces: Vec<KeyspaceStats>,
    /// How long calls took since the open: a sample of them.
    pub latencies: Latencies,
}

impl Stats {
    /// Returns the bytes written to log, tables, value segments and manifest.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_log
            + self.bytes_flush
            + self.bytes_compaction
            + self.bytes_segments
            + self.bytes_gc_written
            + self.bytes_manifest
    }

    /// Returns [`Stats::bytes_written`] per byte of keys and values accepted; 0 before the first
    /// write.
    pub fn write_amplification(&self) -> f64 {
        ratio(self.bytes_written(), self.bytes_user)
    }

    /// Returns the bytes that flushes and compactions wrote into a level, per byte of keys and
    /// values accepted; 0 for a level that does not exist.
    pub fn level_write_amplification(&self, level: usize) -> f64 {
        ratio(self.levels.get(level).map_or(0, |level| level.bytes_written), self.bytes_user)
    }

    /// Returns the bytes of all tables divided by those of the last level that has any, in each
    /// keyspace: an estimate of bytes stored per live byte. 0 for empty trees.
    pub fn space_amplification(&self) -> f64 {
        let total = self.levels.iter().map(|level| level.bytes).sum();
        let last = |own: &KeyspaceStats| {
            own.levels.iter().rev().map(|level| level.bytes).find(|&bytes| bytes > 0).unwrap_or(0)
        };
        ratio(total, self.keyspaces.iter().map(last).sum())
    }

    /// Returns an upper bound of the sorted runs that a point read searches, in the keyspace with
    /// the most runs.
    pub fn runs_per_read(&self) -> u64 {
        let runs = |own: &KeyspaceStats| own.levels.iter().map(|level| level.runs).sum();
        self.keyspaces.iter().map(runs).max().unwrap_or(0)
    }
}

/// Statistics of value segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentStats {
    /// Segments. One flush or compaction slice writes one segment or several.
    pub segments: u64,
    /// Segment files.
    pub files: u64,
    /// Bytes of those files.
    pub bytes: u64,
    /// Bytes of live values and their framing.
    pub live_bytes: u64,
    /// Bytes of dead values: garbage collection can reclaim them.
    pub dead_bytes: u64,
}

/// Statistics of one keyspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyspaceStats {
    /// The name.
    pub name: String,
    /// Bytes in its memtables now, sealed ones included.
    pub memtable_bytes: u64,
    /// The memtable that takes its writes now, if it has one.
    pub active: MemtableStats,
    /// Its memtables that wait for their flush now.
    pub sealed: MemtableStats,
    /// The current pace: microseconds that each MiB written to it costs because compaction is
    /// behind. 0 while it is not slowed.
    pub pace_micros_per_mib: u64,
    /// The levels of its tree now, from level 0 down.
    pub levels: Vec<LevelShape>,
}

/// Memtables of one keyspace, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemtableStats {
    /// Memtables.
    pub memtables: u64,
    /// Bytes of their records and indexes.
    pub bytes: u64,
    /// Their records, except deletes of ranges. Operands that were folded as they came are one.
    pub records: u64,
    /// Deletes of single keys, those counted that were deleted again.
    pub deletes: u64,
}

/// One level of one keyspace's tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelShape {
    /// Sorted runs.
    pub runs: u64,
    /// Tables. A trimmed one counts once for each of its parts.
    pub tables: u64,
    /// Bytes of those tables inside their bounds (an estimate for trimmed ones).
    pub bytes: u64,
}

/// One level of the trees of all keyspaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelStats {
    /// Sorted runs.
    pub runs: u64,
    /// Tables. A trimmed one counts once for each of its parts.
    pub tables: u64,
    /// Bytes of those tables inside their bounds (an estimate for trimmed ones).
    pub bytes: u64,
    /// Bytes that flushes and compactions wrote into this level, over all opens.
    pub bytes_written: u64,
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
