//! The references of a table into value segments.
//!
//! ```text
//! in a table:  piece  piece  ...  entry  entry  ...          each a frame of its own
//!
//! piece:       extents of one segment, as in `extents`; pieces are in order of segment, position
//! entry:       segment u64 | offset of a piece u64 | its length u32; one entry for each piece, in
//!              the order of the pieces
//! ```
//!
//! The entries are the *directory*, which the table's properties point to. Entries have a fixed
//! length, so a reader finds and checks an entry without reading the others. Garbage collection
//! reads only the entries and pieces of its own segments. Pieces are small, so a reader holds few
//! bytes at a time.
//!
//! The live values are all values that the references of a version's tables contain. So finding
//! them needs no key lookup, and no reference counts that could become wrong. A trimmed table
//! counts in full until its file is removed.

use std::collections::BTreeMap;

use crate::encoding::ByteReader;
use crate::error::Result;
use crate::separated::address::{Address, SegmentId};
use crate::separated::extents::{Extent, Extents, ExtentsBuilder, PieceReader, PieceWriter};

/// Tells where a table stores one piece of its references. A piece belongs to one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReferencesEntry {
    pub(crate) segment: SegmentId,
    pub(crate) offset: u64,
    /// Bytes of the piece's frame.
    pub(crate) len: u32,
}

impl ReferencesEntry {
    /// Bytes of one entry.
    pub(crate) const LEN: usize = 20;

    pub(crate) fn encode(&self) -> [u8; ReferencesEntry::LEN] {
        let mut out = [0; ReferencesEntry::LEN];
        out[..8].copy_from_slice(&self.segment.to_le_bytes());
        out[8..16].copy_from_slice(&self.offset.to_le_bytes());
        out[16..].copy_from_slice(&self.len.to_le_bytes());
        out
    }

    /// # Errors
    /// `Corruption` for malformed bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<ReferencesEntry> {
        let mut bytes = ByteReader::new(bytes);
        Ok(ReferencesEntry {
            segment: bytes.u64("references: segment")?,
            offset: bytes.u64("references: offset")?,
            len: bytes.u32("references: length")?,
        })
    }
}

/// The values that a table refers to, by segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct References(BTreeMap<SegmentId, Extents>);

impl References {
    pub(crate) fn of(&self, segment: SegmentId) -> Option<&Extents> {
        self.0.get(&segment)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SegmentId, &Extents)> {
        self.0.iter().map(|(&segment, extents)| (segment, extents))
    }

    /// Returns the bytes of the records referred to, by segment.
    pub(crate) fn totals(&self) -> Vec<(SegmentId, u64)> {
        self.0.iter().map(|(&segment, extents)| (segment, extents.bytes())).collect()
    }

    /// Calls `put` with each piece to store, in order.
    ///
    /// # Errors
    /// Errors of `put`.
    pub(crate) fn pieces(&self, mut put: impl FnMut(SegmentId, &[u8]) -> Result<()>) -> Result<()> {
        let mut writer = PieceWriter::default();
        for (segment, extents) in self.iter() {
            for stretch in extents.iter() {
                if writer.add(stretch) {
                    put(segment, writer.piece())?;
                    writer.clear();
                }
            }
            if !writer.piece().is_empty() {
                put(segment, writer.piece())?;
                writer.clear();
            }
        }
        Ok(())
    }
}

impl FromIterator<(SegmentId, Extents)> for References {
    fn from_iter<I: IntoIterator<Item = (SegmentId, Extents)>>(all: I) -> References {
        References(all.into_iter().collect())
    }
}

/// Reads the pieces of one segment, in order.
#[derive(Debug, Default)]
pub(crate) struct SegmentPieces(PieceReader);

impl SegmentPieces {
    /// Visits the extents of the next piece.
    ///
    /// # Errors
    /// `Corruption` for malformed bytes.
    pub(crate) fn visit(&mut self, piece: &[u8], mut visit: impl FnMut(Extent)) -> Result<()> {
        let mut piece = ByteReader::new(piece);
        self.0.begin();
        while !piece.is_empty() {
            visit(self.0.next(&mut piece)?);
        }
        Ok(())
    }
}

/// The references of a table while it is written.
#[derive(Debug, Default)]
pub(crate) struct ReferencesBuilder(BTreeMap<SegmentId, ExtentsBuilder>);

impl ReferencesBuilder {
    /// Notes a record whose value lies at an address.
    pub(crate) fn add(&mut self, address: &Address) {
        self.0.entry(address.segment).or_default().add(address.position, address.end());
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.values().map(|extents| 64 + extents.memory_bytes()).sum()
    }

    pub(crate) fn finish(self) -> References {
        let finished = self.0.into_iter().map(|(segment, extents)| (segment, extents.finish()));
        References(finished.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_come_back() {
        let mut builder = ReferencesBuilder::default();
        let at = |segment, position| Address { segment, position, len: 100, key_part: 0 };
        let len = at(1, 0).record_len();
        for address in [at(9, 0), at(3, 10), at(9, len), at(9, 3 * len)] {
            builder.add(&address);
        }
        let references = builder.finish();
        assert_eq!(references.totals(), [(3, len), (9, 3 * len)]);
        assert_eq!(references.of(9).unwrap().len(), 2, "neighbours are one extent");
        let (mut found, mut pieces) = (BTreeMap::new(), 0);
        references
            .pieces(|segment, piece| {
                pieces += 1;
                let all: &mut (SegmentPieces, Vec<Extent>) = found.entry(segment).or_default();
                all.0.visit(piece, |stretch| all.1.push(stretch))
            })
            .unwrap();
        let found = found.into_iter().map(|(segment, (_, all))| (segment, Extents::of(all)));
        assert_eq!(found.collect::<References>(), references);
        assert_eq!(pieces, 2, "one a segment");
    }

    #[test]
    fn an_entry_comes_back() {
        let entry = ReferencesEntry { segment: 7, offset: 1 << 40, len: 9 };
        assert_eq!(ReferencesEntry::decode(&entry.encode()).unwrap(), entry);
        assert!(ReferencesEntry::decode(&entry.encode()[1..]).is_err());
    }
}
