//! Closing a database: flush unlogged writes, stop the workers, make manifest and logs durable,
//! record what they hold ([`CloseRecord`]), release the lock.
//!
//! The close waits for callers that do background work on their own threads. Their next step finds
//! the database closed. Once the lock is released, the files may belong to another open, which may
//! give new files the same numbers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::db::core::Core;
use crate::db::lifecycle::flight::end_recording;
use crate::db::state::tree::Tree;
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::version::{CloseKnown, CloseRecord, Edit};
use crate::wal::{Extent, LogWriter};

/// The extents of the needed logs, and whether the names of these logs are durable.
type Settled = (Vec<Extent>, bool);

impl Core {
    /// Closes the database when the last handle is dropped.
    pub(crate) fn close_at_last(self: &Arc<Core>) {
        // The files and the workers belong to the parent process.
        if !self.standing.is_in_its_process() {
            return;
        }
        // Acknowledged writes are in the log, where the next open finds them.
        if !self.must_not_wait() || planted(Fault::CloseInCallback) {
            let _best_effort = self.close();
            return;
        }
        // A callback dropped the handle, and the close would wait for the caller of that callback.
        let core = Arc::clone(self);
        let close = move || drop(core.close());
        if self.runtime.workers().start_beside("foldb-close", close).is_err() {
            // The shutdown ends the work. The directory stays locked until the process ends.
            self.standing.close();
            self.background.shut_down();
        }
    }

    /// Closes, or waits for another caller's close. Each caller receives the outcome of the close.
    pub(crate) fn close(&self) -> Result<()> {
        self.check_may_wait()?;
        self.standing.close_once(|| self.close_once())
    }

    fn close_once(&self) -> Result<()> {
        let flushed =
            self.needs_flush().and_then(|needs| if needs { self.flush() } else { Ok(()) });
        self.standing.close();
        if let Some(feed) = &self.feed {
            feed.news.changed();
        }
        self.leave_runtime();
        self.background.locks.wait_for_callers();
        end_recording(self);
        // Writer and tree stay locked until the lock is released. So the close record stays
        // correct, and an install either ends before it or finds the database closed.
        let (mut writer, mut tree) = (self.lock_writer()?, self.lock_tree());
        assert!(
            tree.keyspaces.values().all(|own| own.running.is_empty()),
            "no job changes a tree behind the close record"
        );
        let written = self.write_last(&mut writer.log, &mut tree);
        // The worker that removes files has ended, and the files would take space until the next
        // open.
        self.remove_unreferenced_tables();
        self.keyspaces.default().tables.note_closed();
        self.ownership.take();
        drop((tree, writer));
        flushed.and(written)
    }

    /// Returns whether a close without a flush would lose unlogged writes.
    fn needs_flush(&self) -> Result<bool> {
        Ok(!self.standing.is_poisoned() && self.has_unlogged()?)
    }

    /// Stores the totals, releases reserved space, syncs manifest and logs, and writes the close
    /// record.
    fn write_last(&self, log: &mut LogWriter, tree: &mut Tree) -> Result<()> {
        if self.standing.is_read_only() {
            return Ok(());
        }
        // After a failed sync it is unknown what is durable, so the close must not record that
        // everything is.
        self.standing.check_sound()?;
        // A worker may not have stored the last second yet.
        let time = Some(self.time.last_seen()).filter(|time| *time > self.time.last_stored());
        if self.last_close.is_in_force() && time.is_none() {
            // Nothing was written since, and the record of that close still holds.
            return Ok(());
        }
        let settled = self.settle_logs(log, tree.log)?;
        // The manifest of an earlier open stays as it is. The record knows the rest.
        if !tree.manifest.is_closed() || time.is_some() {
            let edit = Edit {
                totals: Some(self.totals.to_vec()),
                last_seqno: Some(self.published()),
                // Relaxed: workers have left, and the locks of writers and tree are held. So the
                // numbers of all files were taken before.
                next_file: Some(self.next_file.load(Ordering::Relaxed)),
                time,
                ..Edit::default()
            };
            self.append_unsynced(tree, &edit)?;
            tree.manifest.trim()?;
        }
        // Without a record, the next open reads the logs as after a kill.
        let Some((logs, are_named)) = settled else { return Ok(()) };
        let (manifest, database) = (tree.manifest.extent(), self.database);
        let known = Some(CloseKnown { last_seqno: self.published(), totals: self.totals.to_vec() });
        let closed = CloseRecord { database, manifest, logs, known };
        if planted(Fault::NoCloseRecord) {
            return Ok(());
        }
        closed.write(&*self.options.env.fs, &self.names, are_named)
    }

    /// Syncs the logs from `first` on and releases their reserved space. Returns their extents, and
    /// whether their names are durable; `None` if an open on a full disk still needs logs from
    /// before it. It has synced these.
    fn settle_logs(&self, active: &mut LogWriter, first: u64) -> Result<Option<Settled>> {
        active.trim()?;
        let (mut extents, mut are_all, mut are_named) = (Vec::new(), true, true);
        for (_, sync) in self.logs.since(first) {
            let Some(sync) = sync else {
                are_all = false;
                continue;
            };
            let extent = match sync.sealed() {
                Some(sealed) => {
                    sync.trim(sealed.len)?;
                    sealed
                }
                None => active.extent(),
            };
            // A log that a power loss makes longer again is longer by zeroes.
            if !sync.is_durable() {
                sync.sync_bytes()?;
                are_named = false;
            }
            extents.push(extent);
        }
        debug_assert_eq!(
            extents.last().map(|extent| extent.number),
            Some(active.number()),
            "the close record ends with the log that took the last writes"
        );
        Ok(are_all.then_some((extents, are_named)))
    }
}
