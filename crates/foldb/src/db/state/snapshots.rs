//! Snapshots: moments of the database that are kept readable.
//!
//! Invariant: a sequence number is taken and registered in one step, under the lock that
//! compactions take to ask which snapshots are live. Whoever asked before sees records that are all
//! older than any snapshot registered later, so folding them hides nothing from it. The number is
//! pinned, so the memtable changes nothing in place at or below it.

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

    pub(crate) fn register(&self, pins: &Pins) -> SeqNo {
        let mut live = self.lock();
        let seqno = pins.pin();
        live.entry(seqno).or_default().count += 1;
        seqno
    }

    /// Lets go of a snapshot. Whether tables waited for that.
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
