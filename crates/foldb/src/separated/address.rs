//! The address of a separated value: the tree stores it in place of the value, and it never
//! changes.
//!
//! ```text
//! +----------------+-----------------+-------------------------------+--------------------+
//! | segment varint | position varint | value length * 2 + k   varint | [key part  varint] |
//! +----------------+-----------------+-------------------------------+--------------------+
//!  k: 1 if the record is followed by a key part, whose length is given then
//! ```
//!
//! The *position* is the offset, from the first record, at which the value's record began when the
//! segment was first written. It identifies the record and never changes. A rewrite of a segment
//! without its dead values keeps the positions of the live records and stores where these lie now
//! (`moves`). So a rewrite changes no address, and a segment that was never rewritten needs no
//! index.

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, Result};
use crate::separated::record::{CHECKSUM_LEN, SECTION_HEADER_LEN};

/// Identity of a value segment in its database; never reused.
pub(crate) type SegmentId = u64;

/// Address of a separated value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) segment: SegmentId,
    /// Where its record began when the segment was first written.
    pub(crate) position: u64,
    /// Bytes of the value.
    pub(crate) len: u64,
    /// Bytes of the key part after the record; 0 if there is no key part.
    pub(crate) key_part: u64,
}

impl Address {
    /// Returns the position of a record that begins at this offset of a log. Positions count as if
    /// the log began with a section's header.
    #[inline]
    pub(crate) fn position_in_log(offset: u64) -> u64 {
        offset - SECTION_HEADER_LEN
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_varint(out, self.segment);
        put_varint(out, self.position);
        put_varint(out, self.len << 1 | u64::from(self.key_part > 0));
        if self.key_part > 0 {
            put_varint(out, self.key_part);
        }
        debug_assert!(
            Address::decode(&out[start..]).is_ok_and(|read| read == *self),
            "a reader finds the value that the address names"
        );
    }

    /// # Errors
    /// `Corruption` for bytes that are not an address.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Address> {
        let mut bytes = ByteReader::new(bytes);
        let segment = bytes.varint("segment of a value")?;
        let position = bytes.varint("position of a value")?;
        let len = bytes.varint("length of a value")?;
        let key_part = if len & 1 == 1 { bytes.varint("length of a key part")? } else { 0 };
        let address = Address { segment, position, len: len >> 1, key_part };
        let end = position.checked_add(address.len).and_then(|end| end.checked_add(key_part));
        if !bytes.is_empty() || end.is_none_or(|end| end > MAX_POSITION) {
            return Err(Error::corruption("expected the address of a value, found other bytes"));
        }
        Ok(address)
    }

    /// Returns the bytes of the record, its key part included.
    pub(crate) fn record_len(&self) -> u64 {
        head_len(self.len) + self.len + CHECKSUM_LEN + self.key_part
    }

    /// Returns where the record ends in the segment as first written.
    pub(crate) fn end(&self) -> u64 {
        self.position + self.record_len()
    }
}

/// No segment is this long. The limit keeps sums of positions and lengths from overflowing.
const MAX_POSITION: u64 = 1 << 60;

/// Returns the bytes of a record's head: the varint of its value's length plus one.
pub(crate) fn head_len(value_len: u64) -> u64 {
    let bits = 64 - u64::from((value_len + 1).leading_zeros());
    bits.div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back() {
        for len in [0, 1, 126, 127, 128, 16382, 16383, 1 << 32] {
            for key_part in [0, 20] {
                let address = Address { segment: 7, position: 1 << 33, len, key_part };
                let mut bytes = Vec::new();
                address.encode(&mut bytes);
                assert_eq!(Address::decode(&bytes).unwrap(), address);
                let mut head = Vec::new();
                put_varint(&mut head, len + 1);
                assert_eq!(head_len(len), head.len() as u64, "{len}");
                bytes.push(0);
                assert!(Address::decode(&bytes).is_err(), "a byte too many");
                assert!(Address::decode(&bytes[..bytes.len() - 2]).is_err(), "a byte too few");
            }
        }
        assert!(
            Address::decode(&[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0]).is_err()
        );
    }
}
