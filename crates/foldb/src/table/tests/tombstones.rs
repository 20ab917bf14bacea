//! Range tombstones in tables.

use super::*;
use crate::ErrorKind;
use crate::encoding::key_hash;
use crate::table::order::KeyOrder;
use crate::table::tombstone_block::{decode_tombstones, encode_tombstones};

#[test]
fn h10_tombstones_come_back_and_cover() {
    let tombstones = [tombstone("f", ">k", 30), tombstone("b", "d", 20), tombstone("b", "g", 9)];
    let records = [put("c", 5, "x"), put("h", 40, "y")];
    let (file, summary) = build_with(&records, &tombstones, options());
    let table = open(file).unwrap();
    table.verify().unwrap();
    assert_eq!(scan(&table, CursorOptions::default()).unwrap(), records);
    assert_eq!(table.properties().range_deletes, 3);
    for (key, at, cover) in [
        ("a", 99, 0),
        ("b", 99, 20),
        ("b", 19, 9),
        ("b", 8, 0),
        ("d", 99, 9),
        ("f", 99, 30),
        ("f", 29, 9),
        ("g", 29, 0),
        ("k", 99, 30),
        ("k\0", 99, 0),
    ] {
        assert_eq!(table.cover(key.as_bytes(), at), cover, "{key} at {at}");
    }
    assert!(
        !table.may_contain(key_hash(b"b"), b"b").unwrap(),
        "the filter knows nothing of what is covered"
    );
    assert_eq!((&*summary.smallest, &*summary.largest), (&b"b"[..], &b"k"[..]));
    assert!(!summary.largest_excluded);
    assert_eq!((summary.smallest_seqno, summary.largest_seqno), (5, 40));
    assert_eq!((summary.entries, summary.deletes, summary.range_deletes), (2, 0, 3));
}

#[test]
fn h10_a_table_may_be_nothing_but_tombstones() {
    let (file, summary) = build_with(&[], &[tombstone(">b", "k", 7)], options());
    let table = open(file).unwrap();
    assert_eq!(table.verify().unwrap().entries, 0);
    assert_eq!(scan(&table, CursorOptions::default()).unwrap(), []);
    assert_eq!(scan_back(&table, CursorOptions::default()).unwrap(), []);
    assert_eq!(get(&table, b"c", 99).unwrap(), []);
    assert_eq!((table.cover(b"b", 9), table.cover(b"c", 9), table.cover(b"k", 9)), (0, 7, 0));
    assert_eq!((&*summary.smallest, &*summary.largest), (&b"b"[..], &b"k"[..]));
    assert!(summary.largest_excluded);
    assert_eq!((summary.smallest_seqno, summary.largest_seqno), (7, 7));
}

#[test]
fn tables_without_tombstones_say_nothing_of_them() {
    let (file, summary) = build(&[put("c", 5, "x")], options());
    assert_eq!((summary.range_deletes, summary.largest_excluded), (0, false));
    let table = open(file).unwrap();
    assert!(table.range_tombstones().is_none());
    assert_eq!(table.cover(b"c", 99), 0);
}

fn order() -> KeyOrder {
    KeyOrder::new(Arc::new(BytewiseComparator))
}

/// Bytes that are not an ordered list of tombstones are `Corruption`, and the error names the
/// fault.
#[test]
fn what_is_no_tombstone_is_damage() {
    let whole = encode_tombstones(&[tombstone("b", ">d", 9), tombstone("b", "c", 8)]);
    assert_eq!(decode_tombstones(&whole, &order()).unwrap().len(), 2);
    for len in 0..whole.len() {
        let error = decode_tombstones(&whole[..len], &order()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{len} bytes: {error}");
    }
    let refused = |tombstones: &[RangeTombstone], what: &str| {
        let error = decode_tombstones(&encode_tombstones(tombstones), &order()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert!(error.to_string().contains(what), "{error}");
    };
    refused(&[], "found 0");
    refused(&[tombstone("b", "b", 9)], "expected an end after its start \"b\"");
    refused(&[tombstone("d", "b", 9)], "expected an end after its start \"d\"");
    refused(&[tombstone("c", "d", 9), tombstone("b", "c", 9)], "in order");
    refused(&[tombstone("b", "d", 8), tombstone("b", "c", 9)], "in order");
    refused(&[tombstone("b", "d", 9), tombstone("b", "c", 9)], "in order");
    refused(&[tombstone("b", "d", 0)], "seqno");
    refused(&[tombstone("b", "d", 1 << 56)], "seqno");
    let mut flags = whole.clone();
    flags[1] |= 4;
    assert!(decode_tombstones(&flags, &order()).unwrap_err().to_string().contains("bounds"));
    let mut longer = whole;
    longer.push(0);
    assert!(decode_tombstones(&longer, &order()).unwrap_err().to_string().contains("bytes after"));
    // A count that the bytes cannot hold is refused before anything is allocated for it.
    let absurd = [0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
    assert!(decode_tombstones(&absurd, &order()).unwrap_err().to_string().contains("found"));
}
