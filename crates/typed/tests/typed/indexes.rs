//! Tables with indexes against a model, and how indexes come and go.

use std::collections::BTreeMap;

use foldb_typed::foldb::env::MemFs;
use foldb_typed::foldb::{Db, ErrorKind, Isolation, TransactionOptions};
use foldb_typed::{AnyIndex, Error, Index, IndexedTable, Result, Table};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::support::{new, open};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Person {
    email: String,
    city: Option<String>,
    tags: Vec<u8>,
}

static BY_EMAIL: Index<u8, Person, String> =
    Index::unique("by_email", |_, person| Some(person.email.clone()));
static BY_CITY: Index<u8, Person, String> = Index::new("by_city", |_, person| person.city.clone());
static BY_TAG: Index<u8, Person, (u8, u8)> =
    Index::many("by_tag", |key, person| person.tags.iter().map(|tag| (*tag, *key % 2)).collect());

type People = IndexedTable<u8, Person>;

fn open_people(db: &Db) -> People {
    IndexedTable::open(db, "people", &[&BY_EMAIL, &BY_CITY, &BY_TAG]).unwrap()
}

fn person(email: &str) -> Person {
    Person { email: email.to_owned(), city: None, tags: Vec::new() }
}

type Model = BTreeMap<u8, Person>;

fn some_person() -> impl Strategy<Value = Person> {
    let city = proptest::option::of("[\u{0}ab]{0,2}");
    let tags = proptest::collection::vec(0..3u8, 0..3);
    ("[a-d]{1}", city, tags).prop_map(|(email, city, tags)| Person { email, city, tags })
}

/// Puts a person in the model, unless the email is another one's.
fn put(model: &mut Model, key: u8, person: &Person) -> bool {
    let is_taken = model.iter().any(|(other, one)| *other != key && one.email == person.email);
    if !is_taken {
        model.insert(key, person.clone());
    }
    !is_taken
}

#[track_caller]
fn assert_same(people: &People, model: &Model) {
    let sorted = |mut found: Vec<(u8, Person)>| {
        found.sort_by_key(|(key, _)| *key);
        found
    };
    let with = |is_in: &dyn Fn(u8, &Person) -> bool| {
        let own = model.iter().filter(|(key, person)| is_in(**key, person));
        own.map(|(key, person)| (*key, person.clone())).collect::<Vec<_>>()
    };
    let all: Vec<_> = people.iter().unwrap().collect::<Result<_>>().unwrap();
    assert_eq!(all, with(&|_, _| true));
    let by_email: Vec<_> =
        people.by(&BY_EMAIL).unwrap().range(..).unwrap().collect::<Result<_>>().unwrap();
    assert!(by_email.is_sorted_by_key(|(_, person)| person.email.clone()));
    assert_eq!(sorted(by_email), all);
    for email in ["a", "b", "c", "d"] {
        let found = people.by(&BY_EMAIL).unwrap().get(email).unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), with(&|_, one| one.email == email));
    }
    let cities = people.by(&BY_CITY).unwrap().range(.."b").unwrap().rev();
    let cities: Vec<_> = cities.collect::<Result<_>>().unwrap();
    assert!(cities.iter().rev().is_sorted_by_key(|(_, person)| person.city.clone()));
    let in_range = |one: &Person| one.city.as_deref().is_some_and(|city| city < "b");
    assert_eq!(sorted(cities), with(&|_, one| in_range(one)));
    for city in ["", "a", "ab", "\0"] {
        let found = people.by(&BY_CITY).unwrap().all(city).unwrap();
        let found: Vec<_> = found.collect::<Result<_>>().unwrap();
        assert_eq!(found, with(&|_, one| one.city.as_deref() == Some(city)));
    }
    let tagged = people.by(&BY_TAG).unwrap().range((1, ..)).unwrap();
    let tagged = sorted(tagged.collect::<Result<_>>().unwrap());
    assert_eq!(tagged, with(&|_, one| one.tags.contains(&1)));
    let tagged = people.by(&BY_TAG).unwrap().prefix((2,)).unwrap();
    assert_eq!(tagged.count(), with(&|_, one| one.tags.contains(&2)).len());
}

fn put_if_absent(model: &mut Model, key: u8, person: &Person) -> Result<bool, ErrorKind> {
    match model.contains_key(&key) {
        true => Ok(false),
        false if put(model, key, person) => Ok(true),
        false => Err(ErrorKind::Aborted),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The kinds 0 to 3 put, delete and update; 4 and 5 put two in a transaction and may give up; 6
    /// reopens.
    #[test]
    fn an_indexed_table_is_as_its_model(
        steps in proptest::collection::vec((0..7u8, 0..6u8, some_person(), some_person()), 0..30),
    ) {
        let (fs, mut model) = (MemFs::new(), Model::new());
        let mut db = open(&fs);
        let mut people = open_people(&db);
        for (kind, key, first, second) in steps {
            match kind {
                0 => prop_assert_eq!(people.put(key, &first).is_ok(), put(&mut model, key, &first)),
                1 => prop_assert_eq!(people.take(key).unwrap(), model.remove(&key)),
                2 => {
                    let done = people.put_if_absent(key, &first).map_err(|error| error.kind());
                    prop_assert_eq!(done, put_if_absent(&mut model, key, &first));
                }
                3 => {
                    let with = |old: Person| Person { email: old.email, ..first.clone() };
                    let changed = people.update(key, |old| old.map(with));
                    let old = model.get_mut(&key);
                    let new = old.map(|old| *old = Person { email: old.email.clone(), ..first });
                    prop_assert_eq!(changed.unwrap(), new.and_then(|()| model.get(&key).cloned()));
                }
                4 | 5 => {
                    let mut changed = model.clone();
                    let outcome = db.transact(|transaction| {
                        changed = model.clone();
                        let own = people.within(transaction);
                        // A put that fails leaves the transaction as it was.
                        for (key, person) in [(key, &first), (key + 1, &second)] {
                            let is_put = put(&mut changed, key, person);
                            assert_eq!(own.put(key, person).is_ok(), is_put);
                        }
                        let found = own.by(&BY_EMAIL)?.get(&first.email)?;
                        let mut emails = changed.values().map(|one| &one.email);
                        assert_eq!(found.is_some(), emails.any(|email| *email == first.email));
                        if kind == 4 { Ok(()) } else { Err(Error::aborted("given up")) }
                    });
                    model = if outcome.is_ok() { changed } else { model };
                }
                _ => {
                    drop((people, db));
                    db = open(&fs);
                    people = open_people(&db);
                }
            }
        }
        assert_same(&people, &model);
    }
}

#[test]
fn a_key_of_a_unique_index_belongs_to_one_entry() {
    let people = open_people(&new());
    people.put(1, person("ann")).unwrap();
    let error = people.put(2, person("ann")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    assert_eq!(error.to_string(), "index 'by_email' is unique, and its key \"ann\" belongs to 1");
    assert!(!people.contains(2).unwrap());
    // The entry itself may keep it, and another one takes it when it is free.
    people.put(1, Person { city: Some("x".to_owned()), ..person("ann") }).unwrap();
    people.put(1, person("bob")).unwrap();
    people.put(2, person("ann")).unwrap();
    assert_eq!(people.by(&BY_EMAIL).unwrap().get("ann").unwrap().unwrap().0, 2);
}

/// With snapshot isolation, a transaction does not claim what it reads.
#[test]
fn two_transactions_cannot_give_one_unique_key_to_two_entries() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let db = new();
        let people = open_people(&db);
        let options = TransactionOptions { isolation, ..TransactionOptions::default() };
        let first = db.with(&options).begin().unwrap();
        let second = db.with(&options).begin().unwrap();
        people.within(&first).put(1, person("ann")).unwrap();
        people.within(&second).put(2, person("ann")).unwrap();
        first.commit().unwrap();
        assert_eq!(second.commit().unwrap_err().kind(), ErrorKind::Conflict);
    }
}

#[test]
fn an_index_of_a_table_with_entries_is_built() {
    let fs = MemFs::new();
    let db = open(&fs);
    let plain = Table::<u32, Person>::open(&db, "people").unwrap();
    for number in 0..2500 {
        let city = (number % 2 == 0).then(|| format!("city {}", number % 10));
        plain.put(number, Person { city, ..person(&number.to_string()) }).unwrap();
    }
    static CITIES: Index<u32, Person, String> =
        Index::new("cities", |_, person| person.city.clone());
    static EMAILS: Index<u32, Person, String> =
        Index::unique("emails", |_, person| Some(person.email.clone()));
    drop(plain);
    let people = IndexedTable::<_, Person>::open(&db, "people", &[&CITIES, &EMAILS]).unwrap();
    assert_eq!(people.by(&CITIES).unwrap().all("city 4").unwrap().count(), 250);
    assert_eq!(people.by(&CITIES).unwrap().range(..).unwrap().count(), 1250);
    assert_eq!(people.by(&EMAILS).unwrap().get("2499").unwrap().unwrap().0, 2499);
    people.delete(4).unwrap();
    drop((people, db));
    let people =
        IndexedTable::<_, Person>::open(&open(&fs), "people", &[&CITIES, &EMAILS]).unwrap();
    assert_eq!(people.by(&CITIES).unwrap().all("city 4").unwrap().count(), 249);
}

#[test]
fn a_unique_index_of_entries_that_share_a_key_is_not_built() {
    let db = new();
    let plain = Table::<u8, Person>::open(&db, "people").unwrap();
    plain.put(1, person("ann")).unwrap();
    plain.put(2, person("ann")).unwrap();
    let error = IndexedTable::<_, Person>::open(&db, "people", &[&BY_EMAIL]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    // The next open tries again, and a program may give it up.
    assert!(IndexedTable::<_, Person>::open(&db, "people", &[&BY_EMAIL]).is_err());
    People::drop_index(&db, "people", "by_email").unwrap();
    Table::<u8, Person>::open(&db, "people").unwrap().delete(2).unwrap();
    let people = IndexedTable::<_, Person>::open(&db, "people", &[&BY_EMAIL]).unwrap();
    assert_eq!(people.by(&BY_EMAIL).unwrap().get("ann").unwrap().unwrap().0, 1);
}

#[test]
fn a_handle_that_does_not_keep_the_indexes_does_not_write() {
    let db = new();
    open_people(&db).put(1, person("ann")).unwrap();
    let plain = Table::<u8, Person>::open(&db, "people").unwrap();
    assert_eq!(plain.get(1).unwrap(), Some(person("ann")));
    let error = plain.put(2, person("bob")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("(by_city, by_email, by_tag)"), "{error}");
    assert!(plain.delete(1).is_err() && plain.take(1).is_err() && plain.delete_range(..).is_err());
    assert!(plain.update(1, |_| None).is_err() && plain.take_first(..).is_err());
    assert!(plain.put_if_absent(2, person("bob")).is_err());
    let in_transaction = db.transact(|transaction| plain.within(transaction).delete(1));
    assert!(in_transaction.is_err());
    let error = IndexedTable::<_, Person>::open(&db, "people", &[&BY_EMAIL, &BY_TAG]).unwrap_err();
    assert!(
        error.to_string().contains("has an index 'by_city', which this open does not"),
        "{error}"
    );
    // Other tables have no indexes.
    Table::<u8, u8>::open(&db, "other").unwrap().put(1, 1).unwrap();
}

#[test]
fn a_dropped_index_is_built_anew() {
    let db = new();
    open_people(&db).put(1, Person { tags: vec![1], ..person("ann") }).unwrap();
    for index in ["by_email", "by_city", "by_tag"] {
        People::drop_index(&db, "people", index).unwrap();
    }
    assert!(People::drop_index(&db, "people", "by_tag").is_err());
    assert_eq!(db.keyspaces(), ["default", "foldb-typed.indexes", "people"]);
    let plain = Table::<u8, Person>::open(&db, "people").unwrap();
    plain.put(1, Person { tags: vec![2], ..person("bob") }).unwrap();
    let people = open_people(&db);
    assert!(people.by(&BY_EMAIL).unwrap().get("ann").unwrap().is_none());
    assert_eq!(people.by(&BY_TAG).unwrap().all((2, 1)).unwrap().count(), 1);
}

/// The keyspaces of its indexes are still there.
#[test]
fn the_indexes_of_a_dropped_table_are_not_those_of_a_new_one() {
    let db = new();
    open_people(&db).put(1, person("ann")).unwrap();
    db.drop_keyspace("people").unwrap();
    Table::<u8, Person>::open(&db, "people").unwrap().put(2, person("bob")).unwrap();
    let people = open_people(&db);
    assert!(people.by(&BY_EMAIL).unwrap().get("ann").unwrap().is_none());
    assert_eq!(people.by(&BY_EMAIL).unwrap().get("bob").unwrap().unwrap().0, 2);
}

#[test]
fn an_index_of_another_type_is_refused() {
    let db = new();
    open_people(&db);
    static BY_CITY_NOW: Index<u8, Person, u8> = Index::new("by_city", |key, _| Some(*key));
    let error = IndexedTable::<_, Person>::open(&db, "people", &[&BY_EMAIL, &BY_CITY_NOW, &BY_TAG])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("keys=(str,u8) values=none"), "{error}");
    let people = open_people(&db);
    assert_eq!(people.by(&BY_CITY_NOW).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn names_that_could_be_mistaken_are_refused() {
    let db = new();
    static DOTTED: Index<u8, Person, u8> = Index::new("a.b", |key, _| Some(*key));
    static NAMELESS: Index<u8, Person, u8> = Index::new("", |key, _| Some(*key));
    for indexes in [&[&DOTTED][..], &[&NAMELESS], &[&BY_KEY, &BY_KEY]] {
        let indexes: Vec<&dyn AnyIndex<u8, Person>> = indexes.iter().map(|it| *it as _).collect();
        let error = IndexedTable::<u8, Person>::open(&db, "people", &indexes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    assert_eq!(db.keyspaces(), ["default"]);
}

static BY_KEY: Index<u8, Person, u8> = Index::new("by_key", |key, _| Some(*key));

#[test]
fn reads_by_an_index_see_one_moment() {
    let people = open_people(&new());
    people.put(1, person("ann")).unwrap();
    let then = people.by(&BY_EMAIL).unwrap();
    people.put(1, person("bob")).unwrap();
    assert_eq!(then.get("ann").unwrap().unwrap(), (1, person("ann")));
}
