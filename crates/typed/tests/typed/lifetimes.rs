//! Tables with indexes whose lifetime changes, and whose time is reset.

use std::cell::RefCell;
use std::time::Duration;

use foldb_typed::foldb::env::Clock;
use foldb_typed::foldb::expiry::{Expires, Expiry};
use foldb_typed::foldb::{ErrorKind, KeyspaceOptions};
use foldb_typed::{Index, Table, encode};

use crate::expiry::{
    BY_AGE, BY_NAME, LIFETIME, Stage, Users, after_last_write, assert_ends_agree, user,
};

const LONGER: Duration = Duration::from_secs(10 * LIFETIME);

fn open(stage: &Stage) -> Users {
    Users::open(&stage.db, "users", &[&BY_NAME, &BY_AGE]).unwrap()
}

#[test]
fn no_row_lives_longer_than_its_entries_after_a_change_of_its_keyspace() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    users.put(1, user("ann", 30)).unwrap();
    stage.db.keyspace("users").unwrap().set_lifetime(LONGER).unwrap();
    let error = users.put(2, user("bob", 30)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("IndexedTable::set_lifetime"), "{error}");
    assert_eq!(users.touch(1).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_ends_agree(&stage.db, &users);
    // An open gives the lifetime of the table to its indexes.
    let users = open(&stage);
    users.put(2, user("bob", 30)).unwrap();
    assert_ends_agree(&stage.db, &users);
    stage.later(LIFETIME + 1);
    assert!(users.put(3, user("bob", 40)).is_err(), "row 2 still has the key");
    assert_ends_agree(&stage.db, &users);
}

#[test]
fn a_new_lifetime_is_that_of_the_rows_and_their_entries() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    users.put(1, user("ann", 30)).unwrap();
    // It also mends what a change of the keyspace alone stopped.
    stage.db.keyspace("users").unwrap().set_lifetime(2 * LONGER).unwrap();
    users.set_lifetime(LONGER).unwrap();
    users.put(2, user("bob", 30)).unwrap();
    assert_ends_agree(&stage.db, &users);
    stage.later(LIFETIME + 1);
    assert_eq!(users.by(&BY_AGE).unwrap().count(..).unwrap(), 1);
    assert!(users.put(3, user("bob", 40)).is_err());
    assert!(users.touch(2).unwrap());
    assert_ends_agree(&stage.db, &open(&stage));
    assert!(users.put(4, user("cid", 40)).is_ok(), "the open has built no index again");
    let zero = users.set_lifetime(Duration::ZERO).unwrap_err();
    assert_eq!(zero.kind(), ErrorKind::InvalidArgument);
    users.put(5, user("dan", 40)).unwrap();
    let each = Users::open_with(&stage.db, "each", per_write(), &[&BY_NAME]).unwrap();
    assert_eq!(each.set_lifetime(LONGER).unwrap_err().kind(), ErrorKind::InvalidArgument);
    each.put(1, user("ann", 30)).unwrap();
}

fn per_write() -> KeyspaceOptions {
    KeyspaceOptions { expiry: Some(Expiry::per_write()), ..KeyspaceOptions::default() }
}

#[test]
fn writes_during_changes_of_the_lifetime_give_rows_and_entries_one_end() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    let other = open(&stage);
    std::thread::scope(|scope| {
        for (writer, users) in [(0, &users), (1, &other)] {
            scope.spawn(move || {
                for turn in 0..300_u16 {
                    let key = writer * 100 + (turn % 50) as u8;
                    users.put(key, user(&format!("user {key}"), key % 7)).unwrap();
                    users.touch(key).unwrap();
                }
            });
        }
        for seconds in 0..60 {
            users.set_lifetime(LONGER + Duration::from_secs(seconds)).unwrap();
        }
    });
    assert_ends_agree(&stage.db, &users);
}

thread_local! {
    /// What the next call of `BY_HOOK` does.
    static HOOK: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

static BY_HOOK: Index<u8, (String, u8), u8> = Index::new("by_age", |_, user| {
    if let Some(hook) = HOOK.take() {
        hook();
    }
    Some(user.1)
});

#[test]
fn a_change_of_the_lifetime_amid_a_write_gives_row_and_entries_one_end() {
    let stage = Stage::new();
    stage.users(after_last_write());
    let users = Users::open(&stage.db, "users", &[&BY_NAME, &BY_HOOK]).unwrap();
    let changes = users.clone();
    HOOK.set(Some(Box::new(move || changes.set_lifetime(LONGER).unwrap())));
    users.put(1, user("ann", 30)).unwrap();
    assert_ends_agree(&stage.db, &open(&stage));
    let changes = users.clone();
    HOOK.set(Some(Box::new(move || changes.set_lifetime(2 * LONGER).unwrap())));
    users.touch(1).unwrap();
    assert_ends_agree(&stage.db, &open(&stage));
}

#[test]
fn an_index_whose_entries_ended_before_their_rows_is_built_again() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    users.put(1, user("ann", 30)).unwrap();
    // As an earlier version wrote it: the row lives longer than its entries.
    stage.db.keyspace("users").unwrap().set_lifetime(LONGER).unwrap();
    stage.db.keyspace("users").unwrap().touch(encode::<u8>(1)).unwrap();
    stage.later(LIFETIME + 1);
    let users = open(&stage);
    assert_eq!(users.by(&BY_NAME).unwrap().get("ann").unwrap(), Some((1, user("ann", 30))));
    assert_ends_agree(&stage.db, &users);
}

#[test]
fn a_keyspace_that_a_dropped_index_left_stops_no_open() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    users.put(1, user("ann", 30)).unwrap();
    let indexes = stage.db.keyspace("foldb-typed.indexes").unwrap();
    indexes.delete(encode::<(String, String)>(("users", "by_name"))).unwrap();
    stage.db.keyspace("users").unwrap().set_lifetime(LONGER).unwrap();
    stage.db.keyspace("users.by_age").unwrap().set_lifetime(LONGER).unwrap();
    let users = open(&stage);
    assert_ends_agree(&stage.db, &users);
}

#[test]
fn indexes_of_a_dropped_table_stop_no_table_of_another_lifetime() {
    let stage = Stage::new();
    stage.users(after_last_write()).put(1, user("ann", 30)).unwrap();
    stage.db.drop_keyspace("users").unwrap();
    let users = stage.users(Expiry::per_write());
    users.put(2, user("ann", 30)).unwrap();
    assert_ends_agree(&stage.db, &users);
}

#[test]
fn an_index_that_is_half_dropped_is_built_again_or_dropped() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    users.put(1, user("ann", 30)).unwrap();
    stage.db.drop_keyspace("users.by_name").unwrap();
    assert_ends_agree(&stage.db, &open(&stage));
    stage.db.drop_keyspace("users.by_name").unwrap();
    Users::drop_index(&stage.db, "users", "by_name").unwrap();
    assert!(Users::drop_index(&stage.db, "users", "by_name").is_err());
    let users = Users::open(&stage.db, "users", &[&BY_AGE]).unwrap();
    assert_eq!(users.by(&BY_AGE).unwrap().count(..).unwrap(), 1);
}

#[test]
fn a_keyspace_that_is_no_index_is_not_dropped() {
    let stage = Stage::new();
    let other = Table::<u64, u64>::open(&stage.db, "users.by_name").unwrap();
    other.put(7, 7).unwrap();
    let options =
        KeyspaceOptions { expiry: Some(after_last_write()), ..KeyspaceOptions::default() };
    let error = Users::open_with(&stage.db, "users", options, &[&BY_NAME]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(other.get(7).unwrap(), Some(7));
}

/// Writes while the clock is ahead by ten lifetimes, and resets the time.
fn mislead(stage: &Stage, write: impl FnOnce()) {
    let right = stage.clock.time_of_day().as_secs();
    stage.later(10 * LIFETIME);
    write();
    stage.clock.set_time_of_day(right);
    stage.db.reset_clock().unwrap();
}

#[test]
fn a_row_that_a_reset_does_not_bring_back_keeps_no_key() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    users.put(7, user("ann", 30)).unwrap();
    // The keyspaces drop what has expired one by one. Here the row is gone, and its entry is not.
    mislead(&stage, || {
        users.put(7, user("bob", 30)).unwrap();
        users.delete(7).unwrap();
    });
    assert!(!users.contains(7).unwrap());
    let names = stage.db.keyspace("users.by_name").unwrap();
    assert!(names.contains_key(encode::<String>("ann")).unwrap(), "its entry is back");
    users.put(8, user("ann", 40)).unwrap();
    assert_eq!(users.by(&BY_NAME).unwrap().get("ann").unwrap(), Some((8, user("ann", 40))));
}

#[test]
fn a_row_that_changed_under_a_false_time_keeps_no_older_key() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    users.put(7, user("ann", 30)).unwrap();
    mislead(&stage, || users.put(7, user("bob", 31)).unwrap());
    assert_eq!(users.by(&BY_NAME).unwrap().get("ann").unwrap(), None, "row 7 is bob's");
    assert_eq!(users.by(&BY_AGE).unwrap().all(30).unwrap().count(), 0);
    users.put(8, user("ann", 40)).unwrap();
    assert_eq!(users.by(&BY_NAME).unwrap().get("ann").unwrap(), Some((8, user("ann", 40))));
    assert!(users.put(9, user("bob", 1)).is_err());
}

#[test]
fn a_row_that_a_reset_brings_back_does_not_free_the_key_of_another() {
    let stage = Stage::new();
    let users = stage.users(after_last_write());
    users.put(7, user("ann", 30)).unwrap();
    mislead(&stage, || users.put(8, user("ann", 40)).unwrap());
    assert!(users.contains(7).unwrap() && users.contains(8).unwrap());
    users.expire(7, Expires::After(Duration::from_secs(1))).unwrap();
    stage.later(5);
    assert_eq!(users.by(&BY_NAME).unwrap().get("ann").unwrap(), Some((8, user("ann", 40))));
    users.put(6, user("bob", 30)).unwrap();
    mislead(&stage, || users.put(9, user("bob", 50)).unwrap());
    users.delete(6).unwrap();
    assert_eq!(users.by(&BY_NAME).unwrap().get("bob").unwrap(), Some((9, user("bob", 50))));
}
