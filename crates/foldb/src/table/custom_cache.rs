//! A block cache of the caller's own, in place of the built-in one.
//!
//! ```text
//! key of a block: number of the database, number of the file, offset   (8 bytes each)
//! ```
//!
//! Invariant: no two open databases have the same number in one cache, because the cache gives out
//! the numbers.

use std::fmt::{self, Debug};
use std::sync::Arc;

use crate::table::cache::CachedBlock;
use crate::table::frame::Handle;

/// A cached block. Clones share the block.
#[derive(Clone)]
pub struct SharedBlock(Arc<CachedBlock>);

impl Debug for SharedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedBlock")
    }
}

/// A cache of blocks that the caller provides, for [`crate::Options::block_cache`]. Several
/// databases may use one cache. Any thread may call it, several at the same time.
///
/// The cache may drop a block at any time. Blocks of a closed database stay until the cache drops
/// them; no later lookup asks for them.
pub trait CustomCache: Debug + Send + Sync {
    /// Returns a number that no earlier call returned.
    fn new_id(&self) -> u64;
    /// Stores a block under a key, in place of an earlier one. The block takes about `charge` bytes
    /// of memory.
    fn insert(&self, key: &[u8], block: SharedBlock, charge: usize);
    /// Returns the block of a key, if the cache still has it.
    fn lookup(&self, key: &[u8]) -> Option<SharedBlock>;
}

/// A caller's cache as one database uses it.
#[derive(Debug)]
pub(super) struct Custom {
    cache: Arc<dyn CustomCache>,
    id: u64,
}

impl Custom {
    pub(super) fn new(cache: &Arc<dyn CustomCache>) -> Custom {
        Custom { cache: Arc::clone(cache), id: cache.new_id() }
    }

    fn key(&self, file: u64, handle: Handle) -> [u8; 24] {
        let mut key = [0; 24];
        for (part, number) in key.chunks_exact_mut(8).zip([self.id, file, handle.offset]) {
            part.copy_from_slice(&number.to_le_bytes());
        }
        key
    }

    // Apart from the lookup in the built-in cache, which stays short.
    #[inline(never)]
    pub(super) fn get(&self, file: u64, handle: Handle) -> Option<CachedBlock> {
        let found = self.cache.lookup(&self.key(file, handle))?;
        Some(CachedBlock::clone(&found.0))
    }

    pub(super) fn insert(&self, file: u64, handle: Handle, block: CachedBlock, charge: usize) {
        self.cache.insert(&self.key(file, handle), SharedBlock(Arc::new(block)), charge);
    }
}
