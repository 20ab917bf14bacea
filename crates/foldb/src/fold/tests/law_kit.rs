//! The public law kit accepts operators that keep the laws and rejects operators that do not.

use crate::fold::laws::Check;
use crate::fold::tests::laws::all_builtins;
use crate::fold::{Full, MergeOperator, Partial, TextForm, builtins};

#[test]
fn the_kit_accepts_every_builtin() {
    for operator in all_builtins() {
        let info = builtins().iter().find(|info| info.name == operator.name()).unwrap();
        let operand = info.text.parse(info.example.as_bytes()).unwrap();
        let documents = [&br#"{"a":{"b":1}}"#[..], br#"{"a":null}"#, b"7"];
        let given: Vec<&[u8]> = match info.name {
            "json_merge_patch" => documents.to_vec(),
            _ => vec![&operand],
        };
        let outcome = Check::new(given).bases(["", "abc"]).rounds(300).run(&*operator);
        assert_eq!(outcome, Ok(()), "{operator:?}");
    }
}

#[test]
fn declared_properties_are_checked() {
    let of = |name: &str| {
        let info = builtins().iter().find(|info| info.name == name).unwrap();
        info.instantiate(None).unwrap()
    };
    let check = Check::new([[1, 0, 0, 0, 0, 0, 0, 0]]);
    check.clone().commutative().run(&*of("uint64add")).unwrap();
    check.clone().commutative().idempotent().run(&*of("uint64max")).unwrap();
    for name in ["stats", "top", "histogram"] {
        Check::new([b""]).commutative().run(&*of(name)).unwrap();
    }
    Check::new([b""]).idempotent().run(&*of("top")).unwrap();
    let violation = check.clone().idempotent().run(&*of("uint64add")).unwrap_err();
    assert_eq!(violation.law, "idempotent");
    assert_eq!(check.commutative().run(&*of("put")).unwrap_err().law, "commutative");
}

/// Subtracts, and wrongly says that operands compose by subtracting.
#[derive(Debug)]
struct NonAssociative;

/// Joins bytes, but `partial` sorts the operands first.
#[derive(Debug)]
struct OrderBlind;

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

impl MergeOperator for NonAssociative {
    fn name(&self) -> &str {
        "test.subtract"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, ops: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let start = base.map_or(0, number);
        let difference = ops.iter().fold(start, |left, op| left.wrapping_sub(number(op)));
        out.extend_from_slice(&difference.to_le_bytes());
        Full::Value
    }

    fn partial(&self, _: &[u8], ops: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let difference = ops[1..].iter().fold(number(ops[0]), |a, b| a.wrapping_sub(number(b)));
        out.extend_from_slice(&difference.to_le_bytes());
        Partial::Operand
    }

    fn text(&self) -> TextForm {
        TextForm::U64
    }
}

impl MergeOperator for OrderBlind {
    fn name(&self) -> &str {
        "test.orderblind"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, ops: &[&[u8]], out: &mut Vec<u8>) -> Full {
        out.extend_from_slice(base.unwrap_or_default());
        out.extend(ops.concat());
        Full::Value
    }

    fn partial(&self, _: &[u8], ops: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let mut sorted = ops.to_vec();
        sorted.sort_unstable();
        out.extend(sorted.concat());
        Partial::Operand
    }
}

#[test]
fn the_kit_rejects_a_non_associative_operator_and_replays_the_seed() {
    let check = Check::new([1u64.to_le_bytes()]);
    let violation = check.run(&NonAssociative).unwrap_err();
    assert_eq!(violation.law, "partial", "{violation}");
    let replayed = check.seed(violation.seed).rounds(1).run(&NonAssociative).unwrap_err();
    assert_eq!(replayed, violation);
}

/// Adds numbers, but `fold_word` adds only half of the operand.
#[derive(Debug)]
struct HalfInPlace;

impl MergeOperator for HalfInPlace {
    fn name(&self) -> &str {
        "test.half"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, ops: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let sum = base.iter().chain(ops).fold(0u64, |sum, op| sum.wrapping_add(number(op)));
        out.extend_from_slice(&sum.to_le_bytes());
        Full::Value
    }

    fn partial(&self, key: &[u8], ops: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        self.full(key, None, ops, out);
        Partial::Operand
    }

    fn fold_word(&self, accumulator: [u8; 8], operand: [u8; 8]) -> Option<[u8; 8]> {
        Some((number(&accumulator).wrapping_add(number(&operand) / 2)).to_le_bytes())
    }

    fn text(&self) -> TextForm {
        TextForm::U64
    }
}

#[test]
fn the_kit_rejects_an_operator_that_folds_differently_in_place() {
    let violation = Check::new([3u64.to_le_bytes()]).run(&HalfInPlace).unwrap_err();
    assert_eq!(violation.law, "word");
    assert!(violation.case.contains("fold_word"), "{violation}");
}

#[test]
fn the_kit_rejects_an_order_blind_operator() {
    let violation = Check::new(["a", "b"]).run(&OrderBlind).unwrap_err();
    assert_eq!(violation.law, "partial");
    assert!(violation.to_string().contains("full(partial('"), "{violation}");
}

/// Adds numbers and accepts every operand. On an operand that is not a number, `full` fails or
/// panics.
#[derive(Debug)]
struct Unchecked {
    panics: bool,
}

impl MergeOperator for Unchecked {
    fn name(&self) -> &str {
        "test.unchecked"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, ops: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let is_malformed = |op: &&[u8]| op.len() != 8;
        if !self.panics && base.iter().chain(ops).any(is_malformed) {
            return Full::Fail;
        }
        let sum = base.iter().chain(ops).fold(0u64, |sum, op| sum.wrapping_add(number(op)));
        out.extend_from_slice(&sum.to_le_bytes());
        Full::Value
    }
}

/// The kit once reported only that two answers differ, which did not show the cause.
#[test]
fn the_kit_advises_check_operand_if_an_operator_lacks_it() {
    for panics in [false, true] {
        for seed in 0..20 {
            let check = Check::new([1u64.to_le_bytes()]).seed(seed);
            let violation = check.run(&Unchecked { panics }).unwrap_err();
            assert_eq!(violation.law, "accepted", "{violation}");
            assert!(violation.case.contains("MergeOperator::check_operand"), "{violation}");
        }
    }
}
