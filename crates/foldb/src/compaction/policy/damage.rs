//! Damaged tables: the policy goes round the keys that cannot be read.
//!
//! A compaction reads all of its inputs in its range, so it fails if a part of one is damaged. The
//! key ranges of the damaged parts divide the tree. Each piece without damage is a tree of its own,
//! and the rules shape it as usual. Over the damage, newer runs may only become one run:
//!
//! ```text
//! L0: r9 |  ------------|r9|----------      over xx, r9 and r8 become one run, in their place
//! L0: r8 |  ------------|r8|----------
//! L6: r1 |  ------------|xx|----------      r1 stays below xx, and xx stays where it is
//!             a piece           a piece
//! ```
//!
//! Invariant: the range of a job meets a damaged range only if all its runs are newer than every
//! damaged part there. So no tombstone or operand passes a part that no job could read.

use std::ops::Range;

use crate::compaction::policy::choose::{Decision, Signals, Urgency, Verdict};
use crate::compaction::policy::decision::{Draft, OutputRun, Pick, Reason};
use crate::compaction::policy::estimate::tree_within;
use crate::compaction::policy::settings::Policy;
use crate::compaction::policy::shape::{CutRange, Damage, Key, RunShape, TreeShape};
use crate::key::Comparator;

/// A key range with damage, and the place of its newest damaged part.
struct Region {
    range: CutRange,
    /// Level and index of the newest run with a damaged part.
    newest: (usize, usize),
}

/// Chooses the next job of a tree with damage.
pub(super) fn choose(
    policy: &Policy,
    tree: &TreeShape,
    signals: &Signals<'_>,
    cmp: &dyn Comparator,
) -> Decision {
    let mut best = Decision { verdict: Verdict::Rest, prices: vec![None; signals.losses.len()] };
    let regions = regions(tree, cmp);
    for gap in gaps(regions.iter().map(|region| &region.range)) {
        let piece = tree_within(tree, &gap, cmp, |_| usize::MAX);
        take_better(&mut best, policy.choose_whole(&piece, Some(&gap), signals, cmp));
    }
    for region in &regions {
        if let Some((urgency, pick)) = gather_above(policy, tree, region, signals, cmp) {
            let verdict = Verdict::Run(urgency, pick);
            take_better(&mut best, Decision { verdict, prices: Vec::new() });
        }
    }
    best
}

/// Returns the pieces of a tree without damage.
pub(super) fn pieces(tree: &TreeShape, cmp: &dyn Comparator) -> Vec<TreeShape> {
    let regions = regions(tree, cmp);
    let gaps = gaps(regions.iter().map(|region| &region.range));
    gaps.iter().map(|gap| tree_within(tree, gap, cmp, |_| usize::MAX)).collect()
}

/// Returns the ranges between the damaged ones.
pub(crate) fn gaps_between(damaged: &[CutRange], cmp: &dyn Comparator) -> Vec<CutRange> {
    gaps(joined(damaged.to_vec(), cmp).iter())
}

/// Keeps the more urgent of two decisions. While none runs a job, keeps the lowest prices.
fn take_better(best: &mut Decision, other: Decision) {
    let is_better = match (&other.verdict, &best.verdict) {
        (Verdict::Run(one, _), Verdict::Run(two, _)) => one > two,
        (Verdict::Run(..), _) | (Verdict::Wait, Verdict::Rest) => true,
        _ => false,
    };
    if is_better {
        *best = other;
    } else if !matches!(best.verdict, Verdict::Run(..)) {
        for (lowest, price) in best.prices.iter_mut().zip(other.prices) {
            *lowest = lowest.iter().copied().chain(price).min();
        }
    }
}

/// Makes one run of the runs that lie over damage and are newer, where they stand.
fn gather_above(
    policy: &Policy,
    tree: &TreeShape,
    region: &Region,
    signals: &Signals<'_>,
    cmp: &dyn Comparator,
) -> Option<(Urgency, Pick)> {
    let (deepest, index) = region.newest;
    let above = tree_within(tree, &region.range, cmp, |level| match level {
        _ if level < deepest => usize::MAX,
        _ if level == deepest => index,
        _ => 0,
    });
    let runs: usize = above.levels.iter().map(Vec::len).sum();
    let is_called = signals.caller.is_some_and(|range| range.overlaps(&region.range, cmp));
    let trigger = policy.level0_trigger.max(2);
    let urgency = match () {
        () if is_called => Urgency::Called,
        () if signals.caller.is_some() => return None,
        () if runs >= trigger => Urgency::Needed(runs as f64 / trigger as f64),
        () if signals.is_idle => Urgency::Idle,
        () => return None,
    };
    if runs < 2 || above.levels.iter().flatten().any(|run| run.busy) {
        return None;
    }
    let filled: Vec<usize> =
        (0..above.levels.len()).filter(|&level| !above.levels[level].is_empty()).collect();
    let (from, to) = (*filled.first()?, *filled.last()?);
    let picker = policy.picker_for(&above, signals, cmp);
    let draft = Draft {
        reason: Reason::AboveDamage,
        from,
        runs: whole(picker.runs(from)),
        to,
        output: if from == to { OutputRun::InPlace } else { picker.oldest_target(to) },
        range: region.range.clone(),
        only_as_move: false,
    };
    Some((urgency, picker.decide(&draft)?))
}

fn whole(runs: &[RunShape]) -> Range<usize> {
    0..runs.len()
}

/// Returns the damaged ranges, in order. Ranges that overlap or touch are one.
fn regions(tree: &TreeShape, cmp: &dyn Comparator) -> Vec<Region> {
    let ranges = tree.damage.iter().map(|damage| damage.range.clone()).collect();
    let newest = |range: &CutRange| {
        let here = tree.damage.iter().filter(|damage| damage.range.overlaps(range, cmp));
        here.filter_map(|damage| place_of(tree, damage)).min()
    };
    let joined = joined(ranges, cmp).into_iter();
    joined.filter_map(|range| Some(Region { newest: newest(&range)?, range })).collect()
}

fn place_of(tree: &TreeShape, damage: &Damage) -> Option<(usize, usize)> {
    let runs = tree.levels.iter().enumerate();
    runs.filter_map(|(level, runs)| {
        runs.iter().position(|run| run.id == damage.run).map(|at| (level, at))
    })
    .next()
}

/// Sorts ranges, and joins those that overlap or touch.
fn joined(mut ranges: Vec<CutRange>, cmp: &dyn Comparator) -> Vec<CutRange> {
    let lower = |a: &Option<Key>, b: &Option<Key>| match (a, b) {
        (Some(a), Some(b)) => cmp.compare(a, b),
        _ => a.is_some().cmp(&b.is_some()),
    };
    ranges.sort_by(|a, b| lower(&a.lo, &b.lo));
    let mut joined: Vec<CutRange> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if reaches(&last.hi, &range.lo, cmp) => {
                if last.hi.is_some() && reaches(&range.hi, &last.hi, cmp) {
                    last.hi = range.hi;
                }
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns whether a range with this end reaches a key. `None` as an end is behind all keys, and as
/// a key before all.
fn reaches(end: &Option<Key>, key: &Option<Key>, cmp: &dyn Comparator) -> bool {
    match (end, key) {
        (Some(end), Some(key)) => cmp.compare(end, key).is_ge(),
        _ => true,
    }
}

/// Returns the ranges before, between and after sorted ranges.
fn gaps<'r>(ranges: impl Iterator<Item = &'r CutRange>) -> Vec<CutRange> {
    let mut gaps = Vec::new();
    // The start of the next gap: `Some(None)` is before all keys.
    let mut start = Some(None);
    for range in ranges {
        if let (Some(lo), Some(hi)) = (start, &range.lo) {
            gaps.push(CutRange { lo, hi: Some(Key::clone(hi)) });
        }
        start = range.hi.clone().map(Some);
    }
    gaps.extend(start.map(|lo| CutRange { lo, hi: None }));
    gaps
}
