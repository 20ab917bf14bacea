//! A record of a log: the writes that took effect together.
//!
//! ```text
//! sequence u64 | count u32 | count × ( 1 | key | value )  or  ( 0 | key )
//! ```
//!
//! Keys and values have their length in front. The n-th write has sequence number `sequence + n`.

use crate::encoding::{DELETION, Fields, VALUE};

/// Bytes before the first write.
pub const HEADER: usize = 12;

/// A write of a batch. The value of a deletion is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write<'a> {
    /// [`VALUE`] or [`DELETION`].
    pub kind: u8,
    /// The caller's key.
    pub key: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

/// What is wrong with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// A value whose key or bytes are cut.
    Value,
    /// A deletion whose key is cut.
    Deletion,
    /// A write of an unknown kind.
    Kind,
    /// More or fewer writes than the batch counts.
    Count,
}

/// The writes of a batch, in their order.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// The sequence number of the first write, as stored: more than 56 bits are possible.
    pub sequence: u64,
    count: u32,
    read: u32,
    rest: Fields<'a>,
}

impl<'a> Batch<'a> {
    /// Reads the header. `None` if the record is too short for one.
    pub fn new(record: &'a [u8]) -> Option<Batch<'a>> {
        let (sequence, rest) = record.split_first_chunk::<8>()?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let (sequence, count) = (u64::from_le_bytes(*sequence), u32::from_le_bytes(*count));
        Some(Batch { sequence, count, read: 0, rest: Fields(rest) })
    }

    fn write(&mut self) -> Result<Write<'a>, Bad> {
        let rest = &mut self.rest;
        let (kind, key, value) = match rest.u8() {
            Some(VALUE) => (VALUE, rest.prefixed(), rest.prefixed()),
            Some(DELETION) => (DELETION, rest.prefixed(), Some(&[][..])),
            _ => return Err(Bad::Kind),
        };
        let bad = if kind == VALUE { Bad::Value } else { Bad::Deletion };
        self.read = self.read.saturating_add(1);
        Ok(Write { kind, key: key.ok_or(bad)?, value: value.ok_or(bad)? })
    }
}

/// Ends after the last write, or after an error.
impl<'a> Iterator for Batch<'a> {
    type Item = Result<Write<'a>, Bad>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            let differs = self.read != self.count;
            self.count = self.read;
            return differs.then_some(Err(Bad::Count));
        }
        let write = self.write();
        if write.is_err() {
            (self.rest, self.count) = (Fields(&[]), self.read);
        }
        Some(write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sequence: u64, count: u32, writes: &[u8]) -> Vec<Result<Write<'_>, Bad>> {
        let mut batch = Batch { sequence, count, read: 0, rest: Fields(writes) };
        let all = batch.by_ref().collect();
        assert_eq!(batch.next(), None);
        all
    }

    #[test]
    fn a_batch_is_read_up_to_its_first_error() {
        let put = Ok(Write { kind: VALUE, key: b"a", value: b"one" });
        let delete = Ok(Write { kind: DELETION, key: b"b", value: b"" });
        assert_eq!(read(5, 2, b"\x01\x01a\x03one\x00\x01b"), [put, delete]);
        assert_eq!(read(5, 0, b""), []);
        let record = b"\x05\0\0\0\0\0\0\x80\x01\0\0\0\x00\x01b";
        let batch = Batch::new(record).unwrap();
        assert_eq!((batch.sequence, batch.collect::<Vec<_>>()), (5 | 1 << 63, vec![delete]));
        assert_eq!(read(5, 1, b""), [Err(Bad::Count)]);
        assert_eq!(read(5, 1, b"\x01\x01a\x03one\x00\x01b"), [put, delete, Err(Bad::Count)]);
        assert_eq!(read(5, 1, b"\x01\x01a\x03on"), [Err(Bad::Value)]);
        assert_eq!(read(5, 1, b"\x00\x02b"), [Err(Bad::Deletion)]);
        assert_eq!(read(u64::MAX, 2, b"\x00\x01b\x02\x01a"), [delete, Err(Bad::Kind)]);
        assert!(Batch::new(&[0; HEADER - 1]).is_none());
    }
}
