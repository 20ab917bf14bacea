//! Ranges of keys compile as they are written, without annotations.

use std::ops::Bound;

use foldb::env::MemFs;
use foldb::{Db, ErrorKind};

use crate::support::open;

#[test]
fn ranges_need_no_annotations() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    for key in ["a", "b", "c", "d"] {
        db.put(key, "").unwrap();
    }
    let (b, d) = (b"b".to_vec(), String::from("d"));
    let (start, end) = ("a".to_owned(), "c".to_owned());
    let counts = [
        (4, db.range(..).unwrap().count()),
        // Literals.
        (4, db.range(..b"z").unwrap().count()),
        (2, db.range("a"..="b").unwrap().count()),
        (2, db.range("a".."c").unwrap().count()),
        (3, db.range("b"..).unwrap().count()),
        (1, db.range(.."b").unwrap().count()),
        (2, db.range(..=b"b").unwrap().count()),
        (2, db.range(b"b"..b"d").unwrap().count()),
        (0, db.range("b".."b").unwrap().count()),
        // Pairs of bounds.
        (1, db.range((Bound::Excluded("a"), Bound::Excluded("c"))).unwrap().count()),
        (3, db.range((Bound::Excluded("a"), Bound::Unbounded)).unwrap().count()),
        (2, db.range((Bound::Unbounded, Bound::Included(b"b"))).unwrap().count()),
        (1, db.range((Bound::Included(b.clone()), Bound::Included(b.clone()))).unwrap().count()),
        // Owned keys.
        (3, db.range(b.clone()..).unwrap().count()),
        (1, db.range(..b.clone()).unwrap().count()),
        (3, db.range(..d.clone()).unwrap().count()),
        (3, db.range(start.clone()..=end.clone()).unwrap().count()),
        (2, db.range(start.clone()..end.clone()).unwrap().count()),
        (2, db.range(vec![b'b']..vec![b'd']).unwrap().count()),
        // Borrowed keys, and borrowed ranges.
        (3, db.range(&b..).unwrap().count()),
        (2, db.range(&start..&end).unwrap().count()),
        (2, db.range(&b[..]..b"d").unwrap().count()),
        (2, db.range(start.as_str()..end.as_str()).unwrap().count()),
        (2, db.range(&(start.clone()..end.clone())).unwrap().count()),
        // Arrays, as of a number in big-endian order.
        (4, db.range(0u32.to_be_bytes()..u32::MAX.to_be_bytes()).unwrap().count()),
    ];
    for (at, (expected, found)) in counts.into_iter().enumerate() {
        assert_eq!(found, expected, "range {at}");
    }
}

/// The other calls that take a range take the same ones.
#[test]
fn every_call_with_a_range_takes_the_same_ranges() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let (start, end) = (b"a".to_vec(), b"z".to_vec());
    db.put("key", "value").unwrap();
    assert_eq!(db.approximate_count("a"..="z").unwrap().estimate, 1);
    assert!(db.approximate_size(..b"z").unwrap() > 0);
    db.compact(&start..&end).unwrap();
    db.compact(..).unwrap();
    db.delete_range((Bound::Excluded("a"), Bound::Unbounded)).unwrap();
    db.delete_range(start..end).unwrap();
    assert!(db.is_empty().unwrap());
}

/// Readers find nothing in such a range. A delete of it is refused, because it is probably a
/// mistake that the caller must hear of.
#[test]
fn a_range_that_ends_before_it_starts_is_empty() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    ["a", "m", "z"].into_iter().for_each(|key| db.put(key, "1").unwrap());
    for flushed in [false, true] {
        assert_eq!(db.range("z".."a").unwrap().count(), 0, "{flushed}");
        assert_eq!(db.range("z"..="a").unwrap().rev().count(), 0, "{flushed}");
        assert_eq!(db.snapshot().range("n".."b").unwrap().count(), 0, "{flushed}");
        let transaction = db.begin().unwrap();
        transaction.put("n", "1").unwrap();
        assert_eq!(transaction.range("z".."a").unwrap().count(), 0, "{flushed}");
        assert!(transaction.take_first("z".."a").unwrap().is_none(), "{flushed}");
        assert!(db.take_first("z".."a").unwrap().is_none(), "{flushed}");
        let error = db.delete_range("z".."a").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        db.flush().unwrap();
    }
    assert_eq!(db.iter().unwrap().count(), 3);
}
