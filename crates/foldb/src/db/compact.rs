//! Compaction from the database's side: which job next, and the installation of its slices.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::compaction::job::{Job, JobContext, assert_inputs_in_order};
use crate::compaction::policy::KeyRange as ShapeRange;
use crate::db::core::Core;
use crate::db::tree::Tree;
use crate::error::Result;
use crate::totals::Total;
use crate::version::Edit;

impl Core {
    /// Claims the job that the policy wants done next, unless somebody runs one alone.
    pub(crate) fn begin_job(&self) -> Option<Job> {
        let mut tree = self.lock_tree();
        if !self.background.may_begin_jobs() {
            return None;
        }
        let job = self.pick(&tree).or_else(|| self.pick_idle(&mut tree))?;
        self.claim(&mut tree, &job);
        Some(job)
    }

    fn claim(&self, tree: &mut Tree, job: &Job) {
        assert_inputs_in_order(job, &tree.version, &*self.comparator);
        tree.next_run = tree.next_run.max(job.output_run + 1);
        tree.running.push(job.clone());
    }

    /// Gives up the claim of a job, if there is one.
    pub(crate) fn end_job(&self, job: &mut Option<Job>) {
        if let Some(job) = job.take() {
            self.lock_tree().running.retain(|other| other.output_run != job.output_run);
        }
        self.remove_unreferenced_tables();
    }

    /// Does and installs the next slice of a job. `false` when it is done.
    pub(crate) fn job_step(&self, job: &Job) -> Result<bool> {
        if self.stopping() {
            return Ok(false);
        }
        self.check_sound()?;
        let version = Arc::clone(&self.lock_tree().version);
        let resolver = self.registry.resolver();
        let slice = job.step(&JobContext {
            version: &version,
            fs: &self.options.env.fs,
            names: &self.names,
            tables: &self.tables,
            comparator: &self.comparator,
            operators: &resolver,
            snapshots: &self.snapshots.live(),
            next_number: &|| self.new_file_number(),
            table_options: self.table_options(job.output_level),
            target_file_size: self.options.target_file_size(),
        })?;
        let Some(slice) = slice else { return Ok(false) };
        self.totals.add(Total::CompactionSlices, 1);
        self.totals.add(Total::TrivialMoves, u64::from(slice.moved));
        self.totals.add(Total::BytesCompactionRead, slice.bytes_above + slice.bytes_base);
        self.totals.add(Total::BytesCompaction, slice.bytes_written);
        self.totals.add(Total::CompactionRecordsIn, slice.counts.records_in);
        self.totals.add(Total::CompactionRecordsOut, slice.counts.records_out);
        self.totals.add(Total::FailedMerges, slice.counts.failed);
        self.totals.add_level_bytes(job.output_level, slice.bytes_written);
        {
            let mut tree = self.lock_tree();
            if slice.bytes_base > 0 {
                tree.dead_share.observe(slice.bytes_above, slice.bytes_base, slice.bytes_written);
            }
            self.install(&mut tree, Edit { tree: slice.edits, ..Edit::default() }, &[])?;
        }
        drop(version);
        self.remove_unreferenced_tables();
        Ok(true)
    }

    /// Compacts a key range into the last level and waits for it.
    pub(crate) fn compact<K: AsRef<[u8]>>(&self, range: &impl RangeBounds<K>) -> Result<()> {
        self.flush()?;
        let range = self.widened(range);
        if range.is_empty(&*self.comparator) {
            return Ok(());
        }
        self.run_alone(|core| {
            let mut tree = core.lock_tree();
            let job = core.pick_manual(&tree, &range)?;
            core.claim(&mut tree, &job);
            Some(job)
        })
    }

    /// A range of the caller's as `[lo, hi)`, made larger where that cannot be said exactly.
    fn widened<K: AsRef<[u8]>>(&self, range: &impl RangeBounds<K>) -> ShapeRange {
        let lo = match range.start_bound() {
            Bound::Unbounded => None,
            Bound::Included(key) | Bound::Excluded(key) => Some(Arc::from(key.as_ref())),
        };
        let hi = match range.end_bound() {
            Bound::Unbounded => None,
            Bound::Excluded(key) => Some(Arc::from(key.as_ref())),
            Bound::Included(key) if self.comparator.bytewise_order() => {
                // The first key behind it in the order of the bytes.
                let mut successor = key.as_ref().to_vec();
                successor.push(0);
                Some(successor.into())
            }
            Bound::Included(_) => None,
        };
        ShapeRange { lo, hi }
    }
}
