//! The record of a separated value, in a segment or in a log that may become one.
//!
//! ```text
//! record:   value length + 1  varint | value | checksum u64 of both
//!           [key part, if the section is keyed:
//!            key length varint | key | seqno varint | checksum u64 of the three]
//! ```
//!
//! Checksums are seeded with the segment and the position *as first written*. So a rewrite copies a
//! record unchanged, and a record of another segment or position fails the check.

use xxhash_rust::xxh3::Xxh3;

use crate::encoding::{checksum, checksum_seed, put_varint};
use crate::error::{Error, Result};
use crate::separated::address::{SegmentId, head_len};

/// Bytes of a record's checksum.
pub(crate) const CHECKSUM_LEN: u64 = 8;

/// Bytes of the section header before the records, in every segment.
pub(crate) const SECTION_HEADER_LEN: u64 = 24;

/// Returns the checksum seed of the record at a position of a segment.
#[inline]
pub(crate) fn record_seed(segment: SegmentId, position: u64) -> u64 {
    checksum_seed(segment, position)
}

/// Appends a record. Returns its checksum.
#[inline]
pub(crate) fn put_record(
    out: &mut Vec<u8>,
    segment: SegmentId,
    position: u64,
    value: &[u8],
) -> u64 {
    let start = out.len();
    put_varint(out, value.len() as u64 + 1);
    out.extend_from_slice(value);
    let sum = checksum(record_seed(segment, position), &out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
    debug_assert_eq!(
        (out.len() - start) as u64,
        head_len(value.len() as u64) + value.len() as u64 + CHECKSUM_LEN,
        "the address of a value tells how long its record is"
    );
    debug_assert_eq!(
        sum,
        record_checksum(segment, position, value),
        "a value that is written in one piece or in many has one checksum"
    );
    sum
}

/// Returns the checksum of the record of a value at this position.
pub(crate) fn record_checksum(segment: SegmentId, position: u64, value: &[u8]) -> u64 {
    let mut hasher = Xxh3::with_seed(record_seed(segment, position));
    let mut head = Vec::with_capacity(10);
    put_varint(&mut head, value.len() as u64 + 1);
    hasher.update(&head);
    hasher.update(value);
    hasher.digest()
}

/// Appends a key part. Returns its length.
pub(crate) fn put_key_part(
    out: &mut Vec<u8>,
    segment: SegmentId,
    position: u64,
    key: &[u8],
    seqno: u64,
) -> u64 {
    let start = out.len();
    put_varint(out, key.len() as u64);
    out.extend_from_slice(key);
    put_varint(out, seqno);
    let sum = checksum(!record_seed(segment, position), &out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
    (out.len() - start) as u64
}

/// Checks that `record` (head, value and checksum) belongs to a value of `len` bytes at this
/// position. Returns the offset of the value in `record`.
///
/// # Errors
/// `Corruption` if the checksum does not hold, or if the record has another length.
#[inline]
pub(crate) fn check_record(
    record: &[u8],
    segment: SegmentId,
    position: u64,
    len: u64,
) -> Result<usize> {
    let covered = record.len() - CHECKSUM_LEN as usize;
    let (checked, sum) = record.split_at(covered);
    let expected = sum.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    check_sum("value", expected, checksum(record_seed(segment, position), checked))?;
    // The checksum holds, so a wrong length means that the address is wrong.
    match crate::encoding::decode_varint(checked) {
        Some((found, head)) if found == len + 1 && head as u64 + len == covered as u64 => Ok(head),
        found => Err(Error::corruption(format!(
            "expected a value of {len} bytes, found {:?}",
            found.map(|(len, _)| len.wrapping_sub(1))
        ))),
    }
}

pub(crate) fn check_sum(what: &str, expected: u64, found: u64) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::corruption(format!("{what} checksum: expected {expected:016x}, found {found:016x}")))
}
