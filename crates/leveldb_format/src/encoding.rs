//! Varints, checksums and internal keys.
//!
//! ```text
//! internal key:  user key | tag u64        tag: sequence number << 8 | kind
//! checksum:      CRC-32C, rotated and shifted by a constant
//! ```
//!
//! All integers are little-endian.

use std::cmp::{Ordering, Reverse};

use crate::Order;

/// The kind of a tombstone.
pub const DELETION: u8 = 0;
/// The kind of a value.
pub const VALUE: u8 = 1;

/// Sequence numbers have 56 bits.
pub const SEQUENCES: u64 = 1 << 56;

/// Bytes of a tag.
pub const TAG_LEN: usize = 8;

/// Splits an internal key into user key and tag. `None` if it is too short, or of an unknown kind.
pub fn split_internal(key: &[u8]) -> Option<(&[u8], u64)> {
    let (user, tag) = key.split_last_chunk::<TAG_LEN>()?;
    let tag = u64::from_le_bytes(*tag);
    (kind_of(tag) <= VALUE).then_some((user, tag))
}

/// The order of the internal keys: of one user key, the larger tag comes first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Internal;

impl Order for Internal {
    fn compare(&self, one: &[u8], other: &[u8]) -> Ordering {
        let [one, other] =
            [one, other].map(|key| split_internal(key).map(|(user, tag)| (user, Reverse(tag))));
        one.cmp(&other)
    }
}

/// Returns the kind that a tag holds.
pub fn kind_of(tag: u64) -> u8 {
    tag as u8
}

/// Returns the sequence number that a tag holds.
pub fn sequence_of(tag: u64) -> u64 {
    tag >> 8
}

/// Makes a tag.
pub fn tag(sequence: u64, kind: u8) -> u64 {
    sequence << 8 | u64::from(kind)
}

/// Returns the checksum as files hold it.
pub fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Appends a varint.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends bytes, with their length in front.
pub fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads fields from the front of some bytes. Each method returns `None` if the bytes are not such
/// a field.
#[derive(Clone, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// Returns whether no byte is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a byte.
    pub fn u8(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    /// Reads a varint of at most 64 bits.
    pub fn varint(&mut self) -> Option<u64> {
        // Most numbers are small.
        if let Some((&byte @ ..0x80, rest)) = self.0.split_first() {
            self.0 = rest;
            return Some(u64::from(byte));
        }
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a varint of at most 32 bits.
    pub fn varint32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    /// Reads 4 bytes as a number.
    pub fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    /// Reads 8 bytes as a number.
    pub fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Reads `len` bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Reads bytes that have their length in front.
    pub fn prefixed(&mut self) -> Option<&'a [u8]> {
        let len = self.varint32()?;
        self.take(len as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_read_as_written() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut fields = Fields(&bytes);
            assert_eq!((fields.varint(), fields.is_empty()), (Some(value), true));
            assert_eq!(Fields(&bytes[..bytes.len() - 1]).varint(), None);
        }
        assert_eq!(Fields(&[0xff; 11]).varint(), None);
        assert_eq!(Fields(&[0xff, 0xff, 0xff, 0xff, 0x1f]).varint32(), None);
    }

    #[test]
    fn checksums_are_those_of_leveldb() {
        // The first record of a manifest that LevelDB wrote.
        let record = b"\x01\x01\x1aleveldb.BytewiseComparator";
        assert_eq!(masked(crc32c::crc32c(record)), u32::from_le_bytes(*b"\x56\xf9\xb8\xf8"));
    }

    #[test]
    fn internal_keys_have_a_known_kind() {
        let key = |kind| [&b"k"[..], &tag(7, kind).to_le_bytes()].concat();
        assert_eq!(split_internal(&key(VALUE)), Some((&b"k"[..], tag(7, VALUE))));
        assert_eq!(split_internal(&key(2)), None);
        assert_eq!(split_internal(b"short"), None);
        let later = [&b"k"[..], &tag(8, VALUE).to_le_bytes()].concat();
        assert!(Internal.compare(&later, &key(VALUE)).is_lt());
        let longer = [&b"k\0"[..], &tag(9, VALUE).to_le_bytes()].concat();
        assert!(Internal.compare(&key(VALUE), &longer).is_lt());
    }
}
