//! The view of a keyspace: its memtables and its version together, at one moment.
//!
//! Every read loads the view first and its sequence number second (H3). In the other order a
//! compaction could fold a record that the reader may see into a newer record that the reader may
//! not see:
//!
//! ```text
//! read at 100 | a.MERGE.90 and a.MERGE.110 fold into a.MERGE.110 | load the view: 90 is gone
//! ```
//!
//! A sorted load adds tables to the version and leaves the active memtable in place. A reader with
//! a view from before the load and a number from after it would see later writes to that memtable,
//! but not the load. So a view knows the last load that it has, and such a reader begins again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::{ArcSwap, Guard};
use foldb_env::scheduling_point;

use crate::counters::LongestHold;
use crate::key::SeqNo;
use crate::locks::rank::VIEW;
use crate::locks::{Lock, LockGuard};
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
    /// The number of the last sorted load since the open that the version has; 0: none.
    loaded: SeqNo,
    /// Counts the versions before this one. A later version has a larger number.
    pub(crate) installs: u64,
}

impl View {
    /// Returns a view of a version without memtables.
    pub(crate) fn of(version: Arc<Version>) -> View {
        View { active: None, sealed: Vec::new(), version, loaded: 0, installs: 0 }
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
    /// The number of the last sorted load since the open; 0: none. Stored with `Release` after the
    /// view that has the load. A reader that sees it by `Acquire`, and therefore begins again, then
    /// loads that view or a later one.
    loaded: AtomicU64,
    /// Held while the next view is built from the current one, never during I/O.
    change: Lock<(), VIEW>,
    /// The longest time that background work held `change`. Writers wait for this lock when they
    /// begin or seal a memtable.
    pub(crate) longest_install: LongestHold,
}

impl ViewCell {
    pub(crate) fn new(view: View) -> ViewCell {
        ViewCell {
            view: ArcSwap::from_pointee(view),
            loaded: AtomicU64::new(0),
            change: Lock::new(()),
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
            loaded: view.loaded,
            installs: view.installs,
        });
    }

    /// Adds sealed memtables, newest first: the logged writes of a read-only database.
    pub(crate) fn hold(&self, sealed: Vec<Arc<Memtable>>) {
        self.replace(|view| View {
            active: None,
            sealed,
            version: Arc::clone(&view.version),
            loaded: view.loaded,
            installs: view.installs,
        });
    }

    /// Seals the memtable being filled. The next write begins another one.
    pub(crate) fn seal(&self) {
        self.replace(|view| View {
            active: None,
            sealed: view.memtables().cloned().collect(),
            version: Arc::clone(&view.version),
            loaded: view.loaded,
            installs: view.installs,
        });
    }

    /// Replaces the version. Drops the sealed memtables whose writes the version contains: those
    /// sealed at `flushed_through` and before.
    pub(crate) fn install(&self, version: Arc<Version>, flushed_through: SeqNo) {
        let _changing = self.lock();
        let next = |view: &View| {
            let is_needed = |memtable: &&Arc<Memtable>| memtable.sealed_through() > flushed_through;
            let sealed = view.sealed.iter().filter(is_needed).cloned().collect();
            let installs = view.installs + 1;
            View { active: view.active.clone(), sealed, version, loaded: view.loaded, installs }
        };
        self.longest_install.measure(|| self.change_to(next));
    }

    /// Notes that the version has a sorted load with this number. The caller installs the version
    /// first, and publishes the number last.
    pub(crate) fn note_load(&self, number: SeqNo) {
        self.replace(|view| View {
            active: view.active.clone(),
            sealed: view.sealed.clone(),
            version: Arc::clone(&view.version),
            loaded: number,
            installs: view.installs,
        });
        debug_assert!(
            self.loaded.load(Ordering::Acquire) < number,
            "loads take effect in their order"
        );
        self.loaded.store(number, Ordering::Release);
    }

    /// Returns whether a reader at this number needs a load that its view does not have. The reader
    /// took the number after the view.
    #[inline]
    pub(crate) fn lacks_load(&self, view: &View, seqno: SeqNo) -> bool {
        let loaded = self.loaded.load(Ordering::Acquire);
        view.loaded < loaded && loaded <= seqno
    }

    /// Replaces the view by an empty view.
    pub(crate) fn clear(&self) {
        self.replace(|view| View::of(Arc::new(Version::empty(view.version.levels.len()))));
    }

    fn replace(&self, next: impl FnOnce(&View) -> View) {
        let _changing = self.lock();
        self.change_to(next);
    }

    fn lock(&self) -> LockGuard<'_, (), VIEW> {
        scheduling_point();
        self.change.lock()
    }

    /// Replaces the view. The caller holds the lock.
    fn change_to(&self, next: impl FnOnce(&View) -> View) {
        let next = next(&self.view.load());
        debug_assert!(
            next.sealed
                .is_sorted_by(|newer, older| { newer.sealed_through() >= older.sealed_through() }),
            "a read meets sealed memtables from the newest to the oldest"
        );
        debug_assert!(
            next.active
                .iter()
                .all(|active| next.sealed.iter().all(|sealed| !Arc::ptr_eq(sealed, active))),
            "a read meets each memtable once"
        );
        self.view.store(Arc::new(next));
        scheduling_point();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a.LOAD.7 goes to a table, and b.PUT.8 to the memtable that the reader already holds.
    #[test]
    fn a_view_from_before_a_load_is_not_read_at_a_later_number() {
        let cell = ViewCell::new(View::of(Arc::new(Version::empty(2))));
        let before = cell.load_full();
        assert!(!cell.lacks_load(&before, 6));
        cell.note_load(7);
        assert!(!cell.lacks_load(&before, 6), "the reader took its number before the load");
        assert!(cell.lacks_load(&before, 7));
        assert!(cell.lacks_load(&before, 8));
        let after = cell.load_full();
        assert!(!cell.lacks_load(&after, 8));
        // Later changes of the view keep the load.
        cell.seal();
        cell.install(Arc::new(Version::empty(2)), 7);
        assert!(!cell.lacks_load(&cell.load(), 8));
    }
}
