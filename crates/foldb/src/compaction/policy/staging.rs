//! Staging and the last level of the lazy leveled shape.
//!
//! Staging gathers runs over one sorted last level. Two bounds send its bytes down. Both take the
//! *ripest slice* first, the one with the most bytes above for each byte below:
//!
//! - dead bytes: at most `staging_ratio` of the last level may be dead above it;
//! - depth: a read must not meet too many runs.
//!
//! Slices reach the bound one after the other. So at any time a slice has, on average, half of the
//! bytes above it at which it is compacted. Compared with compacting the whole level at once, that
//! halves the space, or the write amplification at the same space. The bound on the mean depth is
//! therefore half of what one slice may reach.

use crate::compaction::policy::decision::{Draft, Need, OutputRun, Picker, Reason};
use crate::compaction::policy::settings::LevelKind;
use crate::compaction::policy::shape::{CutRange, RunShape};
use crate::compaction::policy::slices::{Cells, Slice};
use crate::compaction::policy::tier;

/// How much deeper than `staging_max_runs` one key range may lie, so that slices reach the bound at
/// different times. Without this slack all slices reach it at the same time, and the whole level is
/// compacted at once.
const SLACK: f64 = 1.25;

/// Returns what the level above the last one needs.
pub(super) fn need(picker: &Picker, level: usize) -> Vec<Need> {
    let free = picker.free_from(level);
    let runs = &picker.runs(level)[free..];
    if runs.is_empty() || (level == 0 && picker.runs(0).len() < picker.policy.level0_trigger) {
        return Vec::new();
    }
    let last = level + 1;
    let base = picker.runs(last).first().map_or(&[][..], |run| &run.tables);
    let staging = Staging {
        picker,
        level,
        free,
        cells: Cells::new(picker, base, runs),
        last_bytes: picker.last_bytes(),
    };
    [staging.space(), staging.depth()].into_iter().flatten().collect()
}

struct Staging<'v> {
    picker: &'v Picker<'v>,
    level: usize,
    free: usize,
    cells: Cells,
    last_bytes: u64,
}

impl Staging<'_> {
    /// Bounds the dead bytes above the last level, by an estimate.
    fn space(&self) -> Option<Need> {
        let above: u64 = (0..=self.level).map(|level| self.picker.tree.level_bytes(level)).sum();
        let doomed: u64 = self.cells.cells.iter().map(|cell| cell.doomed).sum();
        let share = self.picker.tree.dead_share.clamp(0.0, 1.0);
        let dead = above as f64 * share + doomed as f64;
        let bound = self.picker.policy.staging_ratio * self.last_bytes as f64;
        if dead <= bound {
            return None;
        }
        let slice = self.cells.ripest(self.picker.policy.slice_bytes())?;
        Some(Need {
            urgency: dead / bound.max(1.0),
            debt: self.cells.cost_of_relief((dead - bound) / share.max(0.01)),
            drafts: vec![self.down(slice, Reason::StagedBytes)],
        })
    }

    /// Bounds the runs over a key range.
    fn depth(&self) -> Option<Need> {
        let ripe = self.picker.policy.staging_max_runs as f64;
        let most = ripe * SLACK;
        let deepest = self.cells.cells.iter().map(|cell| cell.depth).max().unwrap_or(0) as f64;
        let mean = self.cells.mean_depth();
        let bytes = self.picker.policy.slice_bytes();
        let (urgency, slice) = if deepest > most {
            let slice = self.cells.best(bytes, |s| s.depth as f64 * 1e6 + s.ripeness())?;
            (deepest / most, slice)
        } else if mean > (ripe + 1.0) / 2.0 {
            (2.0 * mean / (ripe + 1.0), self.cells.ripest(bytes)?)
        } else {
            return None;
        };
        let runs = &self.picker.runs(self.level)[self.free..];
        let thin = slice.ripeness() < self.picker.policy.staging_ratio / 2.0;
        if let Some(window) = thin.then(|| tier::small_neighbours(runs, u64::MAX, true)).flatten() {
            let window = window.start + self.free..window.end + self.free;
            let debt =
                self.picker.runs(self.level)[window.clone()].iter().map(RunShape::bytes).sum();
            let draft = tier::in_place(self.level, window, Reason::SmallRuns);
            return Some(Need { urgency, debt, drafts: vec![draft] });
        }
        let debt = self.cells.cost_of_depth((ripe + 1.0) / 2.0, most);
        Some(Need { urgency, debt, drafts: vec![self.down(slice, Reason::StagedDepth)] })
    }

    fn down(&self, slice: Slice, reason: Reason) -> Draft {
        Draft {
            reason,
            from: self.level,
            runs: self.free..self.picker.runs(self.level).len(),
            to: self.level + 1,
            output: self.picker.sorted_target(self.level + 1),
            range: self.cells.range(&slice),
            only_as_move: false,
        }
    }
}

/// Moves runs in a tier that the tree no longer needs down, oldest first, as they are. It costs
/// nothing, so it comes before everything.
pub(super) fn leftover(picker: &Picker, level: usize, kind: LevelKind) -> Option<Need> {
    let oldest = picker.runs(level).len().checked_sub(1)?;
    let draft = Draft {
        reason: Reason::UnusedTier,
        from: level,
        runs: oldest..oldest + 1,
        to: picker.policy.num_levels - 2,
        output: OutputRun::New,
        range: CutRange::ALL,
        only_as_move: false,
    };
    (kind == LevelKind::Unused).then(|| Need {
        urgency: f64::INFINITY,
        debt: 0,
        drafts: vec![draft],
    })
}
