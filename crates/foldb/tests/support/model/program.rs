//! Random programs: plain data that prints as its steps, and shrinks.

use std::fmt;
use std::ops::Bound;

use foldb::{CompactionPreset, Compression};
use foldb_model::{Expiry, Operator};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::fading::RULES;

/// A database's settings and the steps of a program.
#[derive(Clone)]
pub(crate) struct Program {
    pub settings: Settings,
    pub steps: Vec<Step>,
}

/// The settings that a program draws: small, so that a few hundred writes reach every level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub preset: CompactionPreset,
    pub compression: Compression,
    pub default_operator: Operator,
    pub write_buffer: usize,
    pub target_file: u64,
    pub block: usize,
    pub level0_trigger: usize,
    pub level_base: u64,
    pub levels: usize,
    pub fan_in: usize,
    pub bloom_bits: u32,
    pub cache: usize,
    pub open_files: usize,
    pub wal_limit: u64,
    /// Length in bytes from which values are separated: none, all, most, few.
    pub separation: Option<usize>,
    pub segment_size: u64,
    pub hints: bool,
    pub dead_fraction: f64,
    /// Whether logs are kept for the change feed.
    pub feed: bool,
    /// How entries expire in a keyspace that is created with these settings.
    pub rule: Expiry,
    /// Whether the engine keeps notes of only a few writes for the commits of transactions.
    pub few_notes: bool,
}

/// A keyspace: the default one, or one of three that come and go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u8);

impl Place {
    pub(crate) const DEFAULT: Place = Place(0);
    /// Number of places.
    pub(crate) const COUNT: usize = 4;
    /// The keyspace whose entries expire.
    pub(crate) const FADING: Place = Place(3);

    pub(crate) fn all() -> impl Iterator<Item = Place> {
        (0..Place::COUNT as u8).map(Place)
    }

    /// Returns the place with this number.
    pub(crate) fn at(index: usize) -> Place {
        Place(index as u8)
    }

    pub(crate) fn index(self) -> usize {
        self.0.into()
    }

    pub(crate) fn name(self) -> &'static str {
        ["default", "appended", "counted", "fading"][self.index()]
    }

    /// Returns the operator of merges that name none. The default keyspace takes its operator from
    /// the settings.
    pub(crate) fn operator(self) -> Option<Operator> {
        let append = Some(Operator::Append(b','));
        [None, append, Some(Operator::Add), append][self.index()]
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Number of keys.
pub(crate) const KEYS: u8 = 24;

/// One of the keys: few, of all shapes, the empty one among them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(pub u8);

impl Key {
    pub(crate) fn bytes(self) -> Vec<u8> {
        let n = self.0;
        match n % 4 {
            _ if n == 0 => Vec::new(),
            0 => vec![b'a', n],
            1 => format!("key-with-a-long-common-prefix-{n:02}").into_bytes(),
            2 => vec![b'a', n - 2, 0xff, n],
            _ => vec![0xff, 0xff, n / 8],
        }
    }

    pub(crate) fn all() -> impl Iterator<Item = Vec<u8>> {
        (0..KEYS).map(|n| Key(n).bytes())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k{}", self.0)
    }
}

/// Bytes: a repeated letter, or for number operators a number made of the letter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text {
    pub letter: u8,
    pub len: u16,
}

impl Text {
    pub(crate) fn bytes(self) -> Vec<u8> {
        vec![self.letter; self.len.into()]
    }

    /// Returns a number from -2 to 2, so that sums reach 0.
    pub(crate) fn number(self) -> Vec<u8> {
        (i64::from(self.letter % 5) - 2).to_le_bytes().to_vec()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}*{}", char::from(self.letter), self.len)
    }
}

/// A write, with the default operator left out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Draft {
    Put(Key, Text),
    /// Puts an 8-byte value, so that counters find a base that they accept.
    PutNumber(Key, Text),
    Delete(Key),
    /// Ends in the wrong order are swapped.
    DeleteRange(Bound<Key>, Bound<Key>),
    /// `None` stands for the default operator.
    Merge(Option<Operator>, Key, Text),
}

/// A conditional write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    PutIfAbsent(Key, Text),
    /// Whether it expects the value that the key has.
    Swap(Key, Text, bool),
    Take(Key),
    MergeGet(Key, Text),
    /// Whether it accepts the value.
    MergeIf(Key, Text, bool),
    /// From the first key on.
    TakeFirst(Key),
}

#[derive(Clone, Debug)]
pub(crate) enum Range {
    All,
    Between(Bound<Key>, Bound<Key>),
    /// The first bytes of a key.
    Prefix(Key, usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    First,
    Last,
    Seek(Key),
    SeekForPrev(Key),
    Advance,
    Retreat,
}

/// A step in a keyspace that does not exist does nothing.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Write {
        place: Place,
        write: Draft,
        sync: bool,
    },
    Batch {
        writes: Vec<(Place, Draft)>,
        sync: bool,
    },
    /// A put or merge of an entry with a lifetime of its own, in seconds.
    Lasting(Draft, u8),
    /// Several merges in a row, with a snapshot in between.
    Merges {
        place: Place,
        operator: Operator,
        key: Key,
        text: Text,
        count: u8,
        snapshot_after: Option<u8>,
    },
    /// Large values for several keys: a log of them may become a value segment.
    LargePuts {
        place: Place,
        text: Text,
        count: u8,
    },
    /// A sorted load of the puts and merges among these drafts. Other writes come while it is open.
    Load {
        place: Place,
        loaded: Vec<Draft>,
        meanwhile: Vec<(Place, Draft)>,
        /// Whether it is finished, not dropped.
        finish: bool,
    },
    /// A transaction: own writes, each seen by its reads, with other writes half-way.
    Transaction {
        place: Place,
        /// Whether it is serializable.
        serial: bool,
        own: Vec<(Place, Draft)>,
        /// The keys that it reads, besides those that it checks after all own writes.
        keys: Vec<Key>,
        /// Whether it reads all of the keyspace `place`, too.
        walks: bool,
        meanwhile: Vec<(Place, Draft)>,
        /// Whether it commits, not rolls back.
        commit: bool,
    },
    /// A write under a condition.
    Conditional(Place, Condition),
    Get(Place, Key),
    /// Reads through a snapshot, if there is one of that number. A key may come more than once.
    MultiGet {
        place: Place,
        keys: Vec<Key>,
        snapshot: Option<u8>,
    },
    GetOperands(Place, Key),
    Snapshot,
    ReadSnapshot(u8),
    DropSnapshot(u8),
    /// Reads through a snapshot, if there is one of that number.
    OpenIterator {
        place: Place,
        range: Range,
        snapshot: Option<u8>,
    },
    MoveIterator(u8, Vec<Move>),
    DropIterator(u8),
    /// Creates the keyspace, unless it exists.
    CreateKeyspace(Place),
    DropKeyspace(Place),
    Flush,
    /// Compacts all keyspaces, or one.
    Compact(Option<Place>, Bound<Key>, Bound<Key>),
    /// Does one background step.
    Background,
    AllBackground,
    /// Collects the garbage of value segments until at most this percentage is dead, with this
    /// memory.
    Gc(u8, usize),
    Sync,
    /// Moves the time of day by some seconds, perhaps back.
    Clock(i8),
    /// Reads the change feed to its end: as far as it is durable, or all of it. It continues where
    /// it was, perhaps with a new reader.
    Follow {
        unsynced: bool,
        anew: bool,
    },
    CheckAll,
    /// Opens the database read-only, beside the writer, and compares.
    Look,
    /// Makes a checkpoint, opens it with other settings, compares, and writes to it.
    Checkpoint(Option<Settings>),
    Reopen(Option<Settings>),
    Kill,
    Crash,
    /// Loses power; a random part of the unsynced bytes survives.
    CrashPartly(u64),
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.settings)?;
        self.steps.iter().enumerate().try_for_each(|(at, step)| writeln!(f, "{at:>4}  {step:?}"))
    }
}

/// Returns programs of up to `steps` steps.
pub(crate) fn programs(steps: usize) -> impl Strategy<Value = Program> {
    (settings(), vec(step(), 1..=steps)).prop_map(|(settings, steps)| Program { settings, steps })
}

fn settings() -> impl Strategy<Value = Settings> {
    let shape = (preset(), 1..5usize, 1..4u64, 2..6usize, 2..5usize);
    let tables = (compression(), 0..4usize, 0..4usize, prop_oneof![Just(0u32), Just(10)]);
    let memory = (1..5usize, prop_oneof![Just(0usize), Just(1 << 20)], 1..20usize, 0..3u64);
    let separation = prop_oneof![
        2 => Just(None),
        1 => Just(Some(0)),
        2 => Just(Some(9)),
        2 => Just(Some(100)),
    ];
    let segments = (separation, 0..3usize, any::<bool>(), 0..3usize);
    let general = (any::<bool>(), select(RULES.to_vec()), any::<bool>());
    let all = (shape, tables, memory, operator(), segments, general);
    all.prop_map(|(shape, tables, memory, default_operator, segments, general)| Settings {
        feed: general.0,
        rule: general.1,
        few_notes: general.2,
        separation: segments.0,
        segment_size: [4096, 20_000, 1 << 20][segments.1],
        hints: segments.2,
        dead_fraction: [0.01, 0.25, 1.0][segments.3],
        preset: shape.0,
        level0_trigger: shape.1,
        level_base: 2048 * shape.2,
        levels: shape.3,
        fan_in: shape.4,
        compression: tables.0,
        target_file: [1024, 1500, 3000, 100_000][tables.1],
        block: [256, 512, 4096, 65536][tables.2],
        bloom_bits: tables.3,
        write_buffer: 4096 * memory.0,
        cache: memory.1,
        open_files: memory.2,
        wal_limit: [0, 4096, 20_000][memory.3 as usize],
        default_operator,
    })
}

fn preset() -> impl Strategy<Value = CompactionPreset> {
    prop_oneof![
        Just(CompactionPreset::LazyLeveled),
        Just(CompactionPreset::Leveled),
        Just(CompactionPreset::Tiered),
    ]
}

fn compression() -> impl Strategy<Value = Compression> {
    prop_oneof![Just(Compression::None), Just(Compression::Lz4), Just(Compression::Snappy)]
}

fn operator() -> impl Strategy<Value = Operator> {
    prop_oneof![
        3 => Just(Operator::Append(b',')),
        3 => Just(Operator::Add),
        1 => Just(Operator::Max),
        1 => Just(Operator::Put),
        1 => Just(Operator::References),
        1 => Just(Operator::Register),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    // A few keys get most of the writes, so that chains form.
    prop_oneof![2 => (0..6u8).prop_map(Key), 1 => (0..KEYS).prop_map(Key)]
}

fn text() -> impl Strategy<Value = Text> {
    let len = prop_oneof![2 => 0..4u16, 2 => Just(8u16), 3 => 10..40u16, 1 => 100..1500u16];
    (b'a'..=b'z', len).prop_map(|(letter, len)| Text { letter, len })
}

fn draft() -> impl Strategy<Value = Draft> {
    prop_oneof![
        3 => (key(), text()).prop_map(|(key, text)| Draft::Put(key, text)),
        2 => (key(), text()).prop_map(|(key, text)| Draft::PutNumber(key, text)),
        2 => key().prop_map(Draft::Delete),
        1 => (bound(), bound()).prop_map(|(start, end)| Draft::DeleteRange(start, end)),
        4 => (key(), text()).prop_map(|(key, text)| Draft::Merge(None, key, text)),
        4 => (operator(), key(), text())
            .prop_map(|(operator, key, text)| Draft::Merge(Some(operator), key, text)),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    prop_oneof![
        (key(), text()).prop_map(|(key, text)| Condition::PutIfAbsent(key, text)),
        (key(), text(), any::<bool>())
            .prop_map(|(key, text, knows)| Condition::Swap(key, text, knows)),
        key().prop_map(Condition::Take),
        (key(), text()).prop_map(|(key, text)| Condition::MergeGet(key, text)),
        (key(), text(), any::<bool>())
            .prop_map(|(key, text, accepts)| Condition::MergeIf(key, text, accepts)),
        key().prop_map(Condition::TakeFirst),
    ]
}

fn bound() -> impl Strategy<Value = Bound<Key>> {
    prop_oneof![
        Just(Bound::Unbounded),
        key().prop_map(Bound::Included),
        key().prop_map(Bound::Excluded),
    ]
}

fn range() -> impl Strategy<Value = Range> {
    prop_oneof![
        2 => Just(Range::All),
        2 => (bound(), bound()).prop_map(|(lower, upper)| Range::Between(lower, upper)),
        1 => (key(), 0..5usize).prop_map(|(key, len)| Range::Prefix(key, len)),
    ]
}

fn a_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        2 => key().prop_map(Move::Seek),
        2 => key().prop_map(Move::SeekForPrev),
        6 => Just(Move::Advance),
        6 => Just(Move::Retreat),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        3 => Just(Place(0)),
        2 => Just(Place(1)),
        1 => Just(Place(2)),
        2 => Just(Place(3)),
    ]
}

fn synced() -> impl Strategy<Value = bool> {
    prop_oneof![9 => Just(false), 1 => Just(true)]
}

fn step() -> impl Strategy<Value = Step> {
    let handles = prop_oneof![
        3 => Just(Step::Snapshot),
        3 => any::<u8>().prop_map(Step::ReadSnapshot),
        2 => any::<u8>().prop_map(Step::DropSnapshot),
        3 => (place(), range(), option::of(any::<u8>()))
            .prop_map(|(place, range, snapshot)| Step::OpenIterator { place, range, snapshot }),
        6 => (any::<u8>(), vec(a_move(), 1..12))
            .prop_map(|(iterator, moves)| Step::MoveIterator(iterator, moves)),
        1 => any::<u8>().prop_map(Step::DropIterator),
    ];
    let work = prop_oneof![
        3 => Just(Step::Flush),
        1 => (option::of(place()), bound(), bound())
            .prop_map(|(place, lower, upper)| Step::Compact(place, lower, upper)),
        6 => Just(Step::Background),
        1 => Just(Step::AllBackground),
        2 => (0..60u8, prop_oneof![Just(64 << 10), Just(64 << 20)])
            .prop_map(|(percent, memory)| Step::Gc(percent, memory)),
        1 => Just(Step::Sync),
        1 => Just(Step::CheckAll),
    ];
    let copies = prop_oneof![
        2 => Just(Step::Look),
        1 => option::of(settings()).prop_map(Step::Checkpoint),
    ];
    let ends = prop_oneof![
        1 => option::of(settings()).prop_map(Step::Reopen),
        1 => Just(Step::Kill),
        1 => Just(Step::Crash),
        2 => any::<u64>().prop_map(Step::CrashPartly),
    ];
    let merges = (place(), operator(), key(), text(), 2..80u8, option::of(0..80u8)).prop_map(
        |(place, operator, key, text, count, snapshot_after)| Step::Merges {
            place,
            operator,
            key,
            text,
            count,
            snapshot_after,
        },
    );
    let large_puts = (place(), text(), 1..KEYS).prop_map(|(place, text, count)| Step::LargePuts {
        place,
        text,
        count,
    });
    let writes = || vec((place(), draft()), 0..12);
    let finish = prop_oneof![5 => Just(true), 1 => Just(false)];
    let load = (place(), vec(draft(), 0..16), writes(), finish).prop_map(
        |(place, loaded, meanwhile, finish)| Step::Load { place, loaded, meanwhile, finish },
    );
    let keys = || vec(key(), 0..4);
    let transaction = (
        place(),
        any::<bool>(),
        writes(),
        keys(),
        any::<bool>(),
        prop_oneof![1 => Just(Vec::new()), 2 => vec((place(), draft()), 0..4)],
        prop_oneof![5 => Just(true), 1 => Just(false)],
    );
    let transaction =
        transaction.prop_map(|(place, serial, own, keys, walks, meanwhile, commit)| {
            Step::Transaction { place, serial, own, keys, walks, meanwhile, commit }
        });
    let conditional =
        (place(), condition()).prop_map(|(place, what)| Step::Conditional(place, what));
    let seconds = prop_oneof![4 => 1..8i8, 1 => 8..30i8, 1 => -10..0i8];
    let fading = prop_oneof![
        4 => seconds.prop_map(Step::Clock),
        2 => (draft(), 1..20u8).prop_map(|(draft, lifetime)| Step::Lasting(draft, lifetime)),
    ];
    let follow =
        (any::<bool>(), any::<bool>()).prop_map(|(unsynced, anew)| Step::Follow { unsynced, anew });
    let keyspaces = prop_oneof![
        3 => place().prop_map(Step::CreateKeyspace),
        1 => place().prop_map(Step::DropKeyspace),
    ];
    prop_oneof![
        3 => merges,
        2 => large_puts,
        40 => (place(), draft(), synced())
            .prop_map(|(place, write, sync)| Step::Write { place, write, sync }),
        14 => (writes(), synced())
            .prop_map(|(writes, sync)| Step::Batch { writes, sync }),
        6 => (place(), key()).prop_map(|(place, key)| Step::Get(place, key)),
        3 => (place(), vec(key(), 0..30), option::of(any::<u8>()))
            .prop_map(|(place, keys, snapshot)| Step::MultiGet { place, keys, snapshot }),
        3 => (place(), key()).prop_map(|(place, key)| Step::GetOperands(place, key)),
        16 => handles,
        16 => work,
        2 => copies,
        4 => keyspaces,
        4 => ends,
        3 => load,
        6 => transaction,
        6 => conditional,
        8 => fading,
        6 => follow,
    ]
}
