//! Rollbacks to savepoints: what is read afterwards, and how much work it takes.

use std::collections::BTreeMap;

use fastrand::Rng;
use foldb_env::{Env, MemFs};

use crate::db::handle::database::Db;
use crate::db::transaction::{Savepoint, Transaction};
use crate::options::{KeyspaceOptions, Options};

fn open() -> Db {
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("stringappend:,"),
        env: Env::in_memory(MemFs::new()),
        ..Options::default()
    };
    Db::open("db", options).unwrap()
}

/// One statement of a large transaction after the other fails and is undone.
fn undo_each_second(n: u32) -> u64 {
    let db = open();
    let transaction = db.begin().unwrap();
    for key in (0..n).map(u32::to_be_bytes) {
        transaction.put(key, "row").unwrap();
        let savepoint = transaction.savepoint();
        transaction.put(key, "bad").unwrap();
        assert_eq!(transaction.get(key).unwrap().unwrap(), b"bad");
        transaction.rollback_to(savepoint).unwrap();
        assert_eq!(transaction.get(key).unwrap().unwrap(), b"row");
    }
    transaction.applied()
}

/// A few statements, each with a savepoint of its own, are tried again and again over many writes.
fn try_again(n: u32) -> u64 {
    let db = open();
    let transaction = db.begin().unwrap();
    (0..n).for_each(|key| transaction.put(key.to_be_bytes(), "row").unwrap());
    let outer = transaction.savepoint();
    for _ in 0..1000 {
        for key in 0..10 {
            let _inner = transaction.savepoint();
            transaction.put([key], "try").unwrap();
            assert!(transaction.contains_key([key]).unwrap());
        }
        transaction.rollback_to(outer).unwrap();
        assert!(!transaction.contains_key([0]).unwrap());
    }
    transaction.applied() - u64::from(n)
}

/// The work of each rollback was in proportion to all writes before it. (C4 in the terms of SQL: a
/// savepoint for each statement.)
#[test]
fn a_rollback_takes_as_long_behind_many_writes_as_behind_few() {
    let (few, many) = (undo_each_second(1000), undo_each_second(10_000));
    println!("savepoint and rollback: {few} writes applied for 1000, {many} for 10 000");
    assert!(many <= 2 * 10 * few, "{many} after {few}");
    let (few, many) = (try_again(1000), try_again(10_000));
    println!("tries over 1000 writes: {few} writes applied, over 10 000: {many}");
    assert!(many <= 2 * few, "{many} after {few}");
}

type Model = BTreeMap<u8, String>;

fn check(transaction: &Transaction, model: &Model) {
    let shown = transaction.iter().unwrap().map(|entry| {
        let (key, value) = entry.unwrap();
        (key[0], String::from_utf8(value.to_vec()).unwrap())
    });
    assert_eq!(&shown.collect::<Model>(), model);
}

#[test]
fn reads_show_what_rollbacks_left() {
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let db = open();
        let mut model = Model::new();
        for key in 0..8 {
            db.put([key], "old").unwrap();
            model.insert(key, "old".to_owned());
        }
        let transaction = db.begin().unwrap();
        let mut savepoints: Vec<(Savepoint, Model)> = Vec::new();
        let mut kept = Vec::new();
        for step in 0..300 {
            let (key, text) = (rng.u8(..12), format!("{step}"));
            match rng.u8(..20) {
                0..=4 => {
                    transaction.put([key], &text).unwrap();
                    model.insert(key, text);
                }
                5..=7 => {
                    transaction.merge([key], &text).unwrap();
                    let merged =
                        model.remove(&key).map_or(text.clone(), |old| format!("{old},{text}"));
                    model.insert(key, merged);
                }
                8..=9 => {
                    transaction.delete([key]).unwrap();
                    model.remove(&key);
                }
                10 => {
                    transaction.delete_range([key]..[key + 3]).unwrap();
                    model.retain(|own, _| !(key..key + 3).contains(own));
                }
                11..=13 => savepoints.push((transaction.savepoint(), model.clone())),
                14..=15 if !savepoints.is_empty() => {
                    savepoints.truncate(rng.usize(..savepoints.len()) + 1);
                    let (savepoint, old) = savepoints.last().unwrap();
                    transaction.rollback_to(*savepoint).unwrap();
                    model.clone_from(old);
                }
                16 if !savepoints.is_empty() => {
                    let at = rng.usize(..savepoints.len());
                    transaction.release(savepoints[at].0);
                    savepoints.truncate(at);
                }
                17 => {
                    // It shows its moment, whatever is undone later.
                    let mut iter = transaction.iter().unwrap();
                    iter.seek_to_first().unwrap();
                    kept.push((iter, model.clone()));
                }
                _ => {
                    let value = transaction.get([key]).unwrap();
                    let value = value.map(|value| String::from_utf8(value.to_vec()).unwrap());
                    assert_eq!(value.as_ref(), model.get(&key), "seed {seed}, step {step}");
                }
            }
            if rng.bool() {
                check(&transaction, &model);
            }
        }
        for (iter, old) in kept {
            let shown = iter.map(|entry| {
                let (key, value) = entry.unwrap();
                (key[0], String::from_utf8(value.to_vec()).unwrap())
            });
            assert_eq!(shown.collect::<Model>(), old, "seed {seed}");
        }
        transaction.commit().unwrap();
        let stored = db.iter().unwrap().map(|entry| entry.unwrap().0[0]);
        assert!(stored.eq(model.keys().copied()));
    }
}
