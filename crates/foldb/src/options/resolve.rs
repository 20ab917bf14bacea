//! Makes the settings that the engine works with from the options that the user set. Every default
//! that depends on other options is computed here.

use crate::options::Options;
use crate::settings::memory::{automatic_count, memtable_bytes};
use crate::settings::{SegmentSettings, Settings, TreeSettings, WalRetention, WriteBuffers};

impl Options {
    /// Returns the settings that follow from these options. Before an open calls this, it fits the
    /// write buffers into their share of memory ([`Options::fitted`]).
    pub(crate) fn resolve(&self) -> Settings {
        Settings {
            write_buffers: self.write_buffers(),
            wal_limit: match self.wal_limit {
                0 => (4 * self.write_buffer_size as u64).max(64 << 20),
                given => given,
            },
            wal_retention: WalRetention {
                bytes: self.wal_retention_bytes,
                seconds: self.wal_retention_seconds,
            },
            tree: self.tree_settings(),
            keyspace: self.keyspace_settings(),
            block_size: self.block_size,
            min_level_to_compress: self.min_level_to_compress,
            disable_auto_compactions: self.disable_auto_compactions,
            max_background_compactions: self.max_background_compactions,
            segments: SegmentSettings {
                size: self.segment_size,
                hints: self.value_hints,
                adopt_logs: self.adopt_logs,
                max_dead_fraction: self.max_dead_fraction,
                gc_memory_budget: self.gc_memory_budget,
                gc_io_budget: self.gc_io_budget,
            },
            scrub_io_budget: self.scrub_io_budget,
            allow_unresolved_operators: self.allow_unresolved_operators,
            visible_when_durable: self.visible_when_durable,
            space_reserve: self.space_reserve,
        }
    }

    fn write_buffers(&self) -> WriteBuffers {
        let (size, is_automatic) = (self.write_buffer_size, self.max_write_buffers == 0);
        let most = match self.max_write_buffers {
            0 => automatic_count(size, usize::MAX),
            given => given,
        };
        WriteBuffers {
            size,
            most,
            bytes: memtable_bytes(size, most, is_automatic),
            flushed_together: (most / 2).clamp(1, 8),
        }
    }

    fn tree_settings(&self) -> TreeSettings {
        TreeSettings {
            num_levels: self.num_levels,
            target_file_size: match self.target_file_size {
                0 => (self.write_buffer_size as u64).clamp(8 << 20, 64 << 20),
                given => given,
            },
            tier_fan_in: self.tier_fan_in,
            staging_ratio: self.staging_ratio,
            level0_compaction_trigger: self.level0_compaction_trigger,
            level0_slowdown_trigger: self.level0_slowdown_trigger,
            level0_stop_trigger: self.level0_stop_trigger,
            max_bytes_for_level_base: self.max_bytes_for_level_base,
            max_bytes_for_level_multiplier: self.max_bytes_for_level_multiplier,
            idle_runs: self.idle_runs,
        }
    }
}
