//! The tree at rest: what is compacted when writes have ended and no other rule has a job.
//!
//! While writes come, bytes above the last level wait until one of staging's bounds sends them
//! down. The smaller their dead share, the longer they wait ([`super::staging`]). When writes end,
//! no new bytes will make that compaction cheaper. So at rest the bound holds for each slice by
//! itself:
//!
//! ```text
//! staging      -----------  ---------       shares of the last level below:
//! last level  |  t0  |  t1  |  t2  |  t3  |     0.4    0.1   0.5    0
//! goes down      t0            t2            those over `staging_ratio`
//! ```
//!
//! The learned dead share comes from the last compactions, so it describes older data. Nothing is
//! known about newer bytes. So with a learned share s, the policy counts (1 + s) / 2 of them as
//! dead. The jobs at rest then correct the learned share. A tree no larger than what level 0
//! gathers becomes one run, for the sake of reads. It does so once the newer bytes are a sixteenth
//! of the bytes below them, as for any compaction into a sorted run.
//!
//! Invariant: each job leaves nothing above its slice. So rest comes after at most as many jobs as
//! the last level has slices, and only new bytes end it.

use crate::compaction::policy::decision::{Draft, Pick, Picker, Reason};
use crate::compaction::policy::shape::{CutRange, RunShape};
use crate::compaction::policy::slices::{Cells, Slice};
use crate::compaction::policy::tier::LEAST_SHARE_OF_SORTED;
use crate::settings::CompactionPreset;

/// Returns the next job of a tree without writes.
pub(super) fn at_rest(picker: &Picker) -> Option<Pick> {
    if picker.policy.preset != CompactionPreset::LazyLeveled {
        return None;
    }
    let last = picker.policy.num_levels - 1;
    let base = picker.runs(last).last().map_or(&[][..], |run| &run.tables);
    let newer = picker.tree.levels[..last].iter().flatten();
    if newer.clone().count() + usize::from(!base.is_empty()) < 2 {
        return None;
    }
    let cells = Cells::new(picker, base, newer);
    let slices = cells.slices(picker.policy.slice_bytes());
    let is_small = is_small(picker);
    let mut due: Vec<Slice> = slices.filter(|slice| is_due(picker, is_small, slice)).collect();
    due.sort_by(|a, b| b.ripeness().total_cmp(&a.ripeness()));
    due.iter().find_map(|slice| {
        picker.decide(&to_bottom(picker, last, &cells.range(slice), Reason::Rest))
    })
}

/// Returns whether the bytes over a slice are due to go into it at rest. `is_small` is about the
/// tree.
fn is_due(picker: &Picker, is_small: bool, slice: &Slice) -> bool {
    let below = slice.below as f64;
    let learned = picker.tree.dead_share.clamp(0.0, 1.0);
    let dead = slice.above as f64 * (1.0 + learned) / 2.0 + slice.doomed as f64;
    let is_worth_it = slice.above.saturating_mul(LEAST_SHARE_OF_SORTED) >= slice.below;
    dead > picker.policy.staging_ratio * below || (is_small && is_worth_it)
}

/// Returns whether the tree is no larger than what level 0 gathers before its first compaction.
fn is_small(picker: &Picker) -> bool {
    let bytes: u64 =
        (0..picker.policy.num_levels).map(|level| picker.tree.level_bytes(level)).sum();
    bytes <= (picker.policy.level0_trigger as u64).saturating_mul(picker.policy.flush_bytes)
}

/// Sends all that has keys in a range, from the newest run on, into the oldest run of level
/// `bottom`.
pub(super) fn to_bottom(picker: &Picker, bottom: usize, range: &CutRange, reason: Reason) -> Draft {
    let here = |run: &RunShape| !run.tables_in(range, picker.cmp).is_empty();
    let from = (0..=bottom).find(|&level| picker.runs(level).iter().any(here)).unwrap_or(bottom);
    let newest = picker.runs(from).iter().position(here).unwrap_or(0);
    let count = picker.runs(from).len();
    Draft {
        reason,
        from,
        runs: if from == bottom { newest..count.saturating_sub(1) } else { newest..count },
        to: bottom,
        output: picker.oldest_target(bottom),
        range: range.clone(),
        only_as_move: false,
    }
}
