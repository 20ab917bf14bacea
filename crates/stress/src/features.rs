//! What a seed decides about a database: its settings, and which features a run has.
//!
//! Each run leaves some features out. A bug that needs many writes of one kind is found sooner where
//! the others do not dilute them (swarm testing; Groce et al., "Swarm Testing", ISSTA 2012).

use foldb::{CompactionPreset, Compression, LogAdoption, Options};
use xxhash_rust::xxh3::xxh3_64;

/// A random number generator for one purpose of one seed.
pub fn draws(seed: u64, purpose: &str, numbers: &[u64]) -> fastrand::Rng {
    let mut bytes = seed.to_le_bytes().to_vec();
    bytes.extend_from_slice(purpose.as_bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    fastrand::Rng::with_seed(xxh3_64(&bytes))
}

/// The operator of a keyspace. The model knows what each does to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Max,
    Min,
    Append,
    Put,
}

impl Operator {
    pub const ALL: [Operator; 5] =
        [Operator::Add, Operator::Max, Operator::Min, Operator::Append, Operator::Put];

    /// Those whose operands and values are any bytes.
    pub const OF_BYTES: [Operator; 4] =
        [Operator::Max, Operator::Min, Operator::Append, Operator::Put];

    pub fn name(self) -> &'static str {
        match self {
            Operator::Add => "uint64add",
            Operator::Max => "max",
            Operator::Min => "min",
            Operator::Append => "stringappend:,",
            Operator::Put => "put",
        }
    }
}

/// The features of one database.
#[derive(Clone, Debug)]
pub struct Features {
    pub seed: u64,
    /// Threads that write.
    pub threads: u8,
    /// The operator of each keyspace; the first is the keyspace `default`.
    pub operators: Vec<Operator>,
    /// Blocks of [`SLOTS`] keys that each thread has in each keyspace.
    pub blocks: u16,
    /// Largest value, in bytes.
    pub largest_value: usize,
    pub batches: bool,
    pub range_deletes: bool,
    pub snapshots: bool,
    pub iterators: bool,
    pub checkpoints: bool,
    pub read_only: bool,
    pub manual_work: bool,
    pub syncs: bool,
    /// Whether the keys of threads lie between each other; else a range delete covers many blocks.
    pub interleaved: bool,
    /// Whether keys of bytes are merged into with all operators of bytes.
    pub mixed_operators: bool,
}

/// Keys of one block.
pub const SLOTS: u8 = 64;

impl Features {
    pub fn draw(seed: u64) -> Features {
        let mut rng = draws(seed, "features", &[]);
        let operators = (0..rng.usize(1..=3)).map(|_| rng.choice(Operator::ALL));
        let operators = operators.map(|drawn| drawn.unwrap_or(Operator::Add)).collect();
        Features {
            seed,
            threads: rng.u8(1..=4),
            operators,
            blocks: [1, 4, 16, 64][rng.usize(..4)],
            largest_value: [40, 400, 4000, 70_000][rng.usize(..4)],
            batches: rng.bool(),
            range_deletes: rng.bool(),
            snapshots: rng.bool(),
            iterators: rng.bool(),
            checkpoints: rng.bool(),
            read_only: rng.bool(),
            manual_work: rng.bool(),
            syncs: rng.bool(),
            interleaved: rng.bool(),
            mixed_operators: rng.bool(),
        }
    }

    /// The options of the database: small, so that a second of writes reaches every level.
    pub fn options(&self) -> Options {
        let mut rng = draws(self.seed, "options", &[]);
        let presets =
            [CompactionPreset::Leveled, CompactionPreset::Tiered, CompactionPreset::LazyLeveled];
        let adoption = [LogAdoption::Never, LogAdoption::InKeyOrder, LogAdoption::Always];
        let trigger = rng.usize(1..=4);
        let stop = trigger + rng.usize(0..=8);
        Options {
            create_if_missing: true,
            merge_operator: Some(self.operators[0].name().to_owned()),
            write_buffer_size: 4096 << rng.u32(0..=10),
            max_write_buffers: [0, 2, 4][rng.usize(..3)],
            block_cache_size: 1 << rng.u32(12..=24),
            block_size: 256 << rng.u32(0..=8),
            bloom_bits: [0, 1, 10][rng.usize(..3)],
            compression: [Compression::None, Compression::Lz4][rng.usize(..2)],
            target_file_size: (64 << 10) << rng.u32(0..=6),
            max_open_files: [1, 10, 1000][rng.usize(..3)],
            compaction: presets[rng.usize(..3)],
            num_levels: rng.usize(2..=7),
            tier_fan_in: rng.usize(2..=8),
            level0_compaction_trigger: trigger,
            level0_slowdown_trigger: stop,
            level0_stop_trigger: stop,
            max_background_compactions: rng.usize(1..=3),
            value_separation_min: [None, Some(24), Some(300), Some(3000)][rng.usize(..4)],
            segment_size: (64 << 10) << rng.u32(0..=6),
            value_hints: rng.bool(),
            adopt_logs: adoption[rng.usize(..3)],
            max_dead_fraction: [0.05, 0.25, 0.9][rng.usize(..3)],
            ..Options::default()
        }
    }
}
