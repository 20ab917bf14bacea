//! The database's part in compaction: it chooses the next job, and installs slices.

use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use crate::compaction::job::{FinishedSlice, JobContext, assert_inputs_in_order};
use crate::compaction::policy::CutRange;
use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Claim;
use crate::db::state::tree::{KeyspaceTree, Tree};
use crate::db::trees::schedule::Asks;
use crate::error::Result;
use crate::events::Event;
use crate::fold::stamp::{Moment, NEVER, moment_of};
use crate::key::{Comparator, KeyBounds};
use crate::limits;
use crate::version::{Edit, KeyspaceEdit};

impl Core {
    /// Claims the job that the policy picks next, unless a caller runs its own jobs alone.
    pub(crate) fn begin_job(&self) -> Option<Claim> {
        if self.time.is_used() && self.time.is_end_due(&*self.options.env.clock) {
            // The tree's lock must be free, because a new second is stored under it.
            self.store_time_now();
        }
        let mut tree = self.lock_tree();
        if !self.background.may_begin_jobs() {
            return None;
        }
        let is_idle = self.is_idle(&mut tree);
        // The walk over the trees takes milliseconds where there are thousands of keyspaces, and
        // each drop of one wakes a worker.
        if is_idle && !self.time.is_used() && self.background.has_no_news() {
            self.background.at_rest.store(true, Ordering::Release);
            return None;
        }
        let seen = self.background.news();
        let asks = Asks { for_reads: true, is_idle: is_idle || self.background.is_rest_awaited() };
        let claim = self.pick(&mut tree, asks).or_else(|| self.pick_revealing(&tree, is_idle));
        debug_assert!(
            claim.is_some() || self.stopped_for_nothing(&tree).is_none(),
            "level 0 of keyspace {:?} stops writers, but the policy picks no job",
            self.stopped_for_nothing(&tree)
        );
        let ends = self.time.is_used() && tree.keyspaces.values().any(KeyspaceTree::has_ends);
        let finds_nothing = claim.is_none() && is_idle;
        let next_end = if finds_nothing && ends { self.next_end(&tree) } else { 0 };
        self.time.note_next_end(next_end);
        let is_at_rest = finds_nothing && !ends;
        self.background.at_rest.store(is_at_rest, Ordering::Release);
        if is_at_rest {
            self.background.note_rest(seen);
        }
        let claim = claim?;
        tree.claim(&claim);
        Some(claim)
    }

    /// Returns the earliest moment to come at which half of some table's records have expired.
    fn next_end(&self, tree: &Tree) -> Moment {
        let ends = tree.keyspaces.values().flat_map(KeyspaceTree::ends);
        let now = self.time.last_stored().min(moment_of(self.options.env.clock.time_of_day()));
        ends.filter(|end| *end > now).min().unwrap_or(NEVER)
    }

    /// Ends a job: releases its claim.
    pub(crate) fn end_job(&self, claim: &mut Option<Claim>) {
        if let Some(Claim { keyspace, job }) = claim.take() {
            let output_run = job.output_run;
            // The job holds its inputs. A caller that waits for the end of the job must find them
            // removed.
            drop(job);
            if let Some(own) = self.lock_tree().keyspaces.get_mut(&keyspace.id) {
                own.running.retain(|other| other.output_run != output_run);
                own.settled = false;
                self.background.note_news();
            }
        }
        self.remove_unreferenced_tables();
    }

    /// Runs and installs the next slice of a job. Returns `false` if the job is done, if the
    /// keyspace was dropped or has failed, or if the database closes.
    pub(crate) fn job_step(&self, Claim { keyspace, job }: &Claim) -> Result<bool> {
        if self.stopping() || keyspace.has_failed() {
            return Ok(false);
        }
        self.check_writable()?;
        let _dropping = self.background.dropping.read().unwrap_or_else(PoisonError::into_inner);
        let expired_through = self.expired_through(keyspace, &[]);
        // The version comes after the memtables, so an operand that left them is in it. The
        // snapshots come later, too: see `write_memtables`.
        let (version, flushed_through) = {
            let tree = self.lock_tree();
            let Some(own) = tree.keyspaces.get(&keyspace.id) else { return Ok(false) };
            (Arc::clone(&own.version), own.flushed_through)
        };
        let start = self.options.env.clock.now();
        let resolver = self.registry.resolver();
        let next_number = || self.new_file_number();
        let memory = self.work_memory();
        let gone = || self.segment_files.trash().gone();
        let context = JobContext {
            version: &version,
            flushed_through,
            gone: &gone,
            fs: &self.options.env.fs,
            names: &self.names,
            tables: &keyspace.tables,
            comparator: &keyspace.comparator,
            operators: &resolver,
            snapshots: &self.snapshots.live(),
            expired_through,
            next_number: &next_number,
            table_options: self.table_options(keyspace, job.output_level),
            target_file_size: self.settings.tree.target_file_size,
            memory: &memory,
            values: self.value_writer(keyspace, &next_number, &memory),
        };
        let slice = keyspace.guarded("a compaction", || {
            let slice = job.step(context)?;
            if keyspace.custom_order
                && let Some(slice) = &slice
            {
                let after = version.apply(&slice.edits, &*keyspace.comparator, &Arc::default())?;
                job.check_progress(&version, &after, &*keyspace.comparator)?;
            }
            Ok(slice)
        })?;
        let Some(slice) = slice else { return Ok(false) };
        self.totals.add(Total::CompactionSlices, 1);
        self.totals.add(Total::TrivialMoves, u64::from(slice.moved));
        self.totals.add(Total::BytesCompactionRead, slice.bytes_above + slice.bytes_base);
        self.totals.add(Total::BytesCompaction, slice.bytes_written);
        self.totals.add(Total::BytesSegments, slice.segments.bytes);
        self.totals.add(Total::CompactionRecordsIn, slice.counts.records_in);
        self.totals.add(Total::CompactionRecordsOut, slice.counts.records_out);
        self.totals.add(Total::FailedMerges, slice.counts.failed);
        self.tell_failures(keyspace, &slice.failures);
        let (bytes_read, bytes_written) =
            (slice.bytes_above + slice.bytes_base, slice.bytes_written);
        self.totals.add_level_bytes(job.output_level, slice.bytes_written);
        if !self.install_slice(keyspace, slice)? {
            return Ok(false);
        }
        drop(version);
        self.remove_unreferenced_tables();
        self.events.tell(&Event::Compaction {
            keyspace: Arc::clone(&keyspace.name),
            output_level: job.output_level,
            bytes_read,
            bytes_written,
            duration: self.options.env.clock.now() - start,
        });
        Ok(true)
    }

    /// Adds a slice to its keyspace's tree. Returns `false` if the keyspace was dropped in the
    /// meantime.
    fn install_slice(&self, keyspace: &KeyspaceState, slice: FinishedSlice) -> Result<bool> {
        let mut tree = self.lock_tree();
        if !tree.keyspaces.contains_key(&keyspace.id) {
            // A moved table belongs to the version and is removed with it.
            self.discard_tables(slice.new_tables());
            self.discard_segments(&tree, keyspace.id, &slice.segments.placed);
            return Ok(false);
        }
        if slice.bytes_base > 0
            && let Some(own) = tree.keyspaces.get_mut(&keyspace.id)
        {
            own.dead_share.observe(slice.bytes_above, slice.bytes_base, slice.bytes_written);
        }
        let written: Vec<u64> = slice.new_tables().collect();
        let segments = slice.segments;
        let change = KeyspaceEdit::of_tree(keyspace.id, slice.edits);
        let installed = self.install(&mut tree, Edit::of_keyspace(change));
        installed.inspect_err(|_| {
            self.discard_uninstalled(written);
            self.discard_segments(&tree, keyspace.id, &segments.placed);
        })?;
        Ok(true)
    }

    /// Compacts a key range of a keyspace into the last level, and waits for the compaction.
    pub(crate) fn compact(&self, keyspace: &KeyspaceState, range: KeyBounds<'_>) -> Result<()> {
        check_ends(range)?;
        keyspace.check_ends(range)?;
        self.flush_sealed()?;
        self.compact_range(keyspace, widened(range, &*keyspace.comparator), 0, || Ok(()))
    }

    /// Folds everything in a keyspace that can be folded, including operands that no other rule
    /// would fold.
    pub(crate) fn fold_all(&self, keyspace: &KeyspaceState) -> Result<()> {
        self.flush_sealed()?;
        // Tables written from now on are folded already.
        self.compact_range(keyspace, CutRange::ALL, self.new_file_number(), || Ok(()))
    }

    /// Compacts a range of a keyspace into one run of the deepest level, and waits. Also rewrites
    /// tables in the range that hold operands and whose file numbers are below `operands_below`; 0
    /// rewrites none of these. Calls `stepped` after each slice.
    ///
    /// # Errors
    /// `Corruption` if a part of a table in the range cannot be read. The rest is compacted then.
    pub(crate) fn compact_range(
        &self,
        keyspace: &KeyspaceState,
        range: CutRange,
        operands_below: u64,
        stepped: impl Fn() -> Result<()>,
    ) -> Result<()> {
        keyspace.check_comparator()?;
        if keyspace.guarded("a compaction", || Ok(range.is_empty(&*keyspace.comparator)))? {
            return Ok(());
        }
        let next = |core: &Core| {
            let mut tree = core.lock_tree();
            let claim = core.pick_manual(&tree, keyspace.id, &range, operands_below)?;
            tree.claim(&claim);
            Some(claim)
        };
        self.run_alone(next, stepped)?;
        keyspace.check_comparator()?;
        keyspace.guarded("a compaction", || self.check_damage(keyspace, &range))
    }
}

/// # Errors
/// `InvalidArgument` if an end of the range is too long, because edits of the tree store both ends.
fn check_ends((start, end): KeyBounds<'_>) -> Result<()> {
    let ends = [("the start of a range", start), ("the end of a range", end)];
    ends.into_iter().try_for_each(|(what, end)| match end {
        Bound::Included(key) | Bound::Excluded(key) => limits::check_key(what, key),
        Bound::Unbounded => Ok(()),
    })
}

impl Tree {
    /// Registers a running job.
    fn claim(&mut self, Claim { keyspace, job }: &Claim) {
        self.next_run = self.next_run.max(job.output_run + 1);
        self.last_served = keyspace.id;
        if let Some(own) = self.keyspaces.get_mut(&keyspace.id) {
            let checked = keyspace.guarded("the choice of a compaction", || {
                assert_inputs_in_order(job, &own.version, &*keyspace.comparator);
                Ok(())
            });
            // A job of a keyspace that failed ends with its first step.
            debug_assert!(checked.is_ok() || keyspace.has_failed());
            own.running.push(job.clone());
        }
    }
}

/// Returns a caller's range as `[lo, hi)`, widened if its ends cannot be expressed exactly.
fn widened((start, end): KeyBounds<'_>, comparator: &dyn Comparator) -> CutRange {
    let lo = match start {
        Bound::Unbounded => None,
        Bound::Included(key) | Bound::Excluded(key) => Some(Arc::from(key)),
    };
    let hi = match end {
        Bound::Unbounded => None,
        Bound::Excluded(key) => Some(Arc::from(key)),
        Bound::Included(key) if comparator.bytewise_order() => {
            // The first key after it in byte order.
            let mut successor = key.to_vec();
            successor.push(0);
            Some(successor.into())
        }
        Bound::Included(_) => None,
    };
    CutRange { lo, hi }
}
