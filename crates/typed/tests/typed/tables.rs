//! Tables against a model, over reopens and transactions.

use std::collections::BTreeMap;
use std::ops::Bound;

use foldb_typed::foldb::env::MemFs;
use foldb_typed::foldb::{Db, ErrorKind, ReadOptions, WriteOptions};
use foldb_typed::{Bounds, Entries, Error, Raw, Result, Table};
use proptest::prelude::*;

use crate::support::{new, open};

type Key = (String, i8, Vec<u8>);
type Model = BTreeMap<Key, u32>;

fn key() -> impl Strategy<Value = Key> {
    (
        "[\u{0}\u{1}ab]{0,2}",
        -2..3i8,
        proptest::collection::vec(prop_oneof![0..2u8, Just(255)], 0..2),
    )
}

#[derive(Clone, Debug)]
enum Step {
    Put(Key, u32),
    PutIfAbsent(Key, u32),
    Update(Key, Option<u32>),
    Delete(Key),
    Take(Key),
    TakeFirst(String),
    DeleteRange(String),
    /// Steps in one transaction, and whether it is committed.
    Together(Vec<Step>, bool),
    Flush,
    Reopen,
}

fn simple_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (key(), any::<u32>()).prop_map(|(key, value)| Step::Put(key, value)),
        1 => (key(), any::<u32>()).prop_map(|(key, value)| Step::PutIfAbsent(key, value)),
        1 => (key(), any::<Option<u32>>()).prop_map(|(key, value)| Step::Update(key, value)),
        1 => key().prop_map(Step::Delete),
        1 => key().prop_map(Step::Take),
        1 => "[ab]{0,1}".prop_map(Step::TakeFirst),
        1 => "[ab]{0,2}".prop_map(Step::DeleteRange),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => simple_step(),
        2 => (proptest::collection::vec(simple_step(), 0..5), any::<bool>())
            .prop_map(|(steps, is_committed)| Step::Together(steps, is_committed)),
        1 => Just(Step::Flush),
        1 => Just(Step::Reopen),
    ]
}

/// Makes a step in the table and in the model, and compares what both return.
fn make<A>(
    table: &Table<Key, u32, foldb_typed::Postcard, A>,
    model: &mut Model,
    step: &Step,
) -> Result<()>
where
    A: foldb_typed::Writes,
{
    match step {
        Step::Put(key, value) => {
            table.put(key, value)?;
            model.insert(key.clone(), *value);
        }
        Step::PutIfAbsent(key, value) => {
            let is_absent = !model.contains_key(key);
            assert_eq!(table.put_if_absent(key, value)?, is_absent);
            model.entry(key.clone()).or_insert(*value);
        }
        Step::Update(key, value) => {
            let mut seen = None;
            let updated = table.update(key, |found| {
                seen = Some(found);
                *value
            })?;
            assert_eq!((seen, updated), (Some(model.get(key).copied()), *value));
            model.remove(key);
            model.extend(value.map(|value| (key.clone(), value)));
        }
        Step::Delete(key) => {
            table.delete(key)?;
            model.remove(key);
        }
        Step::Take(key) => assert_eq!(table.take(key)?, model.remove(key)),
        Step::TakeFirst(first) => {
            let found = model.keys().find(|key| key.0 == *first).cloned();
            let found = found.map(|key| (key.clone(), model.remove(&key).unwrap()));
            assert_eq!(table.take_first((first, ..))?, found);
        }
        Step::DeleteRange(first) => {
            table.delete_range((first, ..))?;
            model.retain(|key, _| key.0 != *first);
        }
        Step::Together(..) | Step::Flush | Step::Reopen => unreachable!("it is no simple step"),
    }
    Ok(())
}

fn open_table(db: &Db) -> Table<Key, u32> {
    Table::open(db, "table").unwrap()
}

#[track_caller]
fn assert_same(table: &Table<Key, u32>, model: &Model) {
    let found: Vec<_> = table.iter().unwrap().collect::<Result<_>>().unwrap();
    let expected: Vec<_> = model.iter().map(|(key, value)| (key.clone(), *value)).collect();
    assert_eq!(found, expected);
    for (key, value) in model {
        assert_eq!(table.get(key).unwrap(), Some(*value));
        assert!(table.contains((&key.0, key.1, &key.2)).unwrap());
    }
}

fn run(steps: &[Step]) {
    let fs = MemFs::new();
    let mut db = open(&fs);
    let (mut table, mut model) = (open_table(&db), Model::new());
    for step in steps {
        match step {
            Step::Together(steps, is_committed) => {
                let mut changed = model.clone();
                let outcome = db.transact(|transaction| {
                    changed = model.clone();
                    let table = table.within(transaction);
                    steps.iter().try_for_each(|step| make(&table, &mut changed, step))?;
                    let found: Vec<_> = table.iter()?.collect::<Result<_>>()?;
                    assert!(found.into_iter().eq(changed.clone()), "it reads its own writes");
                    if *is_committed { Ok(()) } else { Err(Error::aborted("given up")) }
                });
                match outcome {
                    Ok(()) => model = changed,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Aborted),
                }
            }
            Step::Flush => db.flush().unwrap(),
            Step::Reopen => {
                drop((table, db));
                db = open(&fs);
                table = open_table(&db);
            }
            simple => make(&table, &mut model, simple).unwrap(),
        }
    }
    assert_same(&table, &model);
}

/// Checks a range from both ends against the keys that lie in it.
#[track_caller]
fn check(found: Result<Entries<Key, u32>>, model: &Model, is_in: impl Fn(&Key) -> bool) {
    let expected: Vec<_> = model.clone().into_iter().filter(|(key, _)| is_in(key)).collect();
    let mut entries = found.unwrap();
    let (mut front, mut back) = (Vec::new(), Vec::new());
    while let Some(entry) = entries.next() {
        front.push(entry.unwrap());
        back.extend(entries.next_back().map(Result::unwrap));
    }
    front.extend(back.into_iter().rev());
    assert_eq!(front, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_table_is_as_its_model(steps in proptest::collection::vec(step(), 0..40)) {
        run(&steps);
    }

    #[test]
    fn ranges_and_prefixes_have_the_keys_between_their_ends(
        keys in proptest::collection::vec(key(), 0..40), a in key(), b in key(),
    ) {
        let table = open_table(&new());
        let model: Model = keys.into_iter().zip(0..).collect();
        model.iter().for_each(|(key, value)| table.put(key, value).unwrap());
        let (first, last) = ((&a.0, a.1, &a.2), (&b.0, b.1, &b.2));
        check(table.range(..), &model, |_| true);
        check(table.range(&a..&b), &model, |key| (&a..&b).contains(&key));
        check(table.range(first..=last), &model, |key| (&a..=&b).contains(&key));
        check(table.range(first..), &model, |key| a <= *key);
        check(table.range(..last), &model, |key| *key < b);
        check(table.range(..=last), &model, |key| *key <= b);
        let excluded = Bounds(Bound::Excluded(first), Bound::Included(last));
        check(table.range(excluded), &model, |key| a < *key && *key <= b);
        check(table.range((&a.0, ..)), &model, |key| key.0 == a.0);
        let second = a.1..b.1;
        check(table.range((&a.0, second.clone())), &model, |key| {
            key.0 == a.0 && second.contains(&key.1)
        });
        check(table.range((&a.0, ..=b.1)), &model, |key| key.0 == a.0 && key.1 <= b.1);
        let excluded = Bounds(Bound::Excluded(a.1), Bound::Unbounded);
        check(table.range((&a.0, excluded)), &model, |key| key.0 == a.0 && key.1 > a.1);
        check(table.range((&a.0, a.1, ..)), &model, |key| (&key.0, key.1) == (&a.0, a.1));
        let third = (&a.0, a.1, &a.2..&b.2);
        check(table.range(third), &model, |key| {
            (&key.0, key.1) == (&a.0, a.1) && (&a.2..&b.2).contains(&&key.2)
        });
        check(table.prefix((&a.0,)), &model, |key| key.0 == a.0);
        check(table.prefix((&a.0, a.1)), &model, |key| (&key.0, key.1) == (&a.0, a.1));
    }

    #[test]
    fn a_prefix_of_a_text_is_its_beginning(
        words in proptest::collection::vec("[\u{0}\u{1}ab]{0,3}", 0..20),
        prefix in "[\u{0}\u{1}ab]{0,2}",
    ) {
        let table = Table::<String, ()>::open(&new(), "words").unwrap();
        words.iter().for_each(|word| table.put(word, ()).unwrap());
        let expected = words.into_iter().filter(|word| word.starts_with(&prefix));
        let mut expected: Vec<_> = expected.collect();
        expected.sort();
        expected.dedup();
        let found = table.prefix(&prefix).unwrap().map(|entry| entry.unwrap().0);
        prop_assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_range_behind_the_largest_key_is_empty() {
    let table = Table::<[u8; 1], ()>::open(&new(), "bytes").unwrap();
    table.put([255], ()).unwrap();
    table.put([254], ()).unwrap();
    let behind = Bounds(Bound::Excluded([255]), Bound::Unbounded);
    assert_eq!(table.range(behind).unwrap().count(), 0);
    assert_eq!(table.range([255]..=[255]).unwrap().count(), 1);
    assert_eq!(table.range([255]..=[254]).unwrap().count(), 0);
}

#[test]
fn values_of_another_type_are_an_error_of_their_entry() {
    let db = new();
    let written = Table::<u8, (u8, u8)>::open(&db, "table").unwrap();
    written.put(1, (1, 2)).unwrap();
    let read = Table::<u8, u8>::open(&db, "table").unwrap();
    written.keyspace().put([2], [9]).unwrap();
    let error = read.get(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(
        error.to_string().contains("expected a u8 in postcard, found 1 bytes behind it"),
        "{error}"
    );
    let mut entries = read.iter().unwrap();
    assert!(entries.next().unwrap().is_err());
    assert_eq!(entries.next().unwrap().unwrap(), (2, 9));
    // An update that cannot read writes nothing.
    assert!(read.update(1, |_| Some(7)).is_err());
    assert_eq!(written.get(1).unwrap(), Some((1, 2)));
}

#[test]
fn a_key_of_another_type_is_an_error_of_its_entry() {
    let table = Table::<u32, u8>::open(&new(), "table").unwrap();
    table.keyspace().put([1, 2], [0]).unwrap();
    table.put(7, 7).unwrap();
    let mut entries = table.iter().unwrap().rev();
    assert_eq!(entries.next().unwrap().unwrap_err().kind(), ErrorKind::Corruption);
    assert_eq!(entries.next().unwrap().unwrap(), (7, 7));
}

#[test]
fn raw_values_are_the_bytes() {
    let db = new();
    let texts = Table::<u8, String, Raw>::open(&db, "texts").unwrap();
    texts.put(1, "one").unwrap();
    assert_eq!(texts.keyspace().get([1]).unwrap().unwrap(), b"one");
    texts.keyspace().put([2], [0xff]).unwrap();
    assert_eq!(texts.get(2).unwrap_err().kind(), ErrorKind::Corruption);
    let values = Table::<u8, foldb_typed::foldb::Value, Raw>::open(&db, "texts").unwrap();
    assert_eq!(values.get(2).unwrap().unwrap(), [0xff]);
    values.put(3, "three").unwrap();
    assert_eq!(texts.get(3).unwrap().as_deref(), Some("three"));
}

#[test]
fn options_of_reads_and_writes_reach_the_engine() {
    let db = new();
    let table = Table::<u8, u8>::open(&db, "table").unwrap();
    let durable = WriteOptions { sync: true, ..WriteOptions::default() };
    let written = table.with(&durable);
    written.put(1, 1).unwrap();
    assert_eq!(written.update(1, |value| value.map(|value| value + 1)).unwrap(), Some(2));
    let then = ReadOptions { snapshot: Some(db.snapshot()), ..ReadOptions::default() };
    assert_eq!(written.take(1).unwrap(), Some(2));
    assert_eq!(table.with(&then).get(1).unwrap(), Some(2));
    assert_eq!(table.get(1).unwrap(), None);
}

#[test]
fn an_update_to_nothing_of_nothing_writes_nothing() {
    let db = new();
    let table = Table::<u8, u8>::open(&db, "table").unwrap();
    let before = db.snapshot().sequence_number();
    assert_eq!(table.update(1, |_| None).unwrap(), None);
    assert_eq!(db.snapshot().sequence_number(), before);
}

#[test]
fn updates_of_several_threads_lose_nothing() {
    let db = new();
    let table = Table::<u8, u64>::open(&db, "table").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let mut outcome = table.update(1, |count| Some(count.unwrap_or(0) + 1));
                    while outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::Busy) {
                        outcome = table.update(1, |count| Some(count.unwrap_or(0) + 1));
                    }
                    outcome.unwrap();
                }
            });
        }
    });
    assert_eq!(table.get(1).unwrap(), Some(1000));
}
