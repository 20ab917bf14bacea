//! What the engine did and what shape it is in.

mod prometheus;
mod report;

pub use report::ReadReport;

use crate::memory::MemoryUsage;

/// Figures of a database, cumulative over all its opens. Counts since the last manifest edit may
/// be lost at a crash. All sizes are bytes.
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
    /// Merges accepted: operands in.
    pub merges: u64,
    /// Keys and values accepted.
    pub bytes_user: u64,
    /// Written to the log, framing included.
    pub bytes_log: u64,
    /// Written to tables by flushes.
    pub bytes_flush: u64,
    /// Written to tables by compactions.
    pub bytes_compaction: u64,
    /// Read from tables by compactions.
    pub bytes_compaction_read: u64,
    /// Written to the manifest.
    pub bytes_manifest: u64,
    /// Written to value segments by flushes and compactions.
    pub bytes_segments: u64,
    /// Values in logs that became value segments as they are: not written again.
    pub bytes_adopted: u64,
    /// Written to value segments by garbage collections.
    pub bytes_gc_written: u64,
    /// Read from value segments by garbage collections.
    pub bytes_gc_read: u64,
    /// Garbage collections installed; one may rewrite several segment files.
    pub garbage_collections: u64,
    /// Bytes of segment files that garbage collections gave back.
    pub bytes_reclaimed: u64,
    /// Memtables flushed.
    pub flushes: u64,
    /// Compaction jobs finished; one may have many slices.
    pub compactions: u64,
    /// Slices installed.
    pub compaction_slices: u64,
    /// Tables moved down a level without rewriting.
    pub trivial_moves: u64,
    /// Records that went into flushes.
    pub flush_records_in: u64,
    /// Records that flushes wrote, after folding.
    pub flush_records_out: u64,
    /// Records that went into compactions.
    pub compaction_records_in: u64,
    /// Records that compactions wrote, after folding.
    pub compaction_records_out: u64,
    /// Keys whose merge failed, each time one was met.
    pub failed_merges: u64,
    /// Microseconds writers waited for flushes or compactions, those that waited at once each
    /// counted.
    pub stall_micros: u64,
    /// Blocks found in the cache.
    pub block_cache_hits: u64,
    /// Blocks read and decoded.
    pub block_cache_misses: u64,
    /// Table probes that a filter answered with "not here".
    pub filter_negatives: u64,
    /// Bytes that the open found behind the ends of manifest and logs, and left out: see
    /// [`crate::DroppedTail`].
    pub dropped_tail_bytes: u64,
    /// Whole log frames among them.
    pub dropped_tail_frames: u64,
    /// Bytes in memtables now, sealed ones included.
    pub memtable_bytes: u64,
    /// Bytes of cached blocks now, those of other databases with the same [`crate::Runtime`]
    /// included.
    pub block_cache_bytes: u64,
    /// Bytes of indexes and filters of open tables now, of all databases with the same
    /// [`crate::Runtime`].
    pub open_table_bytes: u64,
    /// Bytes of tables still to be compacted before the tree has its shape, now.
    pub compaction_debt: u64,
    /// Whether the log is written through a mapping; false: by calls. See
    /// [`crate::Options::map_log`].
    pub log_is_mapped: bool,
    /// Where memory is now: see [`crate::Db::memory`].
    pub memory: MemoryUsage,
    /// Value segments now.
    pub segments: SegmentStats,
    /// Microseconds that each MiB written costs the slowest keyspace now, because its compaction is
    /// behind; 0 while none is slowed.
    pub pace_micros_per_mib: u64,
    /// The trees of all keyspaces now, taken together, from level 0 down.
    pub levels: Vec<LevelStats>,
    /// Each keyspace now, by name.
    pub keyspaces: Vec<KeyspaceStats>,
}

impl Stats {
    /// Bytes written to log, tables, value segments and manifest.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_log
            + self.bytes_flush
            + self.bytes_compaction
            + self.bytes_segments
            + self.bytes_gc_written
            + self.bytes_manifest
    }

    /// [`Stats::bytes_written`] per byte of keys and values accepted; 0 before the first write.
    pub fn write_amplification(&self) -> f64 {
        ratio(self.bytes_written(), self.bytes_user)
    }

    /// Bytes written into a level by flushes and compactions per byte of keys and values accepted;
    /// 0 for a level that is not there.
    pub fn level_write_amplification(&self, level: usize) -> f64 {
        ratio(self.levels.get(level).map_or(0, |level| level.bytes_written), self.bytes_user)
    }

    /// Bytes of all tables over those of the last level that has any, in each keyspace: an estimate
    /// of bytes kept per live byte. 0 for empty trees.
    pub fn space_amplification(&self) -> f64 {
        let total = self.levels.iter().map(|level| level.bytes).sum();
        let last = |own: &KeyspaceStats| {
            own.levels.iter().rev().map(|level| level.bytes).find(|&bytes| bytes > 0).unwrap_or(0)
        };
        ratio(total, self.keyspaces.iter().map(last).sum())
    }

    /// Sorted runs a read of a key may have to look into: an upper bound, of the keyspace that has
    /// most.
    pub fn runs_per_read(&self) -> u64 {
        let runs = |own: &KeyspaceStats| own.levels.iter().map(|level| level.runs).sum();
        self.keyspaces.iter().map(runs).max().unwrap_or(0)
    }
}

/// Value segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentStats {
    /// Segments: what one flush or slice of a compaction separated, or a part of it.
    pub segments: u64,
    /// Segment files.
    pub files: u64,
    /// Bytes of those files.
    pub bytes: u64,
    /// Of those, bytes of live values and what goes with them.
    pub live_bytes: u64,
    /// Bytes of the others: what garbage collections can give back.
    pub dead_bytes: u64,
}

/// One keyspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyspaceStats {
    /// Its name.
    pub name: String,
    /// Bytes in its memtables now, sealed ones included.
    pub memtable_bytes: u64,
    /// Microseconds that each MiB written to it costs now, because its compaction is behind; 0
    /// while it is not slowed.
    pub pace_micros_per_mib: u64,
    /// Its tree now, from level 0 down.
    pub levels: Vec<LevelShape>,
}

/// One level of one keyspace's tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelShape {
    /// Sorted runs.
    pub runs: u64,
    /// Tables, a trimmed one counted once for each of its parts.
    pub tables: u64,
    /// Bytes of those tables that are inside their bounds (an estimate for trimmed ones).
    pub bytes: u64,
}

/// One level of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelStats {
    /// Sorted runs.
    pub runs: u64,
    /// Tables, a trimmed one counted once for each of its parts.
    pub tables: u64,
    /// Bytes of those tables that are inside their bounds (an estimate for trimmed ones).
    pub bytes: u64,
    /// Bytes written into this level by flushes and compactions, over all opens.
    pub bytes_written: u64,
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
