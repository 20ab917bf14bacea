//! Files that no version refers to any more.
//!
//! The last reader of such a file only notes it here. A worker unlinks the file; a reader never
//! unlinks files.
//!
//! Tables that the current version does not refer to stay listed here until they are unlinked. Each
//! new table that describes the tree names them, because the table that said so first may be
//! unlinked before them ([`Trash::gone`]).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::files::FileKind;
use crate::locks::Lock;
use crate::locks::rank::{GONE, TRASH, UNLINKED};

/// Files that wait to be unlinked.
#[derive(Default)]
pub(crate) struct Trash {
    files: Lock<Vec<FileKind>, TRASH>,
    /// Tables that the current version does not refer to and a reader still holds. `Relaxed`: the
    /// last holder counts down behind the thread that counted up, by the count of holders. A look
    /// at this number between its change and the arrival of the file may miss the file, but the
    /// listener is called after both.
    tables: AtomicUsize,
    /// Tables that belong to no version from now on, and may still exist.
    gone: Lock<BTreeSet<u64>, GONE>,
    /// Those of them that were unlinked since the last sync of the directory.
    unlinked: Lock<BTreeSet<u64>, UNLINKED>,
    /// Called for each file by its last holder, whatever locks that thread holds.
    listener: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Trash {
    /// Sets the function that is called for each discarded file. It must not wait for a lock.
    pub(crate) fn listen(&self, listener: impl Fn() + Send + Sync + 'static) {
        let _only_one = self.listener.set(Box::new(listener));
    }

    /// Adds a file to be unlinked.
    pub(crate) fn throw(&self, file: FileKind) {
        self.files.lock().push(file);
        if let Some(listener) = self.listener.get() {
            listener();
        }
    }

    /// Notes that a table will arrive here as soon as its last reader drops it.
    pub(crate) fn expect_table(&self, number: u64) {
        self.note_gone(number);
        self.tables.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a table belongs to no version, and may still exist.
    pub(crate) fn note_gone(&self, number: u64) {
        self.gone.lock().insert(number);
    }

    /// Notes that a table was unlinked. It may come back after a power loss, until the directory is
    /// synced.
    pub(crate) fn note_unlinked(&self, number: u64) {
        self.unlinked.lock().insert(number);
    }

    /// Syncs the directory by `sync`, and forgets the tables that were unlinked before.
    pub(crate) fn synced<E>(&self, sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let unlinked = self.unlinked.lock().clone();
        sync()?;
        let mut gone = self.gone.lock();
        let mut still = self.unlinked.lock();
        for number in unlinked {
            gone.remove(&number);
            still.remove(&number);
        }
        Ok(())
    }

    /// Returns the tables that belong to no version and may still exist, ascending.
    pub(crate) fn gone(&self) -> Vec<u64> {
        self.gone.lock().iter().copied().collect()
    }

    /// Adds a table that was expected.
    pub(crate) fn throw_table(&self, number: u64) {
        let expected = self.tables.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(expected > 0, "a table is thrown away once, after it became obsolete");
        self.throw(FileKind::Table(number));
    }

    /// Takes out all files.
    pub(crate) fn empty(&self) -> Vec<FileKind> {
        std::mem::take(&mut *self.files.lock())
    }

    /// Returns whether a file is here, or a table is still expected.
    pub(crate) fn is_expected(&self) -> bool {
        let is_thrown = !self.files.lock().is_empty();
        is_thrown || self.tables.load(Ordering::Relaxed) > 0
    }
}

impl fmt::Debug for Trash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.files.lock();
        f.debug_struct("Trash").field("files", &*files).finish_non_exhaustive()
    }
}
