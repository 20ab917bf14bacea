//! The filter block of a table: a filter for each 2 KiB of the file in which data blocks begin.
//!
//! ```text
//! filters | offset u32 of each filter | offset u32 of the offsets | log2 of the range u8
//! ```
//!
//! Filter i covers the keys of the blocks whose offset, divided by the range, is i. The filter of a
//! range without keys is empty.
//!
//! Invariant: a filter that cannot be read excludes no key.

use crate::Bytewise;
use crate::block::Cursor;
use crate::table::Handle;

/// A filter covers the blocks that begin in a range of 2^11 bytes.
const RANGE_LOG: u8 = 11;

/// What makes and asks filters.
pub trait Policy {
    /// Returns its name. A table has it, because another policy cannot read its filters.
    fn name(&self) -> &[u8];

    /// Appends the filter of some keys.
    fn create(&self, keys: &[&[u8]], filter: &mut Vec<u8>);

    /// Returns false if the key is not among those of the filter.
    fn may_match(&self, key: &[u8], filter: &[u8]) -> bool;
}

fn name_in_metaindex(policy: &impl Policy) -> Vec<u8> {
    [b"filter.", policy.name()].concat()
}

/// A filter block being written.
#[derive(Debug)]
pub struct FilterBuilder<P> {
    policy: P,
    /// The keys of the present range, end to end, and where each begins.
    keys: Vec<u8>,
    starts: Vec<usize>,
    filters: Vec<u8>,
    offsets: Vec<u32>,
}

impl<P: Policy> FilterBuilder<P> {
    /// Begins a filter block.
    pub fn new(policy: P) -> FilterBuilder<P> {
        let (keys, starts) = (Vec::new(), Vec::new());
        FilterBuilder { policy, keys, starts, filters: Vec::new(), offsets: Vec::new() }
    }

    /// Says that the keys from now on are in the data block at this offset.
    pub fn start_block(&mut self, offset: u64) {
        let range = offset >> RANGE_LOG;
        while (self.offsets.len() as u64) < range {
            self.end_range();
        }
    }

    /// Adds a key.
    pub fn add(&mut self, key: &[u8]) {
        self.starts.push(self.keys.len());
        self.keys.extend_from_slice(key);
    }

    /// Writes the filter of the present range.
    fn end_range(&mut self) {
        self.offsets.push(self.filters.len() as u32);
        if self.starts.is_empty() {
            return;
        }
        let ends = self.starts.iter().skip(1).copied().chain([self.keys.len()]);
        let keys: Vec<&[u8]> =
            self.starts.iter().zip(ends).map(|(&start, end)| &self.keys[start..end]).collect();
        self.policy.create(&keys, &mut self.filters);
        self.keys.clear();
        self.starts.clear();
    }

    /// Returns the name of the block in the metaindex, and the whole block.
    pub fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        if !self.starts.is_empty() {
            self.end_range();
        }
        let end = self.filters.len() as u32;
        for offset in self.offsets.iter().chain([&end]) {
            self.filters.extend_from_slice(&offset.to_le_bytes());
        }
        self.filters.push(RANGE_LOG);
        (name_in_metaindex(&self.policy), self.filters)
    }
}

/// Returns where the filter block of a policy is. `None` if the table has none.
pub fn find(metaindex: &[u8], policy: &impl Policy) -> Option<Handle> {
    let name = name_in_metaindex(policy);
    let mut entry = Cursor::new(metaindex)?;
    entry.seek(&name, &Bytewise);
    (entry.is_valid() && entry.key() == name).then(|| Handle::of(entry.value())).flatten()
}

/// Returns whether the data block at an offset may hold a key. `block` is a filter block.
pub fn may_match(block: &[u8], policy: &impl Policy, offset: u64, key: &[u8]) -> bool {
    match filter_of(block, offset) {
        // No key of the table is in such a block.
        Some([]) => false,
        Some(filter) => policy.may_match(key, filter),
        None => true,
    }
}

/// Returns the filter of the data block at an offset. `None` if it cannot be read.
fn filter_of(block: &[u8], offset: u64) -> Option<&[u8]> {
    let (&range_log, rest) = block.split_last()?;
    let (offsets, end) = rest.split_last_chunk::<4>()?;
    let end = u32::from_le_bytes(*end) as usize;
    let index = usize::try_from(offset.checked_shr(u32::from(range_log))?).ok()?;
    // Behind the last offset lies the end of the filters, in the same form.
    let at = end
        .checked_add(index.checked_mul(4)?)
        .filter(|&at| offsets.len().saturating_sub(at) >= 4)?;
    let [begin, behind] = [Some(at), at.checked_add(4)].map(|at| {
        let offset = rest.get(at?..).and_then(|rest| rest.first_chunk::<4>());
        offset.map(|offset| u32::from_le_bytes(*offset) as usize)
    });
    let (begin, behind) = (begin?, behind?);
    if behind > end { None } else { block.get(begin..behind) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BlockBuilder;

    /// Filters that hold the last byte of each key.
    struct LastByte;

    impl Policy for LastByte {
        fn name(&self) -> &[u8] {
            b"LastByte"
        }

        fn create(&self, keys: &[&[u8]], filter: &mut Vec<u8>) {
            filter.extend(keys.iter().filter_map(|key| key.last()));
        }

        fn may_match(&self, key: &[u8], filter: &[u8]) -> bool {
            key.last().is_some_and(|last| filter.contains(last))
        }
    }

    fn block() -> Vec<u8> {
        let mut builder = FilterBuilder::new(LastByte);
        builder.start_block(0);
        builder.add(b"a1");
        builder.add(b"b2");
        builder.start_block(2000);
        builder.add(b"c3");
        builder.start_block(9000);
        builder.add(b"d4");
        let (name, block) = builder.finish();
        assert_eq!(name, b"filter.LastByte");
        block
    }

    #[test]
    fn a_filter_excludes_the_keys_of_other_blocks() {
        let block = block();
        assert_eq!(block[..4], *b"1234");
        let found = |offset, key: &[u8]| may_match(&block, &LastByte, offset, key);
        for (offset, keys) in [(0, "a1 b2 c3"), (2000, "a1 b2 c3"), (5000, ""), (9000, "d4")] {
            for key in ["a1", "b2", "c3", "d4"] {
                assert_eq!(found(offset, key.as_bytes()), keys.contains(key), "{offset} {key}");
            }
        }
        // No filter covers this block.
        assert!(found(20_000, b"x9"));
    }

    #[test]
    fn a_damaged_block_does_not_panic() {
        let good = block();
        for at in 0..good.len() {
            for byte in 0..=255 {
                let mut bytes = good.clone();
                bytes[at] = byte;
                for offset in [0, 2000, 4096, 9000, u64::MAX] {
                    may_match(&bytes, &LastByte, offset, b"a1");
                    may_match(&bytes[..at], &LastByte, offset, b"a1");
                }
            }
        }
    }

    #[test]
    fn the_metaindex_has_the_place() {
        let mut metaindex = BlockBuilder::new(16);
        metaindex.add(b"filter.Another", &[1, 1]);
        metaindex.add(b"filter.LastByte", &[9, 40]);
        let found = find(metaindex.finish(), &LastByte);
        assert_eq!(found, Some(Handle { offset: 9, len: 40 }));
        assert_eq!(find(BlockBuilder::new(16).finish(), &LastByte), None);
    }
}
