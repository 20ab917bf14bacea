//! Tests the results of each built-in operator. Module `laws` tests the laws.

use proptest::prelude::*;

use crate::fold::tests::laws::{Outcome, full};
use crate::fold::{
    Full, MergeOperator, Partial, Registry, builtins, chain, hyperloglog, list, set,
};
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

/// A get of such a key once copied all of its operands before it failed.
#[test]
fn operands_that_are_too_long_together_are_not_joined() {
    let piece = vec![0; 20 << 20];
    let pieces = [&piece[..]; 14];
    for name in ["list", "append", "stringappend"] {
        let operator = operator(name);
        let mut out = Vec::new();
        assert_eq!(operator.full(b"key", None, &pieces, &mut out), Full::Fail, "{name}");
        assert_eq!(operator.full(b"key", Some(&piece), &pieces[1..], &mut out), Full::Fail);
        assert_eq!(operator.partial(b"key", &pieces, &mut out), Partial::Keep);
        assert_eq!(out.capacity(), 0, "nothing is copied");
        let folded = chain::full(&*operator, b"key", None, &pieces, &mut out);
        assert_eq!(folded, chain::Outcome::Fail { too_long: Some(280 << 20) });
    }
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

/// As in RocksDB's uint64add, a base or operand that is not 8 bytes counts as 0.
#[test]
fn lenient_counters_count_other_widths_as_zero() {
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

#[test]
fn fractions_add_from_the_oldest_to_the_newest() {
    let [big, one] = [1e16f64, 1.0].map(f64::to_le_bytes);
    assert_eq!(fold("float64add", Some(&big), &[&one, &one]), value(big));
    assert_eq!(fold("float64add", None, &[&one, &one]), value(2f64.to_le_bytes()));
    let answer = operator("float64add").partial(b"k", &[&one, &one], &mut Vec::new());
    assert_eq!(answer, Partial::Keep);
}

#[test]
fn numbers_compare_as_numbers() {
    let [small, large] = [255u64, 256].map(u64::to_le_bytes);
    assert_eq!(fold("uint64max", Some(&small), &[&large]), value(large));
    assert_eq!(fold("uint64min", Some(&small), &[&large]), value(small));
    assert_eq!(fold("uint64max", Some(b"1"), &[&large]), Outcome::Failed);
}

#[test]
fn missing_bytes_are_neutral() {
    assert_eq!(fold("bytesxor", Some(b"\x0f\xaa"), &[b"\xff"]), value(b"\xf0\xaa"));
    assert_eq!(fold("bitor", Some(b"\x0f"), &[b"\xf0\xaa"]), value(b"\xff\xaa"));
    assert_eq!(fold("bitand", Some(b"\x0f\xaa"), &[b"\xfa"]), value(b"\x0a\xaa"));
}

#[test]
fn sortlist_leaves_out_what_is_no_number() {
    assert_eq!(fold("sortlist", None, &[b"3,12", b"5"]), value(b"3,5,12"));
    assert_eq!(fold("sortlist", None, &[b"+7, -2,x", b"9y,,99999999999"]), value(b"-2,7,9"));
    assert_eq!(fold("sortlist", Some(b"4\x001"), &[b"", b"4"]), value(b"4,4"));
    assert_eq!(fold("sortlist", Some(b"x"), &[b"y"]), value(b""));
}

#[test]
fn lists_keep_their_elements_apart() {
    let value_of = |elements: &[&str]| value(list::operand(elements));
    let (ab, c) = (list::operand(["a,", ""]), list::operand(["c"]));
    assert_eq!(fold("list", Some(&ab), &[&c]), value_of(&["a,", "", "c"]));
    assert_eq!(fold("listlast:2", Some(&ab), &[&c]), value_of(&["", "c"]));
    assert_eq!(fold("list", Some(b"\x09x"), &[&c]), Outcome::Failed);
    assert!(operator("listlast:1").check_operand(&ab).is_err());
    for parameter in ["0", "01", "", "x", "-1"] {
        let spec = format!("listlast:{parameter}");
        assert!(Registry::new(Vec::new()).parse(&spec).is_err(), "{spec}");
    }
}

/// H7: the set below `+x -x` may hold x, so the two operands do not cancel out.
#[test]
fn sets_keep_removals_until_the_base() {
    let (plus, minus) = (set::add("x"), set::remove("x"));
    let mut out = Vec::new();
    assert_eq!(operator("set").partial(b"k", &[&plus, &minus], &mut out), Partial::Operand);
    assert_eq!(out, minus);
    assert_eq!(fold("set", Some(&plus), &[&plus, &minus]), Outcome::Absent);
    assert_eq!(fold("set", Some(&set::add("y")), &[&out]), value(set::add("y")));
    let unsorted = [set::add("y"), set::add("x")].concat();
    assert!(operator("set").check_operand(&unsorted).is_err());
}

/// The cases of RFC 7396, appendix A.
#[test]
fn json_patches_as_in_the_rfc() {
    for (document, patch, result) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
        (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a":"foo"}"#, "null", "null"),
        (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#),
        ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ] {
        let folded = fold("json_merge_patch", Some(document.as_bytes()), &[patch.as_bytes()]);
        assert_eq!(folded, value(result), "{document} {patch}");
    }
}

/// H7: no patch says "replace what was in a".
#[test]
fn json_patches_that_are_no_one_patch_are_kept() {
    let operator = operator("json_merge_patch");
    let [gone, inside] = [&br#"{"a":null}"#[..], br#"{"a":{"b":1}}"#];
    assert_eq!(operator.partial(b"k", &[gone, inside], &mut Vec::new()), Partial::Keep);
    let mut out = Vec::new();
    assert_eq!(operator.partial(b"k", &[inside, gone], &mut out), Partial::Operand);
    assert_eq!(out, gone);
}

/// Estimates of sparse and dense sketches are within four standard errors. The hash is fixed, so
/// the test always gives the same result.
#[test]
fn hyperloglog_estimates_within_its_error() {
    for count in [0u32, 1, 100, 3_000, 20_000, 100_000] {
        let sketch = hyperloglog::operand((0..count).map(u32::to_le_bytes));
        let estimate = hyperloglog::estimate(&sketch).unwrap();
        let error = (estimate - f64::from(count)).abs();
        assert!(error <= f64::from(count) * 0.0081 * 4.0, "{count}: {estimate}");
        assert!(operator("hyperloglog").check_operand(&sketch).is_ok());
    }
    assert_eq!(hyperloglog::operand(["foldb"]).len(), 4);
    assert!(operator("hyperloglog").check_operand(b"foldb").is_err());
}

/// The example of each built-in parses to an operand that the operator accepts.
#[test]
fn examples_are_operands() {
    for info in builtins() {
        let operand = info.text.parse(info.example.as_bytes()).unwrap();
        assert!(info.instantiate(None).unwrap().check_operand(&operand).is_ok(), "{}", info.name);
    }
}

proptest! {
    /// As RocksDB's `sortlist`, for operands that are sorted.
    #[test]
    fn sorted_lists_are_merged(mut a: Vec<i32>, mut b: Vec<i32>, mut base: Vec<i32>) {
        let text = |list: &[i32]| {
            let numbers: Vec<String> = list.iter().map(i32::to_string).collect();
            numbers.join(",").into_bytes()
        };
        [&mut a, &mut b, &mut base].into_iter().for_each(|list| list.sort_unstable());
        let mut all = [&a[..], &b, &base].concat();
        all.sort_unstable();
        let found = full(&*operator("sortlist"), Some(&text(&base)), &[text(&a), text(&b)]);
        prop_assert_eq!(found, value(text(&all)));
    }

    /// RocksDB's `max` starts from the base, or the empty string, and keeps whatever is larger.
    #[test]
    fn max_and_min_are_of_the_bytes(base: Option<Vec<u8>>, operands in prop::collection::vec(any::<Vec<u8>>(), 1..5)) {
        let all = || base.iter().chain(&operands);
        let max = full(&*operator("max"), base.as_deref(), &operands);
        prop_assert_eq!(max, value(all().max().unwrap()));
        let min = full(&*operator("min"), base.as_deref(), &operands);
        prop_assert_eq!(min, value(all().min().unwrap()));
    }

    /// A read after put(a), merge(b) equals a read after merge(a), merge(b), for all operators that
    /// only join or compare.
    #[test]
    fn a_put_is_a_merge_onto_nothing(a: Vec<u8>, b: Vec<u8>) {
        for spec in [
            "append", "stringappend", "stringappend:", "max", "min", "put", "bytesxor", "bitor", "bitand",
            "putifabsent",
        ] {
            let operator = operator(spec);
            let put = full(&*operator, Some(&a), std::slice::from_ref(&b));
            prop_assert_eq!(put, full(&*operator, None, &[a.clone(), b.clone()]), "{}", spec);
        }
    }
}
