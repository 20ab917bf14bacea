//! Comparators under which different bytes are equal: one key with several spellings (H13).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Bound;
use std::sync::Arc;

use foldb::custom::Comparator;
use foldb::env::MemFs;
use foldb::{
    CompactionPreset, Db, Iter, Keyspace, KeyspaceOptions, Options, ReadOptions, Snapshot,
    WriteBatch,
};

use crate::support::{PATH, number, options};

/// An order of keys by the part of them that all spellings share.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spelled {
    /// Letters of either case are equal.
    WithoutCase,
    /// Numbers in brackets, decimal or hexadecimal: LevelDB's own test of such comparators.
    Numbers,
}

impl Spelled {
    /// Returns the same bytes for all spellings of a key, in the order of the keys.
    fn essence(self, key: &[u8]) -> Vec<u8> {
        match self {
            Spelled::WithoutCase => key.to_ascii_lowercase(),
            Spelled::Numbers => {
                let text = std::str::from_utf8(key).unwrap();
                let text = text.strip_prefix('[').unwrap().strip_suffix(']').unwrap();
                let number = match text.strip_prefix("0x") {
                    Some(hex) => u64::from_str_radix(hex, 16),
                    None => text.parse(),
                };
                number.unwrap().to_be_bytes().to_vec()
            }
        }
    }

    /// Returns one of the spellings of the `n`th key.
    fn key(self, n: u64, spelling: u64) -> Vec<u8> {
        match (self, spelling % 4) {
            (Spelled::WithoutCase, spelling) => {
                let key = match n % 3 {
                    0 => format!("key {n:03}"),
                    1 => format!("{}{n:03}", "a long beginning ".repeat(1 + n as usize % 4)),
                    _ => format!("w{n:03}"),
                };
                match spelling {
                    0 => key.to_ascii_uppercase().into_bytes(),
                    1 => key[..1]
                        .to_ascii_uppercase()
                        .into_bytes()
                        .into_iter()
                        .chain(key.bytes().skip(1))
                        .collect(),
                    _ => key.into_bytes(),
                }
            }
            (Spelled::Numbers, 0) => format!("[0x{n:x}]").into_bytes(),
            (Spelled::Numbers, 1) => format!("[0x{n:05x}]").into_bytes(),
            (Spelled::Numbers, 2) => format!("[{n:04}]").into_bytes(),
            (Spelled::Numbers, _) => format!("[{n}]").into_bytes(),
        }
    }
}

impl Comparator for Spelled {
    fn name(&self) -> &str {
        match self {
            Spelled::WithoutCase => "test.without_case",
            Spelled::Numbers => "test.numbers",
        }
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.essence(a).cmp(&self.essence(b))
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        false
    }
}

fn own(fs: &MemFs, order: Spelled) -> Options {
    Options {
        default: KeyspaceOptions { comparator: Some(Arc::new(order)), ..options(fs).default },
        comparators: vec![Arc::new(Spelled::WithoutCase), Arc::new(Spelled::Numbers)],
        ..options(fs)
    }
}

/// LevelDB's own test of a comparator on numbers, before and after a flush and a compaction.
#[test]
fn h13_any_spelling_of_a_number_reads_its_value() {
    let fs = MemFs::new();
    let db = Db::open(PATH, own(&fs, Spelled::Numbers)).unwrap();
    for round in 0..2 {
        db.put("[10]", "ten").unwrap();
        db.put("[0x14]", "twenty").unwrap();
        for step in 0..3 {
            for (key, value) in
                [("[10]", "ten"), ("[0xa]", "ten"), ("[20]", "twenty"), ("[0x14]", "twenty")]
            {
                let read = db.get(key).unwrap();
                assert_eq!(read.unwrap(), value.as_bytes(), "{key}, {round}, {step}");
            }
            assert!(db.get("[15]").unwrap().is_none() && db.get("[0xf]").unwrap().is_none());
            match step {
                0 => db.flush().unwrap(),
                _ => db.compact(..).unwrap(),
            }
        }
    }
    for batch in 0..3 {
        for n in 0..1000 {
            db.put(format!("[{}]", n * 10), format!("[{}]", n * 10)).unwrap();
        }
        db.flush().unwrap();
        db.compact("[0]".."[1000000]").unwrap();
        assert_eq!(db.iter().unwrap().count(), 1000, "batch {batch}");
    }
}

/// The newest write wins or merges onto the others, and its spelling is shown.
#[test]
fn h13_the_newest_write_gives_value_and_spelling() {
    let fs = MemFs::new();
    let db = Db::open(PATH, own(&fs, Spelled::WithoutCase)).unwrap();
    db.merge("hits", number(1)).unwrap();
    db.merge("Hits", number(2)).unwrap();
    let snapshot = db.snapshot();
    db.merge("HITS", number(4)).unwrap();
    db.put("miss", "1").unwrap();
    db.delete("MISS").unwrap();
    let at = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    for step in 0..3 {
        let entries = |options: &ReadOptions| {
            let iter = db.default_keyspace().with(options).range(..).unwrap();
            iter.map(Result::unwrap).map(|(key, value)| (key, value.to_vec())).collect::<Vec<_>>()
        };
        let now = ReadOptions::default();
        assert_eq!(entries(&now), [(b"HITS".to_vec(), number(7).to_vec())], "{step}");
        assert_eq!(entries(&at), [(b"Hits".to_vec(), number(3).to_vec())], "{step}");
        assert_eq!(db.get("hItS").unwrap().unwrap(), number(7));
        match step {
            0 => db.flush().unwrap(),
            _ => db.compact(..).unwrap(),
        }
    }
    db.delete("hITs").unwrap();
    assert!(db.get("HITS").unwrap().is_none());
    assert_eq!(db.iter().unwrap().count(), 0);
}

/// For each key, by its essence: the spelling of its newest write, and its value.
type Entries = BTreeMap<Vec<u8>, (Vec<u8>, Vec<u8>)>;

#[derive(Clone, Debug)]
enum Write {
    Put(Vec<u8>, Vec<u8>),
    Merge(Vec<u8>, u64),
    Delete(Vec<u8>),
    DeleteRange(Bound<Vec<u8>>, Bound<Vec<u8>>),
}

fn apply(order: Spelled, entries: &mut Entries, write: &Write) {
    match write {
        Write::Put(key, value) => {
            entries.insert(order.essence(key), (key.clone(), value.clone()));
        }
        Write::Merge(key, operand) => {
            let essence = order.essence(key);
            let base = entries.get(&essence).map_or(0, |(_, value)| {
                u64::from_le_bytes(value[..].try_into().expect("all values are counts"))
            });
            let sum = number(base.wrapping_add(*operand)).to_vec();
            entries.insert(essence, (key.clone(), sum));
        }
        Write::Delete(key) => {
            entries.remove(&order.essence(key));
        }
        Write::DeleteRange(from, to) => {
            entries.retain(|key, _| !is_between(order, key, from, to));
        }
    }
}

fn is_between(order: Spelled, key: &[u8], from: &Bound<Vec<u8>>, to: &Bound<Vec<u8>>) -> bool {
    let above = match from {
        Bound::Unbounded => true,
        Bound::Included(from) => key >= &order.essence(from)[..],
        Bound::Excluded(from) => key > &order.essence(from)[..],
    };
    let below = match to {
        Bound::Unbounded => true,
        Bound::Included(to) => key <= &order.essence(to)[..],
        Bound::Excluded(to) => key < &order.essence(to)[..],
    };
    above && below
}

/// Returns the key of a bound.
fn key_of(bound: &Bound<Vec<u8>>) -> Option<&[u8]> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const KEYS: u64 = 60;

/// The two keyspaces of a run, and what the model expects of each.
struct Machine {
    fs: MemFs,
    preset: CompactionPreset,
    separated: bool,
    random: Random,
    db: Option<Db>,
    worlds: [Entries; 2],
    snapshots: Vec<(Snapshot, [Entries; 2])>,
}

const ORDERS: [Spelled; 2] = [Spelled::WithoutCase, Spelled::Numbers];

impl Machine {
    fn new(seed: u64) -> Machine {
        let presets =
            [CompactionPreset::LazyLeveled, CompactionPreset::Leveled, CompactionPreset::Tiered];
        let mut machine = Machine {
            fs: MemFs::new(),
            preset: presets[seed as usize % 3],
            separated: seed % 4 == 3,
            random: Random(seed),
            db: None,
            worlds: Default::default(),
            snapshots: Vec::new(),
        };
        machine.open();
        machine
    }

    fn open(&mut self) {
        let options = Options {
            write_buffer_size: 16 << 10,
            target_file_size: 4 << 10,
            block_size: 512,
            level0_compaction_trigger: 2,
            default: KeyspaceOptions {
                compaction: Some(self.preset),
                value_separation_min: self.separated.then_some(8),
                ..own(&self.fs, ORDERS[0]).default
            },
            ..own(&self.fs, ORDERS[0])
        };
        let db = Db::open(PATH, options).unwrap();
        let numbers = KeyspaceOptions {
            comparator: Some(Arc::new(ORDERS[1])),
            merge_operator: Some("uint64add".to_owned()),
            ..KeyspaceOptions::default()
        };
        db.keyspace_or_create("numbers", numbers).unwrap();
        self.db = Some(db);
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("it is open")
    }

    fn keyspace(&self, at: usize) -> Keyspace {
        match at {
            0 => self.db().default_keyspace().clone(),
            _ => self.db().keyspace("numbers").unwrap(),
        }
    }

    fn key(&mut self, at: usize) -> Vec<u8> {
        let (n, spelling) = (self.random.below(KEYS), self.random.below(100));
        ORDERS[at].key(n, spelling)
    }

    fn bound(&mut self, at: usize) -> Bound<Vec<u8>> {
        match self.random.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(self.key(at)),
            _ => Bound::Excluded(self.key(at)),
        }
    }

    /// Two bounds in their order, which the engine demands.
    fn range(&mut self, at: usize) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let (from, to) = (self.bound(at), self.bound(at));
        match (key_of(&from), key_of(&to)) {
            (Some(low), Some(high)) if ORDERS[at].compare(low, high).is_gt() => (to, from),
            _ => (from, to),
        }
    }

    fn write(&mut self, at: usize) -> Write {
        match self.random.below(20) {
            0..8 => Write::Put(self.key(at), number(self.random.below(1000)).to_vec()),
            8..15 => Write::Merge(self.key(at), self.random.below(1000)),
            15..19 => Write::Delete(self.key(at)),
            _ => {
                let (from, to) = self.range(at);
                Write::DeleteRange(from, to)
            }
        }
    }

    fn write_one(&mut self) {
        let at = self.random.below(2) as usize;
        let write = self.write(at);
        let keyspace = self.keyspace(at);
        match &write {
            Write::Put(key, value) => keyspace.put(key, value),
            Write::Merge(key, operand) => keyspace.merge(key, number(*operand)),
            Write::Delete(key) => keyspace.delete(key),
            Write::DeleteRange(from, to) => keyspace.delete_range((from.clone(), to.clone())),
        }
        .unwrap();
        apply(ORDERS[at], &mut self.worlds[at], &write);
    }

    fn write_batch(&mut self) {
        let mut batch = WriteBatch::new();
        for _ in 0..self.random.below(12) {
            let at = self.random.below(2) as usize;
            let (write, keyspace) = (self.write(at), self.keyspace(at));
            match &write {
                Write::Put(key, value) => batch.put_in(&keyspace, key, value),
                Write::Merge(key, operand) => batch.merge_in(&keyspace, key, number(*operand)),
                Write::Delete(key) => batch.delete_in(&keyspace, key),
                Write::DeleteRange(from, to) => {
                    batch.delete_range_in(&keyspace, (from.clone(), to.clone()))
                }
            };
            apply(ORDERS[at], &mut self.worlds[at], &write);
        }
        self.db().write(&batch).unwrap();
    }

    fn step(&mut self) {
        match self.random.below(120) {
            0 => self.db().flush().unwrap(),
            1 => {
                let at = self.random.below(2) as usize;
                let range = self.range(at);
                self.keyspace(at).compact(range).unwrap();
            }
            2 => {
                self.snapshots.clear();
                drop(self.db.take());
                self.open();
            }
            3..6 => {
                let snapshot = self.db().snapshot();
                self.snapshots.push((snapshot, self.worlds.clone()));
                if self.snapshots.len() > 3 {
                    self.snapshots.remove(0);
                }
            }
            6..10 => self.check(),
            10..20 => _ = self.db().step_background().unwrap(),
            20..40 => self.write_batch(),
            _ => self.write_one(),
        }
    }

    fn check(&mut self) {
        let now = (ReadOptions::default(), self.worlds.clone());
        let then = self.snapshots.iter().map(|(snapshot, worlds)| {
            let options =
                ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
            (options, worlds.clone())
        });
        for (options, worlds) in std::iter::once(now).chain(then).collect::<Vec<_>>() {
            for (at, world) in worlds.iter().enumerate() {
                self.check_gets(at, world, &options);
                self.check_walks(at, world, &options);
            }
        }
    }

    fn check_gets(&mut self, at: usize, world: &Entries, options: &ReadOptions) {
        let (order, keyspace) = (ORDERS[at], self.keyspace(at));
        let keys: Vec<Vec<u8>> = (0..KEYS).map(|n| order.key(n, self.random.below(100))).collect();
        let answers = keyspace.with(options).multi_get(&keys).unwrap();
        for (key, together) in keys.iter().zip(answers) {
            let expected = world.get(&order.essence(key)).map(|(_, value)| &value[..]);
            let value = keyspace.with(options).get(key).unwrap();
            assert_eq!(value.as_deref(), expected, "{}", key.escape_ascii());
            assert_eq!(together.unwrap().as_deref(), expected, "{}", key.escape_ascii());
        }
    }

    /// Walks in both directions, from the ends and from random places, in a random range.
    fn check_walks(&mut self, at: usize, world: &Entries, options: &ReadOptions) {
        let (order, keyspace) = (ORDERS[at], self.keyspace(at));
        let all: Vec<_> = world.values().cloned().collect();
        let walked =
            |iter: Iter| iter.map(Result::unwrap).map(|(key, value)| (key, value.to_vec()));
        assert!(walked(keyspace.with(options).range(..).unwrap()).eq(all.clone()), "forwards");
        let mut backwards: Vec<_> = keyspace
            .with(options)
            .range(..)
            .unwrap()
            .rev()
            .map(Result::unwrap)
            .map(|(key, value)| (key, value.to_vec()))
            .collect();
        backwards.reverse();
        assert_eq!(backwards, all, "backwards");

        let (from, to) = self.range(at);
        let inside: Vec<_> = world
            .iter()
            .filter(|(key, _)| is_between(order, key, &from, &to))
            .map(|(key, entry)| (key.clone(), entry.clone()))
            .collect();
        let mut iter = keyspace.with(options).range((from, to)).unwrap();
        let mut place: Option<usize> = None;
        for _ in 0..20 {
            let target = self.key(at);
            let rank = |include: bool| {
                let target = order.essence(&target);
                inside.partition_point(|(key, _)| *key < target || include && *key == target)
            };
            let found = match (self.random.below(6), place) {
                (0, _) => (iter.seek_to_first().unwrap(), place = Some(0)).0,
                (1, _) => (iter.seek_to_last().unwrap(), place = inside.len().checked_sub(1)).0,
                (2, _) => (iter.seek(&target).unwrap(), place = Some(rank(false))).0,
                (3, _) => {
                    (iter.seek_for_prev(&target).unwrap(), place = rank(true).checked_sub(1)).0
                }
                (4, Some(now)) => (iter.advance().unwrap(), place = Some(now + 1)).0,
                (5, Some(now)) => (iter.retreat().unwrap(), place = now.checked_sub(1)).0,
                _ => continue,
            };
            let expected = place.and_then(|place| inside.get(place)).map(|(_, entry)| entry);
            let shown = found.then(|| (iter.key().to_vec(), iter.value().unwrap().to_vec()));
            assert_eq!(shown.as_ref(), expected);
            place = place.filter(|_| expected.is_some());
        }
    }
}

/// Random writes, snapshots, flushes, compactions and reopens of two keyspaces against a model.
#[test]
fn h13_spelled_keys_are_those_of_the_model() {
    for seed in 0..40 {
        let mut machine = Machine::new(seed);
        for _ in 0..1500 {
            machine.step();
        }
        machine.db().flush().unwrap();
        machine.check();
        machine.keyspace(0).compact(..).unwrap();
        machine.keyspace(1).compact(..).unwrap();
        machine.check();
        machine.db().verify().unwrap();
    }
}
