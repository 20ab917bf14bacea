//! Which pairs of writes conflict: the table in docs/transactions.md, one test a row.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use foldb::env::MemFs;
use foldb::{
    Db, ErrorKind, Isolation, KeyspaceOptions, Options, Result, Transaction, TransactionOptions,
};

use crate::support::{PATH, RaisedAtEnd, options};

/// A database whose merges append.
pub(super) fn open() -> Db {
    let fs = MemFs::new();
    let appending =
        Options { default: KeyspaceOptions::with_operator("stringappend:,"), ..options(&fs) };
    let db = Db::open(PATH, appending).unwrap();
    for key in ["a", "b", "c", "d"] {
        db.put(key, "0").unwrap();
    }
    db
}

pub(super) fn begin(db: &Db, isolation: Isolation) -> Transaction {
    db.with(&TransactionOptions { isolation, ..Default::default() }).begin().unwrap()
}

pub(super) fn is_conflict(outcome: Result<()>) -> bool {
    match outcome {
        Ok(()) => false,
        Err(error) if error.kind() == ErrorKind::Conflict => true,
        Err(error) => panic!("expected a conflict or none, got {error}"),
    }
}

/// What another writer does to key `b`.
pub(super) type Change = fn(&Db) -> Result<()>;

pub(super) const CHANGES: [(&str, Change); 4] = [
    ("put", |db| db.put("b", "9")),
    ("delete", |db| db.delete("b")),
    ("merge", |db| db.merge("b", "9")),
    ("delete_range", |db| db.delete_range("b".."c")),
];

/// Flushes and compacts between a change and the commit, so that the records lie in tables.
pub(super) const PLACES: [(&str, Change); 3] =
    [("memtable", |_| Ok(())), ("level 0", Db::flush), ("last level", |db| db.compact(..))];

/// Runs `work` in a transaction, then each change, then the commit, and checks the outcome.
fn check_each(
    isolation: Isolation,
    work: impl Fn(&Transaction) -> Result<()>,
    expected: [bool; 4],
) {
    for ((change, apply), conflicts) in CHANGES.iter().zip(expected) {
        for (place, settle) in PLACES {
            let db = open();
            let transaction = begin(&db, isolation);
            work(&transaction).unwrap();
            apply(&db).unwrap();
            settle(&db).unwrap();
            assert_eq!(is_conflict(transaction.commit()), conflicts, "{change} in {place}");
        }
    }
}

#[test]
pub(super) fn serializable_a_key_read_conflicts_with_every_change() {
    let read_b = |transaction: &Transaction| {
        transaction.get("b")?;
        transaction.put("z", "1")
    };
    check_each(Isolation::Serializable, read_b, [true; 4]);
}

#[test]
pub(super) fn serializable_a_range_read_conflicts_with_every_change_inside() {
    let read_all = |transaction: &Transaction| {
        assert_eq!(transaction.range("a".."c")?.count(), 2);
        transaction.put("z", "1")
    };
    check_each(Isolation::Serializable, read_all, [true; 4]);
}

#[test]
pub(super) fn serializable_writes_conflict_with_nothing() {
    check_each(Isolation::Serializable, |transaction| transaction.put("b", "1"), [false; 4]);
    check_each(Isolation::Serializable, |transaction| transaction.merge("b", "1"), [false; 4]);
    check_each(Isolation::Serializable, |transaction| transaction.delete("b"), [false; 4]);
    let delete_range = |transaction: &Transaction| transaction.delete_range("a".."d");
    check_each(Isolation::Serializable, delete_range, [false; 4]);
}

#[test]
pub(super) fn serializable_what_was_not_read_may_change() {
    let read_a = |transaction: &Transaction| {
        transaction.get("a")?;
        transaction.get("c")?;
        assert_eq!(transaction.range("c"..)?.count(), 2);
        transaction.put("z", "1")
    };
    check_each(Isolation::Serializable, read_a, [false; 4]);
}

#[test]
pub(super) fn serializable_an_own_put_hides_the_key_and_an_own_merge_reads_it() {
    let put_and_read = |transaction: &Transaction| {
        transaction.put("b", "1")?;
        assert_eq!(transaction.get("b")?.unwrap(), b"1");
        Ok(())
    };
    check_each(Isolation::Serializable, put_and_read, [false; 4]);
    let merge_and_read = |transaction: &Transaction| {
        transaction.merge("b", "1")?;
        assert_eq!(transaction.get("b")?.unwrap(), b"0,1");
        Ok(())
    };
    check_each(Isolation::Serializable, merge_and_read, [true; 4]);
}

#[test]
pub(super) fn serializable_an_absent_key_is_read_too() {
    for place in PLACES {
        let db = open();
        let by_key = begin(&db, Isolation::Serializable);
        assert_eq!(by_key.get("bb").unwrap(), None);
        by_key.put("z", "1").unwrap();
        let by_range = begin(&db, Isolation::Serializable);
        assert_eq!(by_range.range("ba".."bz").unwrap().count(), 0);
        by_range.put("z", "1").unwrap();
        db.put("bb", "9").unwrap();
        (place.1)(&db).unwrap();
        assert!(is_conflict(by_key.commit()), "{}", place.0);
        assert!(is_conflict(by_range.commit()), "{}", place.0);
    }
}

/// An iterator claims only what it walked over, once it is dropped.
#[test]
pub(super) fn serializable_an_iterator_claims_what_it_walked_over() {
    let commit_after = |walk: fn(&Transaction) -> Result<()>, changed: &str| {
        let db = open();
        let transaction = begin(&db, Isolation::Serializable);
        walk(&transaction).unwrap();
        transaction.put("z", "1").unwrap();
        db.put(changed, "9").unwrap();
        is_conflict(transaction.commit())
    };
    let two_forwards = |transaction: &Transaction| {
        let mut iter = transaction.iter()?;
        assert!(iter.advance()? && iter.advance()?);
        assert_eq!(iter.key(), b"b");
        Ok(())
    };
    assert!(commit_after(two_forwards, "a") && commit_after(two_forwards, "b"));
    assert!(commit_after(two_forwards, "0"));
    assert!(!commit_after(two_forwards, "bb") && !commit_after(two_forwards, "c"));
    let two_backwards = |transaction: &Transaction| {
        let mut iter = transaction.iter()?;
        assert!(iter.seek_to_last()? && iter.retreat()?);
        assert_eq!(iter.key(), b"c");
        Ok(())
    };
    assert!(commit_after(two_backwards, "d") && commit_after(two_backwards, "e"));
    assert!(commit_after(two_backwards, "c") && !commit_after(two_backwards, "bb"));
    let there_and_back = |transaction: &Transaction| {
        let mut iter = transaction.iter()?;
        assert!(iter.seek("b")? && iter.advance()? && iter.retreat()? && iter.retreat()?);
        assert_eq!(iter.key(), b"a");
        Ok(())
    };
    assert!(commit_after(there_and_back, "a") && commit_after(there_and_back, "c"));
    assert!(!commit_after(there_and_back, "cc") && !commit_after(there_and_back, "0"));
    let two_seeks = |transaction: &Transaction| {
        let mut iter = transaction.iter()?;
        assert!(iter.seek("a")? && iter.seek("d")?);
        assert!(!iter.advance()?);
        Ok(())
    };
    assert!(commit_after(two_seeks, "a") && commit_after(two_seeks, "x"));
    assert!(!commit_after(two_seeks, "b") && !commit_after(two_seeks, "c"));
}

#[test]
pub(super) fn serializable_a_live_iterator_claims_its_whole_range() {
    let db = open();
    let transaction = begin(&db, Isolation::Serializable);
    let mut iter = transaction.range("a".."d").unwrap();
    assert!(iter.advance().unwrap());
    transaction.put("z", "1").unwrap();
    db.put("c", "9").unwrap();
    assert!(is_conflict(transaction.commit()));
    // The iterator still shows its moment.
    assert!(iter.advance().unwrap() && iter.advance().unwrap());
    assert_eq!(iter.value().unwrap(), b"0");
}

#[test]
pub(super) fn serializable_a_dropped_keyspace_conflicts() {
    let db = open();
    let old = db.create_keyspace("old", Default::default()).unwrap();
    let transaction = begin(&db, Isolation::Serializable);
    assert_eq!(transaction.keyspace(&old).get("a").unwrap(), None);
    transaction.put("z", "1").unwrap();
    db.drop_keyspace("old").unwrap();
    assert!(is_conflict(transaction.commit()));
}

#[test]
pub(super) fn serializable_a_sorted_load_conflicts() {
    for (read, conflicts) in [("b", true), ("bb", true), ("a", false), ("d", false)] {
        let db = open();
        let transaction = begin(&db, Isolation::Serializable);
        transaction.get(read).unwrap();
        transaction.put("z", "1").unwrap();
        let mut load = db.default_keyspace().sorted_load().unwrap();
        load.put("b", "9").unwrap();
        load.put("c", "9").unwrap();
        load.finish().unwrap();
        assert_eq!(is_conflict(transaction.commit()), conflicts, "{read}");
    }
}

/// Both ends of an iterator count.
#[test]
pub(super) fn serializable_an_iterator_read_from_both_ends_claims_its_range() {
    for (changed, conflicts) in [("a", true), ("b", true), ("d", true), ("0", false)] {
        let db = open();
        let transaction = begin(&db, Isolation::Serializable);
        transaction.put("own", "1").unwrap();
        let mut iter = transaction.range("a"..).unwrap();
        assert_eq!(iter.next().unwrap().unwrap().0, b"a");
        assert_eq!(iter.next_back().unwrap().unwrap().0, b"own");
        assert_eq!(iter.next_back().unwrap().unwrap().0, b"d");
        drop(iter);
        db.put(changed, "9").unwrap();
        assert_eq!(is_conflict(transaction.commit()), conflicts, "{changed}");
    }
    for (changed, conflicts) in [("a", false), ("bb", false), ("c", true), ("d", true), ("e", true)]
    {
        let db = open();
        let transaction = begin(&db, Isolation::Serializable);
        assert_eq!(transaction.last().unwrap().unwrap().0, b"d");
        let mut iter = transaction.iter().unwrap();
        assert_eq!(iter.next_back().unwrap().unwrap().0, b"d");
        assert_eq!(iter.next_back().unwrap().unwrap().0, b"c");
        drop(iter);
        transaction.put("own", "1").unwrap();
        db.put(changed, "9").unwrap();
        assert_eq!(is_conflict(transaction.commit()), conflicts, "{changed}");
    }
}

#[test]
pub(super) fn serializable_a_transaction_that_only_reads_never_conflicts() {
    let db = open();
    let transaction = begin(&db, Isolation::Serializable);
    assert_eq!(transaction.get("b").unwrap().unwrap(), b"0");
    db.put("b", "9").unwrap();
    assert_eq!(transaction.get("b").unwrap().unwrap(), b"0");
    assert!(!is_conflict(transaction.commit()));
}

#[test]
pub(super) fn snapshot_reads_conflict_with_nothing() {
    let read_b = |transaction: &Transaction| {
        transaction.get("b")?;
        transaction.range("a".."c")?.count();
        transaction.put("z", "1")
    };
    check_each(Isolation::Snapshot, read_b, [false; 4]);
}

#[test]
pub(super) fn snapshot_a_put_conflicts_with_every_change() {
    check_each(Isolation::Snapshot, |transaction| transaction.put("b", "1"), [true; 4]);
    check_each(Isolation::Snapshot, |transaction| transaction.delete("b"), [true; 4]);
    let delete_range = |transaction: &Transaction| transaction.delete_range("a".."d");
    check_each(Isolation::Snapshot, delete_range, [true; 4]);
}

#[test]
pub(super) fn snapshot_a_merge_conflicts_with_all_but_merges() {
    let merge = |transaction: &Transaction| transaction.merge("b", "1");
    check_each(Isolation::Snapshot, merge, [true, true, false, true]);
}

/// A bound on what is remembered makes conflicts, never wrong commits.
#[test]
pub(super) fn claims_beyond_their_bound_join_into_ranges() {
    let db = open();
    for n in 0..2000 {
        db.put(format!("key {n:04}"), "0").unwrap();
    }
    let few = TransactionOptions { max_read_bytes: 4 << 10, ..Default::default() };
    let read_many = |changed: &str| {
        let transaction = db.with(&few).begin().unwrap();
        for n in 0..2000 {
            transaction.get(format!("key {n:04}")).unwrap();
        }
        transaction.put("z", "1").unwrap();
        db.put(changed, "9").unwrap();
        is_conflict(transaction.commit())
    };
    assert!(read_many("key 0000") && read_many("key 1999") && read_many("key 0777"));
    assert!(!read_many("a") && !read_many("z"));
}

/// Returns whether a transaction over many keys conflicts with other writes: so many that the notes
/// of recent writes forget the first of them.
fn many_keys_conflict(isolation: Isolation, keys: u32, changed: Option<u32>) -> bool {
    let db = open();
    let key = |n: u32| n.wrapping_mul(0x9e37_79b9).to_be_bytes();
    let transaction = begin(&db, isolation);
    for n in 0..keys {
        match isolation {
            Isolation::Snapshot => transaction.put(key(n), "1").unwrap(),
            _ => assert!(transaction.get(key(n)).unwrap().is_none()),
        }
    }
    transaction.put("z", "1").unwrap();
    if let Some(n) = changed {
        db.put(key(n), "9").unwrap();
    }
    for n in 0..200_000u64 {
        db.put(n.to_be_bytes(), "").unwrap();
    }
    is_conflict(transaction.commit())
}

/// All claims were in doubt when any shared the hash of another key, so large transactions always
/// lost.
#[test]
fn writes_to_other_keys_do_not_conflict_with_many_claims() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        assert!(!many_keys_conflict(isolation, 100_000, None), "{isolation:?}");
        for changed in [0, 55_555, 99_999] {
            assert!(many_keys_conflict(isolation, 100_000, Some(changed)), "{isolation:?}");
        }
    }
}

/// Other threads write other keys all the time, without a pause.
#[test]
fn a_transaction_over_many_keys_commits_beside_busy_writers() {
    let db = open();
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let ended = RaisedAtEnd(&ends);
        for thread in 0..2u64 {
            let (db, ends) = (&db, &ends);
            scope.spawn(move || {
                for n in 0u64.. {
                    db.put([thread.to_be_bytes(), n.to_be_bytes()].concat(), "").unwrap();
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        for round in 0..3u32 {
            let transaction = begin(&db, Isolation::Serializable);
            for n in 0..100_000u32 {
                transaction.get(n.wrapping_mul(0x9e37_79b9).to_be_bytes()).unwrap();
            }
            assert_eq!(transaction.range("a".."e").unwrap().count(), 4);
            transaction.put("z", round.to_be_bytes()).unwrap();
            transaction.commit().unwrap();
        }
        drop(ended);
    });
}

/// What is read again and again counts once.
#[test]
fn repeated_reads_claim_no_more_than_one_of_each() {
    let db = open();
    let few = TransactionOptions { max_read_bytes: 4 << 10, ..Default::default() };
    let read_often = |changed: &str| {
        let transaction = db.with(&few).begin().unwrap();
        for _ in 0..2000 {
            transaction.get("a").unwrap();
            transaction.get("d").unwrap();
            assert_eq!(transaction.range("x".."y").unwrap().count(), 0);
        }
        transaction.put("z", "1").unwrap();
        db.put(changed, "9").unwrap();
        let is_conflict = is_conflict(transaction.commit());
        db.delete("xx").unwrap();
        is_conflict
    };
    assert!(!read_often("b") && !read_often("c") && !read_often("m") && !read_often("y"));
    assert!(read_often("a") && read_often("d") && read_often("xx"));
}

/// Writes and claims of open transactions, and nothing after their ends.
#[test]
fn the_memory_of_transactions_is_told() {
    let db = open();
    let before = db.memory().transactions;
    let transaction = begin(&db, Isolation::Serializable);
    for n in 0..50_000u32 {
        transaction.put(n.to_be_bytes(), [7; 32]).unwrap();
    }
    let written = db.memory().transactions - before;
    assert!((50_000 * 36..50_000 * 36 * 3).contains(&written), "{written}");
    assert!(transaction.contains_key(7u32.to_be_bytes()).unwrap());
    let indexed = db.memory().transactions - before;
    assert!(indexed >= written + 50_000 * 36, "{indexed} after {written}");
    for n in 100_000..150_000u32 {
        transaction.get(n.to_be_bytes()).unwrap();
    }
    let read = db.memory().transactions - before;
    // Small changes are told later. A read takes its key and a few words.
    let each = 4 + 3 * size_of::<usize>() as u64;
    let least = indexed + 50_000 * each - (64 << 10);
    assert!(read >= least, "{read} after {indexed}");
    drop(transaction);
    let after = db.memory().transactions;
    assert!(after <= before + (64 << 10), "{after} after {before}");
}

#[test]
fn a_transaction_that_is_too_large_says_so_and_stays_as_it_was() {
    let db = open();
    let transaction = begin(&db, Isolation::Serializable);
    transaction.put("kept", "1").unwrap();
    let value = vec![b'v'; 200 << 20];
    transaction.put("large", &value).unwrap();
    let error = transaction.put("too large", &value).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TransactionTooLarge, "{error}");
    transaction.commit().unwrap();
    assert_eq!(db.get("kept").unwrap().unwrap(), b"1");
    assert_eq!(db.get("too large").unwrap(), None);
}

#[test]
fn bad_input_adds_nothing() {
    let db = open();
    let other = open();
    let transaction = begin(&db, Isolation::Serializable);
    let foreign = transaction.keyspace(other.default_keyspace());
    assert_eq!(foreign.put("a", "1").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(foreign.get("a").unwrap_err().kind(), ErrorKind::InvalidArgument);
    let long = vec![b'k'; 1 << 20];
    assert_eq!(transaction.put(&long, "1").unwrap_err().kind(), ErrorKind::InvalidArgument);
    let backwards = transaction.delete_range("b".."a").unwrap_err();
    assert_eq!(backwards.kind(), ErrorKind::InvalidArgument);
    let counters = db.create_keyspace("counters", Default::default()).unwrap();
    let adding = db.operator("uint64add").unwrap();
    let malformed = transaction.keyspace(&counters).merge_with(&adding, "a", "short").unwrap_err();
    assert_eq!(malformed.kind(), ErrorKind::InvalidArgument);
    transaction.commit().unwrap();
    assert_eq!(db.iter().unwrap().count(), 4);
}

/// An order that panics while the flag is up.
#[derive(Debug)]
struct Brittle(std::sync::Arc<std::sync::atomic::AtomicBool>);

impl foldb::custom::Comparator for Brittle {
    fn name(&self) -> &str {
        "test.brittle"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        assert!(!self.0.load(std::sync::atomic::Ordering::Relaxed), "brittle");
        b.cmp(a)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// A comparator that panics in the middle of a walk costs no claim.
#[test]
pub(super) fn serializable_a_walk_cut_short_by_a_panic_claims_its_range() {
    for (changed, from_back) in [("b", false), ("zz", false), ("b", true), ("zz", true)] {
        let step = |iter: &mut foldb::Iter| match from_back {
            true => iter.next_back().transpose().map(|entry| entry.is_some()),
            false => iter.advance(),
        };
        let is_up = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let db = open();
        let brittle = foldb::KeyspaceOptions {
            comparator: Some(std::sync::Arc::new(Brittle(is_up.clone()))),
            ..Default::default()
        };
        let keyspace = db.create_keyspace("brittle", brittle).unwrap();
        for key in ["a", "b", "c", "d"] {
            keyspace.put(key, "0").unwrap();
        }
        let transaction = begin(&db, Isolation::Serializable);
        let mut iter = transaction.keyspace(&keyspace).range("y".."b").unwrap();
        assert!(step(&mut iter).unwrap());
        is_up.store(true, std::sync::atomic::Ordering::Relaxed);
        let cut_short = std::panic::AssertUnwindSafe(|| step(&mut iter));
        crate::support::quiet::catch(cut_short).unwrap_err();
        is_up.store(false, std::sync::atomic::Ordering::Relaxed);
        drop(iter);
        transaction.put("z", "1").unwrap();
        keyspace.put(changed, "9").unwrap();
        keyspace.put("c", "9").unwrap();
        assert!(is_conflict(transaction.commit()), "{changed}");
    }
}

/// A caller may claim more or less than its isolation says.
#[test]
fn a_read_may_be_claimed_or_not_with_every_isolation() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let claimed = |transaction: &Transaction| {
            transaction.get_for_update("b")?;
            transaction.put("z", "1")
        };
        check_each(isolation, claimed, [true; 4]);
        let unclaimed = |transaction: &Transaction| {
            transaction.get_unclaimed("b")?;
            transaction.put("z", "1")
        };
        check_each(isolation, unclaimed, [false; 4]);
    }
}
