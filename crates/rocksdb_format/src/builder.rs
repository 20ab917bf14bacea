//! Writes a table that RocksDB ingests: one of format version 2, which every release reads.
//!
//! Every record has sequence number 0. The database that ingests the table gives all of them one
//! number, so a tombstone of a range does not cover the other records of its table.
//!
//! ```text
//! data blocks | tombstones of ranges | properties | metaindex | index | footer
//! ```
//!
//! Blocks are not compressed. RocksDB compresses them when it compacts the table.

use foldb_leveldb_format::block::BlockBuilder;
use foldb_leveldb_format::builder::Output;
use foldb_leveldb_format::encoding::{put_varint, tag};
use foldb_leveldb_format::table::{Handle, trailer};

use crate::checksum::Checksum;
use crate::footer::Footer;
use crate::kind::{DELETION, MERGE, RANGE_DELETION, VALUE};
use crate::properties::{PROPERTIES, RANGE_DELETIONS};

/// Bytes that fill a data block.
const BLOCK: usize = 4 << 10;
/// Entries of a data block between two restarts.
const INTERVAL: usize = 16;
const VERSION: u32 = 2;
/// The version of the format of tables that are written outside of a database.
const EXTERNAL: u32 = 2;
/// Stands for no column family.
const NO_FAMILY: u64 = i32::MAX as u64;

/// A table being written. After an error, the table is of no use.
#[derive(Debug)]
pub struct TableBuilder<F> {
    file: F,
    offset: u64,
    comparator: String,
    data: BlockBuilder,
    index: BlockBuilder,
    ranges: BlockBuilder,
    last: Vec<u8>,
    totals: Totals,
}

/// What the properties tell.
#[derive(Debug, Default)]
struct Totals {
    /// All records, with the tombstones of ranges.
    entries: u64,
    /// Tombstones of keys and of ranges.
    deletions: u64,
    range_deletions: u64,
    operands: u64,
    blocks: u64,
    keys: u64,
    values: u64,
    data: u64,
}

impl<F: Output> TableBuilder<F> {
    /// Begins a table in the order of the bytes of keys.
    pub fn new(file: F) -> TableBuilder<F> {
        TableBuilder::ordered_by(file, foldb_leveldb_format::BYTEWISE)
    }

    /// Begins a table in the order of a comparator.
    pub fn ordered_by(file: F, comparator: &str) -> TableBuilder<F> {
        TableBuilder {
            file,
            offset: 0,
            comparator: comparator.to_owned(),
            ranges: BlockBuilder::new(1),
            data: BlockBuilder::new(INTERVAL),
            index: BlockBuilder::new(1),
            last: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// Returns the bytes of the table so far.
    pub fn len(&self) -> u64 {
        self.offset + self.data.len() as u64 + self.ranges.len() as u64
    }

    /// Returns the bytes that are written.
    pub fn written(&self) -> u64 {
        self.offset
    }

    /// Returns whether no entry was added.
    pub fn is_empty(&self) -> bool {
        self.totals.entries == 0
    }

    /// Gives the file back.
    pub fn into_file(self) -> F {
        self.file
    }

    /// Adds an entry. Its key is behind the last one.
    ///
    /// # Errors
    /// Fails if a write does.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), F::Error> {
        self.add_record(VALUE, key, value)
    }

    /// Adds an operand. Its key is behind the last one.
    ///
    /// # Errors
    /// Fails if a write does.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), F::Error> {
        self.totals.operands += 1;
        self.add_record(MERGE, key, operand)
    }

    /// Adds a tombstone of a key, which is behind the last one.
    ///
    /// # Errors
    /// Fails if a write does.
    pub fn delete(&mut self, key: &[u8]) -> Result<(), F::Error> {
        self.totals.deletions += 1;
        self.add_record(DELETION, key, &[])
    }

    /// Adds a tombstone of a range. Ranges may come in any order, and overlap.
    pub fn delete_range(&mut self, start: &[u8], end: &[u8]) {
        let start = [start, &tag(0, RANGE_DELETION).to_le_bytes()].concat();
        self.ranges.add(&start, end);
        self.totals.deletions += 1;
        self.totals.range_deletions += 1;
        self.totals.count(start.len(), end.len());
    }

    fn add_record(&mut self, kind: u8, key: &[u8], value: &[u8]) -> Result<(), F::Error> {
        self.last.clear();
        self.last.extend_from_slice(key);
        self.last.extend_from_slice(&tag(0, kind).to_le_bytes());
        self.data.add(&self.last, value);
        self.totals.count(self.last.len(), value.len());
        if self.data.len() >= BLOCK { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), F::Error> {
        if self.data.is_empty() {
            return Ok(());
        }
        let contents = self.data.finish().to_vec();
        self.data.clear();
        let handle = self.write(&contents)?;
        self.totals.blocks += 1;
        self.totals.data = self.offset;
        let mut value = Vec::with_capacity(20);
        handle.append(&mut value);
        self.index.add(&self.last, &value);
        Ok(())
    }

    /// Writes the rest of the table.
    ///
    /// # Errors
    /// Fails if a write does.
    pub fn finish(&mut self) -> Result<(), F::Error> {
        self.end_block()?;
        let index = self.index.finish().to_vec();
        let ranges = match self.ranges.is_empty() {
            true => None,
            false => {
                let contents = self.ranges.finish().to_vec();
                Some(self.write(&contents)?)
            }
        };
        let properties = self.totals.properties(index.len() as u64, &self.comparator);
        let properties = self.write(&properties)?;
        let mut metaindex = BlockBuilder::new(1);
        // The names of a metaindex ascend.
        for (name, place) in [(PROPERTIES[0], Some(properties)), (RANGE_DELETIONS, ranges)] {
            let mut value = Vec::with_capacity(20);
            if let Some(place) = place {
                place.append(&mut value);
                metaindex.add(name, &value);
            }
        }
        let metaindex = self.write(metaindex.finish())?;
        let index = self.write(&index)?;
        let footer = Footer {
            version: VERSION,
            checksum: Checksum::Crc32c,
            base: 0,
            metaindex,
            index: Some(index),
        };
        self.append(&footer.encode())
    }

    fn write(&mut self, contents: &[u8]) -> Result<Handle, F::Error> {
        let handle = Handle { offset: self.offset, len: contents.len() as u64 };
        self.append(contents)?;
        self.append(&trailer(contents, false))?;
        Ok(handle)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), F::Error> {
        self.file.append(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

impl Totals {
    fn count(&mut self, key: usize, value: usize) {
        self.entries += 1;
        self.keys += key as u64;
        self.values += value as u64;
    }

    /// Returns the block of properties, in the order of their names.
    fn properties(&self, index: u64, comparator: &str) -> Vec<u8> {
        let varint = |number: u64| {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            bytes
        };
        let all: [(&str, Vec<u8>); 16] = [
            ("rocksdb.block.based.table.index.type", 0_u32.to_le_bytes().to_vec()),
            ("rocksdb.column.family.id", varint(NO_FAMILY)),
            ("rocksdb.comparator", comparator.as_bytes().to_vec()),
            ("rocksdb.compression", b"NoCompression".to_vec()),
            ("rocksdb.data.size", varint(self.data)),
            ("rocksdb.deleted.keys", varint(self.deletions)),
            ("rocksdb.external_sst_file.global_seqno", 0_u64.to_le_bytes().to_vec()),
            ("rocksdb.external_sst_file.version", EXTERNAL.to_le_bytes().to_vec()),
            ("rocksdb.format.version", varint(0)),
            ("rocksdb.index.size", varint(index)),
            ("rocksdb.merge.operands", varint(self.operands)),
            ("rocksdb.num.data.blocks", varint(self.blocks)),
            ("rocksdb.num.entries", varint(self.entries)),
            ("rocksdb.num.range-deletions", varint(self.range_deletions)),
            ("rocksdb.raw.key.size", varint(self.keys)),
            ("rocksdb.raw.value.size", varint(self.values)),
        ];
        let mut block = BlockBuilder::new(1);
        all.iter().for_each(|(name, value)| block.add(name.as_bytes(), value));
        block.finish().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::kind;
    use crate::table::{Input, RangeDeletion, Table};

    struct File(Vec<u8>);

    impl Output for File {
        type Error = Infallible;

        fn append(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }
    }

    impl Input for File {
        type Error = Infallible;

        fn size(&self) -> u64 {
            self.0.len() as u64
        }

        fn bytes(&mut self, at: u64, len: usize) -> Result<Vec<u8>, Infallible> {
            Ok(self.0[at as usize..][..len].to_vec())
        }
    }

    fn finished(mut builder: TableBuilder<File>) -> Table<File> {
        builder.finish().unwrap();
        Table::open(builder.into_file()).unwrap()
    }

    #[test]
    fn a_table_is_read_as_written() {
        let mut builder = TableBuilder::new(File(Vec::new()));
        let keys: Vec<String> = (0..2000).map(|n| format!("key{n:05}")).collect();
        keys.iter().for_each(|key| builder.add(key.as_bytes(), b"a value").unwrap());
        let mut table = finished(builder);
        assert_eq!(table.properties().entries, Some(2000));
        assert!(!table.has_range_deletions());
        let mut found = Vec::new();
        while table.advance().unwrap() {
            let (key, sequence, of_kind) = kind::split(table.key()).unwrap();
            assert_eq!((sequence, of_kind, table.value()), (0, VALUE, &b"a value"[..]));
            found.push(String::from_utf8(key.to_vec()).unwrap());
        }
        assert_eq!(found, keys);
    }

    #[test]
    fn a_table_has_records_of_all_kinds_in_the_order_of_its_comparator() {
        let mut builder = TableBuilder::ordered_by(File(Vec::new()), "app.Reverse");
        builder.merge(b"c", b"operand").unwrap();
        builder.delete(b"b").unwrap();
        builder.delete_range(b"z", b"x");
        builder.add(b"a", b"value").unwrap();
        builder.delete_range(b"z", b"y");
        let mut table = finished(builder);
        assert_eq!(table.properties().comparator.as_deref(), Some("app.Reverse"));
        assert_eq!(table.properties().entries, Some(5));
        for (key, of_kind, value) in
            [("c", MERGE, "operand"), ("b", DELETION, ""), ("a", VALUE, "value")]
        {
            assert!(table.advance().unwrap());
            assert_eq!(kind::split(table.key()).unwrap(), (key.as_bytes(), 0, of_kind));
            assert_eq!(table.value(), value.as_bytes());
        }
        assert!(!table.advance().unwrap());
        let range = |end: &[u8]| RangeDeletion { start: b"z".into(), end: end.into(), sequence: 0 };
        assert_eq!(table.range_deletions().unwrap(), [range(b"x"), range(b"y")]);
    }

    #[test]
    fn a_table_may_have_tombstones_of_ranges_only() {
        let mut builder = TableBuilder::new(File(Vec::new()));
        builder.delete_range(b"a", b"b");
        assert!(!builder.is_empty());
        let mut table = finished(builder);
        assert!(!table.advance().unwrap());
        assert_eq!(table.range_deletions().unwrap().len(), 1);
    }
}
