//! Snapshots: moments of the database that are kept readable.
//!
//! Invariant: a sequence number is taken and registered in one step, under the lock that
//! compactions take to ask which snapshots are live. Whoever asked before sees records that are all
//! older than any snapshot registered later, so folding them hides nothing from it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::db::Db;
use crate::error::Result;
use crate::iterator::Iter;
use crate::key::SeqNo;
use crate::options::ReadOptions;
use crate::value::Value;

/// The live snapshots of a database.
#[derive(Debug, Default)]
pub(crate) struct SnapshotList(Mutex<BTreeMap<SeqNo, usize>>);

impl SnapshotList {
    fn register(&self, published: &AtomicU64) -> SeqNo {
        let mut live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seqno = published.load(Ordering::Acquire);
        *live.entry(seqno).or_default() += 1;
        seqno
    }

    fn release(&self, seqno: SeqNo) {
        let mut live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = live.get_mut(&seqno) {
            *count -= 1;
            if *count == 0 {
                live.remove(&seqno);
            }
        }
    }

    /// Sequence numbers of the live snapshots, oldest first.
    pub(crate) fn live(&self) -> Vec<SeqNo> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }
}

/// A moment of the database, in all its keyspaces. Reads through it see exactly the writes that had
/// returned when it was made; its own calls read the default keyspace, and [`ReadOptions::snapshot`]
/// any. Cheap to clone; keeps the database alive, and the space of what it alone still sees.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// db.put("key", "before")?;
/// let snapshot = db.snapshot();
/// db.put("key", "after")?;
/// assert_eq!(snapshot.get("key")?.unwrap(), b"before");
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone)]
pub struct Snapshot(std::sync::Arc<Registered>);

struct Registered {
    db: Db,
    seqno: SeqNo,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.db.core().snapshots.release(self.seqno);
    }
}

impl Snapshot {
    pub(crate) fn take(db: &Db) -> Snapshot {
        let core = db.core();
        let seqno = core.snapshots.register(&core.published);
        Snapshot(std::sync::Arc::new(Registered { db: db.clone(), seqno }))
    }

    /// Reads a key.
    ///
    /// # Errors
    /// As [`Db::get`].
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.0.db.get_opt(key, &self.read_options())
    }

    /// All entries.
    ///
    /// # Errors
    /// As [`Db::iter`].
    pub fn iter(&self) -> Result<Iter> {
        self.0.db.range_opt::<&[u8]>(.., &self.read_options())
    }

    pub(crate) fn seqno(&self) -> SeqNo {
        self.0.seqno
    }

    pub(crate) fn db(&self) -> &Db {
        &self.0.db
    }

    fn read_options(&self) -> ReadOptions {
        ReadOptions { snapshot: Some(self.clone()), ..ReadOptions::default() }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({})", self.0.seqno)
    }
}
