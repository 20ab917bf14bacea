//! The block cache: decoded sub-blocks and directories, by file number and offset.
//!
//! The replacement policy is `quick_cache`'s S3-FIFO, weighted by bytes. A hit clones one `Arc`.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use super::data_block::DataBlock;
use super::frame::Handle;
use super::index::Index;

/// What one entry costs beside its bytes: the cache's own bookkeeping and the allocation.
const ENTRY_OVERHEAD: usize = 96;

/// Counters a database spreads its hits over, so that readers do not share a cache line.
const STRIPES: usize = 8;

/// The cached blocks of a database's tables.
#[derive(Debug)]
pub struct BlockCache {
    /// `None` for a capacity of 0.
    blocks: Option<Blocks>,
    lookups: [Lookups; STRIPES],
}

type Blocks =
    Cache<BlockKey, CachedBlock, BlockWeight, BlockHash, DefaultLifecycle<BlockKey, CachedBlock>>;

/// What a cache holds.
#[derive(Clone, Debug)]
pub(super) enum CachedBlock {
    Data(DataBlock),
    Directory(Arc<Index>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BlockKey {
    file: u64,
    offset: u64,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Lookups {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl BlockCache {
    /// A cache of `capacity` bytes; 0 caches nothing.
    pub fn new(capacity: usize) -> BlockCache {
        let blocks = (capacity > 0).then(|| {
            let options = OptionsBuilder::new()
                .estimated_items_capacity((capacity / 4096).max(16))
                .weight_capacity(capacity as u64)
                .build()
                .expect("both capacities are given");
            Cache::with_options(options, BlockWeight, BlockHash, DefaultLifecycle::default())
        });
        BlockCache { blocks, lookups: Default::default() }
    }

    /// Blocks found.
    pub fn hits(&self) -> u64 {
        self.lookups.iter().map(|stripe| stripe.hits.load(Ordering::Relaxed)).sum()
    }

    /// Blocks looked for and not found.
    pub fn misses(&self) -> u64 {
        self.lookups.iter().map(|stripe| stripe.misses.load(Ordering::Relaxed)).sum()
    }

    /// Bytes cached now.
    pub fn used_bytes(&self) -> u64 {
        self.blocks.as_ref().map_or(0, |blocks| blocks.weight())
    }

    #[inline]
    pub(super) fn get(&self, file_number: u64, handle: Handle) -> Option<CachedBlock> {
        let found = self
            .blocks
            .as_ref()
            .and_then(|b| b.get(&BlockKey { file: file_number, offset: handle.offset }));
        let stripe = &self.lookups[(handle.offset >> 12) as usize % STRIPES];
        let counter = if found.is_some() { &stripe.hits } else { &stripe.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    pub(super) fn insert(&self, file_number: u64, handle: Handle, block: CachedBlock) {
        if let Some(blocks) = &self.blocks {
            blocks.insert(BlockKey { file: file_number, offset: handle.offset }, block);
        }
    }
}

#[derive(Clone, Debug)]
struct BlockWeight;

impl Weighter<BlockKey, CachedBlock> for BlockWeight {
    fn weight(&self, _: &BlockKey, block: &CachedBlock) -> u64 {
        let bytes = match block {
            CachedBlock::Data(block) => block.memory_bytes(),
            CachedBlock::Directory(index) => index.memory_bytes(),
        };
        (bytes + ENTRY_OVERHEAD) as u64
    }
}

/// Two multiplications: keys are two small numbers and no adversary's.
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
