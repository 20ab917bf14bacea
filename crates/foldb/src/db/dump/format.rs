//! The stream of a dump: a header, then blocks, the last of which is the end.
//!
//! ```text
//! dump:   header | blocks | end
//! header: magic "dmp/fold" | version u32 | checksum u64
//! block:  length u32 | kind u8 | payload | checksum u64
//!   length:   of the payload
//!   kind:     1 operator, 2 keyspace, 3 entries, 4 end; module `record` draws the payloads
//!   checksum: XXH3-64 of all before it in the header or the block, seeded with the offset of the
//!             header or the block in the dump
//! end:    a block with this payload
//!         keyspaces u64 | keys u64 | operands u64 | offset of the end u64 | digest u128
//!   keys:     entries of kinds 1 and 2
//!   digest:   XXH3-128 of all bytes before the end
//! ```
//!
//! The length comes first, so that a reader of a pipe knows how much to read. The seed tells a
//! block that was moved or repeated from one in its place. The end proves that nothing is missing.
//!
//! Invariant: a reader returns the payload of a block only after it has checked the checksum. It
//! allocates no more than the bytes that the stream really has, plus a mebibyte.

use std::io::{self, Read, Write};

use xxhash_rust::xxh3::{Xxh3, Xxh3Default, xxh3_64_with_seed};

use crate::encoding::ByteReader;
use crate::encoding::format::{DUMP, FORMAT_VERSION, MAGIC_LEN};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_KEY_BYTES, MAX_VALUE_BYTES};

/// Bytes of a header.
const HEADER_LEN: usize = MAGIC_LEN + 4 + CHECKSUM_LEN;
/// Bytes of a length and a kind.
const HEAD_LEN: usize = 5;
const CHECKSUM_LEN: usize = 8;
/// Bytes of entries after which a block ends. An entry is never split.
pub(super) const FULL: usize = 256 << 10;
/// The longest payload: a full block and one more entry, the longest.
const MAX_PAYLOAD: usize = FULL + MAX_KEY_BYTES + MAX_VALUE_BYTES + 64;
/// Bytes read at once, so that a damaged length does not allocate much.
const READ_STEP: usize = 1 << 20;

/// What a block holds. The numbers are in dumps: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum BlockKind {
    Operator = 1,
    Keyspace = 2,
    Entries = 3,
    End = 4,
}

impl BlockKind {
    fn from_u8(kind: u8) -> Option<BlockKind> {
        match kind {
            1 => Some(BlockKind::Operator),
            2 => Some(BlockKind::Keyspace),
            3 => Some(BlockKind::Entries),
            4 => Some(BlockKind::End),
            _ => None,
        }
    }
}

/// What a dump holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) keyspaces: u64,
    pub(super) keys: u64,
    pub(super) operands: u64,
}

/// Writes a dump.
pub(super) struct BlockWriter<W> {
    to: W,
    offset: u64,
    whole: Xxh3Default,
}

impl<W: Write> BlockWriter<W> {
    /// Writes the header.
    pub(super) fn begin(to: W) -> Result<BlockWriter<W>> {
        let mut header = Vec::with_capacity(HEADER_LEN);
        header.extend_from_slice(DUMP.magic());
        header.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        let mut writer = BlockWriter { to, offset: 0, whole: Xxh3Default::new() };
        writer.write_sealed(&[&header])?;
        debug_assert_eq!(
            writer.offset, HEADER_LEN as u64,
            "a reader finds the first block by this"
        );
        Ok(writer)
    }

    /// Writes a block.
    pub(super) fn block(&mut self, kind: BlockKind, payload: &[u8]) -> Result<()> {
        let len = u32::try_from(payload.len()).ok().filter(|_| payload.len() <= MAX_PAYLOAD);
        let len = len.expect("an entry is within the limits of keys and values");
        self.write_sealed(&[&len.to_le_bytes(), &[kind as u8], payload])
    }

    /// Writes the end, and returns the bytes of the whole dump.
    pub(super) fn finish(mut self, counts: &Counts) -> Result<u64> {
        let Counts { keyspaces, keys, operands } = *counts;
        let mut payload = Vec::new();
        for number in [keyspaces, keys, operands, self.offset] {
            payload.extend_from_slice(&number.to_le_bytes());
        }
        payload.extend_from_slice(&self.whole.digest128().to_le_bytes());
        assert!(
            decode_end(&payload)
                .is_ok_and(|end| end.offset == self.offset && end.counts == *counts),
            "the end of a dump tells what lies before it"
        );
        self.block(BlockKind::End, &payload)?;
        self.to.flush().map_err(cannot_write)?;
        Ok(self.offset)
    }

    /// Writes the parts and their checksum.
    fn write_sealed(&mut self, parts: &[&[u8]]) -> Result<()> {
        let mut seal = Xxh3::with_seed(self.offset);
        parts.iter().for_each(|part| seal.update(part));
        let seal = seal.digest().to_le_bytes();
        for part in parts.iter().copied().chain([&seal[..]]) {
            self.to.write_all(part).map_err(cannot_write)?;
            self.whole.update(part);
            self.offset += part.len() as u64;
        }
        Ok(())
    }
}

/// Reads a dump.
pub(super) struct BlockReader<R> {
    from: R,
    offset: u64,
    whole: Xxh3Default,
    /// The block at hand: length, kind, payload, checksum.
    block: Vec<u8>,
}

/// A block whose checksum is right.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) kind: BlockKind,
    /// Its offset in the dump.
    pub(super) offset: u64,
    pub(super) payload: &'a [u8],
}

impl<R: Read> BlockReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// `Corruption` or `Unsupported` if the stream is no dump of this version.
    pub(super) fn begin(from: R) -> Result<BlockReader<R>> {
        let mut reader =
            BlockReader { from, offset: 0, whole: Xxh3Default::new(), block: Vec::new() };
        reader.read(HEADER_LEN, "the header")?;
        if reader.block.starts_with(b"{\"foldb_dump\"") {
            let message = "this is a dump as text, which `foldb load` reads";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        DUMP.check_magic(&reader.block[..MAGIC_LEN]).map_err(|error| error.at_offset(0))?;
        reader.check_seal()?;
        let mut version = ByteReader::new(&reader.block[MAGIC_LEN..]);
        DUMP.check_version(version.u32("version")?)?;
        reader.pass();
        Ok(reader)
    }

    /// Reads the next block.
    ///
    /// # Errors
    /// `Corruption`, with the offset, for damage and for a stream that was cut off.
    pub(super) fn next(&mut self) -> Result<Block<'_>> {
        let offset = self.offset;
        self.block.clear();
        self.read(HEAD_LEN, "the head of a block")?;
        let len = u32::from_le_bytes([self.block[0], self.block[1], self.block[2], self.block[3]]);
        let len = len as usize;
        if len > MAX_PAYLOAD {
            return Err(Error::corruption(format!(
                "the length of a block: expected at most {MAX_PAYLOAD}, found {len}"
            ))
            .at_offset(offset));
        }
        self.read(HEAD_LEN + len + CHECKSUM_LEN, "a block")?;
        self.check_seal()?;
        let kind = BlockKind::from_u8(self.block[4]).ok_or_else(|| {
            let message = format!("a block of the unknown kind {}", self.block[4]);
            Error::new(ErrorKind::Unsupported, message + ": use the foldb that wrote the dump")
                .at_offset(offset)
        })?;
        if kind == BlockKind::End {
            self.check_whole()?;
        }
        self.pass();
        Ok(Block { kind, offset, payload: &self.block[HEAD_LEN..HEAD_LEN + len] })
    }

    /// Returns the bytes read so far.
    pub(super) fn len(&self) -> u64 {
        self.offset
    }

    /// Reads until the block at hand has `len` bytes.
    fn read(&mut self, len: usize, what: &str) -> Result<()> {
        while self.block.len() < len {
            let at = self.block.len();
            self.block.resize(len.min(at + READ_STEP), 0);
            let found = read_full(&mut self.from, &mut self.block[at..])?;
            if at + found < self.block.len() {
                let found = at + found;
                return Err(Error::corruption(format!(
                    "the dump is cut off in {what}: expected {len} bytes, found {found}"
                ))
                .at_offset(self.offset));
            }
        }
        Ok(())
    }

    /// Checks the checksum at the end of the block at hand.
    fn check_seal(&self) -> Result<()> {
        let (sealed, stored) = self.block.split_at(self.block.len() - CHECKSUM_LEN);
        let found = ByteReader::new(stored).u64("checksum")?;
        let expected = xxh3_64_with_seed(sealed, self.offset);
        if found == expected {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "the checksum of a block of {} bytes: expected {expected:016x} for its bytes, found \
             {found:016x}",
            self.block.len()
        ))
        .at_offset(self.offset))
    }

    /// Takes the block at hand as read.
    fn pass(&mut self) {
        self.whole.update(&self.block);
        self.offset += self.block.len() as u64;
        if self.block.capacity() > 2 * READ_STEP {
            self.block.shrink_to(self.block.len().max(READ_STEP));
        }
    }

    /// Checks the end, which is the block at hand, against all blocks before it.
    fn check_whole(&mut self) -> Result<()> {
        let offset = self.offset;
        let end = decode_end(&self.block[HEAD_LEN..self.block.len() - CHECKSUM_LEN])?;
        let found = (offset, self.whole.digest128());
        if (end.offset, end.digest) != found {
            return Err(Error::corruption(format!(
                "the end of the dump: expected {} bytes with the digest {:032x} before it, found \
                 {} with {:032x}",
                end.offset, end.digest, found.0, found.1
            ))
            .at_offset(offset));
        }
        if read_full(&mut self.from, &mut [0])? > 0 {
            let after = offset + self.block.len() as u64;
            return Err(Error::corruption("expected the end of the file, found more bytes")
                .at_offset(after));
        }
        Ok(())
    }
}

/// The payload of the end.
#[derive(Debug)]
pub(super) struct End {
    pub(super) counts: Counts,
    offset: u64,
    digest: u128,
}

/// Decodes the payload of an end.
///
/// # Errors
/// `Corruption` if it has too few or too many bytes.
pub(super) fn decode_end(payload: &[u8]) -> Result<End> {
    let mut bytes = ByteReader::new(payload);
    let keyspaces = bytes.u64("number of keyspaces")?;
    let keys = bytes.u64("number of keys")?;
    let operands = bytes.u64("number of operands")?;
    let offset = bytes.u64("offset of the end")?;
    let (low, high) = (bytes.u64("digest")?, bytes.u64("digest")?);
    let digest = u128::from(high) << 64 | u128::from(low);
    if !bytes.is_empty() {
        let left = bytes.remaining();
        return Err(Error::corruption(format!("the end of a dump has {left} bytes too many")));
    }
    Ok(End { counts: Counts { keyspaces, keys, operands }, offset, digest })
}

/// Reads until the buffer is full or the stream ends, and returns the bytes read.
fn read_full(from: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::from(error).prefixed("cannot read the dump: ")),
        }
    }
    Ok(filled)
}

fn cannot_write(error: io::Error) -> Error {
    Error::from(error).prefixed("cannot write the dump: ")
}
