//! The keyspaces of a database, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldb_env::Process;

use crate::db::state::keyspace::KeyspaceState;
use crate::error::{Error, Result};
use crate::locks::SharedLock;
use crate::locks::rank::KEYSPACES;
use crate::stats::SegmentStats;

/// All existing keyspaces.
pub(crate) struct Keyspaces {
    default: Arc<KeyspaceState>,
    /// The default one included.
    by_name: SharedLock<BTreeMap<Arc<str>, Arc<KeyspaceState>>, KEYSPACES>,
    /// The process that opened the database.
    process: Process,
}

impl Keyspaces {
    pub(crate) fn new(
        default: Arc<KeyspaceState>,
        all: Vec<Arc<KeyspaceState>>,
        process: Process,
    ) -> Keyspaces {
        let by_name = all.into_iter().map(|own| (Arc::clone(&own.name), own)).collect();
        Keyspaces { default, by_name: SharedLock::new(by_name), process }
    }

    /// Returns the default keyspace, which always exists.
    #[inline]
    pub(crate) fn default(&self) -> &Arc<KeyspaceState> {
        &self.default
    }

    /// Returns all keyspaces, by name; in a fork, the default one.
    pub(crate) fn all(&self) -> Vec<Arc<KeyspaceState>> {
        self.look(|all| all.cloned().collect())
    }

    /// Shows all keyspaces, by name, to a function that does not wait; in a fork, the default one.
    pub(crate) fn look<T>(
        &self,
        look: impl FnOnce(&mut dyn Iterator<Item = &Arc<KeyspaceState>>) -> T,
    ) -> T {
        if !self.process.is_current() {
            return look(&mut std::iter::once(&self.default));
        }
        look(&mut self.by_name.read().values())
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<KeyspaceState>> {
        self.by_name.read().get(name).cloned()
    }

    pub(crate) fn add(&self, keyspace: &Arc<KeyspaceState>) {
        let mut by_name = self.by_name.write();
        let before = by_name.insert(Arc::clone(&keyspace.name), Arc::clone(keyspace));
        assert!(before.is_none(), "two keyspaces never have one name");
    }

    pub(crate) fn remove(&self, name: &str) {
        self.by_name.write().remove(name);
    }

    /// # Errors
    /// `ComparatorFailed`.
    pub(crate) fn check_comparators(&self) -> Result<()> {
        self.all().iter().try_for_each(|keyspace| keyspace.check_comparator())
    }

    /// Returns why the last background collection failed; `None` after one has succeeded.
    pub(crate) fn gc_error(&self) -> Option<Error> {
        self.look(|all| all.filter_map(|keyspace| keyspace.gc_backoff.error()).next())
    }

    /// Adds up the value segments of all keyspaces.
    pub(crate) fn segment_stats(&self) -> SegmentStats {
        let mut stats = SegmentStats::default();
        for keyspace in self.all() {
            let version = Arc::clone(&keyspace.view.load().version);
            for file in version.segments.files().into_values() {
                stats.segments += file.segments.len() as u64;
                stats.files += 1;
                stats.bytes += file.end;
                stats.live_bytes += file.live;
                stats.dead_bytes += file.dead();
            }
        }
        stats
    }
}
