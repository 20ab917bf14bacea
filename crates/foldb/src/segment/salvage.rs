//! The keys of a segment's values: from its hints, or without hints by walking its records.

use crate::encoding::{checksum, decode_varint};
use crate::error::{Error, ErrorKind, Result};
use crate::key::{KeyspaceId, SeqNo};
use crate::segment::hints::{Hint, Hints};
use crate::segment::logged::{LoggedValue, LoggedValues};
use crate::segment::map::{Placement, Segment};
use crate::segment::open::{OpenFile, OpenSegments};
use crate::segment::tails::Kept;
use crate::separated::address::{Address, head_len};
use crate::separated::record::CHECKSUM_LEN;
use crate::separated::record::{check_sum, record_seed};

/// Bytes of one read.
const STEP: u64 = 256 << 10;

/// Longest head of a record or key part.
const MOST_HEAD: u64 = 10;

impl OpenSegments {
    /// Visits the values of a segment: key, sequence number and address. If the segment has hints,
    /// reads no values.
    ///
    /// # Errors
    /// `Corruption` if the file is missing, or damaged in a part that must be read; `Io` if a read
    /// fails; errors of `visit`.
    pub(crate) fn visit_values(
        &self,
        keyspace: KeyspaceId,
        segment: &Segment,
        mut visit: impl FnMut(&[u8], SeqNo, Address) -> Result<()>,
    ) -> Result<()> {
        let file = self.get(keyspace, &segment.file)?;
        let placement = &segment.placement;
        file.check_section(placement)?;
        if placement.is_adopted() {
            return visit_logged(keyspace, &file, placement, &mut visit);
        }
        if placement.is_keyed() {
            return walk(&file, placement, &mut visit)
                .map_err(|error| error.at(file.path(), placement.offset));
        }
        if placement.is_unhinted() {
            let message = "expected hints, found that they were lost before";
            return Err(Error::corruption(message).at(file.path(), placement.records_end()));
        }
        let mut hints = Hints::new(&file, placement)?;
        while let Some(Hint { key, seqno, value_len, position }) = hints.next()? {
            let segment = placement.segment;
            let (position, len) = (*position, *value_len);
            visit(key, *seqno, Address { segment, position, len, key_part: 0 })?;
        }
        Ok(())
    }
}

/// Visits a keyspace's values in the whole frames of a log, up to the first damaged one.
fn visit_logged(
    keyspace: KeyspaceId,
    file: &OpenFile,
    placement: &Placement,
    visit: &mut impl FnMut(&[u8], SeqNo, Address) -> Result<()>,
) -> Result<()> {
    // The checksum of a frame is checked only after the walk has passed the frame.
    let mut check = LoggedValues::new(file, placement, STEP as usize);
    let damage = loop {
        match check.next() {
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) if error.kind() == ErrorKind::Corruption => break Some(error),
            Err(error) => return Err(error),
        }
    };
    let whole = damage.as_ref().map_or(placement.end(), |_| check.frame_start());
    let mut values = LoggedValues::new(file, &placement.up_to(whole), STEP as usize);
    while let Some(LoggedValue { keyspace: own, hint }) = values.next()? {
        if *own == keyspace {
            let (segment, position, len) = (placement.segment, hint.position, hint.value_len);
            visit(&hint.key, hint.seqno, Address { segment, position, len, key_part: 0 })?;
        }
    }
    damage.map_or(Ok(()), Err)
}

/// Walks the records of a section with keys: each record is followed by its key.
fn walk(
    file: &OpenFile,
    placement: &Placement,
    visit: &mut impl FnMut(&[u8], SeqNo, Address) -> Result<()>,
) -> Result<()> {
    let mut bytes = Window { file, end: placement.end(), bytes: Vec::new(), offset: 0 };
    let mut offset = placement.records_at();
    let mut kept = Kept::new(file, placement);
    while let Some((stretch, _)) = kept.next()? {
        let mut position = stretch.start;
        while position < stretch.end {
            let (len, _) = bytes.varint(offset)?;
            let len = len.checked_sub(1).ok_or_else(no_record)?;
            let record = head_len(len).saturating_add(len).saturating_add(CHECKSUM_LEN);
            let key_at = offset.saturating_add(record);
            let (key_len, key_head) = bytes.varint(key_at)?;
            let seqno_at = key_at.saturating_add(key_head).saturating_add(key_len);
            let (seqno, seqno_len) = bytes.varint(seqno_at)?;
            let covered = key_head + key_len + seqno_len;
            let part = bytes.at(key_at, covered + CHECKSUM_LEN)?;
            let (checked, sum) = part.split_at(covered as usize);
            let expected = sum.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
            let seed = !record_seed(placement.segment, position);
            check_sum("key", expected, checksum(seed, checked))?;
            let key = &checked[key_head as usize..(key_head + key_len) as usize];
            let key_part = part.len() as u64;
            visit(key, seqno, Address { segment: placement.segment, position, len, key_part })?;
            (offset, position) = (offset + record + key_part, position + record + key_part);
        }
    }
    Ok(())
}

fn no_record() -> Error {
    Error::corruption("expected a record with its key, found other bytes")
}

/// Bytes of a section, read in steps.
struct Window<'a> {
    file: &'a OpenFile,
    /// End of the section.
    end: u64,
    bytes: Vec<u8>,
    offset: u64,
}

impl Window<'_> {
    /// Returns `len` bytes from an offset on. All of them must be in the section.
    fn at(&mut self, offset: u64, len: u64) -> Result<&[u8]> {
        let end = offset.checked_add(len).filter(|&end| end <= self.end).ok_or_else(no_record)?;
        if offset < self.offset || end > self.offset + self.bytes.len() as u64 {
            let len = (end - offset).max(STEP).min(self.end - offset);
            self.bytes.resize(len as usize, 0);
            self.offset = offset;
            self.file.read(&mut self.bytes, offset)?;
        }
        let start = (offset - self.offset) as usize;
        Ok(&self.bytes[start..start + len as usize])
    }

    /// Returns a number, and its length in bytes.
    fn varint(&mut self, offset: u64) -> Result<(u64, u64)> {
        let room = self.end.saturating_sub(offset).min(MOST_HEAD);
        let (number, len) = decode_varint(self.at(offset, room)?).ok_or_else(no_record)?;
        Ok((number, len as u64))
    }
}
