//! Keyspaces: several ordered maps in one database, each with an order, an operator and a tree of
//! its own. They share the log, the write buffer, the block cache, the workers and the order of
//! writes.

use std::fmt;
use std::sync::Arc;

use crate::db::core::Core;
use crate::db::handle::read_options::ReadOptions;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::{Error, Result};
use crate::fold::Operator;
use crate::iterator::Bounds;
use crate::iterator::Iter;
use crate::key::{AsKeyRange, Comparator, Kind, NO_OPERATOR};
use crate::options::{ExplainedOption, KeyspaceOptions, WriteOptions};
use crate::value::Value;

/// Closes the database when the last handle goes. Workers hold the core, not this.
pub(crate) struct Handle {
    pub(crate) core: Arc<Core>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.core.close_at_last();
    }
}

/// A keyspace of an open database: a handle with the data methods of [`crate::Db`], whose own are
/// those of the keyspace `default`. Cheap to clone; keeps the database open.
///
/// All keyspaces share one log and one order of writes: a [`crate::WriteBatch`] over several
/// happens whole or not at all, and a [`crate::Snapshot`] holds the same moment of all.
///
/// After [`crate::Db::drop_keyspace`] every call through an old handle answers `KeyspaceDropped`;
/// iterators that exist go on.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("db");
/// use foldb::{Db, KeyspaceOptions, Options, WriteBatch};
///
/// let db = Db::open(&path, Options { create_if_missing: true, ..Options::default() })?;
/// let views = db.create_keyspace(
///     "views",
///     KeyspaceOptions { merge_operator: Some("uint64add".into()), ..Default::default() },
/// )?;
///
/// let mut batch = WriteBatch::new();
/// batch.put("page", "hello").merge_in(&views, "page", 1u64.to_le_bytes());
/// db.write(&batch)?; // both, or neither
///
/// assert_eq!(views.get("page")?.unwrap(), 1u64.to_le_bytes());
/// assert_eq!(db.keyspaces(), ["default", "views"]);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone)]
pub struct Keyspace {
    handle: Arc<Handle>,
    state: Arc<KeyspaceState>,
}

impl Keyspace {
    /// Another keyspace of the same database.
    pub(crate) fn sibling(&self, state: Arc<KeyspaceState>) -> Keyspace {
        Keyspace { handle: Arc::clone(&self.handle), state }
    }

    pub(crate) fn new(handle: Arc<Handle>, state: Arc<KeyspaceState>) -> Keyspace {
        Keyspace { handle, state }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// As [`crate::Db::get`].
    ///
    /// # Errors
    /// As [`crate::Db::get`]; `KeyspaceDropped`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.core().get(&self.state, key.as_ref(), &ReadOptions::default())
    }

    /// [`Keyspace::get`] with options.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn get_opt(&self, key: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Option<Value>> {
        self.core().get(&self.state, key.as_ref(), options)
    }

    /// Returns whether a key has a value, as [`Keyspace::get`] would find it.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }

    /// Deletes all keys, as one range delete: it takes as long as one write, and the space comes
    /// back as the background compacts.
    ///
    /// # Errors
    /// As [`Keyspace::delete_range`].
    pub fn clear(&self) -> Result<()> {
        self.delete_range(..)
    }

    /// As [`crate::Db::put`].
    ///
    /// # Errors
    /// As [`crate::Db::put`]; `KeyspaceDropped`.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put_opt(key, value, &WriteOptions::default())
    }

    /// [`Keyspace::put`] with options.
    ///
    /// # Errors
    /// As [`Keyspace::put`].
    pub fn put_opt(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        let put = (Kind::Put, NO_OPERATOR);
        self.core().write_one(&self.state, put, key.as_ref(), value.as_ref(), options)
    }

    /// As [`crate::Db::delete`].
    ///
    /// # Errors
    /// As [`Keyspace::put`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_opt(key, &WriteOptions::default())
    }

    /// [`Keyspace::delete`] with options.
    ///
    /// # Errors
    /// As [`Keyspace::put`].
    pub fn delete_opt(&self, key: impl AsRef<[u8]>, options: &WriteOptions) -> Result<()> {
        let delete = (Kind::Delete, NO_OPERATOR);
        self.core().write_one(&self.state, delete, key.as_ref(), &[], options)
    }

    /// As [`crate::Db::delete_range`].
    ///
    /// # Errors
    /// As [`crate::Db::delete_range`]; `KeyspaceDropped`.
    pub fn delete_range(&self, range: impl AsKeyRange) -> Result<()> {
        self.delete_range_opt(range, &WriteOptions::default())
    }

    /// [`Keyspace::delete_range`] with options.
    ///
    /// # Errors
    /// As [`Keyspace::delete_range`].
    pub fn delete_range_opt(&self, range: impl AsKeyRange, options: &WriteOptions) -> Result<()> {
        self.core().delete_range(&self.state, range.key_bounds(), options)
    }

    /// Merges an operand into a key with the keyspace's default operator; see [`crate::Db::merge`].
    ///
    /// # Errors
    /// As [`crate::Db::merge`]; `KeyspaceDropped`.
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.merge_opt(key, operand, &WriteOptions::default())
    }

    /// [`Keyspace::merge`] with options.
    ///
    /// # Errors
    /// As [`Keyspace::merge`].
    pub fn merge_opt(
        &self,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.core().merge(&self.state, None, key.as_ref(), operand.as_ref(), options)
    }

    /// As [`crate::Db::merge_with`].
    ///
    /// # Errors
    /// As [`Keyspace::merge`].
    pub fn merge_with(
        &self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.merge_with_opt(operator, key, operand, &WriteOptions::default())
    }

    /// [`Keyspace::merge_with`] with options.
    ///
    /// # Errors
    /// As [`Keyspace::merge`].
    pub fn merge_with_opt(
        &self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.core().merge(&self.state, Some(operator), key.as_ref(), operand.as_ref(), options)
    }

    /// As [`crate::Db::operator`]: operators are the database's, and serve all its keyspaces.
    ///
    /// # Errors
    /// As [`crate::Db::operator`].
    pub fn operator(&self, spec: &str) -> Result<Operator> {
        self.core().operator(spec)
    }

    /// The operator of merges that name none, if there is one.
    pub fn default_operator(&self) -> Option<Operator> {
        self.state.merge_operator().cloned()
    }

    /// Takes the keyspace its default operator, durably before this returns: merges must name
    /// theirs from now on. What is stored stays as it is, operands too, for each names its own.
    ///
    /// The keyspace `default` gets one again from [`crate::Options::merge_operator`].
    ///
    /// # Errors
    /// `Io`, `NoSpace`: nothing happened. `KeyspaceDropped`, `ReadOnly`, `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let options = foldb::Options {
    ///     create_if_missing: true,
    ///     merge_operator: Some("uint64add".to_owned()),
    ///     ..foldb::Options::default()
    /// };
    /// let db = foldb::Db::open(dir.path(), options)?;
    /// db.merge("visits", 1u64.to_le_bytes())?;
    /// db.default_keyspace().unset_default_operator()?;
    /// assert!(db.merge("visits", 1u64.to_le_bytes()).is_err());
    /// assert_eq!(db.get("visits")?.unwrap(), 1u64.to_le_bytes());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn unset_default_operator(&self) -> Result<()> {
        self.core().unset_default_operator(&self.state)
    }

    /// The options with which another keyspace like this one is created. The operator is named even
    /// where the caller of the open did not give its implementation.
    pub fn options(&self) -> KeyspaceOptions {
        let settings = self.state.settings;
        KeyspaceOptions {
            merge_operator: self.state.operator_spec(),
            comparator: Some(Arc::clone(&self.state.comparator)),
            compression: Some(settings.compression),
            bloom_bits: Some(settings.bloom_bits),
            compaction: Some(settings.compaction),
            value_separation_min: Some(settings.value_separation_min.unwrap_or(usize::MAX)),
        }
    }

    /// The order of its keys.
    pub fn comparator(&self) -> &dyn Comparator {
        &*self.state.comparator
    }

    /// As [`crate::Db::explain_options`], with what the keyspace has of its own told as stored.
    pub fn explain_options(&self) -> Vec<ExplainedOption> {
        self.core().explain_options(&self.state)
    }

    /// An iterator over all entries.
    ///
    /// # Errors
    /// `Closed`, `KeyspaceDropped`.
    pub fn iter(&self) -> Result<Iter> {
        self.range(..)
    }

    /// An iterator over the entries whose keys lie in a range.
    ///
    /// # Errors
    /// As [`Keyspace::iter`].
    pub fn range(&self, range: impl AsKeyRange) -> Result<Iter> {
        self.range_opt(range, &ReadOptions::default())
    }

    /// [`Keyspace::range`] with options.
    ///
    /// # Errors
    /// As [`Keyspace::iter`]; `InvalidArgument` for a snapshot of another database.
    pub fn range_opt(&self, range: impl AsKeyRange, options: &ReadOptions) -> Result<Iter> {
        self.new_iter(Bounds::of(&range), options)
    }

    /// An iterator over the entries whose keys begin with `prefix`.
    ///
    /// # Errors
    /// As [`Keyspace::iter`]; `InvalidArgument` if the keyspace is not ordered by the bytes of its
    /// keys.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Iter> {
        if !self.state.comparator.bytewise_order() {
            return Err(Error::invalid_argument(format!(
                "keys with one prefix are not neighbours in the order of comparator '{}'",
                self.state.comparator.name()
            )));
        }
        self.new_iter(Bounds::of_prefix(prefix.as_ref()), &ReadOptions::default())
    }

    /// Flushes, then compacts a key range of this keyspace; see [`crate::Db::compact`].
    ///
    /// # Errors
    /// As [`crate::Db::flush`]; `KeyspaceDropped`.
    pub fn compact(&self, range: impl AsKeyRange) -> Result<()> {
        self.state.check_exists()?;
        self.core().compact(&self.state, range.key_bounds())
    }

    pub(crate) fn fold_all(&self) -> Result<()> {
        self.state.check_exists()?;
        self.core().fold_all(&self.state)
    }

    #[inline]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.handle.core
    }

    #[inline]
    pub(crate) fn state(&self) -> &KeyspaceState {
        &self.state
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }
}

impl fmt::Debug for Keyspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyspace({})", self.state.name)
    }
}
