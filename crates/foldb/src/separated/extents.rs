//! Sets of bytes in a segment, as extents: ranges of positions that hold whole records.
//!
//! ```text
//! piece:  per extent, ascending: gap to the end of the one before varint, length varint
//! ```
//!
//! Files store the extents in pieces, so that a reader need not hold all extents. A piece ends with
//! the extent that brings it to [`PIECE`] bytes. The last piece ends with the last extent. The
//! first gap of each piece counts from 0.
//!
//! Records are written in key order, and tables hold keys in order. So a table refers to a few
//! extents of a segment, each of which ends at the next overwritten value. Neighbours that touch
//! are one extent. A bitmap would always take one bit for each record. This form takes about four
//! bytes for each gap.

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, Result};

/// Bytes at which a piece ends, for extents and for hints.
pub(crate) const PIECE: usize = 2 << 10;

/// Longest piece.
pub(crate) const MOST_PIECE: usize = PIECE + 20;

/// A range `[start, end)` of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Extents in ascending order. They neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extents(Vec<Extent>);

impl Extents {
    /// Makes a set of extents given in any order. The extents may overlap.
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
        debug_assert!(
            all.is_sorted_by(|before, next| before.end < next.start),
            "extents are ascending, and no two touch"
        );
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

    /// Returns the sum of the lengths of the extents.
    pub(crate) fn bytes(&self) -> u64 {
        self.iter().map(|extent| extent.end - extent.start).sum()
    }

    /// Returns the extent that contains a position, and its index.
    pub(crate) fn around(&self, position: u64) -> Option<(usize, Extent)> {
        let index = self.0.partition_point(|extent| extent.end <= position);
        let extent = *self.0.get(index)?;
        (extent.start <= position).then_some((index, extent))
    }

    /// Returns the bytes that the extents use in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Extent>()
    }
}

/// Writes extents in pieces.
#[derive(Debug, Default)]
pub(crate) struct PieceWriter {
    piece: Vec<u8>,
    end: u64,
}

impl PieceWriter {
    /// Adds an extent, which must lie after all earlier ones. Returns `true` if the piece is full.
    /// The caller then takes the piece.
    pub(crate) fn add(&mut self, stretch: Extent) -> bool {
        debug_assert!(
            self.end <= stretch.start && stretch.start < stretch.end,
            "a piece names its extents in order, as gaps and lengths"
        );
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

/// Reads extents, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct PieceReader {
    /// The end of the last extent of all pieces. `end` is that of the last extent of this piece, or
    /// 0.
    last: Option<u64>,
    end: u64,
}

impl PieceReader {
    /// Notes that the next bytes begin a piece.
    pub(crate) fn begin(&mut self) {
        self.end = 0;
    }

    /// Reads the next extent of a piece.
    ///
    /// # Errors
    /// `Corruption` if the bytes are malformed, or if the extent does not lie after the one before.
    pub(crate) fn next(&mut self, piece: &mut ByteReader<'_>) -> Result<Extent> {
        let gap = piece.varint("gap before an extent")?;
        let len = piece.varint("length of an extent")?;
        let start = self.end.checked_add(gap);
        let found = start.and_then(|start| Some(Extent { start, end: start.checked_add(len)? }));
        let lies_behind = |found: &Extent| self.last.is_none_or(|last| found.start > last);
        let found = found.filter(|found| found.start < found.end && lies_behind(found));
        let found = found.ok_or_else(|| {
            Error::corruption(format!(
                "expected an extent after position {}, found {len} bytes that begin {gap} after {}",
                self.last.unwrap_or(0),
                self.end
            ))
        })?;
        (self.last, self.end) = (Some(found.end), found.end);
        Ok(found)
    }
}

/// A set of extents built record by record.
#[derive(Debug, Default)]
pub(crate) struct ExtentsBuilder(Vec<Extent>);

impl ExtentsBuilder {
    /// Adds a record. If records come in the order of positions, touching neighbours become one
    /// extent immediately.
    #[inline]
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        debug_assert!(start < end, "a referenced record has bytes");
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
        /// Extents hold exactly the positions that were added, and are read back as they were
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
                // Cut the pieces at arbitrary extents.
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
