//! The bytes of a value segment file.
//!
//! ```text
//! file:     header | section | section | ...            a section is one segment
//!
//! header:   magic "seg/fold" | version u32 | keyspace u32 | file number u64 | database u64 |
//!           checksum u64, seeded with the file number
//!
//! section:  magic "sect" | flags u32 | segment u64 | checksum u64, seeded with the segment
//!           record | record | ... | 0        records: see `separated::record`
//!           tail: moves
//!           tail: hints
//!
//! tail:     chunk | chunk | ... | a chunk of length 0
//!
//! chunk:    length u32 | payload | checksum u64 of both
//!
//! moves:    per chunk a piece of a list of extents, see `extents`: the records kept here.
//!           No moves if all records are kept
//! hints:    per record: shared varint | unshared varint | rest of the key | seqno varint |
//!           value length varint. Each key leaves out what it shares with the previous key of the
//!           chunk. No hints if the section is keyed (then each record has its key) or unhinted
//!
//! flags:    1 moved: records were left out; the moves give positions
//!           2 keyed: each record is followed by its key part
//!           4 unhinted: its hints were found damaged when it was rewritten
//!           8 adopted: only in the manifest. No section, but a log (`super::logged`)
//! ```
//!
//! Checksums of records are seeded with the segment and their position *as first written*. Those of
//! chunks are seeded with the flags, the kind of tail and the number of chunks before. The seed
//! does not include file and offset. So a rewrite can copy a record to another file unchanged, and
//! a record of another segment still fails its check.
//!
//! Tails consist of chunks, so writers and readers need little memory for any number of values.
//! Sections are independent, so a file may grow by one section at each flush until it has
//! `segment_size` bytes. Readers ignore bytes after the last section in the manifest.

use crate::encoding::format::{FORMAT_VERSION, MAGIC_LEN, SEGMENT};
use crate::encoding::{ByteReader, checksum, checksum_seed};
use crate::error::{Error, ErrorKind, Result};
use crate::key::KeyspaceId;
use crate::separated::address::SegmentId;
use crate::separated::record::check_sum;

pub(crate) const SECTION_MAGIC: [u8; 4] = *b"sect";

/// Bytes of a file's header.
pub(crate) const FILE_HEADER_LEN: u64 = 40;
/// Bytes of a section's header.
pub(crate) const SECTION_HEADER_LEN: u64 = 24;
/// Bytes of a chunk of a tail in addition to its payload.
pub(crate) const CHUNK_OVERHEAD: u64 = 12;

/// Flag: records were left out.
pub(crate) const MOVED: u32 = 1;
/// Flag: each record is followed by its key part.
pub(crate) const KEYED: u32 = 2;
/// Flag: the hints were lost.
pub(crate) const UNHINTED: u32 = 4;
/// Flag of a placement only: the file is a log, whose frames hold the records (`super::logged`).
pub(crate) const ADOPTED: u32 = 8;
/// All flags that a section may have.
const KNOWN_FLAGS: u32 = MOVED | KEYED | UNHINTED;

/// The fields of a file's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) file: u64,
    pub(crate) database: u64,
    pub(crate) keyspace: KeyspaceId,
}

impl FileHeader {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(SEGMENT.magic());
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&self.keyspace.to_le_bytes());
        out.extend_from_slice(&self.file.to_le_bytes());
        out.extend_from_slice(&self.database.to_le_bytes());
        let sum = checksum(checksum_seed(self.file, 0), &out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    /// Reads the header of a file.
    ///
    /// # Errors
    /// `Corruption` if the bytes are not a file header; `Unsupported` for another format version.
    pub(crate) fn decode(bytes: &[u8]) -> Result<FileHeader> {
        let mut reader = ByteReader::new(bytes);
        SEGMENT.check_magic(reader.take(MAGIC_LEN, "magic")?)?;
        let version = reader.u32("format version")?;
        let keyspace = reader.u32("keyspace")?;
        let (file, database) = (reader.u64("file number")?, reader.u64("database")?);
        let found = checksum(checksum_seed(file, 0), &bytes[..reader.position()]);
        check_sum("header", reader.u64("checksum")?, found)?;
        SEGMENT.check_version(version)?;
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

/// Returns the segment and flags of a section's header; `None` if the bytes are not a valid header.
pub(crate) fn parse_section_header(bytes: &[u8]) -> Option<(SegmentId, u32)> {
    let mut reader = ByteReader::new(bytes.strip_prefix(&SECTION_MAGIC)?);
    let flags = reader.u32("flags").ok()?;
    let segment = reader.u64("segment").ok()?;
    check_section_header(bytes, segment, flags).ok().map(|()| (segment, flags))
}

/// Checks a section's header against the manifest's placement.
///
/// # Errors
/// `Corruption` if the header is damaged or not that of the placement; `Unsupported` for an unknown
/// flag.
pub(crate) fn check_section_header(bytes: &[u8], segment: SegmentId, flags: u32) -> Result<()> {
    let mut expected = Vec::new();
    put_section_header(&mut expected, segment, flags);
    if bytes == expected && flags & !KNOWN_FLAGS == 0 {
        return Ok(());
    }
    if bytes == expected {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("value segment with flags {flags:#x}: use the foldb that wrote it"),
        ));
    }
    Err(Error::corruption(format!(
        "expected the beginning of segment {segment}, found \"{}\"",
        bytes.escape_ascii()
    )))
}

/// The kind of a tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    Moves = 0,
    Hints = 1,
}

/// A chunk: the tail to which it belongs, and its index in that tail from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkOf {
    pub(crate) segment: SegmentId,
    pub(crate) flags: u32,
    pub(crate) tail: Tail,
    pub(crate) index: u64,
}

impl ChunkOf {
    fn seed(&self) -> u64 {
        let tail = 1 << 63 | u64::from(self.flags) << 8 | self.tail as u64;
        checksum_seed(checksum_seed(self.segment, tail), self.index)
    }

    /// Appends the chunk. A chunk without a payload ends the tail.
    pub(crate) fn put(&self, out: &mut Vec<u8>, payload: &[u8]) {
        let start = out.len();
        let len = u32::try_from(payload.len()).expect("only a long key makes a chunk long");
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(payload);
        let sum = checksum(self.seed(), &out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }

    /// Returns the length of the chunk that begins with these four bytes.
    pub(crate) fn len(head: [u8; 4]) -> u64 {
        u64::from(u32::from_le_bytes(head)) + CHUNK_OVERHEAD
    }

    /// Returns the payload of a whole chunk.
    ///
    /// # Errors
    /// `Corruption` if the bytes end early or the checksum does not hold.
    pub(crate) fn check<'a>(&self, chunk: &'a [u8]) -> Result<&'a [u8]> {
        let mut reader = ByteReader::new(chunk);
        let len = reader.u32("length of a chunk")?;
        let payload = reader.take(len as usize, "chunk")?;
        let found = checksum(self.seed(), &chunk[..reader.position()]);
        check_sum("chunk", reader.u64("checksum of a chunk")?, found)?;
        Ok(payload)
    }
}
