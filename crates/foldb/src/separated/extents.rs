//! Sets of bytes in a segment: stretches of records, by position.
//!
//! ```text
//! piece:  per stretch, ascending: gap to the end of the one before varint, length varint
//! ```
//!
//! They are stored in pieces, so that a reader need not hold all of them. A piece ends with the
//! stretch that brings it to [`PIECE`] bytes, and the last piece with the last stretch. The first
//! gap of each piece counts from 0.
//!
//! Records are written in key order, and tables hold keys in order. So a table refers to a few
//! stretches of a segment, each of which reaches up to the next overwritten value. Neighbours that
//! touch are one stretch. A bitmap over ordinals would always take one bit a record; this form
//! takes about four bytes a hole.

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, Result};

/// Bytes at which a piece ends, for stretches and for hints.
pub(crate) const PIECE: usize = 2 << 10;

/// Longest piece.
pub(crate) const MOST_PIECE: usize = PIECE + 20;

/// A stretch `[start, end)` of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Stretches in order. They neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extents(Vec<Extent>);

impl Extents {
    /// Makes a set of stretches given in any order; they may overlap.
    pub(crate) fn of(mut all: Vec<Extent>) -> Extents {
        all.retain(|extent| extent.start < extent.end);
        if !all.is_sorted() {
            all.sort_unstable();
        }
        all.dedup_by(|next, last| {
            let joins = next.start <= last.end;
            if joins {
                last.end = last.end.max(next.end);
            }
            joins
        });
        Extents(all)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Extent> + Clone + '_ {
        self.0.iter().copied()
    }

    pub(crate) fn into_stretches(self) -> Vec<Extent> {
        self.0
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the bytes in the stretches.
    pub(crate) fn bytes(&self) -> u64 {
        self.iter().map(|extent| extent.end - extent.start).sum()
    }

    /// Returns the stretch around a position.
    pub(crate) fn around(&self, position: u64) -> Option<(usize, Extent)> {
        let index = self.0.partition_point(|extent| extent.end <= position);
        let extent = *self.0.get(index)?;
        (extent.start <= position).then_some((index, extent))
    }

    /// Returns the bytes that the stretches use in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Extent>()
    }
}

/// Writes stretches in pieces.
#[derive(Debug, Default)]
pub(crate) struct PieceWriter {
    piece: Vec<u8>,
    end: u64,
}

impl PieceWriter {
    /// Adds a stretch, which lies behind all before it. Returns `true` if the piece is full: the
    /// caller then takes it.
    pub(crate) fn add(&mut self, stretch: Extent) -> bool {
        put_varint(&mut self.piece, stretch.start - self.end);
        put_varint(&mut self.piece, stretch.end - stretch.start);
        self.end = stretch.end;
        self.piece.len() >= PIECE
    }

    pub(crate) fn piece(&self) -> &[u8] {
        &self.piece
    }

    /// Begins the next piece.
    pub(crate) fn clear(&mut self) {
        self.piece.clear();
        self.end = 0;
    }
}

/// Reads stretches, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct PieceReader {
    /// The end of the last stretch, and of the last stretch of this piece.
    last: Option<u64>,
    end: u64,
}

impl PieceReader {
    /// Notes that the next bytes begin a piece.
    pub(crate) fn begin(&mut self) {
        self.end = 0;
    }

    /// Reads the next stretch of a piece.
    ///
    /// # Errors
    /// `Corruption` for malformed bytes, or a stretch that does not lie behind the one before.
    pub(crate) fn next(&mut self, piece: &mut ByteReader<'_>) -> Result<Extent> {
        let gap = piece.varint("gap before a stretch")?;
        let len = piece.varint("length of a stretch")?;
        let start = self.end.checked_add(gap);
        let found = start.and_then(|start| Some(Extent { start, end: start.checked_add(len)? }));
        let lies_behind = |found: &Extent| self.last.is_none_or(|last| found.start > last);
        let found = found.filter(|found| found.start < found.end && lies_behind(found));
        let found = found.ok_or_else(|| {
            Error::corruption(format!(
                "expected a stretch behind position {}, found one of {len} bytes {gap} behind {}",
                self.last.unwrap_or(0),
                self.end
            ))
        })?;
        (self.last, self.end) = (Some(found.end), found.end);
        Ok(found)
    }
}

/// Stretches built record by record.
#[derive(Debug, Default)]
pub(crate) struct ExtentsBuilder(Vec<Extent>);

impl ExtentsBuilder {
    /// Adds a record. In the order of positions, touching neighbours become one stretch at once.
    #[inline]
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        match self.0.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => self.0.push(Extent { start, end }),
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Extent>()
    }

    pub(crate) fn finish(self) -> Extents {
        Extents::of(self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Stretches hold exactly the positions that were added, and come back as they were
        /// written.
        #[test]
        fn stretches_are_the_union_of_what_was_added(
            records in proptest::collection::vec((0..200u64, 1..9u64), 0..60),
        ) {
            let mut builder = ExtentsBuilder::default();
            records.iter().for_each(|&(start, len)| builder.add(start, start + len));
            let extents = builder.finish();
            let mut positions = [false; 256];
            for &(start, len) in &records {
                positions[start as usize..(start + len) as usize].fill(true);
            }
            prop_assert_eq!(extents.bytes(), positions.iter().filter(|&&set| set).count() as u64);
            for (position, &set) in positions.iter().enumerate() {
                prop_assert_eq!(extents.around(position as u64).is_some(), set);
            }
            let mut back = Vec::new();
            let (mut writer, mut reader) = (PieceWriter::default(), PieceReader::default());
            let mut stretches = extents.iter().peekable();
            while let Some(stretch) = stretches.next() {
                // Any cut into pieces will do.
                if !(writer.add(stretch) || stretch.end % 3 == 0 || stretches.peek().is_none()) {
                    continue;
                }
                reader.begin();
                let mut piece = ByteReader::new(writer.piece());
                while !piece.is_empty() {
                    back.push(reader.next(&mut piece).unwrap());
                }
                writer.clear();
            }
            prop_assert_eq!(Extents::of(back.clone()), extents.clone());
            prop_assert_eq!(back.len(), extents.len(), "each as it was");
        }

        #[test]
        fn any_bytes_are_stretches_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let (mut piece, mut reader) = (ByteReader::new(&bytes), PieceReader::default());
            let mut last = 0;
            while !piece.is_empty() {
                let Ok(found) = reader.next(&mut piece) else { break };
                prop_assert!(found.start < found.end && last <= found.start);
                last = found.end;
            }
        }
    }
}
