//! A level 0 that stops writers is itself a reason for a job, whatever the other rules say.
//!
//! Writers stop while level 0 has `level0_stop_trigger` runs. The other rules weigh bytes, and
//! small runs may lie below all of their bounds. Two runs of a few kilobytes are hardly any
//! staging, and too light for a sorted level below. With a low trigger, writers would wait for a
//! job that no rule wants. This rule has a job for every such tree:
//!
//! ```text
//! stop 3    [1] [1] [16]    level 0 may keep runs: the cheapest neighbours are compacted in place
//! stop 1    [4]             it may keep none: all of it goes to the next level in use
//! ```
//!
//! Invariant: while no job runs and level 0 has `level0_stop_trigger` runs, there is a job.
//! Repeating such jobs brings level 0 below the trigger.

use crate::compaction::policy::decision::{Draft, Need, OutputRun, Picker, Reason};
use crate::compaction::policy::shape::{CutRange, RunShape};
use crate::compaction::policy::tier;
use crate::faults::{Fault, planted};
use crate::settings::CompactionPreset;

/// Returns what level 0 needs when it stops writers. `is_wanted` says that another rule already
/// takes runs of level 0 and counts their bytes.
pub(super) fn need(picker: &Picker, is_wanted: bool) -> Option<Need> {
    let (runs, stop) = (picker.runs(0), picker.policy.level0_stop.max(1));
    if runs.len() < stop || planted(Fault::StopWithoutReason) {
        return None;
    }
    let mut drafts = Vec::new();
    if stop > 1
        && let Some(window) = tier::small_neighbours(runs, u64::MAX, true)
    {
        drafts.push(tier::in_place(0, window, Reason::WritersStopped));
    }
    drafts.extend(go_down(picker));
    let bytes: u64 = runs.iter().map(RunShape::bytes).sum();
    let debt = if is_wanted { 0 } else { bytes.max(1) };
    // As urgent as a tier with this many runs, so that no other level goes first.
    let urgency = runs.len() as f64 / picker.policy.level0_trigger.max(1) as f64;
    Some(Need { urgency, debt, drafts })
}

/// Sends all of level 0 that no job uses to the next level in use.
fn go_down(picker: &Picker) -> Option<Draft> {
    let runs = picker.runs(0);
    let free = picker.free_from(0);
    let last = picker.policy.num_levels - 1;
    let (to, is_sorted) = match picker.policy.preset {
        CompactionPreset::Leveled => (1, true),
        CompactionPreset::Tiered => (1, false),
        CompactionPreset::LazyLeveled if last == 1 => (1, true),
        CompactionPreset::LazyLeveled if picker.policy.tiers(picker.last_bytes()) > 1 => (1, false),
        CompactionPreset::LazyLeveled => (last - 1, false),
    };
    (free < runs.len()).then(|| Draft {
        reason: Reason::WritersStopped,
        from: 0,
        runs: free..runs.len(),
        to,
        output: if is_sorted { picker.sorted_target(to) } else { OutputRun::New },
        range: if is_sorted { picker.range_over(&runs[free..], to) } else { CutRange::ALL },
        only_as_move: false,
    })
}
