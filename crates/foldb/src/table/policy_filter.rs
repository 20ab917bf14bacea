//! A table's filters of a caller's policy, the second kind of filter.
//!
//! ```text
//! +---------+---------------+-------+-------+-----
//! | kind u8 | policy's name | chunk | chunk | ...
//! +---------+---------------+-------+-------+-----
//!  kind 1
//!  name:   length varint | bytes
//!  chunk:  last key: length varint, bytes | length + 1 varint, filter; 0 alone: no filter
//! ```
//!
//! A chunk covers up to [`CHUNK_KEYS`] neighbouring keys. A single filter for the whole table would
//! need all keys of the table in memory at once. Filters for each sub-block, as LevelDB has them,
//! would need the block's directory before the filter, and would take more bits for each key. With
//! the last key of each chunk, the filters stay independent of blocks, and all of them are in
//! memory.
//!
//! Invariants: chunks are in the order of keys, and no key has records in two chunks. A policy is
//! asked only about filters that a policy of its name made.

use std::ops::Range;

use crate::encoding::{ByteReader, put_length_delimited, put_varint};
use crate::error::{Error, Result};
use crate::key::GuardedPolicy;
use crate::table::order::KeyOrder;

/// The number of this kind of filter.
pub(super) const KIND_POLICY: u8 = 1;

/// Most keys of a chunk.
const CHUNK_KEYS: usize = 1024;

/// Bytes of keys after which a chunk ends.
const CHUNK_BYTES: usize = 64 << 10;

/// Gathers keys, and makes a filter of each chunk.
#[derive(Debug)]
pub(super) struct PolicyFilterBuilder {
    policy: GuardedPolicy,
    /// The payload, with all finished chunks.
    payload: Vec<u8>,
    /// The keys of the chunk, one after the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    filter: Vec<u8>,
    /// Number of keys of all chunks.
    total: usize,
}

impl PolicyFilterBuilder {
    pub(super) fn new(policy: GuardedPolicy) -> PolicyFilterBuilder {
        let mut payload = vec![KIND_POLICY];
        put_length_delimited(&mut payload, policy.name().as_bytes());
        let (keys, ends, filter) = (Vec::new(), Vec::new(), Vec::new());
        PolicyFilterBuilder { policy, payload, keys, ends, filter, total: 0 }
    }

    /// Adds a key whose bytes differ from those of the previous key. `is_same`: the comparator
    /// calls both keys equal.
    pub(super) fn add(&mut self, key: &[u8], is_same: bool) {
        if !is_same && (self.ends.len() >= CHUNK_KEYS || self.keys.len() >= CHUNK_BYTES) {
            self.end_chunk();
        }
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.total += 1;
    }

    /// Returns the number of keys.
    pub(super) fn len(&self) -> usize {
        self.total
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        let buffers = self.payload.capacity() + self.keys.capacity() + self.filter.capacity();
        buffers + self.ends.capacity() * size_of::<usize>()
    }

    /// Returns the payload of the filter's frame.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if !self.ends.is_empty() {
            self.end_chunk();
        }
        self.payload
    }

    fn end_chunk(&mut self) {
        debug_assert!(!self.ends.is_empty(), "a chunk of a filter ends with a key");
        let mut start = 0;
        let ends = self.ends.iter();
        let keys: Vec<&[u8]> = ends
            .map(|&end| {
                let key = &self.keys[start..end];
                start = end;
                key
            })
            .collect();
        self.filter.clear();
        let made = self.policy.create_filter(&keys, &mut self.filter);
        put_length_delimited(&mut self.payload, keys.last().unwrap_or(&&[][..]));
        if made {
            put_varint(&mut self.payload, self.filter.len() as u64 + 1);
            self.payload.extend_from_slice(&self.filter);
        } else {
            put_varint(&mut self.payload, 0);
        }
        self.keys.clear();
        self.ends.clear();
    }
}

/// The filters of a table, in memory.
#[derive(Debug)]
pub(super) struct PolicyFilter {
    policy: GuardedPolicy,
    payload: Box<[u8]>,
    chunks: Box<[Chunk]>,
}

/// The parts of a chunk, as places in the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chunk {
    last_key: Range<usize>,
    filter: Option<Range<usize>>,
}

impl PolicyFilter {
    /// Parses the payload of a filter of this kind. Returns `None` if a policy of another name, or
    /// none, reads it.
    ///
    /// # Errors
    /// `Corruption` for a malformed payload. `ComparatorFailed` for chunks that do not ascend.
    pub(super) fn parse(
        payload: &[u8],
        order: &KeyOrder,
        policy: Option<&GuardedPolicy>,
    ) -> Result<Option<PolicyFilter>> {
        let (name, chunks) = parse_chunks(payload)?;
        let ascend = |pair: &[Chunk]| {
            let (a, b) = (pair[0].last_key.clone(), pair[1].last_key.clone());
            order.compare(&payload[a], &payload[b]).is_lt()
        };
        if !chunks.windows(2).all(ascend) {
            return Err(order.disorder(
                "filter: expected the last keys of chunks to ascend, found others".to_owned(),
            ));
        }
        let policy = policy.filter(|policy| policy.name().as_bytes() == &payload[name]);
        Ok(policy.map(|policy| PolicyFilter {
            policy: policy.clone(),
            payload: payload.into(),
            chunks: chunks.into(),
        }))
    }

    /// Returns whether the key may be in the table. `false` is certain, unless the policy errs.
    #[cold]
    pub(super) fn may_contain(&self, key: &[u8], order: &KeyOrder) -> bool {
        let last_key = |chunk: &Chunk| &self.payload[chunk.last_key.clone()];
        let at = self.chunks.partition_point(|chunk| order.compare(last_key(chunk), key).is_lt());
        match self.chunks.get(at) {
            None => false,
            Some(Chunk { filter: None, .. }) => true,
            Some(Chunk { filter: Some(filter), .. }) => {
                self.policy.may_contain(key, &self.payload[filter.clone()])
            }
        }
    }

    /// Returns the policy's name.
    pub(super) fn policy_name(&self) -> &str {
        self.policy.name()
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.payload.len() + size_of_val(&*self.chunks)
    }
}

/// Returns the places of the policy's name and of all chunks.
fn parse_chunks(payload: &[u8]) -> Result<(Range<usize>, Vec<Chunk>)> {
    let mut reader = ByteReader::new(payload);
    let kind = reader.u8("filter: kind")?;
    if kind != KIND_POLICY {
        return Err(Error::corruption(format!("filter: expected kind 1, found {kind}")));
    }
    let len = reader.length_delimited("filter: name of the policy")?.len();
    let name = reader.position() - len..reader.position();
    let mut chunks = Vec::new();
    while !reader.is_empty() {
        let len = reader.length_delimited("filter: last key of a chunk")?.len();
        let last_key = reader.position() - len..reader.position();
        let filter = match reader.varint("filter: length of a chunk")?.checked_sub(1) {
            None => None,
            Some(len) => {
                let start = reader.position();
                reader.take(usize::try_from(len).unwrap_or(usize::MAX), "filter: chunk")?;
                Some(start..reader.position())
            }
        };
        chunks.push(Chunk { last_key, filter });
    }
    Ok((name, chunks))
}
