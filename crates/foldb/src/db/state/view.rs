//! What readers of a keyspace look at: its memtables and its version, together, at one moment.
//!
//! Every read loads the view first and its sequence number second (H3). The other way round a
//! compaction could fold what the reader may see into what it may not:
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

/// Memtables and version of a keyspace. Immutable.
#[derive(Debug)]
pub(crate) struct View {
    /// The memtable being filled; none while nothing was written since the last one was sealed.
    pub(crate) active: Option<Arc<Memtable>>,
    /// Sealed memtables, newest first.
    pub(crate) sealed: Vec<Arc<Memtable>>,
    pub(crate) version: Arc<Version>,
}

impl View {
    /// A version without memtables.
    pub(crate) fn of(version: Arc<Version>) -> View {
        View { active: None, sealed: Vec::new(), version }
    }

    /// All memtables, newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        self.active.iter().chain(&self.sealed)
    }
}

/// The view in force. Readers load it without a lock; who changes it replaces it.
#[derive(Debug)]
pub(crate) struct ViewCell {
    view: ArcSwap<View>,
    /// Held while the next view is made of the last one; never across I/O.
    change: Mutex<()>,
    /// How long background work has held `change`. Writers wait for it when they begin or seal a
    /// memtable.
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

    /// Shows a memtable to be filled, in place of an empty one or none. Before anything in it is
    /// published: who then asks for the last sequence number sees the memtable too.
    pub(crate) fn begin(&self, memtable: Arc<Memtable>) {
        self.replace(|view| View {
            active: Some(memtable),
            sealed: view.sealed.clone(),
            version: Arc::clone(&view.version),
        });
    }

    /// Shows sealed memtables, newest first, in front of the version: what the logs of a database
    /// that is open read-only held.
    pub(crate) fn hold(&self, sealed: Vec<Arc<Memtable>>) {
        self.replace(|view| View { active: None, sealed, version: Arc::clone(&view.version) });
    }

    /// The memtable being filled is sealed; another is begun when somebody writes.
    pub(crate) fn seal(&self) {
        self.replace(|view| View {
            active: None,
            sealed: view.memtables().cloned().collect(),
            version: Arc::clone(&view.version),
        });
    }

    /// Shows another version, without the sealed memtables that it contains: those sealed at
    /// `flushed_through` and before.
    pub(crate) fn install(&self, version: Arc<Version>, flushed_through: SeqNo) {
        let _changing = self.lock();
        let next = |view: &View| {
            let is_needed = |memtable: &&Arc<Memtable>| memtable.sealed_through() > flushed_through;
            let sealed = view.sealed.iter().filter(is_needed).cloned().collect();
            View { active: view.active.clone(), sealed, version }
        };
        self.longest_install.measure(|| self.change_to(next));
    }

    /// Shows nothing any more.
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

    /// The caller holds the lock.
    fn change_to(&self, next: impl FnOnce(&View) -> View) {
        let next = next(&self.view.load());
        self.view.store(Arc::new(next));
        scheduling_point();
    }
}
