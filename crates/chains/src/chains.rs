//! The memtable as its readers see it.
//!
//! Invariants: node numbers below `nodes`, and those found in slots and towers, belong to nodes
//! that are completely written. So is every version that a published link leads to. The writer
//! stores both with Release after writing them, and readers reach them only by an Acquire load.
//! After publication, only the two atomics of a node and the word of a value of 8 bytes change.

use std::fmt;

use crate::arena::Arena;
use crate::gone::{RangeDeletes, Revived};
use crate::index::HashIndex;
use crate::layout::{NODE, NodeRecord, Regions, UNIT};
use crate::order::Order;
use crate::prefetch::prefetch_line;
use crate::skiplist::SkipList;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// One memtable: keys, each with its chain of versions, newest first.
///
/// Its one [`Writer`](crate::Writer) writes it, and any thread reads it at any time without locks.
pub struct Chains {
    pub(crate) arena: Arena,
    pub(crate) regions: Regions,
    pub(crate) index: Index,
    pub(crate) order: Order,
    pub(crate) published: Published,
    pub(crate) revived: Revived,
    pub(crate) range_deletes: RangeDeletes,
}

/// The way from a key to its node.
pub(crate) enum Index {
    /// By a hash of the key's bytes.
    Hashed(HashIndex),
    /// By comparisons, where a key has several spellings.
    Ordered(SkipList),
}

/// What the writer publishes after each record, on cache lines of its own.
#[repr(align(128))]
pub(crate) struct Published {
    /// Length of the key list. Release after the node is written.
    pub(crate) nodes: AtomicU32,
    /// Lowest unit of the downward region. For statistics: it publishes nothing.
    pub(crate) low: AtomicU32,
    /// End of the slot tables in bytes. For statistics.
    pub(crate) tables_end: AtomicU64,
    /// Number of records. For statistics.
    pub(crate) records: AtomicU64,
}

impl Chains {
    /// Sorts all keys into one sorted stretch, so that cursors need not merge. Call it for a sealed
    /// memtable before its flush. Waits for a sort in progress.
    pub fn order_all(&self) {
        self.order.order_all(self);
    }

    /// Returns whether [`Chains::advance_order`] has work to do.
    #[inline]
    pub fn wants_order(&self) -> bool {
        self.order.wants_work(self)
    }

    /// Sorts a piece of the unsorted keys, if there are enough for one, and merges sorted
    /// stretches. For background threads, while the memtable fills: it leaves little to sort for
    /// cursors and for [`Chains::order_all`]. The piece takes a millisecond or two, and each merged
    /// key up to ten nanoseconds. Returns whether there was work.
    pub fn advance_order(&self) -> bool {
        self.order.advance(self)
    }

    /// Returns whether [`Chains::merge_stretches`] has work to do.
    pub fn wants_merge(&self) -> bool {
        self.order.wants_merge()
    }

    /// Merges sorted stretches that are too large to be merged when a cursor is created (H17). For
    /// background threads: takes a few nanoseconds a key. Waits for a sort in progress.
    pub fn merge_stretches(&self) {
        self.order.merge_stretches(self);
    }

    /// Returns whether records of `bytes` in all, each counted with
    /// [`bytes_needed`](crate::bytes_needed), certainly fit. Ask between inserts: an insert in
    /// progress may use the space.
    #[inline]
    pub fn fits(&self, bytes: usize) -> bool {
        bytes <= self.free_bytes()
    }

    /// Returns the bytes left for records.
    #[inline]
    pub fn free_bytes(&self) -> usize {
        // Relaxed: for statistics. Nodes are loaded first: if the loads see different moments, the
        // difference is too small but never wraps, because the two bounds only approach each other.
        let nodes = self.published.nodes.load(Ordering::Relaxed) as usize * NODE;
        let low = self.published.low.load(Ordering::Relaxed) as usize * UNIT;
        low.saturating_sub(nodes)
    }

    /// Returns the number of keys.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes() as usize
    }

    /// Returns whether nothing was inserted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of records, all versions counted.
    pub fn records(&self) -> u64 {
        // Relaxed: what a reader may read was counted before its sequence number was published.
        self.published.records.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the arena in use: nodes, versions, spilled keys and values, index.
    pub fn bytes_used(&self) -> usize {
        let tables_end = self.published.tables_end.load(Ordering::Relaxed) as usize;
        self.capacity() - self.free_bytes() + (tables_end - self.regions.data_end)
    }

    /// Returns the bytes of heap that the order of keys uses: a little more than 16 a key, once a
    /// cursor was created.
    pub fn order_bytes(&self) -> usize {
        self.order.bytes()
    }

    /// Returns how many keys were sorted so far. A key counts again if another thread sorts it once
    /// more; merges of sorted keys do not count.
    pub fn keys_sorted(&self) -> u64 {
        self.order.keys_sorted()
    }

    /// Returns the bytes of memory, in whole pages. It includes the pages that the arena used
    /// before this memtable, and the order of keys.
    pub fn bytes_resident(&self) -> usize {
        self.arena.touched().max(self.bytes_touched()) + self.order_bytes()
    }

    /// Returns the bytes of the arena that were written, in whole pages. Each of its three regions
    /// grows from one end.
    fn bytes_touched(&self) -> usize {
        // Relaxed: figures.
        let nodes = self.published.nodes.load(Ordering::Relaxed) as usize * NODE;
        let low = self.published.low.load(Ordering::Relaxed) as usize * UNIT;
        let tables_end = self.published.tables_end.load(Ordering::Relaxed) as usize;
        let regions = [nodes, self.regions.data_end - low, tables_end - self.regions.data_end];
        regions.into_iter().map(|bytes| self.arena.in_pages(bytes)).sum()
    }

    /// Returns the bytes that records may use.
    pub fn capacity(&self) -> usize {
        self.regions.data_end
    }

    /// Returns the length of the key list.
    #[inline]
    pub(crate) fn nodes(&self) -> u32 {
        // Acquire: pairs with the Release in `Writer`, so nodes below it are completely written.
        self.published.nodes.load(Ordering::Acquire)
    }

    /// Prefetches the byte at an offset of the arena, which will be read soon.
    #[inline]
    pub(crate) fn prefetch(&self, offset: usize) {
        assert!(offset < self.regions.end);
        // SAFETY: inside the arena.
        prefetch_line(unsafe { self.arena.at(offset) }.as_ptr());
    }

    /// # Safety
    /// The node lies in the arena.
    #[inline]
    pub(crate) unsafe fn node_at(&self, number: u32) -> std::ptr::NonNull<NodeRecord> {
        debug_assert!(
            (number as usize + 1) * NODE <= self.regions.data_end,
            "nodes lie in the arena's part for data"
        );
        // SAFETY: by the caller's promise.
        unsafe { self.arena.at(number as usize * NODE).cast() }
    }
}

impl Drop for Chains {
    fn drop(&mut self) {
        let touched = self.bytes_touched();
        self.arena.note_touched(touched);
    }
}

impl fmt::Debug for Chains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chains")
            .field("keys", &self.len())
            .field("records", &self.records())
            .field("bytes_used", &self.bytes_used())
            .field("capacity", &self.capacity())
            .finish()
    }
}
