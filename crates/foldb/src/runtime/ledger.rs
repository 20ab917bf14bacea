//! The memory ledger: how much memory each part of the engine holds, and which part must release
//! some.
//!
//! A runtime fixes three shares when it is made: the block cache, the background work, and the
//! limit of memtables. The rest, and what memtables do not use at the moment, is for the indexes
//! and filters of open tables. If another part needs memory, the least recently used of these
//! tables are closed.
//!
//! ```text
//! budget  ├ cache ┤ background ┤ memtables: filling │ sealed │ spare ┤ ◄── open tables ──►    ┤
//! ```
//!
//! Memtables of several databases use one share, and memory that the program reserves takes from
//! it. When half of the share is being filled, the ledger asks the database that fills most to
//! seal. Flushed memtables that readers pin take room from open tables, but no write ever waits for
//! them (H14).
//!
//! All accesses of its counters are `Relaxed`: they decide when a check is due, and the exchange
//! gives it to one writer. The check itself takes a lock, and counts the memtables anew.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use foldb_chains::{ArenaPool, Chains};

use crate::files::FilePool;
use crate::locks::rank::MEMTABLES;
use crate::locks::{Lock, LockGuard};
use crate::memory::{Gauge, MemoryUsage, WriteBuffer};
use crate::settings::MemoryShares;
use crate::table::BlockStore;

/// Fewest bytes that all databases together write between two checks of the ledger.
const LOOK_BYTES: u64 = 64 << 10;

/// Fewest bytes between two checks for each memtable that a check visits. With them, the cost of
/// checks per write does not depend on the number of memtables. A memtable takes 32 KiB from its
/// first write on, so the ledger misses only a small part of what it counts.
const LOOK_BYTES_EACH: u64 = 1 << 10;

/// The written bytes that a new memtable counts as.
const NEW_MEMTABLE_BYTES: u64 = 32 << 10;

/// Spare memory that stays while there are no writes.
const SPARE_AT_REST: usize = 1 << 20;

/// The memory ledger of a runtime.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) shares: MemoryShares,
    pub(crate) arenas: Arc<ArenaPool>,
    pub(crate) blocks: Arc<BlockStore>,
    pub(crate) tables: Arc<FilePool>,
    /// Memory of flushes and compactions.
    pub(crate) background: Arc<Gauge>,
    /// Memory of open transactions.
    pub(crate) transactions: Arc<Gauge>,
    /// Memory of the program's own, which counts in the memtables' share.
    pub(crate) reserved: Arc<Gauge>,
    /// Bytes written by all databases so far.
    written: AtomicU64,
    memtables: Lock<Vec<Tracked>, MEMTABLES>,
    /// Memtables that checks of the ledger have visited so far, for tests.
    #[cfg(test)]
    pub(super) met: AtomicU64,
    /// Bytes written at the last check.
    looked_at: AtomicU64,
    /// Bytes between two checks, by how many memtables the last one visited.
    look_bytes: AtomicU64,
}

/// A memtable and its owner.
#[derive(Debug)]
struct Tracked {
    owner: u64,
    memtable: Weak<dyn WriteBuffer>,
    /// The memtable's memory. It outlives the memtable while a reader holds a value that lies in
    /// it.
    chains: Weak<Chains>,
}

/// Memory of memtables, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MemtableBytes {
    active: usize,
    sealed: usize,
    pinned: usize,
    /// Bytes in the pool of spare arenas. The pool is counted last, while the ledger still holds
    /// all counted memtables. So none of their arenas is in the pool, and no arena counts twice.
    spare: usize,
}

/// What to do to keep within the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Balance {
    /// The database that should seal its memtables.
    pub(crate) seal: Option<u64>,
    /// Whether memtables exceed their share, so that writers should wait a little.
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
            transactions: Arc::default(),
            reserved: Arc::default(),
            written: AtomicU64::new(0),
            memtables: Lock::default(),
            #[cfg(test)]
            met: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
            look_bytes: AtomicU64::new(LOOK_BYTES),
            shares,
        };
        ledger.tables.set_room(ledger.room(0));
        ledger
    }

    fn lock(&self) -> LockGuard<'_, Vec<Tracked>, MEMTABLES> {
        self.memtables.lock()
    }

    /// Adds a new memtable of a database.
    pub(crate) fn track<B: WriteBuffer + 'static>(&self, owner: u64, memtable: &Arc<B>) {
        let chains = Arc::downgrade(memtable.chains());
        let memtable: Weak<B> = Arc::downgrade(memtable);
        self.written.fetch_add(NEW_MEMTABLE_BYTES, Ordering::Relaxed);
        self.lock().push(Tracked { owner, memtable, chains });
    }

    /// Adds this many written bytes. Returns whether a check of the ledger is due; only one of the
    /// writers gets `true`.
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

    /// Frees spare memory and closes open tables until everything fits, and returns what else must
    /// be done. It is cheap enough for every few hundred writes. `log_bytes` returns the memory of
    /// the logs of all databases. It is called only for several databases: their logs then count in
    /// the memtables' share.
    pub(crate) fn balance(&self, log_bytes: impl Fn() -> usize) -> Balance {
        let (bytes, largest, has_several) = self.memtable_bytes();
        let in_use = bytes.active + bytes.sealed;
        let most = self.shares.memtables;
        let reserved = self.reserved.get();
        let is_shared = has_several || reserved > 0;
        let logs = if has_several { log_bytes() } else { 0 };
        let share = most.saturating_sub(logs + reserved).max(most / 4);
        let spare = share.min(self.shares.with_spare).saturating_sub(in_use);
        if self.arenas.pooled_bytes() > spare {
            self.arenas.trim(spare);
        }
        let taken = most - share + in_use + bytes.pinned + self.arenas.pooled_bytes();
        self.tables.set_room(self.room(taken));
        // A single database that shares with nothing keeps to its own write buffers.
        Balance {
            seal: largest.filter(|_| is_shared && bytes.active > share / 2),
            is_over: is_shared && in_use > share,
        }
    }

    /// Frees spare memory while there are no writes and tables hold all earlier ones.
    pub(crate) fn rest(&self) {
        // Dropped after the lock: the last holder of a memtable releases its memory.
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

    /// Returns the bytes that indexes and filters may use beside this many bytes of memtables.
    fn room(&self, memtables: usize) -> usize {
        let shares = &self.shares;
        let others = shares.cache.saturating_add(shares.background);
        let fixed = others.saturating_add(memtables);
        shares.budget.saturating_sub(fixed).max(shares.tables)
    }

    /// Returns the bytes of memtables, the database that fills most, and whether there are several.
    fn memtable_bytes(&self) -> (MemtableBytes, Option<u64>, bool) {
        let mut bytes = MemtableBytes::default();
        let mut filling: Vec<(u64, usize)> = Vec::new();
        // Dropped after the lock: the last holder of a memtable releases its memory.
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

    /// Returns all items except the logs.
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
            transactions: self.transactions.get() as u64,
            reserved: self.reserved.get() as u64,
        }
    }
}
