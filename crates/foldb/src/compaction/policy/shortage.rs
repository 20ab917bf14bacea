//! Compaction on a full disk: the slices that drop the most come first.
//!
//! ```text
//! newer runs   -----------   ------ -----          deletes, and what was written again
//! one run      |  t0  |  t1  |  t2  |  t3  |       a slice is about as large as the room
//! older runs   -------------------------           what the slice must move, too
//! ```
//!
//! A file goes only when a slice covers all of it, so each run is cut along its own tables in turn.
//! The largest run alone would not do: it may have no dead bytes, as in
//! `L0: 3[a-f live] 2[a-z deletes] 1[m-t dead]`.
//!
//! The policy only estimates what is dead. The database measures it: it drops a slice that takes
//! more space than it gives back, and notes its range ([`Trials`]). Of all that a rule wants, only
//! other ranges are tried then. After [`MOST_TRIALS`], or when no rule wants another one, the
//! worker fails for want of space, and goes on a second later. When all were tried, it begins anew:
//! entries may have expired by then.
//!
//! Invariant: no range is tried twice until all were tried, or until the tree or the snapshots
//! change.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::compaction::policy::decision::{Pick, Picker, Reason};
use crate::compaction::policy::estimate::tree_within;
use crate::compaction::policy::rest::to_bottom;
use crate::compaction::policy::shape::{CutRange, Key, RunShape};
use crate::compaction::policy::slices::{Cells, MOST_CELLS};
use crate::settings::CompactionPreset;

/// Trials between two failures. Each writes up to the room and drops it again.
const MOST_TRIALS: usize = 16;
/// Ranges that are remembered.
const MOST_REMEMBERED: usize = 1 << 16;
/// Tables that a decision compares with the runs that it cuts. They bound its time.
const MOST_COMPARED: usize = 64 * MOST_CELLS;

/// The ranges of one tree whose compaction just gave no space back on a full disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trials {
    fruitless: HashSet<CutRange>,
    /// How many of them were tried before the last failure.
    earlier: usize,
}

impl Trials {
    /// Notes that the compaction of a range gives no space back.
    pub(crate) fn note(&mut self, range: CutRange) {
        self.fruitless.insert(range);
    }

    /// Returns whether nothing was tried.
    pub(crate) fn is_empty(&self) -> bool {
        self.fruitless.is_empty()
    }

    /// Forgets all, because a compaction may give space back now.
    pub(crate) fn clear(&mut self) {
        *self = Trials::default();
    }

    /// Lets the next trials begin. They are of other ranges, unless all were tried. Returns whether
    /// anything was tried.
    pub(crate) fn begin_next(&mut self) -> bool {
        let tried = self.fruitless.len();
        if self.are_over() && tried < MOST_REMEMBERED {
            self.earlier = tried;
        } else {
            self.clear();
        }
        tried > 0
    }

    fn are_over(&self) -> bool {
        self.fruitless.len() - self.earlier >= MOST_TRIALS
    }

    /// Returns whether a job of this range may give space back.
    pub(super) fn allow(&self, range: &CutRange) -> bool {
        !self.are_over() && !self.fruitless.contains(range)
    }
}

/// What the policy knows of a full disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shortage<'a> {
    /// Bytes that one slice of a compaction may write.
    pub room: u64,
    pub trials: &'a Trials,
}

/// Returns the job that promises the most space for the bytes that it moves. One slice of it may
/// write `room` bytes.
pub(super) fn freeing(picker: &Picker, room: u64) -> Option<Pick> {
    let are_over = picker.trials.is_some_and(Trials::are_over);
    if picker.policy.preset != CompactionPreset::LazyLeveled || are_over {
        return None;
    }
    let runs: Vec<&RunShape> = picker.tree.levels.iter().flatten().collect();
    let bytes = room.min(picker.policy.slice_bytes());
    let mut candidates = Vec::new();
    for base in runs_to_cut(&runs) {
        add_slices(picker, base, bytes, &mut candidates);
    }
    candidates.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let last = picker.policy.num_levels - 1;
    candidates
        .iter()
        .find_map(|(_, range)| picker.decide(&to_bottom(picker, last, range, Reason::Shortage)))
}

/// Returns the runs to cut, the largest first: as many as a decision has time for.
fn runs_to_cut<'a>(runs: &[&'a RunShape]) -> Vec<&'a RunShape> {
    let tables: usize = runs.iter().map(|run| run.tables.len()).sum();
    let mut largest = runs.to_vec();
    largest.sort_by_key(|run| Reverse(run.bytes()));
    largest.truncate((MOST_COMPARED / tables.max(1)).max(1));
    largest
}

/// Adds the slices of a run that have newer data over them. With each comes the estimated share of
/// dead bytes among those that the slice moves.
fn add_slices(picker: &Picker, base: &RunShape, bytes: u64, candidates: &mut Vec<(f64, CutRange)>) {
    let Some(keys) = keys_of(base, picker) else { return };
    let beside = tree_within(picker.tree, &keys, picker.cmp, |_| usize::MAX);
    let runs: Vec<&RunShape> = beside.levels.iter().flatten().collect();
    let Some(at) = runs.iter().position(|run| run.id == base.id) else { return };
    let over = |others: &[&RunShape]| Cells::new(picker, &base.tables, others.iter().copied());
    let (newer, older) = (over(&runs[..at]), over(&runs[at + 1..]));
    let learned = picker.tree.dead_share.clamp(0.0, 1.0);
    for slice in newer.slices(bytes) {
        // Newer bytes hide at most what lies below them.
        let hidden = slice.above as f64 * (1.0 + learned) / 2.0 + slice.doomed as f64;
        let moved = slice.below + slice.above + older.same(&slice).above;
        let share = hidden.min(slice.below as f64) / (moved as f64).max(1.0);
        candidates.push((share, newer.range(&slice).clipped(&keys, picker.cmp)));
    }
}

/// Returns the keys from a run's first one to the next cut after its last one.
fn keys_of(base: &RunShape, picker: &Picker) -> Option<CutRange> {
    let (first, last) = (base.tables.first()?, base.tables.last()?);
    let mut hi: Option<&Key> = None;
    for run in picker.tree.levels.iter().flatten() {
        let next = run.tables.partition_point(|table| !last.ends_before(&table.lo, picker.cmp));
        let begin = run.tables.get(next).map(|table| &table.lo);
        if let Some(begin) = begin
            && hi.is_none_or(|hi| picker.cmp.compare(begin, hi).is_lt())
        {
            hi = Some(begin);
        }
    }
    Some(CutRange { lo: Some(first.lo.clone()), hi: hi.cloned() })
}
