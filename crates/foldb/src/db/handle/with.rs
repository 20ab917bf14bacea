//! Calls with options, in one way for every handle: `handle.with(&options).call(…)`.
//!
//! [`With`] is a handle and its options, side by side. The calls are `impl` blocks for the pairs
//! that make sense, each beside its subject. The body of a call stands there once: the plain call
//! of a handle is the same call with default options.

use std::fmt;

use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::keyspace_reader::KeyspaceReader;
use crate::db::handle::read_only::ReadOnlyDb;
use crate::db::handle::snapshot::Snapshot;

/// A handle with options for its calls. Made by the method `with` of each handle. It is two
/// references, so making one costs nothing, and it can be kept for many calls.
///
/// The options say which calls there are:
///
/// | options | calls | handles |
/// | --- | --- | --- |
/// | [`WriteOptions`] | `put`, `delete`, `merge`, `update` and all others that write | [`Db`], [`Keyspace`] |
/// | [`ReadOptions`] | those of [`Reader`] | [`Db`], [`Keyspace`], [`Snapshot`], [`KeyspaceReader`], [`ReadOnlyDb`] |
/// | [`TransactionOptions`] | `begin`, `transact` | [`Db`] |
/// | [`UpdatesOptions`] | `updates_since` | [`Db`], [`ReadOnlyDb`] |
/// | [`GcOptions`] | `collect_garbage` | [`Db`] |
///
/// A batch has one more call with [`WriteOptions`]: `write`, of [`Db`] only.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb::Db::create(dir.path().join("db"))?;
/// use foldb::{ReadOptions, WriteOptions};
///
/// let durable = WriteOptions { sync: true, ..WriteOptions::default() };
/// db.put("visits", "1")?;
/// db.with(&durable).put("account", "7")?;
/// assert!(db.with(&durable).put_if_absent("leader", "ann")?);
///
/// let once = ReadOptions { fill_cache: false, ..ReadOptions::default() };
/// let scan = db.with(&once);
/// assert_eq!(scan.get("account")?.unwrap(), b"7");
/// assert_eq!(scan.iter()?.count(), 3);
/// # Ok::<(), foldb::Error>(())
/// ```
///
/// [`WriteOptions`]: crate::WriteOptions
/// [`ReadOptions`]: crate::ReadOptions
/// [`TransactionOptions`]: crate::TransactionOptions
/// [`UpdatesOptions`]: crate::feed::UpdatesOptions
/// [`GcOptions`]: crate::garbage::GcOptions
/// [`Reader`]: crate::Reader
pub struct With<'a, H, O> {
    pub(crate) handle: &'a H,
    pub(crate) options: &'a O,
}

impl<H, O> Clone for With<'_, H, O> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<H, O> Copy for With<'_, H, O> {}

impl<H: fmt::Debug, O: fmt::Debug> fmt::Debug for With<'_, H, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("With");
        shown.field("handle", self.handle).field("options", self.options).finish()
    }
}

macro_rules! with_options {
    ($($handle:ty),*) => {$(
        impl $handle {
            /// Returns this handle with options for its calls: see [`With`].
            #[inline]
            pub fn with<'a, O>(&'a self, options: &'a O) -> With<'a, Self, O> {
                With { handle: self, options }
            }
        }
    )*};
}

with_options!(Db, Keyspace, Snapshot, KeyspaceReader, ReadOnlyDb);

/// A handle that reads a keyspace.
pub trait ReadsKeyspace {
    #[doc(hidden)]
    fn target(&self) -> &Keyspace;

    /// The moment of its reads; `None`: now.
    #[doc(hidden)]
    #[inline]
    fn own_snapshot(&self) -> Option<&Snapshot> {
        None
    }
}

/// A handle that also writes the keyspace.
pub trait WritesKeyspace: ReadsKeyspace {}

impl ReadsKeyspace for Keyspace {
    #[inline]
    fn target(&self) -> &Keyspace {
        self
    }
}

impl WritesKeyspace for Keyspace {}

impl ReadsKeyspace for Db {
    #[inline]
    fn target(&self) -> &Keyspace {
        self.default_keyspace()
    }
}

impl WritesKeyspace for Db {}

impl ReadsKeyspace for Snapshot {
    #[inline]
    fn target(&self) -> &Keyspace {
        self.default_keyspace()
    }

    #[inline]
    fn own_snapshot(&self) -> Option<&Snapshot> {
        Some(self)
    }
}

impl ReadsKeyspace for KeyspaceReader {
    #[inline]
    fn target(&self) -> &Keyspace {
        &self.keyspace
    }

    #[inline]
    fn own_snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }
}

impl ReadsKeyspace for ReadOnlyDb {
    #[inline]
    fn target(&self) -> &Keyspace {
        &self.default_keyspace().keyspace
    }
}
