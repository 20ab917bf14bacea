//! Keyspaces: several ordered maps in one database. Each has its own order, default operator and
//! tree. They share the log, the write buffers, the block cache, the workers and the order of
//! writes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::db::core::{Core, Handle};
use crate::db::lifecycle::keyspaces::set_lifetime;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::Result;
use crate::fold::Operator;
use crate::key::AsKeyRange;
use crate::options::{ExplainedOption, KeyspaceOptions};
use crate::rewriting::filter::CompactionFilterFactory;

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

    /// Returns how the program that created the keyspace encodes keys and values, if it said so:
    /// [`KeyspaceOptions::schema`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use foldb::{ErrorKind, KeyspaceOptions};
    ///
    /// let with = |schema: &str| KeyspaceOptions {
    ///     schema: Some(schema.to_owned()),
    ///     ..KeyspaceOptions::default()
    /// };
    /// let days = db.create_keyspace("days", with("acme/1 u32"))?;
    /// assert_eq!(days.schema(), Some("acme/1 u32"));
    /// let error = db.keyspace_or_create("days", with("acme/2 i64")).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn schema(&self) -> Option<&str> {
        self.state.schema()
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
    /// The keyspace `default` gets a default operator again from `Options.default.merge_operator`.
    ///
    /// # Errors
    /// `Io` or `NoSpace`, and the operator stays. `KeyspaceDropped`, `ReadOnly`, `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let options = foldb::Options {
    ///     create_if_missing: true,
    ///     default: foldb::KeyspaceOptions::with_operator("uint64add"),
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

    /// Changes the lifetime of entries for the writes that follow, durably. Stored entries keep
    /// their ends: [`Keyspace::touch`] gives one the new lifetime. Rule and bucket stay. A batch or
    /// transaction that was filled before has the old lifetime. [`crate::Db::keyspace_or_create`]
    /// then wants the new one, or none.
    ///
    /// # Errors
    /// `InvalidArgument` for a keyspace without an expiry or with
    /// [`Expiry::per_write`](crate::expiry::Expiry::per_write), and for a lifetime of zero. `Io` or
    /// `NoSpace`, and the lifetime stays. `KeyspaceDropped`, `ReadOnly`, `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb::KeyspaceOptions;
    /// use foldb::expiry::Expiry;
    ///
    /// let hour = Expiry::after_last_write(Duration::from_secs(3600));
    /// let options = KeyspaceOptions { expiry: Some(hour), ..KeyspaceOptions::default() };
    /// let sessions = db.create_keyspace("sessions", options)?;
    /// sessions.put("ann", "for an hour")?;
    /// sessions.set_lifetime(Duration::from_secs(86_400))?;
    /// sessions.put("bob", "for a day")?;
    /// assert!(sessions.expires_at("ann")? < sessions.expires_at("bob")?);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn set_lifetime(&self, lifetime: Duration) -> Result<()> {
        set_lifetime(self.core(), &self.state, lifetime)
    }

    /// Sets what makes the filters of this keyspace's compactions, or removes it. It holds for all
    /// handles until the database is closed, and replaces that of
    /// [`Options::compaction_filters`](crate::Options::compaction_filters). A part of a compaction
    /// that has begun keeps its filter.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::sync::Arc;
    /// use foldb::custom::{CompactionFilter, CompactionFilterFactory, FilterContext, Verdict};
    ///
    /// /// Makes all values upper case.
    /// #[derive(Debug)]
    /// struct Shout;
    ///
    /// impl CompactionFilterFactory for Shout {
    ///     fn filter(&self, _: &FilterContext<'_>) -> Option<Box<dyn CompactionFilter>> {
    ///         Some(Box::new(Shout))
    ///     }
    /// }
    /// impl CompactionFilter for Shout {
    ///     fn filter(&mut self, _level: u32, _key: &[u8], value: &[u8]) -> Verdict {
    ///         Verdict::Change(value.to_ascii_uppercase())
    ///     }
    /// }
    ///
    /// db.put("greeting", "hello")?;
    /// let keyspace = db.default_keyspace();
    /// keyspace.set_compaction_filter(Some(Arc::new(Shout)));
    /// keyspace.compact(..)?;
    /// keyspace.set_compaction_filter(None);
    /// assert_eq!(db.get("greeting")?.unwrap(), b"HELLO");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn set_compaction_filter(&self, factory: Option<Arc<dyn CompactionFilterFactory>>) {
        self.state.set_compaction_filter(factory);
    }

    /// Returns the options that create a keyspace like this one. The options name the operator even
    /// if its implementation was not registered at the open.
    pub fn options(&self) -> KeyspaceOptions {
        let options = self.state.options();
        // Only a number keeps a new keyspace from taking that of `default`.
        let value_separation_min = options.value_separation_min.or(Some(usize::MAX));
        KeyspaceOptions { value_separation_min, ..options }
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
    ///     let foldb::explain::ExplainedOption { name, value, unit, source, cost, .. } = option;
    ///     println!("{name} = {value} {unit} ({source}): {cost}");
    /// }
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn explain_options(&self) -> Vec<ExplainedOption> {
        self.core().explain_options(&self.state)
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
