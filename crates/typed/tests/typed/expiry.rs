//! Tables whose entries expire, with and without indexes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foldb_typed::foldb::env::{Env, ManualClock, MemFs};
use foldb_typed::foldb::expiry::{Expires, Expiry};
use foldb_typed::foldb::{Db, ErrorKind, KeyspaceOptions, Options};
use foldb_typed::{Counter, Index, IndexedTable, MergeTable, Result, Table};
use proptest::prelude::*;

use crate::support::{PATH, new};

pub(crate) const LIFETIME: u64 = 100;

pub(crate) type Users = IndexedTable<u8, (String, u8)>;

pub(crate) static BY_NAME: Index<u8, (String, u8), String> =
    Index::unique("by_name", |_, user| Some(user.0.clone()));
pub(crate) static BY_AGE: Index<u8, (String, u8), u8> =
    Index::new("by_age", |_, user| Some(user.1));

pub(crate) struct Stage {
    pub(crate) db: Db,
    pub(crate) clock: Arc<ManualClock>,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let clock = Arc::new(ManualClock::default());
        let env = Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(MemFs::new()) };
        let db = Db::open(PATH, Options { create_if_missing: true, env, ..Options::default() });
        Stage { db: db.unwrap(), clock }
    }

    pub(crate) fn users(&self, expiry: Expiry) -> Users {
        let options = KeyspaceOptions { expiry: Some(expiry), ..KeyspaceOptions::default() };
        IndexedTable::open_with(&self.db, "users", options, &[&BY_NAME, &BY_AGE]).unwrap()
    }

    pub(crate) fn later(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

pub(crate) fn after_last_write() -> Expiry {
    Expiry::after_last_write(Duration::from_secs(LIFETIME))
}

pub(crate) fn user(name: &str, age: u8) -> (String, u8) {
    (name.to_owned(), age)
}

/// Checks that each row has its entries and each entry its row, with one end.
#[track_caller]
pub(crate) fn assert_ends_agree(db: &Db, users: &Users) {
    let (names, ages) =
        (db.keyspace("users.by_name").unwrap(), db.keyspace("users.by_age").unwrap());
    let rows: Vec<_> = users.iter().unwrap().collect::<Result<_>>().unwrap();
    for (key, (name, age)) in &rows {
        let end = users.expires_at(key).unwrap();
        let name = foldb_typed::encode::<String>(name);
        assert_eq!(names.expires_at(&name).unwrap(), end);
        assert_eq!(ages.expires_at([*age, *key]).unwrap(), end);
        assert!(names.contains_key(&name).unwrap() && ages.contains_key([*age, *key]).unwrap());
    }
    for entries in [names, ages] {
        assert_eq!(entries.iter().unwrap().count(), rows.len());
    }
    let by_age = users.by(&BY_AGE).unwrap().range(..).unwrap();
    assert_eq!(by_age.collect::<Result<Vec<_>>>().unwrap().len(), rows.len());
}

#[test]
fn the_entries_of_an_index_end_with_their_row() {
    for expiry in [after_last_write(), Expiry::after_first_write(Duration::from_secs(LIFETIME))] {
        let stage = Stage::new();
        let users = stage.users(expiry);
        users.put(1, user("ann", 30)).unwrap();
        stage.later(LIFETIME / 2);
        // The keys of the indexes are as before.
        users.put(1, user("ann", 30)).unwrap();
        users.put(2, user("bob", 30)).unwrap();
        assert_ends_agree(&stage.db, &users);
        stage.later(LIFETIME / 2 + 10);
        assert_eq!(users.by(&BY_NAME).unwrap().get("ann").unwrap(), Some((1, user("ann", 30))));
        assert_ends_agree(&stage.db, &users);
        stage.later(LIFETIME);
        assert_eq!(users.by(&BY_AGE).unwrap().count(..).unwrap(), 0);
        assert_ends_agree(&stage.db, &users);
    }
}

#[test]
fn a_touched_row_keeps_its_key_of_a_unique_index() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    users.put(1, user("ann", 30)).unwrap();
    stage.later(LIFETIME - 10);
    assert!(users.touch(1).unwrap());
    assert!(!users.touch(2).unwrap());
    stage.later(LIFETIME - 10);
    let taken = users.put(2, user("ann", 40)).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::Aborted);
    assert_ends_agree(&stage.db, &users);
    // The key is free at the moment at which the row ends.
    stage.later(20);
    users.put(2, user("ann", 40)).unwrap();
    assert_eq!(users.by(&BY_NAME).unwrap().get("ann").unwrap().unwrap().0, 2);
    assert!(!users.touch(1).unwrap(), "an expired row does not come back");
    assert_ends_agree(&stage.db, &users);
}

#[test]
fn expire_and_persist_change_row_and_indexes_in_one_commit() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    users.put(1, user("ann", 30)).unwrap();
    users.put(2, user("bob", 30)).unwrap();
    assert!(users.expire(1, Expires::After(Duration::from_secs(10))).unwrap());
    assert!(users.persist(2).unwrap());
    assert!(!users.persist(3).unwrap());
    assert_ends_agree(&stage.db, &users);
    stage.later(LIFETIME);
    assert_eq!(users.by(&BY_AGE).unwrap().count(30..=30).unwrap(), 1);
    assert_eq!(users.expires_at(2).unwrap(), None);
    assert_ends_agree(&stage.db, &users);
    // In a transaction that is not committed, and one that is.
    let renewed = |commits: bool| {
        stage.db.transact(|transaction| {
            let own = users.within(transaction);
            own.put(3, user("cid", 7))?;
            own.expire(3, Expires::After(Duration::from_secs(5)))?;
            own.touch(2)?;
            if commits { Ok(()) } else { Err(foldb_typed::Error::aborted("no")) }
        })
    };
    renewed(false).unwrap_err();
    assert_eq!(users.expires_at(2).unwrap(), None);
    renewed(true).unwrap();
    assert!(users.expires_at(3).unwrap() < users.expires_at(2).unwrap());
    assert_ends_agree(&stage.db, &users);
}

#[test]
fn an_end_that_the_transaction_sets_is_that_of_the_indexes_too() {
    let stage = Stage::new();
    let users = stage.users(Expiry::per_write());
    let put = |expires| {
        stage.db.transact(|transaction| {
            transaction.set_expires(expires);
            users.within(transaction).put(1, user("ann", 30))
        })
    };
    put(Some(Expires::After(Duration::from_secs(10)))).unwrap();
    assert_ends_agree(&stage.db, &users);
    put(None).unwrap();
    assert_eq!(users.expires_at(1).unwrap(), None);
    assert_ends_agree(&stage.db, &users);
    let error = users.touch(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "nothing says when it expires: {error}");
}

#[test]
fn an_index_that_is_built_later_ends_with_its_rows() {
    let stage = Stage::new();
    let expiry = Some(Expiry::after_first_write(Duration::from_secs(LIFETIME)));
    let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    let plain = Table::<u8, (String, u8)>::open_with(&stage.db, "users", options).unwrap();
    for key in 0..5 {
        plain.put(key, (format!("user {key}"), key)).unwrap();
        stage.later(7);
    }
    plain.persist(3).unwrap();
    let users = Users::open(&stage.db, "users", &[&BY_NAME, &BY_AGE]).unwrap();
    assert_ends_agree(&stage.db, &users);
    stage.later(LIFETIME);
    assert_eq!(users.by(&BY_NAME).unwrap().count(..).unwrap(), 1);
    assert_ends_agree(&stage.db, &users);
    assert!(plain.touch(3).is_ok(), "the handle is from before the indexes");
    let plain = Table::<u8, (String, u8)>::open(&stage.db, "users").unwrap();
    assert_eq!(plain.touch(3).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(plain.persist(3).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn tables_without_an_expiry_refuse_ends() {
    let db = new();
    let plain = Table::<u8, u8>::open(&db, "plain").unwrap();
    plain.put(1, 1).unwrap();
    assert_eq!(plain.touch(1).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(plain.persist(1).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(plain.expires_at(1).unwrap(), None);
    let users = Users::open(&db, "users", &[&BY_NAME]).unwrap();
    users.put(1, user("ann", 30)).unwrap();
    assert_eq!(users.touch(1).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn tables_in_transactions_and_merge_tables_renew_ends() {
    let stage = Stage::new();
    let options =
        || KeyspaceOptions { expiry: Some(after_last_write()), ..KeyspaceOptions::default() };
    let table = Table::<u8, u8>::open_with(&stage.db, "table", options()).unwrap();
    let counts = MergeTable::<u8, Counter>::open_with(&stage.db, "counts", options()).unwrap();
    table.put(1, 1).unwrap();
    counts.add(1, 1).unwrap();
    stage.later(LIFETIME - 10);
    stage
        .db
        .transact(|transaction| {
            assert!(table.within(transaction).touch(1)?);
            assert!(counts.within(transaction).touch(1)?);
            Ok(())
        })
        .unwrap();
    assert_eq!(table.expires_at(1).unwrap(), counts.expires_at(1).unwrap());
    stage.later(LIFETIME - 10);
    assert_eq!((table.get(1).unwrap(), counts.get(1).unwrap()), (Some(1), Some(1)));
    assert!(counts.persist(1).unwrap());
    assert!(table.expire(1, Expires::After(Duration::from_secs(1))).unwrap());
    stage.later(LIFETIME);
    assert_eq!((table.get(1).unwrap(), counts.get(1).unwrap()), (None, Some(1)));
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, String, u8),
    Delete(u8),
    Touch(u8),
    Expire(u8, u64),
    Persist(u8),
    Later(u64),
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4u8, "[a-c]", 0..3u8).prop_map(|(key, name, age)| Step::Put(key, name, age)),
        1 => (0..4u8).prop_map(Step::Delete),
        2 => (0..4u8).prop_map(Step::Touch),
        2 => (0..4u8, 1..60u64).prop_map(|(key, after)| Step::Expire(key, after)),
        1 => (0..4u8).prop_map(Step::Persist),
        3 => (1..60u64).prop_map(Step::Later),
        1 => Just(Step::Flush),
    ]
}

/// The table, and what it should hold.
struct Play {
    stage: Stage,
    users: Users,
    /// Each value, and the second at which it ends.
    model: BTreeMap<u8, ((String, u8), Option<u64>)>,
    now: u64,
}

impl Play {
    fn put(&mut self, key: u8, name: String, age: u8) {
        let is_taken = self.model.iter().any(|(other, row)| *other != key && row.0.0 == name);
        let outcome = self.users.put(key, (name.clone(), age));
        assert_eq!(outcome.is_err(), is_taken);
        if !is_taken {
            self.model.insert(key, ((name, age), Some(self.now + LIFETIME)));
        }
    }

    /// Sets the end of an entry that should be there.
    fn set_end(&mut self, key: u8, end: Option<u64>, was_there: bool) {
        assert_eq!(was_there, self.model.contains_key(&key));
        self.model.entry(key).and_modify(|row| row.1 = end);
    }

    fn later(&mut self, seconds: u64) {
        self.stage.later(seconds);
        self.now += seconds;
        // An end is rounded up to a bucket of some seconds.
        let is_there = |key: &u8| self.users.contains(key).unwrap();
        for (key, (_, end)) in &self.model {
            assert!(end.is_some_and(|end| end <= self.now) || is_there(key));
        }
        self.model.retain(|key, _| is_there(key));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Put(key, name, age) => self.put(key, name, age),
            Step::Delete(key) => {
                self.users.delete(key).unwrap();
                self.model.remove(&key);
            }
            Step::Touch(key) => {
                let was_there = self.users.touch(key).unwrap();
                self.set_end(key, Some(self.now + LIFETIME), was_there);
            }
            Step::Expire(key, after) => {
                let expires = Expires::After(Duration::from_secs(after));
                let was_there = self.users.expire(key, expires).unwrap();
                self.set_end(key, Some(self.now + after), was_there);
            }
            Step::Persist(key) => {
                let was_there = self.users.persist(key).unwrap();
                self.set_end(key, None, was_there);
            }
            Step::Later(seconds) => self.later(seconds),
            Step::Flush => self.stage.db.flush().unwrap(),
        }
        assert_ends_agree(&self.stage.db, &self.users);
        let rows: Vec<_> = self.users.iter().unwrap().collect::<Result<_>>().unwrap();
        let expected = self.model.iter().map(|(key, row)| (*key, row.0.clone()));
        assert_eq!(rows, expected.collect::<Vec<_>>());
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn rows_and_indexes_expire_as_their_model(steps in prop::collection::vec(step(), 1..40)) {
        let stage = Stage::new();
        let users = stage.users(after_last_write());
        let mut play = Play { stage, users, model: BTreeMap::new(), now: 0 };
        steps.into_iter().for_each(|step| play.step(step));
    }
}
