//! The one writer of a memtable.
//!
//! Invariant: a record is written completely before any Release store that publishes it. A new key
//! has two such stores: the length of the key list, and its slot in the index. A further version
//! has one: the node's `newest`. Of a published version only a value of 8 bytes changes, as one
//! word, and only while the version is the newest and no folded one stands for it.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::chains::{Chains, Node};
use crate::gone::gone_at;
use crate::index::{IndexGrowth, Probe};
use crate::layout::{
    DELETED, FOLDED_EXTRA, IN_NODE, NODE, NOT_FOLDED, NodeRecord, PAYLOAD, Placement, UNIT,
    VERSION, VersionRecord, pack, version_bytes,
};
use crate::planted::{Fault, planted};
use crate::sync::{AtomicU32, AtomicU64, Ordering, Word, Written};

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

/// The ends of the written regions of the arena.
struct Ends {
    growth: IndexGrowth,
    /// Length of the key list.
    nodes: u32,
    /// Lowest byte of the downward region.
    low: usize,
    records: u64,
    /// Sequence number of the last range delete.
    covered: u64,
}

/// The part of a version that a write lays on a chain.
#[derive(Clone, Copy)]
struct Payload<'a> {
    seqno_kind: u64,
    operator: u32,
    value: &'a [u8],
}

/// The versions that a folded version stands for.
#[derive(Clone, Copy)]
struct Folded {
    /// The newest version below.
    below: u32,
    /// The newest version it stands for.
    unfolded: u32,
    /// The oldest one's sequence number, and the level.
    first_level: u64,
}

impl Writer {
    pub(crate) fn new(chains: Arc<Chains>, growth: IndexGrowth) -> Writer {
        let low = chains.regions.data_end;
        Writer { chains, ends: Ends { growth, nodes: 0, low, records: 0, covered: 0 } }
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
    /// mixed.
    ///
    /// # Errors
    /// [`Full`] if there is no room, also for keys and values of 4 GiB and more.
    ///
    /// # Panics
    /// If `seqno` needs more than 56 bits, or is not above those of the key's other versions:
    /// readers would meet versions out of order.
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
    /// number. A folded version never changes: the versions it stands for would lack the write.
    ///
    /// No reader may depend on the version as it was; see [`Pins`](crate::Pins).
    ///
    /// # Errors
    /// As [`Writer::insert`].
    ///
    /// # Panics
    /// As [`Writer::insert`].
    #[inline]
    pub fn insert_or_fold(
        &mut self,
        hash: u64,
        key: &[u8],
        record: NewRecord<'_>,
        floor: u64,
        fold: impl FnOnce([u8; 8]) -> Option<[u8; 8]>,
    ) -> Result<Inserted, Full> {
        let NewRecord { seqno, kind, operator, value } = record;
        assert!(
            seqno <= crate::layout::MAX_SEQNO,
            "sequence number {seqno} needs more than 56 bits"
        );
        let payload = Payload { seqno_kind: pack(seqno, kind), operator, value };
        let chains = &*self.chains;
        // SAFETY: the writer itself wrote all nodes.
        let is_key = |number| unsafe { chains.node(number) }.key() == key;
        let versions = match chains.index.probe(&chains.arena, hash, is_key) {
            Probe::Found(number) => {
                // SAFETY: as above.
                let node = unsafe { chains.node(number) };
                if fold_in_place(node, &payload, floor, fold) {
                    return Ok(Inserted::InPlace);
                }
                self.ends.push_version(node, payload, number)?
            }
            Probe::Vacant(slot) => {
                self.ends.push_node(chains, hash, key, payload, slot)?;
                1
            }
        };
        self.ends.records += 1;
        chains.published.records.store(self.ends.records, Ordering::Relaxed);
        Ok(Inserted::Version(versions))
    }

    /// Adds a folded version to a key's chain. It stands for the `count` newest versions there,
    /// which [`Node::foldable`] shows. It has the sequence number of the newest of them. Reads at
    /// or above that number see it, and all other reads see the versions it stands for.
    ///
    /// # Errors
    /// [`Full`] if there is no room.
    ///
    /// # Panics
    /// If fewer than `count` versions may be folded, or `count` is less than two.
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

/// Folds a record into the newest version of a node. Returns whether that was possible.
#[inline]
fn fold_in_place(
    node: Node<'_>,
    payload: &Payload<'_>,
    floor: u64,
    fold: impl FnOnce([u8; 8]) -> Option<[u8; 8]>,
) -> bool {
    if payload.value.len() != UNIT {
        return false;
    }
    // Relaxed: only the writer stores it.
    let newest = node.record.newest.load(Ordering::Relaxed);
    // SAFETY: the writer made all links; a value of 8 bytes is a word, accessed atomically only,
    // and stored by the writer only.
    unsafe {
        let (seqno_kind, operator, word, (at, len)) = if newest == IN_NODE {
            let record = node.record;
            (record.seqno_kind, record.operator, &record.word, node.first_value_at())
        } else {
            let record = node.version(newest);
            if record.unfolded != NOT_FOLDED {
                return false;
            }
            let value = (node.value_at(newest), record.value_len as usize);
            (record.seqno_kind, record.operator, &record.word, value)
        };
        let alike = seqno_kind as u8 == payload.seqno_kind as u8 && operator == payload.operator;
        if !alike || len != UNIT || seqno_kind >> 8 <= floor {
            return false;
        }
        debug_assert!(seqno_kind >> 8 < payload.seqno_kind >> 8, "writes come in order");
        match fold(word.load(at)) {
            Some(folded) => word.store(at, folded),
            None => return false,
        }
    }
    true
}

impl Ends {
    /// Returns the bytes between the two regions.
    fn free(&self) -> usize {
        self.low - self.nodes as usize * NODE
    }

    /// Adds a key that has no node yet; `vacant` is its slot.
    #[inline]
    fn push_node(
        &mut self,
        chains: &Chains,
        hash: u64,
        key: &[u8],
        payload: Payload<'_>,
        vacant: &AtomicU64,
    ) -> Result<(), Full> {
        let key_len = u32::try_from(key.len()).map_err(|_| Full)?;
        let value_len = u32::try_from(payload.value.len()).map_err(|_| Full)?;
        let placement = Placement::of(key.len(), payload.value.len());
        let spill_bytes = placement.spill_bytes(key.len(), payload.value.len());
        if self.free() < NODE + spill_bytes {
            return Err(Full);
        }
        let low = self.low - spill_bytes;
        let record = NodeRecord {
            newest: AtomicU32::new(IN_NODE),
            versions: AtomicU32::new(1),
            seqno_kind: payload.seqno_kind,
            key_len,
            value_len,
            operator: payload.operator,
            spill: if spill_bytes == 0 { 0 } else { (low / UNIT) as u32 },
            payload: UnsafeCell::new([MaybeUninit::uninit(); PAYLOAD]),
            written: Written::now(),
            word: Word::of(payload.value),
        };
        // SAFETY: [end of nodes, low) is free and large enough for the node, [low, self.low) for
        // the spill; no other code knows these bytes yet, and there is no other writer.
        unsafe {
            let node = chains.node_at(self.nodes);
            node.write(record);
            let inside = NonNull::new_unchecked(node.as_ref().payload.get()).cast::<u8>();
            let spill = chains.arena.at(low);
            let (value_at, key_from) = match placement {
                Placement::Inside { key_at } => (inside, inside.add(key_at)),
                Placement::KeyInside => (spill, inside),
                Placement::Spilled { key_at } => (spill, spill.add(key_at)),
            };
            copy(payload.value, value_at);
            copy(key, key_from);
        }
        let number = self.nodes;
        self.nodes += 1;
        self.publish_low(chains, low);
        // Release: a thread that sees the length sees the whole nodes below it.
        chains.published.nodes.store(self.nodes, Ordering::Release);
        chains.index.fill(&chains.arena, &mut self.growth, hash, number, vacant);
        let tables_end = self.growth.used_until() as u64;
        chains.published.tables_end.store(tables_end, Ordering::Relaxed);
        Ok(())
    }

    /// Adds a version to a key. Returns how many versions the key now has.
    #[inline]
    fn push_version(
        &mut self,
        node: Node<'_>,
        payload: Payload<'_>,
        number: u32,
    ) -> Result<u32, Full> {
        let value_len = u32::try_from(payload.value.len()).map_err(|_| Full)?;
        let bytes = version_bytes(payload.value.len());
        if self.free() < bytes {
            return Err(Full);
        }
        let parent = node.newest();
        // SAFETY: the writer made all links.
        let ((newest, depth), jump) =
            unsafe { (node.word_and_depth(parent), node.jump_for(parent)) };
        assert!(
            newest >> 8 < payload.seqno_kind >> 8,
            "sequence number {} is not above {}, the key's newest",
            payload.seqno_kind >> 8,
            newest >> 8
        );
        let low = self.low - bytes;
        let record = VersionRecord {
            seqno_kind: payload.seqno_kind,
            older: parent,
            jump,
            depth: depth + 1,
            operator: payload.operator,
            value_len,
            unfolded: NOT_FOLDED,
            written: Written::now(),
            word: Word::of(payload.value),
        };
        // SAFETY: [low, self.low) is free and as long as record and value together; no other code
        // knows these bytes yet, and there is no other writer.
        unsafe {
            let at = node.chains.arena.at(low);
            at.cast().write(record);
            copy(payload.value, at.add(VERSION));
        }
        let is_revived =
            gone_at(newest, self.covered).is_some() && payload.seqno_kind as u8 != DELETED;
        if planted(Fault::ReviveEarly) && is_revived {
            node.chains.revived.note(number);
        }
        self.publish_version(node, low);
        if is_revived && !planted(Fault::ReviveEarly) {
            node.chains.revived.note(number);
        }
        // Relaxed: for statistics, and only the writer stores it.
        let versions = node.record.versions.load(Ordering::Relaxed).wrapping_add(1);
        node.record.versions.store(versions, Ordering::Relaxed);
        Ok(versions)
    }

    /// Lays a folded version on a chain.
    fn push_folded(
        &mut self,
        node: Node<'_>,
        payload: Payload<'_>,
        folded: Folded,
    ) -> Result<(), Full> {
        let value_len = u32::try_from(payload.value.len()).map_err(|_| Full)?;
        let bytes = folded_bytes_needed(payload.value.len());
        if self.free() < bytes {
            return Err(Full);
        }
        // SAFETY: the writer made all links.
        let ((_, depth), jump) =
            unsafe { (node.word_and_depth(folded.below), node.jump_for(folded.below)) };
        let low = self.low - bytes;
        let record = VersionRecord {
            seqno_kind: payload.seqno_kind,
            older: folded.below,
            jump,
            depth: depth + 1,
            operator: payload.operator,
            value_len,
            unfolded: folded.unfolded,
            written: Written::now(),
            word: Word::of(payload.value),
        };
        // SAFETY: [low, self.low) is free and as long as record, extra word and value together; no
        // other code knows these bytes yet, and there is no other writer.
        unsafe {
            let at = node.chains.arena.at(low);
            at.cast().write(record);
            at.add(VERSION).cast::<u64>().write(folded.first_level);
            copy(payload.value, at.add(VERSION + FOLDED_EXTRA));
        }
        self.publish_version(node, low);
        Ok(())
    }

    /// Makes the version at `low` the newest of a node.
    #[inline]
    fn publish_version(&mut self, node: Node<'_>, low: usize) {
        self.publish_low(node.chains, low);
        let order = if planted(Fault::RelaxedLink) { Ordering::Relaxed } else { Ordering::Release };
        // Release: a thread that sees the link sees the whole version, and all it leads to.
        node.record.newest.store((low / UNIT) as u32, order);
    }

    /// Lowers the downward region.
    #[inline]
    fn publish_low(&mut self, chains: &Chains, low: usize) {
        self.low = low;
        // Relaxed: for statistics.
        chains.published.low.store((low / UNIT) as u32, Ordering::Relaxed);
    }
}

/// # Safety
/// `to` is followed by `bytes.len()` bytes that no other thread reads or writes.
#[inline]
unsafe fn copy(bytes: &[u8], to: NonNull<u8>) {
    // SAFETY: the caller promises room at `to` that no other thread uses. `bytes` does not overlap
    // it: no reference leads to free memory of the arena.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) }
}
