//! The memtable as its readers see it.
//!
//! Invariants: node numbers below `nodes`, and those found in slots, are of nodes that are
//! completely written; so is every version a published link leads to. Both are reached only by an
//! Acquire load of what the writer stored with Release after writing them, and neither changes
//! again but for the two atomics of a node and the word of a value of 8 bytes.

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
/// Written through its one [`Writer`](crate::Writer), read by anybody at any time without locks.
pub struct Chains {
    pub(crate) arena: Arena,
    pub(crate) regions: Regions,
    pub(crate) index: Index,
    pub(crate) order: Order,
    pub(crate) published: Published,
    pub(crate) revived: Revived,
    pub(crate) range_deletes: RangeDeletes,
}

/// What the writer tells everybody after each record: on cache lines of its own.
#[repr(align(128))]
pub(crate) struct Published {
    /// Length of the key list. Release after the node is written.
    pub(crate) nodes: AtomicU32,
    /// Lowest unit of the downward region. A figure, publishes nothing.
    pub(crate) low: AtomicU32,
    /// End of the slot tables in bytes. A figure.
    pub(crate) tables_end: AtomicU64,
    /// Records. A figure.
    pub(crate) records: AtomicU64,
}

impl Chains {
    /// The key's node, if it was ever inserted. `hash` is what the writer was given for it.
    #[inline]
    pub fn find(&self, hash: u64, key: &[u8]) -> Option<Node<'_>> {
        // SAFETY: `probe` asks about nodes of slots it acquired.
        let is_key = |number| unsafe { self.node(number) }.key() == key;
        match self.index.probe(&self.arena, hash, is_key) {
            // SAFETY: as above.
            Probe::Found(number) => Some(unsafe { self.node(number) }),
            Probe::Vacant(_) => None,
        }
    }

    /// Sorts all keys into one stretch, so that cursors need not merge: for a sealed memtable
    /// about to be flushed. Waits for a sort in progress.
    pub fn order_all(&self) {
        self.order.order_all(self);
    }

    /// Whether [`Chains::advance_order`] has something to do.
    #[inline]
    pub fn wants_order(&self) -> bool {
        self.order.wants_work(self)
    }

    /// Sorts a piece of the keys that are not sorted yet, if there are enough for one, and merges
    /// sorted stretches. For background threads, while the memtable fills: cursors then find little
    /// left to sort, and so does [`Chains::order_all`]. Takes a millisecond or two for the piece
    /// and up to ten nanoseconds for each key that is merged. Whether there was anything to do.
    pub fn advance_order(&self) -> bool {
        self.order.advance(self)
    }

    /// Whether [`Chains::merge_stretches`] has something to do.
    pub fn wants_merge(&self) -> bool {
        self.order.wants_merge()
    }

    /// Merges sorted stretches that are too large to be merged when a cursor is created (H17).
    /// For background threads: takes a few nanoseconds a key. Waits for a sort in progress.
    pub fn merge_stretches(&self) {
        self.order.merge_stretches(self);
    }

    /// Whether records of `bytes` in all, each counted with [`bytes_needed`](crate::bytes_needed),
    /// are sure to find room. Ask between inserts: the writer may be taking the room.
    #[inline]
    pub fn fits(&self, bytes: usize) -> bool {
        bytes <= self.free_bytes()
    }

    /// Bytes left for records.
    #[inline]
    pub fn free_bytes(&self) -> usize {
        // Relaxed: figures. Nodes first: seen apart, the difference is smaller than it ever was,
        // never wrapped, for the two bounds only approach each other.
        let nodes = self.published.nodes.load(Ordering::Relaxed) as usize * NODE;
        let low = self.published.low.load(Ordering::Relaxed) as usize * UNIT;
        low.saturating_sub(nodes)
    }

    /// Keys.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes() as usize
    }

    /// Whether nothing was inserted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records, all versions counted.
    pub fn records(&self) -> u64 {
        self.published.records.load(Ordering::Relaxed)
    }

    /// Bytes of arena in use: nodes, versions, spilled keys and values, index.
    pub fn bytes_used(&self) -> usize {
        let tables_end = self.published.tables_end.load(Ordering::Relaxed) as usize;
        self.capacity() - self.free_bytes() + (tables_end - self.regions.data_end)
    }

    /// Bytes of heap that the order of keys takes: 16 a key and a little, once a cursor
    /// was created.
    pub fn order_bytes(&self) -> usize {
        self.order.bytes()
    }

    /// How many keys were sorted so far. A key counts again when another thread sorts it once more;
    /// merges of what is sorted do not count.
    pub fn keys_sorted(&self) -> u64 {
        self.order.keys_sorted()
    }

    /// Bytes of memory it takes, in whole pages, with what its arena took before it was this
    /// memtable's, and with the order of keys.
    pub fn bytes_resident(&self) -> usize {
        self.arena.touched().max(self.bytes_touched()) + self.order_bytes()
    }

    /// Bytes of the arena that were written, in whole pages: its three regions grow each from one
    /// end.
    fn bytes_touched(&self) -> usize {
        // Relaxed: figures.
        let nodes = self.published.nodes.load(Ordering::Relaxed) as usize * NODE;
        let low = self.published.low.load(Ordering::Relaxed) as usize * UNIT;
        let tables_end = self.published.tables_end.load(Ordering::Relaxed) as usize;
        let regions = [nodes, self.regions.data_end - low, tables_end - self.regions.data_end];
        regions.into_iter().map(|bytes| self.arena.in_pages(bytes)).sum()
    }

    /// Bytes that records may take.
    pub fn capacity(&self) -> usize {
        self.regions.data_end
    }

    /// Length of the key list.
    #[inline]
    pub(crate) fn nodes(&self) -> u32 {
        // Acquire: pairs with the Release in `Writer`, so nodes below it are completely written.
        self.published.nodes.load(Ordering::Acquire)
    }

    /// A node by its number.
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

    /// Asks the processor to fetch the byte at an offset of the arena, which will be read soon.
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
    /// The key.
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

    /// How many versions the key was given, those included that a reader may not see yet. Folded
    /// ones do not count, what they were folded of does.
    #[inline]
    pub fn version_count(&self) -> u32 {
        // Relaxed: a figure; the links are what readers walk.
        self.record.versions.load(Ordering::Relaxed)
    }

    /// The value of the version inside the node.
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

    /// Where the value of the version inside the node lies, and its length.
    #[inline]
    pub(crate) fn first_value_at(&self) -> (*const u8, usize) {
        let (key_len, value_len) = (self.record.key_len as usize, self.record.value_len as usize);
        let from = match Placement::of(key_len, value_len) {
            Placement::Inside { .. } => self.payload(0),
            Placement::KeyInside | Placement::Spilled { .. } => self.spill(0),
        };
        (from, value_len)
    }

    /// A further version.
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

    /// The value of a further version.
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

    /// Where the value of a further version lies.
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

    /// Sequence number of the oldest version that a folded one stands for, and its level; of others
    /// their own and 0.
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
