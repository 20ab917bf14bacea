//! Counters of everything that the engine did. The manifest carries them from open to open.
//!
//! All accesses are `Relaxed`: nothing else depends on a count.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::counters::sampled::CallTimes;
use crate::counters::striped::Striped;
use crate::settings::MAX_LEVELS;
use crate::stats::Stats;

/// The counters. The order is the manifest's: new ones go to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Total {
    Puts,
    Deletes,
    Merges,
    BytesUser,
    BytesLog,
    BytesFlush,
    BytesCompaction,
    BytesCompactionRead,
    BytesManifest,
    Flushes,
    Compactions,
    CompactionSlices,
    TrivialMoves,
    FlushRecordsIn,
    FlushRecordsOut,
    CompactionRecordsIn,
    CompactionRecordsOut,
    FailedMerges,
    StallMicros,
    BlockCacheHits,
    BlockCacheMisses,
    FilterNegatives,
    RangeDeletes,
    BytesSegments,
    BytesGcWritten,
    BytesGcRead,
    GarbageCollections,
    BytesReclaimed,
    BytesAdopted,
    ClockJumpsForward,
    ClockJumpsBack,
    BytesScrubbed,
    SkippedDeletes,
}

const COUNT: usize = Total::SkippedDeletes as usize + 1;

/// Totals since the database was created. The manifest stores the bytes written into each of
/// [`MAX_LEVELS`] levels, then these totals in order. So new ones can go to the end.
///
/// The counters of each write come first, on a cache line apart from those of readers.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Totals {
    totals: [AtomicU64; COUNT],
    level_bytes: [AtomicU64; MAX_LEVELS],
    /// Filter negatives since the open, which most reads count.
    filter_negatives: Striped,
    /// How long calls took since the open.
    pub(crate) calls: CallTimes,
}

impl Default for Totals {
    fn default() -> Self {
        Totals {
            totals: [const { AtomicU64::new(0) }; COUNT],
            level_bytes: [const { AtomicU64::new(0) }; MAX_LEVELS],
            filter_negatives: Striped::default(),
            calls: CallTimes::default(),
        }
    }
}

impl Totals {
    /// Continues from the totals of an earlier open.
    pub(crate) fn restore(&self, stored: &[u64]) {
        let (levels, totals) = stored.split_at(stored.len().min(MAX_LEVELS));
        for (counter, stored) in self.totals.iter().zip(totals) {
            counter.store(*stored, Ordering::Relaxed);
        }
        for (counter, stored) in self.level_bytes.iter().zip(levels) {
            counter.store(*stored, Ordering::Relaxed);
        }
    }

    /// Returns the numbers that the manifest stores.
    pub(crate) fn to_vec(&self) -> Vec<u64> {
        let all = self.level_bytes.iter().chain(&self.totals);
        let mut all: Vec<u64> = all.map(|counter| counter.load(Ordering::Relaxed)).collect();
        all[MAX_LEVELS + Total::FilterNegatives as usize] += self.filter_negatives.get();
        all
    }

    #[inline]
    pub(crate) fn add(&self, total: Total, amount: u64) {
        self.totals[total as usize].fetch_add(amount, Ordering::Relaxed);
    }

    /// Adds filter negatives, without a cache line that other threads write.
    #[inline]
    pub(crate) fn add_filter_negatives(&self, amount: u64) {
        self.filter_negatives.add(amount);
    }

    /// Adds without a locked instruction, for counters with one writer at a time.
    #[inline]
    pub(crate) fn add_exclusive(&self, total: Total, amount: u64) {
        let counter = &self.totals[total as usize];
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    /// Adds bytes written into a level.
    pub(crate) fn add_level_bytes(&self, level: usize, bytes: u64) {
        self.level_bytes[level].fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn level_bytes(&self, level: usize) -> u64 {
        self.level_bytes[level].load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn get(&self, total: Total) -> u64 {
        let counted = self.totals[total as usize].load(Ordering::Relaxed);
        match total {
            Total::FilterNegatives => counted + self.filter_negatives.get(),
            _ => counted,
        }
    }

    /// Returns the totals as users see them. Figures of the present moment stay zero.
    pub(crate) fn to_stats(&self) -> Stats {
        let get = |total| self.get(total);
        Stats {
            puts: get(Total::Puts),
            deletes: get(Total::Deletes),
            merges: get(Total::Merges),
            bytes_user: get(Total::BytesUser),
            bytes_log: get(Total::BytesLog),
            bytes_flush: get(Total::BytesFlush),
            bytes_compaction: get(Total::BytesCompaction),
            bytes_compaction_read: get(Total::BytesCompactionRead),
            bytes_manifest: get(Total::BytesManifest),
            flushes: get(Total::Flushes),
            compactions: get(Total::Compactions),
            compaction_slices: get(Total::CompactionSlices),
            trivial_moves: get(Total::TrivialMoves),
            flush_records_in: get(Total::FlushRecordsIn),
            flush_records_out: get(Total::FlushRecordsOut),
            compaction_records_in: get(Total::CompactionRecordsIn),
            compaction_records_out: get(Total::CompactionRecordsOut),
            failed_merges: get(Total::FailedMerges),
            stall_micros: get(Total::StallMicros),
            block_cache_hits: get(Total::BlockCacheHits),
            block_cache_misses: get(Total::BlockCacheMisses),
            filter_negatives: get(Total::FilterNegatives),
            range_deletes: get(Total::RangeDeletes),
            bytes_segments: get(Total::BytesSegments),
            bytes_gc_written: get(Total::BytesGcWritten),
            bytes_gc_read: get(Total::BytesGcRead),
            garbage_collections: get(Total::GarbageCollections),
            bytes_reclaimed: get(Total::BytesReclaimed),
            clock_jumps_forward: get(Total::ClockJumpsForward),
            clock_jumps_back: get(Total::ClockJumpsBack),
            bytes_scrubbed: get(Total::BytesScrubbed),
            bytes_adopted: get(Total::BytesAdopted),
            skipped_deletes: get(Total::SkippedDeletes),
            latencies: self.calls.get(),
            ..Stats::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Totals {
        let totals = Totals::default();
        totals.add(Total::Puts, 3);
        totals.add(Total::FilterNegatives, 5);
        totals.add_exclusive(Total::Merges, 7);
        totals.add_level_bytes(0, 11);
        totals.add_level_bytes(MAX_LEVELS - 1, 13);
        totals
    }

    #[test]
    fn what_is_stored_comes_back() {
        let stored = some().to_vec();
        assert_eq!(stored.len(), MAX_LEVELS + COUNT);
        let totals = Totals::default();
        totals.restore(&stored);
        assert_eq!(totals.to_vec(), stored);
        let stats = totals.to_stats();
        assert_eq!((stats.puts, stats.merges, stats.filter_negatives), (3, 7, 5));
        assert_eq!((totals.level_bytes(0), totals.level_bytes(MAX_LEVELS - 1)), (11, 13));
    }

    /// A database of an earlier version stores fewer totals, one of a later version more.
    #[test]
    fn fewer_or_more_are_the_same_ones() {
        let stored = some().to_vec();
        for len in 0..stored.len() {
            let totals = Totals::default();
            totals.restore(&stored[..len]);
            let mut expected = stored[..len].to_vec();
            expected.resize(stored.len(), 0);
            assert_eq!(totals.to_vec(), expected);
        }
        let totals = Totals::default();
        totals.restore(&[&stored[..], &[99, 99]].concat());
        assert_eq!(totals.to_vec(), stored);
    }

    /// The order is on disk.
    #[test]
    fn the_order_never_changes() {
        let mut stored = vec![0; MAX_LEVELS];
        stored.extend(1..=COUNT as u64);
        let totals = Totals::default();
        totals.restore(&stored);
        let first = [Total::Puts, Total::Deletes, Total::Merges, Total::BytesUser, Total::BytesLog];
        for (total, expected) in first.into_iter().zip(1..) {
            assert_eq!(totals.get(total), expected, "{total:?}");
        }
        assert_eq!(totals.get(Total::FilterNegatives), 22, "new ones go after it");
    }
}
