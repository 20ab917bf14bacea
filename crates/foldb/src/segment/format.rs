//! The bytes of a value segment file.
//!
//! ```text
//! file:     header | section | section | ...            a section is one segment
//!
//! header:   magic "foldbseg" | version u32 | keyspace u32 | file number u64 | database u64 |
//!           checksum u64, seeded with the file number
//!
//! section:  magic "sect" | flags u32 | segment u64 | checksum u64, seeded with the segment
//!           record | record | ... | 0
//!           tail: moves
//!           tail: hints
//!
//! record:   value length + 1  varint | value | checksum u64 of both
//!           [key part, if the section is keyed:
//!            key length varint | key | seqno varint | checksum u64 of the three]
//!
//! tail:     length u64 | payload | checksum u64 of both
//!
//! moves:    stretches of positions, as in `extents`: the records that are here. Empty if all are
//! hints:    per record: shared varint | unshared varint | rest of the key | seqno varint |
//!           value length varint, each key without what it shares with the one before. Empty if the
//!           section is keyed: then each record has its key with it.
//!
//! flags:    1 moved: records were left out, positions are found by the moves
//!           2 keyed: each record is followed by its key part
//! ```
//!
//! Checksums of records and tails are seeded with the segment and their position *as first written*
//! (tails: the flags and 0 or 1 in place of a position), not with file and offset: a record is copied
//! to another file as it is, and a record from elsewhere still fails. Sections stand on their own, so
//! a file may grow by one at each flush until it has `segment_size` bytes; what lies behind the last
//! section that the manifest knows does not exist.

use super::address::{CHECKSUM_LEN, SegmentId};
use crate::encoding::{ByteReader, checksum, checksum_seed, put_varint};
use crate::error::{Error, ErrorKind, Result};
use crate::key::KeyspaceId;

/// Version of the format this code writes, and the newest it reads.
pub(crate) const FORMAT_VERSION: u32 = 1;

const FILE_MAGIC: [u8; 8] = *b"foldbseg";
pub(crate) const SECTION_MAGIC: [u8; 4] = *b"sect";

/// Bytes of a file's header.
pub(crate) const FILE_HEADER_LEN: u64 = 40;
/// Bytes of a section's header.
pub(crate) const SECTION_HEADER_LEN: u64 = 24;
/// Bytes of a tail beside its payload.
pub(crate) const TAIL_OVERHEAD: u64 = 16;

/// Flag: records were left out.
pub(crate) const MOVED: u32 = 1;
/// Flag: each record is followed by its key part.
pub(crate) const KEYED: u32 = 2;

/// What the header of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) file: u64,
    pub(crate) database: u64,
    pub(crate) keyspace: KeyspaceId,
}

impl FileHeader {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&FILE_MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&self.keyspace.to_le_bytes());
        out.extend_from_slice(&self.file.to_le_bytes());
        out.extend_from_slice(&self.database.to_le_bytes());
        let sum = checksum(checksum_seed(self.file, 0), &out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    /// # Errors
    /// `Corruption`; `Unsupported` for a later format.
    pub(crate) fn decode(bytes: &[u8]) -> Result<FileHeader> {
        let mut reader = ByteReader::new(bytes);
        let magic = reader.take(FILE_MAGIC.len(), "magic")?;
        if magic != FILE_MAGIC {
            return Err(Error::corruption(format!(
                "not a value segment of foldb: expected it to begin with \"{}\", found \"{}\"",
                FILE_MAGIC.escape_ascii(),
                magic.escape_ascii()
            )));
        }
        let version = reader.u32("format version")?;
        if version > FORMAT_VERSION {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("value segment of format version {version}: use a newer foldb to read it"),
            ));
        }
        let keyspace = reader.u32("keyspace")?;
        let (file, database) = (reader.u64("file number")?, reader.u64("database")?);
        let found = checksum(checksum_seed(file, 0), &bytes[..reader.position()]);
        check_sum("header", reader.u64("checksum")?, found)?;
        Ok(FileHeader { file, database, keyspace })
    }
}

/// Appends a section's header.
pub(crate) fn put_section_header(out: &mut Vec<u8>, segment: SegmentId, flags: u32) {
    let start = out.len();
    out.extend_from_slice(&SECTION_MAGIC);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&segment.to_le_bytes());
    let sum = checksum(checksum_seed(segment, 0), &out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// What the header of a section says: its segment and flags; `None` if it is none.
pub(crate) fn parse_section_header(bytes: &[u8]) -> Option<(SegmentId, u32)> {
    let mut reader = ByteReader::new(bytes.strip_prefix(&SECTION_MAGIC)?);
    let flags = reader.u32("flags").ok()?;
    let segment = reader.u64("segment").ok()?;
    check_section_header(bytes, segment, flags).ok().map(|()| (segment, flags))
}

/// Checks a section's header against what the manifest says of it.
///
/// # Errors
/// `Corruption`.
pub(crate) fn check_section_header(bytes: &[u8], segment: SegmentId, flags: u32) -> Result<()> {
    let mut expected = Vec::new();
    put_section_header(&mut expected, segment, flags);
    if bytes == expected {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "expected the beginning of segment {segment}, found \"{}\"",
        bytes.escape_ascii()
    )))
}

/// Which tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    Moves = 0,
    Hints = 1,
}

fn tail_seed(segment: SegmentId, flags: u32, tail: Tail) -> u64 {
    checksum_seed(segment, 1 << 63 | u64::from(flags) << 8 | tail as u64)
}

/// Appends a tail.
pub(crate) fn put_tail(
    out: &mut Vec<u8>,
    segment: SegmentId,
    flags: u32,
    tail: Tail,
    payload: &[u8],
) {
    let start = out.len();
    out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    out.extend_from_slice(payload);
    let sum = checksum(tail_seed(segment, flags, tail), &out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// The payload of a tail.
///
/// # Errors
/// `Corruption`.
pub(crate) fn check_tail(
    bytes: &[u8],
    segment: SegmentId,
    flags: u32,
    tail: Tail,
) -> Result<&[u8]> {
    let mut reader = ByteReader::new(bytes);
    let len = usize::try_from(reader.u64("length of a tail")?).unwrap_or(usize::MAX);
    let payload = reader.take(len, "tail")?;
    let found = checksum(tail_seed(segment, flags, tail), &bytes[..reader.position()]);
    check_sum("tail", reader.u64("checksum of a tail")?, found)?;
    Ok(payload)
}

/// Seed of the checksum of the record at a position of a segment.
#[inline]
pub(crate) fn record_seed(segment: SegmentId, position: u64) -> u64 {
    checksum_seed(segment, position)
}

/// Appends a record.
#[inline]
pub(crate) fn put_record(out: &mut Vec<u8>, segment: SegmentId, position: u64, value: &[u8]) {
    let start = out.len();
    put_varint(out, value.len() as u64 + 1);
    out.extend_from_slice(value);
    let sum = checksum(record_seed(segment, position), &out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// Appends a key part, and answers its length.
pub(crate) fn put_key_part(
    out: &mut Vec<u8>,
    segment: SegmentId,
    position: u64,
    key: &[u8],
    seqno: u64,
) -> u64 {
    let start = out.len();
    put_varint(out, key.len() as u64);
    out.extend_from_slice(key);
    put_varint(out, seqno);
    let sum = checksum(!record_seed(segment, position), &out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
    (out.len() - start) as u64
}

/// Checks that `record` (head, value and checksum) is that of a value of `len` bytes at this position,
/// and answers where the value begins in it.
///
/// # Errors
/// `Corruption`.
#[inline]
pub(crate) fn check_record(
    record: &[u8],
    segment: SegmentId,
    position: u64,
    len: u64,
) -> Result<usize> {
    let covered = record.len() - CHECKSUM_LEN as usize;
    let (checked, sum) = record.split_at(covered);
    let expected = sum.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    check_sum("value", expected, checksum(record_seed(segment, position), checked))?;
    // What was checked was written with this length, unless the address itself is wrong.
    match crate::encoding::decode_varint(checked) {
        Some((found, head)) if found == len + 1 && head as u64 + len == covered as u64 => Ok(head),
        found => Err(Error::corruption(format!(
            "expected a value of {len} bytes, found {:?}",
            found.map(|(len, _)| len.wrapping_sub(1))
        ))),
    }
}

pub(crate) fn check_sum(what: &str, expected: u64, found: u64) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::corruption(format!("{what} checksum: expected {expected:016x}, found {found:016x}")))
}
