//! Jobs over the whole depth of the tree: tiered's space bound and manual compaction.

use crate::compaction::policy::choose::{Urgency, Verdict};
use crate::compaction::policy::decision::{Draft, Need, Picker, Reason};
use crate::compaction::policy::released;
use crate::compaction::policy::rest::to_bottom;
use crate::compaction::policy::shape::{CutRange, RunShape};
use crate::compaction::policy::slices::Cells;
use crate::settings::CompactionPreset;

/// Tiered: makes everything one run when newer runs could have replaced all of the oldest one.
pub(super) fn space_amplification(picker: &Picker) -> Option<Need> {
    let deepest = picker.tree.deepest_level()?;
    let all: u64 = (0..=deepest).map(|level| picker.tree.level_bytes(level)).sum();
    let runs: usize = picker.tree.levels.iter().map(Vec::len).sum();
    let oldest = picker.runs(deepest).last()?.bytes();
    let dead = (all - oldest) as f64 * picker.tree.dead_share.clamp(0.0, 1.0);
    if runs <= picker.policy.level0_trigger || dead <= oldest as f64 {
        return None;
    }
    let from = (0..=deepest).find(|&level| !picker.runs(level).is_empty())?;
    let count = picker.runs(from).len();
    let draft = Draft {
        reason: Reason::SpaceAmplification,
        from,
        runs: if from == deepest { 0..count - 1 } else { picker.free_from(from)..count },
        to: deepest,
        output: picker.oldest_target(deepest),
        range: CutRange::ALL,
        only_as_move: false,
    };
    Some(Need { urgency: dead / (oldest as f64).max(1.0), debt: all, drafts: vec![draft] })
}

/// Returns the next slice of compacting all keys of a range into one run, down to the last level.
/// Steps cover whole tables, so they may reach a little over the range.
pub(super) fn into_one_run(picker: &Picker, range: &CutRange) -> Verdict {
    let Some(bottom) = bottom_of_one_run(picker) else { return Verdict::Rest };
    let holds = |run: &RunShape| !run.tables_in(range, picker.cmp).is_empty();
    let below = picker.runs(bottom);
    let (oldest, several) = match below.split_last() {
        Some((oldest, newer)) => (&oldest.tables[..], newer),
        None => (&[][..], &[][..]),
    };
    let upper = picker.tree.levels[..bottom].iter().flatten();
    let newer: Vec<&RunShape> = upper.chain(several).filter(|run| holds(run)).collect();
    // A caller waits for this range alone, so slices are no larger than they must be.
    let cells = Cells::of_tables(picker, oldest, newer.iter().copied());
    let next = cells.first_in(range, picker.policy.slice_bytes(), picker.cmp);
    let Some(slice) = next else { return refold(picker, bottom, range) };
    let draft = to_bottom(picker, bottom, &cells.range(&slice), Reason::Manual);
    run_or_wait(picker, &draft)
}

fn run_or_wait(picker: &Picker, draft: &Draft) -> Verdict {
    picker.decide(draft).map_or(Verdict::Wait, |pick| Verdict::Run(Urgency::Called, pick))
}

/// Continues when the range is one run: folds what a snapshot kept apart there.
fn refold(picker: &Picker, bottom: usize, range: &CutRange) -> Verdict {
    let mut runs = 0..picker.runs(bottom).len();
    match runs.find_map(|at| released::first_in(picker, bottom, at, range)) {
        None => Verdict::Rest,
        Some(draft) => run_or_wait(picker, &draft),
    }
}

/// Returns the level where a manual compaction ends. Lazy leveled has one last level; the other
/// shapes end at the deepest level that holds data.
fn bottom_of_one_run(picker: &Picker) -> Option<usize> {
    let deepest = picker.tree.deepest_level()?;
    match picker.policy.preset {
        CompactionPreset::LazyLeveled => Some(picker.policy.num_levels - 1),
        CompactionPreset::Leveled | CompactionPreset::Tiered => Some(deepest.max(1)),
    }
}
