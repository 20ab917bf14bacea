//! Statistics: what the calls of a program and the engine's background work did.
//!
//! The options of a program share one object with the databases that are opened with them. Calls
//! count into it. The engine counts the rest for each database since that was created, so the
//! object subtracts what was counted before the open.
//!
//! Invariant: a ticker or histogram that nothing here counts is 0. Without statistics a call pays
//! for one comparison of a pointer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ptr;
use std::sync::Weak;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldb::stats::Stats;
use parking_lot::Mutex;

use crate::objects::histogram::{Histogram, Summary};

/// The names of the tickers, in the order of their numbers.
const TICKERS: &str = include_str!("../../facts/tickers.txt");

/// The names of the histograms, in the order of their numbers.
const HISTOGRAMS: &str = include_str!("../../facts/histograms.txt");

/// Declares what calls count or measure, each with RocksDB's name of it.
macro_rules! named {
    ($(#[$about:meta])* $kind:ident { $($one:ident: $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum $kind {
            $($one,)*
        }

        impl $kind {
            const NAMES: &[&str] = &[$($name,)*];
        }
    };
}

named! {
    /// What the calls of a program count.
    Count {
        KeysRead: "rocksdb.number.keys.read",
        BytesRead: "rocksdb.bytes.read",
        WritesWithWal: "rocksdb.write.wal",
        Seeks: "rocksdb.number.db.seek",
        SeeksFound: "rocksdb.number.db.seek.found",
        Nexts: "rocksdb.number.db.next",
        NextsFound: "rocksdb.number.db.next.found",
        Prevs: "rocksdb.number.db.prev",
        PrevsFound: "rocksdb.number.db.prev.found",
        Iterators: "rocksdb.num.iterator.created",
        IteratorsFreed: "rocksdb.num.iterator.deleted",
        MultiGets: "rocksdb.number.multiget.get",
        MultiGetKeys: "rocksdb.number.multiget.keys.read",
        MultiGetBytes: "rocksdb.number.multiget.bytes.read",
        MultiGetFound: "rocksdb.number.multiget.keys.found",
        BackgroundErrors: "rocksdb.error.handler.bg.error.count",
    }
}

named! {
    /// What is measured: times in nanoseconds, and bytes.
    Measure {
        Get: "rocksdb.db.get.micros",
        Write: "rocksdb.db.write.micros",
        MultiGet: "rocksdb.db.multiget.micros",
        Seek: "rocksdb.db.seek.micros",
        Compaction: "rocksdb.compaction.times.micros",
        Flush: "rocksdb.db.flush.micros",
        Stall: "rocksdb.db.write.stall",
        BytesPerRead: "rocksdb.bytes.per.read",
        BytesPerMultiGet: "rocksdb.bytes.per.multiget",
    }
}

/// Returns the engine's counts by RocksDB's names. All of them only grow.
fn of_engine(stats: &Stats) -> [(&'static str, u64); 16] {
    [
        ("rocksdb.block.cache.miss", stats.block_cache_misses),
        ("rocksdb.block.cache.hit", stats.block_cache_hits),
        // The engine's cache has blocks of data only.
        ("rocksdb.block.cache.data.miss", stats.block_cache_misses),
        ("rocksdb.block.cache.data.hit", stats.block_cache_hits),
        ("rocksdb.bloom.filter.useful", stats.filter_negatives),
        (
            "rocksdb.number.keys.written",
            stats.puts + stats.deletes + stats.range_deletes + stats.merges,
        ),
        ("rocksdb.bytes.written", stats.bytes_user),
        ("rocksdb.stall.micros", stats.stall_micros),
        ("rocksdb.number.merge.failures", stats.failed_merges),
        ("rocksdb.wal.bytes", stats.bytes_log),
        ("rocksdb.compact.read.bytes", stats.bytes_compaction_read),
        ("rocksdb.compact.write.bytes", stats.bytes_compaction),
        ("rocksdb.flush.write.bytes", stats.bytes_flush),
        ("rocksdb.blobdb.blob.file.bytes.written", stats.bytes_segments + stats.bytes_gc_written),
        ("rocksdb.blobdb.gc.bytes.relocated", stats.bytes_gc_written),
        ("rocksdb.blobdb.blob.file.bytes.read", stats.bytes_gc_read),
    ]
}

/// What the engine counts for.
pub(crate) trait Counted: Send + Sync {
    /// Returns the engine's statistics.
    fn stats(&self) -> Stats;
}

/// A database that was opened with the options, and what the engine had counted before.
struct Opened {
    database: Weak<dyn Counted>,
    before: Box<Stats>,
}

/// The statistics of the databases that are opened with the same options.
pub(crate) struct Statistics {
    level: AtomicI32,
    counts: [AtomicU64; Count::NAMES.len()],
    measures: [Histogram; Measure::NAMES.len()],
    opened: Mutex<Vec<Opened>>,
    /// The engine's counts of databases that were closed.
    closed: Mutex<BTreeMap<&'static str, u64>>,
}

/// RocksDB: `StatsLevel::kExceptTickers`, where nothing is counted.
pub(crate) const NOTHING: i32 = 0;

/// RocksDB: `StatsLevel::kExceptHistogramOrTimers`.
const COUNTS: i32 = 1;

/// RocksDB: `StatsLevel::kExceptTimers`.
const COUNTS_AND_BYTES: i32 = 2;

/// RocksDB: `StatsLevel::kExceptDetailedTimers`, which it begins with.
const STANDARD: i32 = 3;

/// RocksDB: `StatsLevel::kAll`.
const ALL: i32 = 5;

impl std::fmt::Debug for Statistics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Statistics").field("level", &self.level()).finish_non_exhaustive()
    }
}

impl Statistics {
    /// Makes statistics of RocksDB's standard level.
    pub(crate) fn new() -> Statistics {
        let level = STANDARD;
        Statistics {
            level: level.into(),
            counts: [const { AtomicU64::new(0) }; Count::NAMES.len()],
            measures: std::array::from_fn(|_| Histogram::default()),
            opened: Mutex::default(),
            closed: Mutex::default(),
        }
    }

    /// Returns what is counted: one of RocksDB's levels.
    pub(crate) fn level(&self) -> i32 {
        self.level.load(Ordering::Relaxed)
    }

    /// Sets what is counted from now on.
    pub(crate) fn set_level(&self, level: i32) {
        self.level.store(level.clamp(NOTHING, ALL), Ordering::Relaxed);
    }

    pub(crate) fn count(&self, what: Count, amount: u64) {
        if self.level() > NOTHING {
            self.counts[what as usize].fetch_add(amount, Ordering::Relaxed);
        }
    }

    pub(crate) fn measure_bytes(&self, what: Measure, bytes: u64) {
        if self.level() > COUNTS {
            self.measures[what as usize].add(bytes);
        }
    }

    pub(crate) fn measure_time(&self, what: Measure, time: Duration) {
        if self.level() > COUNTS_AND_BYTES {
            self.measures[what as usize].add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// Does work, and measures its time.
    pub(crate) fn timed<T>(&self, what: Measure, work: impl FnOnce() -> T) -> T {
        if self.level() <= COUNTS_AND_BYTES {
            return work();
        }
        let start = Instant::now();
        let done = work();
        self.measure_time(what, start.elapsed());
        done
    }

    /// Counts what the engine does for a database from now on.
    pub(crate) fn attach(&self, database: Weak<dyn Counted>, before: Stats) {
        self.opened.lock().push(Opened { database, before: Box::new(before) });
    }

    /// Keeps what the engine did for a database that closes.
    pub(crate) fn detach(&self, database: &dyn Counted) {
        let is_it = |opened: &Opened| ptr::addr_eq(opened.database.as_ptr(), database);
        let mut opened = self.opened.lock();
        let Some(index) = opened.iter().position(is_it) else { return };
        let before = opened.swap_remove(index).before;
        add_since(&mut self.closed.lock(), &before, &database.stats());
    }

    /// Returns all tickers that are counted here.
    fn tickers(&self) -> BTreeMap<&'static str, u64> {
        // The last user of a database waits for its threads: not while the lock is held.
        let mut alive = Vec::new();
        // The order of the locks is that of `detach`: a database that closes counts once.
        let opened = self.opened.lock();
        let mut tickers = self.closed.lock().clone();
        for own in &*opened {
            if let Some(database) = own.database.upgrade() {
                add_since(&mut tickers, &own.before, &database.stats());
                alive.push(database);
            }
        }
        let counts = Count::NAMES.iter().zip(&self.counts);
        tickers.extend(counts.map(|(name, count)| (*name, count.load(Ordering::Relaxed))));
        if self.level() == NOTHING { BTreeMap::new() } else { tickers }
    }

    /// Returns a ticker by its number. `None` if there is none of that number.
    pub(crate) fn ticker(&self, number: u32) -> Option<u64> {
        let name = TICKERS.lines().nth(number as usize)?;
        Some(self.tickers().get(name).copied().unwrap_or(0))
    }

    /// Returns a histogram by its number. `None` if there is none of that number.
    pub(crate) fn histogram(&self, number: u32) -> Option<Summary> {
        Some(self.summary(HISTOGRAMS.lines().nth(number as usize)?))
    }

    fn summary(&self, name: &str) -> Summary {
        let index = Measure::NAMES.iter().position(|own| *own == name);
        // Times are told in microseconds.
        let unit = if name.starts_with("rocksdb.bytes.per") { 1 } else { 1000 };
        index.map_or(Summary::default(), |index| self.measures[index].summary(unit))
    }

    /// Returns all tickers and histograms, one on a line, as RocksDB writes them.
    pub(crate) fn report(&self) -> String {
        let (tickers, mut report) = (self.tickers(), String::new());
        for name in TICKERS.lines() {
            let count = tickers.get(name).copied().unwrap_or(0);
            // A `String` takes every text.
            let _ = writeln!(report, "{name} COUNT : {count}");
        }
        for name in HISTOGRAMS.lines() {
            let told = self.summary(name);
            let _ = writeln!(
                report,
                "{name} P50 : {:.6} P95 : {:.6} P99 : {:.6} P100 : {:.6} COUNT : {} SUM : {}",
                told.median, told.p95, told.p99, told.max, told.count, told.sum
            );
        }
        report
    }
}

/// Adds what the engine counted between two moments.
fn add_since(sums: &mut BTreeMap<&'static str, u64>, before: &Stats, now: &Stats) {
    for ((name, before), (_, now)) in of_engine(before).into_iter().zip(of_engine(now)) {
        *sums.entry(name).or_default() += now.saturating_sub(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_of_rocksdb() {
        let engine = of_engine(&Stats::default()).map(|(name, _)| name);
        for name in Count::NAMES.iter().chain(&engine) {
            assert!(TICKERS.lines().any(|own| own == *name), "{name}");
        }
        for name in Measure::NAMES {
            assert!(HISTOGRAMS.lines().any(|own| own == *name), "{name}");
        }
    }
}
