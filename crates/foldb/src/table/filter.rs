//! The filter of a table. It rules out most keys that are not in the table.
//!
//! It is a blocked Bloom filter (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
//! Filters", 2007). A key's bits all lie in one block of 512 bits, so a probe touches one cache
//! line.
//!
//! ```text
//! +---------+-----------+----------------------+----------------------+-----
//! | kind u8 | probes u8 | block 0, 64 bytes    | block 1, 64 bytes    | ...
//! +---------+-----------+----------------------+----------------------+-----
//!  kind 0:  XXH3-64 of the user key; its high half h chooses block (h * blocks) >> 32; its low
//!           half chooses the bits: nine high bits a probe, then times 0x9e3779b9
//!  bit b of a block: bit b % 8 of byte b / 8
//! ```
//!
//! Kind 1 is a filter of the caller's policy: see [`super::policy_filter`].
//!
//! Invariant: no false negatives of kind 0, for any number of bits.

use crate::error::{Error, ErrorKind, Result};

const KIND_BLOCKED: u8 = 0;
const BLOCK_BYTES: usize = 64;
const BLOCK_BITS: usize = 8 * BLOCK_BYTES;
const MAX_PROBES: u8 = 16;

/// A filter in memory, aligned to cache lines.
#[derive(Debug)]
pub(super) struct Filter {
    blocks: Vec<FilterBlock>,
    probes: u8,
}

#[derive(Clone, Debug)]
#[repr(align(64))]
struct FilterBlock([u64; BLOCK_BYTES / 8]);

impl Filter {
    /// Parses the payload of a filter.
    ///
    /// # Errors
    /// `Corruption` for a payload of the wrong length, `Unsupported` for another kind.
    pub(super) fn parse(payload: &[u8]) -> Result<Filter> {
        let Some((&[kind, probes], blocks)) = payload.split_first_chunk::<2>() else {
            return Err(Error::corruption(format!(
                "filter: expected at least 2 bytes, found {}",
                payload.len()
            )));
        };
        if kind != KIND_BLOCKED {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("filter kind {kind} is not one this version reads (expected 0 or 1)"),
            ));
        }
        let whole = blocks.len().is_multiple_of(BLOCK_BYTES) && !blocks.is_empty();
        if !whole || !(1..=MAX_PROBES).contains(&probes) {
            return Err(Error::corruption(format!(
                "filter: expected blocks of {BLOCK_BYTES} bytes and 1 to {MAX_PROBES} probes, \
                 found {} bytes and {probes} probes",
                blocks.len()
            )));
        }
        let blocks = blocks.chunks_exact(BLOCK_BYTES).map(FilterBlock::from_bytes).collect();
        Ok(Filter { blocks, probes })
    }

    /// Returns whether a key of this hash may be in the table. `false` is certain.
    #[inline]
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        let block = &self.blocks[block_of(hash, self.blocks.len())];
        probes_of(hash, self.probes).all(|bit| block.0[bit / 64] >> (bit % 64) & 1 == 1)
    }

    /// Prefetches what [`Filter::may_contain`] reads.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        foldb_chains::prefetch_value(&self.blocks[block_of(hash, self.blocks.len())]);
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.blocks.len() * BLOCK_BYTES
    }
}

impl FilterBlock {
    fn from_bytes(bytes: &[u8]) -> FilterBlock {
        let mut words = [0; BLOCK_BYTES / 8];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        }
        FilterBlock(words)
    }
}

/// Returns the length of the payload of a filter for `keys` keys at `bits_per_key`.
pub(super) fn filter_len(keys: usize, bits_per_key: u32) -> usize {
    2 + BLOCK_BYTES * (keys * bits_per_key as usize).div_ceil(BLOCK_BITS).max(1)
}

/// Writes the filter of these key hashes into `out`, which is the whole payload.
pub(super) fn write_filter(out: &mut [u8], hashes: impl Iterator<Item = u64>, bits_per_key: u32) {
    // Blocks get uneven numbers of keys, so the optimum is a little below ln 2 probes per bit.
    let probes = ((bits_per_key * 6 + 5) / 10).clamp(1, u32::from(MAX_PROBES)) as u8;
    out.fill(0);
    let (head, blocks) = out.split_at_mut(2);
    head.copy_from_slice(&[KIND_BLOCKED, probes]);
    let (blocks, _) = blocks.as_chunks_mut::<BLOCK_BYTES>();
    let count = blocks.len();
    for hash in hashes {
        let block = &mut blocks[block_of(hash, count)];
        for bit in probes_of(hash, probes) {
            block[bit / 8] |= 1 << (bit % 8);
        }
    }
}

#[inline(always)]
fn block_of(hash: u64, blocks: usize) -> usize {
    (((hash >> 32) * blocks as u64) >> 32) as usize
}

/// Powers of the multiplier. With them, probes do not depend on each other.
const POWERS: [u32; MAX_PROBES as usize] = {
    let mut powers = [1u32; MAX_PROBES as usize];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1].wrapping_mul(0x9e37_79b9);
        i += 1;
    }
    powers
};

#[inline(always)]
fn probes_of(hash: u64, probes: u8) -> impl Iterator<Item = usize> {
    let powers = &POWERS[..usize::from(probes).min(POWERS.len())];
    powers.iter().map(move |&power| ((hash as u32).wrapping_mul(power) >> (32 - 9)) as usize)
}
