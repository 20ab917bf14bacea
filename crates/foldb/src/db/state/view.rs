//! The view of a keyspace: its memtables and its version together, at one moment.
//!
//! Every read loads the view first and its sequence number second (H3). In the other order a
//! compaction could fold a record that the reader may see into a newer record that the reader may
//! not see:
//!
//! ```text
//! read at 100 | a.MERGE.90 and a.MERGE.110 fold into a.MERGE.110 | load the view: 90 is gone
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwap, Guard};
use foldb_env::scheduling_point;

use crate::counters::LongestHold;
use crate::key::SeqNo;
use crate::memtable::Memtable;
use crate::version::Version;

/// The memtables and the version of a keyspace. Immutable.
#[derive(Debug)]
pub(crate) struct View {
    /// The memtable being filled; `None` if there was no write since the last seal.
    pub(crate) active: Option<Arc<Memtable>>,
    /// Sealed memtables, newest first.
    pub(crate) sealed: Vec<Arc<Memtable>>,
    pub(crate) version: Arc<Version>,
}

impl View {
    /// Returns a view of a version without memtables.
    pub(crate) fn of(version: Arc<Version>) -> View {
        View { active: None, sealed: Vec::new(), version }
    }

    /// Returns all memtables, newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        self.active.iter().chain(&self.sealed)
    }
}

/// The current view. Readers load it without a lock; a change replaces it.
#[derive(Debug)]
pub(crate) struct ViewCell {
    view: ArcSwap<View>,
    /// Held while the next view is built from the current one, never during I/O.
    change: Mutex<()>,
    /// The longest time that background work held `change`. Writers wait for this lock when they
    /// begin or seal a memtable.
    pub(crate) longest_install: LongestHold,
}

impl ViewCell {
    pub(crate) fn new(view: View) -> ViewCell {
        ViewCell {
            view: ArcSwap::from_pointee(view),
            change: Mutex::new(()),
            longest_install: LongestHold::default(),
        }
    }

    #[inline]
    pub(crate) fn load(&self) -> Guard<Arc<View>> {
        self.view.load()
    }

    pub(crate) fn load_full(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Adds a memtable for new writes. It replaces an empty one, if the view has one. The caller
    /// adds it before it publishes a write to it. So a reader that sees the write's sequence number
    /// sees the memtable too.
    pub(crate) fn begin(&self, memtable: Arc<Memtable>) {
        self.replace(|view| View {
            active: Some(memtable),
            sealed: view.sealed.clone(),
            version: Arc::clone(&view.version),
        });
    }

    /// Adds sealed memtables, newest first: the logged writes of a read-only database.
    pub(crate) fn hold(&self, sealed: Vec<Arc<Memtable>>) {
        self.replace(|view| View { active: None, sealed, version: Arc::clone(&view.version) });
    }

    /// Seals the memtable being filled. The next write begins another one.
    pub(crate) fn seal(&self) {
        self.replace(|view| View {
            active: None,
            sealed: view.memtables().cloned().collect(),
            version: Arc::clone(&view.version),
        });
    }

    /// Replaces the version. Drops the sealed memtables whose writes the version contains: those
    /// sealed at `flushed_through` and before.
    pub(crate) fn install(&self, version: Arc<Version>, flushed_through: SeqNo) {
        let _changing = self.lock();
        let next = |view: &View| {
            let is_needed = |memtable: &&Arc<Memtable>| memtable.sealed_through() > flushed_through;
            let sealed = view.sealed.iter().filter(is_needed).cloned().collect();
            View { active: view.active.clone(), sealed, version }
        };
        self.longest_install.measure(|| self.change_to(next));
    }

    /// Replaces the view by an empty view.
    pub(crate) fn clear(&self) {
        self.replace(|view| View::of(Arc::new(Version::empty(view.version.levels.len()))));
    }

    fn replace(&self, next: impl FnOnce(&View) -> View) {
        let _changing = self.lock();
        self.change_to(next);
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        scheduling_point();
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the view. The caller holds the lock.
    fn change_to(&self, next: impl FnOnce(&View) -> View) {
        let next = next(&self.view.load());
        self.view.store(Arc::new(next));
        scheduling_point();
    }
}
