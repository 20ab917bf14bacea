//! Levels that are one sorted run: leveled's inner levels, and the last level of every preset.

use crate::compaction::policy::decision::{Draft, Need, OutputRun, Picker, Reason};
use crate::compaction::policy::shape::{CutRange, RunShape, TableShape};
use crate::compaction::policy::slices::{Cells, Slice};

/// Compacts surplus runs of a level into its oldest one, slice by slice. They are left over from
/// another preset, or gathered by a tiered last level.
pub(super) fn several_runs(picker: &Picker, level: usize, max_runs: usize) -> Option<Need> {
    let (oldest, newer) = picker.runs(level).split_last()?;
    if newer.len() < max_runs || oldest.busy {
        return None;
    }
    let cells = Cells::new(picker, &oldest.tables, newer);
    let slice = cells.ripest(picker.policy.slice_bytes())?;
    let draft = Draft {
        reason: Reason::SeveralRuns,
        from: level,
        runs: 0..newer.len(),
        to: level,
        output: OutputRun::Existing(oldest.id),
        range: cells.range(&slice),
        only_as_move: false,
    };
    let urgency = (newer.len() + 1) as f64 / max_runs as f64;
    Some(Need { urgency, debt: picker.tree.level_bytes(level), drafts: vec![draft] })
}

/// Sends down the slice with the fewest bytes below it when a sorted level is over its capacity.
pub(super) fn over_capacity(picker: &Picker, level: usize, capacity: u64) -> Option<Need> {
    let bytes = picker.tree.level_bytes(level);
    let run = picker.runs(level).last()?;
    if bytes <= capacity || run.busy {
        return None;
    }
    let drafts: Vec<Draft> = least_overlap(picker, level, run)
        .map(|range| Draft {
            reason: Reason::Capacity,
            from: level,
            runs: picker.free_from(level)..picker.runs(level).len(),
            to: level + 1,
            output: picker.sorted_target(level + 1),
            range,
            only_as_move: false,
        })
        .into_iter()
        .collect();
    let excess = (bytes - capacity) as f64;
    let below = picker.tree.level_bytes(level + 1) as f64;
    let debt = (excess * (1.0 + below / bytes.max(1) as f64)) as u64;
    Some(Need { urgency: bytes as f64 / capacity.max(1) as f64, debt: debt.max(1), drafts })
}

/// Returns the range of neighbouring tables, about one target size, with the fewest bytes of the
/// next level under each of their own.
fn least_overlap(picker: &Picker, level: usize, run: &RunShape) -> Option<CutRange> {
    let own = Cells::of_tables(picker, &run.tables, picker.runs(level + 1));
    let target = picker.policy.target_file_size;
    let mut best: Option<(f64, Slice)> = None;
    let (mut end, mut held) = (0, 0);
    for start in 0..run.tables.len() {
        while end < run.tables.len() && (held < target || end <= start) {
            held += run.tables[end].bytes;
            end += 1;
        }
        let slice = own.slice(start..end);
        let price = slice.above as f64 / (slice.below as f64).max(1.0);
        if best.as_ref().is_none_or(|(least, _)| price < *least) {
            best = Some((price, slice));
        }
        held -= run.tables[start].bytes;
    }
    best.map(|(_, slice)| own.range(&slice))
}

/// Sends tombstones over many bytes to the bottom with everything in their range. It takes tables
/// that are mostly tombstones and delete a good part of the oldest data under them. So space comes
/// back without new writes. Few tombstones over much data wait for the other rules.
pub(super) fn deletes(picker: &Picker, level: usize, bottom: usize) -> Vec<Need> {
    let Some(base) = picker.runs(bottom).last() else { return Vec::new() };
    let free = picker.free_from(level);
    let mut needs = Vec::new();
    let mut cells = None;
    for at in free..upper_runs(picker, level, bottom) {
        for table in picker.runs(level)[at].tables.iter().filter(|table| table.is_delete_heavy()) {
            let cells = cells.get_or_insert_with(|| Cells::of_tables(picker, &base.tables, []));
            needs.extend(doomed_under(picker, level, at, table, cells, bottom));
        }
    }
    needs
}

/// Returns how many runs of the level are not the oldest of all.
fn upper_runs(picker: &Picker, level: usize, bottom: usize) -> usize {
    picker.runs(level).len() - usize::from(level == bottom)
}

fn doomed_under(
    picker: &Picker,
    level: usize,
    at: usize,
    table: &TableShape,
    cells: &Cells,
    bottom: usize,
) -> Option<Need> {
    let slice = cells.slice_under(picker, table);
    let worth = picker.policy.staging_ratio.max(0.25) * slice.below as f64;
    if slice.below == 0 || (slice.doomed as f64) < worth {
        return None;
    }
    let draft = Draft {
        reason: Reason::Deletes,
        from: level,
        runs: at..upper_runs(picker, level, bottom),
        to: bottom,
        output: picker.oldest_target(bottom),
        range: cells.range(&slice),
        only_as_move: false,
    };
    Some(Need { urgency: 1.0, debt: slice.above + slice.below, drafts: vec![draft] })
}
