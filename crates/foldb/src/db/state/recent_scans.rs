//! Tells whether a program scans. Workers sort memtables in advance only for programs that scan.
//!
//! All accesses are `Relaxed`: a late look sorts one memtable more or less.

use std::sync::atomic::{AtomicU32, Ordering};

/// Counts seals since the last iterator was made.
#[derive(Debug)]
pub(crate) struct RecentScans(AtomicU32);

/// Seals after which a program counts as one that only writes.
const SEALS_WITHOUT_SCAN: u32 = 2;

impl Default for RecentScans {
    fn default() -> Self {
        RecentScans(AtomicU32::new(SEALS_WITHOUT_SCAN))
    }
}

impl RecentScans {
    /// Notes that an iterator was made. It stores the number only if it changes, because many
    /// threads may scan.
    pub(crate) fn note_scan(&self) {
        if self.0.load(Ordering::Relaxed) != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that memtables were sealed. The caller holds the writer lock.
    pub(crate) fn note_seal(&self) {
        let seals = self.0.load(Ordering::Relaxed);
        self.0.store(seals.saturating_add(1).min(SEALS_WITHOUT_SCAN), Ordering::Relaxed);
    }

    /// Returns whether an iterator was made recently.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) < SEALS_WITHOUT_SCAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memtables_are_sorted_in_advance_only_while_iterators_are_made() {
        let scans = RecentScans::default();
        assert!(!scans.any(), "a program that writes only");
        scans.note_scan();
        assert!(scans.any());
        scans.note_seal();
        assert!(scans.any(), "the memtable after the one that was scanned");
        scans.note_seal();
        assert!(!scans.any());
        scans.note_seal();
        scans.note_scan();
        assert!(scans.any());
    }
}
