//! The handle of a snapshot.

use std::fmt;
use std::sync::Arc;

use crate::db::core::Core;
use crate::db::handle::keyspace::Keyspace;
use crate::db::read::settings::{NOT_TAKEN, SnapshotMoment};
use crate::fold::stamp::Moment;
use crate::key::SeqNo;

/// One moment of the database, in all its keyspaces. Reads through it see every write that had
/// returned when it was taken, and no write that began later. Its own methods read the default
/// keyspace; [`Snapshot::keyspace`] and [`crate::ReadOptions::snapshot`] read any keyspace. Cloning
/// is cheap. A snapshot keeps the database open. Versions that only the snapshot still sees keep
/// their space.
///
/// A snapshot cannot be taken inside an operator or comparator that a write in progress calls, or
/// in a fork of the process. All reads through such a snapshot fail, with `Reentrant` or `Forked`.
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
pub struct Snapshot(Arc<Registered>);

struct Registered {
    /// The default keyspace.
    default: Keyspace,
    /// [`NOT_TAKEN`] if reads are to fail.
    seqno: SeqNo,
    /// The database's time at this moment.
    time: Moment,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let core = self.default.core();
        // A fork's copy was never registered there, nor one that was not taken.
        let is_registered = self.seqno != NOT_TAKEN && core.standing.is_in_its_process();
        if is_registered && core.snapshots.release(self.seqno) {
            core.background.rest.note_news();
            core.wake();
        }
    }
}

impl Snapshot {
    /// Takes a snapshot of the database with this default keyspace.
    pub(crate) fn take(default: &Keyspace) -> Snapshot {
        let core = default.core();
        if !core.standing.is_in_its_process() {
            // Every read through it fails.
            let (default, seqno) = (default.clone(), core.published());
            return Snapshot(Arc::new(Registered { default, seqno, time: core.time.shown() }));
        }
        if core.time.is_used() {
            core.time();
        }
        // A pin inside a write would wait for that write.
        let (seqno, time) = match core.check_may_pin() {
            Ok(()) => core.snapshots.register(&core.pins, &core.time),
            Err(_) => (NOT_TAKEN, core.time.shown()),
        };
        Snapshot(Arc::new(Registered { default: default.clone(), seqno, time }))
    }

    /// Returns the sequence number of this moment, as [`Keyspace::explain`] shows it.
    pub fn sequence_number(&self) -> u64 {
        self.0.seqno
    }

    pub(crate) fn seqno(&self) -> SeqNo {
        self.0.seqno
    }

    #[inline]
    pub(crate) fn moment(&self) -> SnapshotMoment<'_> {
        SnapshotMoment { core: self.core(), seqno: self.0.seqno, time: self.0.time }
    }

    pub(crate) fn time(&self) -> Moment {
        self.0.time
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.0.default.core()
    }

    pub(crate) fn default_keyspace(&self) -> &Keyspace {
        &self.0.default
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({})", self.0.seqno)
    }
}
