//! Verifies every byte of a segment.

use crate::error::{Error, Result};
use crate::key::KeyspaceId;
use crate::segment::format::FILE_HEADER_LEN;
use crate::segment::hints::Hints;
use crate::segment::logged::LoggedValues;
use crate::segment::map::{Placement, Segment, SegmentMap};
use crate::segment::open::{OpenFile, OpenSegments};
use crate::segment::record_check::RecordCheck;
use crate::segment::tails::{Kept, TailReader};
use crate::separated::extents::Extent;
use crate::separated::references::References;

/// Bytes of one read.
const STEP: u64 = 256 << 10;

impl OpenSegments {
    /// Reads all segments of a map, and checks every checksum and placement. Returns the number of
    /// bytes.
    ///
    /// # Errors
    /// `Corruption` for the first damage found; `Io` if a read fails.
    pub(crate) fn verify(&self, keyspace: KeyspaceId, map: &SegmentMap) -> Result<u64> {
        let headers = map.files().into_values().filter(|file| !file.file.is_adopted()).count();
        let mut bytes = headers as u64 * FILE_HEADER_LEN;
        for segment in map.iter() {
            self.verify_segment(keyspace, segment)?;
            bytes += segment.placement.len;
        }
        Ok(bytes)
    }

    /// Reads a segment.
    ///
    /// # Errors
    /// As [`OpenSegments::verify`].
    pub(crate) fn verify_segment(&self, keyspace: KeyspaceId, segment: &Segment) -> Result<()> {
        let file = self.get(keyspace, &segment.file)?;
        verify_segment(&file, segment)
            .map_err(|error| error.at(file.path(), segment.placement.offset))
    }
}

impl OpenSegments {
    /// Checks that every value that a table refers to is in its segment. Reads no values.
    ///
    /// # Errors
    /// `Corruption` that names the first missing value; `Io` if a read fails.
    pub(crate) fn verify_references(
        &self,
        keyspace: KeyspaceId,
        map: &SegmentMap,
        references: &References,
    ) -> Result<()> {
        for (id, wanted) in references.iter() {
            let segment = map.get(id).ok_or_else(|| {
                Error::corruption(format!("refers to value segment {id}, which does not exist"))
            })?;
            let placement = &segment.placement;
            let moves = match placement.is_moved() {
                true => self.get(keyspace, &segment.file)?.moves(placement)?,
                false => None,
            };
            let is_there = |stretch: &Extent| match &moves {
                None => stretch.end <= placement.records_len,
                Some(moves) => moves.find(stretch.start, stretch.end).is_some(),
            };
            if let Some(lost) = wanted.iter().find(|stretch| !is_there(stretch)) {
                return Err(Error::corruption(format!(
                    "refers to records from position {} to {} of value segment {id}, which file {} has \
                     not",
                    lost.start, lost.end, placement.file
                )));
            }
        }
        Ok(())
    }
}

/// Checks that every frame is whole, and that the frames have the expected number of values.
fn verify_log(file: &OpenFile, placement: &Placement) -> Result<()> {
    let (mut values, mut found) = (LoggedValues::new(file, placement, STEP as usize), 0);
    while values.next()?.is_some() {
        found += 1;
    }
    if found == placement.values {
        return Ok(());
    }
    let expected = placement.values;
    Err(Error::corruption(format!("expected {expected} values in the log, found {found}")))
}

fn verify_segment(file: &OpenFile, segment: &Segment) -> Result<()> {
    let placement = &segment.placement;
    if placement.is_adopted() {
        return verify_log(file, placement);
    }
    file.check_section(placement)?;
    let mut check = RecordCheck::new(placement.segment, placement.is_keyed());
    let mut kept = Kept::new(file, placement);
    let mut offset = placement.records_at();
    let mut buffer = Vec::new();
    while let Some((Extent { start, end }, _)) = kept.next()? {
        check.begin(start)?;
        let mut left = end - start;
        while left > 0 {
            let len = left.min(STEP).min(placement.records_end().saturating_sub(offset));
            if len == 0 {
                return Err(Error::corruption(
                    "moves: expected as many bytes as the records have, found more",
                ));
            }
            buffer.resize(len as usize, 0);
            file.read(&mut buffer, offset)?;
            check.feed(&buffer).map_err(|error| error.at(file.path(), offset))?;
            (offset, left) = (offset + len, left - len);
        }
    }
    let found = check.end()?;
    if (found, offset) != (placement.values, placement.records_end()) {
        return Err(Error::corruption(format!(
            "expected {} records up to offset {}, found {found} up to {offset}",
            placement.values,
            placement.records_end()
        )));
    }
    TailReader::check_moves(file, placement)?;
    let (mut hints, mut count) = (Hints::new(file, placement)?, 0);
    while hints.next()?.is_some() {
        count += 1;
    }
    let expected = match placement.is_keyed() || placement.is_unhinted() {
        true => 0,
        false => placement.values,
    };
    if count != expected {
        return Err(Error::corruption(format!("expected {expected} hints, found {count}")));
    }
    Ok(())
}
