//! Tests the laws stated on `MergeOperator` byte for byte, for every built-in operator.

use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;

use crate::fold::{Full, MergeOperator, Partial, TextForm, builtins};

const KEY: &[u8] = b"key";

/// The result for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Value(Vec<u8>),
    Absent,
    Failed,
}

/// Calls `full` and returns the result that its answer stands for.
pub(super) fn full(
    operator: &dyn MergeOperator,
    base: Option<&[u8]>,
    operands: &[Vec<u8>],
) -> Outcome {
    let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let mut out = Vec::new();
    match operator.full(KEY, base, &operands, &mut out) {
        Full::Value => Outcome::Value(out),
        Full::Operand(index) => Outcome::Value(operands[index].to_vec()),
        Full::Existing => base.map_or(Outcome::Absent, |base| Outcome::Value(base.to_vec())),
        Full::Delete => Outcome::Absent,
        Full::Fail => Outcome::Failed,
    }
}

/// Folds onto the outcome of an earlier fold.
fn full_onto(operator: &dyn MergeOperator, below: &Outcome, operands: &[Vec<u8>]) -> Outcome {
    match below {
        Outcome::Value(base) => full(operator, Some(base), operands),
        Outcome::Absent => full(operator, None, operands),
        Outcome::Failed => Outcome::Failed,
    }
}

/// Returns every built-in operator, with and without parameters.
pub(super) fn all_builtins() -> Vec<Arc<dyn MergeOperator>> {
    let given = ["", ";", " - ", "rocksdb_lenient", "3", "5"].map(str::as_bytes);
    let parameters: Vec<_> = given.into_iter().map(Some).chain([None]).collect();
    let all = builtins().iter().flat_map(|info| {
        parameters.iter().filter_map(|parameter| info.instantiate(*parameter).ok())
    });
    all.collect()
}

/// Makes bases and operands for an operator. About one in ten is malformed.
fn bytes_for(operator: &dyn MergeOperator) -> BoxedStrategy<Vec<u8>> {
    let short = proptest::collection::vec(select(b"ab,\0\xff".to_vec()), 0..5);
    if operator.name() == "json_merge_patch" {
        return prop_oneof![9 => document(), 1 => short].boxed();
    }
    let elements = proptest::collection::vec(short.clone(), 1..4);
    match operator.text() {
        TextForm::Bytes => short.boxed(),
        TextForm::List => {
            let list = elements.prop_map(crate::fold::list::operand);
            prop_oneof![9 => list, 1 => short].boxed()
        }
        TextForm::Set => {
            let members = proptest::collection::btree_map(short.clone(), any::<bool>(), 1..4);
            let changes = members.prop_map(|members| {
                let changes = members.into_iter().map(|(member, add)| {
                    if add {
                        crate::fold::set::add(member)
                    } else {
                        crate::fold::set::remove(member)
                    }
                });
                changes.flatten().collect::<Vec<u8>>()
            });
            prop_oneof![9 => changes, 1 => short].boxed()
        }
        TextForm::Sketch => {
            let sketch = elements.prop_map(crate::operators::hyperloglog::operand);
            prop_oneof![9 => sketch, 1 => short].boxed()
        }
        TextForm::Stats => prop_oneof![9 => summary(), 1 => short].boxed(),
        TextForm::Top => {
            let items = proptest::collection::vec((-1..2i64, short.clone()), 0..4);
            prop_oneof![9 => items.prop_map(crate::fold::top::operand), 1 => short].boxed()
        }
        TextForm::Histogram => prop_oneof![9 => counted(operator), 1 => short].boxed(),
        TextForm::U64 | TextForm::I64 | TextForm::F64 => {
            let edges = select(vec![0u64, 1, u64::MAX, 1 << 63, (1 << 63) - 1]);
            let number = prop_oneof![any::<u64>(), edges];
            let number = number.prop_map(|number| number.to_le_bytes().to_vec());
            prop_oneof![9 => number, 1 => short].boxed()
        }
    }
}

/// Makes summaries of a few samples, and of almost too many.
fn summary() -> impl Strategy<Value = Vec<u8>> {
    let sample = prop_oneof![any::<i64>(), select(vec![0, 1, i64::MIN, i64::MAX])];
    let few = proptest::collection::vec(sample.clone(), 0..4).prop_map(crate::fold::stats::operand);
    let many = (select(vec![2, u64::MAX - 1, u64::MAX]), sample).prop_map(|(count, same)| {
        let sum = i128::from(count).wrapping_mul(same.into());
        let [least, greatest] = [same.to_le_bytes(); 2];
        [&count.to_le_bytes()[..], &sum.to_le_bytes(), &least, &greatest].concat()
    });
    prop_oneof![4 => few, 1 => many]
}

/// Makes histograms of samples, and of counts that are almost too large.
fn counted(operator: &dyn MergeOperator) -> BoxedStrategy<Vec<u8>> {
    let edges = vec![0.0, -0.0, 1e-320, 0.1, 0.1001, -0.1, f64::MAX, f64::MIN, f64::MIN_POSITIVE];
    let samples = proptest::collection::vec(select(edges), 0..4);
    let raw = samples.clone().prop_map(crate::fold::histogram::operand);
    // Two operands fold to buckets.
    let operands = samples.prop_map(|samples| {
        samples.into_iter().map(|one| crate::fold::histogram::operand([one])).collect::<Vec<_>>()
    });
    let parameter = std::str::from_utf8(operator.parameters()).unwrap().to_owned();
    let buckets = operands.prop_map(move |operands| {
        let own = crate::fold::builtin("histogram").unwrap();
        let own = own.instantiate(Some(parameter.as_bytes())).unwrap();
        match full(&*own, None, &operands) {
            // The last byte is the count of the last bucket.
            Outcome::Value(value) if value.first().is_some_and(|kind| *kind > 0) => {
                [&value[..value.len() - 1], &[0xff; 9], &[1]].concat()
            }
            _ => Vec::new(),
        }
    });
    prop_oneof![2 => raw, 1 => buckets].boxed()
}

/// Makes small documents that share keys, in the spelling that folds write.
fn document() -> impl Strategy<Value = Vec<u8>> {
    let leaf = select(vec!["null", "1", "-0.5", "\"x\"", "[]", "{}", "[{\"a\":null}]"]);
    let leaf = leaf.prop_map(str::to_owned);
    let tree = leaf.prop_recursive(3, 12, 2, |inner| {
        proptest::collection::btree_map(select(vec!["a", "b"]), inner, 0..3).prop_map(|members| {
            let members = members.iter().map(|(name, value)| format!("\"{name}\":{value}"));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        })
    });
    tree.prop_map(String::into_bytes)
}

#[derive(Clone, Debug)]
struct Case {
    operator: Arc<dyn MergeOperator>,
    base: Option<Vec<u8>>,
    operands: Vec<Vec<u8>>,
    range: Range<usize>,
}

fn case() -> impl Strategy<Value = Case> {
    let operator = select(all_builtins());
    operator.prop_flat_map(|operator| {
        let bytes = bytes_for(&*operator);
        let base = proptest::option::of(bytes.clone());
        let operands = proptest::collection::vec(bytes, 1..7);
        (Just(operator), base, operands, any::<[prop::sample::Index; 2]>()).prop_map(
            |(operator, base, operands, cuts)| {
                let mut cuts = cuts.map(|cut| cut.index(operands.len() + 1));
                cuts.sort_unstable();
                Case { operator, base, operands, range: cuts[0]..cuts[1] }
            },
        )
    })
}

proptest! {
    /// full(base, [a, b]) = full(full(base, [a]), [b])
    #[test]
    fn stepwise_is_full(case in case()) {
        let operator = &*case.operator;
        let whole = full(operator, case.base.as_deref(), &case.operands);
        let base = case.base.map_or(Outcome::Absent, Outcome::Value);
        let steps = case.operands.iter().fold(base.clone(), |below, operand| {
            full_onto(operator, &below, std::slice::from_ref(operand))
        });
        prop_assert_eq!(&whole, &steps);
        let cut = case.range.start;
        if cut > 0 && cut < case.operands.len() {
            let (first, second) = case.operands.split_at(cut);
            let halves = full_onto(operator, &full_onto(operator, &base, first), second);
            prop_assert_eq!(&whole, &halves);
        }
    }

    /// full(base, [partial(a, b)]) = full(base, [a, b]), unless partial says Keep. If partial
    /// answers Value or Delete, that is the result over every base.
    #[test]
    fn partial_against_full(case in case()) {
        let operator = &*case.operator;
        let Range { start, end } = case.range;
        if end - start < 2 {
            return Ok(());
        }
        let (older, stretch, newer) =
            (&case.operands[..start], &case.operands[start..end], &case.operands[end..]);
        let whole = full(operator, case.base.as_deref(), &case.operands);
        let slices: Vec<&[u8]> = stretch.iter().map(Vec::as_slice).collect();
        let mut out = Vec::new();
        let replaced = match operator.partial(KEY, &slices, &mut out) {
            Partial::Keep => return Ok(()),
            Partial::Operand => {
                prop_assert!(operator.check_operand(&out).is_ok(), "one closed grammar");
                let operands = [older, &[out], newer].concat();
                full(operator, case.base.as_deref(), &operands)
            }
            Partial::Value if newer.is_empty() => Outcome::Value(out),
            Partial::Value => full(operator, Some(&out), newer),
            Partial::Delete if newer.is_empty() => Outcome::Absent,
            Partial::Delete => full(operator, None, newer),
        };
        // This includes bases that the operator refuses.
        prop_assert_eq!(replaced, whole);
    }

    /// A put of one element equals a merge of that element onto nothing: operand and value share
    /// one grammar.
    #[test]
    fn one_operand_onto_nothing_is_itself(case in case()) {
        let operator = &*case.operator;
        let operand = &case.operands[..1];
        // Excludes operands that remove: their result differs from the operand.
        let element = match operator.name() {
            "set" => crate::fold::set::members(&operand[0]).is_ok_and(|members| {
                !members.is_empty() && operand[0].len() == crate::fold::list::operand(&members).len() + members.len()
            }),
            "json_merge_patch" => !operand[0].windows(4).any(|window| window == b"null"),
            _ => operator.text() == TextForm::Bytes || operator.check_operand(&operand[0]).is_ok(),
        };
        // Lenient counters take operands that they do not store.
        let stored = operator.parameters() != b"rocksdb_lenient" || operand[0].len() == 8;
        if element && stored && operator.check_operand(&operand[0]).is_ok() {
            prop_assert_eq!(full(operator, None, operand), Outcome::Value(operand[0].clone()));
        }
    }

    /// A fold onto nothing fails exactly if check_operand rejects one of the operands.
    #[test]
    fn checked_operands_fold(case in case()) {
        let operator = &*case.operator;
        let all_checked = case.operands.iter().all(|operand| operator.check_operand(operand).is_ok());
        let outcome = full(operator, None, &case.operands);
        let folds = outcome != Outcome::Failed;
        prop_assert_eq!(all_checked, folds);
    }
}

/// Every built-in except float64add (H7) folds its own example partially, so chains are bounded
/// (H9).
#[test]
fn no_builtin_keeps_well_formed_operands_apart() {
    for info in builtins() {
        let operand = info.text.parse(info.example.as_bytes()).unwrap();
        let mut out = Vec::new();
        let operator = info.instantiate(None).unwrap();
        let answer = operator.partial(KEY, &[&operand, &operand], &mut out);
        assert_eq!(answer == Partial::Keep, info.name == "float64add", "{operator:?}");
    }
}
