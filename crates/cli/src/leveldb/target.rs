//! Writes a new LevelDB database: sorted tables of one level, a manifest and `CURRENT`.
//!
//! Invariant: LevelDB finds nothing to recover and nothing to compact in the new database.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use foldb_leveldb_format::edit::{Edit, TableInfo};
use foldb_leveldb_format::encoding::TAG_LEN;
use foldb_leveldb_format::{BYTEWISE, LEVELS, records};

use super::table_writer::{SEQUENCE, TableWriter};
use crate::exit::{Exit, Outcome};
use crate::foreign::output::cannot_write;
use crate::form::escape::quoted;

/// Bytes that fill a table: LevelDB's default.
const TABLE_SIZE: u64 = 2 << 20;
/// The manifest has number 1, and the tables have the numbers after it.
const MANIFEST: u64 = 1;
/// The longest key and the longest value. LevelDB counts their bytes in 32 bits.
const MOST: usize = u32::MAX as usize - TAG_LEN;

/// A database being written.
#[derive(Debug)]
pub(crate) struct Target {
    directory: PathBuf,
    tables: Vec<TableInfo>,
    open: Option<TableWriter>,
    next: u64,
}

/// What was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// Tables, and their bytes.
    pub tables: u64,
    pub table_bytes: u64,
}

impl Target {
    /// Begins a database in an empty directory.
    pub(crate) fn new(directory: &Path) -> Target {
        let directory = directory.to_owned();
        Target { directory, tables: Vec::new(), open: None, next: MANIFEST + 1 }
    }

    /// Adds an entry. Its key is larger than the last one.
    ///
    /// # Errors
    /// Fails for a key or value that LevelDB cannot hold, and if a write fails.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Outcome {
        if key.len() > MOST || value.len() > MOST {
            return Err(Exit::failed(format!(
                "the entry of key {} is too long for LevelDB, which holds keys and values of less \
                 than 4 GiB",
                quoted(&key[..key.len().min(40)])
            )));
        }
        let table = match &mut self.open {
            Some(table) => table,
            None => {
                self.next += 1;
                self.open.insert(TableWriter::create(&self.directory, self.next - 1)?)
            }
        };
        table.add(key, value)?;
        if table.len() >= TABLE_SIZE { self.end_table() } else { Ok(()) }
    }

    fn end_table(&mut self) -> Outcome {
        if let Some(table) = self.open.take() {
            self.tables.push(table.finish()?);
        }
        Ok(())
    }

    /// Writes the manifest and `CURRENT`, durably.
    ///
    /// # Errors
    /// Fails if a write fails.
    pub(crate) fn finish(mut self) -> Outcome<Written> {
        self.end_table()?;
        let table_bytes = self.tables.iter().map(|table| table.size).sum();
        let tables = self.tables.len() as u64;
        let level = level_for(table_bytes);
        self.tables.iter_mut().for_each(|table| table.level = level);
        let edit = Edit {
            comparator: Some(BYTEWISE.as_bytes().to_vec()),
            log: Some(0),
            previous_log: Some(0),
            next_file: Some(self.next),
            last_sequence: Some(SEQUENCE),
            added: self.tables,
            ..Edit::default()
        };
        let mut manifest = Vec::new();
        records::append(&mut manifest, &edit.encode());
        let name = format!("MANIFEST-{MANIFEST:06}");
        write_file(&self.directory.join(&name), &manifest)?;
        write_file(&self.directory.join("CURRENT"), format!("{name}\n").as_bytes())?;
        Ok(Written { tables, table_bytes })
    }
}

/// Returns the first level that holds `bytes` without a need to compact. Level 1 is full at 10 MiB,
/// and each later level at ten times as much. The last level is never full.
fn level_for(bytes: u64) -> u32 {
    let mut full = 10 << 20;
    let mut level = 1;
    while level < LEVELS - 1 && bytes > full / 2 {
        full *= 10;
        level += 1;
    }
    level
}

fn write_file(path: &Path, bytes: &[u8]) -> Outcome {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| cannot_write(path, &error))
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;
    use crate::foreign::Stream;

    fn entries() -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut entries = vec![(Vec::new(), b"the empty key".to_vec())];
        for n in 0..60_000u32 {
            let value = (0..n % 100).map(|byte| (byte.wrapping_mul(n) >> 3) as u8).collect();
            entries.push((format!("key{n:08}").into_bytes(), value));
        }
        entries.push((
            b"large".to_vec(),
            (0..5_000_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect(),
        ));
        entries.push((vec![0xff; 5000], vec![1; 5000]));
        entries
    }

    #[test]
    fn a_database_is_read_as_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut target = Target::new(dir.path());
        entries().iter().for_each(|(key, value)| target.add(key, value).unwrap());
        let written = target.finish().unwrap();
        assert!(written.tables > 2, "{written:?}");
        let mut source = Source::open(dir.path()).unwrap();
        assert_eq!(source.facts().tables, written.tables);
        for (key, value) in entries() {
            assert!(source.advance().unwrap());
            assert!(source.key() == key && source.base().unwrap() == value, "{key:?}");
        }
        assert!(!source.advance().unwrap());
        source.check_unchanged().unwrap();
    }

    #[test]
    fn an_empty_database_has_no_table() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Target::new(dir.path()).finish().unwrap().tables, 0);
        let mut source = Source::open(dir.path()).unwrap();
        assert!(!source.advance().unwrap());
    }

    #[test]
    fn the_level_holds_the_bytes() {
        assert_eq!([0, 5 << 20, 6 << 20, 60 << 20, 1 << 50].map(level_for), [1, 1, 2, 3, 6]);
    }
}
