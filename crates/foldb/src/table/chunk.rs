//! A buffer that fills from its start, and is emptied as a whole.

use foldb_env::PagedBytes;

/// Space after the requested bytes. Restarts, codec and checksum follow a large record, and must
/// not make it move to a larger buffer.
const SLACK: usize = 16 << 10;

/// Bytes of records and frames that wait for the next step.
pub(super) struct Chunk {
    /// `..used` is filled, the rest is free.
    bytes: PagedBytes,
    used: usize,
    /// Bytes that it holds before it grows.
    usual: usize,
}

impl Chunk {
    /// Makes an empty chunk for `usual` bytes. It takes memory from its first byte on.
    pub(super) fn for_bytes(usual: usize) -> Chunk {
        Chunk { bytes: PagedBytes::default(), used: 0, usual }
    }

    /// Returns the bytes that it holds.
    #[inline]
    pub(super) fn filled(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Returns the position of the next byte.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.used
    }

    /// Returns whether it holds as many bytes as it usually does.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.used >= self.usual
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns at least `len` bytes to write to. [`Chunk::advance`] says how many were written.
    #[inline]
    pub(super) fn room(&mut self, len: usize) -> &mut [u8] {
        if self.bytes.len() - self.used < len {
            self.grow(len);
        }
        &mut self.bytes[self.used..]
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        let needed = (self.used + len + SLACK).max(self.usual + SLACK);
        // Doubling saves copies while the chunk is small. A large record arrives as a whole.
        let doubled = if needed > 4 * self.usual { needed } else { self.bytes.len() * 2 };
        self.bytes.resize(needed.max(doubled), self.used);
    }

    /// Keeps the first `len` bytes of what [`Chunk::room`] returned.
    #[inline]
    pub(super) fn advance(&mut self, len: usize) {
        self.used += len;
        debug_assert!(self.used <= self.bytes.len());
    }

    /// Appends `bytes`.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.advance(bytes.len());
    }

    /// Replaces all bytes from `start` on by `bytes`, which are not more.
    pub(super) fn replace_from(&mut self, start: usize, bytes: &[u8]) {
        debug_assert!(start + bytes.len() <= self.used);
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        self.used = start + bytes.len();
    }

    /// Keeps the first `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        debug_assert!(len <= self.used);
        self.used = len;
    }

    /// Makes it empty. Frees memory that only a large record needed.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        if self.bytes.len() > 4 * self.usual {
            self.bytes.resize(2 * self.usual, 0);
        }
    }
}
