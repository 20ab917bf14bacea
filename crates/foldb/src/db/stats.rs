//! Statistics and operators: what the handle tells about the database.

use std::sync::Arc;

use crate::db::core::Core;
use crate::db::keyspace::KeyspaceState;
use crate::error::Result;
use crate::fold::Operator;
use crate::stats::{KeyspaceStats, LevelShape, LevelStats, Stats};
use crate::totals::Total;
use crate::version::{Edit, Level};
use crate::wal::encode_definition;

impl Core {
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.totals.to_stats();
        stats.keyspaces = self.all_keyspaces().iter().map(|own| keyspace_stats(own)).collect();
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
        stats.memory = self.runtime.memory();
        stats.block_cache_bytes = stats.memory.block_cache;
        stats.open_table_bytes = stats.memory.indexes + stats.memory.filters;
        stats.compaction_debt = self.debt(&self.lock_tree());
        stats
    }

    /// An operator by its spec, registered durably if it is new here.
    pub(crate) fn operator(self: &Arc<Core>, spec: &str) -> Result<Operator> {
        self.check_open()?;
        let implementation = self.registry.parse(spec)?;
        // The writer lock keeps a log from being begun without the definition.
        let mut writer = self.lock_writer();
        let id = match self.registry.id_of(&*implementation) {
            Some(id) => id,
            None => {
                self.check_writable()?;
                let definition = self.registry.next_definition(&*implementation);
                let edit = Edit { operators: vec![definition.clone()], ..Edit::default() };
                self.append_edit(&mut self.lock_tree(), &edit)?;
                self.registry.adopt(&definition)?;
                encode_definition(&definition, writer.log.begin());
                let before = writer.log.len();
                writer.log.append()?;
                self.totals.add_exclusive(Total::BytesLog, writer.log.len() - before);
                definition.id
            }
        };
        Ok(Operator { id, registry: Arc::clone(&self.registry), implementation })
    }
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
        levels: view.version.levels.iter().map(shape).collect(),
    }
}
