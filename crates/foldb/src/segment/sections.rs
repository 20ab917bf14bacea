//! Finds the sections of a file by walking it, for repairs that have only the file.

use crate::encoding::{ByteReader, decode_varint};
use crate::error::{Error, ErrorKind, Result};
use crate::key::{DEFAULT_KEYSPACE, KeyspaceId};
use crate::segment::file::SegmentFile;
use crate::segment::format::{
    ChunkOf, FILE_HEADER_LEN, KEYED, MOVED, SECTION_HEADER_LEN, SECTION_MAGIC, Tail,
    parse_section_header,
};
use crate::segment::logged::{LoggedValue, LoggedValues};
use crate::segment::map::Placement;
use crate::segment::open::{OpenFile, OpenSegments};
use crate::separated::address::SegmentId;
use crate::separated::extents::{Extent, Extents, PieceReader};

use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of one read.
const STEP: u64 = 256 << 10;

/// Bytes of a record's checksum.
const SUM: u64 = crate::separated::record::CHECKSUM_LEN;

/// A whole section.
#[derive(Clone, Debug)]
pub(crate) struct FoundSection {
    pub(crate) placement: Placement,
    /// The positions whose records the section holds.
    kept: Extents,
}

impl FoundSection {
    /// Returns how many bytes of these extents the section holds.
    pub(crate) fn covers(&self, wanted: &Extents) -> u64 {
        let has = |extent: &Extent| {
            self.kept.around(extent.start).is_some_and(|(_, kept)| extent.end <= kept.end)
        };
        wanted.iter().filter(has).map(|extent| extent.end - extent.start).sum()
    }
}

impl OpenSegments {
    /// If this file is a log that became a segment, returns its section and its keyspace. The
    /// keyspace is the one whose values have the most bytes in the log.
    ///
    /// # Errors
    /// `Unsupported` for a log of another format version; `Io` if a read fails.
    pub(crate) fn adopted_log(
        &self,
        file: &Arc<SegmentFile>,
        len: u64,
    ) -> Result<Option<(KeyspaceId, FoundSection)>> {
        file.set_adopted();
        let open = match self.get(DEFAULT_KEYSPACE, file) {
            Err(error) if error.kind() == ErrorKind::Corruption => return Ok(None),
            open => open?,
        };
        let mut placement = Placement::adopted(file.number(), len, 0);
        let mut values = LoggedValues::new(&open, &placement, STEP as usize);
        let mut bytes_of: BTreeMap<KeyspaceId, u64> = BTreeMap::new();
        loop {
            match values.next() {
                Ok(Some(LoggedValue { keyspace, hint })) => {
                    placement.values += 1;
                    *bytes_of.entry(*keyspace).or_default() += hint.value_len;
                }
                Ok(None) => break,
                // Damage ends only the count of values. The section still covers the whole log, so
                // reads find the values after the damage.
                Err(error) if error.kind() == ErrorKind::Corruption => break,
                Err(error) => return Err(error),
            }
        }
        let kept = Extents::of(vec![Extent { start: 0, end: placement.records_len }]);
        let most = bytes_of.into_iter().max_by_key(|(_, bytes)| *bytes);
        Ok(most.map(|(keyspace, _)| (keyspace, FoundSection { placement, kept })))
    }

    /// Returns the whole sections of a file, in order. It skips damaged and cut sections: a section
    /// begins at any whole header, and ends with whole tails.
    ///
    /// # Errors
    /// `Corruption` if the file is missing or is another file; `Io` if a read fails.
    pub(crate) fn sections(
        &self,
        keyspace: KeyspaceId,
        file: &Arc<SegmentFile>,
        len: u64,
    ) -> Result<Vec<FoundSection>> {
        let open = self.get(keyspace, file)?;
        let mut walk = Walk { file: &open, len, bytes: Vec::new(), offset: 0, failed: None };
        let (mut found, mut offset) = (Vec::new(), FILE_HEADER_LEN);
        while let Some(start) = walk.next_header(offset) {
            offset = match walk.section(start, file.number()) {
                None => start + SECTION_HEADER_LEN,
                Some(section) => {
                    let end = section.placement.end();
                    found.push(section);
                    end
                }
            };
        }
        // A failed read does not prove damage, so it is an error.
        walk.failed.map_or(Ok(found), Err)
    }
}

struct Walk<'a> {
    file: &'a OpenFile,
    len: u64,
    bytes: Vec<u8>,
    offset: u64,
    failed: Option<Error>,
}

impl Walk<'_> {
    /// Returns where the next header of a section begins, from `offset` on.
    fn next_header(&mut self, mut offset: u64) -> Option<u64> {
        loop {
            let room = self.len.checked_sub(offset).filter(|&room| room >= SECTION_HEADER_LEN)?;
            let len = room.min(STEP);
            let bytes = self.at(offset, len)?;
            let last = bytes.len() - SECTION_HEADER_LEN as usize;
            let header = (0..=last).find(|&at| {
                let header = &bytes[at..at + SECTION_HEADER_LEN as usize];
                header.starts_with(&SECTION_MAGIC) && parse_section_header(header).is_some()
            });
            match header {
                Some(at) => return Some(offset + at as u64),
                None => offset += last as u64 + 1,
            }
        }
    }

    fn section(&mut self, start: u64, file: u64) -> Option<FoundSection> {
        let (segment, flags) = parse_section_header(self.at(start, SECTION_HEADER_LEN)?)?;
        let records_at = start + SECTION_HEADER_LEN;
        let (mut offset, mut values) = (records_at, 0);
        loop {
            let (len, head) = self.varint(offset)?;
            let Some(len) = len.checked_sub(1) else { break };
            offset = offset.checked_add(head)?.checked_add(len)?.checked_add(SUM)?;
            if flags & KEYED != 0 {
                let (key, head) = self.varint(offset)?;
                offset = offset.checked_add(head)?.checked_add(key)?;
                offset += self.varint(offset)?.1 + SUM;
            }
            values += 1;
        }
        let records_len = offset - records_at;
        let mut end = offset + 1;
        let mut stretches = (PieceReader::default(), Vec::new());
        self.tail(&mut end, segment, flags, Tail::Moves, |piece| {
            stretches.0.begin();
            let mut piece = ByteReader::new(piece);
            while !piece.is_empty() {
                stretches.1.push(stretches.0.next(&mut piece).ok()?);
            }
            Some(())
        })?;
        let kept = match flags & MOVED != 0 {
            true => Extents::of(stretches.1),
            false => Extents::of(vec![Extent { start: 0, end: records_len }]),
        };
        self.tail(&mut end, segment, flags, Tail::Hints, |_| Some(()))?;
        let len = end - start;
        let placement = Placement { segment, file, offset: start, len, records_len, values, flags };
        (kept.bytes() == records_len).then_some(FoundSection { placement, kept })
    }

    /// Visits the chunks of the tail at `offset`, and moves `offset` to the end of the tail.
    fn tail(
        &mut self,
        offset: &mut u64,
        segment: SegmentId,
        flags: u32,
        tail: Tail,
        mut visit: impl FnMut(&[u8]) -> Option<()>,
    ) -> Option<()> {
        for index in 0.. {
            let len = ChunkOf::len(self.at(*offset, 4)?.try_into().ok()?);
            let chunk = self.at(*offset, len)?;
            let payload = ChunkOf { segment, flags, tail, index }.check(chunk).ok()?;
            *offset += len;
            if payload.is_empty() {
                break;
            }
            visit(payload)?;
        }
        Some(())
    }

    fn at(&mut self, offset: u64, len: u64) -> Option<&[u8]> {
        let end = offset.checked_add(len).filter(|&end| end <= self.len)?;
        if offset < self.offset || end > self.offset + self.bytes.len() as u64 {
            let step = len.max(STEP).min(self.len - offset);
            self.bytes.resize(step as usize, 0);
            self.offset = offset;
            if let Err(error) = self.file.read(&mut self.bytes, offset) {
                self.bytes.clear();
                self.failed = Some(error);
                return None;
            }
        }
        let start = (offset - self.offset) as usize;
        self.bytes.get(start..start + len as usize)
    }

    fn varint(&mut self, offset: u64) -> Option<(u64, u64)> {
        let room = self.len.saturating_sub(offset).min(10);
        let (number, len) = decode_varint(self.at(offset, room)?)?;
        Some((number, len as u64))
    }
}
