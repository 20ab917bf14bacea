//! Which job next: the tree as the policy sees it, and the policy's pick as a job.

use std::sync::Arc;

use crate::compaction::job::Job;
use crate::compaction::policy::{
    self, KeyRange as ShapeRange, ManualStep, OutputRun, Pick, RunShape, RunningJob, TableShape,
    TreeShape,
};
use crate::db::core::Core;
use crate::db::tree::Tree;
use crate::faults::{Fault, planted};
use crate::version::{KeyRange, Run, RunId, TableRef, Upper, Version};

impl Core {
    /// The job that the tree needs most, if it needs any.
    pub(crate) fn pick(&self, tree: &Tree) -> Option<Job> {
        let jobs = self.running_jobs(tree);
        let pick = self.policy.pick(&self.shape(tree), &jobs, &*self.comparator)?;
        Some(self.job_of(&pick, tree))
    }

    /// A job that makes reads meet fewer runs, once nothing was written between two looks.
    pub(crate) fn pick_idle(&self, tree: &mut Tree) -> Option<Job> {
        let written = self.published();
        if self.options.idle_runs == 0
            || std::mem::replace(&mut tree.idle_since, written) != written
        {
            return None;
        }
        let (shape, jobs) = (self.shape(tree), self.running_jobs(tree));
        let pick = self.policy.idle(&shape, &jobs, self.options.idle_runs, &*self.comparator)?;
        Some(self.job_of(&pick, tree))
    }

    /// The next job on the way of a range into one run of the deepest level; `None` at its end.
    pub(crate) fn pick_manual(&self, tree: &Tree, range: &ShapeRange) -> Option<Job> {
        // Nothing else runs meanwhile, so there is never a job to wait for.
        match self.policy.manual(&self.shape(tree), &[], range, &*self.comparator) {
            ManualStep::Run(pick) => Some(Job { move_from: u64::MAX, ..self.job_of(&pick, tree) }),
            ManualStep::Wait | ManualStep::Done => None,
        }
    }

    /// Bytes that must be compacted until the tree has its shape.
    pub(crate) fn debt(&self, tree: &Tree) -> u64 {
        let jobs = self.running_jobs(tree);
        self.policy.debt(&self.shape(tree), &jobs, &*self.comparator)
    }

    fn job_of(&self, pick: &Pick, tree: &Tree) -> Job {
        let mut inputs: Vec<RunId> =
            pick.inputs.iter().flat_map(|level| level.runs.iter().copied()).collect();
        if planted(Fault::MovePastOlderRun) {
            inputs.truncate(1);
        }
        let (output_run, before) = match pick.output {
            OutputRun::New => (tree.next_run, None),
            OutputRun::InPlace => (tree.next_run, inputs.first().copied()),
            OutputRun::Existing(run) => (run, None),
        };
        let move_from = match pick.kind {
            policy::JobKind::Move => 0,
            policy::JobKind::Merge => self.options.target_file_size() / 2,
        };
        let range =
            KeyRange { lo: pick.range.lo.clone(), hi: pick.range.hi.clone().map(Upper::Excluded) };
        let output_level = pick.output_level;
        Job { inputs, range, output_level, output_run, before, move_from }
    }

    fn shape(&self, tree: &Tree) -> TreeShape {
        let busy = |id: RunId| {
            tree.running.iter().any(|job| job.output_run == id || job.inputs.contains(&id))
        };
        let run = |run: &Arc<Run>| RunShape {
            id: run.id,
            busy: busy(run.id),
            tables: run.tables.iter().map(|table| self.table_shape(table)).collect(),
        };
        let levels = tree.version.levels.iter();
        TreeShape {
            levels: levels.map(|level| level.runs.iter().map(run).collect()).collect(),
            dead_share: tree.dead_share.get(),
        }
    }

    fn table_shape(&self, table: &TableRef) -> TableShape {
        let bytes = table.bytes(&*self.comparator);
        let file = &table.file;
        // What holds for all of the file is taken to hold for the part of it that exists.
        let share = |whole: u64| (whole as u128 * bytes as u128 / file.len.max(1) as u128) as u64;
        TableShape {
            lo: Arc::clone(&table.lo),
            hi: Arc::clone(table.hi.key()),
            hi_included: matches!(table.hi, Upper::Included(_)),
            bytes,
            samples: Arc::clone(&file.samples),
            // What range tombstones delete counts as if each record had been deleted by itself.
            deletes: share(file.deletes + file.range_deleted).max(file.range_deletes.min(1)),
            entries: share(file.entries + file.range_deleted).max(file.range_deletes.min(1)),
        }
    }

    fn running_jobs(&self, tree: &Tree) -> Vec<RunningJob> {
        tree.running.iter().map(|job| self.running_job(job, &tree.version)).collect()
    }

    fn running_job(&self, job: &Job, version: &Version) -> RunningJob {
        let comparator = &*self.comparator;
        let inputs = job.inputs.iter().filter_map(|&id| version.run(id));
        let tables = inputs.flat_map(|run| run.overlapping(comparator, &job.range));
        let input_level = job.inputs.iter().filter_map(|&id| version.position(id)).map(|at| at.0);
        RunningJob {
            input_level: input_level.min().unwrap_or(job.output_level),
            output_level: job.output_level,
            range: ShapeRange {
                lo: job.range.lo.clone(),
                hi: job.range.hi.as_ref().map(|hi| Arc::clone(hi.key())),
            },
            remaining_bytes: tables.map(|table| table.bytes(comparator)).sum(),
        }
    }
}
