//! The formats of RocksDB's files: bytes in, records, edits and entries out.
//!
//! The crate opens no file. `foldb import --from rocksdb` reads whole databases with it. RocksDB
//! began as LevelDB: varints, the framing of records and the entries of blocks are those of
//! `foldb_leveldb_format`.
//!
//! - [`wal`]: the records of a log; [`batch`]: the writes of one;
//! - [`edit`] and [`manifest`]: which files a database consists of;
//! - [`options`]: the text of an `OPTIONS` file;
//! - [`footer`], [`block`], [`index`], [`properties`], [`checksum`] and [`compression`]: the parts
//!   of a table; [`table`] reads one, and [`builder`] writes one;
//! - [`blob`]: values outside of tables; [`entity`]: values of several columns;
//! - [`kind`]: kinds of records, and internal keys;
//! - [`ldb`]: the text that RocksDB's tool `ldb` prints;
//! - [`decoders`]: what fuzz targets call.
//!
//! Invariant: no bytes make a reader panic or loop, and no length in them is allocated before it
//! is compared with the bytes that are there.

#![forbid(unsafe_code)]

use std::fmt;

pub mod batch;
pub mod blob;
pub mod block;
pub mod builder;
pub mod checksum;
pub mod compression;
pub mod decoders;
pub mod edit;
pub mod entity;
pub mod footer;
pub mod index;
pub mod kind;
pub mod ldb;
pub mod manifest;
pub mod names;
pub mod options;
pub mod properties;
pub mod table;
pub mod wal;

/// Why bytes cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// They are not as RocksDB writes them.
    Damaged(String),
    /// They are whole, and this crate does not read what they hold. The text says what.
    Unsupported(String),
}

impl Fault {
    /// Returns the fault of damaged bytes.
    pub fn damaged(what: impl Into<String>) -> Fault {
        Fault::Damaged(what.into())
    }

    /// Returns the fault of bytes that ask for more than this crate can.
    pub fn unsupported(what: impl Into<String>) -> Fault {
        Fault::Unsupported(what.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Damaged(what) | Fault::Unsupported(what) => f.write_str(what),
        }
    }
}

/// The result of reading bytes.
pub type Read<T> = Result<T, Fault>;
