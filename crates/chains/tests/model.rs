//! Compares the memtable with a map from key to versions, under random histories.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use foldb_chains::{
    ArenaPool, Chains, Cursor, Full, Inserted, KeyOrder, NewRecord, Writer, bytes_needed,
    folded_bytes_needed,
};
use proptest::collection::vec;
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

const CAPACITY: usize = if cfg!(miri) { 32 << 10 } else { 1 << 20 };

/// seqno, kind, operator, value
type Record = (u64, u8, u32, Vec<u8>);

/// A version, and the versions that it was folded from, newest first.
#[derive(Clone, Debug)]
struct Entry {
    record: Record,
    unfolded: Vec<Entry>,
}

impl Entry {
    fn first(&self) -> u64 {
        self.unfolded.last().map_or(self.record.0, Entry::first)
    }

    /// Adds the records that a reader sees. `sees_whole(first, last)` says whether the reader sees
    /// all versions of a fold.
    fn show(&self, sees_whole: &impl Fn(u64, u64) -> bool, shown: &mut Vec<Record>) {
        if self.unfolded.is_empty() || sees_whole(self.first(), self.record.0) {
            shown.push(self.record.clone());
        } else {
            self.unfolded.iter().for_each(|entry| entry.show(sees_whole, shown));
        }
    }
}

/// Keys with their versions, newest first.
#[derive(Clone, Default)]
struct Model {
    keys: BTreeMap<Vec<u8>, Vec<Entry>>,
    records: u64,
}

impl Model {
    fn insert(&mut self, key: &[u8], record: Record) {
        let entry = Entry { record, unfolded: Vec::new() };
        self.keys.entry(key.to_vec()).or_default().insert(0, entry);
        self.records += 1;
    }

    fn versions(&self, key: &[u8], max_seqno: u64) -> Vec<Record> {
        let mut versions = Vec::new();
        for entry in self.keys.get(key).into_iter().flatten() {
            entry.show(&|_, last| last <= max_seqno, &mut versions);
        }
        versions.retain(|record| record.0 <= max_seqno);
        versions
    }

    fn records(&self, max_seqno: u64) -> Vec<(Vec<u8>, Record)> {
        let keys = self.keys.keys();
        keys.flat_map(|key| {
            self.versions(key, max_seqno).into_iter().map(|record| (key.clone(), record))
        })
        .collect()
    }

    /// Returns the records that a flush for these snapshots sees.
    fn records_for(&self, snapshots: &[u64]) -> Vec<(Vec<u8>, Record)> {
        let whole = |first, last| !snapshots.iter().any(|s| (first..last).contains(s));
        let mut all = Vec::new();
        for (key, entries) in &self.keys {
            let mut shown = Vec::new();
            entries.iter().for_each(|entry| entry.show(&whole, &mut shown));
            all.extend(shown.into_iter().map(|record| (key.clone(), record)));
        }
        all
    }

    /// The newest versions of a key that can be folded, at most `count`: not the oldest.
    fn fold(&mut self, key: &[u8], count: usize, value: &[u8]) -> Option<Record> {
        let entries = self.keys.get_mut(key)?;
        let count = count.min(entries.len() - 1);
        if count < 2 {
            return None;
        }
        let unfolded: Vec<Entry> = entries.drain(..count).collect();
        let newest = unfolded[0].record.clone();
        let record = (newest.0, newest.1, newest.2, value.to_vec());
        entries.insert(0, Entry { record: record.clone(), unfolded });
        Some(record)
    }
}

/// Adds words.
fn add(a: [u8; 8], b: &[u8]) -> Option<[u8; 8]> {
    let b = u64::from_le_bytes(b.try_into().ok()?);
    Some(u64::from_le_bytes(a).wrapping_add(b).to_le_bytes())
}

fn found(chains: &Chains, key: &[u8], max_seqno: u64) -> Vec<Record> {
    let Some(node) = chains.find(xxh3_64(key), key) else { return Vec::new() };
    assert_eq!(node.key(), key);
    let versions = node.versions(max_seqno);
    versions.map(|v| (v.seqno, v.kind, v.operator, v.value.to_vec())).collect()
}

fn current(cursor: &Cursor) -> Option<(Vec<u8>, Record)> {
    cursor.valid().then(|| {
        let record =
            (cursor.seqno(), cursor.kind(), cursor.operator(), cursor.pinned_value().to_vec());
        assert_eq!(cursor.value(), record.3);
        (cursor.key().to_vec(), record)
    })
}

/// Short keys, keys with long common beginnings, zero bytes, keys too long for a node.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..4),
        3 => (0..3u8).prop_map(|n| vec![n]),
        2 => (0..40u32).prop_map(|n| format!("user{n:016}").into_bytes()),
        1 => (0..9u8, 0..60usize).prop_map(|(n, len)| { let mut k = vec![7; len]; k.push(n); k }),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => vec(any::<u8>(), 0..12), 1 => vec(any::<u8>(), 0..200)]
}

#[derive(Clone, Debug)]
enum Op {
    Insert(Vec<u8>, u8, u32, Vec<u8>),
    /// Inserts a word, or adds it in place.
    Add(Vec<u8>, u32, u64),
    /// Folds this number of the newest versions to this value.
    Fold(Vec<u8>, usize, Vec<u8>),
    /// Creates a cursor, which sorts, and forgets it.
    Order,
    OrderAll,
    Advance,
    Merge,
    /// Keeps a cursor as of now, checked at the end.
    Snapshot,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => (key(), any::<u8>(), any::<u32>(), value())
            .prop_map(|(key, kind, operator, value)| Op::Insert(key, kind, operator, value)),
        20 => (key(), 0..2u32, any::<u64>())
            .prop_map(|(key, operator, word)| Op::Add(key, operator, word)),
        10 => (key(), 2..9usize, prop_oneof![value(), vec(any::<u8>(), 8)])
            .prop_map(|(key, count, value)| Op::Fold(key, count, value)),
        2 => Just(Op::Order),
        1 => Just(Op::OrderAll),
        1 => Just(Op::Advance),
        1 => Just(Op::Merge),
        1 => Just(Op::Snapshot),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    First,
    Last,
    Seek(Vec<u8>),
    SeekBefore(Vec<u8>),
    Next(usize),
    NextKey,
    Prev(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::First),
        1 => Just(Step::Last),
        3 => key().prop_map(Step::Seek),
        3 => key().prop_map(Step::SeekBefore),
        6 => (1..6usize).prop_map(Step::Next),
        3 => Just(Step::NextKey),
        6 => (1..6usize).prop_map(Step::Prev),
    ]
}

/// The model's cursor: an index into all records, or nowhere.
struct Reference {
    records: Vec<(Vec<u8>, Record)>,
    at: Option<usize>,
}

impl Reference {
    fn step(&mut self, step: &Step) {
        let len = self.records.len();
        let less = |key: &Vec<u8>| self.records.partition_point(|(k, _)| k < key);
        match step {
            Step::First => self.at = Some(0),
            Step::Last => self.at = len.checked_sub(1),
            Step::Seek(key) => self.at = Some(less(key)),
            Step::SeekBefore(key) => self.at = less(key).checked_sub(1),
            Step::Next(n) => self.at = self.at.map(|at| at + n),
            Step::Prev(n) => self.at = self.at.and_then(|at| at.checked_sub(*n)),
            Step::NextKey => {
                self.at = self.at.map(|at| {
                    let key = &self.records[at].0;
                    self.records.partition_point(|(k, _)| k <= key)
                });
            }
        }
        self.at = self.at.filter(|&at| at < len);
    }

    fn current(&self) -> Option<(Vec<u8>, Record)> {
        self.at.map(|at| self.records[at].clone())
    }
}

fn walk(cursor: &mut Cursor, step: &Step) {
    match step {
        Step::First => cursor.seek_to_first(),
        Step::Last => cursor.seek_to_last(),
        Step::Seek(key) => cursor.seek(key),
        Step::SeekBefore(key) => cursor.seek_before(key),
        Step::Next(n) => (0..*n).for_each(|_| cursor.next()),
        Step::NextKey => cursor.next_key(),
        Step::Prev(n) => (0..*n).for_each(|_| cursor.prev()),
    }
}

fn check_walk(cursor: &mut Cursor, records: Vec<(Vec<u8>, Record)>, steps: &[Step]) {
    let mut reference = Reference { records, at: None };
    for step in steps {
        walk(cursor, step);
        reference.step(step);
        assert_eq!(current(cursor), reference.current(), "after {step:?}");
    }
}

fn check_scans(cursor: &mut Cursor, records: &[(Vec<u8>, Record)]) {
    let mut seen = Vec::new();
    cursor.seek_to_first();
    while let Some(record) = current(cursor) {
        seen.push(record);
        cursor.next();
    }
    assert_eq!(seen, records);
    seen.clear();
    cursor.seek_to_last();
    while let Some(record) = current(cursor) {
        seen.push(record);
        cursor.prev();
    }
    seen.reverse();
    assert_eq!(seen, records);
}

fn apply(ops: &[Op]) -> (Writer, Arc<Chains>, Model, Vec<(u64, Cursor)>) {
    let pool = ArenaPool::new(0);
    let (mut writer, chains) = Chains::create(&pool, CAPACITY, KeyOrder::Bytewise);
    let (mut model, mut seqno) = (Model::default(), 0);
    let mut cursors: Vec<(u64, Cursor)> = Vec::new();
    for op in ops {
        match op {
            Op::Insert(key, kind, operator, value) => {
                seqno += 1;
                let needed = bytes_needed(key.len(), value.len());
                let (before, fits) = (chains.free_bytes(), chains.fits(needed));
                match writer.insert(xxh3_64(key), key, seqno, *kind, *operator, value) {
                    Ok(()) => model.insert(key, (seqno, *kind, *operator, value.clone())),
                    Err(Full) => assert!(!fits, "what fits was refused"),
                }
                assert!(before - chains.free_bytes() <= needed);
            }
            Op::Add(key, operator, word) => {
                seqno += 1;
                let word = word.to_le_bytes();
                // A cursor pins the records that it shows.
                let floor = cursors.last().map_or(0, |(seqno, _)| *seqno);
                let record = NewRecord { seqno, kind: 9, operator: *operator, value: &word };
                let added =
                    writer.insert_or_fold(xxh3_64(key), key, record, floor, |old: [u8; 8]| {
                        add(old, &word)
                    });
                let newest = model.keys.get_mut(key).map(|entries| &mut entries[0]);
                let newest = newest.filter(|newest| newest.unfolded.is_empty());
                let newest = newest.map(|newest| &mut newest.record);
                let target = newest.filter(|newest| {
                    newest.0 > floor && (newest.1, newest.2, newest.3.len()) == (9, *operator, 8)
                });
                match (added, target) {
                    (Ok(Inserted::InPlace), Some(newest)) => {
                        let old = newest.3[..].try_into().unwrap();
                        newest.3 = add(old, &word).unwrap().to_vec();
                    }
                    (Ok(Inserted::Version(_)), None) => {
                        model.insert(key, (seqno, 9, *operator, word.to_vec()));
                    }
                    (Err(Full), None) => {}
                    (added, target) => panic!("{added:?} where {target:?} was the newest"),
                }
            }
            Op::Fold(key, count, value) => {
                let foldable = chains.find(xxh3_64(key), key).map_or(0, |n| n.foldable().count());
                let listed = model.keys.get(key).map_or(0, |entries| entries.len() - 1);
                assert_eq!(foldable, listed);
                let count = (*count).min(foldable);
                if count >= 2 && chains.fits(folded_bytes_needed(value.len())) {
                    let (_, kind, operator, _) = model.fold(key, count, value).unwrap();
                    let hash = xxh3_64(key);
                    writer.fold_newest(hash, key, count, kind, operator, value).unwrap();
                }
            }
            Op::Order => drop(chains.cursor(seqno)),
            Op::Advance => {
                chains.advance_order();
            }
            Op::Merge => chains.merge_stretches(),
            Op::OrderAll => chains.order_all(),
            Op::Snapshot => cursors.push((seqno, chains.cursor(seqno))),
        }
    }
    (writer, chains, model, cursors)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 200 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn agrees_with_a_map_of_versions(
        ops in vec(op(), 0..if cfg!(miri) { 60 } else { 800 }),
        steps in vec(step(), 0..if cfg!(miri) { 20 } else { 100 }),
        max_seqno in 0..800u64,
        absent in key(),
    ) {
        let (_writer, chains, model, cursors) = apply(&ops);
        assert_eq!(chains.len(), model.keys.len());
        assert_eq!(chains.records(), model.records);
        for key in model.keys.keys().chain([&absent]) {
            for max_seqno in [max_seqno, u64::MAX] {
                assert_eq!(found(&chains, key, max_seqno), model.versions(key, max_seqno));
            }
        }
        for (seqno, mut cursor) in cursors {
            check_scans(&mut cursor, &model.records(seqno));
        }
        let snapshots = [max_seqno / 2, max_seqno, max_seqno + 9];
        let for_flush = model.records_for(&snapshots);
        check_scans(&mut chains.cursor_for(&snapshots), &for_flush);
        check_walk(&mut chains.cursor_for(&snapshots), for_flush, &steps);
        let mut cursor = chains.cursor(max_seqno);
        check_walk(&mut cursor, model.records(max_seqno), &steps);
        chains.order_all();
        let mut ordered = chains.cursor(max_seqno);
        check_walk(&mut ordered, model.records(max_seqno), &steps);
        check_scans(&mut ordered, &model.records(max_seqno));
    }

    #[test]
    fn a_custom_order_is_kept(
        keys in vec(key(), 1..if cfg!(miri) { 20 } else { 400 }),
        target in key(),
    ) {
        let pool = ArenaPool::new(0);
        let descending = KeyOrder::Custom(Arc::new(|a, b| b.cmp(a)));
        let (mut writer, chains) = Chains::create(&pool, CAPACITY, descending);
        let mut model = BTreeMap::new();
        for (seqno, key) in (1..).zip(&keys) {
            writer.insert(xxh3_64(key), key, seqno, 0, 0, b"").unwrap();
            model.insert(Reverse(key.clone()), ());
            if seqno % 7 == 0 {
                chains.cursor(seqno);
            }
        }
        let mut cursor = chains.cursor(u64::MAX);
        cursor.seek_to_first();
        for Reverse(key) in model.keys() {
            assert_eq!(cursor.key(), key);
            cursor.next_key();
        }
        assert!(!cursor.valid());
        cursor.seek(&target);
        let expected = model.range(Reverse(target.clone())..).next();
        assert_eq!(cursor.valid().then(|| cursor.key()), expected.map(|(Reverse(key), ())| &key[..]));
        cursor.seek_before(&target);
        let expected = model.range(..Reverse(target)).next_back();
        assert_eq!(cursor.valid().then(|| cursor.key()), expected.map(|(Reverse(key), ())| &key[..]));
    }
}
