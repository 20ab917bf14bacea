//! Values outside of tables: the references to them, and the records of their files.
//!
//! ```text
//! reference:  1 | file varint | offset varint | length varint | compression u8
//!             0 | expiry varint | value                 2 | expiry varint | as 1
//! file:       header | records | footer of 32 bytes, if the file was closed
//! header:     magic u32 | version u32, 1 | family u32 | flags u8 | compression u8 | expiry 2 × u64
//! record:     length of the key u64 | length of the value u64 | expiry u64 | checksum of these u32
//!             | checksum of key and value u32 | key | value
//! ```
//!
//! An offset is that of the value. Kinds 0 and 2 belong to an older BlobDB, with lifetimes.

use foldb_leveldb_format::encoding::{Fields, masked};

use crate::{Fault, Read};

/// Bytes of the header of a file.
pub const HEADER: usize = 30;
/// Bytes of a record before its key.
pub const RECORD: usize = 32;
const MAGIC: u32 = 0x0024_8f37;
const VERSION: u32 = 1;

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The number of the file.
    pub file: u64,
    /// The offset of the value.
    pub offset: u64,
    /// Bytes of the value, as stored.
    pub len: u64,
    /// How it is compressed.
    pub compression: u8,
}

impl Reference {
    /// Reads a reference.
    ///
    /// # Errors
    /// Fails for bytes that are none, and for values with a lifetime.
    pub fn decode(bytes: &[u8]) -> Read<Reference> {
        let damaged = || Fault::damaged("a reference to a blob is damaged");
        let mut fields = Fields(bytes);
        match fields.u8() {
            Some(1) => {}
            Some(0 | 2) => {
                return Err(Fault::unsupported(
                    "a value is of the older BlobDB, with a lifetime, which foldb does not read",
                ));
            }
            _ => return Err(damaged()),
        }
        let mut number = || fields.varint().ok_or_else(damaged);
        let (file, offset, len) = (number()?, number()?, number()?);
        match (fields.u8(), fields.is_empty()) {
            (Some(compression), true) => Ok(Reference { file, offset, len, compression }),
            _ => Err(damaged()),
        }
    }

    /// Returns where the record of the value begins, and its length. `None` if it is not inside of
    /// a file.
    pub fn record(&self, key: &[u8]) -> Option<(u64, usize)> {
        let before = (RECORD + key.len()) as u64;
        let at = self.offset.checked_sub(before).filter(|&at| at >= HEADER as u64)?;
        Some((at, usize::try_from(self.len.checked_add(before)?).ok()?))
    }
}

/// Checks the header of a file.
///
/// # Errors
/// Fails for bytes that are none.
pub fn check_header(bytes: &[u8]) -> Read<()> {
    let mut fields = Fields(bytes);
    match (fields.u32(), fields.u32()) {
        (Some(MAGIC), Some(VERSION)) => Ok(()),
        (Some(MAGIC), Some(version)) => Err(Fault::unsupported(format!(
            "the file of blobs has version {version}: expected {VERSION}"
        ))),
        _ => Err(Fault::damaged("the header of a file of blobs is damaged")),
    }
}

/// Returns the stored value of a record of this key.
///
/// # Errors
/// Fails for a record of another key or length, and for checksums that do not match.
pub fn value<'a>(record: &'a [u8], key: &[u8]) -> Read<&'a [u8]> {
    let damaged = |what: &str| Fault::damaged(format!("a record of a blob is damaged: {what}"));
    let (head, rest) = record.split_at_checked(RECORD).ok_or_else(|| damaged("it is cut"))?;
    let mut fields = Fields(head);
    let (key_len, len) = (fields.u64(), fields.u64());
    let _expiry = fields.u64();
    let (own, of_both) = (fields.u32(), fields.u32());
    if own != Some(masked(crc32c::crc32c(&head[..24]))) {
        return Err(damaged("the checksum of its lengths does not match"));
    }
    if of_both != Some(masked(crc32c::crc32c(rest))) {
        return Err(damaged("its checksum does not match"));
    }
    let (found, value) = rest.split_at_checked(key.len()).ok_or_else(|| damaged("it is cut"))?;
    let is_whole = key_len == Some(key.len() as u64) && len == Some(value.len() as u64);
    match found == key && is_whole {
        true => Ok(value),
        false => Err(damaged("it has another key or length")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_leads_to_the_record_before_its_value() {
        let bytes = [1, 9, 70, 4, 0];
        let found = Reference::decode(&bytes).unwrap();
        assert_eq!(found, Reference { file: 9, offset: 70, len: 4, compression: 0 });
        assert_eq!(found.record(b"key"), Some((35, 39)));
        assert_eq!(found.record(b"a longer key"), None);
        assert!(Reference::decode(&bytes[..4]).is_err());
        let old = Reference::decode(&[0, 5, b'v']).unwrap_err();
        assert!(matches!(old, Fault::Unsupported(_)));
    }

    #[test]
    fn a_record_has_its_key_and_checksums() {
        let mut record = [3u64, 4, 0].map(u64::to_le_bytes).concat();
        record.extend_from_slice(&masked(crc32c::crc32c(&record)).to_le_bytes());
        record.extend_from_slice(&masked(crc32c::crc32c(b"keyblob")).to_le_bytes());
        record.extend_from_slice(b"keyblob");
        assert_eq!(value(&record, b"key"), Ok(&b"blob"[..]));
        assert!(value(&record, b"kez").is_err());
        for at in 0..record.len() {
            let mut damaged = record.clone();
            damaged[at] ^= 1;
            assert!(value(&damaged, b"key").is_err(), "{at}");
        }
    }
}
