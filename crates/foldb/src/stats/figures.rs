//! Every figure of [`Stats`] by name: the one list behind the Prometheus text and the recorder.

use std::borrow::Cow;

use crate::stats::{KeyspaceStats, LevelStats, Stats};

/// What a figure counts. The numbers are on disk: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FigureKind {
    /// A number that only grows.
    Counter = 1,
    /// Microseconds that only grow. Users see seconds.
    Micros = 2,
    /// A number of the present moment.
    Gauge = 3,
}

impl FigureKind {
    /// Returns the kind with this number. A later version may have others: they are shown as
    /// numbers of the present moment.
    pub(crate) fn from_u8(byte: u8) -> FigureKind {
        match byte {
            1 => FigureKind::Counter,
            2 => FigureKind::Micros,
            _ => FigureKind::Gauge,
        }
    }
}

/// Figures of one name. Their labels tell them apart.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: FigureKind,
    pub(crate) help: &'static str,
    /// The figures, each with its label if it has one.
    pub(crate) figures: Vec<(Option<Label>, u64)>,
}

/// A figure without labels: its name, its help and its value.
type Named = (&'static str, &'static str, u64);

/// The name and the value of a label.
type Label = (&'static str, String);

impl Family {
    fn single(
        name: impl Into<Cow<'static, str>>,
        kind: FigureKind,
        help: &'static str,
        value: u64,
    ) -> Family {
        Family { name: name.into(), kind, help, figures: vec![(None, value)] }
    }
}

impl Stats {
    /// Returns all figures. The statistics of levels and keyspaces have labels.
    pub(crate) fn families(&self) -> Vec<Family> {
        let counters = self.counters().map(|(name, help, value)| {
            Family::single(format!("foldb_{name}_total"), FigureKind::Counter, help, value)
        });
        let stalls = Family::single(
            "foldb_stall_seconds_total",
            FigureKind::Micros,
            "Time that writers were stalled.",
            self.stall_micros,
        );
        let gauges = self.gauges().map(|(name, help, value)| {
            Family::single(format!("foldb_{name}"), FigureKind::Gauge, help, value)
        });
        let budget = Family::single(
            "foldb_memory_budget_bytes",
            FigureKind::Gauge,
            "The memory budget.",
            self.memory.budget,
        );
        let items = self.memory.items().into_iter();
        let memory = Family {
            name: "foldb_memory_bytes".into(),
            kind: FigureKind::Gauge,
            help: "Memory in use, by item.",
            figures: items.map(|(item, bytes)| (Some(("item", item.to_owned())), bytes)).collect(),
        };
        let alone = counters.chain([stalls]).chain(gauges).chain([budget, memory]);
        alone.chain(self.of_levels()).chain(self.of_keyspaces()).collect()
    }

    fn of_levels(&self) -> impl Iterator<Item = Family> {
        type Figure = fn(&LevelStats) -> u64;
        let families: [(&str, FigureKind, &str, Figure); 4] = [
            ("foldb_level_runs", FigureKind::Gauge, "Sorted runs.", |level| level.runs),
            ("foldb_level_tables", FigureKind::Gauge, "Tables.", |level| level.tables),
            ("foldb_level_bytes", FigureKind::Gauge, "Bytes of tables.", |level| level.bytes),
            (
                "foldb_level_written_bytes_total",
                FigureKind::Counter,
                "Bytes written into the level.",
                |level| level.bytes_written,
            ),
        ];
        families.into_iter().map(|(name, kind, help, figure)| {
            let levels = self.levels.iter().enumerate();
            let labelled = |(number, level): (usize, &LevelStats)| {
                (Some(("level", number.to_string())), figure(level))
            };
            Family { name: name.into(), kind, help, figures: levels.map(labelled).collect() }
        })
    }

    fn of_keyspaces(&self) -> impl Iterator<Item = Family> {
        type Figure = fn(&KeyspaceStats) -> u64;
        let families: [(&str, &str, Figure); 4] = [
            (
                "foldb_keyspace_pace_micros_per_mib",
                "Microseconds that writers pause for each MiB while compaction is late.",
                |own| own.pace_micros_per_mib,
            ),
            ("foldb_keyspace_memtable_bytes", "Bytes in memtables.", |own| own.memtable_bytes),
            ("foldb_keyspace_runs", "Sorted runs.", |own| {
                own.levels.iter().map(|level| level.runs).sum()
            }),
            ("foldb_keyspace_bytes", "Bytes of tables.", |own| {
                own.levels.iter().map(|level| level.bytes).sum()
            }),
        ];
        families.into_iter().map(|(name, help, figure)| {
            let labelled =
                |own: &KeyspaceStats| (Some(("keyspace", own.name.clone())), figure(own));
            let figures = self.keyspaces.iter().map(labelled).collect();
            Family { name: name.into(), kind: FigureKind::Gauge, help, figures }
        })
    }

    fn counters(&self) -> impl Iterator<Item = Named> {
        self.counters_of_bytes().into_iter().chain(self.counters_of_work())
    }

    fn counters_of_bytes(&self) -> [Named; 16] {
        [
            ("puts", "Puts accepted.", self.puts),
            ("deletes", "Deletes accepted.", self.deletes),
            ("range_deletes", "Range deletes accepted.", self.range_deletes),
            ("merges", "Merges accepted.", self.merges),
            ("user_bytes", "Bytes of keys and values accepted.", self.bytes_user),
            ("log_bytes", "Bytes written to the log.", self.bytes_log),
            ("flush_bytes", "Bytes that flushes wrote to tables.", self.bytes_flush),
            ("compaction_bytes", "Bytes that compactions wrote to tables.", self.bytes_compaction),
            ("compaction_read_bytes", "Bytes that compactions read.", self.bytes_compaction_read),
            ("manifest_bytes", "Bytes written to the manifest.", self.bytes_manifest),
            ("segment_bytes", "Bytes written to value segments.", self.bytes_segments),
            ("adopted_bytes", "Bytes of values in logs that became segments.", self.bytes_adopted),
            ("gc_written_bytes", "Bytes that garbage collection wrote.", self.bytes_gc_written),
            ("gc_read_bytes", "Bytes that garbage collection read.", self.bytes_gc_read),
            ("garbage_collections", "Garbage collections installed.", self.garbage_collections),
            ("reclaimed_bytes", "Bytes that garbage collection reclaimed.", self.bytes_reclaimed),
        ]
    }

    fn counters_of_work(&self) -> [Named; 17] {
        [
            ("flushes", "Memtables flushed.", self.flushes),
            ("compactions", "Compaction jobs finished.", self.compactions),
            ("compaction_slices", "Slices installed.", self.compaction_slices),
            ("trivial_moves", "Tables moved down a level without rewriting.", self.trivial_moves),
            ("flush_records_in", "Records that flushes read.", self.flush_records_in),
            ("flush_records_out", "Records that flushes wrote.", self.flush_records_out),
            ("compaction_records_in", "Records that compactions read.", self.compaction_records_in),
            (
                "compaction_records_out",
                "Records that compactions wrote.",
                self.compaction_records_out,
            ),
            (
                "failed_merges",
                "Failed merges that reads, flushes and compactions met.",
                self.failed_merges,
            ),
            ("block_cache_hits", "Blocks found in the cache.", self.block_cache_hits),
            ("block_cache_misses", "Blocks read and decoded.", self.block_cache_misses),
            ("skipped_deletes", "Deleted keys that iterators stepped over.", self.skipped_deletes),
            ("filter_negatives", "Table lookups that a filter ruled out.", self.filter_negatives),
            (
                "filters_left_out",
                "Table lookups whose filter had no room in memory.",
                self.filters_left_out,
            ),
            (
                "clock_jumps_forward",
                "Jumps of the machine's clock forward.",
                self.clock_jumps_forward,
            ),
            ("scrubbed_bytes", "Bytes of files checked in the background.", self.bytes_scrubbed),
            ("clock_jumps_back", "Jumps of the machine's clock back.", self.clock_jumps_back),
        ]
    }

    fn gauges(&self) -> impl Iterator<Item = Named> {
        self.gauges_of_trouble().into_iter().chain(self.gauges_of_space())
    }

    fn gauges_of_trouble(&self) -> [Named; 5] {
        [
            (
                "dropped_tail_bytes",
                "Bytes after the ends of manifest and logs that the open dropped.",
                self.dropped_tail_bytes,
            ),
            (
                "dropped_tail_frames",
                "Whole log frames among the dropped bytes.",
                self.dropped_tail_frames,
            ),
            ("snapshots", "Live snapshots.", self.snapshots),
            (
                "writes_since_oldest_snapshot",
                "Writes since the oldest live snapshot was taken.",
                self.writes_since_oldest_snapshot,
            ),
            (
                "time_ahead_seconds",
                "How far the database's time is ahead of the machine's clock.",
                self.time_ahead_seconds,
            ),
        ]
    }

    fn gauges_of_space(&self) -> [Named; 15] {
        [
            ("archived_logs", "Archived logs, which the change feed reads.", self.archived_logs),
            ("archived_log_bytes", "Bytes of archived logs.", self.archived_log_bytes),
            ("memtable_bytes", "Bytes in memtables.", self.memtable_bytes),
            ("block_cache_bytes", "Bytes of cached blocks.", self.block_cache_bytes),
            (
                "open_table_bytes",
                "Bytes of indexes and filters of open tables.",
                self.open_table_bytes,
            ),
            (
                "compaction_debt_bytes",
                "Estimated bytes that compactions must still read.",
                self.compaction_debt,
            ),
            (
                "damaged_parts",
                "Parts of tables that compactions found damaged and go round.",
                self.damaged_parts,
            ),
            (
                "log_is_mapped",
                "1: the log is written through a mapping; 0: by system calls.",
                self.log_is_mapped.into(),
            ),
            ("reserved_space", "Bytes of the reserve for a full disk.", self.reserved_space),
            (
                "disk_is_full",
                "1: the disk is full, and only deletes pass; 0: all writes pass.",
                self.disk_is_full.into(),
            ),
            ("value_segments", "Value segments.", self.segments.segments),
            ("value_segment_files", "Segment files.", self.segments.files),
            ("value_segment_bytes", "Bytes of segment files.", self.segments.bytes),
            ("value_segment_live_bytes", "Bytes of live values.", self.segments.live_bytes),
            ("value_segment_dead_bytes", "Bytes of dead values.", self.segments.dead_bytes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_exported() {
        let debug = format!("{:?}", Stats::default());
        let memory = format!("{:?}", Stats::default().memory).matches(": ").count() + 1;
        // Not counted: `memory`, `levels`, `keyspaces`, `latencies` and the pace, which are
        // families of their own, and `segments`, whose fields count instead.
        let fields = debug.matches(": ").count() - 5 - memory;
        let stats = Stats::default();
        // 1 for the stall time, which is a counter in seconds.
        assert_eq!(stats.counters().count() + 1 + stats.gauges().count(), fields, "{debug}");
    }
}
