//! Statistics and operators: what the handle tells about the database.

use std::sync::Arc;

use crate::db::core::Core;
use crate::error::Result;
use crate::fold::Operator;
use crate::stats::{LevelStats, Stats};
use crate::totals::Total;
use crate::version::Edit;
use crate::wal::encode_definition;

impl Core {
    pub(crate) fn stats(&self) -> Stats {
        let view = self.view.load_full();
        let comparator = &*self.comparator;
        let levels = view.version.levels.iter().enumerate().map(|(index, level)| LevelStats {
            runs: level.runs.len() as u64,
            tables: level.runs.iter().map(|run| run.tables.len() as u64).sum(),
            bytes: level.runs.iter().map(|run| run.bytes(comparator)).sum(),
            bytes_written: self.totals.level_bytes(index),
        });
        let mut stats = self.totals.to_stats();
        stats.levels = levels.collect();
        stats.memtable_bytes = view.memtables().map(|memtable| memtable.bytes() as u64).sum();
        stats.block_cache_hits += self.cache.hits();
        stats.block_cache_misses += self.cache.misses();
        stats.block_cache_bytes = self.cache.used_bytes();
        stats.open_table_bytes = self.tables.memory_bytes();
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
