//! Compaction on a full disk: the slices that drop the most come first.
//!
//! ```text
//! other runs   -----------   ------ -----          deletes, and what was written again
//! largest run  |  t0  |  t1  |  t2  |  t3  |       a slice is about as large as the room
//! ```
//!
//! The policy only estimates what is dead. The database measures it: it drops a slice that takes
//! more space than it gives back, and names its range here ([`Shortage::fruitless`]). The policy
//! then tries the next best. When it finds none, the worker fails for want of space. It begins
//! anew a second later: a snapshot may be gone by then, or entries may have expired.
//!
//! Invariant: between two failures no range is tried twice, and at most [`MOST_TRIALS`] are tried,
//! unless the tree changes.

use crate::compaction::policy::decision::{Pick, Picker, Reason};
use crate::compaction::policy::rest::to_bottom;
use crate::compaction::policy::shape::CutRange;
use crate::compaction::policy::slices::{Cells, Slice};
use crate::key::Comparator;
use crate::settings::CompactionPreset;

/// Each trial writes up to the room and drops it again.
const MOST_TRIALS: usize = 16;

/// What the policy knows of a full disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shortage<'a> {
    /// Bytes that one slice of a compaction may write.
    pub room: u64,
    /// Ranges whose compaction just gave no space back.
    pub fruitless: &'a [CutRange],
}

impl Shortage<'_> {
    /// Returns whether a job may give space back. No range around a fruitless one does.
    pub(super) fn allows(&self, pick: &Pick, cmp: &dyn Comparator) -> bool {
        let is_around = |tried: &CutRange| pick.range.clipped(tried, cmp) == *tried;
        self.fruitless.len() < MOST_TRIALS && !self.fruitless.iter().any(is_around)
    }
}

/// Returns the job that promises the most space for the bytes that it moves.
pub(super) fn freeing(picker: &Picker, shortage: &Shortage<'_>) -> Option<Pick> {
    if picker.policy.preset != CompactionPreset::LazyLeveled {
        return None;
    }
    let runs = || picker.tree.levels.iter().flatten();
    let largest = runs().max_by_key(|run| run.bytes()).filter(|_| runs().count() > 1)?;
    let others = runs().filter(|run| run.id != largest.id);
    let cells = Cells::new(picker, &largest.tables, others);
    let bytes = shortage.room.min(picker.policy.slice_bytes());
    let mut slices: Vec<Slice> = cells.slices(bytes).collect();
    let share = |slice: &Slice| dead_share(picker, slice);
    slices.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let last = picker.policy.num_levels - 1;
    slices.iter().find_map(|slice| {
        let pick = picker.decide(&to_bottom(picker, last, &cells.range(slice), Reason::Rest))?;
        shortage.allows(&pick, picker.cmp).then_some(pick)
    })
}

/// Estimates the share of a slice that is dead. Other runs hide at most what lies in the largest.
fn dead_share(picker: &Picker, slice: &Slice) -> f64 {
    let learned = picker.tree.dead_share.clamp(0.0, 1.0);
    let hidden = (slice.above as f64 * (1.0 + learned) / 2.0).min(slice.below as f64);
    (hidden + slice.doomed as f64) / ((slice.above + slice.below) as f64).max(1.0)
}
