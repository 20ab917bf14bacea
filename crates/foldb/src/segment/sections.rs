//! The sections of a file, found by walking it: for who has nothing but the file.

use super::file::SegmentFile;
use super::format::{
    FILE_HEADER_LEN, KEYED, SECTION_HEADER_LEN, TAIL_OVERHEAD, parse_section_header,
};
use super::map::Placement;
use super::open::{OpenFile, OpenSegments};
use crate::encoding::decode_varint;
use crate::error::Result;
use crate::key::KeyspaceId;

use std::sync::Arc;

/// Bytes read at once.
const STEP: u64 = 256 << 10;

/// Bytes of a record's checksum.
const SUM: u64 = super::address::CHECKSUM_LEN;

impl OpenSegments {
    /// The whole sections of a file, in order; what lies behind the first that is not whole does not exist.
    ///
    /// # Errors
    /// `Corruption` if it is missing or another file; `Io`.
    pub(crate) fn sections(
        &self,
        keyspace: KeyspaceId,
        file: &Arc<SegmentFile>,
        len: u64,
    ) -> Result<Vec<Placement>> {
        let open = self.get(keyspace, file)?;
        let mut walk = Walk { file: &open, len, bytes: Vec::new(), offset: 0 };
        let (mut found, mut offset) = (Vec::new(), FILE_HEADER_LEN);
        while let Some(placement) = walk.section(offset, file.number()) {
            offset = placement.end();
            found.push(placement);
        }
        Ok(found)
    }
}

struct Walk<'a> {
    file: &'a OpenFile,
    len: u64,
    bytes: Vec<u8>,
    offset: u64,
}

impl Walk<'_> {
    fn section(&mut self, start: u64, file: u64) -> Option<Placement> {
        let header = self.at(start, SECTION_HEADER_LEN)?;
        let (segment, flags) = parse_section_header(header)?;
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
        let mut end = offset + 1;
        for _ in 0..2 {
            let tail = u64::from_le_bytes(self.at(end, 8)?.try_into().ok()?);
            end = end.checked_add(tail)?.checked_add(TAIL_OVERHEAD)?;
        }
        let records_len = offset - records_at;
        let len = end - start;
        (end <= self.len).then_some(Placement {
            segment,
            file,
            offset: start,
            len,
            records_len,
            values,
            flags,
        })
    }

    fn at(&mut self, offset: u64, len: u64) -> Option<&[u8]> {
        let end = offset.checked_add(len).filter(|&end| end <= self.len)?;
        if offset < self.offset || end > self.offset + self.bytes.len() as u64 {
            let step = len.max(STEP).min(self.len - offset);
            self.bytes.resize(step as usize, 0);
            self.offset = offset;
            if self.file.read(&mut self.bytes, offset).is_err() {
                self.bytes.clear();
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
