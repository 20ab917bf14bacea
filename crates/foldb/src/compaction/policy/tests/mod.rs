//! Tests of the policy: drawn trees, random trees, and a model of a whole load.

mod choice;
mod drawing;
mod order;
mod properties;
mod scenarios;
mod sim_tree;
mod simulator;

use crate::compaction::policy::{Pick, Policy, RunningJob, Signals, TreeShape, Verdict};
use crate::key::Comparator;
use crate::settings::CompactionPreset;

const MIB: u64 = 1 << 20;

/// The defaults, for this preset and write buffer.
fn policy(preset: CompactionPreset, write_buffer: u64) -> Policy {
    let buffers = (64 * MIB / write_buffer).clamp(2, 9);
    Policy {
        preset,
        num_levels: 7,
        fan_in: 4,
        staging_ratio: 0.25,
        staging_max_runs: 8,
        last_max_runs: 4,
        level0_trigger: 4,
        level0_limit: 8,
        level0_stop: 36,
        level_base: 256 * MIB,
        level_multiplier: 10.0,
        target_file_size: write_buffer.clamp(8 * MIB, 64 * MIB),
        flush_bytes: write_buffer * (buffers - 1),
        idle_runs: 0,
    }
}

impl Policy {
    /// Returns the job that the tree needs, if any.
    fn pick(&self, tree: &TreeShape, jobs: &[RunningJob], cmp: &dyn Comparator) -> Option<Pick> {
        match self.choose(tree, &Signals { jobs, ..Signals::default() }, cmp).verdict {
            Verdict::Run(_, pick) => Some(pick),
            Verdict::Wait | Verdict::Rest => None,
        }
    }
}
