//! A decoded sub-block of records, and the search in it.
//!
//! ```text
//! +-------+-------+-----+-------+------------------+-----+-------------------+
//! | entry | entry | ... | entry | restart 0 u32    | ... | restart count u32 |
//! +-------+-------+-----+-------+------------------+-----+-------------------+
//! ```
//!
//! A restart is the position of an entry that shares nothing with the previous one. The first entry
//! is a restart, and so is one of every [`RESTART_INTERVAL`] neighbours, or of fewer if they are
//! large. The restarts are checked once, when the sub-block is loaded: they ascend from 0 and lie
//! inside the entries. An entry is checked when a reader meets it.
//!
//! A search finds the interval between two restarts first, then walks through it. In a cached
//! sub-block ([`super::kept_block`]), most of the first half needs none of these bytes.

use std::ops::Range;
use std::sync::Arc;

use foldb_chains::prefetch;

use crate::encoding::common_prefix;
use crate::error::{Error, Result};
use crate::key::SeqNo;
use crate::table::entry::{Entry, EntryFault, READABLE_BEHIND, decode_entry, decode_short};
use crate::table::key_buffer::KeyBuffer;
use crate::table::order::KeyOrder;

/// Most entries from one restart to the next.
pub(super) const RESTART_INTERVAL: usize = 16;

/// A sub-block's bytes. Cheap to clone; clones share them.
#[derive(Clone, Debug)]
pub(super) struct DataBlock {
    bytes: Arc<[u8]>,
    /// Where the entries end and the restarts begin.
    entries_end: u32,
    restarts: u32,
}

/// A record that [`DataBlock::seek_from`] found.
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
    /// Parses the payload of a sub-block.
    ///
    /// # Errors
    /// `Corruption` if its restarts are not as drawn above.
    pub(super) fn parse(payload: &[u8]) -> Result<DataBlock> {
        let (entries_end, restarts) = check_restarts(payload)?;
        Ok(DataBlock { bytes: payload.into(), entries_end, restarts })
    }

    /// Parses a sub-block whose payload is the first `len` of these bytes.
    ///
    /// # Errors
    /// Those of [`DataBlock::parse`].
    pub(super) fn of_own(bytes: Arc<[u8]>, len: usize) -> Result<DataBlock> {
        let (entries_end, restarts) = check_restarts(&bytes[..len])?;
        Ok(DataBlock { bytes, entries_end, restarts })
    }

    /// Returns a sub-block without records.
    pub(super) fn empty() -> DataBlock {
        DataBlock { bytes: Arc::default(), entries_end: 0, restarts: 0 }
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

    /// Returns the position of a restart.
    pub(super) fn restart(&self, index: usize) -> usize {
        let at = self.entries_end() + 4 * index;
        self.bytes.get(at..at + 4).map_or(0, restart_at)
    }

    /// Returns where the entries before restart `index` end.
    #[inline]
    fn restart_end(&self, index: usize) -> usize {
        let last = index >= self.restarts as usize;
        if last { self.entries_end() } else { self.restart(index) }
    }

    /// Returns the number of restarts.
    #[inline]
    pub(super) fn restarts(&self) -> usize {
        self.restarts as usize
    }

    /// Returns the key of the restart at this position.
    ///
    /// # Errors
    /// `Corruption` or `Unsupported` if its record is malformed.
    pub(super) fn restart_key(&self, at: usize) -> Result<&[u8]> {
        self.restart_entry(at).map(|entry| &self.bytes[entry.key_start..entry.key_end])
    }

    /// Returns the positions between the last restart with a key before `target` and the next
    /// restart: there the search for `target` begins. Without such a restart it begins at 0.
    ///
    /// # Errors
    /// `Corruption` or `Unsupported` for malformed records.
    #[inline]
    pub(super) fn interval_of(&self, target: &[u8], order: &KeyOrder) -> Result<Range<usize>> {
        self.interval_among(0..self.restarts(), target, order)
    }

    /// Does what [`DataBlock::interval_of`] does if restarts before the range have smaller keys,
    /// and restarts behind it larger ones.
    #[inline]
    pub(super) fn interval_among(
        &self,
        undecided: Range<usize>,
        target: &[u8],
        order: &KeyOrder,
    ) -> Result<Range<usize>> {
        let before = lower_bound(undecided, |index| {
            Ok::<_, Error>(order.compare(self.restart_key(self.restart(index))?, target).is_lt())
        })?;
        let start = if before == 0 { 0 } else { self.restart(before - 1) };
        Ok(start..self.restart_end(before.max(1)))
    }

    /// Finds the first record whose key is at or after `target`: the newest of its versions here.
    /// The walk begins with the interval of [`DataBlock::interval_of`]. In bytewise order any other
    /// will do as well if `target` is before all records or behind them.
    ///
    /// With an order that is not bytewise, `scratch` holds the found key afterwards. Otherwise it
    /// is not touched.
    ///
    /// # Errors
    /// `Corruption` or `Unsupported` for malformed records.
    #[inline]
    pub(super) fn seek_from(
        &self,
        interval: Range<usize>,
        target: &[u8],
        order: &KeyOrder,
        scratch: &mut KeyBuffer,
    ) -> Result<Option<Found>> {
        let start = interval.start;
        // A value that is returned counts a reference, beside the first byte.
        prefetch(&self.bytes[..self.bytes.len().min(1)]);
        prefetch(&self.bytes[interval]);
        if !order.is_bytewise() {
            return self.scan_ordered(start, target, order, scratch);
        }
        let found = self.scan_bytewise(start, target)?;
        // The interval begins with a smaller key, unless all keys are larger.
        let is_before_all = start > 0 && found.is_some_and(|found| found.at == start);
        if is_before_all { self.scan_bytewise(0, target) } else { Ok(found) }
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
    // A count of corrupt bytes may be too large to multiply with 32 bits.
    let len = (restarts as usize).checked_mul(4);
    let Some(entries_end) = len.and_then(|len| body.len().checked_sub(len)) else {
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

#[inline(always)]
fn restart_at(bytes: &[u8]) -> usize {
    bytes.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}

const _: () = assert!(READABLE_BEHIND == 8, "one restart and the count");
