//! The block cache: decoded sub-blocks and directories, by database, file number and offset.
//!
//! The replacement policy is `quick_cache`'s S3-FIFO, weighted by bytes. A hit clones one `Arc`. A
//! table finds most of its blocks without the cache, through its [`Slots`](super::slots). The first
//! such find since the cache last looked for a block to evict counts as a use.
//! Several databases may share one [`BlockStore`]. Each uses it through its own [`BlockCache`],
//! which counts its hits. Two databases may use the same file number, so a block's key holds the
//! database's number too.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldb_env::Process;
use quick_cache::sync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, Weighter};
use smallvec::SmallVec;

use crate::counters::Striped;
use crate::files::FilePool;
use crate::memory::Gauge;
use crate::table::custom_cache::{Custom, CustomCache};
use crate::table::frame::Handle;
use crate::table::index::Index;
use crate::table::kept_block::KeptBlock;

/// Overhead of one entry: the cache's own bookkeeping and the allocation.
const ENTRY_OVERHEAD: usize = 96;

/// The blocks of all tables that share a cache, and the memory of those tables' indexes and
/// filters.
#[derive(Debug)]
pub struct BlockStore {
    /// `None` for a capacity of 0.
    blocks: Option<Blocks>,
    /// The number of the next database.
    next_database: AtomicU64,
    /// Bytes of the indexes and properties of open tables.
    pub(crate) indexes: Arc<Gauge>,
    /// Bytes of the filters of open tables.
    pub(crate) filters: Arc<Gauge>,
}

/// The block cache as one database sees it.
#[derive(Debug)]
pub struct BlockCache {
    store: Arc<BlockStore>,
    /// The process that fills the cache. A fork reads without it.
    process: Process,
    /// Tells its files from files of other databases with the same numbers.
    database: u64,
    /// The caller's cache, which has the blocks in place of the store.
    custom: Option<Custom>,
    hits: Striped,
    misses: Striped,
}

type Blocks = Cache<BlockKey, CachedBlock, BlockWeight, BlockHash, Release>;

/// A cached block.
#[derive(Clone, Debug)]
pub(super) enum CachedBlock {
    Data(Arc<KeptBlock>),
    Directory(Arc<Index>),
}

impl CachedBlock {
    /// Returns the bytes of memory that the block takes in a cache.
    fn charge(&self) -> usize {
        let bytes = match self {
            CachedBlock::Data(block) => block.memory_bytes(),
            CachedBlock::Directory(index) => index.memory_bytes(),
        };
        bytes + ENTRY_OVERHEAD
    }

    /// Takes a block that left the cache out of its slot.
    fn unsettle(&self) {
        if let CachedBlock::Data(block) = self {
            block.unsettle();
        }
    }
}

/// What happens to a block that the cache evicts, or might.
#[derive(Clone, Debug)]
struct Release;

impl Lifecycle<BlockKey, CachedBlock> for Release {
    type RequestState = SmallVec<[CachedBlock; 2]>;

    /// The cache asks this of each block that it looks at. A block is never pinned, but its next
    /// use counts again.
    #[inline]
    fn is_pinned(&self, _: &BlockKey, block: &CachedBlock) -> bool {
        if let CachedBlock::Data(block) = block {
            block.forget_uses();
        }
        false
    }

    fn begin_request(&self) -> Self::RequestState {
        SmallVec::new()
    }

    fn on_evict(&self, evicted: &mut Self::RequestState, _: BlockKey, block: CachedBlock) {
        evicted.push(block);
    }

    /// Releases the evicted blocks when the cache's lock is free again.
    fn end_request(&self, evicted: Self::RequestState) {
        evicted.iter().for_each(CachedBlock::unsettle);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BlockKey {
    database: u64,
    file: u64,
    offset: u64,
}

impl Hash for BlockKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.file ^ self.database.rotate_left(32));
        state.write_u64(self.offset);
    }
}

impl BlockStore {
    /// Makes a store of `capacity` bytes; 0 caches nothing.
    pub fn new(capacity: usize) -> BlockStore {
        let blocks = (capacity > 0).then(|| {
            let options = OptionsBuilder::new()
                .estimated_items_capacity((capacity / 4096).max(16))
                .weight_capacity(capacity as u64)
                .build()
                .expect("both capacities are given");
            Cache::with_options(options, BlockWeight, BlockHash, Release)
        });
        let (indexes, filters) = (Arc::default(), Arc::default());
        BlockStore { blocks, next_database: AtomicU64::new(1), indexes, filters }
    }

    /// Makes a pool of at most `limit` open files. This store counts their indexes and filters.
    pub(crate) fn file_pool(&self, limit: usize) -> Arc<FilePool> {
        Arc::new(FilePool::new(Arc::clone(&self.indexes), Arc::clone(&self.filters), limit))
    }

    /// Returns the bytes cached now, of all databases.
    pub fn used_bytes(&self) -> u64 {
        self.blocks.as_ref().map_or(0, |blocks| blocks.weight())
    }
}

impl BlockCache {
    /// Makes a cache with its own store of `capacity` bytes; 0 caches nothing.
    #[cfg(any(test, feature = "internals"))]
    pub fn new(capacity: usize) -> BlockCache {
        BlockCache::sharing(&Arc::new(BlockStore::new(capacity)))
    }

    /// Makes the view of one more database on a store.
    pub fn sharing(store: &Arc<BlockStore>) -> BlockCache {
        BlockCache::in_either(store, None)
    }

    /// Makes the view of one more database on the caller's cache, or on the store without one.
    pub(crate) fn in_either(
        store: &Arc<BlockStore>,
        custom: Option<&Arc<dyn CustomCache>>,
    ) -> BlockCache {
        // Relaxed: the addition gives each number once, and no other memory follows from it.
        let database = store.next_database.fetch_add(1, Ordering::Relaxed);
        let custom = custom.map(Custom::new);
        let (store, process) = (Arc::clone(store), Process::current());
        let (hits, misses) = (Striped::default(), Striped::default());
        BlockCache { store, process, database, custom, hits, misses }
    }

    /// Returns the store that it shares with other databases.
    pub(crate) fn store(&self) -> &Arc<BlockStore> {
        &self.store
    }

    /// Drops the blocks of this database when it is closed.
    pub(crate) fn clear(&self) {
        if let Some(blocks) = &self.store.blocks {
            blocks.retain(|key, block| {
                let stays = key.database != self.database;
                if !stays {
                    block.unsettle();
                }
                stays
            });
        }
    }

    /// Returns the number of blocks found.
    pub fn hits(&self) -> u64 {
        self.hits.get()
    }

    /// Returns the number of blocks looked up and not found.
    pub fn misses(&self) -> u64 {
        self.misses.get()
    }

    /// Returns the bytes cached now, including those of other databases that share the store.
    #[cfg(test)]
    pub fn used_bytes(&self) -> u64 {
        self.store.used_bytes()
    }

    #[inline]
    fn key(&self, file: u64, handle: Handle) -> BlockKey {
        BlockKey { database: self.database, file, offset: handle.offset }
    }

    #[inline]
    pub(super) fn get(&self, file_number: u64, handle: Handle) -> Option<CachedBlock> {
        if !self.process.is_current() {
            // A thread that the fork does not have may have held a lock of the cache.
            return None;
        }
        let found = match &self.custom {
            None => {
                let blocks = self.store.blocks.as_ref();
                blocks.and_then(|blocks| blocks.get(&self.key(file_number, handle)))
            }
            Some(custom) => custom.get(file_number, handle),
        };
        match found {
            Some(_) => self.hits.add(1),
            None => self.misses.add(1),
        }
        found
    }

    /// Returns whether tables keep slots for the cache's blocks. A caller's cache does not say when
    /// it drops a block.
    pub(super) fn has_slots(&self) -> bool {
        self.custom.is_none() && self.store.blocks.is_some()
    }

    /// Counts a block that a read found in its slot.
    #[inline]
    pub(super) fn note_use(
        &self,
        file_number: u64,
        handle: impl FnOnce() -> Handle,
        block: &KeptBlock,
    ) {
        self.hits.add(1);
        if block.note_use() {
            self.refresh(file_number, handle());
        }
    }

    /// Uses a block, which then stays longer.
    #[cold]
    fn refresh(&self, file_number: u64, handle: Handle) {
        if let (Some(blocks), true) = (&self.store.blocks, self.process.is_current()) {
            let _used = blocks.get(&self.key(file_number, handle));
        }
    }

    /// Puts a block that was found in the cache into its slot, unless the cache drops it meanwhile.
    pub(super) fn settle(&self, file_number: u64, handle: Handle, block: &Arc<KeptBlock>) {
        block.settle();
        if !self.keeps(file_number, handle, block) {
            block.unsettle();
        }
    }

    /// Returns whether the cache has this very block.
    pub(super) fn keeps(&self, file_number: u64, handle: Handle, block: &Arc<KeptBlock>) -> bool {
        let blocks = self.store.blocks.as_ref().filter(|_| self.process.is_current());
        let kept = blocks.and_then(|blocks| blocks.peek(&self.key(file_number, handle)));
        matches!(kept, Some(CachedBlock::Data(kept)) if Arc::ptr_eq(&kept, block))
    }

    pub(super) fn insert(&self, file_number: u64, handle: Handle, block: CachedBlock) {
        if !self.process.is_current() {
            return;
        }
        if let Some(custom) = &self.custom {
            let charge = block.charge();
            custom.insert(file_number, handle, block, charge);
        } else if let Some(blocks) = &self.store.blocks {
            blocks.insert(self.key(file_number, handle), block);
        }
    }
}

#[derive(Clone, Debug)]
struct BlockWeight;

impl Weighter<BlockKey, CachedBlock> for BlockWeight {
    fn weight(&self, _: &BlockKey, block: &CachedBlock) -> u64 {
        block.charge() as u64
    }
}

/// Hashes with two multiplications: keys are two small numbers, and no adversary chooses them.
#[derive(Clone, Debug)]
struct BlockHash;

struct BlockHasher(u64);

impl BuildHasher for BlockHash {
    type Hasher = BlockHasher;

    #[inline]
    fn build_hasher(&self) -> BlockHasher {
        BlockHasher(0)
    }
}

impl Hasher for BlockHasher {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        let wide = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = wide as u64 ^ (wide >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
