//! Records that a snapshot kept apart: once it is gone, their tables are rewritten in place.
//!
//! ```text
//! L6: [a..f] [g..m]* [n..z]     * kept records apart for snapshot 8, which is gone
//! ->  L6: [a..f] [n..z], before it [g..m] folded; the two become one run again by a move
//! ```
//!
//! Only the length of chains depends on it, so every other need goes first.

use crate::compaction::policy::decision::{Draft, Need, OutputRun, Reason, View};
use crate::compaction::policy::shape::{KeyRange, RunShape};

/// Less than the urgency of any other need.
const URGENCY: f64 = 0.01;

/// Returns a need for each stretch of neighbouring tables of the level that may fold now.
pub fn needs(view: &View, level: usize) -> Vec<Need> {
    let runs = view.runs(level).iter().enumerate().filter(|(_, run)| !run.busy);
    runs.flat_map(|(at, run)| stretches(run).map(move |range| (at, run, range)))
        .map(|(at, run, range)| {
            let debt = run.tables_in(&range, view.cmp).iter().map(|table| table.bytes).sum();
            Need { urgency: URGENCY, debt, drafts: vec![rewrite(level, at, range)] }
        })
        .collect()
}

/// Returns a job for the first stretch of a run that may fold now and has keys in the range.
pub fn first_in(view: &View, level: usize, at: usize, wanted: &KeyRange) -> Option<Draft> {
    let run = &view.runs(level)[at];
    let range = stretches(run).find(|range| range.overlaps(wanted, view.cmp))?;
    Some(rewrite(level, at, range))
}

fn rewrite(level: usize, at: usize, range: KeyRange) -> Draft {
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

/// Returns the key ranges of neighbouring tables that may fold now.
fn stretches(run: &RunShape) -> impl Iterator<Item = KeyRange> {
    let tables = &run.tables;
    let begins = (0..tables.len())
        .filter(|&at| tables[at].released && (at == 0 || !tables[at - 1].released));
    begins.map(|at| {
        let len = tables[at..].iter().take_while(|table| table.released).count();
        KeyRange {
            lo: (at > 0).then(|| tables[at].lo.clone()),
            hi: tables.get(at + len).map(|behind| behind.lo.clone()),
        }
    })
}
