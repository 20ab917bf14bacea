//! The last bytes of a table: what it is, and where the rest begins.
//!
//! ```text
//!   0  index       offset u64, length u64      64  compatible features       u64
//!  16  filter      offset u64, length u64      72  read-compatible features  u64
//!  32  properties  offset u64, length u64      80  incompatible features     u64
//!  48  tombstones  offset u64, length u64      88  file number               u64
//!  96  checksum u64 of the 96 bytes before it, seeded with file number, footer offset and version
//! 104  checksum type u8, three zero bytes      108  format version u32       112  magic "foldbtbl"
//! ```
//!
//! A handle of length 0 is absent. A reader ignores an unknown *compatible* feature. An unknown
//! *read-compatible* feature allows reading (a table is never written again). An unknown
//! *incompatible* feature makes the reader refuse the table. Incompatible feature 1: values of
//! records are separated.
//!
//! Every version keeps length, magic and checksum of the footer as they are drawn. So a footer
//! whose checksum does not hold is damage, whatever version or features its bytes claim.
//!
//! Version 1 differs from version 0 in two ways. The checksum seed of version 0 had no version.
//! Version 0 stored references to value segments in another way, so its tables with references are
//! refused.

use crate::encoding::{ByteReader, ChecksumKind, checksum, checksum_seed};
use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::table::frame::{FRAME_TRAILER, Handle};

/// Bytes of a footer.
pub const FOOTER_LEN: usize = 120;

/// Version of the table format that this code writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"foldbtbl";
const CHECKED: usize = 96;
const KNOWN_INCOMPATIBLE: u64 = SEPARATED;

/// Incompatible feature: values of records are separated.
const SEPARATED: u64 = 1;

/// A table's footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The top index.
    pub index: Handle,
    /// The filter, if any.
    pub filter: Option<Handle>,
    /// The properties.
    pub properties: Handle,
    /// The range tombstones, if any.
    pub tombstones: Option<Handle>,
    /// Whether values of records are separated.
    pub separated: bool,
}

impl Footer {
    /// Encodes the footer of file `file_number`, to be written at `offset`.
    pub fn encode(&self, file_number: u64, offset: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(FOOTER_LEN);
        for handle in [Some(self.index), self.filter, Some(self.properties), self.tombstones] {
            let (offset, len) = handle.map_or((0, 0), |h| (h.offset, u64::from(h.len)));
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&len.to_le_bytes());
        }
        let incompatible = if self.separated { SEPARATED } else { 0 };
        for word in [0, 0, incompatible, file_number] {
            out.extend_from_slice(&u64::to_le_bytes(word));
        }
        let sum = checksum(seed(file_number, offset, FORMAT_VERSION), &out);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(&[ChecksumKind::Xxh3 as u8, 0, 0, 0]);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&MAGIC);
        debug_assert_eq!(out.len(), FOOTER_LEN);
        out
    }

    /// Decodes the footer read at `offset` of file `file_number`.
    ///
    /// # Errors
    /// `Corruption` if it is damaged, not a footer, or another file's; `Unsupported` if its format
    /// is newer.
    pub fn decode(bytes: &[u8], file_number: u64, offset: u64) -> Result<Footer> {
        let mut reader = ByteReader::new(bytes);
        let checked = reader.take(CHECKED, "footer")?;
        let expected = reader.u64("footer: checksum")?;
        let [checksum_kind, padding @ ..] = reader.u32("footer: checksum type")?.to_le_bytes();
        let version = reader.u32("footer: format version")?;
        let magic = reader.take(MAGIC.len(), "footer: magic")?;
        if magic != MAGIC {
            return Err(Error::corruption(format!(
                "not a foldb table, or truncated: expected it to end in \"{}\", found \"{}\"",
                MAGIC.escape_ascii(),
                magic.escape_ascii()
            )));
        }
        let ChecksumKind::Xxh3 = ChecksumKind::from_u8(checksum_kind)?;
        if padding != [0; 3] {
            return Err(Error::corruption(format!(
                "footer: expected three zero bytes behind the checksum type, found {padding:02x?}"
            )));
        }
        let footer = Footer::decode_checked(checked, expected, file_number, offset, version)?;
        if version == 0 && footer.separated {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "table of format version 0 with separated values, from before formats were fixed: copy \
                 its entries with the foldb that wrote it",
            ));
        }
        Ok(footer)
    }

    fn decode_checked(
        checked: &[u8],
        expected: u64,
        file_number: u64,
        offset: u64,
        version: u32,
    ) -> Result<Footer> {
        let mut reader = ByteReader::new(checked);
        let mut handle = || -> Result<(u64, u64)> {
            Ok((reader.u64("footer: offset")?, reader.u64("footer: length")?))
        };
        let handles: [(u64, u64); 4] = [handle()?, handle()?, handle()?, handle()?];
        let _compatible = reader.u64("footer: features")?;
        let _read_compatible = reader.u64("footer: features")?;
        let incompatible = reader.u64("footer: features")?;
        let written_as = reader.u64("footer: file number")?;
        if planted(Fault::DamageIsUnsupported) && version > FORMAT_VERSION {
            return Err(unsupported("format version", u64::from(version)));
        }
        let found = checksum(seed(written_as, offset, version), checked);
        if found != expected {
            return Err(Error::corruption(format!(
                "footer checksum: expected {expected:016x}, found {found:016x} as of format \
                 version {version}"
            )));
        }
        if version > FORMAT_VERSION {
            return Err(unsupported("format version", u64::from(version)));
        }
        if written_as != file_number {
            return Err(Error::corruption(format!(
                "another table under this one's name: expected file number {file_number}, found \
                 {written_as}"
            )));
        }
        if incompatible & !KNOWN_INCOMPATIBLE != 0 {
            return Err(unsupported("incompatible features", incompatible));
        }
        let [index, filter, properties, tombstones] = handles;
        Ok(Footer {
            index: required(index, "index", offset)?,
            filter: optional(filter, "filter", offset)?,
            properties: required(properties, "properties", offset)?,
            tombstones: optional(tombstones, "tombstones", offset)?,
            separated: incompatible & SEPARATED != 0,
        })
    }
}

/// Returns the seed of the checksum of a footer.
pub(super) fn seed(file_number: u64, offset: u64, version: u32) -> u64 {
    match (checksum_seed(file_number, offset), version) {
        (seed, 0) => seed,
        (seed, version) => checksum_seed(seed, version.into()),
    }
}

fn optional(handle: (u64, u64), what: &str, limit: u64) -> Result<Option<Handle>> {
    let (offset, len) = handle;
    if len == 0 {
        return Ok(None);
    }
    match u32::try_from(len) {
        Ok(short) if short as usize > FRAME_TRAILER && offset.saturating_add(len) <= limit => {
            Ok(Some(Handle { offset, len: short }))
        }
        _ => Err(Error::corruption(format!(
            "footer: {what}: expected a frame below offset {limit}, found {len} bytes at {offset}"
        ))),
    }
}

fn required(handle: (u64, u64), what: &str, limit: u64) -> Result<Handle> {
    optional(handle, what, limit)?
        .ok_or_else(|| Error::corruption(format!("footer: {what}: expected a frame, found none")))
}

fn unsupported(what: &str, found: u64) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("table of {what} {found:#x}: use a newer foldb to read it"),
    )
}
