//! Checks records whose bytes arrive in pieces of any size, because a value may be too large for
//! the memory budget.

use xxhash_rust::xxh3::Xxh3;

use crate::encoding::decode_varint;
use crate::error::{Error, Result};
use crate::separated::address::SegmentId;
use crate::separated::record::CHECKSUM_LEN;
use crate::separated::record::{check_record, check_sum, record_seed};

/// The field that the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Head,
    /// Bytes of the value still to come.
    Value(u64),
    Sum,
    KeyLen,
    /// Bytes of the key still to come.
    Key(u64),
    Seqno,
    KeySum,
}

/// A walk over the records of a segment.
pub(crate) struct RecordCheck {
    segment: SegmentId,
    keyed: bool,
    /// Position of the record when the segment was first written.
    position: u64,
    /// Bytes of the record so far.
    seen: u64,
    field: Field,
    /// Bytes of an incomplete number.
    pending: Vec<u8>,
    hasher: Xxh3,
    records: u64,
}

impl RecordCheck {
    pub(crate) fn new(segment: SegmentId, keyed: bool) -> RecordCheck {
        RecordCheck {
            segment,
            keyed,
            position: 0,
            seen: 0,
            field: Field::Head,
            pending: Vec::new(),
            hasher: Xxh3::new(),
            records: 0,
        }
    }

    /// Sets the position of the next byte's record.
    pub(crate) fn begin(&mut self, position: u64) -> Result<()> {
        self.end()?;
        self.position = position;
        Ok(())
    }

    /// Returns the number of records so far.
    ///
    /// # Errors
    /// `Corruption` if the bytes ended in the middle of a record.
    pub(crate) fn end(&self) -> Result<u64> {
        if self.seen > 0 {
            let message = format!("expected more of the record at position {}", self.position);
            return Err(Error::corruption(message));
        }
        Ok(self.records)
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// `Corruption` if the bytes are not the record that was written at this position.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.seen == 0
                && !self.keyed
                && let Some(len) = self.whole_record(bytes)?
            {
                self.position += len;
                self.records += 1;
                bytes = &bytes[len as usize..];
                continue;
            }
            let taken = self.feed_field(bytes)?;
            self.seen += taken as u64;
            if self.field == Field::Head && taken > 0 && self.pending.is_empty() {
                // The next field is the first again, so the record is complete.
                self.position += self.seen;
                self.seen = 0;
                self.records += 1;
            }
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Checks the record at the front of `bytes`. Returns its length, or `None` if the record is
    /// not complete.
    fn whole_record(&self, bytes: &[u8]) -> Result<Option<u64>> {
        let Some((len, head)) = decode_varint(bytes) else { return Ok(None) };
        let Some(len) = len.checked_sub(1) else { return Err(self.no_record()) };
        let whole = len.saturating_add(head as u64 + CHECKSUM_LEN);
        let Some(record) = usize::try_from(whole).ok().and_then(|whole| bytes.get(..whole)) else {
            return Ok(None);
        };
        check_record(record, self.segment, self.position, len)?;
        Ok(Some(whole))
    }

    #[cold]
    fn no_record(&self) -> Error {
        Error::corruption(format!("expected a record at position {}, found none", self.position))
    }

    /// Takes bytes of one field. Returns the number of bytes taken.
    fn feed_field(&mut self, bytes: &[u8]) -> Result<usize> {
        match self.field {
            Field::Head => {
                if self.pending.is_empty() {
                    self.hasher = Xxh3::with_seed(record_seed(self.segment, self.position));
                }
                let Some(len) = self.feed_number(bytes[0])? else { return Ok(1) };
                let len = len.checked_sub(1).ok_or_else(|| self.no_record())?;
                self.field = if len > 0 { Field::Value(len) } else { Field::Sum };
                Ok(1)
            }
            Field::Value(left) => Ok(self.feed_bytes(bytes, left, Field::Value, Field::Sum)),
            Field::Sum => {
                let next = if self.keyed { Field::KeyLen } else { Field::Head };
                self.feed_sum(bytes[0], "value", next)
            }
            Field::KeyLen => {
                if self.pending.is_empty() {
                    self.hasher = Xxh3::with_seed(!record_seed(self.segment, self.position));
                }
                if let Some(len) = self.feed_number(bytes[0])? {
                    self.field = if len > 0 { Field::Key(len) } else { Field::Seqno };
                }
                Ok(1)
            }
            Field::Key(left) => Ok(self.feed_bytes(bytes, left, Field::Key, Field::Seqno)),
            Field::Seqno => {
                if self.feed_number(bytes[0])?.is_some() {
                    self.field = Field::KeySum;
                }
                Ok(1)
            }
            Field::KeySum => self.feed_sum(bytes[0], "key", Field::Head),
        }
    }

    fn feed_bytes(
        &mut self,
        bytes: &[u8],
        left: u64,
        rest: fn(u64) -> Field,
        next: Field,
    ) -> usize {
        let taken = left.min(bytes.len() as u64);
        self.hasher.update(&bytes[..taken as usize]);
        self.field = if taken == left { next } else { rest(left - taken) };
        taken as usize
    }

    /// Takes a byte of a varint. Returns the number when it is complete.
    fn feed_number(&mut self, byte: u8) -> Result<Option<u64>> {
        self.hasher.update(&[byte]);
        self.pending.push(byte);
        match decode_varint(&self.pending) {
            Some((number, _)) => {
                self.pending.clear();
                Ok(Some(number))
            }
            None if byte >= 0x80 && self.pending.len() < 10 => Ok(None),
            None => Err(self.no_record()),
        }
    }

    fn feed_sum(&mut self, byte: u8, what: &str, next: Field) -> Result<usize> {
        self.pending.push(byte);
        if self.pending.len() as u64 == CHECKSUM_LEN {
            let expected =
                self.pending.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
            self.pending.clear();
            self.field = next;
            check_sum(what, expected, self.hasher.digest())?;
        }
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::separated::record::{put_key_part, put_record};

    proptest! {
        /// However the bytes are cut, all records pass the check, and any changed bit fails it.
        #[test]
        fn records_are_checked_in_pieces_of_any_size(
            values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..8),
            keyed: bool,
            cuts in proptest::collection::vec(1..50usize, 1..10),
            flip in any::<proptest::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            for value in &values {
                let position = bytes.len() as u64;
                put_record(&mut bytes, 7, position, value);
                if keyed {
                    put_key_part(&mut bytes, 7, position, &value[..value.len() / 3], 900);
                }
            }
            let run = |bytes: &[u8]| {
                let mut check = RecordCheck::new(7, keyed);
                let (mut at, mut cut) = (0, 0);
                while at < bytes.len() {
                    let end = (at + cuts[cut % cuts.len()]).min(bytes.len());
                    check.feed(&bytes[at..end])?;
                    (at, cut) = (end, cut + 1);
                }
                check.end()
            };
            prop_assert_eq!(run(&bytes).unwrap(), values.len() as u64);
            let at = flip.index(bytes.len());
            bytes[at] ^= 4;
            prop_assert!(run(&bytes).is_err());
        }
    }
}
