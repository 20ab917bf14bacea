//! Arena memory: one reservation per memtable, recycled through a pool.
//!
//! The system commits a page at its first touch, so a reservation costs nothing until it is filled.
//! But the first touch costs microseconds per page (H15). So a pool recycles the arena of a dropped
//! memtable, whose pages are already committed. Invariant: a reader reads only bytes that the
//! current memtable wrote into the arena.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// Alignment of arenas: no other memory shares a system page with them.
pub(crate) const PAGE: usize = if cfg!(any(miri, loom)) { 64 } else { 4096 };

/// Arenas of dropped memtables, kept for the next ones.
#[derive(Debug)]
pub struct ArenaPool {
    max_pooled_bytes: usize,
    free: Mutex<Vec<Block>>,
}

impl ArenaPool {
    /// Makes a pool that keeps at most `max_pooled_bytes` of unused arenas. Pages of an arena that
    /// were never touched use no memory and do not count.
    pub fn new(max_pooled_bytes: usize) -> Arc<ArenaPool> {
        Arc::new(ArenaPool { max_pooled_bytes, free: Mutex::new(Vec::new()) })
    }

    /// Returns the bytes of memory that unused arenas in the pool hold now.
    pub fn pooled_bytes(&self) -> usize {
        touched(&self.lock())
    }

    /// Frees the longest unused arenas until at most `bytes` are pooled.
    pub fn trim(&self, bytes: usize) {
        let mut evicted = Vec::new(); // freed after the lock
        evict(&mut self.lock(), bytes, &mut evicted);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Block>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the most recently used arena of exactly this layout: its pages are likeliest in cache.
    fn take(&self, layout: Layout) -> Option<Block> {
        let mut free = self.lock();
        let found = free.iter().rposition(|block| block.layout == layout)?;
        Some(free.remove(found))
    }

    /// Keeps `block`. If the pool is full, it frees the longest unused blocks.
    fn give_back(&self, block: Block) {
        let mut evicted = Vec::new(); // freed after the lock
        let mut free = self.lock();
        free.push(block);
        evict(&mut free, self.max_pooled_bytes, &mut evicted);
    }
}

fn touched(blocks: &[Block]) -> usize {
    blocks.iter().map(|block| block.touched).sum()
}

/// Takes out the longest unused of these blocks until the others hold at most `bytes`.
fn evict(free: &mut Vec<Block>, bytes: usize, evicted: &mut Vec<Block>) {
    let mut pooled = touched(free);
    while pooled > bytes {
        let oldest = free.remove(0);
        pooled -= oldest.touched;
        evicted.push(oldest);
    }
}

/// A piece of memory, freed when dropped.
#[derive(Debug)]
struct Block {
    base: NonNull<u8>,
    layout: Layout,
    /// Bytes of memory that the system has committed to the block: all that were ever written.
    touched: usize,
}

// SAFETY: a Block owns its memory and does nothing with it.
unsafe impl Send for Block {}

impl Block {
    fn allocate(layout: Layout) -> Block {
        assert!(layout.size() > 0, "an arena cannot be empty");
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc(layout) };
        match NonNull::new(base) {
            Some(base) => {
                advise_huge_pages(base, layout);
                Block { base, layout, touched: 0 }
            }
            None => handle_alloc_error(layout),
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `base` came from `alloc` with this very layout and is freed only here.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

/// Reservations from this size on use huge pages. Smaller ones would waste too much: up to three
/// pages of 2 MiB are only partly used, at the ends of the three regions.
#[cfg(all(target_os = "linux", not(any(miri, loom))))]
const MIN_HUGE: usize = 32 << 20;

/// Asks for huge pages: a hash index is all cache and TLB misses. Measured on a million keys: an
/// insert takes 63 ns instead of 93, a get 80 instead of 100, and page faults cost a third.
#[cfg(all(target_os = "linux", not(any(miri, loom))))]
fn advise_huge_pages(base: NonNull<u8>, layout: Layout) {
    if granule(layout) == PAGE {
        return;
    }
    let whole_pages = layout.size() & !(PAGE - 1);
    // SAFETY: advice on memory of this block, which changes nothing about its contents. A kernel
    // without huge pages refuses it, and the block has small ones.
    unsafe { libc::madvise(base.as_ptr().cast(), whole_pages, libc::MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(any(miri, loom)))))]
fn advise_huge_pages(_: NonNull<u8>, _: Layout) {}

/// Returns the bytes that the system commits at a time to an arena of this layout.
#[cfg(all(target_os = "linux", not(any(miri, loom))))]
fn granule(layout: Layout) -> usize {
    if layout.size() < MIN_HUGE || layout.align() < PAGE { PAGE } else { 2 << 20 }
}

#[cfg(not(all(target_os = "linux", not(any(miri, loom)))))]
fn granule(_: Layout) -> usize {
    PAGE
}

/// The memory of one memtable. The memtable decides which thread may touch which byte.
pub(crate) struct Arena {
    base: NonNull<u8>,
    block: Option<Block>, // None only while it is dropped
    pool: Arc<ArenaPool>,
}

// SAFETY: an Arena hands out addresses only; its users argue why their accesses do not race.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Makes uninitialised memory of `layout`, from the pool if possible.
    pub(crate) fn new(pool: &Arc<ArenaPool>, layout: Layout) -> Arena {
        let block = pool.take(layout).unwrap_or_else(|| Block::allocate(layout));
        debug_assert_eq!(block.layout, layout, "a block of the pool is as large as asked for");
        Arena { base: block.base, block: Some(block), pool: Arc::clone(pool) }
    }

    /// Returns the address of byte `offset`.
    ///
    /// # Safety
    /// `offset` is at most the arena's size.
    #[inline]
    pub(crate) unsafe fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(
            self.block.as_ref().is_some_and(|block| offset <= block.layout.size()),
            "nothing lies behind the arena"
        );
        // SAFETY: inside the allocation, by the caller's promise.
        unsafe { self.base.add(offset) }
    }

    /// Returns the bytes of memory that earlier memtables left committed to the arena.
    pub(crate) fn touched(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.touched)
    }

    /// Rounds the bytes written from one end of a region up to whole pages.
    pub(crate) fn in_pages(&self, bytes: usize) -> usize {
        let granule = self.block.as_ref().map_or(PAGE, |block| granule(block.layout));
        bytes.next_multiple_of(granule)
    }

    /// Notes how many bytes the current memtable wrote.
    pub(crate) fn note_touched(&mut self, bytes: usize) {
        if let Some(block) = &mut self.block {
            block.touched = block.touched.max(bytes.min(block.layout.size()));
        }
    }

    /// Returns whether all of `bytes` lies in this arena.
    pub(crate) fn contains(&self, bytes: &[u8]) -> bool {
        let size = self.block.as_ref().map_or(0, |block| block.layout.size());
        let offset = bytes.as_ptr().addr().wrapping_sub(self.base.as_ptr().addr());
        offset < size && bytes.len() <= size - offset
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.pool.give_back(block);
        }
    }
}
