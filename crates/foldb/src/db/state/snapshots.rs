//! Snapshots: moments of the database that stay readable.
//!
//! Invariant: a snapshot takes its sequence number and registers it in one step, under the lock
//! that compactions take to list the live snapshots. A compaction that listed them before reads
//! only records older than any later snapshot. So its folds remove nothing that a later snapshot
//! needs. The number is pinned: the memtable changes no record at or below it in place.
//!
//! A compaction filter does remove what a later snapshot may have read already. So the edit of a
//! filtered slice is refused if a snapshot was taken since the slice listed them. From this check
//! until readers see the edit, no snapshot is taken:
//!
//! ```text
//! list | filter removes a | snapshot reads a | edit: refused, or the snapshot would lose a
//! list | filter removes a | check | edit | snapshot: a is gone
//! ```

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use foldb_chains::Pins;
use foldb_env::scheduling_point;

use crate::db::state::time::DatabaseTime;
use crate::faults::{Fault, planted};
use crate::fold::stamp::Moment;
use crate::key::SeqNo;
use crate::locks::rank::{SNAPSHOTS, TAKING};
use crate::locks::{Lock, LockGuard};

/// The live snapshots of a database.
#[derive(Debug, Default)]
pub(crate) struct SnapshotList {
    live: Lock<BTreeMap<SeqNo, Held>, SNAPSHOTS>,
    taking: Lock<(), TAKING>,
    /// Whether a snapshot that kept records of tables unfolded was released since the last check.
    released: AtomicBool,
}

#[derive(Debug)]
struct Held {
    count: usize,
    /// The database's time at the first of the snapshots at this number, or that of a later reset
    /// if it is earlier. Larger numbers have later times.
    time: Moment,
    /// Whether the snapshots at this number keep records of tables unfolded.
    keeps_apart: bool,
}

impl SnapshotList {
    fn lock(&self) -> LockGuard<'_, BTreeMap<SeqNo, Held>, SNAPSHOTS> {
        scheduling_point();
        self.live.lock()
    }

    /// Keeps snapshots from being taken until the guard is dropped. Returns `None` if one above
    /// `newest` is live. The holder calls none of the caller's code, which may take a snapshot.
    pub(crate) fn keep_out_above(&self, newest: SeqNo) -> Option<LockGuard<'_, (), TAKING>> {
        let taking = self.taking.lock();
        let has_newer = self.lock().last_key_value().is_some_and(|(seqno, _)| *seqno > newest);
        (!has_newer || planted(Fault::InstallUnderSnapshot)).then_some(taking)
    }

    /// Registers a snapshot of this moment. Returns its sequence number and its time.
    pub(crate) fn register(&self, pins: &Pins, time: &DatabaseTime) -> (SeqNo, Moment) {
        // Waits for a write in progress before it takes the lock: the caller's code inside that
        // write may release a snapshot.
        let pin = pins.begin_pin();
        let _taking = self.taking.lock();
        let mut live = self.lock();
        // The time first: the snapshot sees every write with an earlier moment. An operand above it
        // never came in time to a value that has expired in it.
        let now = time.shown();
        let seqno = pin.pin();
        debug_assert!(
            live.last_key_value().is_none_or(|(newest, held)| *newest <= seqno && held.time <= now),
            "a snapshot shows no less than one that was taken before"
        );
        let held = live.entry(seqno).or_insert(Held { count: 0, time: now, keeps_apart: false });
        held.count += 1;
        (seqno, now)
    }

    /// Releases a snapshot. Returns whether records of tables may fold now that it had kept
    /// unfolded.
    pub(crate) fn release(&self, seqno: SeqNo) -> bool {
        let mut live = self.lock();
        let held = live.get_mut(&seqno);
        debug_assert!(held.is_some(), "a snapshot is released once");
        let Some(held) = held else { return false };
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
        // Relaxed: a late look folds with the next job. The swap acquires what the release did.
        self.released.load(Ordering::Relaxed) && self.released.swap(false, Ordering::AcqRel)
    }

    /// Returns the time up to which expired records may go: the stored one, or that of the oldest
    /// snapshot if it is earlier. Later snapshots have later times.
    pub(crate) fn expired_through(&self, time: &DatabaseTime) -> Moment {
        let live = self.lock();
        let oldest = live.first_key_value().map(|(_, held)| held.time);
        oldest.map_or(time.last_stored(), |oldest| oldest.min(time.last_stored()))
    }

    /// Makes the time fall to a moment that is stored. A later write has a moment from then on, and
    /// may come in time to a value that has expired in an older snapshot. So all snapshots hold
    /// back drops as if they were made now:
    ///
    /// ```text
    /// snapshot at 1000, reset to 50: a.MERGE@60 comes in time to a.PUT@5 (to 100)
    /// ```
    pub(crate) fn reset(&self, time: &DatabaseTime, moment: Moment) {
        let mut live = self.lock();
        time.reset(moment);
        live.values_mut().for_each(|held| held.time = held.time.min(moment));
    }

    /// Returns the sequence numbers of the live snapshots, oldest first.
    pub(crate) fn live(&self) -> Vec<SeqNo> {
        self.lock().keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A comparator that a write calls may drop a snapshot, while another thread takes one and
    /// waits for the write. Both waited for ever.
    #[test]
    fn a_release_inside_a_write_does_not_wait_for_a_snapshot_that_waits_for_the_write() {
        let (list, pins) = (SnapshotList::default(), Pins::new(7));
        let time = DatabaseTime::new(0);
        let (held, _) = list.register(&pins, &time);
        let phase = pins.begin_apply();
        let (ended, has_ended) = channel();
        thread::scope(|scope| {
            let taken = scope.spawn(|| list.register(&pins, &time).0);
            // Long enough for the other thread to wait for the write.
            thread::sleep(Duration::from_millis(50));
            scope.spawn(|| ended.send(list.release(held)));
            let released = has_ended.recv_timeout(Duration::from_secs(10));
            pins.publish(8);
            drop(phase);
            assert_eq!(taken.join().unwrap(), 8, "the snapshot sees the write that it waited for");
            released.expect("the release does not wait");
        });
    }
}
