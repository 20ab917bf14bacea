//! Jobs over the whole depth of the tree: tiered's space bound, manual compaction, idle time.

use crate::compaction::policy::decision::{Draft, Need, OutputRun, Pick, Reason, View};
use crate::compaction::policy::released;
use crate::compaction::policy::rest::to_bottom;
use crate::compaction::policy::shape::{KeyRange, RunShape, depth};
use crate::compaction::policy::slices::Cells;
use crate::settings::CompactionPreset;

/// What a manual compaction does next.
#[derive(Clone, Debug, PartialEq)]
pub enum ManualStep {
    /// Run this job, then ask again.
    Run(Pick),
    /// Ask again when the running job that is in the way has ended.
    Wait,
    /// Stop: the range is one run.
    Done,
}

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

/// Returns the next slice of a manual compaction.
pub fn manual(view: &View, range: &KeyRange) -> ManualStep {
    let Some(bottom) = manual_bottom(view) else { return ManualStep::Done };
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
    let Some(slice) = next else { return manual_refold(view, bottom, range) };
    let draft = to_bottom(view, bottom, &slice.range, Reason::Manual);
    view.decide(&draft).map_or(ManualStep::Wait, ManualStep::Run)
}

/// Continues when the range is one run: folds what a snapshot kept apart there.
fn manual_refold(view: &View, bottom: usize, range: &KeyRange) -> ManualStep {
    let mut runs = 0..view.runs(bottom).len();
    match runs.find_map(|at| released::first_in(view, bottom, at, range)) {
        None => ManualStep::Done,
        Some(draft) => view.decide(&draft).map_or(ManualStep::Wait, ManualStep::Run),
    }
}

/// Returns the level where a manual compaction ends. Lazy leveled has one last level; the other
/// shapes end at the deepest level that holds data.
fn manual_bottom(view: &View) -> Option<usize> {
    let deepest = view.tree.deepest_level()?;
    match view.policy.preset {
        CompactionPreset::LazyLeveled => Some(view.policy.num_levels - 1),
        CompactionPreset::Leveled | CompactionPreset::Tiered => Some(deepest.max(1)),
    }
}

/// Makes one run of all that lies above the oldest data, when no other job is needed and more than
/// `target_depth` runs lie over a key.
pub fn idle(view: &View, target_depth: usize) -> Option<Pick> {
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
