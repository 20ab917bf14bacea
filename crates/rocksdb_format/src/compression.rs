//! How the contents of blocks, blobs and logs are compressed.
//!
//! ```text
//! 0 none | 1 Snappy | 2 zlib | 3 bzip2 | 4 LZ4 | 5 LZ4HC | 6 XPRESS | 7 zstd | 0x40 older zstd
//! zlib, LZ4, zstd:  length of the contents varint32 | compressed contents
//! before format version 2: zlib has no length, LZ4 has it as u64
//! ```
//!
//! zlib has neither header nor trailer. A dictionary is what zlib, LZ4 and zstd have seen before
//! the contents. That of zstd may be a trained one, with tables before its bytes.
//!
//! Invariant: the memory for contents grows as they are decompressed, up to the length that they
//! claim.

use std::fmt::Display;

use foldb_leveldb_format::encoding::Fields;
use foldb_leveldb_format::table;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress as inflate, inflate_flags};
use ruzstd::decoding::{BlockDecodingStrategy, Dictionary, FrameDecoder};

use crate::{Fault, Read};

/// No compression.
pub const NONE: u8 = 0;
const SNAPPY: u8 = 1;
const ZLIB: u8 = 2;
const BZIP2: u8 = 3;
const LZ4: u8 = 4;
const LZ4HC: u8 = 5;
const XPRESS: u8 = 6;
/// zstd.
pub const ZSTD: u8 = 7;
const OLD_ZSTD: u8 = 0x40;

/// The format version from which on contents have their length in front.
pub const WITH_LENGTH: u32 = 2;

/// The most bytes that a byte of LZ4 becomes.
const MOST_OF_LZ4: usize = 255;
/// The most bytes that a byte of zlib becomes.
const MOST_OF_ZLIB: usize = 1032;

/// Returns the contents that were compressed in this way.
///
/// # Errors
/// Fails for bytes that no compressor wrote, and for a compression that this crate lacks.
pub fn decompress(kind: u8, bytes: &[u8], version: u32, dictionary: &[u8]) -> Read<Vec<u8>> {
    let bad = |why: String| Fault::damaged(format!("a block cannot be decompressed: {why}"));
    match kind {
        NONE => Ok(bytes.to_vec()),
        SNAPPY => table::decompress(bytes).map_err(bad),
        ZLIB => of_zlib(bytes, version, dictionary).map_err(bad),
        LZ4 | LZ4HC => of_lz4(bytes, version, dictionary).map_err(bad),
        ZSTD | OLD_ZSTD => {
            let (len, rest) = with_length(bytes).map_err(bad)?;
            of_zstd(rest, Some(len), dictionary).map_err(bad)
        }
        BZIP2 | XPRESS => {
            let name = if kind == BZIP2 { "bzip2" } else { "XPRESS" };
            Err(Fault::unsupported(format!(
                "a block is compressed with {name}, which foldb does not read: compact the \
                 database with another compression first"
            )))
        }
        other => Err(Fault::unsupported(format!(
            "a block has compression {other}, which foldb does not know (it knows 0 to 7)"
        ))),
    }
}

fn told(error: impl Display) -> String {
    error.to_string()
}

fn with_length(bytes: &[u8]) -> Result<(usize, &[u8]), String> {
    let mut fields = Fields(bytes);
    let len = fields.varint32().ok_or("the length of the contents is cut")?;
    Ok((len as usize, fields.0))
}

/// Refuses a length that no compressor reaches.
fn check_ratio(len: usize, bytes: usize, most: usize) -> Result<(), String> {
    match len > bytes.saturating_mul(most) {
        true => Err(format!("{bytes} bytes cannot become {len}")),
        false => Ok(()),
    }
}

fn of_lz4(bytes: &[u8], version: u32, dictionary: &[u8]) -> Result<Vec<u8>, String> {
    let (len, rest) = match version {
        WITH_LENGTH.. => with_length(bytes)?,
        _ => {
            let mut fields = Fields(bytes);
            let len = fields.u64().and_then(|len| usize::try_from(len).ok());
            (len.ok_or("the length of the contents is cut")?, fields.0)
        }
    };
    check_ratio(len, rest.len(), MOST_OF_LZ4)?;
    let contents = lz4_flex::block::decompress_with_dict(rest, len, dictionary).map_err(told)?;
    check_length(contents, len)
}

fn check_length(contents: Vec<u8>, len: usize) -> Result<Vec<u8>, String> {
    match contents.len() == len {
        true => Ok(contents),
        false => Err(format!("expected {len} bytes, found {}", contents.len())),
    }
}

fn of_zlib(bytes: &[u8], version: u32, dictionary: &[u8]) -> Result<Vec<u8>, String> {
    let (len, mut rest) = match version {
        WITH_LENGTH.. => {
            let (len, rest) = with_length(bytes)?;
            check_ratio(len, rest.len(), MOST_OF_ZLIB)?;
            (Some(len), rest)
        }
        _ => (None, bytes),
    };
    // What was seen before lies before the contents, where the decompressor looks for it.
    let mut out = dictionary.to_vec();
    let (seen, mut at) = (out.len(), out.len());
    let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let mut state = DecompressorOxide::new();
    loop {
        let more = len.map_or(rest.len().max(256) * 2, |len| len.saturating_sub(at - seen));
        out.resize(at + more.max(1), 0);
        let (status, read, written) = inflate(&mut state, rest, &mut out, at, flags);
        rest = &rest[read..];
        at += written;
        match status {
            TINFLStatus::Done => break,
            TINFLStatus::HasMoreOutput if len.is_none() => {}
            status => return Err(format!("{status:?} after {} bytes", at - seen)),
        }
    }
    out.truncate(at);
    out.drain(..seen);
    len.map_or(Ok(out.clone()), |len| check_length(out, len))
}

/// Returns the contents of a zstd frame.
///
/// # Errors
/// What is wrong with the bytes, or that they become another number of bytes than `len`.
pub fn of_zstd(bytes: &[u8], len: Option<usize>, dictionary: &[u8]) -> Result<Vec<u8>, String> {
    let mut decoder = FrameDecoder::new();
    let dictionary = (!dictionary.is_empty()).then(|| dictionary_of(dictionary)).transpose()?;
    let id = dictionary.as_ref().map(|dictionary| dictionary.id);
    if let Some(dictionary) = dictionary {
        decoder.add_dict(dictionary).map_err(told)?;
    }
    let mut rest = bytes;
    decoder.reset(&mut rest).map_err(told)?;
    if let Some(id) = id {
        // A frame that names no dictionary still needs it.
        decoder.force_dict(id).map_err(told)?;
    }
    let most = len.unwrap_or(usize::MAX);
    let mut out = Vec::new();
    while !decoder.is_finished() {
        decoder.decode_blocks(&mut rest, BlockDecodingStrategy::UptoBlocks(1)).map_err(told)?;
        if out.len().saturating_add(decoder.can_collect()) > most {
            return Err(format!("expected {most} bytes, found more"));
        }
        out.extend(decoder.collect().unwrap_or_default());
    }
    out.extend(decoder.collect().unwrap_or_default());
    len.map_or(Ok(out.clone()), |len| check_length(out, len))
}

/// The first bytes of a trained dictionary.
const TRAINED: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];
/// The three last distances of a frame that has none yet.
const FIRST_OFFSETS: [u32; 3] = [1, 4, 8];

fn dictionary_of(bytes: &[u8]) -> Result<Dictionary, String> {
    let parsed = |bytes| Dictionary::decode_dict(bytes).map_err(told);
    if bytes.starts_with(&TRAINED) {
        return parsed(bytes);
    }
    let mut raw = parsed(TABLES)?;
    raw.dict_content = bytes.to_vec();
    raw.offset_hist = FIRST_OFFSETS;
    Ok(raw)
}

/// A trained dictionary without contents. Its tables stand in where a dictionary is only bytes:
/// frames with such a dictionary use no tables that came before them.
const TABLES: &[u8] = include_bytes!("tables.zstd");
