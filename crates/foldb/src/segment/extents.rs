//! Which bytes of a segment are meant: stretches of records, by position.
//!
//! ```text
//! encoded:  stretches varint | per stretch: gap to the one before varint, length varint
//! ```
//!
//! Records are written in key order and tables hold keys in order, so what a table refers to in a
//! segment is a few stretches, each as long as nothing between was overwritten. Neighbours that touch
//! are one stretch. A bitmap over ordinals would take a bit a record whatever it says; this takes
//! about four bytes a hole.

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, Result};

/// A stretch `[start, end)` of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Stretches in order, which neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extents(Vec<Extent>);

impl Extents {
    /// Stretches given in any order; they may overlap.
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

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Bytes in them.
    pub(crate) fn bytes(&self) -> u64 {
        self.iter().map(|extent| extent.end - extent.start).sum()
    }

    /// The stretch around a position.
    pub(crate) fn around(&self, position: u64) -> Option<(usize, Extent)> {
        let index = self.0.partition_point(|extent| extent.end <= position);
        let extent = *self.0.get(index)?;
        (extent.start <= position).then_some((index, extent))
    }

    /// Bytes they take in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Extent>()
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.0.len() as u64);
        let mut end = 0;
        for extent in &self.0 {
            put_varint(out, extent.start - end);
            put_varint(out, extent.end - extent.start);
            end = extent.end;
        }
    }

    /// # Errors
    /// `Corruption` for bytes that are none, or stretches that touch.
    pub(crate) fn decode(bytes: &mut ByteReader<'_>) -> Result<Extents> {
        let count = bytes.varint("number of stretches")?;
        let wrong = || Error::corruption("stretches of a segment: expected ascending ones");
        let mut extents: Vec<Extent> = Vec::new();
        let mut end = 0_u64;
        for _ in 0..count {
            let gap = bytes.varint("gap before a stretch")?;
            let len = bytes.varint("length of a stretch")?;
            let start = end.checked_add(gap).ok_or_else(wrong)?;
            end = start.checked_add(len).filter(|&end| end > start).ok_or_else(wrong)?;
            if gap == 0 && !extents.is_empty() {
                return Err(wrong());
            }
            extents.push(Extent { start, end });
        }
        Ok(Extents(extents))
    }
}

/// Stretches as records add to them.
#[derive(Debug, Default)]
pub(crate) struct ExtentsBuilder(Vec<Extent>);

impl ExtentsBuilder {
    /// Adds a record. In the order of positions neighbours become one stretch at once.
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
        /// Stretches hold exactly the positions that were added, and come back as they were written.
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
            let mut bytes = Vec::new();
            extents.encode(&mut bytes);
            let mut reader = ByteReader::new(&bytes);
            prop_assert_eq!(Extents::decode(&mut reader).unwrap(), extents);
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn any_bytes_are_stretches_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _never_panics = Extents::decode(&mut ByteReader::new(&bytes));
        }
    }
}
