//! Snapshots: moments of the database that stay readable.
//!
//! Invariant: a snapshot takes its sequence number and registers it in one step, under the lock
//! that compactions take to list the live snapshots. A compaction that listed them before reads
//! only records older than any later snapshot. So its folds remove nothing that a later snapshot
//! needs. The number is pinned: the memtable changes no record at or below it in place.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldb_chains::Pins;
use foldb_env::scheduling_point;

use crate::key::SeqNo;

/// The live snapshots of a database.
#[derive(Debug, Default)]
pub(crate) struct SnapshotList {
    live: Mutex<BTreeMap<SeqNo, Held>>,
    /// Whether a snapshot that kept records of tables unfolded was released since the last check.
    released: AtomicBool,
}

#[derive(Debug, Default)]
struct Held {
    count: usize,
    /// Whether the snapshots at this number keep records of tables unfolded.
    keeps_apart: bool,
}

impl SnapshotList {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SeqNo, Held>> {
        scheduling_point();
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn register(&self, pins: &Pins) -> SeqNo {
        let mut live = self.lock();
        let seqno = pins.pin();
        live.entry(seqno).or_default().count += 1;
        seqno
    }

    /// Releases a snapshot. Returns whether records of tables may fold now that it had kept
    /// unfolded.
    pub(crate) fn release(&self, seqno: SeqNo) -> bool {
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

    /// Notes a table whose records a snapshot keeps unfolded.
    pub(crate) fn note_kept_apart(&self, seqno: SeqNo) {
        match self.lock().get_mut(&seqno) {
            Some(held) => held.keeps_apart = true,
            // The snapshot was released in the meantime.
            None => self.released.store(true, Ordering::Release),
        }
    }

    /// Returns whether a snapshot that kept records of tables unfolded was released since the last
    /// call.
    pub(crate) fn take_released(&self) -> bool {
        self.released.load(Ordering::Relaxed) && self.released.swap(false, Ordering::AcqRel)
    }

    /// Returns the sequence numbers of the live snapshots, oldest first.
    pub(crate) fn live(&self) -> Vec<SeqNo> {
        self.lock().keys().copied().collect()
    }
}
