//! The tree at rest: what is merged when nobody writes and no other rule wants anything.
//!
//! While writes come, bytes over the last level wait until they are worth a merge, and the less of
//! them is dead the longer ([`super::staging`]). When writes stop nothing more will come to make
//! that merge cheaper, so the bound is held for each slice by itself:
//!
//! ```text
//! staging      -----------  ---------       shares of the last level below:
//! last level  |  t0  |  t1  |  t2  |  t3  |     0.4    0.1   0.5    0
//! goes down      t0            t2            those over `staging_ratio`
//! ```
//!
//! What the last merges freed tells of data as old as they were. Of what came since nothing is
//! known, so half of it is taken for dead beside the share learned; the merges themselves then
//! teach better. A small tree, no larger than what level 0 gathers, becomes one run for the sake of
//! reads as soon as it pays as well as any merge into a sorted run must.
//!
//! Invariant: each job leaves nothing above its slice, so rest comes after as many jobs as the last
//! level has slices, and comes again only after new bytes.

use crate::compaction::policy::decision::{Draft, Pick, Reason, View};
use crate::compaction::policy::shape::{KeyRange, RunShape};
use crate::compaction::policy::slices::{Cells, Slice};
use crate::compaction::policy::tier::LEAST_SHARE_OF_SORTED;
use crate::settings::CompactionPreset;

/// The next job of a tree that nobody writes to.
pub fn at_rest(view: &View) -> Option<Pick> {
    if view.policy.preset != CompactionPreset::LazyLeveled {
        return None;
    }
    let last = view.policy.num_levels - 1;
    let base = view.runs(last).last().map_or(&[][..], |run| &run.tables);
    let newer = view.tree.levels[..last].iter().flatten();
    if newer.clone().count() + usize::from(!base.is_empty()) < 2 {
        return None;
    }
    let cells = Cells::new(view, base, newer);
    let slices = cells.slices(view.policy.slice_bytes());
    let mut due: Vec<Slice> = slices.filter(|slice| is_due(view, slice)).collect();
    due.sort_by(|a, b| b.ripeness().total_cmp(&a.ripeness()));
    due.iter().find_map(|slice| view.decide(&to_bottom(view, last, &slice.range, Reason::Rest)))
}

/// Whether what lies over a slice is to be merged into it when nobody writes.
fn is_due(view: &View, slice: &Slice) -> bool {
    let below = slice.below as f64;
    let learned = view.tree.dead_share.clamp(0.0, 1.0);
    let dead = slice.above as f64 * (1.0 + learned) / 2.0 + slice.doomed as f64;
    let is_worth_it = slice.above.saturating_mul(LEAST_SHARE_OF_SORTED) >= slice.below;
    dead > view.policy.staging_ratio * below || (is_small(view) && is_worth_it)
}

/// Whether the tree is no larger than what level 0 gathers before its first merge.
fn is_small(view: &View) -> bool {
    let bytes: u64 = (0..view.policy.num_levels).map(|level| view.tree.level_bytes(level)).sum();
    bytes <= (view.policy.level0_trigger as u64).saturating_mul(view.policy.flush_bytes)
}

/// All that has keys in a range, from the newest run on, goes into the oldest run of level
/// `bottom`.
pub fn to_bottom(view: &View, bottom: usize, range: &KeyRange, reason: Reason) -> Draft {
    let here = |run: &RunShape| !run.tables_in(range, view.cmp).is_empty();
    let from = (0..=bottom).find(|&level| view.runs(level).iter().any(here)).unwrap_or(bottom);
    let newest = view.runs(from).iter().position(here).unwrap_or(0);
    let count = view.runs(from).len();
    Draft {
        reason,
        from,
        runs: if from == bottom { newest..count.saturating_sub(1) } else { newest..count },
        to: bottom,
        output: view.oldest_target(bottom),
        range: range.clone(),
        only_as_move: false,
    }
}
