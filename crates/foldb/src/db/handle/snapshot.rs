//! The handle of a snapshot.

use std::fmt;

use crate::db::handle::database::Db;
use crate::db::handle::read_options::ReadOptions;
use crate::error::Result;
use crate::iterator::Iter;
use crate::key::SeqNo;
use crate::value::Value;

/// One moment of the database, in all its keyspaces. Reads through it see every write that had
/// returned when it was taken, and no write that began later. Its own methods read the default
/// keyspace; [`ReadOptions::snapshot`] reads any keyspace. Cloning is cheap. A snapshot keeps the
/// database open. Versions that only the snapshot still sees keep their space.
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
        let core = self.db.core();
        if core.snapshots.release(self.seqno) {
            core.wake();
        }
    }
}

impl Snapshot {
    pub(crate) fn take(db: &Db) -> Snapshot {
        let core = db.core();
        let seqno = core.snapshots.register(&core.pins);
        Snapshot(std::sync::Arc::new(Registered { db: db.clone(), seqno }))
    }

    /// Reads a key.
    ///
    /// # Errors
    /// As [`Db::get`].
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.0.db.get_opt(key, &self.read_options())
    }

    /// Returns an iterator over all entries.
    ///
    /// # Errors
    /// As [`Db::iter`].
    pub fn iter(&self) -> Result<Iter> {
        self.0.db.range_opt(.., &self.read_options())
    }

    /// Returns the sequence number of this moment, as [`Db::explain`] shows it.
    pub fn sequence_number(&self) -> u64 {
        self.0.seqno
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
