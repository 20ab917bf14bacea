//! The hashes of a table's keys, gathered until their number is known and the filter is made.

use foldb_env::PagedBytes;

/// Hashes in the order in which they were pushed.
#[derive(Debug, Default)]
pub(super) struct HashList {
    bytes: PagedBytes,
    len: usize,
}

const HASH: usize = size_of::<u64>();

/// Number of hashes that a list first has space for.
const FIRST_ROOM: usize = 1 << 10;

impl HashList {
    /// Returns how many there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the bytes in memory; of mapped pages only those that were written.
    pub(super) fn memory_bytes(&self) -> usize {
        self.len * HASH
    }

    /// Adds a hash.
    #[inline]
    pub(super) fn push(&mut self, hash: u64) {
        let at = self.len * HASH;
        if at == self.bytes.len() {
            self.grow();
        }
        self.bytes[at..at + HASH].copy_from_slice(&hash.to_le_bytes());
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let used = self.bytes.len();
        self.bytes.resize((4 * used).max(FIRST_ROOM * HASH), used);
    }

    /// Iterates over all of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        let (hashes, _) = self.bytes[..self.len * HASH].as_chunks::<HASH>();
        hashes.iter().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
