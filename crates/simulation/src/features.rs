//! Draws the features of a run from its seed: settings, clients, the disk's temper and the ends of
//! lives.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use foldb::custom::{BytewiseComparator, Comparator};
use foldb::internals::Knobs;
use foldb::{KeyspaceOptions, LogAdoption, Options};
use foldb_model::{Expiry, Keys, Operator, Rule};
use foldb_stress::own_code::{CheckedOrder, with_check_byte};
use foldb_stress::{at_the_edges, draws, operators, small_options};

use crate::copies::Copying;
use crate::disk::{Stop, Temper};

/// Fewest operations that count as a run of a seed.
pub const LEAST_OPERATIONS: u64 = 1000;

/// The features of one run. Each run leaves some out (swarm testing).
#[derive(Clone, Debug)]
pub struct Features {
    /// The seed that everything else is drawn from.
    pub seed: u64,
    /// Number of threads that write, and read their own and other writes.
    pub writers: u8,
    /// Number of threads that only read.
    pub readers: u8,
    /// The operator of each keyspace; the first is the keyspace `default`.
    pub operators: Vec<Operator>,
    /// Number of keys of each keyspace.
    pub keys: u16,
    /// Largest value, in bytes.
    pub largest_value: usize,
    /// How many of 256 values may be that large; the others have eight bytes.
    pub large_values: u8,
    /// Operations of each thread in a life.
    pub operations: u64,
    /// How many of 100 changes are merges.
    pub merges: u8,
    /// Longest payload of a log frame, in bytes. Some records then fill their frames to the byte.
    pub frames: Option<usize>,
    /// How many of 100 operations of a writer read.
    pub reads: u8,
    /// How many of 256 writes ask for a sync.
    pub syncs: u8,
    /// Whether batches are written.
    pub batches: bool,
    /// Whether ranges are deleted.
    pub range_deletes: bool,
    /// Whether neighbouring keys are deleted together, and walks note even a few of them.
    pub drains: bool,
    /// Whether snapshots are held and read later.
    pub snapshots: bool,
    /// Whether iterators are held and read later.
    pub iterators: bool,
    /// Whether clients ask for flushes, compactions, garbage collections and verifications.
    pub manual_work: bool,
    /// The ways in which the database is copied, or read from beside.
    pub copies: Vec<Copying>,
    /// Whether all files only grow.
    pub append_only: bool,
    /// The memory budget, in bytes; 0: automatic.
    pub budget: usize,
    /// Whether every second life ends by a clean close, after which an open may keep the logs.
    pub closes: bool,
    /// The bytes of a block cache that holds a few blocks; `None`: as the options draw it.
    pub small_cache: Option<usize>,
    /// Whether every operator whose operands are any bytes merges into each key that holds bytes.
    pub mixed_operators: bool,
    /// Whether clients merge with operators that they define at that moment.
    pub new_operators: bool,
    /// Whether the program supplies the order of keys.
    pub own_order: bool,
    /// Whether options have extreme values.
    pub edges: bool,
    /// Whether logs with hardly anything but values become segments.
    pub adopts: bool,
    /// Whether flushes and compactions write many small tables.
    pub small_tables: bool,
    /// After one in this many stops, a copy of the files is repaired; 0: never.
    pub repairs: u8,
    /// Whether some writes give up instead of waiting.
    pub deadlines: bool,
    /// Whether the closed database is damaged at the end.
    pub damage: bool,
    /// Whether there are transactions.
    pub transactions: bool,
    /// Whether there are conditional writes.
    pub conditions: bool,
    /// Whether there are sorted loads.
    pub loads: bool,
    /// Whether a follower reads the change feed.
    pub feed: bool,
    /// When the entries of the last keyspace expire.
    pub expiry: Option<Expiry>,
    /// Whether clients set the database's time back to the time of day.
    pub resets: bool,
    /// How the disk behaves.
    pub temper: Temper,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By a clean close.
    Close,
    /// By a stop after some changes of the disk.
    Fuse {
        /// What the stop leaves.
        stop: Stop,
        /// Changes until the stop.
        changes: u64,
    },
    /// By a stop after all threads have done their operations.
    Late(Stop),
}

impl Features {
    /// Draws the features of a seed.
    pub fn draw(seed: u64) -> Features {
        let mut rng = draws(seed, "simulated features", &[]);
        let operators = (0..rng.usize(1..=3)).map(|_| rng.choice(operators::ALL));
        let operators: Vec<_> = operators.map(|drawn| drawn.unwrap_or(Operator::Add)).collect();
        let mut general = draws(seed, "general features", &[]);
        let mut paired = draws(seed, "paired features", &[]);
        let mut drained = draws(seed, "drains", &[]);
        let mut features = Features {
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
            drains: drained.bool(),
            snapshots: rng.bool(),
            iterators: rng.bool(),
            manual_work: rng.bool(),
            copies: Copying::ALL.into_iter().filter(|_| paired.u8(..3) == 0).collect(),
            append_only: paired.u8(..5) == 0,
            budget: [0, 0, 8 << 20][paired.usize(..3)],
            closes: draws(seed, "closes", &[]).u8(..3) == 0,
            small_cache: {
                let mut cached = draws(seed, "small caches", &[]);
                cached.bool().then(|| 2048 << cached.u32(0..=3))
            },
            mixed_operators: rng.bool(),
            new_operators: rng.bool(),
            own_order: rng.u8(..4) == 0,
            edges: rng.u8(..4) == 0,
            adopts: paired.u8(..4) == 0,
            small_tables: rng.bool(),
            repairs: [0, 0, 3, 1][rng.usize(..4)],
            deadlines: rng.u8(..4) == 0,
            damage: rng.bool(),
            transactions: general.bool(),
            conditions: general.bool(),
            loads: general.bool(),
            feed: general.bool(),
            expiry: general.bool().then(|| {
                let lifetime = general.u64(2..20);
                let rule = if general.bool() { Rule::AfterLast } else { Rule::AfterFirst };
                Expiry { rule, lifetime, bucket: 1 }
            }),
            resets: draws(seed, "resets", &[]).bool(),
            temper: Temper {
                call_micros: [0, 0, 5, 100, 3000][rng.usize(..5)],
                sync_micros: [0, 100, 5_000, 200_000][rng.usize(..4)],
                failures: [0, 0, 0, 50, 500][rng.usize(..5)],
                log_failures: [0, 0, 1_000, 5_000, 20_000][rng.usize(..5)],
                hangs: if rng.u8(..16) == 0 { 20 } else { 0 },
            },
        };
        // An open keeps no logs that a feed reads.
        features.feed &= !features.closes;
        // Files that only grow have no hard links, which a log needs to become a segment.
        features.adopts &= !features.append_only;
        if features.expiry.is_some() {
            let operators = [Operator::Append(b','), Operator::Max, Operator::Put];
            features.operators.push(operators[general.usize(..3)]);
            // A second that cannot be stored does not pass, and clients would not know.
            features.temper.failures = 0;
        }
        if !features.adopts {
            return features;
        }
        Features { merges: 5, frames: None, largest_value: 3000, large_values: 240, ..features }
    }

    /// Returns the options of most lives, without their machine and listeners.
    pub fn options(&self) -> Options {
        let mut rng = draws(self.seed, "simulated options", &[]);
        let options = small_options(&mut rng);
        let table =
            if self.small_tables { 1024 << rng.u32(0..=4) } else { 65_536 << rng.u32(0..=3) };
        let mut options = Options {
            write_buffer_size: 4096 << rng.u32(0..=4),
            wal_limit: options.wal_limit.min(65_536),
            knobs: Knobs { segment_size: 4096 << rng.u32(0..=5), ..options.knobs },
            target_file_size: table,
            default: KeyspaceOptions {
                merge_operator: Some(self.operators[0].name().into_owned()),
                comparator: Some(self.order()),
                ..options.default
            },
            operators: operators::own(),
            comparators: vec![Arc::new(CheckedOrder)],
            wal_retention_bytes: if self.feed { 1 << 40 } else { 0 },
            memory_budget: self.budget,
            ..options
        };
        if let Some(bytes) = self.small_cache {
            // Blocks of which several fit, so that reads find some of them and evict others.
            options.block_cache_size = bytes;
            options.block_size = options.block_size.min(bytes / 8);
        }
        if self.adopts {
            let least = &mut options.default.value_separation_min;
            *least = least.or(Some(300));
            options.knobs.segment_size = options.knobs.segment_size.min(16_384);
            options.adopt_logs = LogAdoption::Always;
        }
        let options = if self.edges { at_the_edges(options, &mut rng) } else { options };
        // The next open may keep logs of a part of the write buffer.
        let write_buffer_size = if self.closes { 1 << 20 } else { options.write_buffer_size };
        Options { write_buffer_size, ..options }
    }

    /// Returns the options of one life. Some lives have so little memory that the logs of the life
    /// before them do not fit.
    pub fn options_of(&self, life: u64) -> Options {
        let options = self.options();
        match draws(self.seed, "tight lives", &[life]).u8(..3) {
            0 if !self.closes => {
                Options { write_buffer_size: 4096, max_write_buffers: 2, ..options }
            }
            _ => options,
        }
    }

    /// Returns whether the entries of a keyspace expire.
    pub fn fades(&self, keyspace: usize) -> bool {
        self.expiry.is_some() && keyspace + 1 == self.operators.len()
    }

    /// Returns when the entries of each keyspace expire.
    pub fn expiries(&self) -> Vec<Option<Expiry>> {
        let expiry = |keyspace| self.expiry.filter(|_| self.fades(keyspace));
        (0..self.operators.len()).map(expiry).collect()
    }

    /// Returns the order of keys.
    pub fn order(&self) -> Arc<dyn Comparator> {
        if self.own_order { Arc::new(CheckedOrder) } else { Arc::new(BytewiseComparator) }
    }

    /// Returns how a life ends. The first one ends by a stop.
    pub fn end(&self, life: u64) -> End {
        let mut rng = draws(self.seed, "simulated ends", &[life]);
        let stop = [Stop::Kill, Stop::Forgetful, Stop::Torn, Stop::Torn][rng.usize(..4)];
        // A write makes about one change of the disk.
        let changes = self.operations * u64::from(self.writers);
        let closes = self.closes && draws(self.seed, "closing ends", &[life]).bool();
        match rng.u8(..10) {
            _ if closes && life > 0 => End::Close,
            0 if life > 0 => End::Close,
            1..3 => End::Late(stop),
            // Soon: during the open.
            3 => End::Fuse { stop, changes: rng.u64(1..30) },
            _ => End::Fuse { stop, changes: rng.u64(1..=changes) },
        }
    }

    /// Returns the database's key for a number.
    pub fn key(&self, number: u16) -> Vec<u8> {
        let mut key = number.to_be_bytes().to_vec();
        // Longer than the part of a key that an engine may keep for estimates.
        let most = if self.own_order { 60 } else { 24 };
        key.extend(std::iter::repeat_n(b'k', usize::from(number.wrapping_mul(37)) % most));
        if self.own_order { with_check_byte(&key) } else { key }
    }

    /// Returns the range as the database gets it. No key begins with one of its bounds.
    pub fn stored_range(&self, range: &impl RangeBounds<Vec<u8>>) -> Keys {
        let stored = |bound: Bound<&Vec<u8>>| {
            bound.map(|key| if self.own_order { with_check_byte(key) } else { key.clone() })
        };
        (stored(range.start_bound()), stored(range.end_bound()))
    }

    /// Returns one of a few operators that the client defines at their first use.
    pub fn new_operator(&self, rng: &mut fastrand::Rng) -> Operator {
        Operator::Append(rng.u8(b'A'..=b'Z'))
    }
}
