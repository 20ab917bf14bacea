//! The options of a runtime.

use std::sync::Arc;

use foldb_env::{SystemThreads, Threads};

use crate::error::Result;
use crate::settings::range::{
    BACKGROUND_THREADS, BLOCK_CACHE_SIZE, COMPACTION_MEMORY_BUDGET, MAX_OPEN_FILES, MEMORY_BUDGET,
    number,
};
use crate::settings::{MemoryShares, Wanted};

/// The options of a [`Runtime`](crate::Runtime). Plain data; all sizes are in bytes.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// Memory of the memtables, cache, indexes, filters and background work of all databases
    /// together, in bytes. Default: 0, which means 256 MiB, or more where the other sizes need it.
    /// More: larger flushes, and fewer tables are reopened. Less: see
    /// [`crate::Options::memory_budget`]. RocksDB: `WriteBufferManager` with its cost charged to
    /// the block cache.
    pub memory_budget: usize,
    /// Bytes of cached blocks, uncompressed. Default: 32 MiB. More: fewer reads from disk. Less:
    /// more memory for open tables. RocksDB: `block_cache`.
    pub block_cache_size: usize,
    /// Memory of flushes and compactions, all threads together, in bytes; see
    /// [`crate::Options::compaction_memory_budget`]. Default: 0, which means an eighth of the
    /// memory budget.
    pub compaction_memory_budget: usize,
    /// Tables held open at once. Default: 1000. More: fewer tables are reopened. Less: fewer file
    /// handles. RocksDB: `max_open_files`.
    pub max_open_files: usize,
    /// Threads that flush and compact. With two or more, one is always left for flushes. Default:
    /// 2. More: more databases compact at once, and each has less memory for it. Less: compactions
    /// wait for each other. RocksDB: `max_background_jobs`.
    pub background_threads: usize,
    /// The source of the threads. Default: the operating system.
    pub threads: Arc<dyn Threads>,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        RuntimeOptions {
            memory_budget: 0,
            block_cache_size: 32 << 20,
            compaction_memory_budget: 0,
            max_open_files: 1000,
            background_threads: 2,
            threads: Arc::new(SystemThreads),
        }
    }
}

impl RuntimeOptions {
    /// # Errors
    /// `InvalidArgument`, naming the option, its value and the range.
    pub(crate) fn validate(&self) -> Result<()> {
        let numbers = [
            ("memory_budget", self.memory_budget, MEMORY_BUDGET),
            ("compaction_memory_budget", self.compaction_memory_budget, COMPACTION_MEMORY_BUDGET),
            ("block_cache_size", self.block_cache_size, BLOCK_CACHE_SIZE),
            ("max_open_files", self.max_open_files, MAX_OPEN_FILES),
            ("background_threads", self.background_threads, BACKGROUND_THREADS),
        ];
        numbers
            .into_iter()
            .try_for_each(|(option, value, range)| range.check(option, number(value)))
    }

    /// Divides the budget.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, its value and the range.
    pub(crate) fn memory_shares(&self) -> Result<MemoryShares> {
        self.validate()?;
        let wanted = Wanted {
            budget: self.memory_budget,
            cache: self.block_cache_size,
            background: self.compaction_memory_budget,
            open_tables: self.max_open_files,
            threads: self.background_threads,
        };
        Ok(wanted.divided_among_several())
    }
}
