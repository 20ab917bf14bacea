//! The handle of a database that is only read.

use std::fmt;
use std::path::Path;

use crate::db::handle::database::Db;
use crate::db::handle::keyspace_reader::KeyspaceReader;
use crate::db::handle::snapshot::Snapshot;
use crate::db::lifecycle::open::Shown;
use crate::db::read::approximate::ApproximateCount;
use crate::db::read::explain::Explained;
use crate::db::read::tables::TableInfo;
use crate::error::Result;
use crate::events::FailedMerge;
use crate::fold::Operator;
use crate::key::AsKeyRange;
use crate::memory::MemoryUsage;
use crate::options::{ExplainedOption, Options};
use crate::stats::Stats;

/// A database that was opened for reading, at the moment of the open. It has no methods that
/// write. Cloning is cheap: all clones are handles of one open, which ends when the last handle,
/// reader and iterator is dropped.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("db");
/// use foldb::{Db, Options, ReadOnlyDb};
///
/// let db = Db::create(&path)?;
/// let users = db.create_keyspace("users", Default::default())?;
/// users.put("ada", "1815")?;
///
/// let shown = ReadOnlyDb::open(&path, Options::default())?;
/// users.put("ada", "changed")?;
/// assert_eq!(shown.keyspaces(), ["default", "users"]);
/// assert_eq!(shown.keyspace("users")?.get("ada")?.unwrap(), b"1815");
/// assert!(shown.is_empty()?, "the keyspace `default` holds nothing");
/// # Ok::<(), foldb::Error>(())
/// ```
///
/// A program that writes through it does not compile:
/// ```compile_fail,E0599
/// # use foldb::{Options, ReadOnlyDb};
/// ReadOnlyDb::open("db", Options::default()).unwrap().put("key", "value").unwrap();
/// ```
#[derive(Clone)]
pub struct ReadOnlyDb {
    /// Refuses to write.
    db: Db,
    default: KeyspaceReader,
    shown: Shown,
}

impl ReadOnlyDb {
    /// Opens a database for reading: see [`Db::open_read_only`].
    ///
    /// # Errors
    /// As [`Db::open_read_only`].
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<ReadOnlyDb> {
        Db::open_read_only(path, options)
    }

    pub(crate) fn of(db: Db, shown: Shown) -> ReadOnlyDb {
        let default = db.default_keyspace().reader();
        ReadOnlyDb { db, default, shown }
    }

    /// Returns the handle that refuses to write.
    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    /// Returns what the open found of the position of the last write.
    pub(crate) fn shown(&self) -> &Shown {
        &self.shown
    }

    /// Returns the keyspace that this handle's own methods read.
    pub fn default_keyspace(&self) -> &KeyspaceReader {
        &self.default
    }

    /// Returns a keyspace by its name.
    ///
    /// # Errors
    /// `KeyspaceMissing`, `Closed`.
    pub fn keyspace(&self, name: &str) -> Result<KeyspaceReader> {
        Ok(self.db.keyspace(name)?.reader())
    }

    /// Returns the names of all keyspaces, in order. `default` is always one of them.
    pub fn keyspaces(&self) -> Vec<String> {
        self.db.keyspaces()
    }

    /// Returns a snapshot, for code that reads through one. It shows what this handle shows: the
    /// moment of the open.
    pub fn snapshot(&self) -> Snapshot {
        self.db.snapshot()
    }

    /// Returns the keys whose operands cannot be folded: see [`Db::list_failed_merges`].
    ///
    /// # Errors
    /// As [`Db::list_failed_merges`].
    pub fn list_failed_merges(&self) -> Result<impl Iterator<Item = Result<FailedMerge>> + use<>> {
        self.db.list_failed_merges()
    }

    /// Reads every table of all keyspaces whole and checks it: see [`Db::verify`].
    ///
    /// # Errors
    /// As [`Db::verify`].
    pub fn verify(&self) -> Result<u64> {
        self.db.verify()
    }

    /// Returns statistics: see [`Db::stats`].
    pub fn stats(&self) -> Stats {
        self.db.stats()
    }

    /// Returns the memory use of the database's runtime: see [`Db::memory`].
    pub fn memory(&self) -> MemoryUsage {
        self.db.memory()
    }

    /// Returns the directory of the database, as [`crate::Db::path`] does.
    pub fn path(&self) -> &Path {
        self.db.path()
    }

    /// Returns the identity of the database, as [`crate::Db::id`] does.
    pub fn id(&self) -> u64 {
        self.db.id()
    }

    /// Calls [`KeyspaceReader::default_operator`] of the default keyspace.
    pub fn default_operator(&self) -> Option<Operator> {
        self.default.default_operator()
    }

    /// Calls [`KeyspaceReader::explain`] of the default keyspace.
    ///
    /// # Errors
    /// As [`KeyspaceReader::explain`].
    pub fn explain(&self, key: impl AsRef<[u8]>) -> Result<Explained> {
        self.default.explain(key)
    }

    /// Calls [`KeyspaceReader::explain_options`] of the default keyspace.
    pub fn explain_options(&self) -> Vec<ExplainedOption> {
        self.default.explain_options()
    }

    /// Calls [`KeyspaceReader::tables`] of the default keyspace.
    ///
    /// # Errors
    /// As [`KeyspaceReader::tables`].
    pub fn tables(&self) -> Result<Vec<TableInfo>> {
        self.default.tables()
    }

    /// Calls [`KeyspaceReader::approximate_size`] of the default keyspace.
    ///
    /// # Errors
    /// As [`KeyspaceReader::approximate_size`].
    pub fn approximate_size(&self, range: impl AsKeyRange) -> Result<u64> {
        self.default.approximate_size(range)
    }

    /// Calls [`KeyspaceReader::approximate_count`] of the default keyspace.
    ///
    /// # Errors
    /// As [`KeyspaceReader::approximate_count`].
    pub fn approximate_count(&self, range: impl AsKeyRange) -> Result<ApproximateCount> {
        self.default.approximate_count(range)
    }

    /// Closes the database: later calls through any of its handles fail with `Closed`. Existing
    /// iterators continue as after [`Db::close`]. Closing twice is no error.
    ///
    /// # Errors
    /// `Reentrant` on a thread inside a callback of the database, which stays open.
    pub fn close(&self) -> Result<()> {
        self.db.close()
    }
}

impl fmt::Debug for ReadOnlyDb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadOnlyDb({})", self.path().display())
    }
}

#[cfg(test)]
mod tests {
    use foldb_env::{Env, MemFs};

    use super::*;
    use crate::db::batch::WriteBatch;
    use crate::error::ErrorKind;
    use crate::options::{KeyspaceOptions, WriteOptions};

    /// The handle inside refuses every change, should a method ever pass one on.
    #[test]
    fn calls_that_would_write_fail() {
        let fs = MemFs::new();
        let options = || Options {
            create_if_missing: true,
            default: KeyspaceOptions::with_operator("uint64add"),
            env: Env::in_memory(fs.clone()),
            ..Options::default()
        };
        let db = Db::open("db", options()).unwrap();
        let words = db.create_keyspace("words", KeyspaceOptions::default()).unwrap();
        db.put("key", "value").unwrap();
        words.put("key", "value").unwrap();
        drop((db, words));
        let shown = ReadOnlyDb::open("db", options()).unwrap();
        let (inner, words) = (&shown.db, shown.keyspace("words").unwrap().keyspace);
        let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
        let mut batch = WriteBatch::new();
        batch.put("key", "other");
        let refusals = [
            inner.put("key", "other"),
            inner.delete("key"),
            inner.delete_range("a".."z"),
            inner.finalize().map(drop),
            inner.merge("count", 1u64.to_le_bytes()),
            inner.merge_with(&inner.operator("max").unwrap(), "key", "z"),
            inner.with(&unlogged).put("key", "other"),
            inner.write(&batch),
            inner.write(&WriteBatch::new()),
            words.put("key", "other"),
            words.compact(..),
            inner.flush(),
            inner.compact(..),
            inner.sync(),
            inner.drop_keyspace("words"),
            inner.create_keyspace("more", KeyspaceOptions::default()).map(drop),
            inner.operator("stringappend:|").map(drop),
        ];
        for refusal in refusals {
            let error = refusal.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ReadOnly);
            assert!(error.to_string().contains("Db::open to write"), "{error}");
        }
        inner.wait_for_background().unwrap();
        assert!(!inner.step_background().unwrap());
        assert_eq!(shown.get("key").unwrap().unwrap(), b"value");
        assert_eq!(shown.keyspaces(), ["default", "words"]);
    }
}
