//! Writes a LevelDB table. Its layout is in [`super::table`].

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::block::BlockBuilder;
use super::encoding::{TAG_LEN, VALUE, masked, put_varint, tag};
use super::manifest::TableInfo;
use super::table::{FOOTER, MAGIC, PLAIN, SNAPPY};
use crate::exit::{Exit, Outcome};
use crate::location::shown;

/// Bytes that fill a block.
const BLOCK_SIZE: usize = 4 << 10;
/// The longest block that Snappy compresses.
const MOST_COMPRESSED: usize = 1 << 30;

/// The sequence number of every entry. A new database has no older writes.
pub(super) const SEQUENCE: u64 = 1;

/// A table being written.
#[derive(Debug)]
pub(super) struct TableWriter {
    path: PathBuf,
    file: BufWriter<File>,
    info: TableInfo,
    block: BlockBuilder,
    /// The last key of each data block, and where the block is.
    index: Vec<(Vec<u8>, Vec<u8>)>,
}

impl TableWriter {
    pub(super) fn create(directory: &Path, number: u64) -> Outcome<TableWriter> {
        let path = directory.join(format!("{number:06}.ldb"));
        let file = File::create_new(&path)
            .map_err(|error| Exit::failed(format!("cannot create {}: {error}", shown(&path))))?;
        let (smallest, largest) = (Vec::new(), Vec::new());
        Ok(TableWriter {
            path,
            file: BufWriter::with_capacity(256 << 10, file),
            info: TableInfo { level: 0, number, size: 0, smallest, largest },
            block: BlockBuilder::new(),
            index: Vec::new(),
        })
    }

    /// Returns how long the table is already.
    pub(super) fn len(&self) -> u64 {
        self.info.size + self.block.len() as u64
    }

    /// Adds an entry. Its key is larger than the last one.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> Outcome {
        let internal = [key, &tag(SEQUENCE, VALUE).to_le_bytes()].concat();
        self.block.add(&internal, value);
        if self.info.smallest.is_empty() {
            self.info.smallest.clone_from(&internal);
        }
        self.info.largest = internal;
        if self.block.len() >= BLOCK_SIZE { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Outcome {
        let block = std::mem::replace(&mut self.block, BlockBuilder::new());
        let handle = self.write_block(&block.finish())?;
        self.index.push((self.info.largest.clone(), handle));
        Ok(())
    }

    /// Writes a block, and returns where it is.
    fn write_block(&mut self, contents: &[u8]) -> Outcome<Vec<u8>> {
        let compressed = (contents.len() <= MOST_COMPRESSED)
            .then(|| snap::raw::Encoder::new().compress_vec(contents).ok())
            .flatten()
            // As LevelDB does: less gain is not worth the time of a reader.
            .filter(|compressed| compressed.len() < contents.len() - contents.len() / 8);
        let (stored, kind) = match &compressed {
            Some(compressed) => (&compressed[..], SNAPPY),
            None => (contents, PLAIN),
        };
        let mut handle = Vec::new();
        put_varint(&mut handle, self.info.size);
        put_varint(&mut handle, stored.len() as u64);
        let checksum = masked(crc32c::crc32c_append(crc32c::crc32c(stored), &[kind]));
        self.write(stored)?;
        self.write(&[kind])?;
        self.write(&checksum.to_le_bytes())?;
        Ok(handle)
    }

    fn write(&mut self, bytes: &[u8]) -> Outcome {
        self.info.size += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|error| cannot_write(&self.path, &error))
    }

    /// Writes the index and the footer, durably.
    pub(super) fn finish(mut self) -> Outcome<TableInfo> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let metaindex = self.write_block(&BlockBuilder::new().finish())?;
        let mut index = BlockBuilder::new();
        for (last_key, handle) in std::mem::take(&mut self.index) {
            index.add(&last_key, &handle);
        }
        let index = self.write_block(&index.finish())?;
        let mut footer = [metaindex, index].concat();
        footer.resize(FOOTER - TAG_LEN, 0);
        footer.extend_from_slice(&MAGIC.to_le_bytes());
        self.write(&footer)?;
        let failed = |error| cannot_write(&self.path, &error);
        let file = self.file.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        Ok(self.info)
    }
}

pub(super) fn cannot_write(path: &Path, error: &std::io::Error) -> Exit {
    Exit::failed(format!("cannot write {}: {error}", shown(path)))
}
