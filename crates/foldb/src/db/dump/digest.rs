//! A count and a checksum of entries, to compare a dump with the database that a restore made.
//!
//! Invariant: equal lists of entries have equal digests, however the values were stored. A key that
//! does not fold counts without its operands, because flushes and compactions may still fold some
//! of them into each other.

use xxhash_rust::xxh3::Xxh3Default;

/// The entries of all keyspaces, in order.
#[derive(Clone, Default)]
pub(super) struct Digest {
    keys: u64,
    hash: Xxh3Default,
}

impl Digest {
    /// Adds a key with its value; `None` for a key that does not fold.
    pub(super) fn add(&mut self, keyspace: usize, key: &[u8], value: Option<&[u8]>) {
        self.keys += 1;
        // With their lengths, no two lists of entries have the same bytes.
        self.hash.update(&(keyspace as u64).to_le_bytes());
        self.hash.update(&(key.len() as u64).to_le_bytes());
        self.hash.update(key);
        self.hash.update(&value.map_or(u64::MAX, |value| value.len() as u64).to_le_bytes());
        self.hash.update(value.unwrap_or_default());
    }

    /// Describes how another list differs; `None` if it is the same.
    pub(super) fn difference(&self, other: &Digest) -> Option<String> {
        let (expected, found) = (self.hash.digest128(), other.hash.digest128());
        if (self.keys, expected) == (other.keys, found) {
            return None;
        }
        let (keys, others) = (self.keys, other.keys);
        Some(format!(
            "expected {keys} keys with the digest {expected:032x}, found {others} with {found:032x}"
        ))
    }
}
