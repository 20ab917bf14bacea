//! One record in a sub-block: the inner loop of all code that writes or reads tables.
//!
//! ```text
//! +--------+--------+----------+-----------+-------+------------+------------+-------+
//! | tag u8 | shared | unshared | value len | seqno | [operator] | key suffix | value |
//! +--------+--------+----------+-----------+-------+------------+------------+-------+
//!  tag, low four bits:  kind (0 delete, 1 put, 2 merge)
//!  tag, high four bits: 0x10 has expiry   0x20 packed operands
//!                       0x40 value is separated   0x80 reserved
//!  shared:   bytes the key has in common with the key before it
//!  operator: only in merge records
//! ```
//!
//! `shared` to `operator` are varints. Of the flags the engine writes only 0x40, on puts: the
//! value's address in a value segment then stands in place of the value. A reader refuses a record
//! with another flag instead of misreading it. The usual record (a value of less than 16 KiB, the
//! other lengths below 128) takes one four-byte and one eight-byte load.

use crate::encoding::{copy_short, decode_varint, decode_varint56, encode_varint56};
use crate::error::{Error, ErrorKind};
use crate::key::{Kind, NO_OPERATOR, OperatorId, RecordHeader};

/// Longest record head: tag, three lengths of 32 bits, a sequence number, an operator.
pub(super) const MAX_HEAD: usize = 1 + 3 * 5 + 8 + 5;

/// Bytes that the decoder of a usual record loads: tag, lengths, a value length of two bytes, and
/// the sequence number.
const SHORT_HEAD: usize = 13;

/// Bytes of the shortest record: tag, three lengths, a sequence number.
const SHORTEST: usize = 5;

const _: () = assert!(SHORT_HEAD <= SHORTEST + READABLE_BEHIND, "the wide load stays in bounds");

/// Bytes that must be readable after the end of the last record, so that the wide loads of a short
/// record stay in bounds. The restart array follows the last record, and has at least this many
/// bytes.
pub(super) const READABLE_BEHIND: usize = 8;

/// A decoded record: its head, and where in the sub-block its parts are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Sequence number, kind and operator.
    pub header: RecordHeader,
    /// Bytes to keep of the previous key.
    pub shared: usize,
    /// Start of the rest of its key.
    pub key_start: usize,
    /// End of its key, start of its value.
    pub key_end: usize,
    /// End of its value and of the record.
    pub end: usize,
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryFault {
    /// A number does not end, or is too large.
    Number,
    /// The record reaches beyond the end of the records.
    Length,
    /// Kind bits this version does not know.
    Kind(u8),
    /// Flag bits this version does not know.
    Flags(u8),
    /// The record shares more bytes than the previous key has.
    Shared,
}

impl EntryFault {
    /// Converts to an error about the record at position `at` of its sub-block.
    #[cold]
    pub(super) fn into_error(self, at: usize) -> Error {
        let corrupt = |what: &str| Error::corruption(format!("record at {at}: {what}"));
        match self {
            EntryFault::Number => corrupt("expected a number of its width, found a longer one"),
            EntryFault::Length => corrupt("expected to end before the restarts, found it longer"),
            EntryFault::Kind(kind) => corrupt(&format!("expected kind 0, 1 or 2, found {kind}")),
            EntryFault::Flags(flags) => Error::new(
                ErrorKind::Unsupported,
                format!("record at {at}: flags {flags:#04x}: use the foldb that wrote it"),
            ),
            EntryFault::Shared => corrupt("shares more bytes than the key before it has"),
        }
    }
}

/// Writes a record to the start of `out` and returns its length. `out` must have room for
/// [`MAX_HEAD`], the suffix and the value.
#[inline]
pub(super) fn encode_entry(
    out: &mut [u8],
    header: RecordHeader,
    shared: usize,
    suffix: &[u8],
    value: &[u8],
) -> usize {
    debug_assert!(
        header.seqno <= crate::key::MAX_SEQNO,
        "a reader accepts the number of each record"
    );
    let mut at = encode_lengths(out, header.kind, shared, suffix.len(), value.len());
    let (seqno, seqno_len) = encode_varint56(header.seqno);
    out[at..at + 8].copy_from_slice(&seqno.to_le_bytes());
    at += seqno_len;
    if header.kind == Kind::Merge {
        at += encode_number(&mut out[at..], header.operator as usize);
    }
    copy_short(&mut out[at..], suffix);
    at += suffix.len();
    copy_short(&mut out[at..], value);
    at + value.len()
}

#[inline(always)]
fn encode_lengths(
    out: &mut [u8],
    kind: Kind,
    shared: usize,
    unshared: usize,
    value_len: usize,
) -> usize {
    if shared | unshared | value_len < 0x80 {
        let head = [kind as u8, shared as u8, unshared as u8, value_len as u8];
        out[..4].copy_from_slice(&head);
        return 4;
    }
    out[0] = kind as u8;
    let mut at = 1;
    for number in [shared, unshared, value_len] {
        at += encode_number(&mut out[at..], number);
    }
    at
}

#[inline(always)]
fn encode_number(out: &mut [u8], number: usize) -> usize {
    if number < 0x80 {
        out[0] = number as u8;
        return 1;
    }
    encode_long_number(out, number)
}

#[cold]
fn encode_long_number(out: &mut [u8], number: usize) -> usize {
    let mut at = 0;
    let mut rest = number;
    while rest >= 0x80 {
        out[at] = rest as u8 | 0x80;
        rest >>= 7;
        at += 1;
    }
    out[at] = rest as u8;
    at + 1
}

/// Reads the record at `at`, which must end at or before `end`. `bytes` continues after `end`.
///
/// # Errors
/// An [`EntryFault`] for malformed bytes; any bytes may be given.
#[inline(always)]
pub(super) fn decode_entry(bytes: &[u8], at: usize, end: usize) -> Result<Entry, EntryFault> {
    match decode_short(bytes, at, end) {
        Some(entry) => Ok(entry),
        None => decode_long(bytes, at, end),
    }
}

/// Decodes like [`decode_entry`], but only the usual record; `None` for any other, faults included.
/// It is a separate function, so that its result stays in registers.
#[inline(always)]
pub(super) fn decode_short(bytes: &[u8], at: usize, end: usize) -> Option<Entry> {
    let head = bytes.get(at..)?.first_chunk::<SHORT_HEAD>()?;
    let [tag, shared, unshared, value_len, seqno @ .., last] = *head;
    if (shared | unshared) & 0x80 != 0 {
        return None;
    }
    let (mut value_len, mut seqno) = (usize::from(value_len), u64::from_le_bytes(seqno));
    let mut key_start = at + 4;
    if value_len & 0x80 != 0 {
        let high = seqno as u8;
        if high & 0x80 != 0 {
            return None;
        }
        value_len = value_len & 0x7f | usize::from(high) << 7;
        seqno = seqno >> 8 | u64::from(last) << 56;
        key_start += 1;
    }
    let kind = Kind::from_u8(tag)?;
    let (seqno, seqno_len) = decode_varint56(seqno)?;
    key_start += seqno_len;
    let mut operator = NO_OPERATOR;
    if kind == Kind::Merge {
        operator = OperatorId::from(*bytes.get(key_start).filter(|&&byte| byte < 0x80)?);
        key_start += 1;
    }
    let key_end = key_start + usize::from(unshared);
    let entry_end = key_end + value_len;
    if entry_end > end {
        return None;
    }
    let header = RecordHeader { seqno, kind, operator };
    Some(Entry { header, shared: usize::from(shared), key_start, key_end, end: entry_end })
}

fn kind_of(tag: u8) -> Result<Kind, EntryFault> {
    if tag == Kind::Separated as u8 {
        return Ok(Kind::Separated);
    }
    if tag & 0xf0 != 0 {
        return Err(EntryFault::Flags(tag & 0xf0));
    }
    Kind::from_u8(tag).ok_or(EntryFault::Kind(tag))
}

fn decode_number(bytes: &[u8], at: usize) -> Result<(u32, usize), EntryFault> {
    let (number, len) = bytes.get(at..).and_then(decode_varint).ok_or(EntryFault::Number)?;
    Ok((u32::try_from(number).map_err(|_| EntryFault::Number)?, len))
}

/// Decodes like [`decode_entry`], whatever the width of its numbers.
#[inline(never)]
pub(super) fn decode_long(bytes: &[u8], at: usize, end: usize) -> Result<Entry, EntryFault> {
    let &tag = bytes.get(at).ok_or(EntryFault::Length)?;
    let kind = kind_of(tag)?;
    let mut position = at + 1;
    let mut next = || {
        let (number, len) = decode_number(bytes, position)?;
        position += len;
        Ok(number as usize)
    };
    let (shared, unshared, value_len) = (next()?, next()?, next()?);
    let (seqno, len) = bytes.get(position..).and_then(decode_varint).ok_or(EntryFault::Number)?;
    if seqno > crate::key::MAX_SEQNO {
        return Err(EntryFault::Number);
    }
    position += len;
    let mut operator = NO_OPERATOR;
    if kind == Kind::Merge {
        let len;
        (operator, len) = decode_number(bytes, position)?;
        position += len;
    }
    let key_end = position.saturating_add(unshared);
    let entry_end = key_end.saturating_add(value_len);
    if entry_end > end {
        return Err(EntryFault::Length);
    }
    let header = RecordHeader { seqno, kind, operator };
    Ok(Entry { header, shared, key_start: position, key_end, end: entry_end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::MAX_SEQNO;

    /// The fast decoder read a value length of two bytes as one byte and a sequence number.
    #[test]
    fn both_decoders_read_records_alike() {
        let mut fast = 0;
        for value_len in [0, 1, 127, 128, 129, 255, 256, 16_383, 16_384, 70_000] {
            for seqno in [0, 1, 127, 128, 1 << 30, MAX_SEQNO] {
                for (kind, operator) in
                    [(Kind::Put, NO_OPERATOR), (Kind::Merge, 3), (Kind::Merge, 200)]
                {
                    let header = RecordHeader { seqno, kind, operator };
                    let (suffix, value) = (b"suffix", vec![0xff; value_len]);
                    let mut out = vec![0; MAX_HEAD + suffix.len() + value_len];
                    let end = encode_entry(&mut out, header, 5, suffix, &value);
                    out.truncate(end);
                    out.resize(end + READABLE_BEHIND, 0xff);
                    let entry = decode_long(&out, 0, end).unwrap();
                    assert_eq!((entry.header, entry.shared, entry.end), (header, 5, end));
                    assert_eq!(out[entry.key_start..entry.key_end], *suffix);
                    if let Some(short) = decode_short(&out, 0, end) {
                        assert_eq!(format!("{short:?}"), format!("{entry:?}"));
                        fast += 1;
                    }
                    assert!(decode_short(&out, 0, end - 1).is_none(), "it ends too late");
                }
            }
        }
        assert!(fast > 60, "{fast}");
    }

    /// Any bytes: where the fast decoder finds a record, the other one finds the same.
    #[test]
    fn the_fast_decoder_finds_no_record_of_its_own() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..200_000 {
            let mut bytes: Vec<u8> = (0..random.usize(..40)).map(|_| random.u8(..)).collect();
            if let [tag, ..] = &mut bytes[..] {
                *tag &= 3;
            }
            let end = bytes.len().saturating_sub(READABLE_BEHIND);
            if let Some(short) = decode_short(&bytes, 0, end) {
                let long = decode_long(&bytes, 0, end).unwrap();
                assert_eq!(format!("{short:?}"), format!("{long:?}"));
            }
        }
    }
}
