//! The hash index: 256 shards that grow alone (H16).
//!
//! ```text
//! hash, 64 bits:   [ tag: high 32 ][        ][ shard: low 8 ]
//! slot, 64 bits:   [ tag ][ node number + 1 ], 0: vacant
//! ```
//!
//! A shard is an open-addressing table with linear probing, at most three quarters full. A key's
//! probe starts at the top bits of its tag, so growth needs no keys and copies front to back.
//! Growth doubles one shard in microseconds; growth of one big table would stop the writer for tens
//! of milliseconds. The old table does not change. So a reader in it finds every key that was there
//! when the reader loaded the table.
//!
//! Invariants: a shard word names a table whose slots are all initialised. A slot names a node that
//! is completely written. There is always a vacant slot, so a probe ends.

use crate::arena::Arena;
use crate::layout::UNIT;
use crate::prefetch::prefetch_value;
use crate::sync::{AtomicU64, Ordering};

// Under checkers, few keys must make a shard grow.
const SHARDS: usize = if cfg!(any(loom, miri)) { 2 } else { 256 };

const FIRST_SLOTS_LOG2: u32 = if cfg!(any(loom, miri)) { 1 } else { 4 };

const SLOT: usize = size_of::<AtomicU64>();

/// Returns the most keys in a table of this many slots.
const fn max_keys(slots: usize) -> usize {
    slots / 4 * 3 + slots % 4 / 2
}

/// Returns bytes that suffice for the tables of `nodes` keys, old tables included, whatever the
/// keys' hashes. A shard that grew to `c` slots has over 3/8 of `c` keys, and all its tables
/// together have less than `2 c`.
pub(crate) const fn bytes_for_nodes(nodes: usize) -> usize {
    (SHARDS * (2 << FIRST_SLOTS_LOG2) + nodes * 16 / 3 + 2) * SLOT
}

/// The table of a shard: its place, and its size as a power of two.
#[derive(Clone, Copy)]
struct Table {
    unit: u32,
    slots_log2: u32,
}

impl Table {
    fn to_word(self) -> u64 {
        u64::from(self.slots_log2) << 32 | u64::from(self.unit)
    }

    #[inline]
    fn from_word(word: u64) -> Table {
        Table { unit: word as u32, slots_log2: (word >> 32) as u32 }
    }

    fn len(self) -> usize {
        1 << self.slots_log2
    }

    /// # Safety
    /// All slots of the table are initialised, and visible to this thread.
    #[inline]
    unsafe fn slots(self, arena: &Arena) -> &[AtomicU64] {
        // SAFETY: tables lie inside the arena, aligned to units, and hold nothing but atomics.
        unsafe {
            let first = arena.at(self.unit as usize * UNIT).cast::<AtomicU64>();
            std::slice::from_raw_parts(first.as_ptr(), self.len())
        }
    }

    /// Returns where the probe for `tag` begins.
    #[inline]
    fn start(self, tag: u32) -> usize {
        (tag >> (32 - self.slots_log2)) as usize
    }
}

#[inline]
fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[inline]
fn shard_of(hash: u64) -> usize {
    hash as usize % SHARDS
}

/// The end of a probe.
pub(crate) enum Probe<'a> {
    /// The key's node.
    Found(u32),
    /// The slot where the key would be.
    Vacant(&'a AtomicU64),
}

/// The shards.
pub(crate) struct HashIndex {
    shards: Box<[AtomicU64]>,
}

/// The part of the index that only the writer needs.
pub(crate) struct IndexGrowth {
    keys: Box<[u32]>,
    /// Start of the space left for tables.
    next: usize,
    end: usize,
}

impl HashIndex {
    /// Makes empty shards, with their tables in `[start, end)` of the arena.
    ///
    /// # Safety
    /// That part of the arena is initialised and written by this index only; `start` is a
    /// multiple of a unit.
    pub(crate) unsafe fn new(arena: &Arena, start: usize, end: usize) -> (HashIndex, IndexGrowth) {
        let mut growth = IndexGrowth { keys: vec![0; SHARDS].into(), next: start, end };
        let shards = (0..SHARDS)
            .map(|_| AtomicU64::new(growth.new_table(arena, FIRST_SLOTS_LOG2).to_word()))
            .collect();
        (HashIndex { shards }, growth)
    }

    /// Finds a key of this hash for whose node `is_key` returns true.
    #[inline]
    pub(crate) fn probe<'a>(
        &self,
        arena: &'a Arena,
        hash: u64,
        mut is_key: impl FnMut(u32) -> bool,
    ) -> Probe<'a> {
        // Acquire: pairs with the Release in `grow`, so the table's slots are initialised here.
        let table = Table::from_word(self.shards[shard_of(hash)].load(Ordering::Acquire));
        // SAFETY: a shard word names an initialised table, and this thread acquired the word.
        let slots = unsafe { table.slots(arena) };
        let tag = tag_of(hash);
        let mut at = table.start(tag);
        loop {
            // Acquire: pairs with the Release in `fill`, so the node is completely written here.
            let slot = slots[at].load(Ordering::Acquire);
            if slot == 0 {
                return Probe::Vacant(&slots[at]);
            }
            if (slot >> 32) as u32 == tag && is_key(slot as u32 - 1) {
                return Probe::Found(slot as u32 - 1);
            }
            at = (at + 1) & (slots.len() - 1);
        }
    }

    /// Prefetches the slot where the probe for a hash begins.
    #[inline]
    pub(crate) fn prefetch(&self, arena: &Arena, hash: u64) {
        // Acquire: as in `probe`.
        let table = Table::from_word(self.shards[shard_of(hash)].load(Ordering::Acquire));
        // SAFETY: as in `probe`.
        let slots = unsafe { table.slots(arena) };
        prefetch_value(&slots[table.start(tag_of(hash))]);
    }

    /// Makes `node` findable: `vacant` is where the probe for `hash` ended. Only the writer calls
    /// this, with a node that is completely written.
    #[inline]
    pub(crate) fn fill(
        &self,
        arena: &Arena,
        growth: &mut IndexGrowth,
        hash: u64,
        node: u32,
        vacant: &AtomicU64,
    ) {
        let shard = shard_of(hash);
        let slot = u64::from(tag_of(hash)) << 32 | u64::from(node + 1);
        // Relaxed: only the writer stores to shard words, and this is the writer.
        let table = Table::from_word(self.shards[shard].load(Ordering::Relaxed));
        growth.keys[shard] += 1;
        if growth.keys[shard] as usize <= max_keys(table.len()) {
            // Release: a thread that sees the slot sees the whole node.
            vacant.store(slot, Ordering::Release);
        } else {
            self.grow(arena, growth, shard, table, slot);
        }
    }

    /// Gives the shard a table of twice the size, with `new_slot` in it.
    #[cold]
    fn grow(
        &self,
        arena: &Arena,
        growth: &mut IndexGrowth,
        shard: usize,
        old: Table,
        new_slot: u64,
    ) {
        let table = growth.new_table(arena, old.slots_log2 + 1);
        // SAFETY: the writer initialised both, the one long ago, the other just now.
        let (from, to) = unsafe { (old.slots(arena), table.slots(arena)) };
        // Relaxed: the writer made all slots, and the shard word below publishes the copies.
        let from = from.iter().map(|slot| slot.load(Ordering::Relaxed)).filter(|&slot| slot != 0);
        for slot in from.chain([new_slot]) {
            let mut at = table.start((slot >> 32) as u32);
            while to[at].load(Ordering::Relaxed) != 0 {
                at = (at + 1) & (to.len() - 1);
            }
            to[at].store(slot, Ordering::Relaxed);
        }
        // Release: a thread that sees the word sees all slots, and the nodes that they name.
        self.shards[shard].store(table.to_word(), Ordering::Release);
        debug_assert!(
            growth.keys[shard] as usize <= max_keys(table.len()),
            "a probe ends at a vacant slot"
        );
    }
}

impl IndexGrowth {
    /// Returns where the tables end.
    pub(crate) fn used_until(&self) -> usize {
        self.next
    }

    /// Makes a table of vacant slots that no shard uses yet.
    fn new_table(&mut self, arena: &Arena, slots_log2: u32) -> Table {
        let bytes = SLOT << slots_log2;
        assert!(bytes <= self.end - self.next, "slot tables outgrew their part of the arena");
        let table = Table { unit: (self.next / UNIT) as u32, slots_log2 };
        for slot in 0..table.len() {
            // SAFETY: inside the part of the arena that is the index's, and handed out just now, so
            // no other code knows it; aligned to units.
            unsafe {
                arena.at(self.next + slot * SLOT).cast::<AtomicU64>().write(AtomicU64::new(0));
            }
        }
        self.next += bytes;
        table
    }
}
