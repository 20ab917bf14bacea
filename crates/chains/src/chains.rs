//! The memtable as its readers see it.
//!
//! Invariants: node numbers below `nodes`, and those found in slots, belong to completely written
//! nodes. Every version that a published link leads to is completely written, too. The writer
//! stores both with Release after writing them, and readers reach them only by an Acquire load.
//! After publication, only the two atomics of a node and the word of a value of 8 bytes change.

use std::fmt;

use crate::arena::Arena;
use crate::bytes::{ValueBytes, WordBytes};
use crate::gone::{RangeDeletes, Revived};
use crate::index::{Index, Probe};
use crate::layout::{
    FOLDED_EXTRA, NODE, NOT_FOLDED, NodeRecord, Placement, Regions, UNIT, VERSION, VersionRecord,
};
use crate::order::Order;
use crate::prefetch::prefetch_line;
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
    /// Returns the key's node, if it was ever inserted. `hash` is the hash that the writer got for
    /// it.
    #[inline]
    pub fn find(&self, hash: u64, key: &[u8]) -> Option<Node<'_>> {
        // SAFETY: `probe` asks only about nodes of slots that it acquired.
        let is_key = |number| unsafe { self.node(number) }.key() == key;
        match self.index.probe(&self.arena, hash, is_key) {
            // SAFETY: as above.
            Probe::Found(number) => Some(unsafe { self.node(number) }),
            Probe::Vacant(_) => None,
        }
    }

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

    /// Returns a node by its number.
    ///
    /// # Safety
    /// The number is below a length of the key list that this thread acquired, or from a slot it
    /// acquired, or the caller is the writer that wrote the node.
    #[inline]
    pub(crate) unsafe fn node(&self, number: u32) -> Node<'_> {
        // SAFETY: a completely written node, of which only atomics and the cell may change.
        let record = unsafe { self.node_at(number).as_ref() };
        record.written.check();
        Node { chains: self, record }
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

/// A key with its chain.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    pub(crate) chains: &'a Chains,
    pub(crate) record: &'a NodeRecord,
}

impl<'a> Node<'a> {
    /// Returns the key.
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        let (key_len, value_len) = (self.record.key_len as usize, self.record.value_len as usize);
        let from = match Placement::of(key_len, value_len) {
            Placement::Inside { key_at } => self.payload(key_at),
            Placement::KeyInside => self.payload(0),
            Placement::Spilled { key_at } => self.spill(key_at),
        };
        // SAFETY: the writer put the key there before it published the node.
        unsafe { std::slice::from_raw_parts(from, key_len) }
    }

    /// Returns the number of versions of the key, including those that a reader may not see yet.
    /// A folded version does not count; the versions that it stands for do.
    #[inline]
    pub fn version_count(&self) -> u32 {
        // Relaxed: for statistics; readers walk the links.
        self.record.versions.load(Ordering::Relaxed)
    }

    /// Returns the value of the version inside the node.
    #[inline]
    pub(crate) fn first_value(&self) -> ValueBytes<'a> {
        let (from, len) = self.first_value_at();
        // SAFETY: the writer put the value there before it published the node; one of 8 bytes has
        // a word of its own, which is accessed atomically only.
        unsafe {
            if len == UNIT {
                return ValueBytes::Word(WordBytes(self.record.word.load(from)));
            }
            ValueBytes::Lent(std::slice::from_raw_parts(from, len))
        }
    }

    /// Returns where the value of the version inside the node lies, and its length.
    #[inline]
    pub(crate) fn first_value_at(&self) -> (*const u8, usize) {
        let (key_len, value_len) = (self.record.key_len as usize, self.record.value_len as usize);
        let from = match Placement::of(key_len, value_len) {
            Placement::Inside { .. } => self.payload(0),
            Placement::KeyInside | Placement::Spilled { .. } => self.spill(0),
        };
        (from, value_len)
    }

    /// Returns a further version.
    ///
    /// # Safety
    /// `unit` is a link of this node's chain that this thread acquired, and not `IN_NODE`.
    #[inline]
    pub(crate) unsafe fn version(&self, unit: u32) -> &'a VersionRecord {
        // SAFETY: the writer wrote the record before it published a link to it, and never again;
        // units are inside the arena and aligned like the record.
        let record = unsafe {
            let record: &VersionRecord = self.chains.arena.at(unit as usize * UNIT).cast().as_ref();
            record
        };
        record.written.check();
        record
    }

    /// Returns the value of a further version.
    ///
    /// # Safety
    /// As [`Node::version`].
    #[inline]
    pub(crate) unsafe fn value_of(&self, unit: u32) -> ValueBytes<'a> {
        // SAFETY: the value was written with its record; one of 8 bytes is a word, for records and
        // what follows them are aligned, and is accessed atomically only.
        unsafe {
            let (record, from) = (self.version(unit), self.value_at(unit));
            if record.value_len as usize == UNIT {
                return ValueBytes::Word(WordBytes(record.word.load(from)));
            }
            ValueBytes::Lent(std::slice::from_raw_parts(from, record.value_len as usize))
        }
    }

    /// Returns where the value of a further version lies.
    ///
    /// # Safety
    /// As [`Node::version`].
    #[inline]
    pub(crate) unsafe fn value_at(&self, unit: u32) -> *const u8 {
        // SAFETY: record and value lie in the arena.
        unsafe {
            let folded = self.version(unit).unfolded != NOT_FOLDED;
            let offset = VERSION + if folded { FOLDED_EXTRA } else { 0 };
            self.chains.arena.at(unit as usize * UNIT + offset).as_ptr()
        }
    }

    /// Returns the sequence number of the oldest version that a folded one stands for, and its
    /// level. For other versions it returns their own number and 0.
    ///
    /// # Safety
    /// As [`Node::version`].
    #[inline]
    pub(crate) unsafe fn first_and_level(&self, unit: u32) -> (u64, u8) {
        // SAFETY: the extra word was written with its record, aligned like it.
        unsafe {
            let record = self.version(unit);
            if record.unfolded == NOT_FOLDED {
                return (record.seqno_kind >> 8, 0);
            }
            let extra = self.chains.arena.at(unit as usize * UNIT + VERSION).cast::<u64>().read();
            (extra >> 8, extra as u8)
        }
    }

    #[inline]
    fn payload(&self, offset: usize) -> *const u8 {
        self.record.payload.get().cast::<u8>().wrapping_add(offset)
    }

    #[inline]
    fn spill(&self, offset: usize) -> *const u8 {
        // SAFETY: nodes without a spill have unit 0 here, others one inside the arena.
        let spill = unsafe { self.chains.arena.at(self.record.spill as usize * UNIT) };
        spill.as_ptr().wrapping_add(offset)
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node(\"{}\", {} versions)", self.key().escape_ascii(), self.version_count())
    }
}
