//! Working memory of table writers: large pieces have pages of their own.
//!
//! Flushes and compactions need megabytes for milliseconds, on whichever thread is free. The
//! system's allocator keeps what it gets back of such sizes: glibc's does, in an arena for each
//! thread. Pages that are mapped go back at once.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// From this size on a buffer has pages of its own.
const MAPPED_FROM: usize = 64 << 10;

/// Bytes that can be made more.
#[derive(Debug)]
pub struct PagedBytes(Memory);

#[derive(Debug)]
enum Memory {
    Heap(Vec<u8>),
    Mapped(MmapMut),
}

impl PagedBytes {
    /// So many zeroes.
    pub fn zeroed(len: usize) -> PagedBytes {
        let mapped = if len < MAPPED_FROM { None } else { MmapMut::map_anon(len).ok() };
        PagedBytes(mapped.map_or_else(|| Memory::Heap(vec![0; len]), Memory::Mapped))
    }

    /// Makes it `len` bytes long; the first `keep` stay what they are.
    pub fn resize(&mut self, len: usize, keep: usize) {
        let mut resized = PagedBytes::zeroed(len);
        resized[..keep].copy_from_slice(&self[..keep]);
        *self = resized;
    }
}

impl Default for PagedBytes {
    fn default() -> Self {
        PagedBytes(Memory::Heap(Vec::new()))
    }
}

impl Deref for PagedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Heap(bytes) => bytes,
            Memory::Mapped(bytes) => bytes,
        }
    }
}

impl DerefMut for PagedBytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Heap(bytes) => bytes,
            Memory::Mapped(bytes) => bytes,
        }
    }
}

/// Hashes in the order in which they were pushed.
#[derive(Debug, Default)]
pub struct HashList {
    bytes: PagedBytes,
    len: usize,
}

const HASH: usize = size_of::<u64>();

/// Hashes that a list has room for at first.
const FIRST_ROOM: usize = 1 << 10;

impl HashList {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes they take in memory: of mapped pages those that were written to.
    pub fn memory_bytes(&self) -> usize {
        self.len * HASH
    }

    /// One more.
    #[inline]
    pub fn push(&mut self, hash: u64) {
        let at = self.len * HASH;
        if at == self.bytes.len() {
            self.grow();
        }
        self.bytes[at..at + HASH].copy_from_slice(&hash.to_ne_bytes());
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let used = self.bytes.len();
        self.bytes.resize((4 * used).max(FIRST_ROOM * HASH), used);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let (hashes, _) = self.bytes[..self.len * HASH].as_chunks::<HASH>();
        hashes.iter().map(|bytes| u64::from_ne_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_when_a_buffer_moves_to_pages_and_back() {
        let mut bytes = PagedBytes::default();
        bytes.resize(100, 0);
        bytes[..3].copy_from_slice(b"abc");
        for len in [MAPPED_FROM, 5 * MAPPED_FROM, MAPPED_FROM - 1, 3] {
            bytes.resize(len, 3);
            assert_eq!((bytes.len(), &bytes[..3]), (len, b"abc".as_slice()));
            assert!(bytes[3..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn hashes_come_back_in_order_whatever_their_number() {
        let hash = |n: usize| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut hashes = HashList::default();
        assert_eq!((hashes.len(), hashes.iter().count()), (0, 0));
        for n in 0..100_000 {
            hashes.push(hash(n));
        }
        assert_eq!((hashes.len(), hashes.memory_bytes()), (100_000, 800_000));
        assert!(hashes.iter().eq((0..100_000).map(hash)));
    }
}
