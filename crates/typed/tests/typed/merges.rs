//! Tables whose values change by merges.

use std::collections::{BTreeMap, BTreeSet};

use foldb_typed::foldb::env::MemFs;
use foldb_typed::foldb::{ErrorKind, KeyspaceOptions};
use foldb_typed::{
    Counter, Histogram, Json, LastN, Max, MergeTable, Min, Set, SetChange, Sketch, Stats, Sum, TopK,
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{new, open};

type Signed = (i16, String);

/// What the merges of one key come to.
#[derive(Clone, Debug, Default)]
struct Model {
    count: i64,
    max: Option<Signed>,
    min: Option<Signed>,
    set: BTreeSet<String>,
    last: Vec<Signed>,
}

fn text() -> impl Strategy<Value = String> {
    "[\u{0}\u{1}ab]{0,2}"
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Each step merges one element into one of three keys, and may reopen or give up.
    #[test]
    fn merges_come_to_what_their_model_says(
        steps in proptest::collection::vec((0..3u8, any::<i16>(), text(), 0..10u8), 0..60),
    ) {
        let fs = MemFs::new();
        let mut db = open(&fs);
        let mut models: BTreeMap<u8, Model> = BTreeMap::new();
        for (key, number, text, kind) in steps {
            if kind == 9 {
                drop(db);
                db = open(&fs);
            }
            let counts = MergeTable::<u8, Counter>::open(&db, "counts").unwrap();
            let max = MergeTable::<u8, Max<Signed>>::open(&db, "max").unwrap();
            let min = MergeTable::<u8, Min<Signed>>::open(&db, "min").unwrap();
            let sets = MergeTable::<u8, Set<String>>::open(&db, "sets").unwrap();
            let last = MergeTable::<u8, LastN<Signed, 3>>::open(&db, "last").unwrap();
            let element = (number, text.clone());
            let is_kept = kind != 8;
            let outcome = db.transact(|transaction| {
                counts.within(transaction).add(key, number.into())?;
                max.within(transaction).merge(key, &element)?;
                min.within(transaction).merge(key, &element)?;
                match number % 3 {
                    0 => sets.within(transaction).remove(key, &text)?,
                    _ => sets.within(transaction).insert(key, &text)?,
                }
                last.within(transaction).push(key, &element)?;
                if is_kept { Ok(()) } else { Err(foldb_typed::Error::aborted("given up")) }
            });
            prop_assert_eq!(outcome.is_ok(), is_kept);
            let model = models.entry(key).or_default();
            if is_kept {
                model.count += i64::from(number);
                model.max = model.max.take().max(Some(element.clone()));
                model.min = model.min.take().into_iter().chain([element.clone()]).min();
                match number % 3 {
                    0 => drop(model.set.remove(&text)),
                    _ => drop(model.set.insert(text)),
                }
                model.last.push(element);
                model.last = model.last.split_off(model.last.len().saturating_sub(3));
            }
            let is_new = model.last.is_empty();
            prop_assert_eq!(counts.get(key).unwrap(), (!is_new).then_some(model.count));
            prop_assert_eq!(max.get(key).unwrap(), model.max.clone());
            prop_assert_eq!(min.get(key).unwrap(), model.min.clone());
            prop_assert_eq!(sets.get(key).unwrap().unwrap_or_default(), model.set.clone());
            prop_assert_eq!(last.get(key).unwrap().unwrap_or_default(), model.last.clone());
        }
    }
}

#[test]
fn sums_add_their_numbers() {
    let db = new();
    let whole = MergeTable::<u8, Sum<u64>>::open(&db, "u64").unwrap();
    whole.add(1, 40).unwrap();
    whole.add(1, 2).unwrap();
    assert_eq!(whole.get(1).unwrap(), Some(42));
    let signed = MergeTable::<u8, Sum<i64>>::open(&db, "i64").unwrap();
    signed.add(1, -40).unwrap();
    assert_eq!(signed.merge_get(1, &-2).unwrap(), Some(-42));
    let fractions = MergeTable::<u8, Sum<f64>>::open(&db, "f64").unwrap();
    fractions.add(1, 0.5).unwrap();
    fractions.add(1, -0.25).unwrap();
    assert_eq!(fractions.get(1).unwrap(), Some(0.25));
    let kinds = [whole.keyspace(), signed.keyspace(), fractions.keyspace()];
    let schemas = kinds.map(|keyspace| keyspace.schema().unwrap().to_owned());
    assert_eq!(schemas[2], "foldb-typed/1 keys=u8 values=sum(f64)");
}

#[test]
fn sets_change_by_operands_too() {
    let table = MergeTable::<u8, Set<i16>>::open(&new(), "sets").unwrap();
    table.merge(1, &SetChange::Insert(-3)).unwrap();
    table.merge(1, &SetChange::Insert(2)).unwrap();
    assert_eq!(table.merge_get(1, &SetChange::Remove(2)).unwrap().unwrap(), BTreeSet::from([-3]));
    table.remove(1, -3).unwrap();
    assert_eq!(table.get(1).unwrap(), None);
}

#[test]
fn sketches_count_what_differs() {
    let table = MergeTable::<String, Sketch<u32>>::open(&new(), "sketches").unwrap();
    for number in 0..1000 {
        table.count("page", number % 500).unwrap();
    }
    let estimate = table.get("page").unwrap().unwrap();
    assert!((480..520).contains(&estimate), "{estimate}");
}

#[test]
fn patches_change_documents() {
    let table = MergeTable::<u8, Json>::open(&new(), "documents").unwrap();
    table.merge(1, &json!({"a": 1, "b": {"c": "d"}})).unwrap();
    table.merge(1, &json!({"a": null, "b": {"e": [1.5]}})).unwrap();
    let entries = table.iter().unwrap().collect::<foldb_typed::Result<Vec<_>>>().unwrap();
    assert_eq!(entries, [(1, json!({"b": {"c": "d", "e": [1.5]}}))]);
}

#[test]
fn ranges_and_deletes_are_those_of_tables() {
    let table = MergeTable::<(String, u8), Counter>::open(&new(), "counts").unwrap();
    for (word, number) in [("a", 1), ("a", 2), ("b", 1)] {
        table.add((word, number), 5).unwrap();
    }
    assert_eq!(table.prefix(("a",)).unwrap().count(), 2);
    assert_eq!(table.range(("a", 2..)).unwrap().next().unwrap().unwrap(), (("a".to_owned(), 2), 5));
    assert_eq!(table.iter().unwrap().next_back().unwrap().unwrap().0.0, "b");
    table.delete(("a", 1)).unwrap();
    assert_eq!(table.take(("a", 2)).unwrap(), Some(5));
    table.delete_range(("b", ..)).unwrap();
    assert_eq!(table.iter().unwrap().count(), 0);
}

#[test]
fn another_kind_of_value_is_refused() {
    let db = new();
    MergeTable::<u8, LastN<u8, 3>>::open(&db, "last").unwrap();
    let error = MergeTable::<u8, LastN<u8, 4>>::open(&db, "last").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("values=last(3)'"), "{error}");
    assert!(error.to_string().contains("values=last(4)'"), "{error}");
}

#[test]
fn a_keyspace_that_lost_its_operator_is_refused() {
    let db = new();
    let table = MergeTable::<u8, Counter>::open(&db, "counts").unwrap();
    table.keyspace().unset_default_operator().unwrap();
    let error = MergeTable::<u8, Counter>::open(&db, "counts").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let expected = "table 'counts' merges with the operator 'int64add', and its keyspace has none";
    assert!(error.to_string().starts_with(expected), "{error}");
}

/// A new keyspace takes the operator and the order of `default`, unless it has its own.
#[test]
fn a_table_does_not_take_the_operator_of_default() {
    let fs = MemFs::new();
    let default = KeyspaceOptions::with_operator("uint64add");
    let options = foldb_typed::foldb::Options { default, ..crate::support::options(&fs) };
    let db = foldb_typed::foldb::Db::open(crate::support::PATH, options).unwrap();
    let counts = MergeTable::<u8, Counter>::open(&db, "counts").unwrap();
    assert_eq!(counts.keyspace().options().merge_operator.as_deref(), Some("int64add"));
}

#[test]
fn the_best_items_come_with_their_highest_scores() {
    let fs = MemFs::new();
    let db = open(&fs);
    let best = MergeTable::<u8, TopK<(u16, String), 2>>::open(&db, "best").unwrap();
    assert_eq!(best.get(1).unwrap(), None);
    for (score, number) in [(5, 1), (9, 2), (-3, 3), (7, 1)] {
        best.offer(1, score, (number, "x")).unwrap();
    }
    best.merge(1, &(8, (4, "y".to_owned()))).unwrap();
    let expected = vec![(9, (2, "x".to_owned())), (8, (4, "y".to_owned()))];
    assert_eq!(best.get(1).unwrap().unwrap(), expected);
    drop((best, db));
    let db = open(&fs);
    let best = MergeTable::<u8, TopK<(u16, String), 2>>::open(&db, "best").unwrap();
    assert_eq!(best.get(1).unwrap().unwrap(), expected);
    let other = MergeTable::<u8, TopK<(u16, String), 3>>::open(&db, "best").unwrap_err();
    assert_eq!(other.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn samples_come_to_their_summary_and_quantiles() {
    let db = new();
    let stats = MergeTable::<u8, Stats>::open(&db, "stats").unwrap();
    let seconds = MergeTable::<u8, Histogram<50>>::open(&db, "seconds").unwrap();
    assert_eq!(stats.get(0).unwrap(), None);
    for sample in 1..=100 {
        stats.record(0, sample - 50).unwrap();
        seconds.record(0, f64::from(sample as i32)).unwrap();
    }
    let all = stats.get(0).unwrap().unwrap();
    assert_eq!((all.count, all.sum, all.min, all.max), (100, 50, -49, 50));
    let seconds_of = seconds.get(0).unwrap().unwrap();
    assert_eq!(seconds_of.count(), 100);
    let half = seconds_of.quantile(0.5).unwrap().unwrap();
    assert!((half - 50.0).abs() <= 2.5, "{half}");
    assert_eq!(seconds_of.quantile(2.0).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let refused = seconds.record(0, f64::NAN).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}
