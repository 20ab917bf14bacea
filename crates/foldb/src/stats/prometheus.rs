//! Statistics in Prometheus' text format, version 0.0.4.

use std::fmt::{Display, Write as _};

use crate::stats::{KeyspaceStats, LevelStats, Stats};

impl Stats {
    /// Returns the statistics in the format that Prometheus scrapes. Counters are named
    /// `foldb_NAME_total` and gauges `foldb_NAME`. Labels: `item` for memory, `level` for levels,
    /// `keyspace` for keyspaces. Times are in seconds, except for the pace: microseconds for each
    /// MiB.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// db.put("key", "value")?;
    /// let text = db.stats().to_prometheus();
    /// assert!(text.contains("# TYPE foldb_puts_total counter\nfoldb_puts_total 1\n"));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn to_prometheus(&self) -> String {
        let mut text = String::new();
        for (name, help, value) in self.counters() {
            family(&mut text, &format!("foldb_{name}_total"), "counter", help);
            sample(&mut text, &format!("foldb_{name}_total"), value);
        }
        family(
            &mut text,
            "foldb_stall_seconds_total",
            "counter",
            "Time that writers were stalled.",
        );
        sample(&mut text, "foldb_stall_seconds_total", self.stall_micros as f64 / 1e6);
        for (name, help, value) in self.gauges() {
            family(&mut text, &format!("foldb_{name}"), "gauge", help);
            sample(&mut text, &format!("foldb_{name}"), value);
        }
        self.write_memory(&mut text);
        self.write_levels(&mut text);
        self.write_keyspaces(&mut text);
        text
    }

    fn counters(&self) -> [(&'static str, &'static str, u64); 32] {
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

    fn gauges(&self) -> [(&'static str, &'static str, u64); 18] {
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
            (
                "time_ahead_seconds",
                "How far the database's time is ahead of the machine's clock.",
                self.time_ahead_seconds,
            ),
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

    fn write_memory(&self, text: &mut String) {
        family(text, "foldb_memory_budget_bytes", "gauge", "The memory budget.");
        sample(text, "foldb_memory_budget_bytes", self.memory.budget);
        family(text, "foldb_memory_bytes", "gauge", "Memory in use, by item.");
        for (item, bytes) in self.memory.items() {
            sample(text, &format!("foldb_memory_bytes{{item=\"{item}\"}}"), bytes);
        }
    }

    fn write_levels(&self, text: &mut String) {
        type Figure = fn(&LevelStats) -> u64;
        let families: [(&str, &str, &str, Figure); 4] = [
            ("foldb_level_runs", "gauge", "Sorted runs.", |level| level.runs),
            ("foldb_level_tables", "gauge", "Tables.", |level| level.tables),
            ("foldb_level_bytes", "gauge", "Bytes of tables.", |level| level.bytes),
            (
                "foldb_level_written_bytes_total",
                "counter",
                "Bytes written into the level.",
                |level| level.bytes_written,
            ),
        ];
        for (name, kind, help, figure) in families {
            family(text, name, kind, help);
            for (number, level) in self.levels.iter().enumerate() {
                sample(text, &format!("{name}{{level=\"{number}\"}}"), figure(level));
            }
        }
    }

    fn write_keyspaces(&self, text: &mut String) {
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
        for (name, help, figure) in families {
            family(text, name, "gauge", help);
            for own in &self.keyspaces {
                sample(text, &format!("{name}{{keyspace={}}}", quoted(&own.name)), figure(own));
            }
        }
    }
}

/// Returns a label's value in quotes.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}")
        .expect("writing to a String never fails");
}

fn sample(text: &mut String, name: &str, value: impl Display) {
    writeln!(text, "{name} {value}").expect("writing to a String never fails");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::LevelShape;

    #[test]
    fn every_line_is_a_comment_or_a_sample_of_the_family_before_it() {
        let stats = Stats { levels: vec![LevelStats::default(); 2], ..Stats::default() };
        let text = stats.to_prometheus();
        let mut family = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.split_once(' ').unwrap().0;
            } else if !line.starts_with("# HELP ") {
                let (name, value) = line.rsplit_once(' ').unwrap();
                assert_eq!(name.split('{').next().unwrap(), family, "{line}");
                value.parse::<f64>().unwrap();
            }
        }
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn every_figure_is_exported() {
        let debug = format!("{:?}", Stats::default());
        let memory = format!("{:?}", Stats::default().memory).matches(": ").count() + 1;
        // Not counted: `memory`, `levels`, `keyspaces` and the pace, which are families of their
        // own, and `segments`, whose fields count instead.
        let fields = debug.matches(": ").count() - 4 - memory;
        let stats = Stats::default();
        // 1 for the stall time, which is a counter in seconds.
        assert_eq!(stats.counters().len() + 1 + stats.gauges().len(), fields, "{debug}");
    }

    #[test]
    fn keyspaces_are_labels() {
        let levels = vec![LevelShape { runs: 3, ..LevelShape::default() }; 2];
        let own = KeyspaceStats {
            name: r#"a "b" \c"#.to_owned(),
            levels,
            memtable_bytes: 5,
            pace_micros_per_mib: 0,
        };
        let text = Stats { keyspaces: vec![own], ..Stats::default() }.to_prometheus();
        let label = r#"{keyspace="a \"b\" \\c"}"#;
        assert!(text.contains(&format!("\nfoldb_keyspace_runs{label} 6\n")), "{text}");
        assert!(text.contains(&format!("\nfoldb_keyspace_memtable_bytes{label} 5\n")), "{text}");
    }

    #[test]
    fn levels_are_labels_and_stalls_are_seconds() {
        let level = LevelStats { runs: 3, ..LevelStats::default() };
        let levels = vec![LevelStats::default(), level];
        let stats = Stats { levels, stall_micros: 1_500_000, ..Stats::default() };
        let text = stats.to_prometheus();
        assert!(text.contains("\nfoldb_level_runs{level=\"1\"} 3\n"), "{text}");
        assert!(text.contains("\nfoldb_stall_seconds_total 1.5\n"), "{text}");
    }
}
