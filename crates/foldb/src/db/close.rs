//! Closing: what is in no log is flushed, the workers end, the lock is let go.
//!
//! Who works on a thread of his own is waited for, too, and finds it closed at his next step: once the lock
//! is let go the files are somebody else's, who gives new ones the same numbers.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::db::core::Core;
use crate::error::Result;
use crate::version::Edit;

impl Core {
    pub(super) fn close(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        if self.is_a_forks_copy() {
            // The files and the workers are the parent's.
            self.closed.store(true, Ordering::Release);
            return Ok(());
        }
        let flushed = if self.needs_flush() { self.flush() } else { Ok(()) };
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.leave_runtime();
        self.wait_for_callers();
        let written = self.write_last_edit();
        // With the tree locked: who installs something has the lock until it is done.
        let tree = self.lock_tree();
        self.default.tables.note_closed();
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(tree);
        flushed.and(written)
    }

    /// Whether this process was forked from the one that has the database open.
    fn is_a_forks_copy(&self) -> bool {
        let lock = self.lock.try_lock();
        lock.is_ok_and(|lock| lock.as_ref().is_some_and(|lock| !lock.is_held()))
    }

    /// Waits until nobody flushes, compacts or merges on a thread of the caller's. Nobody begins to: the
    /// database is closed.
    fn wait_for_callers(&self) {
        let background = &self.background;
        for working in [&background.alone, &background.merging, &background.flushing] {
            drop(working.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Whether closing would lose writes that are in no log.
    fn needs_flush(&self) -> bool {
        self.poison.get().is_none() && self.has_unlogged()
    }

    /// Stores the totals and gives back reserved space.
    fn write_last_edit(&self) -> Result<()> {
        if self.poison.get().is_some() || self.read_only {
            return Ok(());
        }
        let mut writer = self.lock_writer();
        writer.log.trim()?;
        let mut tree = self.lock_tree();
        let edit = Edit {
            totals: Some(self.totals.to_vec()),
            last_seqno: Some(self.published()),
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            ..Edit::default()
        };
        self.append_edit(&mut tree, &edit)?;
        tree.manifest.trim()
    }
}
