//! Records that a snapshot kept apart: once it is gone, their tables are rewritten in place.
//!
//! ```text
//! L6: [a..f] [g..m]* [n..z]     * kept records apart for snapshot 8, which is gone
//! ->  L6: [a..f] [n..z], before it [g..m] folded; the two become one run again by a move
//! ```
//!
//! Only the length of chains depends on it, so every other need goes first.

use std::ops::Range;

use crate::compaction::policy::decision::{Draft, Need, OutputRun, Picker, Reason};
use crate::compaction::policy::shape::{CutRange, RunShape};

/// Less than the urgency of any other need.
const URGENCY: f64 = 0.01;

/// Returns a need for each stretch of neighbouring tables of the level that may fold now.
pub(super) fn needs(picker: &Picker, level: usize) -> Vec<Need> {
    let runs = picker.runs(level).iter().enumerate().filter(|(_, run)| !run.busy);
    runs.flat_map(|(at, run)| {
        stretches(run, 0..run.tables.len()).map(move |range| (at, run, range))
    })
    .map(|(at, run, range)| {
        let debt = run.tables_in(&range, picker.cmp).iter().map(|table| table.bytes).sum();
        Need { urgency: URGENCY, debt, drafts: vec![rewrite(level, at, range)] }
    })
    .collect()
}

/// Returns a job for the first stretch of a run that may fold now. It has the tables that have keys
/// in the range.
pub(super) fn first_in(
    picker: &Picker,
    level: usize,
    at: usize,
    wanted: &CutRange,
) -> Option<Draft> {
    let run = &picker.runs(level)[at];
    let tables = run.tables_within(wanted, picker.cmp);
    stretches(run, tables).next().map(|range| rewrite(level, at, range))
}

fn rewrite(level: usize, at: usize, range: CutRange) -> Draft {
    Draft {
        reason: Reason::Released,
        from: level,
        runs: at..at + 1,
        to: level,
        output: OutputRun::InPlace,
        range,
        only_as_move: false,
    }
}

/// Returns the key ranges of neighbouring tables, among these of a run, that may fold now.
fn stretches(run: &RunShape, among: Range<usize>) -> impl Iterator<Item = CutRange> {
    let (tables, start, end) = (&run.tables, among.start, among.end);
    let begins =
        among.filter(move |&at| tables[at].released && (at == start || !tables[at - 1].released));
    begins.map(move |at| {
        let released = tables[at..end].iter().take_while(|table| table.released);
        let len = released.count();
        CutRange {
            lo: (at > 0).then(|| tables[at].lo.clone()),
            hi: tables.get(at + len).map(|behind| behind.lo.clone()),
        }
    })
}
