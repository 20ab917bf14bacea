//! Draws the settings of a database, and the features of its run, from a seed.
//!
//! Each run leaves some features out. A bug that needs many writes of one kind shows up sooner
//! without the others (swarm testing; Groce et al., "Swarm Testing", ISSTA 2012).

use std::ops::Bound;
use std::sync::Arc;

use foldb::custom::{BytewiseComparator, Comparator};
use foldb::{KeyspaceOptions, Options};
use foldb_model::Keys;
use foldb_stress::own_code::{CheckedOrder, with_check_byte, without_check_byte};
pub(crate) use foldb_stress::{Operator, draws, operators};
use foldb_stress::{at_the_edges, small_options};

use crate::surroundings::Surroundings;

/// The trouble of a database's disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadDisk {
    Nothing,
    /// One in this many changing calls fails.
    Failing(u64),
    /// Each changing call takes this many microseconds longer.
    Slow(u64),
    /// Some calls, at random, take this many milliseconds longer.
    Hanging(u64),
    /// Some syncs of files, at random, fail.
    FailingSyncs,
    /// Files cannot be mapped, as for a program under a memory limit.
    Unmappable,
}

impl BadDisk {
    /// Returns whether calls of the engine may fail because of the disk.
    pub(crate) fn fails(self) -> bool {
        matches!(self, BadDisk::Failing(_) | BadDisk::FailingSyncs)
    }
}

/// The features of one database.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    pub seed: u64,
    /// Number of threads that write.
    pub threads: u8,
    /// The operator of each keyspace; the first is the keyspace `default`.
    pub operators: Vec<Operator>,
    /// Number of blocks of [`SLOTS`] keys that each thread has in each keyspace.
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
    /// Whether the keys of threads are interleaved. If not, a range delete covers many blocks.
    pub interleaved: bool,
    /// Whether every operator of [`operators::OF_BYTES`] merges into each key that holds bytes.
    pub mixed_operators: bool,
    /// Whether the program supplies the order of keys.
    pub own_order: bool,
    /// Whether there are batches of 220 MiB and more.
    pub bulk: bool,
    /// Whether threads make calls that the engine must refuse.
    pub mistakes: bool,
    /// Whether other programs compete for a path next to the database.
    pub rivals: bool,
    pub disk: BadDisk,
    /// Whether options have extreme values.
    pub edges: bool,
    /// Whether threads make some writes in transactions, and some as conditional writes.
    pub transactions: bool,
    /// Whether logs are kept for followers.
    pub followed: bool,
    pub surroundings: Surroundings,
}

/// Keys of one block.
pub(crate) const SLOTS: u8 = 64;

impl Features {
    pub(crate) fn draw(seed: u64) -> Features {
        let mut rng = draws(seed, "features", &[]);
        let operators = (0..rng.usize(1..=3)).map(|_| rng.choice(operators::ALL));
        let operators = operators.map(|drawn| drawn.unwrap_or(Operator::Add)).collect();
        let features = Features {
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
            own_order: rng.u8(..3) == 0,
            bulk: rng.u8(..8) == 0,
            mistakes: rng.bool(),
            rivals: rng.u8(..4) == 0,
            disk: match rng.u8(..10) {
                0..2 => BadDisk::Failing([30, 200, 2000][rng.usize(..3)]),
                2 => BadDisk::Slow(rng.u64(50..2000)),
                3 => BadDisk::Hanging(rng.u64(200..2000)),
                4 => BadDisk::FailingSyncs,
                5 => BadDisk::Unmappable,
                _ => BadDisk::Nothing,
            },
            edges: rng.u8(..4) == 0,
            transactions: draws(seed, "transactions", &[]).bool(),
            followed: draws(seed, "followed", &[]).bool(),
            surroundings: Surroundings::draw(seed),
        };
        // A large batch on a bad disk takes longer than a run.
        let bulk = features.bulk && features.disk == BadDisk::Nothing;
        // An iterator holds a handle of each run, for as long as the program keeps it.
        let has_handles = !features.surroundings.few_handles;
        let threads = if has_handles { features.threads } else { features.threads.min(2) };
        Features { bulk, threads, iterators: features.iterators && has_handles, ..features }
    }

    /// Returns the order of keys.
    pub(crate) fn order(&self) -> Arc<dyn Comparator> {
        if self.own_order { Arc::new(CheckedOrder) } else { Arc::new(BytewiseComparator) }
    }

    /// Returns the database's key for the key of a write.
    pub(crate) fn stored_key(&self, key: &[u8]) -> Vec<u8> {
        if self.own_order { with_check_byte(key) } else { key.to_vec() }
    }

    /// Returns the database's range for the range of a write.
    pub(crate) fn stored_range(&self, (lower, upper): &Keys) -> Keys {
        let stored = |bound: &Bound<Vec<u8>>| bound.as_ref().map(|key| self.stored_key(key));
        (stored(lower), stored(upper))
    }

    /// Returns the key of a write for the database's key.
    pub(crate) fn written_key(&self, stored: &[u8]) -> Vec<u8> {
        if self.own_order { without_check_byte(stored) } else { stored.to_vec() }
    }

    /// Returns the options of the database: small, so that a second of writes reaches every level.
    pub(crate) fn options(&self) -> Options {
        let mut rng = draws(self.seed, "options", &[]);
        let mut options = small_options(&mut rng);
        if self.edges {
            options = at_the_edges(options, &mut draws(self.seed, "edges", &[]));
        }
        if self.surroundings.few_handles {
            // A compaction holds a handle of each of its tables, and a write buffer one of its log.
            options.max_background_compactions = 1;
            options.max_write_buffers = 2;
            options.knobs.tier_fan_in = options.knobs.tier_fan_in.min(4);
        }
        Options {
            default: KeyspaceOptions {
                merge_operator: Some(self.operators[0].name().into_owned()),
                comparator: Some(self.order()),
                ..options.default
            },
            operators: operators::own(),
            comparators: vec![Arc::new(CheckedOrder)],
            wal_retention_bytes: if self.followed { 1 << 20 } else { 0 },
            ..options
        }
    }
}
