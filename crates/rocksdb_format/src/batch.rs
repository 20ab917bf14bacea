//! A record of a log: the writes that took effect together, and marks of transactions.
//!
//! ```text
//! sequence u64 | count u32 | records
//! 0 key | 1 key, value | 2 key, operand | 7 key | f start, end | 11 key, reference
//! 14 key | 16 key, columns | 18 key, value with its time u64
//! 4, 5, 6, 8, e, 10, 17 and 19:  family varint, then as 0, 1, 2, 7, f, 11, 16 and 18
//! 3 bytes of the caller | d nothing
//! 9 a prepared transaction begins | a name: it ends | b name: it is committed
//! c name: it is rolled back | 15 timestamp, name: it is committed
//! 12 and 13:  as 9, of a transaction whose writes are in memtables before it is committed
//! ```
//!
//! Kinds are hexadecimal here. Texts have their length in front. The n-th write has sequence number
//! `sequence + n`; marks have none.

use foldb_leveldb_format::encoding::Fields;

use crate::kind::{
    BLOB_INDEX, DELETION, DELETION_WITH_TIMESTAMP, ENTITY, LOG_DATA, MERGE, RANGE_DELETION,
    SINGLE_DELETION, TIMED_VALUE, VALUE,
};
use crate::{Fault, Read};

/// A write. A deletion has an empty value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write<'a> {
    /// The number of the column family.
    pub family: u32,
    /// The kind, as tables have it.
    pub kind: u8,
    /// The caller's key, or the start of a range.
    pub key: &'a [u8],
    /// The value, operand or reference, or the end of a range.
    pub value: &'a [u8],
}

/// A record of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A write.
    Write(Write<'a>),
    /// A prepared transaction begins.
    Begin,
    /// A prepared transaction of this name ends.
    End(&'a [u8]),
    /// The prepared transaction of this name takes effect.
    Commit(&'a [u8]),
    /// The prepared transaction of this name is given up.
    Rollback(&'a [u8]),
    /// Nothing that a reader needs.
    Other,
}

/// The records of a batch, in their order.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// The sequence number of the first write.
    pub sequence: u64,
    count: u32,
    read: u32,
    rest: Fields<'a>,
}

impl<'a> Batch<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// Fails if the record is too short for one.
    pub fn new(record: &'a [u8]) -> Read<Batch<'a>> {
        let mut rest = Fields(record);
        match (rest.u64(), rest.u32()) {
            (Some(sequence), Some(count)) => Ok(Batch { sequence, count, read: 0, rest }),
            _ => Err(Fault::damaged("a batch is cut")),
        }
    }

    fn record(&mut self) -> Read<Record<'a>> {
        let rest = &mut self.rest;
        let kind = rest.u8().unwrap_or_default();
        let cut = || Fault::damaged(format!("a write of kind {kind:#x} is cut"));
        let (table_kind, has_family) = match kind {
            0x4 => (DELETION, true),
            0x5 => (VALUE, true),
            0x6 => (MERGE, true),
            0x8 => (SINGLE_DELETION, true),
            0xe => (RANGE_DELETION, true),
            0x10 => (BLOB_INDEX, true),
            0x17 => (ENTITY, true),
            0x19 => (TIMED_VALUE, true),
            kind => (kind, false),
        };
        let has_value = match table_kind {
            DELETION | SINGLE_DELETION | DELETION_WITH_TIMESTAMP => false,
            VALUE | MERGE | RANGE_DELETION | BLOB_INDEX | ENTITY | TIMED_VALUE => true,
            _ => return self.mark(kind),
        };
        let family = if has_family { rest.varint32().ok_or_else(cut)? } else { 0 };
        let key = rest.prefixed().ok_or_else(cut)?;
        let value = if has_value { rest.prefixed().ok_or_else(cut)? } else { &[] };
        self.read = self.read.saturating_add(1);
        Ok(Record::Write(Write { family, kind: table_kind, key, value }))
    }

    fn mark(&mut self, kind: u8) -> Read<Record<'a>> {
        let rest = &mut self.rest;
        let mut name = || {
            let cut = || Fault::damaged(format!("a mark of kind {kind:#x} is cut"));
            rest.prefixed().ok_or_else(cut)
        };
        Ok(match kind {
            LOG_DATA => {
                name()?;
                Record::Other
            }
            0xd => Record::Other,
            0x9 => Record::Begin,
            0xa => Record::End(name()?),
            0xb => Record::Commit(name()?),
            0xc => Record::Rollback(name()?),
            0x15 => {
                return Err(Fault::unsupported(
                    "a transaction is committed with a timestamp, and foldb reads no keys with \
                     timestamps",
                ));
            }
            0x12 | 0x13 => {
                return Err(Fault::unsupported(
                    "the log has a transaction of the policy WritePrepared or WriteUnprepared, \
                     which foldb does not read: open the database with RocksDB and flush it first",
                ));
            }
            other => {
                return Err(Fault::damaged(format!("a write is of the unknown kind {other:#x}")));
            }
        })
    }
}

/// Ends after the last record, or after an error.
impl<'a> Iterator for Batch<'a> {
    type Item = Read<Record<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            let (expected, found) = (self.count, self.read);
            self.count = found;
            let text = format!("a batch has {found} writes: expected {expected}");
            return (expected != found).then(|| Err(Fault::damaged(text)));
        }
        let record = self.record();
        if record.is_err() {
            (self.rest, self.count) = (Fields(&[]), self.read);
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(count: u8, records: &[u8]) -> Vec<u8> {
        [&[5, 0, 0, 0, 0, 0, 0, 0, count, 0, 0, 0], records].concat()
    }

    #[test]
    fn a_batch_is_read_up_to_its_first_error() {
        let bytes = batch(3, b"\x01\x01a\x03one\x08\x07\x01b\x03\x02xx\x0e\x00\x01c\x01d");
        let all: Vec<_> = Batch::new(&bytes).unwrap().collect();
        let write =
            |family, kind, key, value| Ok(Record::Write(Write { family, kind, key, value }));
        let expected = [
            write(0, VALUE, &b"a"[..], &b"one"[..]),
            write(7, SINGLE_DELETION, b"b", b""),
            Ok(Record::Other),
            write(0, RANGE_DELETION, b"c", b"d"),
        ];
        assert_eq!(all, expected);
        let marks = batch(0, b"\x09\x0a\x01x\x0b\x01x\x0c\x01x");
        let all: Vec<_> = Batch::new(&marks).unwrap().map(Result::unwrap).collect();
        let expected =
            [Record::Begin, Record::End(b"x"), Record::Commit(b"x"), Record::Rollback(b"x")];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_bad_batch_is_an_error() {
        let good = batch(1, b"\x05\x01\x01a\x03one");
        for len in 0..good.len() {
            let read = Batch::new(&good[..len]).and_then(|batch| batch.collect::<Read<Vec<_>>>());
            assert!(read.is_err(), "{len}");
        }
        for bytes in [batch(2, b"\x00\x01a"), batch(0, b"\x7f"), batch(0, b"\x12")] {
            assert!(Batch::new(&bytes).unwrap().any(|record| record.is_err()), "{bytes:?}");
        }
    }
}
