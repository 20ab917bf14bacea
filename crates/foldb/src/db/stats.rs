//! Statistics, options and operators: what the handle tells about the database.

use std::sync::Arc;

use crate::db::core::Core;
use crate::error::Result;
use crate::fold::Operator;
use crate::options::{ExplainedOption, OptionSource};
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

    /// The options in effect; what the database itself remembers is told as that.
    pub(crate) fn explain_options(&self) -> Vec<ExplainedOption> {
        let mut explained = self.options.explain();
        for option in &mut explained {
            match option.name {
                "merge_operator" if self.options.merge_operator.is_none() => {
                    if let Some(operator) = self.default_operator.load().as_deref() {
                        option.value = Some(operator.spec()).into();
                        option.source = OptionSource::Stored;
                    }
                }
                "num_levels" if option.source == OptionSource::Given => {
                    option.source = OptionSource::Stored;
                }
                _ => {}
            }
        }
        explained
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
