//! Checks the live and dead bytes after random sequences of operations. The sums in a version must
//! agree with the records of its tables. After a full compaction they must also agree with the keys
//! and values.

use std::collections::{BTreeMap, HashMap, HashSet};

use foldb_env::{Env, MemFs};
use proptest::prelude::*;

use crate::db::GcOptions;
use crate::db::handle::database::Db;
use crate::key::Kind;
use crate::options::{KeyspaceOptions, Options};
use crate::separated::Address;
use crate::settings::Knobs;
use crate::table::{CursorOptions, TableCursor};

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    Delete(u8),
    Flush,
    Background,
    Compact,
    Merge(u8),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..40u8, 0..200u8).prop_map(|(key, len)| Step::Put(key, len)),
        3 => (0..40u8).prop_map(Step::Delete),
        3 => Just(Step::Flush),
        3 => Just(Step::Background),
        1 => Just(Step::Compact),
        1 => (0..60u8).prop_map(Step::Merge),
        1 => Just(Step::Reopen),
    ]
}

const MIN: usize = 50;

fn open(fs: &MemFs) -> Db {
    let options = Options {
        create_if_missing: true,
        env: Env::in_memory(fs.clone()),
        default: KeyspaceOptions { value_separation_min: Some(MIN), ..KeyspaceOptions::default() },
        knobs: Knobs { segment_size: 4096, ..Knobs::default() },
        target_file_size: 1024,
        block_size: 256,
        ..Options::default()
    };
    Db::open("db", options).unwrap()
}

/// Adds up the references of each file's records, and compares the sums with those of the version.
fn check_sums(db: &Db) {
    let keyspace = db.core().keyspaces.default();
    let version = keyspace.view.load_full().version.clone();
    let mut sums: HashMap<u64, u64> = HashMap::new();
    let mut seen = HashSet::new();
    for table in version.tables().filter(|table| seen.insert(table.file.number)) {
        let reader = keyspace.tables.get_owned(&table.file).unwrap();
        let mut cursor = TableCursor::new(reader, CursorOptions::walk());
        cursor.seek_to_first().unwrap();
        while cursor.valid() {
            if cursor.header().kind == Kind::Separated {
                let address = Address::decode(cursor.value()).unwrap();
                *sums.entry(address.segment).or_default() += address.record_len();
            }
            cursor.next().unwrap();
        }
    }
    let said: HashMap<u64, u64> = version
        .segments
        .iter()
        .map(|segment| (segment.placement.segment, segment.referenced()))
        .filter(|(_, bytes)| *bytes > 0)
        .collect();
    assert_eq!(said, sums);
}

/// Checks, after a full compaction, that all bytes except those of current values are dead.
fn check_dead(db: &Db, model: &BTreeMap<u8, Vec<u8>>) {
    let version = db.core().keyspaces.default().view.load_full().version.clone();
    let inflow: u64 = version.segments.iter().map(|segment| segment.placement.records_len).sum();
    let live: u64 = version.segments.iter().map(|segment| segment.live()).sum();
    let separated = model.values().filter(|value| value.len() >= MIN);
    let expected: u64 = separated
        .map(|value| {
            let len = value.len() as u64;
            Address { segment: 0, position: 0, len, key_part: 0 }.record_len()
        })
        .sum();
    assert_eq!(live, expected, "live bytes are those of the keys' values");
    let files: u64 = version.segments.files().values().map(|file| file.dead()).sum();
    assert_eq!(files == 0, inflow == live, "the rest of the files is dead");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn all_bytes_but_current_values_are_dead(steps in proptest::collection::vec(step(), 1..120)) {
        let fs = MemFs::new();
        let mut db = open(&fs);
        let mut model = BTreeMap::new();
        for (time, step) in steps.into_iter().enumerate() {
            match step {
                Step::Put(key, len) => {
                    let value = vec![time as u8; len.into()];
                    db.put([key], &value).unwrap();
                    model.insert(key, value);
                }
                Step::Delete(key) => {
                    db.delete([key]).unwrap();
                    model.remove(&key);
                }
                Step::Flush => db.flush().unwrap(),
                Step::Background => {
                    db.step_background().unwrap();
                }
                Step::Compact => {
                    db.compact(..).unwrap();
                    check_dead(&db, &model);
                }
                Step::Merge(percent) => {
                    let max_dead_fraction = f64::from(percent) / 100.0;
                    let options = GcOptions { max_dead_fraction, ..GcOptions::default() };
                    db.with(&options).collect_garbage().unwrap();
                }
                Step::Reopen => {
                    drop(db);
                    db = open(&fs);
                }
            }
            check_sums(&db);
        }
        db.compact(..).unwrap();
        check_dead(&db, &model);
        let none = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
        db.with(&none).collect_garbage().unwrap();
        check_sums(&db);
        check_dead(&db, &model);
        let version = db.core().keyspaces.default().view.load_full().version.clone();
        for (number, file) in version.segments.files() {
            prop_assert_eq!(file.dead(), 0, "file {}", number);
        }
        for (key, value) in &model {
            prop_assert_eq!(&*db.get([*key]).unwrap().unwrap(), &value[..]);
        }
    }
}
