//! The interface of engines to workloads.
//!
//! Each workload is written once, against the trait [`Engine`]. Workloads are generic, so the
//! compiler makes a copy for each engine, and calls need no dynamic dispatch.

#[cfg(feature = "fjall")]
mod fjall;
mod foldb;
#[cfg(feature = "leveldb")]
mod leveldb;
mod name;
mod nothing;
mod operator;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod settings;

use std::path::Path;

use foldb_report::results::BackgroundEvent;

use crate::failure::Result;

#[cfg(feature = "fjall")]
pub use self::fjall::{Fjall, keyspace_options as fjall_keyspace_options};
pub use self::foldb::{Foldb, options as foldb_options};
#[cfg(feature = "leveldb")]
pub use self::leveldb::LevelDb;
pub use self::name::Name;
pub use self::nothing::Nothing;
pub use self::operator::Operator;
#[cfg(feature = "rocksdb")]
pub use self::rocksdb::{Leveled, RocksDb, Universal, leveled_options as rocksdb_options};
pub use self::settings::{Nominal, Preset, Shape};

/// Which entries a scan shows, and in which order.
#[derive(Clone, Copy, Debug)]
pub enum Scan<'a> {
    /// All, in key order.
    Forward,
    /// All, in reverse key order.
    Reverse,
    /// Entries from a key on, in key order.
    From(&'a [u8]),
}

/// Figures that an engine reports; `None` if it does not know a figure.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Bytes that background work must still write: memtables, and pending compactions.
    pub owed: Option<u64>,
    /// Sorted runs that a read of a key may look into.
    pub runs_per_read: Option<u32>,
    /// Bytes written since the open, by the engine's own statistics.
    pub own: Option<u64>,
    /// Part of `own`: bytes stored into mapped files, without a write call.
    pub mapped: u64,
}

/// A database that workloads drive.
pub trait Engine: Sized + Sync {
    /// Opens the database in `directory`, and creates the directory if it is missing.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn open(nominal: &Nominal, directory: &Path) -> Result<Self>;

    /// Returns the settings that differ from the engine's defaults, as text.
    fn settings(nominal: &Nominal) -> String;

    /// Writes `value` under `key`.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Merges `operand` into the value of `key`; an engine without merge reads, computes and
    /// writes.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()>;

    /// Shows the value of `key` to `read`, if it has one.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn get<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>>;

    /// Passes entries to `visit` until it returns `false`.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn scan(&self, scan: Scan<'_>, visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()>;

    /// Waits until compaction has nothing left to do. With `flush`, first flushes the memtables to
    /// tables.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn rest(&self, flush: bool) -> Result<()>;

    /// Returns the current figures of the engine.
    fn state(&self) -> State;

    /// Returns all flushes and compactions so far, in seconds since the open.
    fn events(&self) -> Vec<BackgroundEvent>;

    /// Closes the database.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn close(self) -> Result<()>;
}

/// Keeps the compiler from removing a read, without touching the bytes. RocksDB's `db_bench` counts
/// lengths for the same purpose.
#[inline]
pub fn used(bytes: &[u8]) {
    std::hint::black_box(bytes);
}
