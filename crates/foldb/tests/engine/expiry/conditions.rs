//! Transactions and conditional writes over entries that expire.

use foldb::env::MemFs;
use foldb::expiry::{Expires, Expiry};
use foldb::{CompareAndSwap, ErrorKind, Isolation, TransactionOptions};

use crate::expiry::support::{clock, lists, open, read, seconds, set};
use crate::support::assert_error;

#[test]
fn conditional_writes_see_what_is_alive() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    assert!(own.put_if_absent("a", "1").unwrap());
    set(&clock, 9);
    assert!(!own.put_if_absent("a", "2").unwrap());
    assert_eq!(own.merge_get("a", "2").unwrap().unwrap(), "1,2");
    set(&clock, 19);
    assert_eq!(own.merge_get("a", "3").unwrap().unwrap(), "3");
    set(&clock, 29);
    assert_eq!(own.take("a").unwrap(), None);
    let outcome = own.compare_and_swap("a", Some(b"3"), Some(b"4")).unwrap();
    assert_eq!(outcome, CompareAndSwap::Found(None));
    own.put("a", "5").unwrap();
    own.put("b", "6").unwrap();
    set(&clock, 38);
    own.merge("b", "7").unwrap();
    set(&clock, 39);
    assert_eq!(own.take_first(..).unwrap().unwrap().0, b"b");
}

#[test]
fn a_transaction_reads_the_time_of_its_snapshot() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    own.put("a", "1").unwrap();
    own.put("b", "1").unwrap();
    set(&clock, 5);
    let transaction = db.begin().unwrap();
    let inside = transaction.keyspace(&own);
    assert_eq!(inside.get("a").unwrap().unwrap(), "1");
    inside.merge("a", "2").unwrap();
    inside.merge("c", "2").unwrap();
    assert_eq!(inside.get("a").unwrap().unwrap(), "1,2");
    let entries = |rev: bool| {
        let entries = inside.iter().unwrap();
        let entries: Vec<_> = if rev { entries.rev().collect() } else { entries.collect() };
        entries
            .into_iter()
            .map(|entry| {
                let (key, value) = entry.unwrap();
                format!("{}={} ", key.escape_ascii(), value.escape_ascii())
            })
            .collect::<String>()
    };
    assert_eq!(entries(false), "a=1,2 b=1 c=2 ");
    assert_eq!(entries(true), "c=2 b=1 a=1,2 ");
    set(&clock, 9);
    transaction.commit().unwrap();
    assert_eq!(read(&own, "a").as_deref(), Some("1,2"));
    set(&clock, 18);
    assert_eq!(read(&own, "a").as_deref(), Some("1,2"), "written at 9");
    assert_eq!(read(&own, "b"), None);
    set(&clock, 19);
    assert_eq!(read(&own, "a"), None);
}

/// What a transaction read must still be there at its commit.
#[test]
fn a_commit_after_a_value_expired_is_a_conflict() {
    for (how, conflicts) in [("get", true), ("iter", true), ("merge", false), ("absent", false)] {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
        own.put("a", "1").unwrap();
        set(&clock, 9);
        let transaction = db.begin().unwrap();
        let inside = transaction.keyspace(&own);
        match how {
            "get" => assert!(inside.get("a").unwrap().is_some()),
            "iter" => assert_eq!(inside.iter().unwrap().count(), 1),
            "merge" => inside.merge("a", "2").unwrap(),
            _ => assert!(inside.get("b").unwrap().is_none()),
        }
        inside.put("c", "3").unwrap();
        set(&clock, 10);
        match conflicts {
            true => drop(assert_error(transaction.commit(), ErrorKind::Conflict, None)),
            false => transaction.commit().unwrap(),
        }
    }
}

/// An expiry counts as a delete of the key, also under snapshot isolation and before a new put.
#[test]
fn snapshot_isolation_conflicts_with_the_end_of_what_it_writes() {
    for (put_anew, write, conflicts) in [(true, "a", true), (false, "a", true), (false, "b", false)]
    {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
        own.put("a", "1").unwrap();
        db.flush().unwrap();
        let isolation = Isolation::Snapshot;
        let transaction =
            db.with(&TransactionOptions { isolation, ..Default::default() }).begin().unwrap();
        let inside = transaction.keyspace(&own);
        assert!(inside.get("a").unwrap().is_some());
        inside.put(write, "2").unwrap();
        set(&clock, 10);
        if put_anew {
            own.put("a", "9").unwrap();
        }
        match conflicts {
            true => drop(assert_error(transaction.commit(), ErrorKind::Conflict, None)),
            false => transaction.commit().unwrap(),
        }
    }
}

/// A commit to a keyspace without expiry asks for the time if the transaction read a lease.
#[test]
fn a_lease_that_ended_before_a_commit_elsewhere_is_a_conflict() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    for (end, conflicts) in [(9, false), (20, true)] {
        own.put("lease", "1").unwrap();
        let transaction = db.begin().unwrap();
        assert!(transaction.keyspace(&own).get("lease").unwrap().is_some());
        transaction.put("done", "1").unwrap();
        set(&clock, end);
        match conflicts {
            true => drop(assert_error(transaction.commit(), ErrorKind::Conflict, None)),
            false => transaction.commit().unwrap(),
        }
    }
}

/// Only the end of the folded value counts: neither those of older merges, nor those of own writes.
#[test]
fn ends_that_later_writes_moved_do_not_conflict() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    for second in 0..10 {
        set(&clock, second);
        own.merge("a", "1").unwrap();
    }
    let transaction = db.begin().unwrap();
    let inside = transaction.keyspace(&own);
    assert!(inside.get("a").unwrap().is_some());
    assert_eq!(inside.iter().unwrap().count(), 1);
    inside.get_operands("a").unwrap();
    transaction.set_expires(Some(Expires::After(seconds(2))));
    inside.put("b", "1").unwrap();
    assert!(inside.get("b").unwrap().is_some());
    assert_eq!(inside.iter().unwrap().count(), 2);
    set(&clock, 15);
    transaction.commit().unwrap();
    assert_eq!(read(&own, "b").as_deref(), Some("1"));
    set(&clock, 17);
    assert_eq!(read(&own, "b"), None);
}
