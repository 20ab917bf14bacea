//! General stores: the interface of the rows about transactions, loads, and reads in memory.
//!
//! [`crate::engine::Engine`] drives single writes and reads. The rows of a general store need
//! transactions, so they have this trait. Each engine implements it with its own kind of
//! transaction, and with its own way to load sorted entries.
//!
//! A store has two kinds of entries: counters, and wide entries that are read and inserted in key
//! order. A job uses one of them.

mod bare;
#[cfg(feature = "fjall")]
mod fjall;
mod foldb;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;

use std::path::Path;

use crate::data::{KEY_SIZE, WIDE_KEY_SIZE};
use crate::engine::Nominal;
use crate::failure::Result;

pub use self::bare::Bare;
#[cfg(feature = "fjall")]
pub use self::fjall::{FjallOptimistic, FjallSingleWriter};
pub use self::foldb::Foldb;
#[cfg(feature = "lmdb")]
pub use self::lmdb::Lmdb;
#[cfg(feature = "redb")]
pub use self::redb::Redb;
#[cfg(feature = "rocksdb")]
pub use self::rocksdb::RocksDb;

/// A key of these rows.
pub type Key = [u8; KEY_SIZE];
/// The key of a wide entry.
pub type WideKey = [u8; WIDE_KEY_SIZE];
/// The value of a wide entry.
pub type WideValue = [u8; 150];

/// Most entries of a commit whose writes are held in memory.
pub const MOST_IN_A_COMMIT: usize = 10_000;

/// The settings of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Buffers, cache and blocks.
    pub nominal: Nominal,
    /// Whether a commit returns only after it is on the device.
    pub synced: bool,
}

impl Setup {
    /// Returns the durability of commits in a word.
    pub fn durability(&self) -> &'static str {
        if self.synced { "synced" } else { "unsynced" }
    }
}

/// One state of a store, in which wide entries are read.
pub trait Reads {
    /// Shows the value of `key` to `read`, if it has one.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn get<R>(&self, key: &WideKey, read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>>;

    /// Shows the values of the first `most` entries at or above `from`, in key order.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn range(&mut self, from: &WideKey, most: usize, visit: impl FnMut(&[u8])) -> Result<()>;
}

/// A store with transactions. Counters have 8 bytes, little-endian.
pub trait Store: Sized + Sync {
    /// One state of the store.
    type Reads<'a>: Reads
    where
        Self: 'a;

    /// Whether the store keeps its entries readable, so that they can be checked.
    const READS: bool = true;

    /// Opens the store in an existing directory, and creates it if there is none.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn open(setup: &Setup, directory: &Path) -> Result<Self>;

    /// Returns the settings as text.
    fn settings(setup: &Setup) -> String;

    /// Adds 1 to a counter by one get and one put in a transaction. Runs the transaction again
    /// after each conflict. Returns the number of attempts.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn add(&self, key: &Key) -> Result<u64>;

    /// Adds 1 to a counter by a merge in a transaction; an engine without merge calls
    /// [`Store::add`]. Returns the number of attempts.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn merge(&self, key: &Key) -> Result<u64>;

    /// Loads entries in ascending order of keys, in the engine's fastest way. At the return they
    /// are on the device.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn load(&self, entries: impl Iterator<Item = (Key, u64)>) -> Result<()>;

    /// Inserts wide entries that come in ascending order of keys, and does not sync them. A store
    /// whose writes are single calls or batches writes `batch` entries at a time. LMDB and redb
    /// write all of them in one transaction.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn append<'a>(
        &self,
        batch: usize,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()>;

    /// Writes wide entries in any order as one commit, which is on the device at the return if
    /// `synced`. A store whose transactions or batches are held in memory writes
    /// [`MOST_IN_A_COMMIT`] at a time, and only its last commit is synced.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn commit<'a>(
        &self,
        synced: bool,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()>;

    /// Loads wide entries that come in ascending order behind all others, in the engine's fastest
    /// way. At the return they are on the device.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn load_wide<'a>(&self, entries: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()>;

    /// Removes wide entries as [`Store::commit`] writes them, synced.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn remove(&self, keys: impl Iterator<Item = WideKey>) -> Result<()>;

    /// Returns the number of wide entries, exactly.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn count(&self) -> Result<u64>;

    /// Writes everything to files, compacts it, and waits until background work rests.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn rest(&self) -> Result<()>;

    /// Returns the present state of the store for reads.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn reads(&self) -> Result<Self::Reads<'_>>;

    /// Shows all entries in key order.
    ///
    /// # Errors
    /// Fails if a call of the engine fails.
    fn each(&self, visit: impl FnMut(&[u8], &[u8])) -> Result<()>;
}

/// Returns the counter after 1 is added to `value`. An absent counter is 0.
fn one_more(value: Option<&[u8]>) -> [u8; 8] {
    let counter = value.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    (counter + 1).to_le_bytes()
}

/// Evaluates an expression with the store type of an engine, or returns a failure.
macro_rules! on_store {
    ($engine:expr, $store:ident => $work:expr) => {{
        use $crate::engine::Name;
        match $engine {
            Name::Foldb => {
                type $store = $crate::store::Foldb;
                $work
            }
            Name::Bare => {
                type $store = $crate::store::Bare;
                $work
            }
            #[cfg(feature = "rocksdb")]
            Name::RocksDb => {
                type $store = $crate::store::RocksDb;
                $work
            }
            #[cfg(feature = "fjall")]
            Name::FjallSingleWriter => {
                type $store = $crate::store::FjallSingleWriter;
                $work
            }
            #[cfg(feature = "fjall")]
            Name::FjallOptimistic => {
                type $store = $crate::store::FjallOptimistic;
                $work
            }
            #[cfg(feature = "redb")]
            Name::Redb => {
                type $store = $crate::store::Redb;
                $work
            }
            #[cfg(feature = "lmdb")]
            Name::Lmdb => {
                type $store = $crate::store::Lmdb;
                $work
            }
            other => {
                let why = other.absent().unwrap_or_else(|| "is no general store".to_owned());
                let name = other.as_str();
                Err($crate::failure::Failure::new(format!("{name}: {why}")))
            }
        }
    }};
}
pub(crate) use on_store;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_counter_starts_at_one() {
        assert_eq!(one_more(None), 1_u64.to_le_bytes());
        assert_eq!(one_more(Some(&255_u64.to_le_bytes())), 256_u64.to_le_bytes());
    }
}
