//! Reads RocksDB databases. The formats of the files are in `foldb_rocksdb_format`.
//!
//! Everything that an import reads is checked, as `crate::leveldb` does: the checksum of every
//! block and record, the order of all keys, the bounds of each table, and that every file exists.
//! The reader opens the files for reading only, and neither recovers nor compacts.
//!
//! - [`source`]: a database, and its column families;
//! - [`files`]: its manifest and its options; [`families`]: what each family asks for;
//! - [`logs`]: writes that are in no table yet;
//! - [`table`]: the sorted files; [`blobs`]: values outside of them;
//! - [`stream`]: the records of a family as one sorted stream of visible entries;
//! - [`tombstones`]: which records tombstones of ranges cover;
//! - [`order`]: the order of its keys; [`operators`]: which of foldb's operators gives the answers
//!   of one of RocksDB's;
//! - [`losses`]: damage, which is an error or is left out;
//! - [`dump`]: the text of RocksDB's tool `ldb`;
//! - [`target`]: new tables, which RocksDB ingests.

mod blobs;
mod brought;
mod dump;
mod families;
mod files;
mod logs;
mod losses;
mod operators;
mod order;
mod source;
mod stream;
mod table;
mod target;
mod tombstones;

pub(crate) use brought::Kept;
pub(crate) use dump::Dump;
pub(crate) use families::{Choices, Family};
pub(crate) use order::Order;
pub(crate) use source::{Database, Facts};
pub(crate) use target::Tables;

#[cfg(test)]
mod tests;
