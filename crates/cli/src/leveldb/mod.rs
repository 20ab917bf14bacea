//! Reads and writes LevelDB databases. The formats of the files are in `foldb_leveldb_format`.
//!
//! Everything that `import` reads is checked: the checksum of every block and record, the order of
//! all keys, the bounds of each table, and that every file exists. Any damage is an error that
//! names the file, because a reader that skips a damaged block loses its entries silently.
//! The reader opens the files for reading only, and neither recovers nor compacts.
//!
//! - [`source`]: a database as one sorted stream of entries;
//! - [`manifest`]: which tables and logs a database consists of;
//! - [`log`]: writes that are not in a table yet;
//! - [`table`]: the sorted files;
//! - [`target`] and [`table_writer`]: a new database.

use std::path::Path;

use crate::exit::Exit;
use crate::location::shown;

mod log;
mod manifest;
mod source;
mod table;
mod table_writer;
mod target;

pub(crate) use source::{Facts, Source};
pub(crate) use target::{Target, Written};

/// Returns the error of damage at an offset of a file.
fn damaged(path: &Path, offset: u64, what: &str) -> Exit {
    Exit::failed(format!(
        "corruption: {what} ({}, offset {offset}): nothing was imported; restore the file from a \
         copy, or repair the database with LevelDB, which gives up what it cannot read",
        shown(path)
    ))
}

#[cfg(test)]
mod tests;
