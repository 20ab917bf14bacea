//! Iterators read from both ends, while the database changes.

use foldb::env::MemFs;
use foldb::{Db, Iter, KeyspaceOptions, Options};

use crate::support::{PATH, number, options};

fn key(n: usize) -> String {
    format!("{n:03}")
}

fn taken(entry: Option<foldb::Result<(Vec<u8>, foldb::Value)>>) -> (String, u64) {
    let (key, value) = entry.expect("an entry").expect("a read");
    let count = u64::from_le_bytes(value[..].try_into().expect("a counter"));
    (String::from_utf8(key).expect("text"), count)
}

/// Reads the rest of an iterator, which stands for 100 counters of 1, from both ends in turn.
fn assert_shows_ones(mut iter: Iter, (mut front, mut back): (usize, usize)) {
    while front < back {
        assert_eq!(taken(iter.next()), (key(front), 1));
        front += 1;
        if front < back {
            back -= 1;
            assert_eq!(taken(iter.next_back()), (key(back), 1));
        }
    }
    assert!(iter.next().is_none() && iter.next_back().is_none());
}

/// The second cursor is opened late: after merges in place, folds, range deletes, flushes,
/// compactions, and the drop of the keyspace. It shows what the first one shows.
#[test]
fn the_second_cursor_shows_the_moment_of_the_first() {
    let fs = MemFs::new();
    let small = Options { write_buffer_size: 4096, target_file_size: 1024, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let counters = db.create_keyspace("counters", KeyspaceOptions::default()).unwrap();
    for flushed in [false, true] {
        counters.clear().unwrap();
        for n in 0..100 {
            counters.merge(key(n), number(1)).unwrap();
        }
        if flushed {
            db.flush().unwrap();
        }
        let [mut from_front, mut from_back, fresh] = [(); 3].map(|()| counters.iter().unwrap());
        assert_eq!(taken(from_front.next()), (key(0), 1));
        assert_eq!(taken(from_back.next_back()), (key(99), 1));
        for round in 0..40 {
            for n in 0..100 {
                counters.merge(key(n), number(7)).unwrap();
            }
            counters.put(format!("new-{round}"), number(9)).unwrap();
            counters.put(format!("050-{round}"), number(9)).unwrap();
        }
        counters.delete_range(key(20)..key(80)).unwrap();
        db.compact(..).unwrap();
        if flushed {
            db.drop_keyspace("counters").unwrap();
        }
        assert_shows_ones(from_front, (1, 100));
        assert_shows_ones(from_back, (0, 99));
        assert_shows_ones(fresh, (0, 100));
    }
}

/// The front never passes the back, whatever seeks come in between.
#[test]
fn what_the_back_has_taken_is_out_of_reach() {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    for n in 0..10 {
        db.merge(key(n), number(1)).unwrap();
    }
    let mut iter = db.range(key(1)..=key(8)).unwrap();
    assert_eq!(taken(iter.next_back()).0, key(8));
    assert_eq!(taken(iter.next_back()).0, key(7));
    assert!(!iter.seek(key(7)).unwrap());
    assert!(iter.seek_for_prev(key(9)).unwrap());
    assert_eq!(iter.key(), key(6).as_bytes());
    assert!(!iter.advance().unwrap());
    assert!(iter.seek_to_last().unwrap());
    assert_eq!(iter.key(), key(6).as_bytes());
    assert_eq!(taken(iter.next_back()).0, key(6), "the entry under the cursor is not taken yet");
    assert!(!iter.valid());
    assert!(iter.seek_to_first().unwrap());
    assert_eq!(iter.key(), key(1).as_bytes());
    assert_eq!(taken(iter.next()).0, key(1));
    assert_eq!(taken(iter.nth(2)).0, key(4));
    assert_eq!(taken(iter.next_back()).0, key(5));
    assert!(iter.next().is_none() && iter.next_back().is_none());
    assert!(iter.seek(key(2)).unwrap());
    let rest: Vec<_> = iter.rev().map(|entry| taken(Some(entry)).0).collect();
    assert_eq!(rest, [key(4), key(3), key(2)]);
}

#[test]
fn first_and_last_skip_what_is_deleted() {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    assert!(db.first().unwrap().is_none() && db.last().unwrap().is_none());
    assert!(db.is_empty().unwrap());
    for n in 0..100 {
        db.merge(key(n), number(1)).unwrap();
    }
    db.flush().unwrap();
    db.delete_range(..key(10)).unwrap();
    db.delete(key(99)).unwrap();
    for flushed in [false, true] {
        if flushed {
            db.flush().unwrap();
        }
        assert_eq!(db.first().unwrap().unwrap().0, key(10).as_bytes());
        assert_eq!(db.last().unwrap().unwrap().0, key(98).as_bytes());
        assert!(!db.is_empty().unwrap());
    }
    let before = db.snapshot();
    db.clear().unwrap();
    assert!(db.is_empty().unwrap() && db.last().unwrap().is_none());
    assert_eq!(before.last().unwrap().unwrap().0, key(98).as_bytes());
    // A key whose merge fails is an entry, and its error is not passed over.
    db.put(key(5), "not a counter").unwrap();
    db.merge(key(5), number(1)).unwrap();
    assert!(!db.is_empty().unwrap());
    assert!(db.first().is_err() && db.last().is_err());
}
