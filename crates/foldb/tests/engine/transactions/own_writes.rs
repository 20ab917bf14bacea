//! A transaction reads its own writes, in every order and direction.

use foldb::env::MemFs;
use foldb::env::mem::{Fault, Operation};
use foldb::{
    Db, ErrorKind, Isolation, KeyspaceOptions, Options, Transaction, TransactionOptions,
    WriteOptions,
};
use foldb_model::View;
use proptest::prelude::*;

use super::model::{Committed, run_in, write};
use crate::support::{PATH, options};

fn check_reads(transaction: &Transaction, view: View<'_>) {
    for key in b'a'..=b'h' {
        let expected = view.get(&[key]).map(|cell| &cell.value()[..]);
        let found = transaction.get([key]).unwrap();
        assert_eq!(found.as_deref(), expected, "{}", key as char);
    }
    let entries = |iter: &mut dyn Iterator<Item = foldb::Result<(Vec<u8>, foldb::Value)>>| {
        let entries = iter.map(|entry| entry.unwrap());
        entries.map(|(key, value)| (key, value.to_vec())).collect::<Vec<_>>()
    };
    let expected = view.entries().map(|(key, cell)| (key.clone(), cell.value().clone()));
    let expected: Vec<_> = expected.collect();
    assert_eq!(entries(&mut transaction.iter().unwrap()), expected);
    let mut backwards = Vec::new();
    let mut iter = transaction.iter().unwrap();
    let mut found = iter.seek_to_last().unwrap();
    while found {
        backwards.push((iter.key().to_vec(), iter.value().unwrap().to_vec()));
        found = iter.retreat().unwrap();
    }
    backwards.reverse();
    assert_eq!(backwards, expected);
    assert_eq!(
        entries(&mut transaction.iter().unwrap().rev()),
        expected.iter().rev().cloned().collect::<Vec<_>>()
    );
    let mut both = transaction.iter().unwrap();
    let (mut front, mut back) = (Vec::new(), Vec::new());
    while let Some(entry) = both.next() {
        front.push(entry.unwrap());
        back.extend(both.next_back().map(|entry| entry.unwrap()));
    }
    front.extend(back.into_iter().rev());
    let front: Vec<_> = front.into_iter().map(|(key, value)| (key, value.to_vec())).collect();
    assert_eq!(front, expected);
    for key in b'a'..=b'h' {
        let from = view.range(vec![key]..).next().map(|(key, _)| key.clone());
        assert_eq!(iter.seek([key]).unwrap().then(|| iter.key().to_vec()), from);
        let to = view.range(..=vec![key]).next_back().map(|(key, _)| key.clone());
        assert_eq!(iter.seek_for_prev([key]).unwrap().then(|| iter.key().to_vec()), to);
        // A turn after each seek.
        if iter.valid() && iter.advance().unwrap() {
            let next = view.range(vec![key + 1]..).next().map(|(key, _)| key.clone());
            assert_eq!(Some(iter.key().to_vec()), next);
        }
    }
}

fn open() -> Db {
    let appending = Options {
        default: KeyspaceOptions::with_operator("stringappend:,"),
        ..options(&MemFs::new())
    };
    Db::open(PATH, appending).unwrap()
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn reads_see_own_writes_over_the_snapshot(
        before in prop::collection::vec(write(b'h'), 0..12),
        flushed in any::<bool>(),
        own in prop::collection::vec((write(b'h'), any::<bool>()), 0..40),
        after in prop::collection::vec(write(b'h'), 0..6),
    ) {
        let (db, mut model) = (open(), Committed::nothing());
        for write in before {
            let transaction = db.begin().unwrap();
            run_in(&transaction, &write);
            transaction.commit().unwrap();
            model.add(write);
        }
        if flushed {
            db.flush().unwrap();
        }
        let transaction = db.begin().unwrap();
        check_reads(&transaction, model.now());
        // The snapshot does not see what others write.
        let other = db.begin().unwrap();
        after.iter().for_each(|write| run_in(&other, write));
        other.commit().unwrap();
        let mut saved = None;
        let half = own.len() / 2;
        for (at, (write, reads)) in own.into_iter().enumerate() {
            if at == half {
                saved = Some((transaction.savepoint(), model.writes.len()));
            }
            run_in(&transaction, &write);
            model.add(write);
            if reads {
                check_reads(&transaction, model.now());
            }
        }
        check_reads(&transaction, model.now());
        if let Some((savepoint, writes)) = saved {
            transaction.rollback_to(savepoint).unwrap();
            check_reads(&transaction, model.after(writes));
        }
    }
}

/// An iterator shows the writes made before it, not those after it.
#[test]
fn an_iterator_keeps_its_moment() {
    let db = open();
    db.put("a", "1").unwrap();
    let transaction = db.begin().unwrap();
    transaction.put("b", "1").unwrap();
    let mut iter = transaction.iter().unwrap();
    transaction.put("c", "1").unwrap();
    transaction.merge("b", "2").unwrap();
    transaction.delete_range(..).unwrap();
    let keys: Vec<_> = iter.by_ref().map(|entry| entry.unwrap()).collect();
    let shown: Vec<_> = keys.iter().map(|(key, value)| (&key[..], &value[..])).collect();
    assert_eq!(shown, [(&b"a"[..], &b"1"[..]), (b"b", b"1")]);
    assert_eq!(transaction.iter().unwrap().count(), 0);
}

/// A merge that fails below the transaction fails its own key only, and an own put mends it.
#[test]
fn a_failed_merge_of_the_snapshot_fails_its_key_only() {
    let db = open();
    let numbers = db.create_keyspace("numbers", Default::default()).unwrap();
    let adding = db.operator("uint64add").unwrap();
    for key in ["a", "b", "c"] {
        numbers.put(key, if key == "b" { "short" } else { "8 bytes." }).unwrap();
        numbers.merge_with(&adding, key, 0u64.to_le_bytes()).unwrap();
    }
    assert!(numbers.get("b").is_err());
    let transaction = db.begin().unwrap();
    let own = transaction.keyspace(&numbers);
    own.put("d", "8 bytes.").unwrap();
    let outcomes: Vec<bool> = own.iter().unwrap().map(|entry| entry.is_ok()).collect();
    assert_eq!(outcomes, [true, false, true, true]);
    own.merge_with(&adding, "b", 1u64.to_le_bytes()).unwrap();
    let outcomes: Vec<bool> = own.iter().unwrap().map(|entry| entry.is_ok()).collect();
    assert_eq!(outcomes, [true, false, true, true]);
    own.put("b", "8 bytes.").unwrap();
    assert!(own.iter().unwrap().all(|entry| entry.is_ok()));
}

/// The error of a failed merge below an own merge names its operator, and counts once a read.
#[test]
fn a_failed_merge_of_the_snapshot_keeps_its_error() {
    let db = open();
    let numbers = db.create_keyspace("numbers", Default::default()).unwrap();
    let adding = db.operator("uint64add").unwrap();
    numbers.put("b", "short").unwrap();
    numbers.merge_with(&adding, "b", 0u64.to_le_bytes()).unwrap();
    let transaction = db.begin().unwrap();
    let own = transaction.keyspace(&numbers);
    own.merge_with(&adding, "b", 1u64.to_le_bytes()).unwrap();
    let alone = own.get("b").unwrap_err();
    assert_eq!(alone.failed_merge(), Some((&b"b"[..], "uint64add")), "{alone}");
    let before = db.stats().failed_merges;
    let iterated = own.iter().unwrap().next().unwrap().unwrap_err();
    assert_eq!(iterated.failed_merge(), alone.failed_merge(), "{iterated}");
    assert_eq!(db.stats().failed_merges, before + 1);
    let backwards = own.iter().unwrap().next_back().unwrap().unwrap_err();
    assert_eq!(backwards.failed_merge(), alone.failed_merge(), "{backwards}");
    assert_eq!(db.stats().failed_merges, before + 2);
}

/// A separated value that cannot be read fails its own key only, and an own put hides it.
#[test]
fn an_unreadable_value_of_the_snapshot_fails_its_key_only() {
    let fs = MemFs::new();
    let db = crate::support::segments::open(&fs);
    let large = [b'v'; 200];
    for key in ["a", "b", "c"] {
        db.put(key, if key == "b" { &large[..] } else { b"small" }).unwrap();
    }
    db.flush().unwrap();
    let transaction = db.begin().unwrap();
    transaction.put("d", "own").unwrap();
    let outcomes = || -> Vec<bool> {
        let entries = transaction.iter().unwrap().map(|entry| entry.is_ok());
        let outcomes: Vec<bool> = entries.collect();
        let backwards = transaction.iter().unwrap().rev().map(|entry| entry.is_ok());
        let mut backwards: Vec<bool> = backwards.collect();
        backwards.reverse();
        assert_eq!(backwards, outcomes);
        outcomes
    };
    fs.inject(Fault::on(Operation::Read).path(".seg").forever());
    assert_eq!(outcomes(), [true, false, true, true]);
    transaction.merge("b", 0u64.to_le_bytes()).unwrap();
    assert_eq!(outcomes(), [true, false, true, true]);
    transaction.put("b", "own").unwrap();
    assert_eq!(outcomes(), [true; 4]);
    assert_eq!(transaction.range("b"..).unwrap().next().unwrap().unwrap().1, b"own");
    transaction.delete("b").unwrap();
    assert_eq!(outcomes(), [true; 3]);
}

/// Savepoints nest, and a rolled-back one is gone.
#[test]
fn savepoints_nest() {
    let db = open();
    let transaction = db.begin().unwrap();
    let first = transaction.savepoint();
    transaction.put("a", "1").unwrap();
    let second = transaction.savepoint();
    transaction.put("a", "2").unwrap();
    transaction.rollback_to(second).unwrap();
    assert_eq!(transaction.get("a").unwrap().unwrap(), b"1");
    transaction.put("a", "3").unwrap();
    transaction.rollback_to(second).unwrap();
    assert_eq!(transaction.get("a").unwrap().unwrap(), b"1");
    transaction.rollback_to(first).unwrap();
    assert_eq!(transaction.get("a").unwrap(), None);
    let error = transaction.rollback_to(second).unwrap_err();
    assert_eq!(error.kind(), foldb::ErrorKind::InvalidArgument);
}

/// A refused write leaves no trace: neither of the other database, nor of the keyspace.
#[test]
fn a_refused_write_leaves_the_transaction_as_it_was() {
    let (db, other) = (open(), open());
    let foreign = other.operator("stringappend:,").unwrap();
    let dropped = db.create_keyspace("dropped", Default::default()).unwrap();
    for own_first in [false, true] {
        let transaction = db.begin().unwrap();
        if own_first {
            transaction.put("a", "1").unwrap();
        }
        transaction.merge_with(&foreign, "b", "2").unwrap_err();
        let large = vec![0; foldb::limits::MAX_KEY_BYTES + 1];
        transaction.keyspace(&dropped).put(large, "").unwrap_err();
        transaction.put("b", "3").unwrap();
        transaction.merge("b", "4").unwrap();
        if own_first {
            db.drop_keyspace("dropped").unwrap();
        }
        transaction.commit().unwrap();
        assert_eq!(db.get("b").unwrap().unwrap(), b"3,4");
    }
}

/// A database that accepts no writes still runs transactions that only read.
#[test]
fn a_poisoned_database_runs_transactions_that_only_read() {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    db.put("a", "1").unwrap();
    fs.inject(Fault::on(Operation::Sync).path(".log"));
    let durable = WriteOptions { sync: true, ..WriteOptions::default() };
    db.with(&durable).put("b", "2").unwrap_err();
    assert_eq!(db.put("c", "3").unwrap_err().kind(), ErrorKind::Poisoned);
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let read = foldb::TransactionOptions { isolation, ..Default::default() };
        let found = db.with(&read).transact(|transaction| transaction.get("a")).unwrap();
        assert_eq!(found.unwrap(), b"1");
        let written = db.with(&read).transact(|transaction| transaction.put("a", "2"));
        assert_eq!(written.unwrap_err().kind(), ErrorKind::Poisoned);
    }
}

/// Conditional writes in a transaction see the own writes, and a later step sees an earlier one.
#[test]
fn conditional_writes_in_a_transaction_see_its_writes() {
    let db = open();
    let transaction = db.begin().unwrap();
    assert!(transaction.put_if_absent("a", "1").unwrap());
    assert!(!transaction.put_if_absent("a", "2").unwrap());
    assert_eq!(transaction.merge_get("a", "3").unwrap().unwrap(), b"1,3");
    assert!(transaction.compare_and_swap("a", Some(b"1,3"), Some(b"4")).unwrap().is_swapped());
    assert!(!transaction.compare_and_swap("a", Some(b"1"), None).unwrap().is_swapped());
    assert_eq!(transaction.take_first(..).unwrap().unwrap(), (b"a".to_vec(), b"4"[..].into()));
    assert!(transaction.take_first(..).unwrap().is_none());
    assert_eq!(transaction.merge_get("b", "5").unwrap().unwrap(), b"5");
    assert_eq!(transaction.take("b").unwrap().unwrap(), b"5");
    assert_eq!(transaction.take("b").unwrap(), None);
    let longer = |value: Option<&[u8]>| Some([value.unwrap_or(b"6"), b"+"].concat());
    assert_eq!(transaction.update("c", longer).unwrap().unwrap(), b"6+");
    assert_eq!(transaction.fetch_update("c", longer).unwrap().unwrap(), b"6+");
    assert!(transaction.merge_if("c", |value| value == Some(b"6++"), "7").unwrap());
    assert!(!transaction.merge_if("c", |value| value.is_none(), "8").unwrap());
    assert_eq!(transaction.update("c", |_| None).unwrap(), None);
    assert_eq!(transaction.update("c", |_| None).unwrap(), None);
    transaction.commit().unwrap();
    assert_eq!(db.iter().unwrap().count(), 0);
}

/// A step of a transaction claims the key that it reads, also where it writes nothing.
#[test]
fn conditional_writes_in_a_transaction_claim_what_they_read() {
    type Step = fn(&Transaction);
    let steps: [(&str, Step); 4] = [
        ("compare_and_swap", |own| drop(own.compare_and_swap("a", Some(b"?"), None).unwrap())),
        ("merge_if", |own| assert!(!own.merge_if("a", |_| false, "1").unwrap())),
        ("update", |own| assert!(own.update("a", |_| None).unwrap().is_none())),
        ("take", |own| assert!(own.take("a").unwrap().is_none())),
    ];
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        for (name, step) in steps {
            let db = open();
            let options = TransactionOptions { isolation, ..Default::default() };
            let transaction = db.with(&options).begin().unwrap();
            step(&transaction);
            transaction.put("other", "1").unwrap();
            db.put("a", "2").unwrap();
            let error = transaction.commit().expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Conflict, "{name}, {isolation:?}");
        }
    }
}
