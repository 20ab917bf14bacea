//! Merging because somebody asks for it: all keyspaces, step by step, until the bound holds.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use crate::compaction::policy::KeyRange as ShapeRange;
use crate::db::Db;
use crate::db::core::Core;
use crate::db::give_way::Courtesy;
use crate::db::keyspace::KeyspaceState;
use crate::db::merge_segments::step::{Merged, stopped};
use crate::db::merge_segments::{MergeOptions, MergeProgress, MergeReport};
use crate::error::{Error, Result};
use crate::hold::Hold;
use crate::version::Version;

/// Microseconds between looks whether readers have let go of replaced files.
const MOMENTS: [u64; 12] =
    [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 30_000];

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
}
