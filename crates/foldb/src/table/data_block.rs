//! A decoded sub-block of records, and the search in it.
//!
//! ```text
//! +-------+-------+-----+-------+------------------+-----+-------------------+
//! | entry | entry | ... | entry | restart 0 u32    | ... | restart count u32 |
//! +-------+-------+-----+-------+------------------+-----+-------------------+
//! ```
//!
//! A restart is the position of an entry that shares nothing with the previous one. Every
//! [`RESTART_INTERVAL`]th entry is a restart, and so is the first. The restarts are checked once,
//! when the sub-block is loaded: they ascend from 0 and lie inside the entries. An entry is checked
//! when a reader meets it.
//!
//! A binary search over restarts would touch a cold cache line at each. So in memory, eight bytes
//! of each restart's key follow a cached sub-block: those after the common prefix of all keys. The
//! prefixes lie next to each other, and only ties need the keys themselves.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use foldb_chains::prefetch;

use crate::encoding::{common_prefix, key_prefix};
use crate::error::{Error, Result};
use crate::key::SeqNo;
use crate::table::entry::{Entry, EntryFault, READABLE_BEHIND, decode_entry, decode_short};
use crate::table::key_buffer::KeyBuffer;
use crate::table::order::KeyOrder;

/// Entries from one restart to the next.
pub(super) const RESTART_INTERVAL: usize = 16;

/// A sub-block's bytes. Cheap to clone; clones share them.
#[derive(Clone, Debug)]
pub(super) struct DataBlock {
    /// The payload, then the prefixes if there are any.
    bytes: Arc<[u8]>,
    /// Where the entries end and the restarts begin.
    entries_end: u32,
    restarts: u32,
    /// The length of the common prefix of all keys; `None` without prefixes.
    common: Option<u32>,
}

/// A record that [`DataBlock::seek`] found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Its position.
    pub at: usize,
    /// The record. In bytewise order, its shared bytes are the first bytes of the searched key.
    pub entry: Entry,
    /// Whether its key is the searched key, perhaps with other bytes.
    pub equal: bool,
}

impl DataBlock {
    /// Parses the payload of a sub-block. With an order, it prepares the sub-block for searches.
    ///
    /// # Errors
    /// `Corruption` if its restarts are not as drawn above.
    pub(super) fn parse(payload: &[u8], order: Option<&KeyOrder>) -> Result<DataBlock> {
        let (entries_end, restarts) = check_restarts(payload)?;
        let prepare = restarts > 1 && order.is_some_and(KeyOrder::is_bytewise);
        let bytes = if prepare { zeroed(payload, 8 * restarts as usize) } else { payload.into() };
        let mut block = DataBlock { bytes, entries_end, restarts, common: None };
        if prepare {
            block.add_prefixes(payload)?;
        }
        Ok(block)
    }

    /// Parses a sub-block whose payload is the first `len` of these bytes. It is not prepared for
    /// searches.
    ///
    /// # Errors
    /// Those of [`DataBlock::parse`].
    pub(super) fn of_own(bytes: Arc<[u8]>, len: usize) -> Result<DataBlock> {
        let (entries_end, restarts) = check_restarts(&bytes[..len])?;
        Ok(DataBlock { bytes, entries_end, restarts, common: None })
    }

    fn add_prefixes(&mut self, payload: &[u8]) -> Result<()> {
        let key = |index| {
            let entry = self.restart_entry(self.restart(index))?;
            Ok::<_, Error>(&payload[entry.key_start..entry.key_end])
        };
        let count = self.restarts as usize;
        let (first, last) = (key(0)?, key(count - 1)?);
        let common = common_prefix(first, last);
        let mut prefixes = Vec::with_capacity(count);
        for index in 0..count {
            prefixes.push(key_prefix(key(index)?.get(common..).unwrap_or(&[])));
        }
        let bytes = Arc::get_mut(&mut self.bytes).expect("a new Arc is not shared");
        for (out, prefix) in bytes[payload.len()..].chunks_exact_mut(8).zip(&prefixes) {
            out.copy_from_slice(&prefix.to_le_bytes());
        }
        self.common = u32::try_from(common).ok();
        Ok(())
    }

    /// Returns a sub-block without records.
    pub(super) fn empty() -> DataBlock {
        DataBlock { bytes: Arc::default(), entries_end: 0, restarts: 0, common: None }
    }

    /// Returns the bytes that entries point into.
    #[inline]
    pub(super) fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Returns where the entries end.
    #[inline]
    pub(super) fn entries_end(&self) -> usize {
        self.entries_end as usize
    }

    /// Prefetches the bytes that a search reads first, because a search will follow soon. Does
    /// nothing if the sub-block is not prepared for searches.
    #[inline]
    pub(super) fn prefetch_search(&self) {
        if self.restarts > 1 {
            prefetch(&self.bytes[self.entries_end()..]);
        }
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the record at `at`.
    #[inline(always)]
    pub(super) fn entry(&self, at: usize) -> Result<Entry, EntryFault> {
        decode_entry(&self.bytes, at, self.entries_end())
    }

    /// Returns the record at `at` if it is of the usual kind: see [`decode_short`].
    #[inline(always)]
    pub(super) fn short_entry(&self, at: usize) -> Option<Entry> {
        decode_short(&self.bytes, at, self.entries_end())
    }

    /// Returns the record at `at`, with the fault as an error.
    #[inline]
    pub(super) fn checked_entry(&self, at: usize) -> Result<Entry> {
        self.entry(at).map_err(|fault| fault.into_error(at))
    }

    /// Returns the key bytes of `entry` that it does not share.
    #[inline(always)]
    pub(super) fn suffix(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.key_start..entry.key_end]
    }

    /// Returns the position of the last restart before `at`; 0 if there is none.
    pub(super) fn restart_before(&self, at: usize) -> usize {
        let all = 0..self.restarts as usize;
        let before = lower_bound(all, |index| Ok::<_, Error>(self.restart(index) < at));
        self.restart(before.unwrap_or(0).saturating_sub(1))
    }

    fn restart(&self, index: usize) -> usize {
        let at = self.entries_end() + 4 * index;
        self.bytes.get(at..at + 4).map_or(0, restart_at)
    }

    /// Returns where the entries before restart `index` end.
    #[inline]
    fn restart_end(&self, index: usize) -> usize {
        let last = index >= self.restarts as usize;
        if last { self.entries_end() } else { self.restart(index) }
    }

    #[inline]
    fn prefix(&self, index: usize) -> u64 {
        let at = self.entries_end() + 4 * (self.restarts as usize + 1) + 8 * index;
        let bytes = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Counts the restarts with a key before `target`.
    #[inline]
    fn restarts_before(&self, target: &[u8], order: &KeyOrder) -> Result<usize> {
        let undecided = match self.common {
            Some(common) => self.restarts_with_prefix_of(target, common as usize)?,
            None => 0..self.restarts as usize,
        };
        lower_bound(undecided, |index| {
            let entry = self.restart_entry(self.restart(index))?;
            Ok(order.compare(self.suffix(&entry), target).is_lt())
        })
    }

    /// Returns the restarts whose keys the prefixes do not tell from `target`. Restarts before the
    /// range have smaller keys, restarts after it larger ones.
    #[inline]
    fn restarts_with_prefix_of(&self, target: &[u8], common: usize) -> Result<Range<usize>> {
        let count = self.restarts as usize;
        if common > 0 {
            let first = self.restart_entry(0)?;
            let shared = &self.suffix(&first)[..common];
            let (head, _) = target.split_at(common.min(target.len()));
            match head.cmp(shared) {
                Ordering::Less => return Ok(0..0),
                Ordering::Greater => return Ok(count..count),
                Ordering::Equal => {}
            }
        }
        let prefix = key_prefix(&target[common..]);
        let low = lower_bound(0..count, |index| Ok::<_, Error>(self.prefix(index) < prefix))?;
        let ties = (low..count).take_while(|&index| self.prefix(index) == prefix).count();
        Ok(low..low + ties)
    }

    /// Finds the first record whose key is at or after `target`: the newest of its versions here.
    ///
    /// With an order that is not bytewise, `scratch` holds the found key afterwards. Otherwise it
    /// is not touched.
    ///
    /// # Errors
    /// `Corruption` or `Unsupported` for malformed records.
    #[inline]
    pub(super) fn seek(
        &self,
        target: &[u8],
        order: &KeyOrder,
        scratch: &mut KeyBuffer,
    ) -> Result<Option<Found>> {
        let before = self.restarts_before(target, order)?;
        let start = self.restart(before.saturating_sub(1));
        prefetch(&self.bytes[start..self.restart_end(before.max(1))]);
        if order.is_bytewise() {
            self.scan_bytewise(start, target)
        } else {
            self.scan_ordered(start, target, order, scratch)
        }
    }

    /// Returns whether the first record is a version of `key` newer than `seqno`.
    ///
    /// # Errors
    /// `Corruption` or `Unsupported` for a malformed record.
    pub(super) fn begins_behind(&self, key: &[u8], seqno: SeqNo, order: &KeyOrder) -> Result<bool> {
        self.is_behind(0, key, seqno, order)
    }

    /// Skips versions of `key` newer than `seqno` without decoding most of them. `at` and the
    /// returned position are such versions. Fewer than two restart intervals of such versions
    /// follow the returned position.
    ///
    /// # Errors
    /// `Corruption` or `Unsupported` for malformed records.
    pub(super) fn pass_behind(
        &self,
        at: usize,
        key: &[u8],
        seqno: SeqNo,
        order: &KeyOrder,
    ) -> Result<usize> {
        let passed = lower_bound(0..self.restarts as usize, |index| {
            let restart = self.restart(index);
            Ok::<_, Error>(restart <= at || self.is_behind(restart, key, seqno, order)?)
        })?;
        Ok(self.restart(passed.saturating_sub(1)).max(at))
    }

    fn is_behind(
        &self,
        restart: usize,
        key: &[u8],
        seqno: SeqNo,
        order: &KeyOrder,
    ) -> Result<bool> {
        let entry = self.restart_entry(restart)?;
        Ok(entry.header.seqno > seqno && order.is_same(self.suffix(&entry), key))
    }

    fn restart_entry(&self, at: usize) -> Result<Entry> {
        let entry = self.checked_entry(at)?;
        if entry.shared != 0 {
            return Err(EntryFault::Shared.into_error(at));
        }
        Ok(entry)
    }

    /// Walks on without building whole keys. The previous key is smaller than `target` and shares
    /// `matched` bytes with it. A key that shares more than these with the previous key is smaller,
    /// too. Otherwise only its suffix decides.
    #[inline]
    fn scan_bytewise(&self, start: usize, target: &[u8]) -> Result<Option<Found>> {
        let (mut at, mut matched) = (start, 0);
        while at < self.entries_end() {
            let entry = match self.short_entry(at) {
                Some(entry) => entry,
                None => self.checked_entry(at)?,
            };
            if entry.shared <= matched {
                let (suffix, rest) = (self.suffix(&entry), &target[entry.shared..]);
                let common = common_prefix(suffix, rest);
                let equal = common == suffix.len() && common == rest.len();
                let less = match (suffix.get(common), rest.get(common)) {
                    (Some(suffix), Some(rest)) => suffix < rest,
                    (None, Some(_)) => true,
                    (_, None) => false,
                };
                if !less {
                    return Ok(Some(Found { at, entry, equal }));
                }
                matched = entry.shared + common;
            }
            at = entry.end;
        }
        Ok(None)
    }

    fn scan_ordered(
        &self,
        start: usize,
        target: &[u8],
        order: &KeyOrder,
        key: &mut KeyBuffer,
    ) -> Result<Option<Found>> {
        let mut at = start;
        key.clear();
        while at < self.entries_end() {
            let entry = self.checked_entry(at)?;
            if entry.shared > key.len() {
                return Err(EntryFault::Shared.into_error(at));
            }
            key.set_suffix(entry.shared, self.suffix(&entry));
            let by_key = order.compare(key.as_slice(), target);
            if by_key.is_ge() {
                return Ok(Some(Found { at, entry, equal: by_key.is_eq() }));
            }
            at = entry.end;
        }
        Ok(None)
    }
}

/// Checks the restarts. Returns where entries end, and how many restarts follow.
fn check_restarts(payload: &[u8]) -> Result<(u32, u32)> {
    let wrong = |what: &str, expected: &str, found: u64| {
        Error::corruption(format!("sub-block {what}: expected {expected}, found {found}"))
    };
    let Some((body, &count)) = payload.split_last_chunk::<4>() else {
        return Err(wrong("length", "at least 8", payload.len() as u64));
    };
    let restarts = u32::from_le_bytes(count);
    let Some(entries_end) = body.len().checked_sub(4 * restarts as usize) else {
        return Err(wrong("restart count", "what its length holds", u64::from(restarts)));
    };
    let mut least = 0;
    for (i, restart) in body[entries_end..].chunks_exact(4).enumerate() {
        let at = restart_at(restart);
        if at < least || at >= entries_end || (i == 0 && at != 0) {
            return Err(wrong("restart", "an ascending position of an entry", at as u64));
        }
        least = at + 1;
    }
    let (Ok(entries_end), 1..) = (u32::try_from(entries_end), restarts) else {
        return Err(wrong("restart count", "at least 1", u64::from(restarts)));
    };
    Ok((entries_end, restarts))
}

/// Returns the first index of `range` for which `less` does not hold; it holds for none after that.
#[inline]
fn lower_bound<E>(
    range: Range<usize>,
    mut less: impl FnMut(usize) -> Result<bool, E>,
) -> Result<usize, E> {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = usize::midpoint(low, high);
        if less(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Makes a new shared buffer: `front`, then `room` zeroes.
fn zeroed(front: &[u8], room: usize) -> Arc<[u8]> {
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, front.len() + room).collect();
    Arc::get_mut(&mut bytes).expect("a new Arc is not shared")[..front.len()]
        .copy_from_slice(front);
    bytes
}

#[inline(always)]
fn restart_at(bytes: &[u8]) -> usize {
    bytes.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}

const _: () = assert!(READABLE_BEHIND == 8, "one restart and the count");
