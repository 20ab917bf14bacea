//! Garbage collection on demand: it rewrites segment files in steps, one keyspace after the other.
//! It stops when the dead bytes are within the bound, or when a step makes no progress.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::compaction::policy::CutRange;
use crate::counters::Hold;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::throttle::give_way::Courtesy;
use crate::db::trees::gc::step::{Collected, stopped};
use crate::db::trees::gc::{GcOptions, GcProgress, GcReport};
use crate::db::trees::schedule::Rewritten;
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::gc::Bound;
use crate::version::Version;

/// Microseconds between checks whether readers have dropped replaced files.
const MOMENTS: [u64; 12] =
    [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 30_000];

impl Core {
    pub(crate) fn collect_garbage(&self, options: &GcOptions) -> Result<GcReport> {
        self.check_writable()?;
        self.check_may_wait()?;
        if !(0.0..=1.0).contains(&options.max_dead_fraction) {
            return Err(Error::invalid_argument(format!(
                "max_dead_fraction is {}, but must be between 0 and 1",
                options.max_dead_fraction
            )));
        }
        if options.compact_first {
            match self.flush_sealed() {
                // The collection may free the space that the flush needs.
                Err(error) if error.kind() == ErrorKind::NoSpace => {}
                flushed => flushed?,
            }
        }
        OnDemand {
            core: self,
            options,
            courtesy: Courtesy::new(self),
            bytes_before: self.keyspaces.segment_stats().bytes,
            bound: self.gc_bound(options.max_dead_fraction),
        }
        .run()
    }
}

/// A garbage collection on demand.
struct OnDemand<'a> {
    core: &'a Core,
    options: &'a GcOptions,
    courtesy: Courtesy<'a>,
    bytes_before: u64,
    bound: Bound,
}

impl OnDemand<'_> {
    fn run(&self) -> Result<GcReport> {
        let core = self.core;
        let start = core.options.env.clock.now();
        core.take_longest_hold();
        let versions = core.versions_in_force();
        if self.options.compact_first {
            match core.reveal_dead_values(self.bound.dead_fraction, &|| self.pause()) {
                Err(_) if self.is_cancelled() => {}
                revealed => revealed?,
            }
        }
        // The first failure. The other keyspaces are collected all the same.
        let mut failure = None;
        let mut report = GcReport { bytes_before: self.bytes_before, ..GcReport::default() };
        {
            // Waits until a background collection ends its step. During this wait that collection
            // does not pause for its I/O budget.
            let _caller = core.background.collects(core.runtime.workers(), core.member);
            let _collecting = core.background.locks.collect();
            self.courtesy.resume();
            for keyspace in core.keyspaces.all() {
                if keyspace.has_failed() {
                    continue;
                }
                if let Err(error) = self.collect(&keyspace, &mut report) {
                    core.check_writable()?;
                    failure.get_or_insert(error);
                }
            }
            core.remove_as_readers_let_go(&versions);
        }
        if let Some(error) = failure {
            return Err(error);
        }
        report.cancelled = self.is_cancelled();
        report.bytes_after = core.keyspaces.segment_stats().bytes;
        let hold = core.take_longest_hold();
        (report.longest_lock, report.longest_lock_cpu) = (hold.wall, hold.cpu);
        report.duration = core.options.env.clock.now() - start;
        Ok(report)
    }

    /// Rewrites files of a keyspace until its dead bytes are within the bound, or a step makes no
    /// progress.
    fn collect(&self, keyspace: &Arc<KeyspaceState>, report: &mut GcReport) -> Result<()> {
        let memory =
            self.options.memory_budget.unwrap_or(self.core.settings.knobs.gc_memory_budget);
        while !self.is_cancelled() {
            let read_before = report.bytes_read;
            let progress = |read| {
                self.tell(read_before + read);
                self.pause()
            };
            match self.core.gc_step(keyspace, self.bound, memory, &progress) {
                Ok(Collected::Rewritten(step)) => {
                    report.add(&step);
                    if !step.helped() {
                        break;
                    }
                }
                Ok(Collected::LeftAlone) => {}
                Ok(Collected::Nothing) => break,
                Err(_) if self.is_cancelled() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn tell(&self, bytes_read: u64) {
        if let Some(progress) = &self.options.progress {
            let now = self.core.keyspaces.segment_stats();
            let bytes_reclaimed = self.bytes_before.saturating_sub(now.bytes);
            progress(&GcProgress { bytes_read, bytes_reclaimed, bytes_dead: now.dead_bytes });
        }
    }

    /// Yields to foreground operations.
    ///
    /// # Errors
    /// `Closed` if the collection was cancelled or the database was closed.
    fn pause(&self) -> Result<()> {
        self.courtesy.give_way();
        if self.is_cancelled() { Err(stopped()) } else { self.core.check_open() }
    }

    fn is_cancelled(&self) -> bool {
        // Relaxed: the flag is the program's, and says nothing of other memory. It is seen soon.
        self.options.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
}

/// Versions with their keyspaces.
type Versions = [(Arc<KeyspaceState>, Weak<Version>)];

impl Core {
    fn versions_in_force(&self) -> Vec<(Arc<KeyspaceState>, Weak<Version>)> {
        let keyspaces = self.keyspaces.all();
        let version = |own: &Arc<KeyspaceState>| Arc::downgrade(&own.view.load().version);
        keyspaces.iter().map(|own| (Arc::clone(own), version(own))).collect()
    }

    /// Removes the files that only replaced versions use. A read in progress keeps such files for a
    /// short time, so this call waits for such reads. It does not wait for long readers such as
    /// iterators.
    fn remove_as_readers_let_go(&self, versions: &Versions) {
        for pause in MOMENTS.map(Duration::from_micros) {
            let is_over = versions.iter().all(|(own, version)| {
                // A version that is still the current one replaced no files.
                let in_force = Arc::as_ptr(&own.view.load().version);
                version.strong_count() == 0 || std::ptr::eq(version.as_ptr(), in_force)
            });
            let is_over = is_over && !self.segment_files.awaits_readers();
            self.remove_unreferenced_tables();
            if is_over {
                return;
            }
            self.options.env.clock.sleep(pause);
        }
        self.remove_unreferenced_tables();
    }

    /// Returns the longest time that background work held a lock which readers or writers may wait
    /// for, since the last call. These locks are the ones of the views and of the list of open
    /// segment files.
    fn take_longest_hold(&self) -> Hold {
        let of_files = self.runtime.ledger().tables.longest_segments_hold.take();
        let keyspaces = self.keyspaces.all();
        let installs = keyspaces.iter().map(|keyspace| keyspace.view.longest_install.take());
        installs.fold(of_files, Hold::max)
    }

    /// Compacts each tree that may hide more dead values than `fraction` allows. An error of
    /// `between_slices` ends the compactions. A compaction that fails otherwise, for example at a
    /// damaged table, stops neither those of other trees nor the collection.
    fn reveal_dead_values(
        &self,
        fraction: f64,
        between_slices: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        for keyspace in self.keyspaces.all() {
            let hides = {
                let tree = self.lock_tree();
                let own = tree.keyspaces.get(&keyspace.id);
                own.is_some_and(|own| own.is_worth_compacting_first(fraction))
            };
            if !hides || keyspace.has_failed() {
                continue;
            }
            between_slices()?;
            let rewritten = Rewritten::default();
            let compacted = self.compact_range(&keyspace, CutRange::ALL, rewritten, between_slices);
            if let Err(error) = compacted {
                between_slices()?;
                self.check_writable()?;
                self.events.tell(&Event::BackgroundError { error });
            }
        }
        Ok(())
    }
}
