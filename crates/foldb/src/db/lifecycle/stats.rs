//! Statistics of a database: totals, and the shape of its trees at one moment.

use std::sync::Arc;

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::memtable::Memtable;
use crate::stats::{KeyspaceStats, LevelShape, LevelStats, MemtableStats, Stats};
use crate::version::Level;

/// Returns the statistics of a database.
pub(crate) fn stats_of(core: &Core) -> Stats {
    if !core.standing.is_in_its_process() {
        return Stats::default();
    }
    let mut stats = core.totals.to_stats();
    stats.keyspaces = core.keyspaces.all().iter().map(|own| keyspace_stats(own)).collect();
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
            LevelStats { bytes_written: core.totals.level_bytes(level), ..all }
        })
        .collect();
    stats.memtable_bytes = stats.keyspaces.iter().map(|own| own.memtable_bytes).sum();
    stats.block_cache_hits += core.cache.hits();
    stats.block_cache_misses += core.cache.misses();
    stats.filters_left_out = core.keyspaces.default().tables.filters_left_out();
    stats.memory = core.runtime.memory();
    stats.block_cache_bytes = stats.memory.block_cache;
    stats.open_table_bytes = stats.memory.indexes + stats.memory.filters;
    let paces = stats.keyspaces.iter().map(|own| own.pace_micros_per_mib);
    stats.pace_micros_per_mib = paces.max().unwrap_or(0);
    stats.compaction_debt = core.debt();
    let parts = core.keyspaces.all().iter().map(|own| own.damage.list().len() as u64).sum();
    stats.damaged_parts = parts;
    stats.segments = core.keyspaces.segment_stats();
    let archived = core.feed.as_ref().map(|feed| feed.archived());
    (stats.archived_logs, stats.archived_log_bytes) = archived.unwrap_or_default();
    let snapshots = core.snapshots.live();
    stats.snapshots = snapshots.len() as u64;
    stats.writes_since_oldest_snapshot =
        snapshots.first().map_or(0, |oldest| core.published().saturating_sub(*oldest));
    stats.log_is_mapped = core.logs.is_mapped();
    stats.reserved_space = core.reserve.bytes();
    stats.disk_is_full = core.reserve.is_open();
    stats.time_ahead_seconds = core.clock().ahead().as_secs();
    stats.dropped_tail_bytes = core.dropped.iter().map(|tail| tail.bytes).sum();
    stats.dropped_tail_frames = core.dropped.iter().map(|tail| tail.frames).sum();
    stats
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
        active: memtable_stats(view.active.iter()),
        sealed: memtable_stats(view.sealed.iter()),
        pace_micros_per_mib: keyspace.pace.per_mib().as_micros() as u64,
        levels: view.version.levels.iter().map(shape).collect(),
    }
}

fn memtable_stats<'a>(memtables: impl Iterator<Item = &'a Arc<Memtable>>) -> MemtableStats {
    memtables.fold(MemtableStats::default(), |sum, memtable| MemtableStats {
        memtables: sum.memtables + 1,
        bytes: sum.bytes + memtable.bytes() as u64,
        records: sum.records + memtable.records(),
        deletes: sum.deletes + memtable.deletes(),
    })
}
