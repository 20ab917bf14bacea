//! Reads and writes the files of a LevelDB database.
//!
//! Everything that `import` reads is checked: the checksum of every block and record, the order of
//! all keys, the bounds of each table, and that every file exists. Any damage is an error that
//! names the file, because a reader that skips a damaged block loses its entries silently.
//! The reader opens the files for reading only, and neither recovers nor compacts.
//!
//! - [`source`]: a database as one sorted stream of entries;
//! - [`manifest`]: which tables and logs a database consists of;
//! - [`log`]: writes that are not in a table yet;
//! - [`framing`]: the records of manifests and logs;
//! - [`table`] and [`block`]: the sorted files;
//! - [`target`] and [`table_writer`]: a new database;
//! - [`lock`]: keeps LevelDB from opening the database meanwhile;
//! - [`encoding`]: varints, checksums and internal keys;
//! - [`decoders`]: what fuzz targets call.

mod block;
pub mod decoders;
mod encoding;
mod framing;
mod lock;
mod log;
mod manifest;
mod source;
mod table;
mod table_writer;
mod target;

pub(crate) use source::{Facts, Source};
pub(crate) use target::{Target, Written};

/// The name of the order that compares keys by their bytes.
pub(crate) const BYTEWISE: &str = "leveldb.BytewiseComparator";

/// The number of levels.
const LEVELS: u32 = 7;

#[cfg(test)]
mod tests;
