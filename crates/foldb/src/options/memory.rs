//! How the options divide memory.

use crate::options::Options;
use crate::settings::memory::{SMALLEST_BUFFER, automatic_count, memtable_bytes, with_order};
use crate::settings::{MemoryShares, Wanted};

/// Most threads that count for memory. More threads than cores would only compete.
const MAX_THREADS: usize = 9;

impl Options {
    /// Returns the shares of memory, of the shared runtime if there is one.
    pub(crate) fn memory_shares(&self) -> MemoryShares {
        match &self.runtime {
            Some(shared) => shared.ledger().shares,
            None => self.own_memory_shares(),
        }
    }

    /// Returns the options with write buffers that fit into their share of memory.
    pub(crate) fn fitted(mut self, shares: &MemoryShares) -> Options {
        let most = shares.write_buffer.max(SMALLEST_BUFFER);
        self.write_buffer_size = self.write_buffer_size.min(most);
        let fit = automatic_count(self.write_buffer_size, shares.memtables / 5 * 4);
        if self.max_write_buffers == 0 && fit < self.resolve().write_buffers.most {
            self.max_write_buffers = fit;
        }
        self
    }

    /// Returns the bytes of memtables that the open of a database fills before it flushes them:
    /// those of all write buffers, because then one flush mostly suffices. Of a shared runtime it
    /// takes one write buffer, because the other databases take their share meanwhile.
    pub(crate) fn replayed_bytes(&self, shares: &MemoryShares) -> usize {
        match &self.runtime {
            Some(_) => self.write_buffer_size,
            None => self.write_buffer_size.max(shares.memtables / 5 * 4),
        }
    }

    /// Returns the shares of a database with a runtime of its own.
    pub(crate) fn own_memory_shares(&self) -> MemoryShares {
        let options = self;
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
        // Write buffers that share memory: one may use what another leaves.
        let shared = memtables < size.saturating_mul(count);
        let with_spare = if shared { with_order(size) } else { shares.memtables };
        MemoryShares { with_spare, ..shares }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::RuntimeOptions;

    const MIB: usize = 1 << 20;

    fn shares(change: impl FnOnce(&mut Options)) -> MemoryShares {
        let mut options = Options::default();
        change(&mut options);
        options.validate().unwrap();
        options.own_memory_shares()
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

    /// As with RocksDB, a large cache or large write buffers raise the budget.
    #[test]
    #[cfg(target_pointer_width = "64")] // The buffers take 6 GiB.
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
        for budget in [8 * MIB, 24 * MIB, 64 * MIB, 256 * MIB, 4095 * MIB] {
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
        let roomy = shares(|o| o.memory_budget = 4095 * MIB);
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
            let shares = options.memory_shares().unwrap();
            assert!(sum(&shares) <= shares.budget, "{shares:?}");
            let fitted = Options::default().fitted(&shares);
            let buffers = fitted.write_buffer_size * fitted.resolve().write_buffers.most;
            assert!(buffers <= shares.memtables, "{shares:?}");
        }
    }
}
