//! Large buffers in pages of their own.
//!
//! Flushes and compactions need megabytes for milliseconds, on any thread that is free. The
//! system's allocator keeps freed buffers of this size: glibc keeps them in an arena for each
//! thread. Pages that a buffer maps itself return to the system at once.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Buffers of at least this many bytes have pages of their own.
const MAPPED_FROM: usize = 64 << 10;

/// A byte buffer on the heap while it is small, and in pages of its own from 64 KiB on.
///
/// ```
/// let mut bytes = foldb_env::PagedBytes::zeroed(3);
/// bytes.copy_from_slice(b"abc");
/// bytes.resize(1 << 20, 3);
/// assert_eq!((bytes.len(), &bytes[..3]), (1 << 20, b"abc".as_slice()));
/// ```
#[derive(Debug)]
pub struct PagedBytes(Memory);

#[derive(Debug)]
enum Memory {
    Heap(Vec<u8>),
    Mapped(MmapMut),
}

impl PagedBytes {
    /// Makes a buffer of `len` zeroes.
    pub fn zeroed(len: usize) -> PagedBytes {
        let mapped = if len < MAPPED_FROM { None } else { MmapMut::map_anon(len).ok() };
        PagedBytes(mapped.map_or_else(|| Memory::Heap(vec![0; len]), Memory::Mapped))
    }

    /// Sets the length to `len`. The first `keep` bytes do not change; the others become zeroes.
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
}
