//! The formats of LevelDB's files: bytes in, records, edits and entries out, and back.
//!
//! The crate opens no file. `foldb import` and `foldb export` read and write whole databases with
//! it, and foldb's `libleveldb` puts LevelDB's classes around it.
//!
//! - [`records`]: the framing of logs and manifests, read strictly or past damage;
//! - [`batch`]: a record of a log; [`edit`] and [`manifest`]: the records of a manifest;
//! - [`table`]: the parts of a sorted file; [`block`] and [`filter`]: its blocks;
//! - [`cursor`] reads a table, [`builder`] writes one;
//! - [`dump`]: the text of a file;
//! - [`encoding`]: varints, checksums and internal keys;
//! - [`decoders`]: what fuzz targets call.
//!
//! Invariant: no bytes make a reader panic or loop, and no length in them is allocated before it
//! is compared with the bytes that are there.

#![forbid(unsafe_code)]

use std::cmp::Ordering;

pub mod batch;
pub mod block;
pub mod builder;
pub mod cursor;
pub mod decoders;
pub mod dump;
pub mod edit;
pub mod encoding;
pub mod filter;
pub mod manifest;
pub mod records;
pub mod table;

/// The name of the order that compares keys by their bytes.
pub const BYTEWISE: &str = "leveldb.BytewiseComparator";

/// The number of levels.
pub const LEVELS: u32 = 7;

/// The order of the keys of a table, and how its index shortens keys.
pub trait Order {
    /// Compares two keys.
    fn compare(&self, one: &[u8], other: &[u8]) -> Ordering;

    /// May make `start` shorter. It stays before `limit` and not before what it was.
    fn separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        let _ = (start, limit);
    }

    /// May make `key` shorter. It stays not before what it was.
    fn successor(&self, key: &mut Vec<u8>) {
        let _ = key;
    }
}

/// The order of the bytes of the keys. It shortens no keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bytewise;

impl Order for Bytewise {
    fn compare(&self, one: &[u8], other: &[u8]) -> Ordering {
        one.cmp(other)
    }
}
