//! Writes tables that RocksDB ingests.

use std::path::{Path, PathBuf};

use foldb_leveldb_format::encoding::{TAG_LEN, tag};
use foldb_rocksdb_format::builder::TableBuilder;
use foldb_rocksdb_format::edit;
use foldb_rocksdb_format::kind::VALUE;

use super::losses::Losses;
use super::order::Order;
use super::stream::{Entries, Place, Run};
use super::tombstones::Tombstones;
use crate::exit::{Exit, Outcome};
use crate::foreign::output::{OutputFile, cannot_write};
use crate::form::escape::quoted;
use crate::location::shown;

/// Bytes that fill a table: RocksDB's default.
const TABLE_SIZE: u64 = 64 << 20;
/// The longest key and the longest value. RocksDB counts their bytes in 32 bits.
const MOST: usize = u32::MAX as usize - TAG_LEN;

/// The tables of a keyspace, being written.
#[derive(Debug)]
pub(crate) struct Tables {
    directory: PathBuf,
    done: Vec<edit::Table>,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    table: TableBuilder<OutputFile>,
    info: edit::Table,
}

impl Tables {
    /// Begins, in a new directory.
    ///
    /// # Errors
    /// Fails if the directory cannot be created.
    pub(crate) fn create(directory: &Path) -> Outcome<Tables> {
        std::fs::create_dir_all(directory).map_err(|error| {
            Exit::failed(format!("cannot create {}: {error}", shown(directory)))
        })?;
        Ok(Tables { directory: directory.to_owned(), done: Vec::new(), open: None })
    }

    /// Adds an entry. Its key is larger than the last one.
    ///
    /// # Errors
    /// Fails for a key or value that RocksDB cannot hold, and if a write fails.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Outcome {
        if key.len() > MOST || value.len() > MOST {
            return Err(Exit::failed(format!(
                "the entry of key {} is too long for RocksDB, which holds keys and values of less \
                 than 4 GiB",
                quoted(&key[..key.len().min(40)])
            )));
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let number = self.done.len() as u64 + 1;
                self.open.insert(Open::create(&self.directory, number)?)
            }
        };
        open.add(key, value)?;
        if open.table.len() >= TABLE_SIZE { self.end_table() } else { Ok(()) }
    }

    fn end_table(&mut self) -> Outcome {
        if let Some(open) = self.open.take() {
            self.done.push(open.finish()?);
        }
        Ok(())
    }

    /// Ends the last table, durably. Returns the names of the files, and their entries as they are
    /// read again.
    ///
    /// # Errors
    /// Fails if a write or a read fails.
    pub(crate) fn finish(mut self) -> Outcome<(Vec<String>, Entries)> {
        self.end_table()?;
        let names = self.done.iter().map(|table| name_of(table.number)).collect();
        let (order, losses) = (Order::Bytewise, Losses::new(false));
        let place = Place { directory: self.directory, order, losses };
        let mut run = Run::Tables(self.done.into(), None);
        run.advance(&place)?;
        let tombstones = Tombstones::new(Vec::new(), order);
        Ok((names, Entries::new(place, vec![run], tombstones, false, false)))
    }
}

fn name_of(number: u64) -> String {
    format!("{number:06}.sst")
}

impl Open {
    fn create(directory: &Path, number: u64) -> Outcome<Open> {
        let path = directory.join(name_of(number));
        let table = TableBuilder::new(OutputFile::create(&path)?);
        let (smallest, largest) = (Vec::new(), Vec::new());
        let info = edit::Table {
            level: 1,
            number,
            size: 0,
            path: 0,
            smallest,
            largest,
            largest_sequence: Some(0),
        };
        Ok(Open { path, table, info })
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> Outcome {
        let internal = [key, &tag(0, VALUE).to_le_bytes()].concat();
        if self.info.smallest.is_empty() {
            self.info.smallest.clone_from(&internal);
        }
        self.info.largest = internal;
        self.table.add(key, value).map_err(|error| cannot_write(&self.path, &error))
    }

    fn finish(mut self) -> Outcome<edit::Table> {
        self.table.finish().map_err(|error| cannot_write(&self.path, &error))?;
        self.info.size = self.table.written();
        self.table.into_file().finish(&self.path)?;
        Ok(self.info)
    }
}
