//! The index: finds the sub-block, or the block of several, that holds a key. A table's top index
//! and a block's directory are the same structure at two heights, with one format and one decoder.
//!
//! ```text
//! +-------+-------+-----+-----------+    entry:
//! | entry | entry | ... | count u32 |    +--------+----------+------------+-----+----------------+
//! +-------+-------+-----+-----------+    | shared | unshared | key suffix | gap | len * 2 + kind |
//!                                        +--------+----------+------------+-----+----------------+
//!  shared, unshared: of the separator and the one before it, varints
//!  gap:              bytes between the end of the child before (0 for the first) and this child
//!  kind:             0 the child is a sub-block, 1 a directory
//! ```
//!
//! Invariant: a child's separator is at or after its last key and before the next child's first
//! key. There is one exception: if versions of one key lie on both sides, the separator is that
//! key.
//!
//! In memory the index is flat arrays. With bytewise order the search compares the eight bytes of
//! each separator that follow the common prefix of all: first those of some separators, then those
//! of a group. It looks at whole keys only where those tie. A caller's order compares whole keys,
//! so the index keeps them whole, except for a long common prefix: a search then puts each
//! separator together again.

use foldb_chains::prefetch_words;

use crate::encoding::{ByteReader, common_prefix, key_prefix, put_varint};
use crate::error::{Error, Result};
use crate::table::frame::{FRAME_TRAILER, Handle};
use crate::table::key_buffer::KeyBuffer;
use crate::table::order::KeyOrder;

/// The target of an index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Child {
    /// The frame of the child.
    pub handle: Handle,
    /// Whether the child is a directory; otherwise it is a sub-block.
    pub is_directory: bool,
}

/// Fewest bytes of an encoded entry.
const MIN_ENTRY: usize = 4;

/// Prefixes in a group that has one sample. A binary search over all prefixes would touch a line of
/// memory for each of its last steps, one after the other.
const SAMPLED: usize = 32;

/// Length of a first separator from which on the decoder looks for the common prefix before it
/// gathers separators. Thousands of separators of many KiB would take gigabytes.
const LONG: usize = 1 << 10;

/// A decoded index.
#[derive(Debug)]
pub(super) struct Index {
    /// All separators, one after the other, without their common prefix.
    keys: Box<[u8]>,
    /// Where each separator ends in `keys`.
    key_ends: Box<[u32]>,
    /// The common prefix of all separators. Unless the order is bytewise, it is empty or long.
    common: Box<[u8]>,
    /// The first eight bytes of each separator in `keys` (none unless the order is bytewise).
    prefixes: Box<[u64]>,
    /// The first of every [`SAMPLED`] prefixes.
    samples: Box<[u64]>,
    /// The offset of each child, times two, plus one for a directory.
    offsets: Box<[u64]>,
    /// The length of each child.
    lens: Box<[u32]>,
    has_directories: bool,
}

impl Index {
    /// Decodes an index whose children lie below offset `limit`.
    ///
    /// # Errors
    /// `Corruption` unless separators ascend and children lie in the file.
    pub(super) fn parse(payload: &[u8], order: &KeyOrder, limit: u64) -> Result<Index> {
        let Some((body, &count)) = payload.split_last_chunk::<4>() else {
            return Err(Error::corruption(format!(
                "index: expected at least 4 bytes, found {}",
                payload.len()
            )));
        };
        let count = u32::from_le_bytes(count) as usize;
        if count > body.len() / MIN_ENTRY {
            return Err(Error::corruption(format!(
                "index: expected at most {} entries in {} bytes, found {count}",
                body.len() / MIN_ENTRY,
                body.len()
            )));
        }
        let mut reader = ByteReader::new(body);
        let mut decoder = IndexDecoder::new(count, long_prefix(body, count)?);
        for _ in 0..count {
            decoder.entry(&mut reader, order, limit)?;
        }
        if !reader.is_empty() {
            return Err(Error::corruption(format!(
                "index: expected to end after {count} entries, found {} more bytes",
                reader.remaining()
            )));
        }
        Ok(decoder.finish(order))
    }

    /// Returns the number of children.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.lens.len()
    }

    /// Returns the child of this index.
    #[inline]
    pub(super) fn child(&self, index: usize) -> Child {
        let offset = self.offsets[index];
        Child {
            handle: Handle { offset: offset >> 1, len: self.lens[index] },
            is_directory: offset & 1 == 1,
        }
    }

    /// Returns whether any child is a directory.
    #[inline]
    pub(super) fn has_directories(&self) -> bool {
        self.has_directories
    }

    /// Returns the first child that may hold a key at or after `key`: the first whose separator is
    /// at or after `key`. Returns [`Index::len`] if every separator is before `key`.
    #[inline]
    pub(super) fn search(&self, key: &[u8], order: &KeyOrder) -> usize {
        if !order.is_bytewise() {
            return self.lower_bound_whole(|separator| order.compare(separator, key).is_lt());
        }
        let head = key.len().min(self.common.len());
        let (head, rest) = key.split_at(head);
        match head.cmp(&self.common) {
            std::cmp::Ordering::Less => return 0,
            std::cmp::Ordering::Greater => return self.len(),
            std::cmp::Ordering::Equal => {}
        }
        let prefix = key_prefix(rest);
        let low = self.first_prefix(prefix);
        let high = low + count_equal(&self.prefixes[low..], prefix);
        self.lower_bound(low, high, |separator| separator < rest)
    }

    /// Returns the first place whose prefix is at or after this one. The samples say in which group
    /// of prefixes it lies, and the lines of the group are then fetched at once.
    #[inline]
    fn first_prefix(&self, prefix: u64) -> usize {
        let groups = self.samples.partition_point(|&sample| sample < prefix);
        let start = groups.saturating_sub(1) * SAMPLED;
        let end = (groups * SAMPLED).min(self.prefixes.len());
        let group = &self.prefixes[start..end];
        prefetch_words(group);
        start + group.partition_point(|&p| p < prefix)
    }

    /// Returns the first child whose separator is after `key`: no later child holds a version of
    /// `key`. Returns [`Index::len`] if no separator is after `key`.
    pub(super) fn search_behind(&self, key: &[u8], order: &KeyOrder) -> usize {
        let all = self.len();
        if !order.is_bytewise() {
            return self.lower_bound_whole(|separator| order.compare(separator, key).is_le());
        }
        let (head, rest) = key.split_at(key.len().min(self.common.len()));
        match head.cmp(&self.common) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Greater => all,
            std::cmp::Ordering::Equal => self.lower_bound(0, all, |separator| separator <= rest),
        }
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.keys.len()
            + self.common.len()
            + 8 * (self.prefixes.len() + self.samples.len() + self.offsets.len())
            + 4 * (self.key_ends.len() + self.lens.len())
    }

    /// Searches with whole separators.
    fn lower_bound_whole(&self, less: impl Fn(&[u8]) -> bool) -> usize {
        if self.common.is_empty() {
            return self.lower_bound(0, self.len(), less);
        }
        let mut whole = self.common.to_vec();
        self.lower_bound(0, self.len(), |rest| {
            whole.truncate(self.common.len());
            whole.extend_from_slice(rest);
            less(&whole)
        })
    }

    #[inline]
    fn lower_bound(&self, low: usize, high: usize, mut less: impl FnMut(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (low, high);
        while low < high {
            let middle = usize::midpoint(low, high);
            if less(self.stored_key(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    #[inline]
    fn stored_key(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.key_ends[before]);
        &self.keys[start as usize..self.key_ends[index] as usize]
    }
}

/// Counts how many of these ascending numbers, none of them smaller, equal `value`. Most often none
/// or one does, so a linear scan checks the first few.
#[inline]
fn count_equal(ascending: &[u64], value: u64) -> usize {
    let few = ascending.iter().take(8).take_while(|&&number| number == value).count();
    if few < 8 { few } else { ascending.partition_point(|&number| number == value) }
}

/// Returns the length of the common prefix of all separators if the prefix is long, else 0. An
/// entry says how many bytes its separator shares with the one before it: the fewest are the
/// prefix.
fn long_prefix(body: &[u8], count: usize) -> Result<usize> {
    let mut reader = ByteReader::new(body);
    let mut common = usize::MAX;
    for _ in 0..count {
        let shared = reader.varint32("index: shared bytes")? as usize;
        let suffix = reader.length_delimited("index: key suffix")?;
        reader.varint("index: gap")?;
        reader.varint("index: child length")?;
        common = if common == usize::MAX { suffix.len() } else { common.min(shared) };
        if common < LONG {
            return Ok(0);
        }
    }
    Ok(if count == 0 { 0 } else { common })
}

/// Gathers separators without a long common prefix, but with a short one, which is known only at
/// the end.
struct IndexDecoder {
    separator: KeyBuffer,
    /// Length of the common prefix that `keys` leave out.
    left_out: usize,
    /// The previous separator, if `keys` do not have it whole.
    before: Vec<u8>,
    keys: Vec<u8>,
    key_ends: Vec<u32>,
    offsets: Vec<u64>,
    lens: Vec<u32>,
    /// The end of the previous child.
    end: u64,
}

impl IndexDecoder {
    fn new(count: usize, left_out: usize) -> IndexDecoder {
        IndexDecoder {
            separator: KeyBuffer::default(),
            left_out,
            before: Vec::new(),
            keys: Vec::new(),
            key_ends: Vec::with_capacity(count),
            offsets: Vec::with_capacity(count),
            lens: Vec::with_capacity(count),
            end: 0,
        }
    }

    fn entry(&mut self, reader: &mut ByteReader<'_>, order: &KeyOrder, limit: u64) -> Result<()> {
        let shared = reader.varint32("index: shared bytes")? as usize;
        let suffix = reader.length_delimited("index: key suffix")?;
        self.push_key(shared, suffix, order)?;
        let gap = reader.varint("index: gap")?;
        let len_and_kind = reader.varint("index: child length")?;
        self.push_child(gap, len_and_kind >> 1, len_and_kind & 1, limit)
    }

    fn push_key(&mut self, shared: usize, suffix: &[u8], order: &KeyOrder) -> Result<()> {
        if shared > self.separator.len() {
            return Err(Error::corruption(format!(
                "index entry {}: expected at most {} shared bytes, found {shared}",
                self.key_ends.len(),
                self.separator.len()
            )));
        }
        self.separator.set_suffix(shared, suffix);
        let key = self.separator.as_slice();
        if let Some(&end) = self.key_ends.last() {
            let start = self.key_ends.iter().rev().nth(1).copied().unwrap_or(0);
            let before = match self.left_out {
                0 => &self.keys[start as usize..end as usize],
                _ => &self.before[..],
            };
            if order.compare(before, key).is_gt() {
                return Err(order.disorder(format!(
                    "index entry {}: expected separators to ascend, found a smaller one",
                    self.key_ends.len()
                )));
            }
        }
        self.keys.extend_from_slice(&key[self.left_out..]);
        if self.left_out > 0 {
            self.before.clear();
            self.before.extend_from_slice(key);
        }
        let end = u32::try_from(self.keys.len());
        self.key_ends.push(end.map_err(|_| {
            Error::corruption("index: expected less than 4 GiB of separators, found more")
        })?);
        Ok(())
    }

    fn push_child(&mut self, gap: u64, len: u64, kind: u64, limit: u64) -> Result<()> {
        let offset = self.end.saturating_add(gap);
        let end = offset.saturating_add(len);
        let (Ok(short_len), true) =
            (u32::try_from(len), len > FRAME_TRAILER as u64 && end <= limit)
        else {
            return Err(Error::corruption(format!(
                "index entry {}: expected a child below offset {limit}, found {len} bytes at \
                 {offset}",
                self.lens.len()
            )));
        };
        self.offsets.push(offset << 1 | kind);
        self.lens.push(short_len);
        self.end = end;
        Ok(())
    }

    fn finish(mut self, order: &KeyOrder) -> Index {
        let mut common = self.separator.as_slice()[..self.left_out].to_vec();
        let mut prefixes = Vec::new();
        if order.is_bytewise() && !self.key_ends.is_empty() {
            common.extend(self.strip_common_prefix());
            prefixes.reserve_exact(self.key_ends.len());
            let mut start = 0;
            for &end in &self.key_ends {
                prefixes.push(key_prefix(&self.keys[start as usize..end as usize]));
                start = end;
            }
        }
        Index {
            keys: self.keys.into(),
            key_ends: self.key_ends.into(),
            common: common.into(),
            samples: prefixes.iter().copied().step_by(SAMPLED).collect(),
            prefixes: prefixes.into(),
            has_directories: self.offsets.iter().any(|offset| offset & 1 == 1),
            offsets: self.offsets.into(),
            lens: self.lens.into(),
        }
    }

    /// Removes and returns the common prefix of all separators in `keys`. They ascend, so it is the
    /// common prefix of the first and the last.
    fn strip_common_prefix(&mut self) -> Vec<u8> {
        let first = &self.keys[..self.key_ends[0] as usize];
        let last = &self.separator.as_slice()[self.left_out..];
        let common = first[..common_prefix(first, last)].to_vec();
        let mut stripped = Vec::with_capacity(self.keys.len());
        let mut start = 0;
        for end in &mut self.key_ends {
            stripped.extend_from_slice(&self.keys[start as usize + common.len()..*end as usize]);
            start = *end;
            *end = stripped.len() as u32;
        }
        self.keys = stripped;
        common
    }
}

/// Encodes an index, entry by entry.
#[derive(Debug, Default)]
pub(super) struct IndexBuilder {
    encoded: Vec<u8>,
    count: u32,
    last: Vec<u8>,
    end: u64,
}

impl IndexBuilder {
    /// Returns the number of children so far.
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.encoded.capacity() + self.last.capacity()
    }

    /// Appends a child, whose offset must not be below the end of the previous one.
    pub(super) fn add(&mut self, separator: &[u8], child: Child) {
        let shared = common_prefix(&self.last, separator);
        put_varint(&mut self.encoded, shared as u64);
        crate::encoding::put_length_delimited(&mut self.encoded, &separator[shared..]);
        assert!(child.handle.offset >= self.end, "the children of an index follow each other");
        put_varint(&mut self.encoded, child.handle.offset - self.end);
        let kind = u64::from(child.is_directory);
        put_varint(&mut self.encoded, u64::from(child.handle.len) << 1 | kind);
        self.end = child.handle.end();
        self.count += 1;
        self.last.clear();
        self.last.extend_from_slice(separator);
    }

    /// Passes the payload to `put` and starts over.
    pub(super) fn finish(&mut self, mut put: impl FnMut(&[u8])) {
        put(&self.encoded);
        put(&self.count.to_le_bytes());
        self.encoded.clear();
        self.last.clear();
        self.count = 0;
        self.end = 0;
    }
}
