//! What a seed decides about a database: its settings, and which features a run has.
//!
//! Each run leaves some features out. A bug that needs many writes of one kind is found sooner where
//! the others do not dilute them (swarm testing; Groce et al., "Swarm Testing", ISSTA 2012).

use foldb::Options;
use foldb_stress::small_options;
pub use foldb_stress::{Operator, draws};

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
        Options {
            merge_operator: Some(self.operators[0].name().to_owned()),
            ..small_options(&mut rng)
        }
    }
}
