//! Merge operators: one function for all, and one for each kind of merge.

use foldb_rocksdb_crate::{creating, directory, join, joining};
use rocksdb::{DB, MergeOperands};

#[test]
fn an_associative_operator_joins() {
    let dir = directory();
    let db = DB::open(&joining(), dir.path()).unwrap();
    for operand in ["a", "b", "c"] {
        db.merge(b"key", operand).unwrap();
        db.flush().unwrap();
    }
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"a,b,c");
    db.put(b"key", b"base").unwrap();
    db.merge(b"key", b"d").unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"base,d");
    drop(db);
    let db = DB::open(&joining(), dir.path()).unwrap();
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"base,d");
}

/// Adds the operands to the value, as decimal numbers.
fn add(_key: &[u8], value: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<i64>().ok();
    let mut sum = value.map_or(Some(0), number)?;
    for operand in operands {
        sum += number(operand)?;
    }
    Some(sum.to_string().into_bytes())
}

#[test]
fn an_operator_with_two_functions_adds() {
    let dir = directory();
    let mut options = creating();
    let partial = |key: &[u8], _: Option<&[u8]>, operands: &MergeOperands| add(key, None, operands);
    options.set_merge_operator("adding", add, partial);
    let db = DB::open(&options, dir.path()).unwrap();
    for operand in 1..=100 {
        db.merge(b"sum", operand.to_string()).unwrap();
        if operand % 25 == 0 {
            db.flush().unwrap();
        }
    }
    assert_eq!(db.get(b"sum").unwrap().unwrap(), b"5050");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.get(b"sum").unwrap().unwrap(), b"5050");
    db.merge(b"sum", b"no number").unwrap();
    assert!(db.get(b"sum").is_err());
    db.put(b"sum", b"1").unwrap();
    assert_eq!(db.get(b"sum").unwrap().unwrap(), b"1");
}

/// A partial merge that never works leaves every operand to the full one.
#[test]
fn a_partial_merge_may_refuse() {
    let dir = directory();
    let mut options = creating();
    options.set_merge_operator("full only", join, |_, _, _| None);
    let db = DB::open(&options, dir.path()).unwrap();
    for operand in ["a", "b", "c"] {
        db.merge(b"key", operand).unwrap();
    }
    db.flush().unwrap();
    db.merge(b"key", b"d").unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"a,b,c,d");
}

#[test]
fn the_operator_for_numbers_adds() {
    let dir = directory();
    let mut options = creating();
    options.set_merge_operator_associative("sums", |_, value, operands| {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        let sum = value.map_or(0, number) + operands.iter().map(number).sum::<u64>();
        Some(sum.to_le_bytes().to_vec())
    });
    let db = DB::open(&options, dir.path()).unwrap();
    for operand in [1_u64, 1 << 40, 5] {
        db.merge(b"sum", operand.to_le_bytes()).unwrap();
    }
    assert_eq!(db.get(b"sum").unwrap().unwrap(), (6_u64 + (1 << 40)).to_le_bytes());
}
