//! The hash of user keys, shared by memtable index and table filters.

use xxhash_rust::xxh3::xxh3_64;

/// XXH3-64 of a user key. It is on disk in the form of filters: never change it.
#[inline]
pub fn key_hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}
