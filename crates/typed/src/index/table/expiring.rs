//! When the rows of a table with indexes expire.
//!
//! Invariant: the entries of a row in the indexes end at the moment at which the row ends. One
//! commit writes them together, and its writes have one moment. The keyspaces have the same expiry,
//! so the same lifetime from that moment on is the same end.

use std::time::SystemTime;

use foldb::expiry::Expires;
use foldb::{Result, TransactionKeyspace};

use crate::borrowed::AsKey;
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
            let Some(value) = value.filter(|_| was_there) else { return Ok(false) };
            let typed: K = decode(key)?;
            for kept in &self.own.indexes {
                let entries = self.transaction.keyspace(&kept.keyspace);
                for own in kept.index.keys(&typed, &value) {
                    renew(&entries, &kept.entry(&own, key).0)?;
                }
            }
            Ok(true)
        })
    }
}
