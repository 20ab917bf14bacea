//! The books on memory: who has how much, and what has to give when it is too much.
//!
//! Three shares are fixed when the runtime is made: the block cache, the background work, and what
//! memtables may take. What is left, and what memtables do not take at the moment, is for the
//! indexes and filters of open tables, the least recently used of which are closed for what is
//! needed elsewhere.
//!
//! ```text
//! budget  ├ cache ┤ background ┤ memtables: filling │ sealed │ spare ┤ ◄── open tables ──►         ┤
//! ```
//!
//! Memtables of several databases share one share: when half of it is being filled, the database
//! that fills most is asked to seal. What readers pin of flushed memtables takes room from open
//! tables, but no write ever waits for it (H14).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use foldb_chains::{ArenaPool, Chains};

use crate::files::FilePool;
use crate::memory::{Gauge, MemoryUsage, WriteBuffer};
use crate::settings::MemoryShares;
use crate::table::BlockStore;

/// Bytes that all databases write between two looks at the books, at least.
const LOOK_BYTES: u64 = 64 << 10;

/// The same for each memtable that a look meets. A memtable takes 32 KiB from its first write on,
/// so the books lag by a small part of what they hold, and a look costs a write the same however
/// many memtables there are.
const LOOK_BYTES_EACH: u64 = 1 << 10;

/// What a new memtable counts as of written bytes.
const NEW_MEMTABLE_BYTES: u64 = 32 << 10;

/// Spare memory that stays where nobody writes.
const SPARE_AT_REST: usize = 1 << 20;

/// Who has which memory.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) shares: MemoryShares,
    pub(crate) arenas: Arc<ArenaPool>,
    pub(crate) blocks: Arc<BlockStore>,
    pub(crate) tables: Arc<FilePool>,
    /// What flushes and compactions take.
    pub(crate) background: Arc<Gauge>,
    /// Bytes written by all databases so far.
    written: AtomicU64,
    memtables: Mutex<Vec<Tracked>>,
    /// Memtables that looks at the books have met so far, for tests.
    #[cfg(test)]
    pub(super) met: AtomicU64,
    /// Bytes written when it was last time for a look.
    looked_at: AtomicU64,
    /// Bytes between two looks, by how many memtables the last one met.
    look_bytes: AtomicU64,
}

/// A memtable and its owner.
#[derive(Debug)]
struct Tracked {
    owner: u64,
    memtable: Weak<dyn WriteBuffer>,
    /// Its memory: may be there longer, for a value that lies in it.
    chains: Weak<Chains>,
}

/// What memtables take, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MemtableBytes {
    active: usize,
    sealed: usize,
    pinned: usize,
    /// In the pool while all the others were held: no arena is counted in two places.
    spare: usize,
}

/// What has to be done for the sake of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Balance {
    /// The database that should seal its memtables.
    pub(crate) seal: Option<u64>,
    /// Whether memtables take more than they may, so that writers should wait a little.
    pub(crate) is_over: bool,
}

impl Ledger {
    pub(crate) fn new(shares: MemoryShares) -> Ledger {
        let blocks = Arc::new(BlockStore::new(shares.cache));
        let ledger = Ledger {
            arenas: ArenaPool::new(shares.memtables.saturating_sub(shares.write_buffer)),
            tables: blocks.file_pool(shares.open_tables),
            blocks,
            background: Arc::default(),
            written: AtomicU64::new(0),
            memtables: Mutex::default(),
            #[cfg(test)]
            met: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
            look_bytes: AtomicU64::new(LOOK_BYTES),
            shares,
        };
        ledger.tables.set_room(ledger.room(0));
        ledger
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Tracked>> {
        self.memtables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a new memtable of a database.
    pub(crate) fn track<B: WriteBuffer + 'static>(&self, owner: u64, memtable: &Arc<B>) {
        let chains = Arc::downgrade(memtable.chains());
        let memtable: Weak<B> = Arc::downgrade(memtable);
        self.written.fetch_add(NEW_MEMTABLE_BYTES, Ordering::Relaxed);
        self.lock().push(Tracked { owner, memtable, chains });
    }

    /// Notes so many bytes of writes. Whether it is time to look at the books again: for one of all
    /// who write.
    pub(crate) fn wrote(&self, bytes: u64) -> bool {
        let written = self.written.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let looked_at = self.looked_at.load(Ordering::Relaxed);
        let is_due = written.saturating_sub(looked_at) >= self.look_bytes.load(Ordering::Relaxed);
        is_due
            && self
                .looked_at
                .compare_exchange(looked_at, written, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Gives back what is spare and closes open tables until all fits, and says what else must be
    /// done. Cheap enough for every few hundred writes. `log_bytes` is what the logs of all
    /// databases take, which is asked where there are several: they come out of the memtables'
    /// share.
    pub(crate) fn balance(&self, log_bytes: impl Fn() -> usize) -> Balance {
        let (bytes, largest, is_shared) = self.memtable_bytes();
        let in_use = bytes.active + bytes.sealed;
        let most = self.shares.memtables;
        let share = if is_shared { most.saturating_sub(log_bytes()).max(most / 4) } else { most };
        let spare = share.min(self.shares.with_spare).saturating_sub(in_use);
        if self.arenas.pooled_bytes() > spare {
            self.arenas.trim(spare);
        }
        let taken = most - share + in_use + bytes.pinned + self.arenas.pooled_bytes();
        self.tables.set_room(self.room(taken));
        // One database alone keeps to its own write buffers.
        Balance {
            seal: largest.filter(|_| is_shared && bytes.active > share / 2),
            is_over: is_shared && in_use > share,
        }
    }

    /// Gives back what is spare if nobody writes: all that was written is in tables.
    pub(crate) fn rest(&self) {
        // Dropped after the lock: the last holder of a memtable gives its memory back.
        let memtables: Vec<_> =
            self.lock().iter().filter_map(|tracked| tracked.memtable.upgrade()).collect();
        let is_flushed = |memtable: &Arc<dyn WriteBuffer>| {
            let is_used = memtable.is_active() || memtable.is_waiting();
            !is_used || memtable.is_empty()
        };
        let are_flushed = memtables.iter().all(is_flushed);
        drop(memtables);
        if are_flushed {
            self.arenas.trim(SPARE_AT_REST);
        }
    }

    /// What indexes and filters may take beside so many bytes of memtables.
    fn room(&self, memtables: usize) -> usize {
        let shares = &self.shares;
        let fixed = shares.cache + shares.background + memtables;
        shares.budget.saturating_sub(fixed).max(shares.tables)
    }

    /// What memtables take, the database that fills most, and whether there are several.
    fn memtable_bytes(&self) -> (MemtableBytes, Option<u64>, bool) {
        let mut bytes = MemtableBytes::default();
        let mut filling: Vec<(u64, usize)> = Vec::new();
        // Dropped after the lock: the last holder of a memtable gives its memory back.
        let mut held = Vec::new();
        let mut tracked = self.lock();
        let is_shared = tracked.iter().any(|other| other.owner != tracked[0].owner);
        tracked.retain(|Tracked { owner, memtable, chains }| {
            let Some(chains) = chains.upgrade() else { return false };
            let memtable = memtable.upgrade();
            let ranges = memtable.as_ref().map_or(0, |memtable| memtable.bytes_beside_chains());
            let size = chains.bytes_resident() + ranges;
            match &memtable {
                Some(memtable) if memtable.is_active() => {
                    bytes.active += size;
                    match filling.iter_mut().find(|(other, _)| other == owner) {
                        Some((_, filled)) => *filled += size,
                        None => filling.push((*owner, size)),
                    }
                }
                Some(memtable) if memtable.is_waiting() => bytes.sealed += size,
                _ => bytes.pinned += size,
            }
            held.push((memtable, chains));
            true
        });
        let each = LOOK_BYTES_EACH * tracked.len() as u64;
        self.look_bytes.store(each.max(LOOK_BYTES), Ordering::Relaxed);
        #[cfg(test)]
        self.met.fetch_add(tracked.len() as u64, Ordering::Relaxed);
        drop(tracked);
        bytes.spare = self.arenas.pooled_bytes();
        let largest = filling.into_iter().max_by_key(|&(_, filled)| filled);
        (bytes, largest.map(|(owner, _)| owner), is_shared)
    }

    /// All items but the logs.
    pub(crate) fn usage(&self) -> MemoryUsage {
        let (memtables, ..) = self.memtable_bytes();
        MemoryUsage {
            budget: self.shares.budget as u64,
            active_memtables: memtables.active as u64,
            sealed_memtables: memtables.sealed as u64,
            pinned_memtables: memtables.pinned as u64,
            spare_memtables: memtables.spare as u64,
            block_cache: self.blocks.used_bytes(),
            indexes: self.blocks.indexes.get() as u64,
            filters: self.blocks.filters.get() as u64,
            background: self.background.get() as u64,
            logs: 0,
        }
    }
}
