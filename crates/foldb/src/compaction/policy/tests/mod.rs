//! Tests of the policy: drawn trees, random trees, and a model of a whole load.

mod choice;
mod drawing;
mod many_tables;
mod order;
mod properties;
mod scenarios;
mod sim_tree;
mod simulator;

use crate::compaction::policy::shape::TableShape;
use crate::compaction::policy::slices::MOST_CELLS;
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
        most_table_keys: 1 << 40,
        flush_bytes: write_buffer * (buffers - 1),
        most_cells: MOST_CELLS,
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

/// Returns the largest number of runs that hold one key range: what a read may have to visit.
///
/// A run counts only where it has a table. So the remains of a half-finished job count once per
/// range, not once per run.
fn depth(tree: &TreeShape, cmp: &dyn Comparator) -> usize {
    /// What happens at a key, in the order in which it must be counted there.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Edge {
        EndBefore,
        Begin,
        EndAfter,
    }
    let mut edges: Vec<(&[u8], Edge)> = Vec::new();
    let holds_a_key = |table: &&TableShape| !table.ends_before(&table.lo, cmp);
    let runs = tree.levels.iter().flatten();
    for table in runs.flat_map(|run| &run.tables).filter(holds_a_key) {
        edges.push((&table.lo, Edge::Begin));
        edges.push((&table.hi, if table.hi_included { Edge::EndAfter } else { Edge::EndBefore }));
    }
    edges.sort_unstable_by(|a, b| cmp.compare(a.0, b.0).then(a.1.cmp(&b.1)));
    let (mut open, mut deepest) = (0usize, 0);
    for (_, edge) in edges {
        match edge {
            Edge::Begin => open += 1,
            Edge::EndBefore | Edge::EndAfter => open -= 1,
        }
        deepest = deepest.max(open);
    }
    deepest
}
