//! Memory use, item by item, and the gauges that count it.
//!
//! An object owns a [`Charge`], which adds the object's memory to a [`Gauge`]. So memory counts
//! exactly as long as the object exists: a table that was closed during a read still counts.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldb_chains::Chains;

/// The memory use of a [`crate::Runtime`], in bytes: of one database, or of all databases that
/// share the runtime. The sum stays within [`MemoryUsage::budget`], except for memory that readers
/// pin, that read-only handles hold of the logs, and that open transactions hold.
///
/// It excludes memory of the caller, such as batches and copied values, unless the caller reserves
/// it. It also excludes about 2 KiB for the description of each table file, its first and last key
/// besides, and memory that the allocator keeps for itself.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// let db = foldb::Db::open(dir.path(), options)?;
/// db.put("key", "value")?;
/// let memory = db.memory();
/// assert!(memory.active_memtables > 0);
/// assert!(memory.total() <= memory.budget);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUsage {
    /// The limit for all items together: see [`crate::Options::memory_budget`].
    pub budget: u64,
    /// Memtables that take writes: records, index, and the key order that iterators made.
    pub active_memtables: u64,
    /// Memtables that wait for their flush.
    pub sealed_memtables: u64,
    /// Flushed memtables that a value, an iterator or a snapshot's reader still holds. No write
    /// waits for this memory: only the reader can release it. Also the logged writes that an open
    /// replays, at most one share at a time, and all those that a read-only handle shows.
    pub pinned_memtables: u64,
    /// Memory of dropped memtables, kept for the next ones.
    pub spare_memtables: u64,
    /// Cached blocks.
    pub block_cache: u64,
    /// Indexes of open tables, and of open value segments that garbage collection rewrote.
    pub indexes: u64,
    /// Filters of open tables. A filter is loaded when a read first needs it.
    pub filters: u64,
    /// Read-ahead, gathered data and folds of the flushes and compactions in progress.
    pub background: u64,
    /// The mapped windows through which logs are written.
    pub logs: u64,
    /// Writes and claims of open transactions, and the notes of the writes that they may conflict
    /// with. Only a commit or rollback releases it: [`crate::TransactionOptions::max_read_bytes`]
    /// bounds the claims of each transaction, and [`crate::limits::max_batch_bytes`] its writes.
    pub transactions: u64,
    /// Memory of the program's own that it counts here: see [`crate::Runtime::reserve`].
    pub reserved: u64,
}

impl MemoryUsage {
    /// Returns the items by name: all but the budget.
    pub fn items(&self) -> [(&'static str, u64); 11] {
        [
            ("active_memtables", self.active_memtables),
            ("sealed_memtables", self.sealed_memtables),
            ("pinned_memtables", self.pinned_memtables),
            ("spare_memtables", self.spare_memtables),
            ("block_cache", self.block_cache),
            ("indexes", self.indexes),
            ("filters", self.filters),
            ("background", self.background),
            ("logs", self.logs),
            ("transactions", self.transactions),
            ("reserved", self.reserved),
        ]
    }

    /// Returns the sum of all items.
    pub fn total(&self) -> u64 {
        self.items().iter().map(|(_, bytes)| bytes).sum()
    }
}

/// Bytes of one kind that are in use now. All accesses are `Relaxed`: the additions lose nothing,
/// and no other memory follows from a sum. It never falls below 0, because a charge is taken back
/// by its owner, behind the addition.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicUsize);

impl Gauge {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes that count in a gauge until the charge is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    gauge: Arc<Gauge>,
    bytes: usize,
}

impl Charge {
    pub(crate) fn new(gauge: &Arc<Gauge>, bytes: usize) -> Charge {
        gauge.0.fetch_add(bytes, Ordering::Relaxed);
        Charge { gauge: Arc::clone(gauge), bytes }
    }

    /// Replaces the charge by `bytes`.
    pub(crate) fn set(&mut self, bytes: usize) {
        // Wrapping addition also subtracts: a negative difference wraps around.
        self.gauge.0.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let before = self.gauge.0.fetch_sub(self.bytes, Ordering::Relaxed);
        debug_assert!(before >= self.bytes, "a gauge holds the bytes of each of its charges");
    }
}

/// Changes of a use that count for nothing until more follow.
const ROUGHLY: usize = 16 << 10;

/// A charge that follows a use which changes often. A small use costs nothing.
#[derive(Debug, Default)]
pub(crate) struct RoughCharge(Option<Charge>);

impl RoughCharge {
    /// Notes the use at present.
    #[inline]
    pub(crate) fn note(&mut self, gauge: &Arc<Gauge>, bytes: usize) {
        let charged = self.0.as_ref().map_or(0, |charge| charge.bytes);
        if bytes.abs_diff(charged) >= ROUGHLY {
            self.0 = Some(Charge::new(gauge, bytes));
        }
    }
}

/// A write buffer as the memory ledger sees it.
pub(crate) trait WriteBuffer: Debug + Send + Sync {
    /// Returns whether the buffer takes writes.
    fn is_active(&self) -> bool;
    /// Returns whether the buffer waits for its flush.
    fn is_waiting(&self) -> bool;
    /// Returns whether the buffer holds no write.
    fn is_empty(&self) -> bool;
    /// Returns the memory of the buffer's records. A value that a reader pins keeps this memory
    /// after the buffer is gone.
    fn chains(&self) -> &Arc<Chains>;
    /// Returns the bytes that the buffer uses in addition to its chains.
    fn bytes_beside_chains(&self) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_counts_until_it_is_dropped() {
        let gauge = Arc::new(Gauge::default());
        let first = Charge::new(&gauge, 10);
        let mut second = Charge::new(&gauge, 100);
        second.set(7);
        assert_eq!(gauge.get(), 17);
        drop(first);
        assert_eq!(gauge.get(), 7);
        drop(second);
        assert_eq!(gauge.get(), 0);
    }

    /// The sum includes every item except the budget.
    #[test]
    fn every_item_is_in_the_sum() {
        let debug = format!("{:?}", MemoryUsage::default());
        let items = MemoryUsage::default().items();
        assert_eq!(debug.matches(": ").count(), items.len() + 1, "{debug}");
        for (name, _) in items {
            assert!(debug.contains(&format!(" {name}: ")), "{name} in {debug}");
        }
    }
}
