//! Varints, checksums and internal keys.
//!
//! ```text
//! internal key:  user key | tag u64        tag: sequence number << 8 | kind
//! checksum:      CRC-32C, rotated and shifted by a constant
//! ```
//!
//! All integers are little-endian.

/// The kind of a tombstone, and of a value.
pub(super) const DELETION: u8 = 0;
pub(super) const VALUE: u8 = 1;

/// Sequence numbers have 56 bits.
pub(super) const SEQUENCES: u64 = 1 << 56;

/// Bytes of a tag.
pub(super) const TAG_LEN: usize = 8;

/// Splits an internal key into user key and tag. `None` if it is too short, or of an unknown kind.
pub(super) fn split_internal(key: &[u8]) -> Option<(&[u8], u64)> {
    let (user, tag) = key.split_last_chunk::<TAG_LEN>()?;
    let tag = u64::from_le_bytes(*tag);
    (kind_of(tag) <= VALUE).then_some((user, tag))
}

/// Returns the kind that a tag holds.
pub(super) fn kind_of(tag: u64) -> u8 {
    tag as u8
}

/// Returns the sequence number that a tag holds.
pub(super) fn sequence_of(tag: u64) -> u64 {
    tag >> 8
}

/// Makes a tag.
pub(super) fn tag(sequence: u64, kind: u8) -> u64 {
    sequence << 8 | u64::from(kind)
}

/// Returns the checksum as files hold it.
pub(super) fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Appends a varint.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends bytes, with their length in front.
pub(super) fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads fields from the front of some bytes. Each method returns `None` if the bytes are not such
/// a field.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
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

    pub(super) fn varint32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Reads bytes that have their length in front.
    pub(super) fn prefixed(&mut self) -> Option<&'a [u8]> {
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
    }
}
