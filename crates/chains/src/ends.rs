//! Puts records into the arena: nodes from its start, versions from the end of the records.
//!
//! Invariant: a record is written completely, into bytes that no reader knows, before the Release
//! store that publishes it. Of a published version only a value of 8 bytes changes, as one word,
//! and only while the version is the newest and no folded one stands for it.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::chains::{Chains, Index};
use crate::gone::gone_at;
use crate::index::IndexGrowth;
use crate::layout::{
    DELETED, FOLDED_EXTRA, IN_NODE, NODE, NOT_FOLDED, NodeRecord, PAYLOAD, Placement, SPELLING,
    Spelling, UNIT, VERSION, VersionRecord, round_up, version_bytes,
};
use crate::node::Node;
use crate::planted::{Fault, planted};
use crate::skiplist::Towers;
use crate::sync::{AtomicU32, Ordering, Word, Written};
use crate::writer::{FoldWord, Full, folded_bytes_needed};

/// The ends of the written regions of the arena.
pub(crate) struct Ends {
    pub(crate) growth: Growth,
    /// Length of the key list.
    pub(crate) nodes: u32,
    /// Lowest byte of the downward region.
    low: usize,
    pub(crate) records: u64,
    /// Sequence number of the last range delete.
    pub(crate) covered: u64,
}

/// The writer's part of the index.
pub(crate) enum Growth {
    Hashed(IndexGrowth),
    Ordered(Towers),
}

impl Growth {
    /// Returns where the index ends, in bytes of the arena.
    pub(crate) fn used_until(&self) -> usize {
        match self {
            Growth::Hashed(growth) => growth.used_until(),
            Growth::Ordered(towers) => towers.used_until(),
        }
    }
}

/// The part of a version that a write lays on a chain.
#[derive(Clone, Copy)]
pub(crate) struct Payload<'a> {
    pub(crate) seqno_kind: u64,
    pub(crate) operator: u32,
    pub(crate) value: &'a [u8],
}

/// The versions that a folded version stands for.
#[derive(Clone, Copy)]
pub(crate) struct Folded {
    /// The newest version below.
    pub(crate) below: u32,
    /// The newest version it stands for.
    pub(crate) unfolded: u32,
    /// The oldest one's sequence number, and the level.
    pub(crate) first_level: u64,
}

/// Folds a record into the newest version of a node. Returns whether that was possible. This is
/// most of the work of a merge into a hot counter, and some builds left it out of line.
#[inline(always)]
pub(crate) fn fold_in_place(
    node: Node<'_>,
    payload: &Payload<'_>,
    floor: u64,
    fold: impl FoldWord,
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
        match fold.fold(word.load(at)) {
            Some(folded) => word.store(at, folded),
            None => return false,
        }
    }
    true
}

impl Ends {
    /// Begins with an empty arena, whose records end at `low`.
    pub(crate) fn new(growth: Growth, low: usize) -> Ends {
        Ends { growth, nodes: 0, low, records: 0, covered: 0 }
    }

    /// Returns the bytes between the two regions.
    fn free(&self) -> usize {
        self.low - self.nodes as usize * NODE
    }

    /// Adds a key that has no node yet, and returns its number. The caller publishes it.
    #[inline]
    pub(crate) fn push_node(
        &mut self,
        chains: &Chains,
        key: &[u8],
        payload: Payload<'_>,
    ) -> Result<u32, Full> {
        let key_len = u32::try_from(key.len()).map_err(|_| Full)?;
        let value_len = u32::try_from(payload.value.len()).map_err(|_| Full)?;
        let placement = Placement::of(key.len(), payload.value.len());
        let spill_bytes = placement.spill_bytes(key.len(), payload.value.len());
        if self.free() < NODE + spill_bytes {
            return Err(Full);
        }
        debug_assert_eq!(self.nodes, chains.nodes(), "each node is published before the next one");
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
        Ok(number)
    }

    /// Adds a version to a key. `spelling` is the key as it was written, if keys have spellings.
    /// Returns how many versions the key now has.
    #[inline]
    pub(crate) fn push_version(
        &mut self,
        node: Node<'_>,
        spelling: Option<&[u8]>,
        payload: Payload<'_>,
        number: u32,
    ) -> Result<u32, Full> {
        let value_len = u32::try_from(payload.value.len()).map_err(|_| Full)?;
        let parent = node.newest();
        let bytes = version_bytes(payload.value.len());
        let (at, low) = match spelling {
            None => {
                if self.free() < bytes {
                    return Err(Full);
                }
                (self.low - bytes, self.low - bytes)
            }
            Some(key) => self.push_spelling(node, parent, key, bytes)?,
        };
        // SAFETY: the writer made all links.
        let ((newest, depth), jump) =
            unsafe { (node.word_and_depth(parent), node.jump_for(parent)) };
        assert!(
            newest >> 8 < payload.seqno_kind >> 8,
            "sequence number {} is not above {}, the key's newest",
            payload.seqno_kind >> 8,
            newest >> 8
        );
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
        // SAFETY: [at, self.low) is free and at least as long as record and value together; no
        // other code knows these bytes yet, and there is no other writer.
        unsafe {
            let at = node.chains.arena.at(at);
            at.cast().write(record);
            copy(payload.value, at.add(VERSION));
        }
        let is_revived =
            gone_at(newest, self.covered).is_some() && payload.seqno_kind as u8 != DELETED;
        let is_early = planted(Fault::ReviveEarly);
        if is_revived && is_early {
            node.chains.revived.note(number);
        }
        self.publish_version(node, at, low);
        if is_revived && !is_early {
            node.chains.revived.note(number);
        }
        // Relaxed: for statistics, and only the writer stores it.
        let versions = node.record.versions.load(Ordering::Relaxed).wrapping_add(1);
        node.record.versions.store(versions, Ordering::Relaxed);
        Ok(versions)
    }

    /// Lays a folded version on a chain.
    pub(crate) fn push_folded(
        &mut self,
        node: Node<'_>,
        payload: Payload<'_>,
        folded: Folded,
    ) -> Result<(), Full> {
        let value_len = u32::try_from(payload.value.len()).map_err(|_| Full)?;
        let spelling = match &node.chains.index {
            Index::Hashed(_) => None,
            // SAFETY: the writer made all links.
            Index::Ordered(_) => Some(unsafe { node.own_spelling(folded.unfolded) }),
        };
        let front = if spelling.is_some() { SPELLING } else { 0 };
        let bytes = front + folded_bytes_needed(payload.value.len());
        if self.free() < bytes {
            return Err(Full);
        }
        // SAFETY: the writer made all links.
        let ((newest, depth), jump) =
            unsafe { (node.word_and_depth(folded.below), node.jump_for(folded.below)) };
        debug_assert!(
            newest >> 8 < folded.first_level >> 8
                && folded.first_level >> 8 <= payload.seqno_kind >> 8,
            "a folded record stands for the writes above the one below it (H3)"
        );
        let low = self.low - bytes;
        let at = low + front;
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
        // SAFETY: [low, self.low) is free and as long as record, extra words and value together; no
        // other code knows these bytes yet, and there is no other writer.
        unsafe {
            if let Some(spelling) = spelling {
                let word = spelling.map_or(Spelling::OF_NODE, Spelling::to_word);
                node.chains.arena.at(low).cast::<u64>().write(word);
            }
            let at = node.chains.arena.at(at);
            at.cast().write(record);
            at.add(VERSION).cast::<u64>().write(folded.first_level);
            copy(payload.value, at.add(VERSION + FOLDED_EXTRA));
        }
        self.publish_version(node, at, low);
        Ok(())
    }

    /// Writes the spelling of a version of `bytes`, unless the node or the newest version has the
    /// same. Returns where the version begins, and the lowest byte of both.
    fn push_spelling(
        &self,
        node: Node<'_>,
        newest: u32,
        key: &[u8],
        bytes: usize,
    ) -> Result<(usize, usize), Full> {
        let len = u32::try_from(key.len()).map_err(|_| Full)?;
        // SAFETY: the writer made all links.
        let (newest_key, known) = unsafe { (node.key_of(newest), node.own_spelling(newest)) };
        let known = match key {
            key if key == node.key() => Some(Spelling::OF_NODE),
            key if key == newest_key => known.map(Spelling::to_word),
            _ => None,
        };
        let key_bytes = if known.is_some() { 0 } else { round_up(key.len()) };
        if self.free() < SPELLING + bytes + key_bytes {
            return Err(Full);
        }
        let low = self.low - SPELLING - bytes - key_bytes;
        let key_at = self.low - key_bytes;
        let word =
            known.unwrap_or_else(|| Spelling { unit: (key_at / UNIT) as u32, len }.to_word());
        // SAFETY: [low, self.low) is free; no other code knows these bytes yet, and there is no
        // other writer.
        unsafe {
            node.chains.arena.at(low).cast::<u64>().write(word);
            if known.is_none() {
                copy(key, node.chains.arena.at(key_at));
            }
        }
        Ok((low + SPELLING, low))
    }

    /// Makes the version at byte `at` the newest of a node. `low` is the lowest byte written.
    #[inline]
    fn publish_version(&mut self, node: Node<'_>, at: usize, low: usize) {
        self.publish_low(node.chains, low);
        // Release: a thread that sees the link sees the whole version, and all it leads to.
        let order = if planted(Fault::RelaxedLink) { Ordering::Relaxed } else { Ordering::Release };
        node.record.newest.store((at / UNIT) as u32, order);
    }

    /// Lowers the downward region.
    #[inline]
    fn publish_low(&mut self, chains: &Chains, low: usize) {
        debug_assert!(
            low.is_multiple_of(UNIT) && low <= self.low && low >= self.nodes as usize * NODE,
            "values grow down in whole units, and do not meet the nodes"
        );
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
