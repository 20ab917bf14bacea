//! The footer, the last bytes of a table. It identifies the file and locates the table's parts.
//!
//! ```text
//!   0  index       offset u64, length u64      64  file number u64
//!  16  filter      offset u64, length u64      72  format version u32
//!  32  properties  offset u64, length u64      76  checksum type u8, three zero bytes
//!  48  tombstones  offset u64, length u64      80  checksum u64, seeded with file number and offset
//!                                              88  magic "tbl/fold"
//! ```
//!
//! Each part has a *handle*: the offset and length of its frame. A handle of length 0 means that
//! the table has no such part. The checksum covers the 80 bytes before it.
//!
//! Every format version keeps the footer's length, magic and checksum as drawn. So a footer with a
//! wrong checksum is damaged, whatever version its bytes claim.

use crate::encoding::format::{FORMAT_VERSION, MAGIC_LEN, TABLE};
use crate::encoding::{ByteReader, ChecksumKind, checksum, checksum_seed};
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::table::frame::{FRAME_TRAILER, Handle};

/// Length of a footer in bytes.
pub(super) const FOOTER_LEN: usize = 96;

/// Number of bytes that the checksum covers.
const CHECKED: usize = 80;

/// The handles that a table's footer stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    /// Handle of the top index.
    pub index: Handle,
    /// Handle of the filter; `None` if the table has no filter.
    pub filter: Option<Handle>,
    /// Handle of the properties.
    pub properties: Handle,
    /// Handle of the range tombstones; `None` if the table has no range tombstones.
    pub tombstones: Option<Handle>,
}

impl Footer {
    /// Encodes the footer of file `file_number`. The caller writes it at `offset`.
    pub(super) fn encode(&self, file_number: u64, offset: u64) -> Vec<u8> {
        let fits = |frame: Handle| frame.len as usize > FRAME_TRAILER && frame.end() <= offset;
        assert!(
            fits(self.index)
                && fits(self.properties)
                && self.filter.is_none_or(fits)
                && self.tombstones.is_none_or(fits),
            "the frames that a footer names lie before it"
        );
        let mut out = Vec::with_capacity(FOOTER_LEN);
        for handle in [Some(self.index), self.filter, Some(self.properties), self.tombstones] {
            let (offset, len) = handle.map_or((0, 0), |h| (h.offset, u64::from(h.len)));
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&len.to_le_bytes());
        }
        out.extend_from_slice(&file_number.to_le_bytes());
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&[ChecksumKind::Xxh3 as u8, 0, 0, 0]);
        let sum = checksum(checksum_seed(file_number, offset), &out);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(TABLE.magic());
        debug_assert_eq!(out.len(), FOOTER_LEN);
        out
    }

    /// Decodes a footer that the caller read at `offset` of file `file_number`.
    ///
    /// # Errors
    /// `Corruption` if the bytes are not a footer, are damaged, or name another file number or a
    /// frame beyond `offset`. `Unsupported` if the footer has another format version.
    pub(super) fn decode(bytes: &[u8], file_number: u64, offset: u64) -> Result<Footer> {
        let mut reader = ByteReader::new(bytes);
        let checked = reader.take(CHECKED, "footer")?;
        let expected = reader.u64("footer: checksum")?;
        TABLE.check_magic(reader.take(MAGIC_LEN, "footer: magic")?)?;

        let mut reader = ByteReader::new(checked);
        let mut handle = || -> Result<(u64, u64)> {
            Ok((reader.u64("footer: offset")?, reader.u64("footer: length")?))
        };
        let handles: [(u64, u64); 4] = [handle()?, handle()?, handle()?, handle()?];
        let written_as = reader.u64("footer: file number")?;
        let version = reader.u32("footer: format version")?;
        let [checksum_kind, padding @ ..] = reader.u32("footer: checksum type")?.to_le_bytes();
        if planted(Fault::DamageIsUnsupported) {
            TABLE.check_version(version)?;
        }
        let found = checksum(checksum_seed(written_as, offset), checked);
        if found != expected {
            return Err(Error::corruption(format!(
                "footer checksum: expected {expected:016x}, found {found:016x}"
            )));
        }
        TABLE.check_version(version)?;
        let ChecksumKind::Xxh3 = ChecksumKind::from_u8(checksum_kind)?;
        if padding != [0; 3] {
            return Err(Error::corruption(format!(
                "footer: expected three zero bytes after the checksum type, found {padding:02x?}"
            )));
        }
        if written_as != file_number {
            return Err(Error::corruption(format!(
                "the footer belongs to another table: expected file number {file_number}, found \
                 {written_as}"
            )));
        }
        let [index, filter, properties, tombstones] = handles;
        Ok(Footer {
            index: required(index, "index", offset)?,
            filter: optional(filter, "filter", offset)?,
            properties: required(properties, "properties", offset)?,
            tombstones: optional(tombstones, "tombstones", offset)?,
        })
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
