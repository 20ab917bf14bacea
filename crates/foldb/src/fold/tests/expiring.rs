//! The laws of operators over stamped bytes, and the stamps themselves.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use crate::fold::builtin;
use crate::fold::expiring::{Expiring, composable};
use crate::fold::operator::{Full, MergeOperator, Partial};
use crate::fold::stamp::{
    Bucket, CommitTime, End, NEVER, Pending, Rule, STAMP_LEN, Stamp, moment_after, moment_of,
    resolve,
};
use crate::settings::Expiry;

fn operator(spec: &str) -> Expiring {
    let (name, parameter) = spec
        .split_once(':')
        .map_or((spec, None), |(name, parameter)| (name, Some(parameter.as_bytes())));
    Expiring::new(Arc::clone(&builtin(name).unwrap().instantiate(parameter).unwrap()))
}

fn bucket(seconds: u32) -> Bucket {
    Bucket::of(&Expiry::per_write().with_bucket(Duration::from_secs(seconds.into())))
}

fn stored(payload: &[u8], stamp: Stamp) -> Vec<u8> {
    [payload, &stamp.encode()].concat()
}

/// A stored value, or nothing.
type Folded = Option<Vec<u8>>;

fn full(operator: &Expiring, base: Option<&[u8]>, operands: &[Vec<u8>]) -> Folded {
    let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let mut out = Vec::new();
    match operator.full(b"key", base, &operands, &mut out) {
        Full::Value => Some(out),
        Full::Operand(index) => Some(operands[index].to_vec()),
        Full::Existing => base.map(<[u8]>::to_vec),
        Full::Delete => None,
        Full::Fail => panic!("the operands are well formed"),
    }
}

/// Draws the time since the operand before, the lifetime, and the rule.
fn operand() -> impl Strategy<Value = (u32, u32, bool)> {
    (0u32..6, prop_oneof![6 => 0u32..8, 1 => Just(NEVER)], any::<bool>())
}

fn history() -> impl Strategy<Value = (Option<Vec<u8>>, Vec<Vec<u8>>)> {
    let base = proptest::option::of(prop_oneof![4 => 0u32..12, 1 => Just(NEVER)]);
    (base, proptest::collection::vec(operand(), 1..9)).prop_map(|(base, operands)| {
        let base =
            base.map(|expires| stored(b"base", Stamp { written: 0, expires, rule: Rule::Renew }));
        let mut written = 0;
        let operands = operands.into_iter().zip(b'a'..).map(|((pause, lifetime, renews), name)| {
            written += pause;
            // Only an operand that renews may be born expired.
            let (least, rule) = if renews { (0, Rule::Renew) } else { (1, Rule::Keep) };
            let expires = written.saturating_add(lifetime.max(least));
            stored(&[name], Stamp { written, expires, rule })
        });
        (base, operands.collect())
    })
}

proptest! {
    #[test]
    fn law_stepwise_holds_for_stamped_bytes((base, operands) in history()) {
        let append = operator("stringappend:,");
        let mut stepwise = base.clone();
        for operand in &operands {
            stepwise = full(&append, stepwise.as_deref(), std::slice::from_ref(operand));
        }
        prop_assert_eq!(full(&append, base.as_deref(), &operands), stepwise);
    }

    #[test]
    fn law_partial_holds_for_stamped_bytes((base, operands) in history(), at in any::<(u8, u8)>()) {
        let append = operator("stringappend:,");
        let (a, b) = (at.0 as usize % operands.len(), at.1 as usize % operands.len());
        let (start, end) = (a.min(b), a.max(b) + 1);
        let middle: Vec<&[u8]> = operands[start..end].iter().map(Vec::as_slice).collect();
        let mut out = Vec::new();
        let whole = full(&append, base.as_deref(), &operands);
        let partial = match middle.len() {
            0 | 1 => Partial::Keep,
            _ => append.partial(b"key", &middle, &mut out),
        };
        match partial {
            Partial::Keep => {}
            Partial::Operand => {
                let shorter =
                    [&operands[..start], &[out], &operands[end..]].concat();
                prop_assert_eq!(full(&append, base.as_deref(), &shorter), whole);
            }
            ended @ (Partial::Value | Partial::Delete) => {
                let value = (ended == Partial::Value).then_some(out);
                let newer = &operands[end..];
                let shorter = match newer.is_empty() {
                    true => value,
                    false => full(&append, value.as_deref(), newer),
                };
                prop_assert_eq!(shorter, whole);
            }
        }
        prop_assert!(composable(&middle) >= 1);
    }

    #[test]
    fn stamps_come_back(written in any::<u32>(), expires in any::<u32>(), keeps in any::<bool>()) {
        let rule = if keeps { Rule::Keep } else { Rule::Renew };
        let stamp = Stamp { written, expires, rule };
        let bytes = stored(b"value", stamp);
        prop_assert_eq!(Stamp::split(&bytes), Some((&b"value"[..], stamp)));
        // A stamp that is not pending stays as it is.
        let mut resolved = bytes.clone();
        let at = resolved.len() - STAMP_LEN;
        let stamp = resolved[at..].first_chunk_mut().unwrap();
        resolve(stamp, CommitTime::at(7), bucket(5));
        prop_assert_eq!(resolved, bytes);
    }

    #[test]
    fn an_entry_lives_for_its_lifetime_and_at_most_a_bucket_longer(
        now in 0u64..1 << 60,
        lifetime in 1u64..1 << 60,
        seconds in 1u32..10_000,
    ) {
        let pending = Pending { end: End::After(lifetime), rule: Rule::Keep };
        let mut bytes = pending.encode();
        prop_assert_eq!(Stamp::split(&bytes), None, "it has no moment yet");
        let since_1970 = Duration::from_secs(1_577_836_800) + Duration::from_nanos(now);
        let moment = moment_of(since_1970);
        resolve(&mut bytes, CommitTime::within(moment, since_1970), bucket(seconds));
        let (_, stamp) = Stamp::split(&bytes).unwrap();
        let lived = u64::from(stamp.expires) * 1_000_000_000 - now;
        let longest = lifetime + u64::from(seconds) * 1_000_000_000;
        prop_assert!((lifetime..longest).contains(&lived));
        prop_assert!(stamp.written <= moment && moment - stamp.written < seconds);
        prop_assert!(stamp.written < stamp.expires, "it is alive at its own moment");
        // Whether an operand comes in time does not depend on the rounding of its moment.
        for later in [stamp.expires - 1, stamp.expires] {
            let rounded = later - later % seconds;
            prop_assert_eq!(stamp.has_expired(rounded), stamp.has_expired(later));
        }
    }
}

#[test]
fn operands_that_keep_the_end_of_their_base_fold_within_one_moment() {
    let append = operator("stringappend:,");
    let operand = |name: &str, written, rule| {
        stored(name.as_bytes(), Stamp { written, expires: written + 10, rule })
    };
    let fold = |operands: [Vec<u8>; 2]| {
        let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
        append.partial(b"key", &operands, &mut Vec::new())
    };
    let (keep, renew) = (Rule::Keep, Rule::Renew);
    assert_eq!(fold([operand("a", 4, keep), operand("b", 4, keep)]), Partial::Operand);
    assert_eq!(fold([operand("a", 4, keep), operand("b", 5, keep)]), Partial::Keep);
    assert_eq!(fold([operand("a", 4, keep), operand("b", 5, renew)]), Partial::Keep);
    assert_eq!(fold([operand("a", 4, renew), operand("b", 5, keep)]), Partial::Operand);
    assert_eq!(fold([operand("a", 4, renew), operand("b", 13, renew)]), Partial::Operand);
    // The first expired before the second came, whatever lies below.
    assert_eq!(fold([operand("a", 4, renew), operand("b", 14, renew)]), Partial::Value);
}

#[test]
fn times_before_2020_and_after_2156_are_the_nearest_moments() {
    assert_eq!(moment_of(Duration::ZERO), 0);
    assert_eq!(moment_of(Duration::from_secs(1_577_836_801)), 1);
    assert_eq!(moment_of(Duration::MAX), NEVER - 1);
    assert_eq!(moment_after(Duration::ZERO), 0);
    assert_eq!(moment_after(Duration::new(1_577_836_800, 1)), 1);
    assert_eq!(moment_after(Duration::from_secs(1_577_836_800 + (1 << 32) - 2)), NEVER - 1);
    assert_eq!(moment_after(Duration::from_secs(1_577_836_800 + (1 << 32) - 1)), NEVER);
    assert_eq!(moment_after(Duration::MAX), NEVER);
}
