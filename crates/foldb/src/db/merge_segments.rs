//! Segment merges from the database's side: when there is one to do, its installation, and merging on
//! demand.
//!
//! A merge takes no part in anything else: it reads a version, writes a file that nobody knows of, and
//! says in one edit where segments lie from now on. Only segments that still lie where it read them are
//! said to have moved; what became of the others meanwhile stands.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, TryLockError, Weak};
use std::time::Duration;

use crate::compaction::policy::KeyRange as ShapeRange;
use crate::db::Db;
use crate::db::core::Core;
use crate::db::give_way::Courtesy;
use crate::db::keyspace::KeyspaceState;
use crate::db::schedule::Claim;
use crate::db::tree::{KeyspaceTree, Tree};
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::hold::Hold;
use crate::segment::merge::{Bound, Rewrite, RewriteContext, Rewritten, pick};
use crate::segment::{FileUse, WriterContext};
use crate::totals::Total;
use crate::version::{Edit, KeyspaceEdit, TreeEdit, Version};

/// Is told how far a merge is.
pub type OnMergeProgress = dyn Fn(&MergeProgress) + Send + Sync;

/// How value segments are merged on demand.
#[derive(Clone)]
pub struct MergeOptions {
    /// Most bytes of value segments that may be dead when it is done, as a fraction. Default: 0.05.
    /// 0: none that is known to be.
    pub max_dead_fraction: f64,
    /// Bytes that it may take in memory. Default: [`crate::Options::merge_memory_budget`]. It takes 64 KiB in any
    /// case.
    pub memory_budget: Option<usize>,
    /// Whether the tree is compacted first where values that nobody reads any more are not known as
    /// dead yet, and the tree is small beside its values. Default: true.
    pub compact_first: bool,
    /// Called as values are moved, on the thread that merges; it must not merge segments itself. Default: nobody
    /// is told.
    pub progress: Option<Arc<OnMergeProgress>>,
    /// Set to true from any thread, the merge ends soon, within a slice while it compacts; what was done until then
    /// stands.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for MergeOptions {
    fn default() -> MergeOptions {
        MergeOptions {
            max_dead_fraction: 0.05,
            memory_budget: None,
            compact_first: true,
            progress: None,
            cancel: None,
        }
    }
}

impl fmt::Debug for MergeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeOptions")
            .field("max_dead_fraction", &self.max_dead_fraction)
            .field("memory_budget", &self.memory_budget)
            .field("compact_first", &self.compact_first)
            .finish_non_exhaustive()
    }
}

/// How far a merge is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeProgress {
    /// Bytes of values read so far.
    pub bytes_read: u64,
    /// Bytes of segment files given back so far.
    pub bytes_reclaimed: u64,
    /// Bytes that are known to be dead and still there.
    pub bytes_dead: u64,
}

/// What a merge did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeReport {
    /// How long it took.
    pub duration: Duration,
    /// Bytes of segment files before it.
    pub bytes_before: u64,
    /// Bytes of segment files after it.
    pub bytes_after: u64,
    /// Bytes read from segments.
    pub bytes_read: u64,
    /// Bytes written to segments.
    pub bytes_written: u64,
    /// Bytes of tables read to find which values are alive.
    pub references_read: u64,
    /// Files that were rewritten.
    pub files_rewritten: u64,
    /// Most bytes held at once to find and move live values.
    pub peak_lookup_bytes: u64,
    /// Edits that said where segments lie from then on.
    pub commits: u64,
    /// Longest time that one of them held the tree, its sync included. Nobody who reads or writes
    /// waits for that.
    pub longest_install: Duration,
    /// Longest time that a lock was held meanwhile, by this merge or another background work, for which a
    /// get, an iterator, a write or a sync may wait.
    pub longest_lock: Duration,
    /// Longest processor time of a thread that held one; zero where the system does not tell.
    pub longest_lock_cpu: Duration,
    /// Whether it was ended by [`MergeOptions::cancel`].
    pub cancelled: bool,
}

impl MergeReport {
    /// Bytes of segment files that were given back.
    pub fn bytes_reclaimed(&self) -> u64 {
        self.bytes_before.saturating_sub(self.bytes_after)
    }

    /// The same as a fraction of what there was; 0 where there was nothing.
    pub fn reduction_ratio(&self) -> f64 {
        match self.bytes_before {
            0 => 0.0,
            before => self.bytes_reclaimed() as f64 / before as f64,
        }
    }

    fn add(&mut self, step: &MergeStep) {
        self.bytes_read += step.rewritten.bytes_read;
        self.bytes_written += step.rewritten.bytes_written;
        self.files_rewritten += step.files;
        self.references_read += step.rewritten.references_read;
        self.peak_lookup_bytes = self.peak_lookup_bytes.max(step.rewritten.peak_memory as u64);
        self.commits += 1;
        self.longest_install = self.longest_install.max(step.install);
    }
}

impl Db {
    /// Gives back the space of separated values that were overwritten or deleted, until the options'
    /// bound holds in every keyspace. In the background this happens by itself
    /// ([`crate::Options::max_dead_fraction`]); this is for less dead space, or a moment of one's
    /// choosing. Reads, writes and snapshots go on meanwhile; while there are any it works a third of the
    /// time, or a sixth beside writes that sync, so that they hardly notice. What is in memtables is not flushed.
    ///
    /// # Errors
    /// `InvalidArgument` for a fraction outside 0 to 1; `NoSpace`, `Io`, `ReadOnly`, `Closed`. A
    /// segment file that is found damaged is left alone, and told as an [`Event::BackgroundError`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::{Db, MergeOptions, Options};
    ///
    /// let options = Options {
    ///     create_if_missing: true,
    ///     value_separation_min: Some(512),
    ///     ..Options::default()
    /// };
    /// let db = Db::open(dir.path(), options)?;
    /// for round in 0..2u8 {
    ///     for n in 0..100 {
    ///         db.put(format!("key{n:03}"), [round; 1000])?;
    ///     }
    ///     db.flush()?;
    /// }
    /// let report = db.merge_segments(&MergeOptions::default())?;
    /// assert!(report.reduction_ratio() > 0.4);
    /// assert_eq!(db.get("key007")?.unwrap(), [1; 1000]);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn merge_segments(&self, options: &MergeOptions) -> Result<MergeReport> {
        self.core().merge_segments(options)
    }
}

/// What came of a look for something to merge.
enum Merged {
    /// The bound holds.
    Nothing,
    Rewritten(MergeStep),
    /// A file, or a table that refers to it, was found missing or damaged. It is left alone from now on, and
    /// the others come next.
    LeftAlone,
}

/// One rewrite, installed.
struct MergeStep {
    rewritten: Rewritten,
    files: u64,
    /// Bytes of the old files less those of the new one.
    reclaimed: u64,
    install: Duration,
    /// Whether anything was installed: nothing is of what died or was moved meanwhile.
    installed: bool,
}

/// Microseconds between looks whether readers have let go of replaced files.
const MOMENTS: [u64; 12] =
    [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 30_000];

impl MergeStep {
    /// Whether there is less to do after it. A file of which no more is dead than was known is not to be
    /// rewritten for ever.
    fn helped(&self) -> bool {
        self.reclaimed > 0 || self.files > 1
    }
}

impl Core {
    fn merge_segments(&self, options: &MergeOptions) -> Result<MergeReport> {
        self.check_writable()?;
        if !(0.0..=1.0).contains(&options.max_dead_fraction) {
            return Err(Error::invalid_argument(format!(
                "max_dead_fraction is {}, but must be between 0 and 1",
                options.max_dead_fraction
            )));
        }
        let clock = &self.options.env.clock;
        let start = clock.now();
        let before = self.segment_stats();
        let mut report = MergeReport { bytes_before: before.bytes, ..MergeReport::default() };
        self.take_longest_hold();
        let courtesy = Courtesy::new(self);
        let replaced = self.all_keyspaces();
        let replaced = replaced.iter().map(|own| Arc::downgrade(&own.view.load().version));
        let replaced: Vec<Weak<Version>> = replaced.collect();
        let bound = self.merge_bound(options.max_dead_fraction);
        let memory = options.memory_budget.unwrap_or(self.options.merge_memory_budget);
        let cancelled =
            || options.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        let go_on = || if cancelled() { Err(stopped()) } else { self.check_open() };
        if options.compact_first {
            let between_slices = || {
                courtesy.give_way();
                go_on()
            };
            match self.reveal_dead_values(bound.dead_fraction, &between_slices) {
                Err(_) if cancelled() => {}
                revealed => revealed?,
            }
        }
        // Waits for a merge in the background to end its step.
        let _merging = self.background.merging.lock().unwrap_or_else(PoisonError::into_inner);
        courtesy.resume();
        for keyspace in self.all_keyspaces() {
            while !cancelled() {
                let done = report;
                let progress = |read: u64| {
                    if let Some(progress) = &options.progress {
                        let now = self.segment_stats();
                        progress(&MergeProgress {
                            bytes_read: done.bytes_read + read,
                            bytes_reclaimed: before.bytes.saturating_sub(now.bytes),
                            bytes_dead: now.dead_bytes,
                        });
                    }
                    courtesy.give_way();
                    go_on()
                };
                match self.merge_step(&keyspace, bound, memory, &progress) {
                    Ok(Merged::Rewritten(step)) => {
                        report.add(&step);
                        if !step.helped() {
                            break;
                        }
                    }
                    Ok(Merged::LeftAlone) => {}
                    Ok(Merged::Nothing) => break,
                    Err(_) if cancelled() => break,
                    Err(error) => return Err(error),
                }
            }
        }
        self.remove_as_readers_let_go(&replaced);
        report.cancelled = cancelled();
        report.bytes_after = self.segment_stats().bytes;
        let hold = self.take_longest_hold();
        (report.longest_lock, report.longest_lock_cpu) = (hold.wall, hold.cpu);
        report.duration = clock.now() - start;
        Ok(report)
    }

    /// Removes the files of versions that were replaced. Reads in progress let go of them within moments,
    /// and only note it; longer ones, like iterators, are not waited for.
    fn remove_as_readers_let_go(&self, replaced: &[Weak<Version>]) {
        for pause in MOMENTS.map(Duration::from_micros) {
            let is_over = replaced.iter().all(|version| {
                // What is in force is not replaced.
                let in_force = |own: &Arc<KeyspaceState>| {
                    std::ptr::eq(version.as_ptr(), Arc::as_ptr(&own.view.load().version))
                };
                version.strong_count() == 0 || self.all_keyspaces().iter().any(in_force)
            });
            let is_over = is_over && !self.trash.awaits_readers();
            self.remove_unreferenced_tables();
            if is_over {
                return;
            }
            self.options.env.clock.sleep(pause);
        }
        self.remove_unreferenced_tables();
    }

    /// The longest time since the last call that a lock was held in the way of readers or writers: one
    /// that views are changed under, or the one on the list of open segment files.
    fn take_longest_hold(&self) -> Hold {
        let of_files = self.runtime.ledger().tables.longest_segments_hold.take();
        let keyspaces = self.all_keyspaces();
        let installs = keyspaces.iter().map(|keyspace| keyspace.view.longest_install.take());
        installs.fold(of_files, Hold::max)
    }

    /// Compacts trees whose overwritten values are not known as dead yet, where that may matter. An error
    /// of `between_slices` ends it.
    fn reveal_dead_values(
        &self,
        fraction: f64,
        between_slices: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        for keyspace in self.all_keyspaces() {
            let hides = {
                let tree = self.lock_tree();
                let own = tree.keyspaces.get(&keyspace.id);
                own.is_some_and(|own| own.is_worth_compacting_first(fraction))
            };
            if hides {
                between_slices()?;
                self.compact_range(&keyspace, ShapeRange::ALL, 0, between_slices)?;
            }
        }
        Ok(())
    }

    fn merge_bound(&self, dead_fraction: f64) -> Bound {
        Bound { dead_fraction, segment_size: self.options.segment_size }
    }

    /// One merge of the background's; whether there was one to do.
    pub(crate) fn merge_work(&self) -> Result<bool> {
        if !self.merges_by_itself() {
            return Ok(false);
        }
        let _merging = match self.background.merging.try_lock() {
            Ok(merging) => merging,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        let bound = self.merge_bound(self.options.max_dead_fraction);
        let memory = self.options.merge_memory_budget;
        let start = self.options.env.clock.now();
        let courtesy = Courtesy::new(self);
        let progress = |read: u64| {
            courtesy.give_way();
            self.keep_to_io_budget(2 * read, start);
            courtesy.resume();
            if self.stopping() { Err(stopped()) } else { Ok(()) }
        };
        for keyspace in self.all_keyspaces() {
            let turn = &keyspace.merge_turn;
            // In this order: what changes after the first line is looked at the next time.
            let seen = turn.changes();
            if turn.is_settled() || !turn.may_try(start) {
                continue;
            }
            let merged = self.merge_step(&keyspace, bound, memory, &progress);
            if merged.is_ok() {
                turn.succeeded();
            }
            match merged {
                Ok(Merged::Nothing) => turn.settle_at(seen),
                Ok(Merged::Rewritten(step)) => {
                    if !step.helped() {
                        turn.settle_at(seen + u64::from(step.installed));
                    }
                    return Ok(true);
                }
                Ok(Merged::LeftAlone) => return Ok(true),
                Err(_) if self.stopping() => return Ok(false),
                Err(error) if self.check_writable().is_err() => return Err(error),
                Err(error) => {
                    // It stops nobody else: not the merges of other keyspaces, and nobody who writes.
                    turn.failed(error.clone(), self.options.env.clock.now());
                    self.events.tell(&Event::BackgroundError { error });
                }
            }
        }
        Ok(false)
    }

    fn merges_by_itself(&self) -> bool {
        self.options.max_dead_fraction < 1.0
            && !self.options.disable_auto_compactions
            && self.background.may_begin_jobs()
    }

    /// Whether the background has a merge to do.
    pub(crate) fn is_merge_due(&self) -> bool {
        let bound = self.merge_bound(self.options.max_dead_fraction);
        self.merges_by_itself()
            && self.all_keyspaces().iter().any(|keyspace| {
                !keyspace.merge_turn.is_settled() && {
                    let version = Arc::clone(&keyspace.view.load().version);
                    !pick(candidates(keyspace, &version), bound).is_empty()
                }
            })
    }

    /// Why a merge in the background failed that was not done since.
    pub(crate) fn merge_error(&self) -> Option<Error> {
        self.all_keyspaces().iter().find_map(|keyspace| keyspace.merge_turn.error())
    }

    /// Waits until no more bytes were moved since `start` than the budget allows.
    fn keep_to_io_budget(&self, bytes: u64, start: Duration) {
        let budget = self.options.merge_io_budget;
        if budget == 0 {
            return;
        }
        let clock = &self.options.env.clock;
        let due = start + Duration::from_secs_f64(bytes as f64 / budget as f64);
        while let Some(left) = due.checked_sub(clock.now()).filter(|left| !left.is_zero()) {
            if self.stopping() {
                return;
            }
            clock.sleep(left.min(Duration::from_millis(50)));
        }
    }

    /// Rewrites the files of a keyspace that are most dead into one, and installs it.
    fn merge_step(
        &self,
        keyspace: &Arc<KeyspaceState>,
        bound: Bound,
        memory: usize,
        progress: &dyn Fn(u64) -> Result<()>,
    ) -> Result<Merged> {
        self.check_writable()?;
        let start = self.options.env.clock.now();
        let version = {
            let tree = self.lock_tree();
            let Some(own) = tree.keyspaces.get(&keyspace.id) else { return Ok(Merged::Nothing) };
            Arc::clone(&own.version)
        };
        let mut victims = pick(candidates(keyspace, &version), bound);
        // Somebody may have begun to append to one meanwhile.
        victims.retain(|victim| keyspace.growing.retire(&victim.file));
        if victims.is_empty() {
            return Ok(Merged::Nothing);
        }
        let mut segments: Vec<_> =
            victims.iter().flat_map(|victim| victim.segments.iter().copied()).collect();
        segments.sort_unstable();
        let next_number = || self.new_file_number();
        let read = Cell::new(0);
        let note_read = |bytes| {
            read.set(read.get() + bytes);
            progress(read.get())
        };
        let tell = |error| self.events.tell(&Event::BackgroundError { error });
        let mut rewrite = Rewrite::new(RewriteContext {
            writer: WriterContext {
                fs: &self.options.env.fs,
                names: &self.names,
                trash: &self.trash,
                next_number: &next_number,
                database: self.database,
                keyspace: keyspace.id,
            },
            segments: keyspace.tables.segments(),
            tables: &keyspace.tables,
            version: &version,
            memory,
            progress: &note_read,
            damaged: &tell,
        });
        let outcome = rewrite.run(&segments);
        self.totals.add(Total::BytesSegmentMergesRead, read.get());
        if let Err(error) = outcome {
            drop(rewrite);
            self.remove_unreferenced_tables();
            if self.leaves_alone(&error, &victims, &version) {
                self.events.tell(&Event::BackgroundError { error });
                return Ok(Merged::LeftAlone);
            }
            return Err(error);
        }
        let rewritten = rewrite.finish();
        self.totals.add(Total::BytesSegmentMerges, rewritten.bytes_written);
        let (install, installed) = self.install_merge(keyspace, &rewritten)?;
        let (files, bytes_before) =
            (victims.len() as u64, victims.iter().map(|victim| victim.end).sum::<u64>());
        let bytes_reclaimed = bytes_before.saturating_sub(rewritten.bytes_written);
        drop((victims, version));
        self.remove_unreferenced_tables();
        self.totals.add(Total::SegmentMerges, 1);
        self.totals.add(Total::BytesReclaimed, bytes_reclaimed);
        self.events.tell(&Event::SegmentMerge {
            keyspace: Arc::clone(&keyspace.name),
            files,
            bytes_read: rewritten.bytes_read,
            bytes_written: rewritten.bytes_written,
            bytes_reclaimed,
            duration: self.options.env.clock.now() - start,
        });
        let reclaimed = bytes_reclaimed;
        Ok(Merged::Rewritten(MergeStep { rewritten, files, reclaimed, install, installed }))
    }

    /// Has merges leave alone what a rewrite of files failed for; whether the next one is without any of them.
    fn leaves_alone(&self, error: &Error, victims: &[FileUse], version: &Version) -> bool {
        let is_damaged = || victims.iter().any(|victim| victim.file.is_damaged());
        let is_of = |path: PathBuf| error.path() == Some(&*path);
        match error.kind() {
            ErrorKind::Corruption if !is_damaged() => {
                // It is a table's: which values are alive is not known where it refers to.
                let mut tables = version.tables().map(|table| &table.file);
                let table = tables.find(|file| is_of(self.names.table(file.number)));
                let referred = table.iter().flat_map(|file| &*file.references);
                let referred: HashSet<_> = referred.map(|(id, _)| *id).collect();
                let refers = |victim: &&FileUse| {
                    table.is_none() || victim.segments.iter().any(|id| referred.contains(id))
                };
                victims.iter().filter(refers).for_each(|victim| victim.file.mark_damaged());
            }
            ErrorKind::Io => {
                let file = victims.iter().map(|victim| &victim.file);
                let mut file = file.filter(|file| is_of(self.names.segment(file.number())));
                file.next().inspect(|file| file.note_failure());
            }
            _ => {}
        }
        is_damaged()
    }

    /// Says where rewritten segments lie. How long that held the tree, and whether there was anything to say.
    fn install_merge(
        &self,
        keyspace: &KeyspaceState,
        rewritten: &Rewritten,
    ) -> Result<(Duration, bool)> {
        let clock = &self.options.env.clock;
        let mut tree = self.lock_tree();
        let start = clock.now();
        let mut placed = Vec::new();
        if let Some(own) = tree.keyspaces.get(&keyspace.id) {
            let still = rewritten.placed.iter().filter(|(_, from)| {
                let now = own.version.segments.get(from.segment);
                now.is_some_and(|now| now.placement == *from)
            });
            placed.extend(still.map(|(to, _)| *to));
        }
        if !placed.is_empty() {
            let edits = placed.iter().copied().map(TreeEdit::Place).collect();
            let change = KeyspaceEdit::of_tree(keyspace.id, edits);
            let installed = self.install(&mut tree, Edit::of_keyspace(change));
            installed.inspect_err(|_| self.discard_segments(&tree, keyspace.id, &placed))?;
        }
        let hold = clock.now() - start;
        let all: Vec<_> = rewritten.placed.iter().map(|(to, _)| *to).collect();
        // All that was rewritten may have died meanwhile.
        self.discard_segments(&tree, keyspace.id, &all);
        Ok((hold, !placed.is_empty()))
    }

    /// A job that makes dead values known, where not knowing them is all that keeps the bound from
    /// being met (H21).
    ///
    /// While somebody writes a job must make many known, for each compacts all of the tree; once nobody
    /// does the bound is met.
    pub(crate) fn pick_revealing(&self, tree: &Tree, is_idle: bool) -> Option<Claim> {
        let bound = self.options.max_dead_fraction;
        if bound >= 1.0 {
            return None;
        }
        let least = if is_idle { 0.0 } else { bound / 4.0 };
        let hides =
            |own: &&KeyspaceTree| own.running.is_empty() && own.hides_dead_values(bound, least);
        let own = tree.keyspaces.values().find(hides)?;
        self.pick_manual(tree, own.keyspace.id, &ShapeRange::ALL, 0)
    }
}

/// The files that a merge may take: nobody appends to them, and they are not damaged.
fn candidates<'a>(
    keyspace: &'a KeyspaceState,
    version: &'a Version,
) -> impl Iterator<Item = FileUse> + 'a {
    let files = version.segments.files().into_values();
    files.filter(|file| !file.file.is_damaged() && keyspace.growing.may_retire(&file.file))
}

#[cold]
fn stopped() -> Error {
    Error::new(ErrorKind::Closed, "the merge was stopped")
}

/// What a tree hides of its values being dead.
struct Hidden {
    /// Bytes in segment files.
    used: u64,
    /// Of those, bytes known to be dead.
    dead: u64,
    /// Bytes that may be dead and are not known to be: each record above the oldest run may hide one
    /// below it.
    at_most: f64,
    /// Bytes of the tables.
    index: u64,
}

impl KeyspaceTree {
    /// `None` where no values are separated.
    fn hidden(&self) -> Option<Hidden> {
        if self.version.segments.is_empty() {
            return None;
        }
        let mut hidden = Hidden { used: 0, dead: 0, at_most: 0.0, index: 0 };
        for file in self.version.segments.files().into_values() {
            hidden.used += file.used();
            hidden.dead += file.dead();
        }
        let (mut upper, mut last, mut referred) = (0, 0, 0);
        for (_, run) in self.version.runs() {
            upper += std::mem::take(&mut last);
            for table in &run.tables {
                let file = &table.file;
                last += file.entries + file.range_deleted;
                referred += file.references.iter().map(|(_, bytes)| bytes).sum::<u64>();
                hidden.index += file.len;
            }
        }
        let each = referred as f64 / (upper + last).max(1) as f64;
        hidden.at_most = (upper as f64 * each).min(referred as f64);
        Some(hidden)
    }

    /// Whether the tree is to be compacted before a merge that somebody asked for: what it may hide is
    /// more than may be left, and finding out is cheaper than rewriting values.
    fn is_worth_compacting_first(&self, fraction: f64) -> bool {
        self.hidden().is_some_and(|Hidden { used, dead, at_most, index }| {
            at_most > 0.0 && dead as f64 + at_most > fraction * used as f64 && index <= used
        })
    }

    /// Whether more than a fraction of the values may be dead, though less is known to be, as far as the
    /// tree's own merges teach. Only where the tree is small beside its values, so that compacting it
    /// costs little, and if it hides more than `least` of them.
    fn hides_dead_values(&self, fraction: f64, least: f64) -> bool {
        self.hidden().is_some_and(|Hidden { used, dead, at_most, index }| {
            let (bound, dead) = (fraction * used as f64, dead as f64);
            let estimate = at_most * self.dead_share.get();
            dead <= bound
                && dead + estimate > bound
                && estimate > least * used as f64
                && index <= used / 4
        })
    }
}
