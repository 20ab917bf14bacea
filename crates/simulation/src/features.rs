//! What a seed decides: settings, clients, the disk's temper and how lives end.

use std::ops::Range;
use std::sync::Arc;

use foldb::{BytewiseComparator, Comparator, LogAdoption, Options};
use foldb_stress::own_code::{CheckedOrder, with_check_byte};
use foldb_stress::{Operator, at_the_edges, draws, small_options};

use crate::disk::{Stop, Temper};

/// Operations that a seed makes before it counts.
pub const LEAST_OPERATIONS: u64 = 1000;

/// The features of one run. Each run leaves some out (swarm testing).
#[derive(Clone, Debug)]
pub struct Features {
    /// What all else is drawn from.
    pub seed: u64,
    /// Threads that write, and read what they and others wrote.
    pub writers: u8,
    /// Threads that only read.
    pub readers: u8,
    /// The operator of each keyspace; the first is the keyspace `default`.
    pub operators: Vec<Operator>,
    /// Keys of each keyspace.
    pub keys: u16,
    /// Largest value, in bytes.
    pub largest_value: usize,
    /// How many of 256 values may be that large; the others have eight bytes.
    pub large_values: u8,
    /// Operations of each thread in a life.
    pub operations: u64,
    /// How many of 100 changes merge.
    pub merges: u8,
    /// Longest payload of a frame of the log, in bytes. Some records fill their frames to the
    /// byte then.
    pub frames: Option<usize>,
    /// How many of 100 operations of a writer read.
    pub reads: u8,
    /// How many of 256 writes ask for a sync.
    pub syncs: u8,
    /// Whether several operations are written as one.
    pub batches: bool,
    /// Whether ranges are deleted.
    pub range_deletes: bool,
    /// Whether snapshots are held and read later.
    pub snapshots: bool,
    /// Whether iterators are held and read later.
    pub iterators: bool,
    /// Whether clients call for flushes, compactions, merges of segments and verifications.
    pub manual_work: bool,
    /// Whether checkpoints are made and compared.
    pub checkpoints: bool,
    /// Whether keys of bytes are merged into with all operators of bytes.
    pub mixed_operators: bool,
    /// Whether clients merge with operators that they define then and there.
    pub new_operators: bool,
    /// Whether keys have an order of the program's own.
    pub own_order: bool,
    /// Whether options lie at the edges of what is allowed.
    pub edges: bool,
    /// Whether logs of little but values become segments.
    pub adopts: bool,
    /// Whether outputs of flushes and compactions have many tables.
    pub small_tables: bool,
    /// Of how many stops one has a copy of what it leaves repaired; 0: none.
    pub repairs: u8,
    /// Whether some writes give up where they would wait.
    pub deadlines: bool,
    /// Whether the closed database is damaged in the end.
    pub damage: bool,
    /// How the disk behaves.
    pub temper: Temper,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By a clean close.
    Close,
    /// By a stop at a change of the disk that the fuse counts down to.
    Fuse {
        /// What is left.
        stop: Stop,
        /// Changes until then.
        changes: u64,
    },
    /// By a stop when all threads have done their operations.
    Late(Stop),
}

impl Features {
    /// The features of a seed.
    pub fn draw(seed: u64) -> Features {
        let mut rng = draws(seed, "simulated features", &[]);
        let operators = (0..rng.usize(1..=3)).map(|_| rng.choice(Operator::ALL));
        let operators = operators.map(|drawn| drawn.unwrap_or(Operator::Add)).collect();
        let features = Features {
            seed,
            writers: rng.u8(2..=4),
            readers: rng.u8(0..=2),
            operators,
            keys: [4, 20, 100, 1000][rng.usize(..4)],
            largest_value: [16, 200, 3000][rng.usize(..3)],
            large_values: [60, 240][rng.usize(..2)],
            operations: if rng.u8(..4) == 0 { rng.u64(300..=500) } else { rng.u64(60..=150) },
            merges: [20, 54, 90][rng.usize(..3)],
            frames: (rng.u8(..3) == 0).then(|| [128, 200, 600][rng.usize(..3)]),
            reads: [10, 30, 60][rng.usize(..3)],
            syncs: [0, 2, 20, 200][rng.usize(..4)],
            batches: rng.bool(),
            range_deletes: rng.bool(),
            snapshots: rng.bool(),
            iterators: rng.bool(),
            manual_work: rng.bool(),
            checkpoints: rng.u8(..4) == 0,
            mixed_operators: rng.bool(),
            new_operators: rng.bool(),
            own_order: rng.u8(..4) == 0,
            edges: rng.u8(..4) == 0,
            adopts: rng.u8(..6) == 0,
            small_tables: rng.bool(),
            repairs: [0, 0, 3, 1][rng.usize(..4)],
            deadlines: rng.u8(..4) == 0,
            damage: rng.bool(),
            temper: Temper {
                call_micros: [0, 0, 5, 100, 3000][rng.usize(..5)],
                sync_micros: [0, 100, 5_000, 200_000][rng.usize(..4)],
                failures: [0, 0, 0, 50, 500][rng.usize(..5)],
                log_failures: [0, 0, 1_000, 5_000, 20_000][rng.usize(..5)],
                hangs: if rng.u8(..16) == 0 { 20 } else { 0 },
            },
        };
        if !features.adopts {
            return features;
        }
        Features { merges: 5, frames: None, largest_value: 3000, large_values: 240, ..features }
    }

    /// The options of the database, all but its machine and listeners.
    pub fn options(&self) -> Options {
        let mut rng = draws(self.seed, "simulated options", &[]);
        let options = small_options(&mut rng);
        let table =
            if self.small_tables { 1024 << rng.u32(0..=4) } else { 65_536 << rng.u32(0..=3) };
        let mut options = Options {
            write_buffer_size: 4096 << rng.u32(0..=4),
            wal_limit: options.wal_limit.min(65_536),
            segment_size: 4096 << rng.u32(0..=5),
            target_file_size: table,
            merge_operator: Some(self.operators[0].name().into_owned()),
            operators: Operator::own(),
            comparator: self.order(),
            comparators: vec![Arc::new(CheckedOrder)],
            ..options
        };
        if self.adopts {
            options.value_separation_min = options.value_separation_min.or(Some(300));
            options.segment_size = options.segment_size.min(16_384);
            options.adopt_logs = LogAdoption::Always;
        }
        if self.edges { at_the_edges(options, &mut rng) } else { options }
    }

    /// The order of keys.
    pub fn order(&self) -> Arc<dyn Comparator> {
        if self.own_order { Arc::new(CheckedOrder) } else { Arc::new(BytewiseComparator) }
    }

    /// How a life ends. The first one ends by a stop.
    pub fn end(&self, life: u64) -> End {
        let mut rng = draws(self.seed, "simulated ends", &[life]);
        let stop = [Stop::Kill, Stop::Forgetful, Stop::Torn, Stop::Torn][rng.usize(..4)];
        // A write is about one change of the disk.
        let changes = self.operations * u64::from(self.writers);
        match rng.u8(..10) {
            0 if life > 0 => End::Close,
            1..3 => End::Late(stop),
            // Soon: while the database opens.
            3 => End::Fuse { stop, changes: rng.u64(1..30) },
            _ => End::Fuse { stop, changes: rng.u64(1..=changes) },
        }
    }

    /// A key of a number, as the database has it.
    pub fn key(&self, number: u16) -> Vec<u8> {
        let mut key = number.to_be_bytes().to_vec();
        // Longer than what an engine may keep of a key for its estimates.
        let most = if self.own_order { 60 } else { 24 };
        key.extend(std::iter::repeat_n(b'k', usize::from(number.wrapping_mul(37)) % most));
        if self.own_order { with_check_byte(&key) } else { key }
    }

    /// What the database is given for a range: of bounds that begin no two keys.
    pub fn stored_range(&self, range: &Range<Vec<u8>>) -> Range<Vec<u8>> {
        let stored = |bound: &Vec<u8>| {
            if self.own_order { with_check_byte(bound) } else { bound.clone() }
        };
        stored(&range.start)..stored(&range.end)
    }

    /// One of a few operators that are not there before their first use.
    pub fn new_operator(&self, rng: &mut fastrand::Rng) -> Operator {
        Operator::Append(rng.u8(b'A'..=b'Z'))
    }
}
