//! Snapshots: moments of the database that are kept readable.
//!
//! Invariant: a sequence number is taken and registered in one step, under the lock that
//! compactions take to ask which snapshots are live. Whoever asked before sees records that are all
//! older than any snapshot registered later, so folding them hides nothing from it. The number is
//! pinned, so the memtable changes nothing in place at or below it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldb_chains::Pins;
use foldb_env::scheduling_point;

use crate::db::Db;
use crate::db::ReadOptions;
use crate::error::Result;
use crate::iterator::Iter;
use crate::key::SeqNo;
use crate::value::Value;

/// The live snapshots of a database.
#[derive(Debug, Default)]
pub(crate) struct SnapshotList {
    live: Mutex<BTreeMap<SeqNo, Held>>,
    /// Whether one is gone that kept records of tables apart, and nobody has looked since.
    released: AtomicBool,
}

#[derive(Debug, Default)]
struct Held {
    count: usize,
    /// Whether tables wait for it.
    keeps_apart: bool,
}

impl SnapshotList {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SeqNo, Held>> {
        scheduling_point();
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self, pins: &Pins) -> SeqNo {
        let mut live = self.lock();
        let seqno = pins.pin();
        live.entry(seqno).or_default().count += 1;
        seqno
    }

    /// Lets go of a snapshot. Whether tables waited for that.
    fn release(&self, seqno: SeqNo) -> bool {
        let mut live = self.lock();
        let Some(held) = live.get_mut(&seqno) else { return false };
        held.count -= 1;
        if held.count > 0 {
            return false;
        }
        let keeps_apart = held.keeps_apart;
        live.remove(&seqno);
        if keeps_apart {
            self.released.store(true, Ordering::Release);
        }
        keeps_apart
    }

    /// A table was written whose records a snapshot keeps apart.
    pub(crate) fn note_kept_apart(&self, seqno: SeqNo) {
        match self.lock().get_mut(&seqno) {
            Some(held) => held.keeps_apart = true,
            // It is gone already.
            None => self.released.store(true, Ordering::Release),
        }
    }

    /// Whether a snapshot that tables waited for has gone since this was last asked.
    pub(crate) fn take_released(&self) -> bool {
        self.released.load(Ordering::Relaxed) && self.released.swap(false, Ordering::AcqRel)
    }

    /// Sequence numbers of the live snapshots, oldest first.
    pub(crate) fn live(&self) -> Vec<SeqNo> {
        self.lock().keys().copied().collect()
    }
}

/// A moment of the database, in all its keyspaces. Reads through it see exactly the writes that had
/// returned when it was made; its own calls read the default keyspace, and
/// [`ReadOptions::snapshot`] any. Cheap to clone; keeps the database alive, and the space of what
/// it alone still sees.
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

    /// All entries.
    ///
    /// # Errors
    /// As [`Db::iter`].
    pub fn iter(&self) -> Result<Iter> {
        self.0.db.range_opt(.., &self.read_options())
    }

    /// The position in the order of writes that it holds, as [`Db::explain`] names it.
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
