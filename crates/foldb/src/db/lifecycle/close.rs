//! Closing: what is in no log is flushed, the workers end, manifest and logs are made durable and a
//! record says what they hold ([`CloseRecord`]), the lock is let go.
//!
//! Who works on a thread of his own is waited for, too, and finds it closed at his next step: once
//! the lock is let go the files are somebody else's, who gives new ones the same numbers.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use crate::db::core::Core;
use crate::db::state::tree::Tree;
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::user_code::must_not_wait;
use crate::version::{CloseRecord, Edit};
use crate::wal::{Extent, LogWriter};

impl Core {
    /// Closes when the last handle goes.
    pub(crate) fn close_at_last(self: &Arc<Core>) {
        // What was acknowledged is in the log: the next open takes it from there.
        if !self.must_not_wait() || planted(Fault::CloseInCallback) {
            let _best_effort = self.close();
            return;
        }
        // A callback dropped the handle, and a close waits for what called the callback.
        let core = Arc::clone(self);
        let close = move || drop(core.close());
        if self.runtime.workers().start_beside("foldb-close", close).is_err() {
            // Nothing is begun any more; the directory stays locked until the process ends.
            self.closed.store(true, Ordering::Release);
            self.background.shut_down();
        }
    }

    /// Whether this thread is inside something that background work of this database may wait for.
    pub(crate) fn must_not_wait(&self) -> bool {
        must_not_wait(self.events.mark())
    }

    /// Refuses a call that would wait for itself.
    ///
    /// # Errors
    /// `InvalidArgument` on a worker, and inside a callback of this database.
    pub(crate) fn check_may_wait(&self) -> Result<()> {
        if !self.must_not_wait() || planted(Fault::CloseInCallback) {
            return Ok(());
        }
        Err(Error::invalid_argument(
            "this call waits for background work, which may be waiting for the listener, operator \
             or comparator that makes it: make the call on another thread",
        ))
    }

    /// Closes, or waits until another caller has: each of them hears what the close came to.
    pub(crate) fn close(&self) -> Result<()> {
        if self.is_a_forks_copy() {
            // The files and the workers are the parent's.
            self.closed.store(true, Ordering::Release);
            return Ok(());
        }
        self.check_may_wait()?;
        let mut outcome = self.close_outcome.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.get_or_insert_with(|| self.close_once()).clone()
    }

    fn close_once(&self) -> Result<()> {
        let flushed = if self.needs_flush() { self.flush() } else { Ok(()) };
        self.closed.store(true, Ordering::Release);
        self.leave_runtime();
        self.wait_for_callers();
        // With writer and tree locked until the lock is let go: what the record tells of stays as
        // it is, and who installs something has the lock until it is done.
        let (mut writer, mut tree) = (self.lock_writer(), self.lock_tree());
        let written = self.write_last(&mut writer.log, &mut tree);
        // The worker that does so has left, and space is not kept until the next open.
        self.remove_unreferenced_tables();
        self.default.tables.note_closed();
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop((tree, writer));
        flushed.and(written)
    }

    /// Whether this process was forked from the one that has the database open.
    fn is_a_forks_copy(&self) -> bool {
        let lock = self.lock.try_lock();
        lock.is_ok_and(|lock| lock.as_ref().is_some_and(|lock| !lock.is_held()))
    }

    /// Waits until no caller flushes, compacts or merges on its own thread. None begins to: the
    /// database is closed.
    fn wait_for_callers(&self) {
        let background = &self.background;
        for working in [&background.alone, &background.collecting, &background.flushing] {
            drop(working.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Whether closing would lose writes that are in no log.
    fn needs_flush(&self) -> bool {
        self.poison.get().is_none() && self.has_unlogged()
    }

    /// Stores the totals, gives back reserved space, makes all durable and says so.
    fn write_last(&self, log: &mut LogWriter, tree: &mut Tree) -> Result<()> {
        if self.read_only {
            return Ok(());
        }
        // Where a sync failed it is not known what is durable: a close that said nothing would
        // promise that everything is.
        self.check_sound()?;
        let logs = self.settle_logs(log, tree.log)?;
        let edit = Edit {
            totals: Some(self.totals.to_vec()),
            last_seqno: Some(self.published()),
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            ..Edit::default()
        };
        self.append_unsynced(tree, &edit)?;
        tree.manifest.trim()?;
        let closed =
            CloseRecord { database: self.database, manifest: tree.manifest.extent(), logs };
        if planted(Fault::NoCloseRecord) {
            return Ok(());
        }
        closed.write(&*self.options.env.fs, &self.names)
    }

    /// Makes the logs from `first` on durable, without reserved space; answers what they hold.
    fn settle_logs(&self, active: &mut LogWriter, first: u64) -> Result<Vec<Extent>> {
        active.trim()?;
        let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut extents = Vec::new();
        for (_, sync) in logs.into_iter().filter(|(log, _)| *log >= first) {
            let sync = sync.expect("a log that is needed was begun since the open");
            let extent = match sync.sealed() {
                Some(sealed) => {
                    sync.trim(sealed.len)?;
                    sealed
                }
                None => active.extent(),
            };
            sync.sync_bytes()?;
            extents.push(extent);
        }
        Ok(extents)
    }
}
