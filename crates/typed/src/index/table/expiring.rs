//! When the rows of a table with indexes expire.
//!
//! Invariant: the entries of a row in the indexes end at the moment at which the row ends. One
//! commit writes them together, and its writes have one moment. The keyspaces have the same expiry,
//! so the same lifetime from that moment on is the same end. No write is done while they differ:
//! a change of the lifetime goes from keyspace to keyspace, and a kill may end it halfway.

use std::time::{Duration, SystemTime};

use foldb::expiry::{Expires, Expiry};
use foldb::{Error, Result, TransactionKeyspace};

use crate::borrowed::AsKey;
use crate::index::build::alone;
use crate::index::table::Inner;
use crate::index::{IndexedTable, IndexedWithin};
use crate::key::{Key, decode};
use crate::value::Format;

impl<K: Key, V, F: Format<V>> IndexedTable<K, V, F> {
    /// Returns when an entry expires; `None` if it is absent or never expires.
    ///
    /// # Errors
    /// As [`Table::expires_at`](crate::Table::expires_at).
    pub fn expires_at(&self, key: impl AsKey<K>) -> Result<Option<SystemTime>> {
        self.0.table.expires_at(key)
    }

    /// Renews the end of an entry, as a put of its value does. Returns whether the key has a value.
    ///
    /// # Errors
    /// As [`Table::touch`](crate::Table::touch).
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_typed::foldb::KeyspaceOptions;
    /// use foldb_typed::foldb::expiry::Expiry;
    /// use foldb_typed::{Index, IndexedTable};
    ///
    /// static BY_USER: Index<u64, String, String> =
    ///     Index::new("by_user", |_, user| Some(user.clone()));
    ///
    /// let expiry = Some(Expiry::after_last_write(Duration::from_secs(1800)));
    /// let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    /// let sessions =
    ///     IndexedTable::<u64, String>::open_with(&db, "sessions", options, &[&BY_USER])?;
    /// sessions.put(7, "ann".to_owned())?;
    /// assert!(sessions.touch(7)?); // the row, and its entry in `by_user`
    /// assert_eq!(sessions.by(&BY_USER)?.all("ann")?.count(), 1);
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn touch(&self, key: impl AsKey<K>) -> Result<bool> {
        let key = crate::encode::<K>(key);
        self.transact(|own| own.renew(&key, None))
    }

    /// Sets when an entry expires. Returns whether the key has a value.
    ///
    /// # Errors
    /// As [`IndexedTable::touch`].
    pub fn expire(&self, key: impl AsKey<K>, expires: Expires) -> Result<bool> {
        let key = crate::encode::<K>(key);
        self.transact(|own| own.renew(&key, Some(expires)))
    }

    /// Lets an entry never expire. Returns whether the key has a value.
    ///
    /// # Errors
    /// As [`IndexedTable::touch`].
    pub fn persist(&self, key: impl AsKey<K>) -> Result<bool> {
        self.expire(key, Expires::Never)
    }

    /// Changes the lifetime of rows and of their entries in the indexes for the writes that follow,
    /// durably. Stored rows keep their ends: [`IndexedTable::touch`] gives one the new lifetime.
    /// Writes of other threads wait. An index that the call does not reach, because of a kill or an
    /// error, is built again by the next open.
    ///
    /// [`Keyspace::set_lifetime`](foldb::Keyspace::set_lifetime) does not know the indexes. After
    /// it, writes of the table fail until this call or the next open.
    ///
    /// # Errors
    /// As [`Keyspace::set_lifetime`](foldb::Keyspace::set_lifetime). After `Io` or `NoSpace`,
    /// writes may fail until the call succeeds or the table is opened again.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_typed::foldb::KeyspaceOptions;
    /// use foldb_typed::foldb::expiry::Expiry;
    /// use foldb_typed::{Index, IndexedTable};
    ///
    /// static BY_USER: Index<u64, String, String> =
    ///     Index::new("by_user", |_, user| Some(user.clone()));
    ///
    /// let expiry = Some(Expiry::after_last_write(Duration::from_secs(1800)));
    /// let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    /// let sessions =
    ///     IndexedTable::<u64, String>::open_with(&db, "sessions", options, &[&BY_USER])?;
    /// sessions.put(7, "ann".to_owned())?;
    /// sessions.set_lifetime(Duration::from_secs(86_400))?;
    /// sessions.put(8, "bob".to_owned())?;
    /// assert!(sessions.expires_at(7)? < sessions.expires_at(8)?);
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn set_lifetime(&self, lifetime: Duration) -> Result<()> {
        let _alone = alone();
        // The table comes first: an open gives its lifetime to the indexes.
        self.0.table.keyspace().set_lifetime(lifetime)?;
        self.0.indexes.iter().try_for_each(|kept| kept.keyspace.set_lifetime(lifetime))
    }
}

impl<K: Key, V, F: Format<V>> Inner<K, V, F> {
    /// Returns the expiry of the rows and of all entries of the indexes. Waits for a change of it.
    ///
    /// # Errors
    /// `InvalidArgument` if they differ.
    pub(super) fn expiry_of_all(&self) -> Result<Option<Expiry>> {
        if !self.expires {
            return Ok(None);
        }
        let agreed = || {
            let expiry = self.table.keyspace().options().expiry;
            self.all_expire_as(expiry).then_some(expiry)
        };
        let after_changes = || {
            let _alone = alone();
            agreed()
        };
        agreed().or_else(after_changes).ok_or_else(|| {
            Error::invalid_argument(format!(
                "the rows of table '{}' have another lifetime than their entries in its indexes: \
                 change it with IndexedTable::set_lifetime, or open the table again",
                self.name
            ))
        })
    }

    /// Returns whether rows and all entries of the indexes have an expiry.
    pub(super) fn all_expire_as(&self, expiry: Option<Expiry>) -> bool {
        let mut all = self.indexes.iter().map(|kept| &kept.keyspace);
        let has_it = |keyspace: &foldb::Keyspace| keyspace.options().expiry == expiry;
        !self.expires || (has_it(self.table.keyspace()) && all.all(has_it))
    }
}

impl<K: Key, V, F: Format<V>> IndexedWithin<'_, K, V, F> {
    /// Returns when an entry expires; `None` if it is absent or never expires.
    ///
    /// # Errors
    /// As [`Table::expires_at`](crate::Table::expires_at).
    pub fn expires_at(&self, key: impl AsKey<K>) -> Result<Option<SystemTime>> {
        self.rows().expires_at(key)
    }

    /// Renews the end of an entry: see [`IndexedTable::touch`].
    ///
    /// # Errors
    /// As [`IndexedTable::touch`].
    pub fn touch(&self, key: impl AsKey<K>) -> Result<bool> {
        self.renew(&crate::encode::<K>(key), None)
    }

    /// Sets when an entry expires: see [`IndexedTable::expire`].
    ///
    /// # Errors
    /// As [`IndexedTable::touch`].
    pub fn expire(&self, key: impl AsKey<K>, expires: Expires) -> Result<bool> {
        self.renew(&crate::encode::<K>(key), Some(expires))
    }

    /// Lets an entry never expire: see [`IndexedTable::persist`].
    ///
    /// # Errors
    /// As [`IndexedTable::touch`].
    pub fn persist(&self, key: impl AsKey<K>) -> Result<bool> {
        self.expire(key, Expires::Never)
    }

    /// Sets the end of a row and of its entries in the indexes; `None`: as a put does.
    fn renew(&self, key: &[u8], expires: Option<Expires>) -> Result<bool> {
        let renew = |entries: &TransactionKeyspace<'_>, key: &[u8]| match expires {
            None => entries.touch(key),
            Some(expires) => entries.expire(key, expires),
        };
        let value = self.find(key)?;
        self.all_or_nothing(|| {
            let row = self.transaction.keyspace(self.own.table.keyspace());
            let was_there = renew(&row, key)?;
            let Some(value) = value.as_ref().filter(|_| was_there) else { return Ok(false) };
            let typed: K = decode(key)?;
            for kept in &self.own.indexes {
                let entries = self.transaction.keyspace(&kept.keyspace);
                for own in kept.index.keys(&typed, value) {
                    if !kept.names(self.transaction, &own, key)? {
                        continue;
                    }
                    renew(&entries, &kept.entry(&own, key).0)?;
                }
            }
            Ok(true)
        })
    }
}
