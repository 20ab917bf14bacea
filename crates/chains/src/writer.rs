//! The one writer of a memtable.
//!
//! Invariant: a record is written completely, then published by one Release store: a new key by
//! its slot and by the length of the key list, a further version by the node's `newest`.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::chains::{Chains, Node};
use crate::index::{IndexGrowth, Probe};
use crate::layout::{
    IN_NODE, NODE, NodeRecord, PAYLOAD, Placement, UNIT, VERSION, VersionRecord, pack,
    version_bytes,
};
use crate::sync::{AtomicU32, AtomicU64, Ordering, Written};

/// The memtable has no room for the record; it is unchanged. Seal it and start another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the memtable has no room for the record: seal it and start another")
    }
}

impl std::error::Error for Full {}

/// Most bytes a record can take: exact if its key is new, a little more than needed if not.
#[inline]
pub fn bytes_needed(key_len: usize, value_len: usize) -> usize {
    NODE + Placement::of(key_len, value_len).spill_bytes(key_len, value_len)
}

/// The right to write into a [`Chains`]. There is one, it is not `Clone`, and writing takes it
/// by `&mut`.
pub struct Writer {
    chains: Arc<Chains>,
    ends: Ends,
}

/// How far the arena is written.
struct Ends {
    growth: IndexGrowth,
    /// Length of the key list.
    nodes: u32,
    /// Lowest byte of the downward region.
    low: usize,
    records: u64,
}

/// A record but for its key.
#[derive(Clone, Copy)]
struct Payload<'a> {
    seqno_kind: u64,
    operator: u32,
    value: &'a [u8],
}

impl Writer {
    pub(crate) fn new(chains: Arc<Chains>, growth: IndexGrowth) -> Writer {
        let low = chains.regions.data_end;
        Writer { chains, ends: Ends { growth, nodes: 0, low, records: 0 } }
    }

    /// What this writes into.
    pub fn chains(&self) -> &Arc<Chains> {
        &self.chains
    }

    /// Adds a record: a new key, or the newest version of one.
    ///
    /// `hash` is the key's, always the same for the same key, with all 64 bits well mixed.
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
        assert!(seqno <= crate::MAX_SEQNO, "sequence number {seqno} needs more than 56 bits");
        let payload = Payload { seqno_kind: pack(seqno, kind), operator, value };
        let chains = &*self.chains;
        // SAFETY: the writer itself wrote all nodes.
        let is_key = |number| unsafe { chains.node(number) }.key() == key;
        match chains.index.probe(&chains.arena, hash, is_key) {
            Probe::Found(number) => {
                // SAFETY: as above.
                let node = unsafe { chains.node(number) };
                self.ends.push_version(node, payload)?;
            }
            Probe::Vacant(slot) => self.ends.push_node(chains, hash, key, payload, slot)?,
        }
        self.ends.records += 1;
        chains.published.records.store(self.ends.records, Ordering::Relaxed);
        Ok(())
    }
}

impl Ends {
    /// Bytes between the two regions.
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
        };
        // SAFETY: [end of nodes, low) is free and large enough for the node, [low, self.low) for
        // the spill; nobody else knows these bytes yet, and there is no other writer.
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
        // Release: whoever sees the length sees the nodes below it whole.
        chains.published.nodes.store(self.nodes, Ordering::Release);
        chains.index.fill(&chains.arena, &mut self.growth, hash, number, vacant);
        let tables_end = self.growth.used_until() as u64;
        chains.published.tables_end.store(tables_end, Ordering::Relaxed);
        Ok(())
    }

    /// Adds a version to a key.
    #[inline]
    fn push_version(&mut self, node: Node<'_>, payload: Payload<'_>) -> Result<(), Full> {
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
            reserved: 0,
            written: Written::now(),
        };
        // SAFETY: [low, self.low) is free and as long as record and value together; nobody else
        // knows these bytes yet, and there is no other writer.
        unsafe {
            let at = node.chains.arena.at(low);
            at.cast().write(record);
            copy(payload.value, at.add(VERSION));
        }
        self.publish_low(node.chains, low);
        // Release: whoever sees the link sees the version whole, and so all it leads to.
        node.record.newest.store((low / UNIT) as u32, Ordering::Release);
        // Relaxed: a figure, and only the writer stores it.
        let versions = node.record.versions.load(Ordering::Relaxed);
        node.record.versions.store(versions + 1, Ordering::Relaxed);
        Ok(())
    }

    /// Lowers the downward region.
    #[inline]
    fn publish_low(&mut self, chains: &Chains, low: usize) {
        self.low = low;
        // Relaxed: a figure.
        chains.published.low.store((low / UNIT) as u32, Ordering::Relaxed);
    }
}

/// # Safety
/// `to` is followed by `bytes.len()` bytes that nobody else reads or writes.
#[inline]
unsafe fn copy(bytes: &[u8], to: NonNull<u8>) {
    // SAFETY: by the caller's promise; bytes the caller borrows cannot be free ones.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) }
}
