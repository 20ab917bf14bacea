//! The nominal settings of a workload. Every engine gets the settings that it supports.

use super::Operator;

/// Buffers, cache, blocks, filters and durability of a workload, for all engines alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Nominal {
    /// Operator of its merges.
    pub operator: Option<Operator>,
    /// Whether to write a log, which is not synced.
    pub wal: bool,
    /// Bytes of a memtable.
    pub write_buffer: usize,
    /// Bytes of the block cache.
    pub cache: usize,
    /// Bytes of a block.
    pub block: usize,
    /// Filter bits a key; 0: none.
    pub bloom_bits: u32,
    /// Tables held open; `None`: the engine's own.
    pub open_files: Option<usize>,
    /// The shape of the tree.
    pub shape: Shape,
    /// Whether RocksDB's statistics are on.
    pub statistics: bool,
    /// Whether the engine compacts by itself.
    pub compactions: bool,
    /// Whether values are stored outside the tree, in engines that support that.
    pub separated: bool,
}

/// Levels and when they are compacted, in RocksDB's words.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Levels.
    pub levels: usize,
    /// Files or runs in level 0 that start a compaction.
    pub trigger: usize,
    /// Files or runs in level 0 from which writes are slowed.
    pub slowdown: usize,
    /// Files or runs in level 0 at which writes wait.
    pub stop: usize,
    /// Bytes of level 1.
    pub level_base: u64,
    /// Levels above this one are not compressed.
    pub compress_from: usize,
    /// Compactions at once; `None`: the engine's own.
    pub background: Option<usize>,
}

/// The settings that a workload starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The settings of `db_bench` without flags.
    Defaults,
    /// The flags of RocksDB's page on read-modify-write.
    Published,
    /// The flags of MergeDB's comparison with LevelDB.
    SmallBuffer,
}

impl Nominal {
    /// The settings of a preset.
    pub fn preset(preset: Preset) -> Nominal {
        let defaults = Nominal {
            operator: None,
            wal: true,
            write_buffer: 64 << 20,
            cache: 32 << 20,
            block: 4096,
            bloom_bits: 0,
            open_files: None,
            shape: Shape {
                levels: 7,
                trigger: 4,
                slowdown: 20,
                stop: 36,
                level_base: 256 << 20,
                compress_from: 0,
                background: None,
            },
            statistics: false,
            compactions: true,
            separated: false,
        };
        match preset {
            Preset::Defaults => defaults,
            Preset::Published => Nominal {
                block: 65536,
                wal: false,
                shape: Shape {
                    levels: 6,
                    trigger: 4,
                    slowdown: 8,
                    stop: 12,
                    level_base: 10_485_760,
                    compress_from: 2,
                    background: Some(20),
                },
                statistics: true,
                ..defaults
            },
            Preset::SmallBuffer => Nominal {
                write_buffer: 2 << 20,
                cache: 100 << 20,
                bloom_bits: 10,
                open_files: Some(500_000),
                ..defaults
            },
        }
    }

    /// Merges with `operator`.
    pub fn merging(self, operator: Operator) -> Nominal {
        Nominal { operator: Some(operator), ..self }
    }

    /// Returns the settings as flags of RocksDB's `db_bench`, without flags that change nothing.
    pub fn flags(&self) -> String {
        let shape = &self.shape;
        let mut flags = format!(
            "--disable_wal={} --write_buffer_size={} --cache_size={} --block_size={} --num_levels={} \
             --level0_file_num_compaction_trigger={} --level0_slowdown_writes_trigger={} \
             --level0_stop_writes_trigger={} --max_bytes_for_level_base={}",
            u8::from(!self.wal),
            self.write_buffer,
            self.cache,
            self.block,
            shape.levels,
            shape.trigger,
            shape.slowdown,
            shape.stop,
            shape.level_base,
        );
        let optional = [
            ("bloom_bits", (self.bloom_bits > 0).then_some(self.bloom_bits as usize)),
            ("open_files", self.open_files),
            ("min_level_to_compress", (shape.compress_from > 0).then_some(shape.compress_from)),
            ("max_background_compactions", shape.background),
            ("statistics", self.statistics.then_some(1)),
            ("disable_auto_compactions", (!self.compactions).then_some(1)),
            ("enable_blob_files", self.separated.then_some(1)),
            ("enable_blob_garbage_collection", self.separated.then_some(1)),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                flags += &format!(" --{name}={value}");
            }
        }
        flags
    }

    /// Returns the settings in one line.
    pub fn describe(&self) -> String {
        let shape = &self.shape;
        let optional = |value: Option<usize>| value.map_or("own".to_owned(), |n| n.to_string());
        format!(
            "operator={} wal={} write_buffer={} cache={} block={} bloom_bits={} open_files={} \
             levels={} level0={}/{}/{} level_base={} min_level_to_compress={} compactions={} \
             statistics={} auto_compactions={} separated={}",
            self.operator.map_or("none", Operator::name),
            if self.wal { "unsynced" } else { "off" },
            self.write_buffer,
            self.cache,
            self.block,
            self.bloom_bits,
            optional(self.open_files),
            shape.levels,
            shape.trigger,
            shape.slowdown,
            shape.stop,
            shape.level_base,
            shape.compress_from,
            optional(shape.background),
            u8::from(self.statistics),
            u8::from(self.compactions),
            u8::from(self.separated),
        )
    }
}
