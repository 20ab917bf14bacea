//! The slots of a table: its cached sub-blocks, by their places in the top index. A read that finds
//! its sub-block there needs no lookup in the cache.
//!
//! ```text
//! top index   [ .. k ][ .. p ][ .. z ]
//! slots       [ block][      ][ block]   each block is also in the cache
//! ```
//!
//! The cache owns the blocks: it counts their memory and evicts them. A slot only refers to one. A
//! block comes into its slot when a read first finds it in the cache, so blocks that are read once
//! cost nothing here.
//!
//! Invariant: a block that the cache does not have leaves its slot. The cache takes each block that
//! it drops out of its slot. A reader that puts a block into a slot looks afterwards whether the
//! cache still has the block. Whichever of the two comes second takes the block out. A slot is
//! emptied only of the block that it was asked to drop.

use std::ops::Deref;
use std::sync::{Arc, Weak};

use arc_swap::{ArcSwapOption, Guard};
use foldb_chains::prefetch_value;

use crate::table::kept_block::KeptBlock;

/// The slots of one open table.
#[derive(Debug)]
pub(super) struct Slots(Box<[ArcSwapOption<KeptBlock>]>);

impl Slots {
    /// Makes `len` empty slots.
    pub(super) fn new(len: usize) -> Slots {
        Slots((0..len).map(|_| ArcSwapOption::empty()).collect())
    }

    /// Returns the block in a slot, and prefetches it. The loan counts no reference that other
    /// threads share.
    #[inline]
    pub(super) fn lend(&self, place: usize) -> Option<Lent> {
        let guard = self.0.get(place)?.load();
        prefetch_value(&**guard.as_ref()?);
        Some(Lent(guard))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the filled slots with their places.
    #[cfg(test)]
    pub(super) fn filled(&self) -> impl Iterator<Item = (usize, Arc<KeptBlock>)> {
        self.0.iter().enumerate().filter_map(|(place, slot)| Some((place, slot.load_full()?)))
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // To drop a slot takes some locked instructions for each thread of the process. An empty
        // one holds nothing.
        for slot in std::mem::take(&mut self.0) {
            if slot.load().is_none() {
                std::mem::forget(slot);
            }
        }
    }
}

/// A block on loan from its slot.
#[derive(Debug)]
pub(super) struct Lent(Guard<Option<Arc<KeptBlock>>>);

impl Deref for Lent {
    type Target = KeptBlock;

    #[inline]
    fn deref(&self) -> &KeptBlock {
        self.0.as_ref().expect("a loan is of a filled slot")
    }
}

/// The slot of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Home {
    /// Gone once the table is closed. The block then stays in the cache, where the next open of the
    /// table finds it.
    slots: Weak<Slots>,
    place: u32,
}

impl Home {
    /// Returns the home at a place of the top index. Tables without slots have none.
    pub(super) fn new(slots: &Arc<Slots>, place: usize) -> Home {
        match u32::try_from(place) {
            Ok(at) if place < slots.len() => Home { slots: Arc::downgrade(slots), place: at },
            _ => Home::default(),
        }
    }

    /// Returns whether the slot is one of these.
    pub(super) fn is_among(&self, slots: &Arc<Slots>) -> bool {
        std::ptr::eq(self.slots.as_ptr(), Arc::as_ptr(slots))
    }

    pub(super) fn put(&self, block: &Arc<KeptBlock>) {
        if let Some(slots) = self.slots.upgrade() {
            slots.0[self.place as usize].store(Some(Arc::clone(block)));
        }
    }

    pub(super) fn remove(&self, block: &Arc<KeptBlock>) {
        if let Some(slots) = self.slots.upgrade() {
            slots.0[self.place as usize].compare_and_swap(block, None);
        }
    }
}
