//! The database's part in compaction: it chooses the next job, and installs slices.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::compaction::job::{FinishedSlice, Job, JobContext, assert_inputs_in_order};
use crate::counters::{Total, Totals};
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Claim;
use crate::db::state::tree::{KeyspaceTree, Tree};
use crate::db::throttle::full_disk::{compacted_file_size, room_of_shortage};
use crate::db::trees::install::install_unless_seen;
use crate::db::trees::schedule::{Asks, cuts_of};
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::fold::stamp::{Moment, NEVER, moment_of};
use crate::key::SeqNo;
use crate::rewriting::folding::FoldCounts;
use crate::table::LaterSyncs;
use crate::version::{Edit, KeyspaceEdit, Version};

/// A part of a job has at least the target size of a table divided by this, so that not many
/// tables are small because a part ended.
const PARTS_OF_A_TABLE: u64 = 4;

/// A slice of a compaction that is written and not yet part of its tree.
pub(super) struct WrittenSlice {
    keyspace: Arc<KeyspaceState>,
    job: Job,
    pub(super) slice: FinishedSlice,
    /// Holds the inputs.
    version: Arc<Version>,
    /// The tables that the slice took keys from: level and number.
    inputs: Vec<(usize, u64)>,
    /// When the slice began.
    start: Duration,
    /// The newest of the snapshots that the slice heeds; 0 if it heeds none.
    newest_snapshot: SeqNo,
}

impl WrittenSlice {
    /// Returns whether the files that the slice replaces have at least the bytes that it wrote.
    /// Readers of the old version may still hold them for a while.
    fn gives_space_back(&self) -> Result<bool> {
        let comparator = &*self.keyspace.comparator;
        let after = self.keyspace.guarded("a compaction", || {
            self.version.apply(&self.slice.edits, comparator, &Arc::default())
        })?;
        let kept: HashSet<u64> = after.tables().map(|table| table.file.number).collect();
        let files = self.version.tables().map(|table| (table.file.number, table.file.len));
        let gone: BTreeMap<u64, u64> = files.filter(|(file, _)| !kept.contains(file)).collect();
        let taken = self.slice.bytes_written + self.slice.segments.bytes;
        Ok(gone.values().sum::<u64>() >= taken)
    }

    /// Returns whether the caller's filter removed or changed something.
    fn is_filtered(&self) -> bool {
        self.slice.filtered.verdicts > 0
    }
}

/// Most times in a row that snapshots may refuse a filtered slice. Then it is written without the
/// filter, as if a snapshot protected all of its values.
const MOST_REFUSALS: u32 = 2;

impl Core {
    /// Claims the job that the policy picks next, unless a caller runs its own jobs alone. Returns
    /// its first part; the others wait for workers.
    ///
    /// # Errors
    /// `NoSpace` if the disk is full, and no job gives space back.
    pub(crate) fn begin_job(&self) -> Result<Option<Claim>> {
        if self.time.is_used() && self.time.is_end_due(&*self.options.env.clock) {
            // The tree's lock must be free, because a new second is stored under it.
            self.store_time_now();
        }
        let mut tree = self.lock_tree();
        if !self.background.may_begin_jobs() {
            return Ok(None);
        }
        let is_idle = self.is_idle(&mut tree);
        // Each drop of a keyspace wakes a worker.
        if is_idle && !self.time.is_used() && self.background.rest.goes_on() {
            return Ok(None);
        }
        let seen = self.background.rest.news();
        // On a full disk, space must come back while deletes go on.
        let room = room_of_shortage(self);
        let as_idle = is_idle || self.background.is_rest_awaited() || room.is_some();
        let asks = Asks { for_reads: true, is_idle: as_idle, room };
        let claim = self.pick(&mut tree, asks).or_else(|| self.pick_revealing(&tree, is_idle));
        if claim.is_none() && room.is_some() {
            tree.begin_next_trials()?;
        }
        debug_assert!(
            claim.is_some() || room.is_some() || self.stopped_for_nothing(&tree).is_none(),
            "level 0 of keyspace {:?} stops writers, but the policy picks no job",
            self.stopped_for_nothing(&tree)
        );
        let ends = self.time.is_used() && tree.keyspaces.values().any(KeyspaceTree::has_ends);
        let finds_nothing = claim.is_none() && is_idle;
        let next_end = if finds_nothing && ends { self.next_end(&tree) } else { 0 };
        self.time.note_next_end(next_end);
        self.background.rest.note_look(seen, finds_nothing && !ends);
        let Some(claim) = claim else { return Ok(None) };
        let mut parts = parts_of(self, claim, &tree).into_iter();
        parts.as_slice().iter().for_each(|part| tree.claim(part));
        drop(tree);
        let first = parts.next();
        if parts.len() > 0 {
            parts.for_each(|part| self.background.paused_jobs.add(Some(part)));
            self.wake();
        }
        Ok(first)
    }

    /// Returns the earliest moment to come at which half of some table's records have expired.
    fn next_end(&self, tree: &Tree) -> Moment {
        let ends = tree.keyspaces.values().flat_map(KeyspaceTree::ends);
        let now = self.time.last_stored().min(moment_of(self.options.env.clock.time_of_day()));
        ends.filter(|end| *end > now).min().unwrap_or(NEVER)
    }

    /// Ends a job: releases its claim.
    pub(crate) fn end_job(&self, claim: &mut Option<Claim>) {
        if let Some(Claim { keyspace, job, .. }) = claim.take()
            && let Some(own) = self.lock_tree().keyspaces.get_mut(&keyspace.id)
        {
            let before = own.running.len();
            own.running.retain(|other| !other.is_same_part(&job));
            assert_eq!(
                own.running.len() + 1,
                before,
                "a job stands in the list until it ends, once"
            );
            own.settled = false;
            self.background.rest.note_news();
        }
        self.remove_unreferenced_tables();
    }

    /// Runs and installs the next slice of a job. Returns `false` if the job is done, if the
    /// keyspace was dropped or has failed, if the database closes, or if the disk is full and the
    /// slice gives no space back.
    pub(crate) fn job_step(&self, claim: &mut Claim) -> Result<bool> {
        let _dropping = self.background.locks.drop_expired();
        let Some(slice) = self.write_slice(claim, None)? else { return Ok(false) };
        if self.reserve.is_open() && claim.job.called.is_none() && !slice.gives_space_back()? {
            let mut tree = self.lock_tree();
            self.discard_slices(&[slice], &tree);
            // The end of a shortage forgets what was tried in it.
            if self.reserve.is_open() {
                tree.note_fruitless(claim);
            }
            return Ok(false);
        }
        let are_installed = self.install_slices(vec![slice])?;
        claim.note_installed(are_installed);
        Ok(true)
    }

    /// Writes the next slice of a job, which the caller installs. Returns `None` as
    /// [`Core::job_step`] returns `false`. The tables become durable at once, or through `later`.
    /// The caller holds `WorkLocks::drop_expired` until the slice is installed.
    pub(super) fn write_slice(
        &self,
        Claim { keyspace, job, refusals, .. }: &Claim,
        later: Option<&LaterSyncs>,
    ) -> Result<Option<WrittenSlice>> {
        if self.stopping() || keyspace.has_failed() {
            return Ok(None);
        }
        self.check_writable()?;
        let (name, level, reason) = (&*keyspace.name, job.output_level, job.reason);
        let _span =
            tracing::debug_span!("foldb::compaction", keyspace = name, level, reason).entered();
        let expired_through = self.expired_through(keyspace, &[]);
        // The version comes after the memtables, so an operand that left them is in it. The
        // snapshots come later, too: see `write_memtables`.
        let (version, flushed_through) = {
            let tree = self.lock_tree();
            let Some(own) = tree.keyspaces.get(&keyspace.id) else { return Ok(None) };
            (Arc::clone(&own.version), own.flushed_through)
        };
        let start = self.options.env.clock.now();
        let resolver = self.registry.resolver();
        let next_number = || self.new_file_number();
        let memory = self.work_memory();
        let gone = || self.segment_files.trash().gone();
        let snapshots = self.snapshots.live();
        let context = JobContext {
            version: &version,
            flushed_through,
            gone: &gone,
            fs: &self.options.env.fs,
            names: &self.names,
            tables: &keyspace.tables,
            comparator: &keyspace.comparator,
            operators: &resolver,
            snapshots: &snapshots,
            expired_through,
            filters: keyspace.filters().filter(|_| *refusals < MOST_REFUSALS),
            next_number: &next_number,
            table_options: self.table_options(keyspace, job.output_level),
            target_file_size: compacted_file_size(self),
            memory: &memory,
            values: self.value_writer(keyspace, &next_number, &memory),
            later,
        };
        let slice = keyspace.guarded("a compaction", || {
            let slice = job.step(context)?;
            // The engine's own order is trusted in builds without debug assertions.
            if (keyspace.custom_order || cfg!(debug_assertions))
                && let Some(slice) = &slice
            {
                let after = version.apply(&slice.edits, &*keyspace.comparator, &Arc::default())?;
                job.check_progress(&version, &after, &*keyspace.comparator)?;
            }
            Ok(slice.map(|slice| {
                let inputs = slice.inputs(&version, &*keyspace.comparator).collect();
                (slice, inputs)
            }))
        })?;
        let Some((mut slice, inputs)) = slice else { return Ok(None) };
        count_slice(&self.totals, job.output_level, &slice);
        self.tell_failures(keyspace, &slice.failures);
        if let Some(error) = slice.filtered.failure.take() {
            self.events.tell(&Event::BackgroundError { error });
        }
        let (keyspace, job) = (Arc::clone(keyspace), job.clone());
        let newest_snapshot = snapshots.last().copied().unwrap_or(0);
        Ok(Some(WrittenSlice { keyspace, job, slice, version, inputs, start, newest_snapshot }))
    }

    /// Adds slices to the trees of their keyspaces, which differ, in one edit. Those of keyspaces
    /// that were dropped in the meantime are removed. Returns `false` if a snapshot may have read
    /// what a filter removed: the slices are removed then, and their jobs write them again.
    pub(super) fn install_slices(&self, slices: Vec<WrittenSlice>) -> Result<bool> {
        let mut tree = self.lock_tree();
        let is_there = |written: &WrittenSlice| tree.keyspaces.contains_key(&written.keyspace.id);
        let (mut slices, dropped): (Vec<_>, Vec<_>) = slices.into_iter().partition(is_there);
        // A moved table belongs to the version and is removed with it.
        self.discard_slices(&dropped, &tree);
        let mut edit = Edit::default();
        for WrittenSlice { keyspace, job, slice, .. } in &mut slices {
            if let Some(own) = tree.keyspaces.get_mut(&keyspace.id) {
                if slice.bytes_base > 0 {
                    let (above, base) = (slice.bytes_above, slice.bytes_base);
                    own.dead_share.observe(above, base, slice.bytes_written);
                }
                job.place_output(&mut slice.edits, &own.version);
            }
            let change = KeyspaceEdit::of_tree(keyspace.id, slice.edits.clone());
            edit.keyspaces.push(change);
        }
        if !slices.is_empty() {
            let filtered = slices.iter().filter(|written| written.is_filtered());
            let newest_snapshot = filtered.map(|written| written.newest_snapshot).min();
            let installed = install_unless_seen(self, &mut tree, edit, newest_snapshot);
            if !matches!(installed, Ok(true)) {
                self.discard_slices(&slices, &tree);
                return installed;
            }
        }
        drop(tree);
        let events: Vec<_> = slices.into_iter().map(|written| self.event_of(written)).collect();
        self.remove_unreferenced_tables();
        events.iter().for_each(|event| self.events.tell(event));
        Ok(true)
    }

    /// Returns the event of a slice. The slice no longer holds the old version.
    fn event_of(&self, written: WrittenSlice) -> Event {
        let WrittenSlice { keyspace, job, slice, version, inputs, start, .. } = written;
        drop(version);
        let path = |(level, number)| (level, self.names.table(number));
        Event::Compaction {
            keyspace: Arc::clone(&keyspace.name),
            reason: job.reason,
            output_level: job.output_level,
            bytes_read: slice.bytes_above + slice.bytes_base,
            bytes_written: slice.bytes_written,
            records_in: slice.counts.records_in,
            records_out: slice.counts.records_out,
            inputs: inputs.into_iter().map(path).collect(),
            outputs: slice.new_tables().map(|number| self.names.table(number)).collect(),
            duration: self.options.env.clock.now() - start,
        }
    }

    /// Removes what slices wrote that will not be installed.
    pub(super) fn discard_slices(&self, slices: &[WrittenSlice], tree: &Tree) {
        for WrittenSlice { keyspace, slice, .. } in slices {
            self.discard_uninstalled(slice.new_tables().collect());
            self.discard_segments(tree, keyspace.id, &slice.segments.placed);
        }
    }
}

/// Counts what a slice did.
fn count_slice(totals: &Totals, output_level: usize, slice: &FinishedSlice) {
    debug_assert!(
        slice.counts.records_out <= slice.counts.records_in,
        "folds make no more records than they get"
    );
    debug_assert!(
        !slice.moved || (slice.bytes_written == 0 && slice.counts == FoldCounts::default()),
        "a move rewrites nothing"
    );
    debug_assert!(!slice.moved || slice.segments.placed.is_empty(), "a move separates no values");
    totals.add(Total::CompactionSlices, 1);
    totals.add(Total::TrivialMoves, u64::from(slice.moved));
    totals.add(Total::BytesCompactionRead, slice.bytes_above + slice.bytes_base);
    totals.add(Total::BytesCompaction, slice.bytes_written);
    totals.add(Total::BytesSegments, slice.segments.bytes);
    totals.add(Total::CompactionRecordsIn, slice.counts.records_in);
    totals.add(Total::CompactionRecordsOut, slice.counts.records_out);
    totals.add(Total::FailedMerges, slice.counts.failed);
    totals.add_level_bytes(output_level, slice.bytes_written);
}

/// Divides a job among the workers that may compact at once. Without workers, callers do the slices
/// of the parts in turn.
fn parts_of(core: &Core, claim: Claim, tree: &Tree) -> Vec<Claim> {
    let workers = core.runtime.workers();
    let mut most = core.settings.max_background_compactions;
    // On a full disk, the space that a part needs may be what another one gives back.
    if most < 2 || core.reserve.is_open() {
        return vec![claim];
    }
    if workers.are_running() {
        most = most.min(workers.compactions_at_once());
    }
    let Claim { keyspace, job, damage, refusals } = claim;
    let version = &tree.keyspaces[&keyspace.id].version;
    let least_bytes = core.settings.tree.target_file_size / PARTS_OF_A_TABLE;
    // A job of a keyspace that failed ends with its first step.
    let parts = keyspace.guarded("the choice of a compaction", || {
        Ok(job.clone().parts(most, least_bytes, version, &*keyspace.comparator))
    });
    let parts = parts.unwrap_or_else(|_| vec![job]).into_iter();
    let claim = |job| {
        let (keyspace, damage) = (Arc::clone(&keyspace), Arc::clone(&damage));
        Claim { keyspace, job, damage, refusals }
    };
    parts.map(claim).collect()
}

impl Claim {
    /// Notes whether the last slice became part of its tree.
    pub(super) fn note_installed(&mut self, is_installed: bool) {
        self.refusals = if is_installed { 0 } else { self.refusals + 1 };
    }
}

impl Tree {
    /// Notes that a job gives no space back. The policy tries other ranges.
    fn note_fruitless(&mut self, claim: &Claim) {
        if let Some(own) = self.keyspaces.get_mut(&claim.keyspace.id) {
            own.trials.note(cuts_of(&claim.job.range));
        }
    }

    /// Lets other jobs be tried next, unless a job runs or is paused: it may give space back.
    ///
    /// # Errors
    /// `NoSpace` if any were tried. Others, or the same ones, may give space back a little later.
    fn begin_next_trials(&mut self) -> Result<()> {
        if self.keyspaces.values().any(|own| !own.running.is_empty()) {
            return Ok(());
        }
        let mut has_tried = false;
        for own in self.keyspaces.values_mut() {
            has_tried |= own.trials.begin_next();
        }
        let reason = "the disk is full, and no compaction gives space back";
        if has_tried { Err(Error::new(ErrorKind::NoSpace, reason)) } else { Ok(()) }
    }

    /// Registers a running job.
    pub(super) fn claim(&mut self, Claim { keyspace, job, .. }: &Claim) {
        self.next_run = self.next_run.max(job.output_run + 1);
        self.last_served = keyspace.id;
        if let Some(own) = self.keyspaces.get_mut(&keyspace.id) {
            let checked = keyspace.guarded("the choice of a compaction", || {
                assert_inputs_in_order(job, &own.version, &*keyspace.comparator);
                Ok(())
            });
            assert!(!job.inputs.is_empty(), "a job has runs to carry down");
            let shares = |other: &&Job| {
                other.output_run == job.output_run
                    || job.inputs.iter().any(|run| other.inputs.contains(run))
            };
            assert!(
                own.running.iter().filter(shares).all(|other| job.is_other_part_of(other)),
                "only parts of one job share runs"
            );
            // A job of a keyspace that failed ends with its first step.
            debug_assert!(checked.is_ok() || keyspace.has_failed());
            own.running.push(job.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use foldb_env::{Env, ManualClock, MemFs};

    use crate::compaction::policy::CutRange;
    use crate::runtime::IDLE;
    use crate::{Db, ErrorKind, Options};

    /// A worker that found no new job failed, and a paused job then never gave its space back.
    #[test]
    fn other_jobs_are_tried_only_when_no_job_is_left() {
        let options = Options {
            create_if_missing: true,
            level0_compaction_trigger: 2,
            env: Env::in_memory(MemFs::new()),
            ..Options::default()
        };
        let db = Db::open("db", options).unwrap();
        for _ in 0..2 {
            db.put("a", "1").unwrap();
            db.flush().unwrap();
        }
        let core = db.core();
        let mut job = core.begin_job().unwrap();
        assert!(job.is_some(), "two tables of one key are to be merged");
        for own in core.lock_tree().keyspaces.values_mut() {
            own.trials.note(CutRange::ALL);
        }
        core.lock_tree().begin_next_trials().unwrap();
        core.end_job(&mut job);
        let error = core.lock_tree().begin_next_trials().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        core.lock_tree().begin_next_trials().unwrap();
    }

    /// No worker looked again once the disk had space, and dead values stayed.
    #[test]
    fn a_look_after_a_shortage_finds_what_the_looks_in_it_left() {
        let (fs, clock) = (MemFs::new(), Arc::new(ManualClock::default()));
        fs.set_capacity(Some(1 << 30));
        let env = Env { clock: Arc::<ManualClock>::clone(&clock), ..Env::in_memory(fs) };
        let options = Options { create_if_missing: true, env, ..Options::default() };
        let db = Db::open("db", options).unwrap();
        // Tables beside each other: their compaction gives no space back.
        for key in ["a", "b"] {
            db.put(key, "1").unwrap();
            db.flush().unwrap();
        }
        let core = db.core();
        core.reserve.set_open(true);
        let idle_looks = [(); 3].map(|()| {
            clock.advance(IDLE);
            core.begin_job().unwrap().is_some()
        });
        assert_eq!(idle_looks, [false; 3]);
        assert!(core.background.rest.goes_on(), "the looks found rest");
        core.end_shortage();
        assert!(!core.reserve.is_open());
        let mut job = core.begin_job().unwrap();
        assert!(job.is_some(), "an idle database gathers its tables");
        core.end_job(&mut job);
    }

    /// The trials stayed, and a caller that waited for the end of all work waited for good.
    #[test]
    fn trials_are_forgotten_once_the_disk_has_space() {
        let fs = MemFs::new();
        fs.set_capacity(Some(1 << 30));
        let env = Env::in_memory(fs);
        let options = Options { create_if_missing: true, env, ..Options::default() };
        let db = Db::open("db", options).unwrap();
        let core = db.core();
        core.reserve.set_open(true);
        for own in core.lock_tree().keyspaces.values_mut() {
            own.trials.note(CutRange::ALL);
        }
        core.end_shortage();
        assert!(!core.reserve.is_open());
        assert!(core.lock_tree().keyspaces.values().all(|own| own.trials.is_empty()));
        db.wait_for_background().unwrap();
    }
}
