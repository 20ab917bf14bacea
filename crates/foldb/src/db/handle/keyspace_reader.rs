//! A keyspace that can only be read.

use std::fmt;

use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::snapshot::Snapshot;
use crate::db::read::approximate::ApproximateCount;
use crate::db::read::explain::Explained;
use crate::db::read::tables::TableInfo;
use crate::error::Result;
use crate::fold::Operator;
use crate::key::AsKeyRange;
use crate::options::{ExplainedOption, KeyspaceOptions};

/// A keyspace to read: as it is now, or as it was at the moment of a snapshot. It has no methods
/// that write. [`Snapshot::keyspace`](crate::Snapshot::keyspace),
/// [`ReadOnlyDb::keyspace`](crate::ReadOnlyDb::keyspace) and [`Keyspace::reader`] return it.
/// Cloning is cheap. A reader keeps the database open, and its snapshot if it has one.
///
/// With [`ReadOptions`](crate::ReadOptions) that have no snapshot, its reads keep its moment.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb::Db::create(dir.path().join("db"))?;
/// let users = db.create_keyspace("users", Default::default())?;
/// users.put("ada", "1815")?;
/// let moment = db.snapshot();
/// users.put("grace", "1906")?;
///
/// let then = moment.keyspace(&users);
/// assert_eq!(then.iter()?.count(), 1);
/// assert_eq!(then.get("grace")?, None);
/// assert_eq!(users.iter()?.count(), 2);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone)]
pub struct KeyspaceReader {
    pub(super) keyspace: Keyspace,
    pub(super) snapshot: Option<Snapshot>,
}

impl Keyspace {
    /// Returns a handle that only reads this keyspace, as it is at each read.
    pub fn reader(&self) -> KeyspaceReader {
        KeyspaceReader { keyspace: self.clone(), snapshot: None }
    }
}

impl Snapshot {
    /// Returns a reader of any keyspace, at this moment. A keyspace that was created later is empty
    /// at this moment.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// let views = db.create_keyspace("views", Default::default())?;
    /// views.put("page", "1")?;
    /// let moment = db.snapshot();
    /// views.put("page", "2")?;
    /// assert_eq!(moment.keyspace(&views).get("page")?.unwrap(), b"1");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn keyspace(&self, keyspace: &Keyspace) -> KeyspaceReader {
        KeyspaceReader { keyspace: keyspace.clone(), snapshot: Some(self.clone()) }
    }
}

impl KeyspaceReader {
    /// Returns the name.
    pub fn name(&self) -> &str {
        self.keyspace.name()
    }

    /// Returns how keys and values are encoded, if the keyspace knows: see [`Keyspace::schema`].
    pub fn schema(&self) -> Option<&str> {
        self.keyspace.schema()
    }

    /// Returns the options that create a keyspace like this one: see [`Keyspace::options`].
    pub fn options(&self) -> KeyspaceOptions {
        self.keyspace.options()
    }

    /// Returns every option in effect: see [`Keyspace::explain_options`].
    pub fn explain_options(&self) -> Vec<ExplainedOption> {
        self.keyspace.explain_options()
    }

    /// Returns the default operator: see [`Keyspace::default_operator`].
    pub fn default_operator(&self) -> Option<Operator> {
        self.keyspace.default_operator()
    }

    /// Explains a key as it is now, also if this reader has a snapshot: see [`Keyspace::explain`].
    ///
    /// # Errors
    /// As [`Keyspace::explain`].
    pub fn explain(&self, key: impl AsRef<[u8]>) -> Result<Explained> {
        self.keyspace.explain(key)
    }

    /// Returns the tables of the keyspace as it is now: see [`Keyspace::tables`].
    ///
    /// # Errors
    /// As [`Keyspace::tables`].
    pub fn tables(&self) -> Result<Vec<TableInfo>> {
        self.keyspace.tables()
    }

    /// Estimates the bytes that a key range takes now: see [`Keyspace::approximate_size`].
    ///
    /// # Errors
    /// As [`Keyspace::approximate_size`].
    pub fn approximate_size(&self, range: impl AsKeyRange) -> Result<u64> {
        self.keyspace.approximate_size(range)
    }

    /// Estimates how many keys a range has now: see [`Keyspace::approximate_count`].
    ///
    /// # Errors
    /// As [`Keyspace::approximate_count`].
    pub fn approximate_count(&self, range: impl AsKeyRange) -> Result<ApproximateCount> {
        self.keyspace.approximate_count(range)
    }
}

impl fmt::Debug for KeyspaceReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("KeyspaceReader");
        shown.field("keyspace", &self.keyspace).field("snapshot", &self.snapshot).finish()
    }
}
