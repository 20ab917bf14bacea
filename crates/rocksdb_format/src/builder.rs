//! Writes a table that RocksDB ingests: one of format version 2, which every release reads.
//!
//! Every record is a value with sequence number 0. The database that ingests the table gives all of
//! them one number.
//!
//! ```text
//! data blocks | properties | metaindex | index | footer
//! ```
//!
//! Blocks are not compressed. RocksDB compresses them when it compacts the table.

use foldb_leveldb_format::block::BlockBuilder;
use foldb_leveldb_format::builder::Output;
use foldb_leveldb_format::encoding::{put_varint, tag};
use foldb_leveldb_format::table::{Handle, trailer};

use crate::checksum::Checksum;
use crate::footer::Footer;
use crate::kind::VALUE;
use crate::properties::PROPERTIES;

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
    data: BlockBuilder,
    index: BlockBuilder,
    last: Vec<u8>,
    totals: Totals,
}

/// What the properties tell.
#[derive(Debug, Default)]
struct Totals {
    entries: u64,
    blocks: u64,
    keys: u64,
    values: u64,
    data: u64,
}

impl<F: Output> TableBuilder<F> {
    /// Begins a table.
    pub fn new(file: F) -> TableBuilder<F> {
        TableBuilder {
            file,
            offset: 0,
            data: BlockBuilder::new(INTERVAL),
            index: BlockBuilder::new(1),
            last: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// Returns the bytes of the table so far.
    pub fn len(&self) -> u64 {
        self.offset + self.data.len() as u64
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
        self.last.clear();
        self.last.extend_from_slice(key);
        self.last.extend_from_slice(&tag(0, VALUE).to_le_bytes());
        self.data.add(&self.last, value);
        self.totals.entries += 1;
        self.totals.keys += self.last.len() as u64;
        self.totals.values += value.len() as u64;
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
        let properties = self.totals.properties(index.len() as u64);
        let properties = self.write(&properties)?;
        let mut metaindex = BlockBuilder::new(1);
        let mut value = Vec::with_capacity(20);
        properties.append(&mut value);
        metaindex.add(PROPERTIES[0], &value);
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
    /// Returns the block of properties, in the order of their names.
    fn properties(&self, index: u64) -> Vec<u8> {
        let varint = |number: u64| {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            bytes
        };
        let all: [(&str, Vec<u8>); 15] = [
            ("rocksdb.block.based.table.index.type", 0_u32.to_le_bytes().to_vec()),
            ("rocksdb.column.family.id", varint(NO_FAMILY)),
            ("rocksdb.comparator", foldb_leveldb_format::BYTEWISE.as_bytes().to_vec()),
            ("rocksdb.compression", b"NoCompression".to_vec()),
            ("rocksdb.data.size", varint(self.data)),
            ("rocksdb.deleted.keys", varint(0)),
            ("rocksdb.external_sst_file.global_seqno", 0_u64.to_le_bytes().to_vec()),
            ("rocksdb.external_sst_file.version", EXTERNAL.to_le_bytes().to_vec()),
            ("rocksdb.format.version", varint(0)),
            ("rocksdb.index.size", varint(index)),
            ("rocksdb.merge.operands", varint(0)),
            ("rocksdb.num.data.blocks", varint(self.blocks)),
            ("rocksdb.num.entries", varint(self.entries)),
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
    use super::*;
    use crate::footer::FOOTER;
    use crate::index::{self, Form};
    use crate::properties::{Properties, entries, handle};
    use crate::{block, kind};

    struct File(Vec<u8>);

    impl Output for File {
        type Error = std::convert::Infallible;

        fn append(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }
    }

    #[test]
    fn a_table_is_read_as_written() {
        let mut builder = TableBuilder::new(File(Vec::new()));
        let keys: Vec<String> = (0..2000).map(|n| format!("key{n:05}")).collect();
        keys.iter().for_each(|key| builder.add(key.as_bytes(), b"a value").unwrap());
        builder.finish().unwrap();
        let file = builder.into_file().0;
        let size = file.len() as u64;
        let footer = Footer::decode(&file[file.len() - FOOTER..], size).unwrap();
        let unpacked = |place: Handle| {
            let at = place.offset as usize;
            let stored = &file[at..at + place.stored(size).unwrap()];
            block::unpack(stored, place.offset, &footer, &[]).unwrap()
        };
        let metaindex = entries(&unpacked(footer.metaindex)).unwrap();
        let properties = unpacked(handle(&metaindex, PROPERTIES[0]).unwrap().unwrap());
        let properties = Properties::decode(&properties).unwrap();
        assert_eq!(properties.entries, Some(2000));
        let form = Form::of(&properties).unwrap();
        let mut found = Vec::new();
        for place in index::handles(&unpacked(footer.index.unwrap()), form).unwrap() {
            let mut cursor = block::cursor(unpacked(place)).unwrap();
            cursor.first();
            while cursor.is_valid() {
                let (key, sequence, of_kind) = kind::split(cursor.key()).unwrap();
                assert_eq!((sequence, of_kind, cursor.value()), (0, VALUE, &b"a value"[..]));
                found.push(String::from_utf8(key.to_vec()).unwrap());
                cursor.next();
            }
        }
        assert_eq!(found, keys);
    }
}
