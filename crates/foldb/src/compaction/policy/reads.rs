//! Compactions for reads: fewer runs where reads met several, and no tombstones where
//! scans passed many.
//!
//! No tree ever needs a job for reads. Such a job has a *price*: half of its work in bytes, where
//! each record adds 64 bytes. A job for one key costs an eighth of its bytes. The database adds up
//! the time that reads lose, as the bytes that a compaction reads in that time
//! (`crate::db::state::lost_time`). When the sum reaches the price, the job runs and the database
//! subtracts the price. So the bytes rewritten for reads stay in proportion to the reads, and a
//! load of writes alone causes no such job.
//!
//! ```text
//! staging   c c c   b b b   a a a     upper runs weigh little beside the last level: they are
//! last      ---------------------     compacted among themselves first, slice by slice, then
//! staging   ---------                 the rest goes down, slice by slice
//! last      ---------------------
//! ```
//!
//! The database counts scans over tombstones separately: a scan over a million tombstones may meet
//! only one run.
//!
//! Invariant: each job leaves one run fewer over its slice, and no tombstone above it. So reads
//! cause no job when each key lies in one run.

use crate::compaction::policy::choose::{ReadJob, Verdict};
use crate::compaction::policy::decision::{Draft, OutputRun, Pick, Picker, Reason};
use crate::compaction::policy::rest::to_bottom;
use crate::compaction::policy::shape::{CutRange, RunShape};
use crate::compaction::policy::slices::{Cells, Slice};
use crate::compaction::policy::whole;
use crate::settings::CompactionPreset;

/// The fixed cost of a record in a compaction, as bytes: 130 ns, at 2 ns a byte.
const BYTES_PER_RECORD: u64 = 64;

/// The price is a job's work divided by this. The policy expects as many reads again after the job.
const SHARE: u64 = 2;

/// The same for a job that folds the chain of one key. Few other reads gain from it, but each read
/// of that key gains all of it.
const SHARE_OF_KEY: u64 = 8;

/// What a scan loses at a deleted key that it passes: 0.37 µs, at 2 ns a byte.
pub(crate) const BYTES_PER_GONE: u64 = 185;

/// A scan of the whole slice must lose at least the price divided by this. A slice whose scan loses
/// less has too few deleted keys.
const LEAST_SCAN: u64 = 16;

/// Returns the job of this kind, and its price.
pub(super) fn priced(picker: &Picker, job: &ReadJob) -> Option<(u64, Pick)> {
    match job {
        ReadJob::FoldedKey(range) => folded_key(picker, range),
        ReadJob::FewerRuns => fewer_runs(picker),
        ReadJob::FewerTombstones => fewer_tombstones(picker),
    }
}

/// Returns the job that is worth most for scans over deleted keys, and its price. It sends
/// everything over the slice with the most tombstones for its bytes into the oldest data, where
/// tombstones end. Returns `None` where no slice has many.
pub(super) fn fewer_tombstones(picker: &Picker) -> Option<(u64, Pick)> {
    let bottom = match picker.policy.preset {
        CompactionPreset::LazyLeveled => picker.policy.num_levels - 1,
        // Runs that lie only in level 0 go below it.
        _ => picker.tree.deepest_level()?.max(1),
    };
    let (base, several) = match picker.runs(bottom).split_last() {
        Some((oldest, newer)) => (&oldest.tables[..], newer),
        None => (&[][..], &[][..]),
    };
    let newer = picker.tree.levels[..bottom].iter().flatten().chain(several);
    let cells = Cells::new(picker, base, newer);
    let density = |slice: &Slice| slice.deletes as f64 / (slice.above + slice.below).max(1) as f64;
    let slice = cells.best(picker.policy.slice_bytes(), density)?;
    let pick = picker.decide(&to_bottom(picker, bottom, &cells.range(&slice), Reason::Reads))?;
    let price = work(picker, &pick) / SHARE;
    (slice.deletes * BYTES_PER_GONE * LEAST_SCAN >= price).then_some((price, pick))
}

/// Returns the job that is worth most for reads, and its price. Returns `None` where reads meet no
/// run too many, and for `tiered`, which is chosen for low write amplification.
pub(super) fn fewer_runs(picker: &Picker) -> Option<(u64, Pick)> {
    let draft = match picker.policy.preset {
        CompactionPreset::LazyLeveled => lazy(picker),
        CompactionPreset::Leveled => gathered(picker, 1),
        CompactionPreset::Tiered => None,
    }?;
    let pick = picker.decide(&draft)?;
    Some((work(picker, &pick) / SHARE, pick))
}

/// Returns the job that brings the records of one key together in one run, and its price. `range`
/// holds that key alone.
fn folded_key(picker: &Picker, range: &CutRange) -> Option<(u64, Pick)> {
    match whole::into_one_run(picker, range) {
        Verdict::Run(_, pick) => Some((pick.bytes / SHARE_OF_KEY, pick)),
        Verdict::Wait | Verdict::Rest => None,
    }
}

/// Takes upper runs first while they are lighter than the last level, then sends all of them into
/// it.
fn lazy(picker: &Picker) -> Option<Draft> {
    let last = picker.policy.num_levels - 1;
    let above: u64 = (0..last).map(|level| picker.tree.level_bytes(level)).sum();
    let lowest = (0..last).rfind(|&level| !picker.runs(level).is_empty())?;
    let upper = if above < picker.last_bytes() { gathered(picker, lowest) } else { None };
    upper.or_else(|| gathered(picker, last))
}

/// Sends the slice with the most runs for its bytes into the oldest run of a level, with all newer
/// runs.
fn gathered(picker: &Picker, bottom: usize) -> Option<Draft> {
    let runs = picker.runs(bottom);
    let (base, several) = match runs.split_last() {
        Some((oldest, newer)) => (&oldest.tables[..], newer),
        None => (&[][..], &[][..]),
    };
    let newer = picker.tree.levels[..bottom].iter().flatten().chain(several);
    // Without a base, the oldest of the upper runs is what the others are compacted with.
    let least = if base.is_empty() { 2 } else { 1 };
    let cells = Cells::new(picker, base, newer);
    let slices = cells.slices(picker.policy.slice_bytes()).filter(|slice| slice.depth >= least);
    let slice = slices.max_by(|a, b| {
        let worth = |runs: usize, bytes: u64| runs as f64 / bytes.max(1) as f64;
        worth(a.depth, a.above + a.below).total_cmp(&worth(b.depth, b.above + b.below))
    })?;
    Some(to_bottom(picker, bottom, &cells.range(&slice), Reason::Reads))
}

/// Returns a job's work, as the bytes whose compaction takes as long.
fn work(picker: &Picker, pick: &Pick) -> u64 {
    let is_input = |level: usize, run: &RunShape| {
        pick.inputs.iter().any(|input| input.level == level && input.runs.contains(&run.id))
            || (level == pick.output_level && pick.output == OutputRun::Existing(run.id))
    };
    let mut records = 0;
    for (level, runs) in picker.tree.levels.iter().enumerate() {
        for run in runs.iter().filter(|run| is_input(level, run)) {
            let tables = run.tables_in(&pick.range, picker.cmp);
            let (all, inside) = (tables.iter(), picker.bytes_in(tables, &pick.range));
            let (bytes, entries) =
                all.fold((0, 0), |(b, e), table| (b + table.bytes, e + table.entries));
            records += (entries as u128 * inside as u128 / bytes.max(1) as u128) as u64;
        }
    }
    pick.bytes + records * BYTES_PER_RECORD
}
