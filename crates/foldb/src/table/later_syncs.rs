//! Collects the syncs of several tables, so that the tables become durable together.
//!
//! A flush writes one small table for each keyspace with writes. The file system commits its
//! journal for each sync, but concurrent syncs share one commit:
//!
//! ```text
//! one by one     write a  sync a  write b  sync b  write c  sync c        4 ms a table, ext4
//! side by side   write a  write b  write c  (sync a | sync b | sync c)    0.2 ms a table
//! ```
//!
//! Invariant: a table whose sync is left for later is installed after [`LaterSyncs::sync_all`]
//! returned `Ok`, never before.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldb_env::{Threads, WritableFile, file_budget};

use crate::error::{Error, Result};
use crate::locks::Lock;
use crate::locks::rank::{FAILED_SYNC, TABLE_SYNCS};

/// Number of pending files at which a flush syncs them. Each pending file stays open.
const MOST_PENDING: usize = 64;

/// The share of the process's file handles that pending files may take, as a divisor.
const SHARE_OF_HANDLES: usize = 8;

fn most_pending() -> usize {
    (file_budget() / SHARE_OF_HANDLES).clamp(1, MOST_PENDING)
}

/// Threads that sync beside the caller's.
const HELPERS: usize = 7;

/// Number of files below which the caller syncs alone.
const FEW: usize = 8;

/// Files that are written and not yet synced.
#[derive(Debug, Default)]
pub struct LaterSyncs(Lock<Vec<Pending>, TABLE_SYNCS>);

/// A file and its path, for messages.
type Pending = (Arc<dyn WritableFile>, PathBuf);

impl LaterSyncs {
    /// Leaves a file to be synced later. If too many are left, syncs them.
    ///
    /// # Errors
    /// `Io` if a sync fails: it is then unknown which files are durable.
    pub fn add(&self, file: Arc<dyn WritableFile>, path: PathBuf) -> Result<()> {
        let mut pending = self.0.lock();
        pending.push((file, path));
        if pending.len() <= most_pending() {
            return Ok(());
        }
        let files = std::mem::take(&mut *pending);
        drop(pending);
        Group::of(files).sync_alone()
    }

    /// Returns whether enough files are pending to sync them now.
    pub fn is_full(&self) -> bool {
        let pending = self.0.lock().len();
        pending >= most_pending()
    }

    /// Makes all pending files durable, except for their names.
    ///
    /// # Errors
    /// `Io` if a sync fails: it is then unknown which files are durable.
    pub fn sync_all(&self, threads: &dyn Threads) -> Result<()> {
        let files = std::mem::take(&mut *self.0.lock());
        let helpers = if files.len() < FEW { 0 } else { HELPERS.min(files.len() - 1) };
        let group = Arc::new(Group::of(files));
        let mut started = Vec::new();
        for _ in 0..helpers {
            let group = Arc::clone(&group);
            // Without another thread the caller does all the work.
            let Ok(Some(helper)) = threads.spawn("foldb-sync", Box::new(move || group.sync()))
            else {
                break;
            };
            started.push(helper);
        }
        let outcome = group.sync_alone();
        let panicked = started.into_iter().filter_map(|helper| helper.join().err()).count();
        assert_eq!(panicked, 0, "threads that sync tables do not panic");
        outcome.and(group.outcome())
    }
}

/// Files that are synced by several threads.
struct Group {
    files: Vec<Pending>,
    /// The next one to sync. `Relaxed`: the addition gives each file to one thread. The files were
    /// there before the threads, and failures come back under a lock.
    next: AtomicUsize,
    failed: Lock<Option<Error>, FAILED_SYNC>,
}

impl Group {
    fn of(files: Vec<Pending>) -> Group {
        Group { files, next: AtomicUsize::new(0), failed: Lock::default() }
    }

    /// Syncs the files that no other thread syncs.
    fn sync_alone(&self) -> Result<()> {
        self.sync();
        self.outcome()
    }

    fn outcome(&self) -> Result<()> {
        let mut failed = self.failed.lock();
        failed.take().map_or(Ok(()), Err)
    }

    /// Syncs one file after the other until none is left.
    fn sync(&self) {
        while let Some((file, path)) = self.files.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = file.sync().and_then(|()| file.close()) {
                let mut failed = self.failed.lock();
                failed.get_or_insert_with(|| Error::io(path, "sync table", &error));
                return;
            }
        }
    }
}
