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
    /// Bytes within a buffer; `None` where it is too long to be pointed into.
    pub(crate) fn new(buffer: &Arc<[u8]>, start: usize, len: usize) -> Option<BlockBytes> {
        let (start, len) = (u32::try_from(start).ok()?, u32::try_from(len).ok()?);
        Some(BlockBytes { block: Arc::clone(buffer), start, len })
    }
}

impl BlockBytes {
    /// Becomes the pin of another value. In the same block it is moved, and nothing is counted.
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

/// A record's value where it lies; it becomes a [`Value`] or [`BlockBytes`] only when somebody
/// keeps it.
#[derive(Clone, Copy, Debug)]
pub struct EntryValue<'a> {
    block: &'a Arc<[u8]>,
    start: usize,
    end: usize,
}

impl<'a> EntryValue<'a> {
    /// The value in `block[start..end]`.
    #[inline]
    pub(crate) fn new(block: &'a Arc<[u8]>, start: usize, end: usize) -> EntryValue<'a> {
        EntryValue { block, start, end }
    }

    /// Its bytes.
    #[inline]
    pub fn as_slice(&self) -> &'a [u8] {
        &self.block[self.start..self.end]
    }

    /// Its bytes, kept alive.
    #[inline]
    pub fn pin(&self) -> BlockBytes {
        BlockBytes {
            block: self.block.clone(),
            start: self.start as u32,
            len: (self.end - self.start) as u32,
        }
    }

    /// As a value: copied if short, else pinned.
    #[inline]
    pub fn to_value(self) -> Value {
        Value::inline(self.as_slice()).unwrap_or_else(|| Value::from_block(self.pin()))
    }
}
