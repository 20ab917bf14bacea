//! Encoded rows, one after the other: keys or values on their way to the engine.

use std::ops::Range;

/// Byte strings in one buffer.
#[derive(Default)]
pub(super) struct Rows {
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
}

impl Rows {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn row(&self, index: usize) -> &[u8] {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin..self.ends[index]]
    }

    pub(super) fn iter(&self, rows: Range<usize>) -> impl Iterator<Item = &[u8]> {
        rows.map(|index| self.row(index))
    }

    pub(super) fn push_row(&mut self, row: &[u8]) {
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
    }

    /// Appends a row, which `write` appends to the buffer.
    #[inline]
    pub(super) fn push<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        write(&mut self.bytes)?;
        self.ends.push(self.bytes.len());
        Ok(())
    }
}
