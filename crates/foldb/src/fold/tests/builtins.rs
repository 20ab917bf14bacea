//! What each built-in operator says, beyond the laws.

use proptest::prelude::*;

use super::laws::{Outcome, full};
use crate::fold::{MergeOperator, Registry, builtins};
use std::sync::Arc;

fn operator(spec: &str) -> Arc<dyn MergeOperator> {
    Registry::new(Vec::new()).parse(spec).unwrap()
}

fn fold(spec: &str, base: Option<&[u8]>, operands: &[&[u8]]) -> Outcome {
    let operands: Vec<Vec<u8>> = operands.iter().map(|operand| operand.to_vec()).collect();
    full(&*operator(spec), base, &operands)
}

fn value(bytes: impl AsRef<[u8]>) -> Outcome {
    Outcome::Value(bytes.as_ref().to_vec())
}

#[test]
fn counters_wrap() {
    let (max, one) = (u64::MAX.to_le_bytes(), 1u64.to_le_bytes());
    assert_eq!(fold("uint64add", Some(&max), &[&one]), value(0u64.to_le_bytes()));
    let (max, one) = (i64::MAX.to_le_bytes(), 1i64.to_le_bytes());
    assert_eq!(fold("int64add", Some(&max), &[&one]), value(i64::MIN.to_le_bytes()));
    let minus = (-5i64).to_le_bytes();
    assert_eq!(fold("int64add", None, &[&minus, &one]), value((-4i64).to_le_bytes()));
}

#[test]
fn strict_counters_refuse_other_widths() {
    let one = 1u64.to_le_bytes();
    for name in ["uint64add", "int64add"] {
        assert_eq!(fold(name, Some(b"123"), &[&one]), Outcome::Failed);
        assert_eq!(fold(name, Some(b""), &[&one]), Outcome::Failed);
        assert_eq!(fold(name, None, &[&one, b"123456789"]), Outcome::Failed);
        let refused = operator(name).check_operand(b"1").unwrap_err();
        assert_eq!(refused, "8 bytes, little-endian, not 1");
    }
}

/// As RocksDB's uint64add: a value of another width counts as 0, base and operand alike.
#[test]
fn lenient_counters_take_other_widths_for_zero() {
    let lenient = "uint64add:rocksdb_lenient";
    let five = 5u64.to_le_bytes();
    assert_eq!(fold(lenient, Some(b"123"), &[&five]), value(five));
    assert_eq!(fold(lenient, Some(&five), &[&[0xff; 100]]), value(five));
    assert_eq!(fold(lenient, None, &[b"", &five, b"x"]), value(five));
    assert!(operator(lenient).check_operand(&[7; 100]).is_ok());
}

#[test]
fn parameters_that_are_not_taken_are_refused() {
    for (spec, wanted) in [
        ("uint64add:lenient", "it takes: rocksdb_lenient"),
        ("int64add:x", "it takes: none"),
        ("max:x", "it takes: none"),
        ("append:,", "it takes: none"),
        ("put:", "it takes: none"),
    ] {
        let error = Registry::new(Vec::new()).parse(spec).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

#[test]
fn appends_join() {
    assert_eq!(fold("append", Some(b"ab"), &[b"", b"c"]), value("abc"));
    assert_eq!(fold("stringappend", None, &[b"a", b"b"]), value("a,b"));
    assert_eq!(fold("stringappend:", Some(b"a"), &[b"b"]), value("ab"));
    assert_eq!(fold("stringappend:::", Some(b"a"), &[b"b", b"c"]), value("a::b::c"));
    assert_eq!(fold("stringappend", Some(b""), &[b"", b""]), value(",,"), "as RocksDB's");
}

#[test]
fn put_keeps_the_last() {
    assert_eq!(fold("put", Some(b"zzz"), &[b"b", b"a"]), value("a"));
}

/// The text form of a built-in's example is an operand it takes.
#[test]
fn examples_are_operands() {
    for info in builtins() {
        let operand = match info.text {
            crate::TextForm::Bytes => info.example.as_bytes().to_vec(),
            crate::TextForm::U64 => info.example.parse::<u64>().unwrap().to_le_bytes().to_vec(),
            crate::TextForm::I64 => info.example.parse::<i64>().unwrap().to_le_bytes().to_vec(),
            crate::TextForm::F64 => info.example.parse::<f64>().unwrap().to_le_bytes().to_vec(),
        };
        assert!(info.instantiate(None).unwrap().check_operand(&operand).is_ok(), "{}", info.name);
    }
}

proptest! {
    /// RocksDB's `max` starts from the base, or the empty string, and keeps whatever is larger.
    #[test]
    fn max_and_min_are_of_the_bytes(base: Option<Vec<u8>>, operands in prop::collection::vec(any::<Vec<u8>>(), 1..5)) {
        let all = || base.iter().chain(&operands);
        let max = full(&*operator("max"), base.as_deref(), &operands);
        prop_assert_eq!(max, value(all().max().unwrap()));
        let min = full(&*operator("min"), base.as_deref(), &operands);
        prop_assert_eq!(min, value(all().min().unwrap()));
    }

    /// put(a), merge(b) reads as merge(a), merge(b), for everything that only joins or compares.
    #[test]
    fn a_put_is_a_merge_onto_nothing(a: Vec<u8>, b: Vec<u8>) {
        for spec in ["append", "stringappend", "stringappend:", "max", "min", "put"] {
            let operator = operator(spec);
            let put = full(&*operator, Some(&a), std::slice::from_ref(&b));
            prop_assert_eq!(put, full(&*operator, None, &[a.clone(), b.clone()]), "{}", spec);
        }
    }
}
