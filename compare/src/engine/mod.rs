//! What every engine can do, under the names a workload knows.
//!
//! Workloads are written once, against [`Engine`]. It is a trait of generics and not of objects, so
//! the compiler makes each workload for each engine, and no engine pays for the common interface.

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
pub use self::fjall::Fjall;
pub use self::foldb::Foldb;
#[cfg(feature = "leveldb")]
pub use self::leveldb::LevelDb;
pub use self::name::Name;
pub use self::nothing::Nothing;
pub use self::operator::Operator;
#[cfg(feature = "rocksdb")]
pub use self::rocksdb::{Leveled, RocksDb, Universal};
pub use self::settings::{Nominal, Preset, Shape};

/// Which entries a scan shows, and in which order.
#[derive(Clone, Copy, Debug)]
pub enum Scan<'a> {
    /// All, in key order.
    Forward,
    /// All, in reverse key order.
    Reverse,
    /// Those at and behind a key, in key order.
    From(&'a [u8]),
}

/// What an engine says of itself; what it cannot tell is `None`.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Bytes that background work has still to write: memtables, and what compaction is behind.
    pub owed: Option<u64>,
    /// Sorted runs that a read of a key may look into.
    pub runs_per_read: Option<u32>,
    /// Bytes written since it was opened, by its own statistics.
    pub own: Option<u64>,
    /// Of them, bytes stored into mapped files, which no write call saw.
    pub mapped: u64,
}

/// A database that workloads drive.
pub trait Engine: Sized + Sync {
    /// Opens the database in `directory`, which is created if it is not there.
    ///
    /// # Errors
    /// Of the engine.
    fn open(nominal: &Nominal, directory: &Path) -> Result<Self>;

    /// Its settings as far as they differ from its own defaults, as text.
    fn settings(nominal: &Nominal) -> String;

    /// Writes `value` under `key`.
    ///
    /// # Errors
    /// Of the engine.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Merges `operand` into the value of `key`; an engine without merge reads, computes and
    /// writes.
    ///
    /// # Errors
    /// Of the engine.
    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()>;

    /// Shows the value of `key` to `read`, if it has one.
    ///
    /// # Errors
    /// Of the engine.
    fn get<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>>;

    /// Shows entries to `visit` for as long as it answers true.
    ///
    /// # Errors
    /// Of the engine.
    fn scan(&self, scan: Scan<'_>, visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()>;

    /// Waits until compaction has nothing left to do; with `flush`, after writing what is in memory
    /// to tables.
    ///
    /// # Errors
    /// Of the engine.
    fn rest(&self, flush: bool) -> Result<()>;

    /// What it says of itself now.
    fn state(&self) -> State;

    /// Flushes and compactions so far, seconds counted from when it was opened.
    fn events(&self) -> Vec<BackgroundEvent>;

    /// Closes the database.
    ///
    /// # Errors
    /// Of the engine.
    fn close(self) -> Result<()>;
}

/// Keeps what a reader was shown from being optimised away, without touching its bytes: as
/// RocksDB's `db_bench`, which counts lengths.
#[inline]
pub fn used(bytes: &[u8]) {
    std::hint::black_box(bytes);
}
