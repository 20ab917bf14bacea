//! How a memory budget is divided.
//!
//! ```text
//! 256 MiB  ├ memtables 120 = 1 1/2 write buffers of 64 ┤ cache 32 ┤ background 32 ┤ tables, the rest ┤
//! ```
//!
//! A memtable takes a quarter more than its write buffer while it is flushed: 16 bytes a key for
//! their order, and pages of which it fills a part. A budget that is left automatic grows with the
//! sizes that are given; one that is given wins over them: they shrink until they fit, like a write
//! buffer under RocksDB's `WriteBufferManager`.

use crate::error::Result;
use crate::options::Options;
use crate::runtime::RuntimeOptions;

const MIB: usize = 1 << 20;

/// The budget where none is given.
const DEFAULT_BUDGET: usize = 256 * MIB;

/// Smallest budget that can be kept: a table being written takes some 400 KiB, whatever its records
/// are.
pub(super) const SMALLEST_BUDGET: usize = 8 * MIB;

/// Smallest budget of background work.
pub(super) const SMALLEST_BACKGROUND: usize = SMALLEST_BUDGET / 8;

/// What automatic write buffers may take together.
const AUTOMATIC_BUFFERS: usize = 64 * MIB;

/// What background work takes at most on each thread where nothing else is said.
const AUTOMATIC_BACKGROUND: usize = 16 * MIB;

/// What open tables are sure to have, and no more, of a large budget.
const LEAST_FOR_TABLES: usize = 16 * MIB;

/// Smallest write buffer, in bytes.
pub(crate) const SMALLEST_BUFFER: usize = 4 << 10;

/// Most threads; more than the machine has cores would only get in each other's way.
const MAX_THREADS: usize = 9;

/// The parts of a memory budget, in bytes, and what else is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryShares {
    pub(crate) budget: usize,
    /// Memtables, filling, sealed and spare.
    pub(crate) memtables: usize,
    /// What memtables in use and spare arenas may take together: beyond it the spare ones go.
    pub(crate) with_spare: usize,
    /// The largest write buffer of a database.
    pub(crate) write_buffer: usize,
    pub(crate) cache: usize,
    /// Flushes and compactions, on all threads.
    pub(crate) background: usize,
    /// What indexes and filters of open tables may always take.
    pub(crate) tables: usize,
    /// Most tables open at once.
    pub(crate) open_tables: usize,
    pub(crate) threads: usize,
}

/// What is asked for beside memtables. Budgets of 0 are automatic.
#[derive(Clone, Copy)]
struct Wanted {
    budget: usize,
    cache: usize,
    background: usize,
    open_tables: usize,
    threads: usize,
}

impl MemoryShares {
    /// Of a database alone.
    pub(crate) fn of_database(options: &Options) -> MemoryShares {
        let compactors = match options.disable_auto_compactions {
            true => 0,
            false => options.max_background_compactions,
        };
        let wanted = Wanted {
            budget: options.memory_budget,
            cache: options.block_cache_size,
            background: options.compaction_memory_budget,
            open_tables: options.max_open_files,
            threads: (1 + compactors).min(MAX_THREADS),
        };
        let most = match options.memory_budget {
            0 => usize::MAX,
            given => given / 2,
        };
        let size = options.write_buffer_size.min(most / options.max_write_buffers.max(2));
        let size = size.max(SMALLEST_BUFFER);
        let count = match options.max_write_buffers {
            0 => automatic_count(size, most),
            given => given,
        };
        let is_automatic = options.max_write_buffers == 0;
        let memtables = memtable_bytes(size, count, is_automatic);
        let shares = wanted.divide(size, with_order(memtables));
        // Where buffers share memory, what one does not need the next one gets.
        let shared = memtables < size.saturating_mul(count);
        let with_spare = if shared { with_order(size) } else { shares.memtables };
        MemoryShares { with_spare, ..shares }
    }

    /// Of a runtime that several databases share.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, its value and the range.
    pub(crate) fn of_runtime(options: &RuntimeOptions) -> Result<MemoryShares> {
        options.validate()?;
        let wanted = Wanted {
            budget: options.memory_budget,
            cache: options.block_cache_size,
            background: options.compaction_memory_budget,
            open_tables: options.max_open_files,
            threads: options.background_threads,
        };
        let buffers = match options.memory_budget {
            0 => DEFAULT_BUDGET / 2,
            given => given / 2,
        };
        // One database fills at most half: the other half may be what others, or it, are flushing.
        Ok(wanted.divide(buffers / 2, with_order(buffers)))
    }
}

impl Wanted {
    fn divide(self, write_buffer: usize, memtables: usize) -> MemoryShares {
        let Wanted { cache, open_tables, threads, .. } = self;
        let base = if self.budget == 0 { DEFAULT_BUDGET } else { self.budget };
        let tables = (base / 16).min(LEAST_FOR_TABLES);
        let background = match self.background {
            0 => (base / 8).min(AUTOMATIC_BACKGROUND * threads),
            given if self.budget == 0 => given,
            given => given.min(base / 4),
        };
        let beside = memtables.saturating_add(background).saturating_add(tables);
        let (budget, cache) = match self.budget {
            0 => (base.max(beside.saturating_add(cache)), cache),
            given => (given, cache.min(given.saturating_sub(beside))),
        };
        MemoryShares {
            budget,
            memtables,
            with_spare: memtables,
            write_buffer,
            cache,
            background,
            tables,
            open_tables,
            threads,
        }
    }
}

/// What memtables of so many bytes take at most.
fn with_order(buffers: usize) -> usize {
    buffers.saturating_add(buffers / 4)
}

/// Bytes that so many write buffers may take together. Where their number is automatic, large ones
/// are sealed early enough to make do with one and a half.
pub(super) fn memtable_bytes(size: usize, count: usize, is_automatic: bool) -> usize {
    let all = size.saturating_mul(count);
    if is_automatic { all.min((size + size / 2).max(AUTOMATIC_BUFFERS)) } else { all }
}

/// How many write buffers of a size an automatic number of them is.
pub(super) fn automatic_count(size: usize, most: usize) -> usize {
    (AUTOMATIC_BUFFERS.min(most) / size).clamp(2, 17)
}

impl Options {
    /// How the memory that these options speak of is divided.
    pub(crate) fn memory_shares(&self) -> MemoryShares {
        match &self.runtime {
            Some(shared) => shared.ledger().shares,
            None => MemoryShares::of_database(self),
        }
    }

    /// With write buffers that fit into the memory there is.
    pub(crate) fn fitted(mut self, shares: &MemoryShares) -> Options {
        let most = shares.write_buffer.max(SMALLEST_BUFFER);
        self.write_buffer_size = self.write_buffer_size.min(most);
        let fit = automatic_count(self.write_buffer_size, shares.memtables / 5 * 4);
        if self.max_write_buffers == 0 && fit < self.max_write_buffers() {
            self.max_write_buffers = fit;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(change: impl FnOnce(&mut Options)) -> MemoryShares {
        let mut options = Options::default();
        change(&mut options);
        options.validate().unwrap();
        MemoryShares::of_database(&options)
    }

    fn sum(shares: &MemoryShares) -> usize {
        shares.memtables + shares.cache + shares.background + shares.tables
    }

    #[test]
    fn the_defaults_fit_256_mib() {
        let shares = shares(|_| {});
        assert_eq!(shares.budget, 256 * MIB);
        assert_eq!((shares.memtables, shares.write_buffer), (120 * MIB, 64 * MIB));
        assert_eq!(
            (shares.cache, shares.background, shares.tables),
            (32 * MIB, 32 * MIB, 16 * MIB)
        );
        assert!(sum(&shares) <= shares.budget);
    }

    /// As with RocksDB: who asks for a large cache or large write buffers gets them.
    #[test]
    fn sizes_that_are_given_raise_an_automatic_budget() {
        let large_cache = shares(|o| o.block_cache_size = 1 << 30);
        assert_eq!(large_cache.cache, 1 << 30);
        assert_eq!(large_cache.budget, sum(&large_cache));
        let large_buffers = shares(|o| (o.write_buffer_size, o.max_write_buffers) = (1 << 30, 6));
        assert_eq!(large_buffers.memtables, with_order(6 << 30));
        assert_eq!(large_buffers.cache, 32 * MIB);
        assert_eq!(large_buffers.budget, sum(&large_buffers));
        let compaction = shares(|o| o.compaction_memory_budget = 512 * MIB);
        assert_eq!((compaction.background, compaction.budget), (512 * MIB, sum(&compaction)));
    }

    #[test]
    fn a_budget_that_is_given_is_kept() {
        for budget in [8 * MIB, 24 * MIB, 64 * MIB, 256 * MIB, 4096 * MIB] {
            for (buffer, count, cache) in
                [(64 * MIB, 0, 32 * MIB), (64 * MIB, 6, 1 << 30), (4096, 2, 0)]
            {
                let shares = shares(|o| {
                    o.memory_budget = budget;
                    (o.write_buffer_size, o.max_write_buffers) = (buffer, count);
                    o.block_cache_size = cache;
                });
                assert_eq!(shares.budget, budget);
                assert!(sum(&shares) <= budget, "{shares:?}");
                assert!(shares.cache <= cache && shares.write_buffer <= buffer);
            }
        }
        let roomy = shares(|o| o.memory_budget = 4096 * MIB);
        assert_eq!(
            (roomy.write_buffer, roomy.cache),
            (64 * MIB, 32 * MIB),
            "nothing had to shrink"
        );
    }

    #[test]
    fn a_runtime_divides_its_budget_alike() {
        for memory_budget in [0, 8 * MIB, 64 * MIB, 1024 * MIB] {
            let options = RuntimeOptions { memory_budget, ..RuntimeOptions::default() };
            let shares = MemoryShares::of_runtime(&options).unwrap();
            assert!(sum(&shares) <= shares.budget, "{shares:?}");
            let fitted = Options::default().fitted(&shares);
            let buffers = fitted.write_buffer_size * fitted.max_write_buffers();
            assert!(buffers <= shares.memtables, "{shares:?}");
        }
    }
}
