//! The settings of the policy, and what each level is under them.

use crate::compaction::policy::slices::MOST_CELLS;
use crate::rewriting::memory::WorkMemory;
use crate::settings::{CompactionPreset, Settings};

/// Everything that the policy knows besides the tree.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The shape of the tree.
    pub preset: CompactionPreset,
    /// Levels of the tree, at least 2.
    pub num_levels: usize,
    /// Number of runs that gather in a tier.
    pub fan_in: usize,
    /// Lazy leveled: bytes that may be dead above the last level, as a fraction of its own.
    pub staging_ratio: f64,
    /// Lazy leveled: number of runs that may lie over one key range in staging.
    pub staging_max_runs: usize,
    /// Tiered: number of runs that the last level may hold.
    pub last_max_runs: usize,
    /// Number of runs that gather in level 0.
    pub level0_trigger: usize,
    /// Runs in level 0 from which even small ones are compacted at any price.
    pub level0_limit: usize,
    /// Runs in level 0 at which writers stop.
    pub level0_stop: usize,
    /// Leveled: bytes of level 1.
    pub level_base: u64,
    /// Leveled: how much larger each next level may be.
    pub level_multiplier: f64,
    /// Bytes of a table.
    pub target_file_size: u64,
    /// Keys at which a table ends, however small it is.
    pub most_table_keys: u64,
    /// Bytes of memtables that one flush writes.
    pub flush_bytes: u64,
    /// Most cells that a decision divides a run into.
    pub most_cells: usize,
}

/// What a level is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LevelKind {
    /// Runs gather and go down as one.
    Tier {
        /// Number of runs that gather.
        trigger: usize,
        /// Runs from which small ones are compacted at any price.
        limit: usize,
        /// Bytes of a run that came from full runs only.
        run_bytes: u64,
    },
    /// The tree is too small to need this tier: runs in it move down.
    Unused,
    /// Runs gather until one of the bounds sends a slice of them into the last level.
    Staging,
    /// One run, up to a capacity.
    Sorted {
        /// Bytes it may hold.
        capacity: u64,
    },
    /// The oldest data.
    Last {
        /// Runs it may hold.
        max_runs: usize,
    },
}

impl Policy {
    /// Makes the policy of a keyspace, with the keyspace's own preset and number of levels. Its
    /// compactions have this memory.
    pub(crate) fn new(
        preset: CompactionPreset,
        num_levels: usize,
        settings: &Settings,
        memory: &WorkMemory,
    ) -> Policy {
        let Settings { tree, knobs, write_buffers, .. } = settings;
        let trigger = tree.level0_compaction_trigger;
        Policy {
            preset,
            num_levels,
            fan_in: knobs.tier_fan_in,
            staging_ratio: knobs.staging_ratio,
            staging_max_runs: 8,
            last_max_runs: knobs.tier_fan_in,
            level0_trigger: trigger,
            level0_limit: (2 * trigger).min(tree.level0_slowdown_trigger).max(trigger),
            level0_stop: tree.level0_stop_trigger,
            level_base: tree.max_bytes_for_level_base,
            level_multiplier: tree.max_bytes_for_level_multiplier,
            target_file_size: tree.target_file_size,
            most_table_keys: memory.max_keys() as u64,
            flush_bytes: write_buffers.bytes_of_a_flush(),
            most_cells: MOST_CELLS,
        }
    }

    /// Returns the kind of this level when the last level holds `last_bytes`.
    pub(crate) fn kind(&self, level: usize, last_bytes: u64) -> LevelKind {
        let last = self.num_levels - 1;
        if level == last {
            return match self.preset {
                CompactionPreset::Tiered => LevelKind::Last { max_runs: self.last_max_runs },
                _ => LevelKind::Last { max_runs: 1 },
            };
        }
        match self.preset {
            CompactionPreset::Leveled if level > 0 => {
                LevelKind::Sorted { capacity: self.capacity(level) }
            }
            CompactionPreset::LazyLeveled if level == last - 1 => LevelKind::Staging,
            CompactionPreset::LazyLeveled if level >= self.tiers(last_bytes) => LevelKind::Unused,
            _ => self.tier(level),
        }
    }

    /// Returns how many tiers lie above staging. With that many, staging's runs are large enough to
    /// reach the bytes at which the last level takes them before they reach the depth bound.
    pub(crate) fn tiers(&self, last_bytes: u64) -> usize {
        let staged = self.staging_ratio * last_bytes as f64;
        let most = self.num_levels - 2;
        (1..most)
            .find(|&tiers| self.staging_max_runs as f64 * self.run_bytes(tiers) as f64 >= staged)
            .unwrap_or(most)
    }

    /// Returns the bytes of a run of this tier that came from full runs only.
    pub(crate) fn run_bytes(&self, tier: usize) -> u64 {
        let merged = match tier {
            0 => 1.0,
            _ => self.level0_trigger as f64 * (self.fan_in as f64).powi(tier as i32 - 1),
        };
        (self.flush_bytes as f64 * merged) as u64
    }

    /// Returns about how many bytes one slice of a compaction reads. They are enough tables that
    /// cutting at their bounds costs little, and few enough that the temporary space is small.
    pub(crate) fn slice_bytes(&self) -> u64 {
        4 * self.target_file_size
    }

    fn tier(&self, level: usize) -> LevelKind {
        let (trigger, limit) = match level {
            0 => (self.level0_trigger, self.level0_limit),
            _ => (self.fan_in, 2 * self.fan_in),
        };
        LevelKind::Tier { trigger, limit, run_bytes: self.run_bytes(level) }
    }

    fn capacity(&self, level: usize) -> u64 {
        (self.level_base as f64 * self.level_multiplier.powi(level as i32 - 1)) as u64
    }
}
