//! The bytes of a batch, in RocksDB's format: programs store them, send them and read them back.
//!
//! `foldb_rocksdb_format::batch` draws the format and reads it; this is its writer. The numbers of
//! kinds of records with a family come after those without.

use foldb_leveldb_format::encoding::{put_prefixed, put_varint};
use foldb_rocksdb_format::batch::{Batch, Record};
use foldb_rocksdb_format::kind::{
    DELETION, LOG_DATA, MERGE, RANGE_DELETION, SINGLE_DELETION, VALUE,
};

use crate::status::{Code, Outcome, Status};

/// Bytes of the sequence number and the count.
pub(crate) const HEADER: usize = 12;

/// A kind of write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Put,
    Delete,
    SingleDelete,
    Merge,
    /// From the key to the value, which is the end of the range.
    DeleteRange,
}

/// A write of a batch. A delete has an empty value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op<'a> {
    pub(crate) family: u32,
    pub(crate) kind: Kind,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl Kind {
    /// Returns the numbers of a record: without a family, and with one.
    fn numbers(self) -> (u8, u8) {
        match self {
            Kind::Put => (VALUE, 0x5),
            Kind::Delete => (DELETION, 0x4),
            Kind::SingleDelete => (SINGLE_DELETION, 0x8),
            Kind::Merge => (MERGE, 0x6),
            Kind::DeleteRange => (RANGE_DELETION, 0xe),
        }
    }

    fn of(number: u8) -> Option<Kind> {
        let all = [Kind::Put, Kind::Delete, Kind::SingleDelete, Kind::Merge, Kind::DeleteRange];
        all.into_iter().find(|kind| kind.numbers().0 == number)
    }

    fn has_value(self) -> bool {
        !matches!(self, Kind::Delete | Kind::SingleDelete)
    }
}

/// The bytes of a batch, and the places to go back to.
#[derive(Clone, Debug)]
pub(crate) struct Rep {
    bytes: Vec<u8>,
    savepoints: Vec<(usize, u32)>,
    /// The most bytes; 0: no limit.
    most: usize,
}

impl Default for Rep {
    fn default() -> Self {
        Rep { bytes: vec![0; HEADER], savepoints: Vec::new(), most: 0 }
    }
}

impl Rep {
    /// Makes an empty batch that takes up to `most` bytes; 0: no limit.
    pub(crate) fn with_limits(reserved: usize, most: usize) -> Rep {
        let mut own = Rep { most, ..Rep::default() };
        own.bytes.reserve(reserved);
        own
    }

    /// Takes the bytes of a batch. Bytes too short for a header are an empty batch.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Rep {
        match bytes.len() < HEADER {
            true => Rep::default(),
            false => Rep { bytes: bytes.to_vec(), ..Rep::default() },
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn count(&self) -> u32 {
        u32::from_le_bytes(self.bytes[8..HEADER].try_into().expect("4 bytes"))
    }

    /// Returns the number of the first write; 0 for a batch that was never written.
    pub(crate) fn sequence(&self) -> u64 {
        u64::from_le_bytes(self.bytes[..8].try_into().expect("8 bytes"))
    }

    pub(crate) fn set_sequence(&mut self, sequence: u64) {
        self.bytes[..8].copy_from_slice(&sequence.to_le_bytes());
    }

    fn set_count(&mut self, count: u32) {
        self.bytes[8..HEADER].copy_from_slice(&count.to_le_bytes());
    }

    /// Appends a write whose key and value are given in parts.
    ///
    /// # Errors
    /// `Operation aborted` beyond the limit of the batch, which stays as it was.
    pub(crate) fn push_parts(
        &mut self,
        family: u32,
        kind: Kind,
        key: &[&[u8]],
        value: &[&[u8]],
    ) -> Outcome<()> {
        let before = self.bytes.len();
        let (plain, of_family) = kind.numbers();
        if family == 0 {
            self.bytes.push(plain);
        } else {
            self.bytes.push(of_family);
            put_varint(&mut self.bytes, family.into());
        }
        put_parts(&mut self.bytes, key);
        if kind.has_value() {
            put_parts(&mut self.bytes, value);
        }
        if self.most > 0 && self.bytes.len() > self.most {
            self.bytes.truncate(before);
            return Err(Status::new(Code::Aborted, "Memory limit reached"));
        }
        self.set_count(self.count() + 1);
        Ok(())
    }

    /// Appends bytes of the program that are no write.
    pub(crate) fn push_log_data(&mut self, blob: &[u8]) {
        self.bytes.push(LOG_DATA);
        put_prefixed(&mut self.bytes, blob);
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.resize(HEADER, 0);
        self.savepoints.clear();
    }

    pub(crate) fn set_savepoint(&mut self) {
        self.savepoints.push((self.bytes.len(), self.count()));
    }

    /// Forgets the writes since the last save point, and the save point.
    ///
    /// # Errors
    /// `NotFound` without one.
    pub(crate) fn rollback(&mut self) -> Outcome<()> {
        let (len, count) = self.savepoints.pop().ok_or_else(|| Status::not_found(""))?;
        self.bytes.truncate(len);
        self.set_count(count);
        Ok(())
    }

    /// Forgets the last save point.
    ///
    /// # Errors
    /// `NotFound` without one.
    pub(crate) fn pop_savepoint(&mut self) -> Outcome<()> {
        self.savepoints.pop().map(drop).ok_or_else(|| Status::not_found(""))
    }

    /// Returns the writes, in order.
    pub(crate) fn ops(&self) -> impl Iterator<Item = Outcome<Op<'_>>> {
        let records = Batch::new(&self.bytes).into_iter().flatten();
        records.filter_map(|record| match record {
            Ok(Record::Write(write)) => Some(match Kind::of(write.kind) {
                Some(kind) => {
                    Ok(Op { family: write.family, kind, key: write.key, value: write.value })
                }
                None => Err(Status::unsupported(format!(
                    "a record of kind {:#x} in a write batch",
                    write.kind
                ))),
            }),
            Ok(_) => None,
            Err(fault) => Some(Err(Status::new(Code::Corruption, fault.to_string()))),
        })
    }
}

fn put_parts(out: &mut Vec<u8>, parts: &[&[u8]]) {
    put_varint(out, parts.iter().map(|part| part.len() as u64).sum());
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Rep {
        fn push(&mut self, op: Op<'_>) -> Outcome<()> {
            self.push_parts(op.family, op.kind, &[op.key], &[op.value])
        }
    }

    #[test]
    fn the_bytes_are_those_of_rocksdb() {
        let mut rep = Rep::default();
        rep.push(Op { family: 0, kind: Kind::Put, key: b"k", value: b"v1" }).unwrap();
        rep.push(Op { family: 3, kind: Kind::Merge, key: b"m", value: b"" }).unwrap();
        rep.push(Op { family: 0, kind: Kind::Delete, key: b"d", value: b"" }).unwrap();
        rep.push_log_data(b"note");
        let expected =
            b"\0\0\0\0\0\0\0\0\x03\0\0\0\x01\x01k\x02v1\x06\x03\x01m\0\0\x01d\x03\x04note";
        assert_eq!(rep.bytes(), expected);
        let ops: Vec<_> = Rep::from_bytes(expected).ops().map(|op| format!("{op:?}")).collect();
        assert_eq!(ops.len(), 3);
    }

    #[test]
    fn a_limit_refuses_the_write_and_keeps_the_others() {
        let mut rep = Rep::with_limits(0, 20);
        rep.push(Op { family: 0, kind: Kind::Put, key: b"k", value: b"v" }).unwrap();
        let more = Op { family: 0, kind: Kind::Put, key: b"long key", value: b"long value" };
        assert_eq!(rep.push(more).unwrap_err().code, Code::Aborted);
        assert_eq!(rep.count(), 1);
        assert_eq!(rep.ops().count(), 1);
    }

    #[test]
    fn a_rollback_goes_back_to_the_save_point() {
        let mut rep = Rep::default();
        let put = |key| Op { family: 0, kind: Kind::Put, key, value: b"" };
        rep.push(put(b"a")).unwrap();
        rep.set_savepoint();
        rep.push(put(b"b")).unwrap();
        rep.rollback().unwrap();
        assert_eq!(rep.count(), 1);
        assert_eq!(rep.ops().count(), 1);
        assert_eq!(rep.rollback().unwrap_err().code, Code::NotFound);
        assert_eq!(rep.pop_savepoint().unwrap_err().code, Code::NotFound);
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let rep = Rep::from_bytes(b"\0\0\0\0\0\0\0\0\x01\0\0\0\x01\x09k");
        let found: Outcome<Vec<Op<'_>>> = rep.ops().collect();
        assert_eq!(found.unwrap_err().code, Code::Corruption);
    }
}
