//! `stats`, `top` and `histogram` against a list of all samples, however the operands are grouped.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::fold::stats::Stats;
use crate::fold::tests::laws::{Outcome, full};
use crate::fold::{MergeOperator, Partial, Registry, histogram, stats, top};

fn operator(spec: &str) -> Arc<dyn MergeOperator> {
    Registry::new(Vec::new()).parse(spec).unwrap()
}

/// Folds some neighbours without the base at each cut, then everything in two steps.
fn fold_grouped(spec: &str, mut operands: Vec<Vec<u8>>, cuts: &[(Index, Index)]) -> Vec<u8> {
    let operator = operator(spec);
    for (start, len) in cuts {
        let start = start.index(operands.len());
        let end = start + len.index(operands.len() - start) + 1;
        let group: Vec<&[u8]> = operands[start..end].iter().map(Vec::as_slice).collect();
        let mut out = Vec::new();
        if group.len() > 1 {
            assert_eq!(operator.partial(b"key", &group, &mut out), Partial::Operand);
            assert_eq!(operator.check_operand(&out), Ok(()));
            operands.splice(start..end, [out]);
        }
    }
    let (older, newer) = operands.split_at(operands.len() / 2);
    let base = match older {
        [] => None,
        older => Some(full(&*operator, None, older)),
    };
    let base = base.map(|folded| match folded {
        Outcome::Value(value) => value,
        other => panic!("{other:?}"),
    });
    match full(&*operator, base.as_deref(), newer) {
        Outcome::Value(value) => value,
        other => panic!("{other:?}"),
    }
}

/// Draws batches of samples, and how to group their operands.
fn batches<T: Debug>(
    sample: impl Strategy<Value = T>,
) -> impl Strategy<Value = (Vec<Vec<T>>, Vec<(Index, Index)>)> {
    use proptest::collection::vec;
    (vec(vec(sample, 0..6), 1..12), vec(any::<(Index, Index)>(), 0..4))
}

proptest! {
    #[test]
    fn stats_are_those_of_all_samples(
        (batches, cuts) in batches(
            prop_oneof![any::<i64>(), -9..9i64, select(vec![i64::MIN, i64::MAX])]
        )
    ) {
        let operands = batches.iter().map(|batch| stats::operand(batch.iter().copied())).collect();
        let value = fold_grouped("stats", operands, &cuts);
        let all = batches.concat();
        let expected = all.iter().min().zip(all.iter().max()).map(|(min, max)| Stats {
            count: all.len() as u64,
            sum: all.iter().map(|sample| i128::from(*sample)).sum(),
            min: *min,
            max: *max,
        });
        prop_assert_eq!(stats::summary(&value).unwrap(), expected);
        prop_assert_eq!(value, stats::operand(all), "one spelling");
    }

    #[test]
    fn top_has_the_best_of_all_items(
        (batches, cuts) in batches((-3..4i64, 0..12u8)), keep in 5usize..8
    ) {
        let operands = batches.iter().map(|batch| {
            top::operand(batch.iter().map(|(score, item)| (*score, [*item])))
        });
        let value = fold_grouped(&format!("top:{keep}"), operands.collect(), &cuts);
        let mut best = BTreeMap::new();
        for (score, item) in batches.concat() {
            best.entry(item).and_modify(|best: &mut i64| *best = score.max(*best)).or_insert(score);
        }
        let best = best.into_iter().map(|(item, score)| (-score, item));
        let mut best: Vec<(i64, u8)> = best.collect();
        best.sort_unstable();
        let expected: Vec<(i64, [u8; 1])> =
            best.iter().take(keep).map(|(score, item)| (-score, [*item])).collect();
        let expected = expected.iter().map(|(score, item)| (*score, &item[..]));
        prop_assert!(top::items(&value).unwrap().into_iter().eq(expected));
    }

    #[test]
    fn quantiles_are_near_a_sample(
        (batches, cuts) in batches(prop_oneof![
            any::<i32>().prop_map(f64::from),
            0.0..1.0f64,
            select(vec![0.0, -0.0, 1e-310, -1e-310, f64::MAX, f64::MIN, f64::MIN_POSITIVE]),
            any::<f64>().prop_filter("finite", |sample| sample.is_finite()),
        ]),
        percent in select(vec!["10", "5", "2", "1", "0.5", "0.2", "0.1"]),
        q in 0.0..=1.0f64,
    ) {
        let error = percent.parse::<f64>().unwrap() / 100.0;
        let operands = batches.iter().map(|batch| histogram::operand(batch.iter().copied()));
        let operands = operands.collect();
        let value = fold_grouped(&format!("histogram:{percent}"), operands, &cuts);
        let mut all = batches.concat();
        all.sort_unstable_by(f64::total_cmp);
        prop_assert_eq!(histogram::count(&value).unwrap(), all.len() as u64);
        let (Some(least), Some(greatest)) = (all.first(), all.last()) else {
            prop_assert_eq!(histogram::quantile(&value, q).unwrap(), None);
            prop_assert_eq!(histogram::bounds(&value).unwrap(), None);
            return Ok(());
        };
        for q in [0.0, q, 1.0] {
            let sample = all[(q * (all.len() - 1) as f64) as usize];
            let found = histogram::quantile(&value, q).unwrap().unwrap();
            let most = error * sample.abs().max(f64::MIN_POSITIVE / error);
            prop_assert!((found - sample).abs() <= most, "{} for {}", found, sample);
        }
        let (low, high) = histogram::bounds(&value).unwrap().unwrap();
        let tiny = f64::MIN_POSITIVE;
        prop_assert!(low - tiny <= *least && *greatest <= high + tiny, "{} {}", low, high);
    }

    /// Bytes of other programs are values, or errors.
    #[test]
    fn any_bytes_are_a_value_or_an_error(
        kind in select(vec![0u8, 1, 3, 6, 9, 255]),
        tail: Vec<u8>,
        spec in select(vec!["stats", "top:2", "histogram"]),
    ) {
        let operator = operator(spec);
        let bytes = [&[kind], &tail[..]].concat();
        for bytes in [bytes, tail] {
            let accepted = operator.check_operand(&bytes).is_ok();
            let folded = full(&*operator, None, std::slice::from_ref(&bytes));
            prop_assert_eq!(accepted, folded != Outcome::Failed);
            let _ = (stats::summary(&bytes), top::items(&bytes), histogram::count(&bytes));
            let _ = (histogram::quantile(&bytes, 0.5), histogram::bounds(&bytes));
        }
    }
}

/// From 2^64 - 1 samples on, the count stays and the sum wraps. No operand below that is refused,
/// and no summary that samples cannot have is taken.
#[test]
fn summaries_that_no_samples_have_are_refused() {
    let summary = |count: u64, sum: i128, min: i64, max: i64| {
        let (min, max) = (min.to_le_bytes(), max.to_le_bytes());
        [&count.to_le_bytes()[..], &sum.to_le_bytes(), &min, &max].concat()
    };
    let most = u64::MAX - 1;
    let lowest = i128::from(most) * i128::from(i64::MIN);
    let taken = [
        summary(2, 3, 1, 2),
        summary(3, 5, 1, 3),
        summary(most, lowest, i64::MIN, i64::MIN),
        summary(most, -1, i64::MIN, i64::MAX),
        summary(u64::MAX, 5, 1, 3),
    ];
    let refused = [
        summary(0, 0, 0, 0),
        summary(1, 7, 7, 7),
        summary(2, 4, 1, 2),
        summary(3, 8, 1, 3),
        summary(2, 3, 2, 1),
        summary(u64::MAX, 5, 3, 1),
        summary(2u64.swap_bytes(), 3i128.swap_bytes(), 1i64.swap_bytes(), 2i64.swap_bytes()),
        vec![0; 7],
        vec![0; 41],
    ];
    let stats = operator("stats");
    taken.iter().for_each(|bytes| assert_eq!(stats.check_operand(bytes), Ok(()), "{bytes:?}"));
    refused.iter().for_each(|bytes| assert!(stats.check_operand(bytes).is_err(), "{bytes:?}"));
    let folded = full(&*stats, Some(&taken[2]), &[taken[3].clone()]);
    let Outcome::Value(folded) = folded else { panic!("{folded:?}") };
    let folded = stats::summary(&folded).unwrap().unwrap();
    assert_eq!((folded.count, folded.min, folded.max), (u64::MAX, i64::MIN, i64::MAX));
}

#[test]
fn items_are_refused_out_of_order_twice_or_beyond_k() {
    let [ann, bob, eve] = [(3, "ann"), (2, "bob"), (2, "eve")];
    let [first, second, third] = [ann, bob, eve].map(|item| top::operand([item]));
    let two = operator("top:2");
    assert_eq!(two.check_operand(&[&first[..], &third].concat()), Ok(()));
    let again = top::operand([(1, "ann")]);
    for wrong in [[&second[..], &first], [&third, &second], [&first, &first], [&first, &again]] {
        let error = top::items(&wrong.concat()).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Corruption);
        assert!(two.check_operand(&wrong.concat()).is_err());
    }
    let three = top::operand([ann, bob, eve]);
    let refused = two.check_operand(&three).unwrap_err();
    assert!(refused.starts_with("at most 2 items"), "{refused}");
    // A base may come from a larger K.
    let Outcome::Value(cut) = full(&*two, Some(&three), &[third]) else { panic!("failed") };
    assert_eq!(top::items(&cut).unwrap(), [(3, &b"ann"[..]), (2, b"bob")]);
}

/// The bytes of `histogram` are drawn above its encoder, and other programs write them.
#[test]
fn samples_become_buckets_of_their_upper_bits() {
    let operands = [1.0, 1.0, 1.01, -2.0, 0.0].map(|sample| histogram::operand([sample]));
    let Outcome::Value(value) = full(&*operator("histogram:1"), None, &operands) else {
        panic!("failed")
    };
    let mut expected = vec![6];
    let zero = 2047u64 << 6;
    let mut before = 0;
    for (bucket, count) in [(zero - (1024 << 6), 1), (zero, 1), (zero + (1023 << 6), 3)] {
        crate::encoding::put_varint(&mut expected, bucket - before);
        expected.push(count);
        before = bucket;
    }
    assert_eq!(value, expected);
    // The least of -2 and the greatest of 1 before the next bucket.
    let ends = (-2.0 - 1.0 / 32.0 + 2.0 * f64::EPSILON, 1.0 + 1.0 / 64.0 - f64::EPSILON);
    assert_eq!(histogram::bounds(&value).unwrap(), Some(ends));
    assert_eq!(histogram::quantile(&value, 1.0).unwrap(), Some(1.0 + 1.0 / 128.0));
}

#[test]
fn samples_that_are_not_finite_and_other_precisions_are_refused() {
    let one = operator("histogram:1");
    for sample in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let refused = one.check_operand(&histogram::operand([1.0, sample])).unwrap_err();
        assert_eq!(refused, format!("made of finite samples, and {sample} is not finite"));
        // The bucket of infinities, by a program that does not check.
        let zero = 2047u64 << 6;
        for bucket in [zero + zero, zero + 1, zero - 63] {
            let mut bucket_of_none = vec![6];
            crate::encoding::put_varint(&mut bucket_of_none, bucket);
            bucket_of_none.push(1);
            assert!(one.check_operand(&bucket_of_none).is_err());
        }
    }
    let operands = [1.0, 2.0].map(|sample| histogram::operand([sample]));
    let Outcome::Value(finer) = full(&*operator("histogram:0.5"), None, &operands) else {
        panic!("failed")
    };
    assert_eq!(one.check_operand(&finer).unwrap_err(), "made of buckets of 6 bits, not 7");
    assert_eq!(full(&*one, Some(&finer), &operands), Outcome::Failed);
    for q in [-0.1, 1.1, f64::NAN] {
        let error = histogram::quantile(&finer, q).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
    }
}

#[test]
fn parameters_have_one_spelling() {
    for spec in ["top:1", "top:4096", "histogram:10", "histogram:0.1"] {
        let spelled = operator(spec);
        let spelled = (spelled.name(), spelled.parameters().escape_ascii().to_string());
        assert_eq!(format!("{}:{}", spelled.0, spelled.1), spec);
    }
    for spec in [
        "top:0",
        "top:4097",
        "top:01",
        "top:",
        "top:x",
        "histogram:",
        "histogram:1.0",
        "histogram:3",
        "histogram:0",
        "stats:1",
    ] {
        let error = Registry::new(Vec::new()).parse(spec).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument, "{spec}");
        assert!(error.to_string().contains("it takes: "), "{error}");
    }
}
