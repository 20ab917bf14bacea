//! The laws of the operators, their timestamps, and what they say about malformed operands.

use std::sync::Arc;

use foldb::operators::laws::Check;
use foldb::operators::{Full, MergeOperator, hyperloglog, set};

use super::{all, named};
use crate::store::{Store, StoreOptions};

fn by_name(name: &str) -> Arc<dyn MergeOperator> {
    named(name).unwrap()
}

fn stamped(stamp: i64, payload: &[u8]) -> Vec<u8> {
    [&stamp.to_be_bytes()[..], payload].concat()
}

fn fold(name: &str, base: Option<&[u8]>, operands: &[Vec<u8>]) -> Option<Vec<u8>> {
    let operator = by_name(name);
    let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let mut out = Vec::new();
    match operator.full(b"key", base, &operands, &mut out) {
        Full::Value => Some(out),
        Full::Operand(index) => Some(operands[index].to_vec()),
        Full::Existing => base.map(<[u8]>::to_vec),
        Full::Delete => None,
        Full::Fail => panic!("{name} failed"),
    }
}

#[test]
fn configured_names_are_the_names_of_operators() {
    for name in ["sum", "min", "max", "append", "set", "hyperloglog"] {
        assert_eq!(by_name(name).name(), format!("streams.{name}"));
    }
    assert_eq!(all().len(), 6);
    let unknown = named("product").unwrap_err().to_string();
    assert!(unknown.contains("'product'") && unknown.contains("sum, min, max, app"), "{unknown}");
}

#[test]
fn numbers_keep_the_laws() {
    let numbers = [0, 1, -1, 7, i64::MAX, i64::MIN];
    let stamps = [0, 5, -1, i64::MAX];
    let operands = numbers
        .iter()
        .flat_map(|number| stamps.iter().map(move |stamp| stamped(*stamp, &number.to_be_bytes())));
    let operands: Vec<Vec<u8>> = operands.collect();
    let check = || Check::new(&operands).bases(operands.iter()).commutative();
    check().run(&*by_name("sum")).unwrap();
    check().idempotent().run(&*by_name("min")).unwrap();
    check().idempotent().run(&*by_name("max")).unwrap();
}

#[test]
fn appended_bytes_keep_the_laws() {
    let operands = [stamped(3, b""), stamped(1, b"a"), stamped(2, b"bc"), stamped(-1, b"\0")];
    Check::new(&operands).bases(&operands).run(&*by_name("append")).unwrap();
}

#[test]
fn sets_keep_the_laws_with_members_that_come_and_go() {
    let operands = [
        stamped(10, &set::add("x")),
        stamped(5, &set::remove("x")),
        stamped(3, &set::add("y")),
        stamped(4, &set::remove("y")),
        stamped(7, b""),
    ];
    Check::new(&operands).bases(&operands).idempotent().run(&*by_name("set")).unwrap();
}

#[test]
fn sketches_keep_the_laws() {
    let operands: Vec<Vec<u8>> =
        (0..5i64).map(|n| stamped(10 - n, &hyperloglog::operand([n.to_be_bytes()]))).collect();
    Check::new(&operands)
        .bases(&operands)
        .commutative()
        .idempotent()
        .rounds(200)
        .run(&*by_name("hyperloglog"))
        .unwrap();
}

#[test]
fn the_result_has_the_greatest_timestamp_and_the_folded_value() {
    let long = |stamp, number: i64| stamped(stamp, &number.to_be_bytes());
    let operands = [long(7, 2), long(3, -5)];
    assert_eq!(fold("sum", None, &operands), Some(long(7, -3)));
    assert_eq!(fold("sum", Some(&long(9, 10)), &operands), Some(long(9, 7)));
    assert_eq!(fold("min", Some(&long(1, 10)), &operands), Some(long(7, -5)));
    assert_eq!(fold("max", Some(&long(1, 10)), &operands), Some(long(7, 10)));
    let text = [stamped(4, b"b"), stamped(2, b"c")];
    assert_eq!(fold("append", Some(&stamped(3, b"a")), &text), Some(stamped(4, b"abc")));
    assert_eq!(fold("sum", None, &[long(1, i64::MAX), long(1, 1)]), Some(long(1, i64::MIN)));
}

#[test]
fn a_set_that_loses_its_last_member_keeps_its_timestamp() {
    let base = stamped(10, &set::add("x"));
    let emptied = fold("set", Some(&base), &[stamped(5, &set::remove("x"))]);
    assert_eq!(emptied, Some(stamped(10, b"")));
    let again = fold("set", emptied.as_deref(), &[stamped(3, &set::add("y"))]);
    assert_eq!(again, Some(stamped(10, &set::add("y"))));
}

#[test]
fn a_malformed_operand_is_refused_with_what_to_do() {
    let refused =
        |name: &str, operand: &[u8]| by_name(name).check_operand(operand).expect_err("accepted");
    let short = refused("sum", &stamped(1, &7i32.to_be_bytes()));
    assert!(short.starts_with("16 bytes") && short.contains("not 12"), "{short}");
    assert!(short.contains("Serdes.Long()") && short.contains("streams.sum"), "{short}");
    assert!(refused("append", b"abc").starts_with("at least 8 bytes (the timestamp), not 3"));
    assert!(refused("set", &stamped(1, b"x")).contains("set operand"));
    assert!(refused("hyperloglog", &stamped(1, b"x")).contains("sketch"));
}

#[test]
fn a_malformed_base_fails_the_fold_and_loses_nothing() {
    for (name, operand) in [
        ("sum", stamped(1, &1i64.to_be_bytes())),
        ("append", stamped(1, b"a")),
        ("set", stamped(1, &set::add("a"))),
        ("hyperloglog", stamped(1, &hyperloglog::operand(["a"]))),
    ] {
        let operator = by_name(name);
        let answer = operator.full(b"key", Some(b"bad"), &[&operand], &mut Vec::new());
        assert_eq!(answer, Full::Fail, "{name}");
    }
}

#[test]
fn merges_reach_the_store_and_fold_onto_what_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let open = |operator: Option<&str>| {
        let operator = operator.map(str::to_owned);
        let options = StoreOptions { operator, forgets_offsets: false, memory: 16 << 20 };
        Store::open(directory.path(), &options)
    };
    let long = |stamp, number: i64| stamped(stamp, &number.to_be_bytes());
    let store = open(None).unwrap();
    store.opened().unwrap().put(b"a", Some(&long(5, 40))).unwrap();
    store.close().unwrap();
    let store = open(Some("sum")).unwrap();
    for stamp in 0..100 {
        store.opened().unwrap().merge(b"a", &long(stamp, 1)).unwrap();
    }
    let malformed = store.opened().unwrap().merge(b"a", b"short").unwrap_err().to_string();
    assert!(malformed.contains("16 bytes") && malformed.contains("not 5"), "{malformed}");
    store.close().unwrap();
    let other = open(Some("max")).unwrap_err().to_string();
    assert!(other.contains("'sum'") && other.contains("'max'"), "{other}");
    let store = open(None).unwrap();
    assert_eq!(store.opened().unwrap().get(b"a").unwrap().unwrap(), long(99, 140));
}
