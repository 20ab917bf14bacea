//! Writes of a keyspace, with options and without.
//!
//! The bodies are those of [`With`]. The writes of [`Db`] and [`Keyspace`] are the same calls with
//! the default options. None of them reads; `db::transaction::conditional` has those that do.

use crate::db::batch::WriteBatch;
use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::with::{With, WritesKeyspace};
use crate::error::Result;
use crate::fold::Operator;
use crate::key::{AsKeyRange, Kind, NO_OPERATOR};
use crate::options::WriteOptions;

impl<H: WritesKeyspace> With<'_, H, WriteOptions> {
    /// Sets a key. [`WriteOptions`] says what a returned write guarantees.
    ///
    /// # Errors
    /// `NoSpace`, `Poisoned` after a failed sync, `Io`, `Closed`; `Busy` after the deadline. After
    /// an error the write did not happen, unless only its sync failed.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let (keyspace, put) = (self.handle.target(), (Kind::Put, NO_OPERATOR));
        let (key, value) = (key.as_ref(), value.as_ref());
        keyspace.core().write_one(keyspace.state(), put, key, value, self.options)
    }

    /// Deletes a key. A missing key is no error.
    ///
    /// # Errors
    /// As [`With::put`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        let (keyspace, delete) = (self.handle.target(), (Kind::Delete, NO_OPERATOR));
        keyspace.core().write_one(keyspace.state(), delete, key.as_ref(), &[], self.options)
    }

    /// Deletes all keys of a range in one write, however many there are. Each key's history ends
    /// exactly as after a [`With::delete`] of the key: later puts and merges start on nothing.
    /// Earlier snapshots still see the old values. An empty range such as `"b".."b"` deletes
    /// nothing.
    ///
    /// A range delete costs as much as one small write. Compactions reclaim the space;
    /// [`Db::compact`] of the range does so at once.
    ///
    /// # Errors
    /// As [`With::put`], and `InvalidArgument` for a range that ends before it starts.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     default: foldb::KeyspaceOptions::with_operator("uint64add"),
    /// #     ..Default::default()
    /// # };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// for user in ["ann", "bob", "cid"] {
    ///     db.merge(user, 5u64.to_le_bytes())?;
    /// }
    /// let before = db.snapshot();
    /// db.delete_range("b"..)?;
    /// db.merge("bob", 1u64.to_le_bytes())?;
    /// assert_eq!(db.get("ann")?.unwrap(), 5u64.to_le_bytes());
    /// assert_eq!(db.get("bob")?.unwrap(), 1u64.to_le_bytes());
    /// assert_eq!(db.get("cid")?, None);
    /// assert_eq!(before.get("cid")?.unwrap(), 5u64.to_le_bytes());
    /// db.delete_range(..)?;
    /// assert_eq!(db.iter()?.count(), 0);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn delete_range(&self, range: impl AsKeyRange) -> Result<()> {
        let keyspace = self.handle.target();
        keyspace.core().delete_range(keyspace.state(), range.key_bounds(), self.options)
    }

    /// Deletes all keys of the keyspace as one range delete. The call takes as long as one write;
    /// compactions reclaim the space.
    ///
    /// # Errors
    /// As [`With::put`].
    pub fn clear(&self) -> Result<()> {
        self.delete_range(..)
    }

    /// Merges an operand into a key with the default operator: a blind write that never reads the
    /// key.
    ///
    /// # Errors
    /// As [`With::put`], and `InvalidArgument` for a malformed operand or without a default
    /// operator.
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        let (keyspace, key, operand) = (self.handle.target(), key.as_ref(), operand.as_ref());
        keyspace.core().merge(keyspace.state(), None, key, operand, self.options)
    }

    /// Merges an operand into a key with an operator from [`Keyspace::operator`]. One key may hold
    /// operands of several operators; they apply in the order in which they were written.
    ///
    /// # Errors
    /// As [`With::merge`].
    pub fn merge_with(
        &self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        let (keyspace, key, operand) = (self.handle.target(), key.as_ref(), operand.as_ref());
        keyspace.core().merge(keyspace.state(), Some(operator), key, operand, self.options)
    }
}

impl With<'_, Db, WriteOptions> {
    /// Applies a batch to all keyspaces that it names. Readers see all of the batch or nothing,
    /// also after a crash.
    ///
    /// # Errors
    /// As [`With::merge`].
    pub fn write(&self, batch: &WriteBatch) -> Result<()> {
        self.handle.core().write(batch, self.options)
    }
}

impl Db {
    /// Applies a batch to all keyspaces that it names: see [`With::write`].
    ///
    /// # Errors
    /// As [`With::merge`].
    pub fn write(&self, batch: &WriteBatch) -> Result<()> {
        self.with(&WriteOptions::DEFAULT).write(batch)
    }
}

/// Gives handles the writes of [`With`], with the default options.
macro_rules! plain_writes {
    ($($handle:ty),*) => {$(
        impl $handle {
            /// Sets a key. [`WriteOptions`] says what a returned write guarantees.
            ///
            /// # Errors
            /// As [`With::put`].
            pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
                self.with(&WriteOptions::DEFAULT).put(key, value)
            }

            /// Deletes a key. A missing key is no error.
            ///
            /// # Errors
            /// As [`With::put`].
            pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
                self.with(&WriteOptions::DEFAULT).delete(key)
            }

            /// Deletes all keys of a range in one write, however many there are: see
            /// [`With::delete_range`].
            ///
            /// # Errors
            /// As [`With::delete_range`].
            pub fn delete_range(&self, range: impl AsKeyRange) -> Result<()> {
                self.with(&WriteOptions::DEFAULT).delete_range(range)
            }

            /// Deletes all keys of the keyspace as one range delete.
            ///
            /// # Errors
            /// As [`With::put`].
            pub fn clear(&self) -> Result<()> {
                self.with(&WriteOptions::DEFAULT).clear()
            }

            /// Merges an operand into a key with the default operator: a blind write that never
            /// reads the key.
            ///
            /// # Errors
            /// As [`With::merge`].
            pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
                self.with(&WriteOptions::DEFAULT).merge(key, operand)
            }

            /// Merges an operand into a key with an operator: see [`With::merge_with`].
            ///
            /// # Errors
            /// As [`With::merge`].
            pub fn merge_with(
                &self,
                operator: &Operator,
                key: impl AsRef<[u8]>,
                operand: impl AsRef<[u8]>,
            ) -> Result<()> {
                self.with(&WriteOptions::DEFAULT).merge_with(operator, key, operand)
            }
        }
    )*};
}

plain_writes!(Db, Keyspace);
