//! The parts of a table, the sorted file of LevelDB.
//!
//! ```text
//! data blocks | filter | metaindex block | index block | footer
//! block:  contents | compression u8 | checksum u32 of both
//! index:  last key of a data block or a little more → its offset and length
//! footer: metaindex offset, length | index offset, length | zeros to 40 bytes | magic u64
//! ```

use std::fmt;

use crate::encoding::{Fields, masked, put_varint};

/// The last bytes of every table.
pub const MAGIC: u64 = 0xdb47_7524_8b80_fb57;
/// Bytes of the footer.
pub const FOOTER: usize = 48;
/// Bytes after the contents of a block.
pub const TRAILER: usize = 5;

const PLAIN: u8 = 0;
const SNAPPY: u8 = 1;

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A footer of too few bytes.
    FooterLength,
    /// A footer with another magic.
    Magic,
    /// Bytes that are no handle.
    Handle,
    /// A block that ends after the file.
    Outside,
    /// A checksum that does not match.
    Checksum,
    /// Bytes that Snappy did not write, and why not.
    Snappy(String),
    /// An unknown compression.
    Compression(u8),
    /// Bytes that are no block.
    Block,
    /// Bytes of a block that are no entry.
    Entry,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::FooterLength | Damage::Magic => f.write_str("the footer is damaged"),
            Damage::Handle => f.write_str("the index is damaged"),
            Damage::Outside => f.write_str("a block lies outside of its table"),
            Damage::Checksum => f.write_str("the checksum of a block does not match"),
            Damage::Snappy(error) => write!(f, "a block cannot be decompressed: {error}"),
            Damage::Compression(kind) => write!(f, "a block has the unknown compression {kind}"),
            Damage::Block => f.write_str("a block is damaged"),
            Damage::Entry => f.write_str("an entry is damaged"),
        }
    }
}

/// Where the contents of a block are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes of the contents, as stored.
    pub len: u64,
}

impl Handle {
    /// Reads a handle. `None` if the bytes do not begin with one.
    pub fn read(fields: &mut Fields<'_>) -> Option<Handle> {
        Some(Handle { offset: fields.varint()?, len: fields.varint()? })
    }

    /// Reads the value of an entry of an index. `None` if it is no handle.
    pub fn of(value: &[u8]) -> Option<Handle> {
        Handle::read(&mut Fields(value))
    }

    /// Appends the handle.
    pub fn append(self, out: &mut Vec<u8>) {
        put_varint(out, self.offset);
        put_varint(out, self.len);
    }

    /// Returns the bytes of contents and trailer. `None` if they do not end before `limit`.
    pub fn stored(self, limit: u64) -> Option<usize> {
        let stored = self.len.checked_add(TRAILER as u64)?;
        let end = self.offset.checked_add(stored)?;
        (end <= limit).then(|| usize::try_from(stored).ok()).flatten()
    }
}

/// The end of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Where the metaindex is: the names of other blocks, and where those are.
    pub metaindex: Handle,
    /// Where the index of the data blocks is.
    pub index: Handle,
}

impl Footer {
    /// Reads the last [`FOOTER`] bytes of a file.
    ///
    /// # Errors
    /// Fails if they are no footer.
    pub fn decode(bytes: &[u8]) -> Result<Footer, Damage> {
        let bytes = bytes.first_chunk::<FOOTER>().ok_or(Damage::FooterLength)?;
        let (handles, magic) = bytes.split_last_chunk::<8>().ok_or(Damage::FooterLength)?;
        if u64::from_le_bytes(*magic) != MAGIC {
            return Err(Damage::Magic);
        }
        let mut fields = Fields(handles);
        let mut handle = || Handle::read(&mut fields).ok_or(Damage::Handle);
        Ok(Footer { metaindex: handle()?, index: handle()? })
    }

    /// Returns the bytes.
    pub fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FOOTER);
        self.metaindex.append(&mut bytes);
        self.index.append(&mut bytes);
        bytes.resize(FOOTER - 8, 0);
        bytes.extend_from_slice(&MAGIC.to_le_bytes());
        bytes
    }
}

/// The contents of a block that was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Contents {
    /// All bytes before the trailer.
    Plain,
    /// These bytes, which were compressed.
    Decompressed(Vec<u8>),
}

/// Looks at the bytes of a block with its trailer.
///
/// # Errors
/// Fails for an unknown compression, bytes that cannot be decompressed, and, with `verify`, a
/// checksum that does not match.
pub fn unpack(stored: &[u8], verify: bool) -> Result<Contents, Damage> {
    let (rest, checksum) = stored.split_last_chunk::<4>().ok_or(Damage::Outside)?;
    if verify && u32::from_le_bytes(*checksum) != masked(crc32c::crc32c(rest)) {
        return Err(Damage::Checksum);
    }
    match rest.split_last() {
        None => Err(Damage::Outside),
        Some((&PLAIN, _)) => Ok(Contents::Plain),
        Some((&SNAPPY, packed)) => {
            decompress(packed).map(Contents::Decompressed).map_err(Damage::Snappy)
        }
        Some((&other, _)) => Err(Damage::Compression(other)),
    }
}

/// The most bytes that a byte of Snappy becomes: a copy of 64 bytes takes 3.
const MOST_OF_SNAPPY: usize = 22;

/// Returns the contents of a block that Snappy compressed.
///
/// # Errors
/// What is wrong with the bytes. A length that they cannot have is not allocated.
pub fn decompress(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let told = |error: snap::Error| error.to_string();
    let len = snap::raw::decompress_len(bytes).map_err(told)?;
    if len > bytes.len().saturating_mul(MOST_OF_SNAPPY) {
        return Err(format!("{} bytes cannot become {len}", bytes.len()));
    }
    snap::raw::Decoder::new().decompress_vec(bytes).map_err(told)
}

/// The longest block that [`Packer`] compresses.
const MOST_COMPRESSED: usize = 1 << 30;

/// Compresses blocks.
pub struct Packer {
    encoder: snap::raw::Encoder,
    packed: Vec<u8>,
}

impl Default for Packer {
    fn default() -> Packer {
        Packer { encoder: snap::raw::Encoder::new(), packed: Vec::new() }
    }
}

impl Packer {
    /// Returns the compressed contents if they are worth it: a gain of less than an eighth is not
    /// worth the time of a reader.
    pub fn pack(&mut self, contents: &[u8]) -> Option<&[u8]> {
        if contents.len() > MOST_COMPRESSED {
            return None;
        }
        let room = snap::raw::max_compress_len(contents.len());
        if self.packed.len() < room {
            self.packed.resize(room, 0);
        }
        let len = self.encoder.compress(contents, &mut self.packed).ok()?;
        (len < contents.len() - contents.len() / 8).then(|| &self.packed[..len])
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

/// Returns what follows the stored contents of a block.
pub fn trailer(stored: &[u8], is_packed: bool) -> [u8; TRAILER] {
    let kind = if is_packed { SNAPPY } else { PLAIN };
    let checksum = masked(crc32c::crc32c_append(crc32c::crc32c(stored), &[kind]));
    let [c0, c1, c2, c3] = checksum.to_le_bytes();
    [kind, c0, c1, c2, c3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_is_read_as_written() {
        let (metaindex, index) =
            (Handle { offset: 0, len: 300 }, Handle { offset: u64::MAX, len: u64::MAX });
        let footer = Footer { metaindex, index };
        let bytes = footer.encode();
        assert_eq!((bytes.len(), Footer::decode(&bytes)), (FOOTER, Ok(footer)));
        assert_eq!(Footer::decode(&bytes[1..]), Err(Damage::FooterLength));
        let mut other = bytes.clone();
        other[FOOTER - 1] ^= 1;
        assert_eq!(Footer::decode(&other), Err(Damage::Magic));
        other = bytes;
        other[..40].fill(0xff);
        assert_eq!(Footer::decode(&other), Err(Damage::Handle));
    }

    #[test]
    fn a_block_is_unpacked_as_packed() {
        let contents = [7; 3000];
        let mut packer = Packer::default();
        let packed = packer.pack(&contents).unwrap().to_vec();
        assert!(packer.pack(b"nothing to gain").is_none());
        let stored = [&packed[..], &trailer(&packed, true)].concat();
        assert_eq!(unpack(&stored, true), Ok(Contents::Decompressed(contents.to_vec())));
        let mut plain = [&contents[..], &trailer(&contents, false)].concat();
        assert_eq!(unpack(&plain, true), Ok(Contents::Plain));
        plain[5] ^= 1;
        assert_eq!(unpack(&plain, true), Err(Damage::Checksum));
        assert_eq!(unpack(&plain, false), Ok(Contents::Plain));
        plain[3000] = 9;
        assert_eq!(unpack(&plain, false), Err(Damage::Compression(9)));
        assert!(matches!(unpack(&[1, SNAPPY, 0, 0, 0, 0], false), Err(Damage::Snappy(_))));
        assert_eq!(unpack(&[0; 3], false), Err(Damage::Outside));
    }

    /// A block of a few bytes once took 4 GiB of memory.
    #[test]
    fn a_length_that_snappy_bytes_cannot_have_is_not_allocated() {
        let claims = [&[0xff, 0xff, 0xff, 0xff, 0x0f][..], &[0; 20]].concat();
        assert!(decompress(&claims).unwrap_err().contains("cannot become"));
        let zeros = snap::raw::Encoder::new().compress_vec(&[0; 100_000]).unwrap();
        assert_eq!(decompress(&zeros).unwrap(), [0; 100_000]);
    }

    #[test]
    fn a_block_ends_before_the_limit() {
        let handle = |offset, len| Handle { offset, len };
        assert_eq!(handle(5, 10).stored(20), Some(15));
        assert_eq!(handle(5, 10).stored(19), None);
        assert_eq!(handle(u64::MAX, 10).stored(u64::MAX), None);
        assert_eq!(handle(0, u64::MAX).stored(u64::MAX), None);
    }
}
