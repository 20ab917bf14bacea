//! The one writer of a memtable.
//!
//! Invariant: stores that publish a record come after it is completely written. A new key has two
//! such stores: the length of the key list, and its slot in the index. A further version has one:
//! the node's `newest`. An ordered index has links instead of a slot, and links a node *before* the
//! length: every node below that length is in the list.

use std::fmt;
use std::sync::Arc;

use crate::chains::{Chains, Index};
use crate::ends::{Ends, Folded, Growth, Payload, fold_in_place};
use crate::index::Probe;
use crate::layout::{FOLDED_EXTRA, IN_NODE, NODE, Placement, pack, version_bytes};
use crate::skiplist::Search;
use crate::sync::Ordering;

/// How a write changes a value of 8 bytes in place.
///
/// Closures do it. A type of its own can ask the compiler to put the fold in line, which a closure
/// cannot: out of line it costs a hot counter's merge a twentieth of its time.
pub trait FoldWord {
    /// Returns the new value; `None` if the write cannot change this one.
    fn fold(self, old: [u8; 8]) -> Option<[u8; 8]>;
}

impl<F: FnOnce([u8; 8]) -> Option<[u8; 8]>> FoldWord for F {
    #[inline(always)]
    fn fold(self, old: [u8; 8]) -> Option<[u8; 8]> {
        self(old)
    }
}

/// The memtable has no room for the record, and is unchanged. Seal it and start another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the memtable has no room for the record: seal it and start another")
    }
}

impl std::error::Error for Full {}

/// Returns the bytes that a record uses with a new key. For a further version of a key, this is an
/// upper bound.
#[inline]
pub fn bytes_needed(key_len: usize, value_len: usize) -> usize {
    NODE + Placement::of(key_len, value_len).spill_bytes(key_len, value_len)
}

/// Returns the bytes that [`Writer::fold_newest`] uses for a value of this length.
#[inline]
pub fn folded_bytes_needed(value_len: usize) -> usize {
    FOLDED_EXTRA + version_bytes(value_len)
}

/// Returns an upper bound of the bytes that records use in [`KeyOrder::Spelled`], if `bytes` is the
/// sum of their [`bytes_needed`] and [`folded_bytes_needed`]. A version there keeps its spelling.
///
/// [`KeyOrder::Spelled`]: crate::KeyOrder::Spelled
#[inline]
pub fn bytes_with_spellings(bytes: usize) -> usize {
    bytes + bytes / 4
}

/// A record without its key. Kind and operator are the caller's numbers.
#[derive(Clone, Copy, Debug)]
pub struct NewRecord<'a> {
    /// The sequence number of the write.
    pub seqno: u64,
    /// Its effect on the key.
    pub kind: u8,
    /// The operator of a merge.
    pub operator: u32,
    /// Its value.
    pub value: &'a [u8],
}

/// How a record was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is the newest version; the key has this many.
    Version(u32),
    /// It was folded into the newest version.
    InPlace,
}

/// The right to write into a [`Chains`]. There is only one: it is not `Clone`, and writing takes it
/// by `&mut`.
pub struct Writer {
    chains: Arc<Chains>,
    ends: Ends,
}

impl Writer {
    pub(crate) fn new(chains: Arc<Chains>, growth: Growth) -> Writer {
        let low = chains.regions.data_end;
        Writer { chains, ends: Ends::new(growth, low) }
    }

    /// Returns the memtable that this writes into.
    pub fn chains(&self) -> &Arc<Chains> {
        &self.chains
    }

    /// Notes a range delete at `seqno`. Cursors then jump over its older keys, and each later write
    /// to an older key tells them to stop there. Call this after all writes before the delete,
    /// before all writes after it, and before the delete is published.
    pub fn note_range_delete(&mut self, seqno: u64) {
        self.ends.covered = seqno;
        let revived = self.chains.revived.count();
        self.chains.range_deletes.note(seqno, self.ends.nodes, revived);
    }

    /// Adds a record: a new key, or the newest version of one.
    ///
    /// `hash` is the key's hash. It is always the same for the same key, with all 64 bits well
    /// mixed. In [`KeyOrder::Spelled`](crate::KeyOrder::Spelled) it does not matter.
    ///
    /// # Errors
    /// [`Full`] if there is no room, also for keys and values of 4 GiB and more.
    ///
    /// # Panics
    /// If `seqno` needs more than 56 bits, or is not above those of the key's other versions:
    /// readers would meet versions out of order. In [`KeyOrder::Spelled`](crate::KeyOrder::Spelled)
    /// also if the caller's order panics; the memtable is then unchanged.
    #[inline]
    pub fn insert(
        &mut self,
        hash: u64,
        key: &[u8],
        seqno: u64,
        kind: u8,
        operator: u32,
        value: &[u8],
    ) -> Result<(), Full> {
        let record = NewRecord { seqno, kind, operator, value };
        self.insert_or_fold(hash, key, record, crate::layout::MAX_SEQNO, |_| None).map(|_| ())
    }

    /// Adds a record like [`Writer::insert`], or folds it into the key's newest version in place.
    /// It folds if that version has the same kind and operator, a value of 8 bytes, and a sequence
    /// number above `floor`, and if `fold` makes a new value. The version keeps its sequence
    /// number. A folded version never changes: the versions it stands for would lack the write. Nor
    /// does a version with another spelling of the key.
    ///
    /// No reader may depend on the version as it was; see [`Pins`](crate::Pins).
    ///
    /// # Errors
    /// As [`Writer::insert`].
    ///
    /// # Panics
    /// As [`Writer::insert`].
    #[inline(always)]
    pub fn insert_or_fold(
        &mut self,
        hash: u64,
        key: &[u8],
        record: NewRecord<'_>,
        floor: u64,
        fold: impl FoldWord,
    ) -> Result<Inserted, Full> {
        let NewRecord { seqno, kind, operator, value } = record;
        assert!(
            seqno <= crate::layout::MAX_SEQNO,
            "sequence number {seqno} needs more than 56 bits"
        );
        let payload = Payload { seqno_kind: pack(seqno, kind), operator, value };
        let chains = &*self.chains;
        let Index::Hashed(index) = &chains.index else {
            return self.insert_in_order(key, payload, floor, fold);
        };
        // SAFETY: the writer itself wrote all nodes.
        let is_key = |number| unsafe { chains.node(number) }.key() == key;
        let versions = match index.probe(&chains.arena, hash, is_key) {
            Probe::Found(number) => {
                // SAFETY: as above.
                let node = unsafe { chains.node(number) };
                if fold_in_place(node, &payload, floor, fold) {
                    return Ok(Inserted::InPlace);
                }
                self.ends.push_version(node, None, payload, number)?
            }
            Probe::Vacant(slot) => {
                let number = self.ends.push_node(chains, key, payload)?;
                if let Growth::Hashed(growth) = &mut self.ends.growth {
                    // Release: a thread that sees the length sees the whole nodes below it.
                    chains.published.nodes.store(self.ends.nodes, Ordering::Release);
                    index.fill(&chains.arena, growth, hash, number, slot);
                    let tables_end = growth.used_until() as u64;
                    // Relaxed: a figure of memory.
                    chains.published.tables_end.store(tables_end, Ordering::Relaxed);
                }
                1
            }
        };
        Ok(self.inserted(versions))
    }

    /// Does [`Writer::insert_or_fold`] where keys have spellings. The search comes before any
    /// change: it calls the caller's order, which may panic.
    #[cold]
    fn insert_in_order(
        &mut self,
        key: &[u8],
        payload: Payload<'_>,
        floor: u64,
        fold: impl FoldWord,
    ) -> Result<Inserted, Full> {
        let chains = &*self.chains;
        let Index::Ordered(list) = &chains.index else {
            unreachable!("the caller found an ordered index");
        };
        // SAFETY: the writer itself wrote all nodes.
        let compare = |node| unsafe { chains.compare(node, key) };
        let versions = match list.search(&chains.arena, compare) {
            Search::Found(number) => {
                // SAFETY: as above; it also made all links.
                let (node, is_alike) = unsafe {
                    let node = chains.node(number);
                    (node, node.key_of(node.newest()) == key)
                };
                if is_alike && fold_in_place(node, &payload, floor, fold) {
                    return Ok(Inserted::InPlace);
                }
                self.ends.push_version(node, Some(key), payload, number)?
            }
            Search::Vacant(place) => {
                let number = self.ends.push_node(chains, key, payload)?;
                if let Growth::Ordered(towers) = &mut self.ends.growth {
                    list.link(&chains.arena, towers, number, &place);
                    let list_end = towers.used_until() as u64;
                    chains.published.tables_end.store(list_end, Ordering::Relaxed);
                    // Release: a thread that sees the length finds all nodes below it in the list.
                    chains.published.nodes.store(self.ends.nodes, Ordering::Release);
                }
                1
            }
        };
        Ok(self.inserted(versions))
    }

    /// Counts a record that became the newest of its key's versions.
    #[inline]
    fn inserted(&mut self, versions: u32) -> Inserted {
        self.ends.records += 1;
        // Relaxed: a reader has its sequence number, published by a Release behind this store,
        // before it asks for the count. So it sees the count of all that it may read.
        self.chains.published.records.store(self.ends.records, Ordering::Relaxed);
        Inserted::Version(versions)
    }

    /// Adds a folded version to a key's chain. It stands for the `count` newest versions there,
    /// which [`Node::foldable`](crate::Node::foldable) shows. It has the sequence number and the
    /// spelling of the newest of them. Reads at or above that number see it, and all other reads
    /// see the versions it stands for.
    ///
    /// # Errors
    /// [`Full`] if there is no room.
    ///
    /// # Panics
    /// If fewer than `count` versions may be folded, or `count` is less than two. If the caller's
    /// order panics; the memtable is then unchanged.
    pub fn fold_newest(
        &mut self,
        hash: u64,
        key: &[u8],
        count: usize,
        kind: u8,
        operator: u32,
        value: &[u8],
    ) -> Result<(), Full> {
        assert!(count >= 2, "there is nothing to fold");
        let node = self.chains.find(hash, key).expect("a key that is folded is there");
        let (unfolded, mut below) = (node.newest(), node.newest());
        let (mut last, mut first, mut level) = (0, 0, 0);
        for index in 0..count {
            assert!(below != IN_NODE, "the oldest version is never folded");
            // SAFETY: the writer made all links; this one is not `IN_NODE`.
            unsafe {
                let version = node.version(below);
                let (its_first, its_level) = node.first_and_level(below);
                if index == 0 {
                    last = version.seqno_kind >> 8;
                }
                (first, level, below) = (its_first, its_level.max(level), version.older);
            }
        }
        let payload = Payload { seqno_kind: pack(last, kind), operator, value };
        let first_level = pack(first, level.saturating_add(1));
        self.ends.push_folded(node, payload, Folded { below, unfolded, first_level })
    }
}
