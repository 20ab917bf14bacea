//! Statistics and options of the handles.

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::key::DEFAULT_KEYSPACE;
use crate::options::{ExplainedOption, OptionSource, OptionValue, Options};
use crate::stats::{KeyspaceStats, LevelShape, LevelStats, Stats};
use crate::version::Level;

impl Core {
    pub(crate) fn stats(&self) -> Stats {
        if !self.standing.is_in_its_process() {
            return Stats::default();
        }
        let mut stats = self.totals.to_stats();
        stats.keyspaces = self.keyspaces.all().iter().map(|own| keyspace_stats(own)).collect();
        let depth = stats.keyspaces.iter().map(|own| own.levels.len()).max().unwrap_or(0);
        stats.levels = (0..depth)
            .map(|level| {
                let shapes = stats.keyspaces.iter().filter_map(|own| own.levels.get(level));
                let mut all = LevelStats::default();
                for shape in shapes {
                    all.runs += shape.runs;
                    all.tables += shape.tables;
                    all.bytes += shape.bytes;
                }
                LevelStats { bytes_written: self.totals.level_bytes(level), ..all }
            })
            .collect();
        stats.memtable_bytes = stats.keyspaces.iter().map(|own| own.memtable_bytes).sum();
        stats.block_cache_hits += self.cache.hits();
        stats.block_cache_misses += self.cache.misses();
        stats.filters_left_out = self.keyspaces.default().tables.filters_left_out();
        stats.memory = self.runtime.memory();
        stats.block_cache_bytes = stats.memory.block_cache;
        stats.open_table_bytes = stats.memory.indexes + stats.memory.filters;
        let paces = stats.keyspaces.iter().map(|own| own.pace_micros_per_mib);
        stats.pace_micros_per_mib = paces.max().unwrap_or(0);
        stats.compaction_debt = self.debt();
        let parts = self.keyspaces.all().iter().map(|own| own.damage.list().len() as u64).sum();
        stats.damaged_parts = parts;
        stats.segments = self.keyspaces.segment_stats();
        let archived = self.feed.as_ref().map(|feed| feed.archived());
        (stats.archived_logs, stats.archived_log_bytes) = archived.unwrap_or_default();
        stats.log_is_mapped = self.log_is_mapped();
        stats.reserved_space = self.reserve.bytes();
        stats.disk_is_full = self.reserve.is_open();
        stats.time_ahead_seconds = self.clock().ahead().as_secs();
        stats.dropped_tail_bytes = self.dropped.iter().map(|tail| tail.bytes).sum();
        stats.dropped_tail_frames = self.dropped.iter().map(|tail| tail.frames).sum();
        stats
    }

    /// Returns whether the current log is written through a mapping. It does not wait for a write
    /// in progress, which may be a batch of many megabytes.
    fn log_is_mapped(&self) -> bool {
        self.logs.active().is_some_and(|sync| sync.is_mapped())
    }

    /// Returns the options in effect in a keyspace. Values that the database stores are marked as
    /// stored.
    pub(crate) fn explain_options(&self, keyspace: &KeyspaceState) -> Vec<ExplainedOption> {
        let is_default = keyspace.id == DEFAULT_KEYSPACE;
        let options = Options {
            default: keyspace.options(),
            num_levels: keyspace.num_levels,
            ..self.options.clone()
        };
        let mut explained = options.explain();
        for option in &mut explained {
            let stored = match option.name {
                "merge_operator" if is_default => {
                    options.default.merge_operator.is_some()
                        && self.options.default.merge_operator.is_none()
                }
                "num_levels" => options.num_levels != self.options.num_levels,
                _ => option.is_of_keyspace && !is_default,
            };
            if stored {
                option.source = OptionSource::Stored;
            }
            if option.name == "memory_budget" {
                option.lack = lack_of_filters(self);
            }
            if option.name == "map_log" && options.map_log && !self.log_is_mapped() {
                // The file system does not keep blocks that it reserves, or cannot map.
                option.value = OptionValue::Flag(false);
                option.source = OptionSource::Derived;
            }
        }
        explained
    }
}

/// Tells whether the filters of all tables find room in memory.
fn lack_of_filters(core: &Core) -> Option<String> {
    let filters: u64 = core.keyspaces.all().iter().map(|own| filter_bytes(own)).sum();
    let room = core.runtime.ledger().tables.room() as u64;
    let left_out = core.keyspaces.default().tables.filters_left_out();
    (filters > room).then(|| {
        format!(
            "the filters of all tables take about {filters} bytes, but {room} are left for them: \
             {left_out} reads since the open searched a table without its filter"
        )
    })
}

/// Returns about how many bytes the filters of a keyspace's tables have.
fn filter_bytes(keyspace: &KeyspaceState) -> u64 {
    let (settings, view) = (&keyspace.settings, keyspace.view.load_full());
    let bits = |(level, own): (usize, &Level)| {
        let entries = own.runs.iter().flat_map(|run| &run.tables).map(|table| table.file.entries);
        entries.sum::<u64>() * u64::from(settings.filter_bits(keyspace.num_levels, level))
    };
    view.version.levels.iter().enumerate().map(bits).sum::<u64>() / 8
}

fn keyspace_stats(keyspace: &KeyspaceState) -> KeyspaceStats {
    let view = keyspace.view.load_full();
    let shape = |level: &Level| LevelShape {
        runs: level.runs.len() as u64,
        tables: level.runs.iter().map(|run| run.tables.len() as u64).sum(),
        bytes: level.runs.iter().map(|run| run.bytes(&*keyspace.comparator)).sum(),
    };
    KeyspaceStats {
        name: String::from(&*keyspace.name),
        memtable_bytes: view.memtables().map(|memtable| memtable.bytes() as u64).sum(),
        pace_micros_per_mib: keyspace.pace.per_mib().as_micros() as u64,
        levels: view.version.levels.iter().map(shape).collect(),
    }
}
