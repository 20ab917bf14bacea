//! Frames: how every stored piece of a table (sub-block, directory, index, filter, properties) is
//! compressed and protected.
//!
//! ```text
//! +---------------------+----------+-----------------+---------------+
//! | payload             | codec u8 | checksum type u8| checksum u64  |
//! +---------------------+----------+-----------------+---------------+
//!  codec 0: the bytes
//!  codec 1: length varint, LZ4 block           checksum = XXH3-64 of payload and codec, seeded
//!  codec 2: length varint, raw Snappy          with file number and offset of the frame
//!  codec 3: length varint, Zstd frame
//! ```
//!
//! Invariant: the reader uses a payload only after its checksum proved correct. It never allocates
//! for a length that is impossible for the number of compressed bytes.

use crate::encoding::{ByteReader, ChecksumKind, checksum, checksum_seed};
use crate::error::{Error, Result};
use crate::settings::Compression;
use crate::settings::codec_from_u8;
use crate::table::{snappy, zstd};

/// Bytes of a frame besides its payload: codec, checksum type and checksum.
pub(super) const FRAME_TRAILER: usize = 10;

/// Returns the best compression ratio of a codec. One byte of length stands for 255 in LZ4, Snappy
/// stays below that, and Zstd has a block of 4 bytes for 128 KiB of one byte.
fn max_ratio(codec: Compression) -> u64 {
    match codec {
        Compression::Zstd => 32 << 10,
        Compression::None | Compression::Lz4 | Compression::Snappy => 255,
    }
}

/// The place of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Its length in bytes, the trailer included.
    pub len: u32,
}

impl Handle {
    /// Returns the offset of the first byte after it.
    pub fn end(self) -> u64 {
        self.offset.saturating_add(u64::from(self.len))
    }
}

/// Returns the bytes after a frame's codec: checksum type and checksum.
pub(super) fn checksum_bytes(checksum: u64) -> [u8; FRAME_TRAILER - 1] {
    let mut bytes = [ChecksumKind::Xxh3 as u8; FRAME_TRAILER - 1];
    bytes[1..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Splits a frame read at `offset` of file `file_number` into payload and codec.
///
/// # Errors
/// `Corruption` if its checksum is wrong, `Unsupported` for a codec that this version or build does
/// not know.
pub(super) fn check_frame(
    frame: &[u8],
    file_number: u64,
    offset: u64,
) -> Result<(&[u8], Compression)> {
    let Some((covered, rest)) = frame.split_at_checked(frame.len().saturating_sub(9)) else {
        return Err(short_frame(frame.len()));
    };
    let (Some((&codec, payload)), [kind, sum @ ..]) = (covered.split_last(), rest) else {
        return Err(short_frame(frame.len()));
    };
    let ChecksumKind::Xxh3 = ChecksumKind::from_u8(*kind)?;
    let expected = sum.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let found = checksum(checksum_seed(file_number, offset), covered);
    if found != expected {
        return Err(Error::corruption(format!(
            "checksum of {} bytes: expected {expected:016x}, found {found:016x}",
            covered.len()
        )));
    }
    Ok((payload, codec_from_u8(codec)?))
}

fn short_frame(len: usize) -> Error {
    Error::corruption(format!("frame: expected at least {FRAME_TRAILER} bytes, found {len}"))
}

/// Returns the length of the data that was compressed into `payload`, and the compressed bytes.
///
/// # Errors
/// `Corruption` if the length is impossible for this many compressed bytes.
pub(super) fn uncompressed_len(payload: &[u8], codec: Compression) -> Result<(usize, &[u8])> {
    let mut reader = ByteReader::new(payload);
    let len = u64::from(reader.varint32("uncompressed length")?);
    let compressed = &payload[reader.position()..];
    let most = (compressed.len() as u64 + 1) * max_ratio(codec);
    if len > most {
        return Err(Error::corruption(format!(
            "uncompressed length: expected at most {most} from {} compressed bytes, found {len}",
            compressed.len()
        )));
    }
    Ok((len as usize, compressed))
}

/// Decompresses into `out`, whose length is that of the uncompressed data.
///
/// # Errors
/// `Corruption` if the bytes do not decompress to exactly this length.
pub(super) fn decompress(compressed: &[u8], codec: Compression, out: &mut [u8]) -> Result<()> {
    let len = out.len();
    let decompressed = match codec {
        Compression::Lz4 => {
            lz4_flex::block::decompress_into(compressed, out).map_err(|e| e.to_string())
        }
        Compression::Snappy => snappy::decompress(compressed, out),
        Compression::Zstd => zstd::decompress(compressed, out),
        Compression::None => Err("not compressed".to_owned()),
    };
    match decompressed {
        Ok(found) if found == len => Ok(()),
        Ok(found) => Err(Error::corruption(format!(
            "{codec:?} payload: expected {len} bytes uncompressed, found {found}"
        ))),
        Err(why) => Err(Error::corruption(format!("{codec:?} payload: {why}"))),
    }
}
