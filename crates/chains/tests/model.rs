//! The memtable against a map from key to versions, under random histories.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use foldb_chains::{ArenaPool, Chains, Cursor, Full, KeyOrder, Writer, bytes_needed};
use proptest::collection::vec;
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

const CAPACITY: usize = if cfg!(miri) { 32 << 10 } else { 1 << 20 };

/// seqno, kind, operator, value
type Record = (u64, u8, u32, Vec<u8>);

/// Keys with their versions, newest first.
#[derive(Clone, Default)]
struct Model(BTreeMap<Vec<u8>, Vec<Record>>);

impl Model {
    fn insert(&mut self, key: &[u8], record: Record) {
        self.0.entry(key.to_vec()).or_default().insert(0, record);
    }

    fn versions(&self, key: &[u8], max_seqno: u64) -> Vec<Record> {
        let versions = self.0.get(key).cloned().unwrap_or_default();
        versions.into_iter().filter(|record| record.0 <= max_seqno).collect()
    }

    fn records(&self, max_seqno: u64) -> Vec<(Vec<u8>, Record)> {
        let keys = self.0.keys();
        keys.flat_map(|key| {
            self.versions(key, max_seqno).into_iter().map(|record| (key.clone(), record))
        })
        .collect()
    }
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
        4 => vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..4),
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
    /// Creates a cursor, which sorts, and forgets it.
    Order,
    OrderAll,
    /// Keeps a cursor as of now, checked at the end.
    Snapshot,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => (key(), any::<u8>(), any::<u32>(), value())
            .prop_map(|(key, kind, operator, value)| Op::Insert(key, kind, operator, value)),
        2 => Just(Op::Order),
        1 => Just(Op::OrderAll),
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
    let (mut model, mut cursors, mut seqno) = (Model::default(), Vec::new(), 0);
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
            Op::Order => drop(chains.cursor(seqno)),
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
        assert_eq!(chains.len(), model.0.len());
        assert_eq!(chains.records(), model.records(u64::MAX).len() as u64);
        for key in model.0.keys().chain([&absent]) {
            for max_seqno in [max_seqno, u64::MAX] {
                assert_eq!(found(&chains, key, max_seqno), model.versions(key, max_seqno));
            }
        }
        for (seqno, mut cursor) in cursors {
            check_scans(&mut cursor, &model.records(seqno));
        }
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
