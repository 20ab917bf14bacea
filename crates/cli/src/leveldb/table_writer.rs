//! Writes a table of a new database.

use std::path::{Path, PathBuf};

use foldb_leveldb_format::builder::{NoPolicy, Settings, TableBuilder};
use foldb_leveldb_format::edit::TableInfo;
use foldb_leveldb_format::encoding::{Internal, VALUE, tag};

use crate::exit::Outcome;
use crate::foreign::output::{OutputFile, cannot_write};

/// The sequence number of every entry. A new database has no older writes.
pub(super) const SEQUENCE: u64 = 1;

/// A table being written.
#[derive(Debug)]
pub(super) struct TableWriter {
    path: PathBuf,
    table: TableBuilder<OutputFile, Internal, NoPolicy>,
    info: TableInfo,
}

impl TableWriter {
    pub(super) fn create(directory: &Path, number: u64) -> Outcome<TableWriter> {
        let path = directory.join(format!("{number:06}.ldb"));
        let file = OutputFile::create(&path)?;
        let (smallest, largest) = (Vec::new(), Vec::new());
        Ok(TableWriter {
            path,
            table: TableBuilder::new(file, Internal, None, Settings::default()),
            info: TableInfo { level: 0, number, size: 0, smallest, largest },
        })
    }

    /// Returns how long the table is already.
    pub(super) fn len(&self) -> u64 {
        self.table.len()
    }

    /// Adds an entry. Its key is larger than the last one.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> Outcome {
        let internal = [key, &tag(SEQUENCE, VALUE).to_le_bytes()].concat();
        let added = self.table.add(&internal, value);
        if self.info.smallest.is_empty() {
            self.info.smallest.clone_from(&internal);
        }
        self.info.largest = internal;
        added.map_err(|error| cannot_write(&self.path, &error))
    }

    /// Writes the index and the footer, durably.
    pub(super) fn finish(mut self) -> Outcome<TableInfo> {
        let failed = |error| cannot_write(&self.path, &error);
        self.table.finish().map_err(failed)?;
        self.info.size = self.table.written();
        self.table.into_file().finish(&self.path)?;
        Ok(self.info)
    }
}
