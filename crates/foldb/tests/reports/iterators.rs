//! Iterators: turns, bounds, prefixes and their ends.

use std::ops::Bound;

use foldb::env::MemFs;
use foldb::{Db, KeyspaceOptions, Options};

use crate::support::{PATH, open, options, reopen};
use crate::{everywhere, here, scan};

fn with_list(fs: &MemFs) -> Db {
    let merge_operator = Some("stringappend:,".to_owned());
    Db::open(
        PATH,
        Options {
            default: KeyspaceOptions { merge_operator, ..KeyspaceOptions::default() },
            ..options(fs)
        },
    )
    .unwrap()
}

/// A turn from forward to backward at a key of operands stayed at the wrong key, because the next
/// key's operands had been reached already: a.MERGE.4 a.MERGE.3 b.MERGE.6 b.MERGE.2.
/// (facebook/rocksdb#648, facebook/rocksdb#682)
#[test]
fn an_iterator_turns_at_a_key_of_operands() {
    let db = with_list(&MemFs::new());
    for (key, operand) in [("b", "2"), ("a", "3"), ("a", "4"), ("b", "6")] {
        db.merge(key, operand).unwrap();
    }
    everywhere(&db, |db| {
        let mut iter = db.iter().unwrap();
        iter.seek("a").unwrap();
        assert_eq!(here(&iter), "a=3,4");
        iter.retreat().unwrap();
        assert_eq!(here(&iter), "-");
        iter.seek("b").unwrap();
        iter.retreat().unwrap();
        assert_eq!(here(&iter), "a=3,4");
        iter.advance().unwrap();
        assert_eq!(here(&iter), "b=2,6");
    });
}

/// The buffer of a fold kept bytes of the key before, and the iterator showed them in front of the
/// value. (facebook/rocksdb#920, facebook/rocksdb#1567)
#[test]
fn a_fold_below_an_iterator_starts_with_an_empty_buffer() {
    let db = with_list(&MemFs::new());
    for n in 0..40 {
        for key in ["key1", "key2", "key3"] {
            db.merge(key, format!("{key}.{n}")).unwrap();
        }
        if n % 10 == 9 {
            db.flush().unwrap();
        }
    }
    let expected = |key: &str| {
        let operands: Vec<_> = (0..40).map(|n| format!("{key}.{n}")).collect();
        format!("{key}={}", operands.join(","))
    };
    let all = [expected("key1"), expected("key2"), expected("key3")].join(" ");
    everywhere(&db, |db| assert_eq!(scan(db), all));
}

/// With an upper bound, a step back from behind the last entry began at the end of the database.
/// (facebook/rocksdb#3989, cockroachdb/pebble#441)
#[test]
fn a_step_back_from_the_upper_bound_stays_below_it() {
    let db = open(&MemFs::new()).unwrap();
    for key in ["a", "c", "e", "g", "i"] {
        db.put(key, "").unwrap();
        db.flush().unwrap();
    }
    everywhere(&db, |db| {
        let mut iter = db.range("b".."f").unwrap();
        iter.seek("e").unwrap();
        iter.advance().unwrap();
        assert_eq!(here(&iter), "-");
        iter.seek_for_prev("z").unwrap();
        assert_eq!(here(&iter), "e=");
        iter.retreat().unwrap();
        iter.retreat().unwrap();
        assert_eq!(here(&iter), "-");
        iter.seek("a").unwrap();
        assert_eq!(here(&iter), "c=");
    });
}

/// A seek inside the table where the iterator stood already, at the table's last key, found
/// nothing. (cockroachdb/pebble#386, cockroachdb/pebble#413)
#[test]
fn a_second_seek_into_the_same_table_finds_its_keys() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { target_file_size: 1024, ..options(&fs) }).unwrap();
    for n in 0..400u32 {
        db.put(format!("{n:04}"), [7; 40]).unwrap();
    }
    db.compact(..).unwrap();
    assert!(db.tables().unwrap().len() > 4);
    for n in 1..399u32 {
        let mut iter = db.iter().unwrap();
        iter.seek(format!("{n:04}")).unwrap();
        iter.advance().unwrap();
        iter.retreat().unwrap();
        iter.seek(format!("{:04}", n + 1)).unwrap();
        assert_eq!(iter.key(), format!("{:04}", n + 1).as_bytes());
        iter.seek_for_prev(format!("{:04}", n - 1)).unwrap();
        assert_eq!(iter.key(), format!("{:04}", n - 1).as_bytes());
    }
}

/// A walk backwards over a prefix showed nothing, or panicked, because the walk began at the prefix
/// and not behind its last key. (dgraph-io/badger#347, #436, #999 and #2108)
#[test]
fn a_prefix_is_walked_backwards_from_its_last_key() {
    let db = open(&MemFs::new()).unwrap();
    for key in [&[0, 4, 9][..], &[0, 5], &[0, 5, 0, 1], &[0, 5, 0xff, 0xff, 2], &[0, 6]] {
        db.put(key, "").unwrap();
    }
    db.put([0xff, 0xff], "last").unwrap();
    everywhere(&db, |db| {
        let keys = |prefix: &[u8]| -> Vec<Vec<u8>> {
            db.prefix(prefix).unwrap().rev().map(|entry| entry.unwrap().0).collect()
        };
        assert_eq!(keys(&[0, 5]), [&[0, 5, 0xff, 0xff, 2][..], &[0, 5, 0, 1], &[0, 5]]);
        assert_eq!(keys(&[0, 5, 0xff]), [[0, 5, 0xff, 0xff, 2]]);
        assert_eq!(keys(&[0xff]), [[0xff, 0xff]], "no key is above this prefix");
    });
}

/// A key of one zero byte hid the other keys from a walk over a prefix, after a reopen.
/// (dgraph-io/badger#992)
#[test]
fn a_small_key_hides_no_prefix_after_a_reopen() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put([0], "").unwrap();
    db.close().unwrap();
    let db = reopen(&fs).unwrap();
    db.put([0, 0, 0, 0, 0, 0, 0, 1], "found").unwrap();
    db.close().unwrap();
    let db = reopen(&fs).unwrap();
    let prefix = [0, 0, 0, 0];
    assert_eq!(db.prefix(prefix).unwrap().count(), 1);
}

/// An iterator that outlived the close of its database read freed memory.
/// (wbolster/plyvel#56, facebook/rocksdb#636)
#[test]
fn an_iterator_outlives_the_close_of_its_database() {
    let db = open(&MemFs::new()).unwrap();
    for n in 0..100u64 {
        db.merge(format!("{n:03}"), n.to_le_bytes()).unwrap();
    }
    db.flush().unwrap();
    let mut iter = db.iter().unwrap();
    iter.seek_to_first().unwrap();
    let value = db.get("042").unwrap().unwrap();
    db.close().unwrap();
    drop(db);
    assert_eq!(u64::from_le_bytes(value[..].try_into().unwrap()), 42);
    // The iterator goes on, or says that the database is closed. It never shows other bytes.
    let mut seen = 0u64;
    while iter.valid() {
        assert_eq!(iter.key(), format!("{seen:03}").as_bytes());
        seen += 1;
        match iter.advance() {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), foldb::ErrorKind::Closed);
                return;
            }
        }
    }
    assert_eq!(seen, 100);
}

/// Bounds at keys of 0xff bytes, and an empty excluded bound, were rounded: a range showed a key
/// that it excluded, left out one that it included, or failed.
/// (MystenLabs/sui#26455 and #26468, meilisearch/heed#358, tonbo-io/tonbo#93)
#[test]
fn bounds_at_the_ends_of_the_key_space_are_exact() {
    let db = open(&MemFs::new()).unwrap();
    for key in [&[][..], &[0], &[100], &[0xff], &[0xff, 0xff]] {
        db.put(key, "").unwrap();
    }
    everywhere(&db, |db| {
        let keys = |range: (Bound<&[u8]>, Bound<&[u8]>)| -> Vec<Vec<u8>> {
            db.range(range).unwrap().map(|entry| entry.unwrap().0).collect()
        };
        let max = &[0xff, 0xff][..];
        assert!(keys((Bound::Excluded(max), Bound::Unbounded)).is_empty());
        assert_eq!(keys((Bound::Included(max), Bound::Unbounded)), [max]);
        assert_eq!(keys((Bound::Unbounded, Bound::Included(max))).len(), 5);
        assert_eq!(keys((Bound::Unbounded, Bound::Excluded(max))).len(), 4);
        assert_eq!(keys((Bound::Excluded(&[][..]), Bound::Unbounded)).len(), 4);
        assert_eq!(keys((Bound::Excluded(&[0][..]), Bound::Excluded(&[0xff][..]))), [[100]]);
        assert!(keys((Bound::Excluded(&[0][..]), Bound::Excluded(&[1][..]))).is_empty());
    });
}

/// A seek over many deleted keys took as long as the deletes were many, also after the space was
/// compacted. (facebook/rocksdb#10300)
#[test]
fn a_compaction_ends_the_cost_of_deleted_keys() {
    let db = open(&MemFs::new()).unwrap();
    for n in 0..20_000u32 {
        db.put(n.to_be_bytes(), "").unwrap();
    }
    db.flush().unwrap();
    for n in 0..19_999u32 {
        db.delete(n.to_be_bytes()).unwrap();
    }
    db.compact(..).unwrap();
    let records: u64 = db.tables().unwrap().iter().map(|table| table.records).sum();
    assert_eq!(records, 1);
    assert_eq!(db.first().unwrap().unwrap().0, 19_999u32.to_be_bytes());
}
