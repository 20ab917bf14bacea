//! Which settings make sense together.

use crate::error::{Error, Result};
use crate::key::Comparator;
use crate::options::memory::check_budgets;
use crate::options::{Compression, MAX_LEVELS, Options};
use crate::table::zstd;

impl Options {
    /// Checks that every setting is in its range.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, its value and the range; `Unsupported` for
    /// [`Compression::Zstd`] without the cargo feature `zstd`.
    pub fn validate(&self) -> Result<()> {
        let checks: [(bool, &str, String, &str); 17] = [
            (
                self.write_buffer_size >= 4 << 10,
                "write_buffer_size",
                self.write_buffer_size.to_string(),
                "at least 4096 bytes",
            ),
            (
                self.write_buffer_size <= 16 << 30,
                "write_buffer_size",
                self.write_buffer_size.to_string(),
                "at most 16 GiB",
            ),
            (
                self.max_write_buffers != 1,
                "max_write_buffers",
                self.max_write_buffers.to_string(),
                "0 (automatic) or at least 2",
            ),
            (
                self.block_size >= 256,
                "block_size",
                self.block_size.to_string(),
                "at least 256 bytes",
            ),
            (
                self.block_size <= 64 << 20,
                "block_size",
                self.block_size.to_string(),
                "at most 64 MiB",
            ),
            (self.bloom_bits <= 64, "bloom_bits", self.bloom_bits.to_string(), "at most 64"),
            (
                self.max_open_files >= 1,
                "max_open_files",
                self.max_open_files.to_string(),
                "at least 1",
            ),
            (
                (2..=MAX_LEVELS).contains(&self.num_levels),
                "num_levels",
                self.num_levels.to_string(),
                "between 2 and 32",
            ),
            (self.tier_fan_in >= 2, "tier_fan_in", self.tier_fan_in.to_string(), "at least 2"),
            (
                self.staging_ratio > 0.0 && self.staging_ratio <= 10.0,
                "staging_ratio",
                self.staging_ratio.to_string(),
                "above 0 and at most 10",
            ),
            (
                self.level0_compaction_trigger >= 1,
                "level0_compaction_trigger",
                self.level0_compaction_trigger.to_string(),
                "at least 1",
            ),
            (
                self.level0_stop_trigger >= self.level0_compaction_trigger,
                "level0_stop_trigger",
                self.level0_stop_trigger.to_string(),
                "at least level0_compaction_trigger, or writes would wait for ever",
            ),
            (
                self.max_bytes_for_level_multiplier >= 1.0,
                "max_bytes_for_level_multiplier",
                self.max_bytes_for_level_multiplier.to_string(),
                "at least 1",
            ),
            (
                self.max_background_compactions >= 1,
                "max_background_compactions",
                self.max_background_compactions.to_string(),
                "at least 1",
            ),
            (
                (4 << 10..=4 << 30).contains(&self.segment_size),
                "segment_size",
                self.segment_size.to_string(),
                "between 4096 bytes and 4 GiB",
            ),
            (
                self.max_dead_fraction > 0.0 && self.max_dead_fraction <= 1.0,
                "max_dead_fraction",
                self.max_dead_fraction.to_string(),
                "above 0 and at most 1",
            ),
            (
                self.merge_memory_budget >= 64 << 10,
                "merge_memory_budget",
                self.merge_memory_budget.to_string(),
                "at least 64 KiB",
            ),
        ];
        for (holds, option, value, range) in checks {
            if !holds {
                return Err(Error::invalid_argument(format!(
                    "{option} is {value}, but must be {range}"
                )));
            }
        }
        check_budgets(self.memory_budget, self.compaction_memory_budget)?;
        check_compression(self.compression)?;
        std::iter::once(&self.comparator)
            .chain(&self.comparators)
            .try_for_each(|comparator| check_comparator(&**comparator))
    }
}

/// # Errors
/// `InvalidArgument` for an order in which different bytes are equal.
pub(crate) fn check_comparator(comparator: &dyn Comparator) -> Result<()> {
    if comparator.bytewise_equality() {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "comparator '{}' calls different bytes equal, which foldb does not support yet: \
         give it bytewise_equality, or make equal keys the same bytes before writing them",
        comparator.name()
    )))
}

/// # Errors
/// `Unsupported` for a codec that this build has not.
pub(crate) fn check_compression(compression: Compression) -> Result<()> {
    match compression {
        Compression::Zstd => zstd::supported(),
        Compression::None | Compression::Lz4 | Compression::Snappy => Ok(()),
    }
}
