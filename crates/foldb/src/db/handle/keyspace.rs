//! Keyspaces: several ordered maps in one database. Each has its own order, default operator and
//! tree. They share the log, the write buffers, the block cache, the workers and the order of
//! writes.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::db::core::{Core, Handle};
use crate::db::handle::read_options::ReadOptions;
use crate::db::handle::reader::{inherent_reads, read_with};
use crate::db::read::settings::ReadSettings;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::Result;
use crate::fold::Operator;
use crate::iterator::Bounds;
use crate::iterator::Iter;
use crate::key::{AsKeyRange, Kind, NO_OPERATOR};
use crate::options::{ExplainedOption, KeyspaceOptions, WriteOptions};
use crate::value::Value;

/// A handle of one keyspace of an open database, with the data methods of [`crate::Db`]. The
/// methods of `Db` act on the keyspace `default`. Cloning is cheap; a handle keeps the database
/// open.
///
/// All keyspaces share one log and one order of writes. A [`crate::WriteBatch`] over several
/// keyspaces is applied whole or not at all. A [`crate::Snapshot`] holds the same moment of all
/// keyspaces.
///
/// After [`crate::Db::drop_keyspace`] every call through an old handle fails with
/// `KeyspaceDropped`. Existing iterators continue.
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

read_with!(Keyspace, |own| own, &ReadOptions::default());
inherent_reads!(Keyspace);

impl Keyspace {
    /// Returns a handle of another keyspace of the same database.
    pub(crate) fn sibling(&self, state: Arc<KeyspaceState>) -> Keyspace {
        Keyspace { handle: Arc::clone(&self.handle), state }
    }

    pub(crate) fn new(handle: Arc<Handle>, state: Arc<KeyspaceState>) -> Keyspace {
        Keyspace { handle, state }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// Reads a key with options; see [`Keyspace::get`].
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn get_opt(&self, key: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Option<Value>> {
        self.core().get(&self.state, key.as_ref(), options.settings())
    }

    /// Deletes all keys as one range delete. The call takes as long as one write; compactions
    /// reclaim the space.
    ///
    /// # Errors
    /// As [`Keyspace::delete_range`].
    pub fn clear(&self) -> Result<()> {
        self.delete_range(..)
    }

    /// Returns when a key expires; `None` if the key is absent or never expires. The moment is
    /// rounded up: see [`Expiry`](crate::Expiry).
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::{Duration, SystemTime};
    /// use foldb::{Expiry, KeyspaceOptions};
    ///
    /// let expiry = Some(Expiry::after_last_write(Duration::from_secs(60)));
    /// let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    /// let cache = db.create_keyspace("cache", options)?;
    /// cache.put("page", "…")?;
    /// assert!(cache.expires_at("page")?.unwrap() > SystemTime::now());
    /// assert_eq!(cache.expires_at("other")?, None);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn expires_at(&self, key: impl AsRef<[u8]>) -> Result<Option<SystemTime>> {
        self.core().expires_at(&self.state, key.as_ref(), ReadSettings::default())
    }

    /// Sets a key. [`crate::WriteOptions`] says what a returned write guarantees.
    ///
    /// # Errors
    /// `NoSpace`, `Poisoned` after a failed sync, `Io`, `Closed`. After an error the write did not
    /// happen, unless only its sync failed.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put_opt(key, value, &WriteOptions::default())
    }

    /// Sets a key with options; see [`Keyspace::put`].
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

    /// Deletes a key. A missing key is no error.
    ///
    /// # Errors
    /// As [`Keyspace::put`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_opt(key, &WriteOptions::default())
    }

    /// Deletes a key with options; see [`Keyspace::delete`].
    ///
    /// # Errors
    /// As [`Keyspace::put`].
    pub fn delete_opt(&self, key: impl AsRef<[u8]>, options: &WriteOptions) -> Result<()> {
        let delete = (Kind::Delete, NO_OPERATOR);
        self.core().write_one(&self.state, delete, key.as_ref(), &[], options)
    }

    /// Deletes all keys of a range in one write, however many there are. Each key's history ends
    /// exactly as after a [`Keyspace::delete`] of the key: later puts and merges start on nothing.
    /// Earlier snapshots still see the old values. An empty range such as `"b".."b"` deletes
    /// nothing.
    ///
    /// A range delete costs as much as one small write. Compactions reclaim the space;
    /// [`crate::Db::compact`] of the range does so at once.
    ///
    /// # Errors
    /// As [`Keyspace::put`], and `InvalidArgument` for a range that ends before it starts.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     merge_operator: Some("uint64add".to_owned()),
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
        self.delete_range_opt(range, &WriteOptions::default())
    }

    /// Deletes all keys of a range with options; see [`Keyspace::delete_range`].
    ///
    /// # Errors
    /// As [`Keyspace::delete_range`].
    pub fn delete_range_opt(&self, range: impl AsKeyRange, options: &WriteOptions) -> Result<()> {
        self.core().delete_range(&self.state, range.key_bounds(), options)
    }

    /// Merges an operand into a key with the default operator: a blind write that never reads the
    /// key.
    ///
    /// # Errors
    /// As [`Keyspace::put`], and `InvalidArgument` for a malformed operand or without a default
    /// operator.
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.merge_opt(key, operand, &WriteOptions::default())
    }

    /// Merges an operand into a key with options; see [`Keyspace::merge`].
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

    /// Merges an operand into a key with an operator from [`Keyspace::operator`]. One key may hold
    /// operands of several operators; they apply in the order in which they were written.
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

    /// Merges with an operator and options; see [`Keyspace::merge_with`].
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

    /// Returns the operator of `NAME` or `NAME:PARAM`, for [`Keyspace::merge_with`]. Operators
    /// belong to the database and serve all its keyspaces. An operator that is new to the database
    /// is durable in the manifest before this call returns.
    ///
    /// # Errors
    /// `UnknownOperator`; `InvalidArgument` for a parameter that the operator rejects; `Io`.
    pub fn operator(&self, spec: &str) -> Result<Operator> {
        self.core().operator(spec)
    }

    /// Returns the default operator, which merges use that name no operator. `None` if the keyspace
    /// has no default operator.
    pub fn default_operator(&self) -> Option<Operator> {
        self.state.merge_operator().cloned()
    }

    /// Removes the keyspace's default operator, durably. Later merges must name their operator.
    /// Stored operands stay unchanged, because each names its own operator.
    ///
    /// The keyspace `default` gets a default operator again from
    /// [`crate::Options::merge_operator`].
    ///
    /// # Errors
    /// `Io` or `NoSpace`, and the operator stays. `KeyspaceDropped`, `ReadOnly`, `Closed`.
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

    /// Returns the options that create a keyspace like this one. The options name the operator even
    /// if its implementation was not registered at the open.
    pub fn options(&self) -> KeyspaceOptions {
        let settings = self.state.settings;
        KeyspaceOptions {
            merge_operator: self.state.operator_spec(),
            comparator: Some(Arc::clone(&self.state.comparator)),
            compression: Some(settings.compression),
            bloom_bits: Some(settings.bloom_bits),
            filter_policy: self.state.filter_policy.as_ref().map(|own| Arc::clone(own.policy())),
            compaction: Some(settings.compaction),
            value_separation_min: Some(settings.value_separation_min.unwrap_or(usize::MAX)),
            expiry: settings.expiry,
        }
    }

    /// Returns every option in effect: its value, where the value comes from, and its effect.
    /// Values that the database keeps from earlier opens, such as its operator, are marked as
    /// stored.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// for option in db.explain_options() {
    ///     let foldb::ExplainedOption { name, value, unit, source, cost, .. } = option;
    ///     println!("{name} = {value} {unit} ({source}): {cost}");
    /// }
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn explain_options(&self) -> Vec<ExplainedOption> {
        self.core().explain_options(&self.state)
    }

    /// Returns an iterator over a range with options; see [`Keyspace::range`].
    ///
    /// # Errors
    /// `Closed`; `InvalidArgument` for a snapshot of another database.
    pub fn range_opt(&self, range: impl AsKeyRange, options: &ReadOptions) -> Result<Iter> {
        self.new_iter(Bounds::of(&range), options)
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

    pub(crate) fn shared_state(&self) -> &Arc<KeyspaceState> {
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
