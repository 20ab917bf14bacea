//! Jobs over the whole depth of the tree: tiered's space bound, manual compaction, idle time.

use crate::compaction::policy::choose::{Urgency, Verdict};
use crate::compaction::policy::decision::{Draft, Need, OutputRun, Pick, Reason, View};
use crate::compaction::policy::released;
use crate::compaction::policy::rest::to_bottom;
use crate::compaction::policy::shape::{KeyRange, RunShape, depth};
use crate::compaction::policy::slices::Cells;
use crate::settings::CompactionPreset;

/// Tiered: makes everything one run when newer runs could have replaced all of the oldest one.
pub fn space_amplification(view: &View) -> Option<Need> {
    let deepest = view.tree.deepest_level()?;
    let all: u64 = (0..=deepest).map(|level| view.tree.level_bytes(level)).sum();
    let runs: usize = view.tree.levels.iter().map(Vec::len).sum();
    let oldest = view.runs(deepest).last()?.bytes();
    let dead = (all - oldest) as f64 * view.tree.dead_share.clamp(0.0, 1.0);
    if runs <= view.policy.level0_trigger || dead <= oldest as f64 {
        return None;
    }
    let from = (0..=deepest).find(|&level| !view.runs(level).is_empty())?;
    let count = view.runs(from).len();
    let draft = Draft {
        reason: Reason::SpaceAmplification,
        from,
        runs: if from == deepest { 0..count - 1 } else { view.free_from(from)..count },
        to: deepest,
        output: view.oldest_target(deepest),
        range: KeyRange::ALL,
        only_as_move: false,
    };
    Some(Need { urgency: dead / (oldest as f64).max(1.0), debt: all, drafts: vec![draft] })
}

/// Returns the next slice of compacting all keys of a range into one run, down to the last level.
/// Steps cover whole tables, so they may reach a little over the range.
pub fn into_one_run(view: &View, range: &KeyRange) -> Verdict {
    let Some(bottom) = bottom_of_one_run(view) else { return Verdict::Rest };
    let holds = |run: &RunShape| !run.tables_in(range, view.cmp).is_empty();
    let below = view.runs(bottom);
    let (oldest, several) = match below.split_last() {
        Some((oldest, newer)) => (&oldest.tables[..], newer),
        None => (&[][..], &[][..]),
    };
    let upper = view.tree.levels[..bottom].iter().flatten();
    let newer: Vec<&RunShape> = upper.chain(several).filter(|run| holds(run)).collect();
    let cells = Cells::new(view, oldest, newer.iter().copied());
    let next = cells.first_in(range, view.policy.slice_bytes(), view.cmp);
    let Some(slice) = next else { return refold(view, bottom, range) };
    let draft = to_bottom(view, bottom, &slice.range, Reason::Manual);
    run_or_wait(view, &draft)
}

fn run_or_wait(view: &View, draft: &Draft) -> Verdict {
    view.decide(draft).map_or(Verdict::Wait, |pick| Verdict::Run(Urgency::Called, pick))
}

/// Continues when the range is one run: folds what a snapshot kept apart there.
fn refold(view: &View, bottom: usize, range: &KeyRange) -> Verdict {
    let mut runs = 0..view.runs(bottom).len();
    match runs.find_map(|at| released::first_in(view, bottom, at, range)) {
        None => Verdict::Rest,
        Some(draft) => run_or_wait(view, &draft),
    }
}

/// Returns the level where a manual compaction ends. Lazy leveled has one last level; the other
/// shapes end at the deepest level that holds data.
fn bottom_of_one_run(view: &View) -> Option<usize> {
    let deepest = view.tree.deepest_level()?;
    match view.policy.preset {
        CompactionPreset::LazyLeveled => Some(view.policy.num_levels - 1),
        CompactionPreset::Leveled | CompactionPreset::Tiered => Some(deepest.max(1)),
    }
}

/// Makes one run of all that lies above the oldest data. It does so when no other job is needed and
/// more than `target_depth` runs lie over a key.
pub fn fewer_runs_when_idle(view: &View, target_depth: usize) -> Option<Pick> {
    if depth(view.tree, view.cmp) <= target_depth.max(2) {
        return None;
    }
    let bottom = view.tree.deepest_level()?.max(1);
    let filled = |level: &usize| !view.runs(*level).is_empty();
    let upper: usize = (0..bottom).map(|level| view.runs(level).len()).sum();
    let (from, lowest) = match upper {
        0 | 1 => (bottom, bottom),
        _ => ((0..bottom).find(filled)?, (0..bottom).rfind(filled)?),
    };
    let count = view.runs(from).len();
    let draft = Draft {
        reason: Reason::Idle,
        from,
        runs: if lowest == from { 0..count } else { view.free_from(from)..count },
        to: lowest,
        output: if lowest == from { OutputRun::InPlace } else { view.oldest_target(lowest) },
        range: KeyRange::ALL,
        only_as_move: false,
    };
    view.decide(&draft)
}
