//! Checks the order rule on a pick, without using the policy's code.
//!
//! At every key of the pick's range, list the runs that hold it, newest first. The inputs among
//! them must be neighbours. No run that stays may lie between them and the output's place.

use std::collections::HashSet;

use crate::compaction::policy::shape::Key;
use crate::compaction::policy::{CutRange, OutputRun, Pick, RunShape, TableShape, TreeShape};
use crate::key::{BytewiseComparator, Comparator};

const CMP: &BytewiseComparator = &BytewiseComparator;

/// Panics if the pick could put an older record above a newer one.
pub(super) fn assert_keeps_order(tree: &TreeShape, pick: &Pick) {
    let inputs: HashSet<u64> = pick.inputs.iter().flat_map(|i| &i.runs).copied().collect();
    assert!(!inputs.is_empty(), "a job without inputs: {pick:?}");
    for input in &pick.inputs {
        let level: Vec<u64> = tree.levels[input.level].iter().map(|run| run.id).collect();
        assert!(input.runs.iter().all(|id| level.contains(id)), "runs of another level: {pick:?}");
    }
    let every_run = tree.levels.iter().flatten();
    for run in every_run.clone().filter(|run| inputs.contains(&run.id)) {
        assert!(!run.busy, "run {} is in use: {pick:?}", run.id);
    }
    let tables = every_run.flat_map(|run| &run.tables);
    for key in tables.flat_map(|table| [&table.lo, &table.hi]).chain(&pick.range.lo) {
        if in_range(&pick.range, key) {
            assert_order_at(tree, pick, &inputs, key);
        }
    }
}

/// What stands at one key, newest first.
#[derive(PartialEq, Debug)]
enum Stands {
    Input,
    Output,
    Other(u64),
}

fn assert_order_at(tree: &TreeShape, pick: &Pick, inputs: &HashSet<u64>, key: &Key) {
    let mut column = Vec::new();
    for (level, runs) in tree.levels.iter().enumerate() {
        if level == pick.output_level && pick.output == OutputRun::New {
            column.push(Stands::Output);
        }
        for run in runs {
            if pick.output == OutputRun::Existing(run.id) {
                assert!(!run.busy, "the output run is in use: {pick:?}");
                column.push(Stands::Output);
            } else if run.tables.iter().any(|table| holds(table, key)) {
                let input = inputs.contains(&run.id);
                column.push(if input { Stands::Input } else { Stands::Other(run.id) });
            }
        }
    }
    let first = column.iter().position(is_taken);
    let last = column.iter().rposition(is_taken);
    let (Some(first), Some(last)) = (first, last) else { return };
    let has_input = column.contains(&Stands::Input);
    let stretch = &column[first..=last];
    assert!(!has_input || stretch.iter().all(is_taken), "{column:?} at {key:?}: {pick:?}");
    if pick.output == OutputRun::InPlace {
        assert!(pick.inputs.iter().all(|input| input.level == pick.output_level), "{pick:?}");
    }
}

fn is_taken(at: &Stands) -> bool {
    !matches!(at, Stands::Other(_))
}

fn holds(table: &TableShape, key: &Key) -> bool {
    CMP.compare(&table.lo, key).is_le() && !table.ends_before(key, CMP)
}

fn in_range(range: &CutRange, key: &Key) -> bool {
    range.lo.as_ref().is_none_or(|lo| lo <= key) && range.hi.as_ref().is_none_or(|hi| key < hi)
}

/// Asserts that two picks that run together share no run and write different keys of a level.
pub(super) fn assert_apart(a: &Pick, b: &Pick) {
    let runs = |pick: &Pick| -> HashSet<u64> {
        let existing = match pick.output {
            OutputRun::Existing(id) => Some(id),
            OutputRun::New | OutputRun::InPlace => None,
        };
        pick.inputs.iter().flat_map(|input| &input.runs).copied().chain(existing).collect()
    };
    assert!(runs(a).is_disjoint(&runs(b)), "{a:?} and {b:?} share a run");
    let same_place = a.output_level == b.output_level && a.range.overlaps(&b.range, CMP);
    assert!(!same_place, "{a:?} and {b:?} write the same keys");
}

/// Marks the runs that a pick reads or adds to.
pub(super) fn mark_busy(tree: &mut TreeShape, pick: &Pick) {
    let used = |run: &RunShape| {
        pick.output == OutputRun::Existing(run.id)
            || pick.inputs.iter().any(|input| input.runs.contains(&run.id))
    };
    for run in tree.levels.iter_mut().flatten() {
        run.busy |= used(run);
    }
}
