//! What readers look at: the memtables and the version, together, at one moment.
//!
//! Every read loads the view first and its sequence number second (H3). The other way round a
//! compaction could fold what the reader may see into what it may not:
//!
//! ```text
//! read at 100 | a.MERGE.90 and a.MERGE.110 fold into a.MERGE.110 | load the view: 90 is gone
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};

use crate::memtable::Memtable;
use crate::version::Version;

/// Memtables and version. Immutable.
#[derive(Debug)]
pub(crate) struct View {
    /// The memtable being filled.
    pub(crate) active: Arc<Memtable>,
    /// Sealed memtables, newest first.
    pub(crate) sealed: Vec<Arc<Memtable>>,
    pub(crate) version: Arc<Version>,
}

impl View {
    /// All memtables, newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.sealed)
    }
}

/// The view in force. Readers load it without a lock; who changes it replaces it.
#[derive(Debug)]
pub(crate) struct ViewCell {
    view: ArcSwap<View>,
    /// Held while the next view is made of the last one; never across I/O.
    change: Mutex<()>,
}

impl ViewCell {
    pub(crate) fn new(view: View) -> ViewCell {
        ViewCell { view: ArcSwap::from_pointee(view), change: Mutex::new(()) }
    }

    #[inline]
    pub(crate) fn load(&self) -> Guard<Arc<View>> {
        self.view.load()
    }

    pub(crate) fn load_full(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Puts a new memtable in front; the one being filled is sealed.
    pub(crate) fn seal(&self, next: Arc<Memtable>) {
        self.replace(|view| {
            let mut sealed = Vec::with_capacity(view.sealed.len() + 1);
            sealed.push(Arc::clone(&view.active));
            sealed.extend(view.sealed.iter().cloned());
            View { active: next, sealed, version: Arc::clone(&view.version) }
        });
    }

    /// Shows another version, without the sealed memtables that it contains.
    pub(crate) fn install(&self, version: Arc<Version>, flushed: &[Arc<Memtable>]) {
        self.replace(|view| {
            let is_flushed =
                |memtable: &Arc<Memtable>| flushed.iter().any(|other| Arc::ptr_eq(memtable, other));
            let sealed = view.sealed.iter().filter(|memtable| !is_flushed(memtable)).cloned();
            View { active: Arc::clone(&view.active), sealed: sealed.collect(), version }
        });
    }

    fn replace(&self, next: impl FnOnce(&View) -> View) {
        let _changing = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let next = next(&self.view.load());
        self.view.store(Arc::new(next));
    }
}
