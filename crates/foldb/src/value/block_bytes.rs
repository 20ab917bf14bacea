//! Values that lie in a cached block.

use std::ops::Deref;
use std::sync::Arc;

use crate::value::Value;

/// Bytes within a cached block, which they keep alive.
#[derive(Clone, Debug)]
pub struct BlockBytes {
    block: Arc<[u8]>,
    start: u32,
    len: u32,
}

impl BlockBytes {
    /// Points at bytes within a buffer; `None` if the buffer is too long for the offsets.
    pub(crate) fn new(buffer: &Arc<[u8]>, start: usize, len: usize) -> Option<BlockBytes> {
        let (start, len) = (u32::try_from(start).ok()?, u32::try_from(len).ok()?);
        Some(BlockBytes { block: Arc::clone(buffer), start, len })
    }
}

impl BlockBytes {
    /// Keeps the first `len` bytes only.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(u32::try_from(len).unwrap_or(u32::MAX));
    }

    /// Pins another value instead. If the value lies in the same block, no reference count changes.
    #[inline]
    pub(crate) fn pin_other(&mut self, entry: EntryValue<'_>) {
        if Arc::ptr_eq(&self.block, entry.block) {
            (self.start, self.len) = (entry.start as u32, (entry.end - entry.start) as u32);
        } else {
            *self = entry.pin();
        }
    }
}

impl Deref for BlockBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.block[self.start as usize..][..self.len as usize]
    }
}

/// A record's value, borrowed from its block. A caller that keeps the value turns it into a
/// [`Value`] or [`BlockBytes`].
#[derive(Clone, Copy, Debug)]
pub struct EntryValue<'a> {
    block: &'a Arc<[u8]>,
    start: usize,
    end: usize,
}

impl<'a> EntryValue<'a> {
    /// Points at the value in `block[start..end]`.
    #[inline]
    pub(crate) fn new(block: &'a Arc<[u8]>, start: usize, end: usize) -> EntryValue<'a> {
        debug_assert!(
            start <= end && end <= block.len() && u32::try_from(end).is_ok(),
            "a value lies within its block, at a position of 32 bits"
        );
        EntryValue { block, start, end }
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_slice(&self) -> &'a [u8] {
        &self.block[self.start..self.end]
    }

    /// Returns the bytes as a pin that keeps the block alive.
    #[inline]
    pub fn pin(&self) -> BlockBytes {
        BlockBytes {
            block: self.block.clone(),
            start: self.start as u32,
            len: (self.end - self.start) as u32,
        }
    }

    /// Converts to a value: a short one is copied, a longer one pinned.
    #[inline]
    pub fn to_value(self) -> Value {
        Value::inline(self.as_slice()).unwrap_or_else(|| Value::from_block(self.pin()))
    }
}
