//! When the entries of a table expire.

use std::time::SystemTime;

use foldb::expiry::Expires;
use foldb::{Reader, Result};

use crate::access::Writes;
use crate::borrowed::AsKey;
use crate::key::Key;
use crate::merge::{MergeTable, Merged};
use crate::table::Table;
use crate::value::Format;

impl<K: Key, V, F: Format<V>, A: Reader> Table<K, V, F, A> {
    /// Returns when an entry expires; `None` if it is absent or never expires.
    ///
    /// # Errors
    /// As [`Reader::expires_at`].
    pub fn expires_at(&self, key: impl AsKey<K>) -> Result<Option<SystemTime>> {
        self.access.expires_at(crate::encode::<K>(key))
    }
}

impl<K: Key, V, F: Format<V>, A: Writes> Table<K, V, F, A> {
    /// Renews the end of an entry, as a put of its value does. Returns whether the key has a value.
    ///
    /// # Errors
    /// `InvalidArgument` for a table without an expiry, or if nothing says when the entry expires;
    /// as [`Table::put`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_typed::Table;
    /// use foldb_typed::foldb::KeyspaceOptions;
    /// use foldb_typed::foldb::expiry::{Expires, Expiry};
    ///
    /// let expiry = Some(Expiry::after_last_write(Duration::from_secs(1800)));
    /// let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    /// let baskets = Table::<String, Vec<u32>>::open_with(&db, "baskets", options)?;
    /// baskets.put("ann", vec![7, 8])?;
    /// assert!(baskets.touch("ann")?); // for another half an hour
    /// assert!(!baskets.touch("bob")?);
    /// baskets.expire("ann", Expires::After(Duration::from_secs(60)))?;
    /// assert!(baskets.expires_at("ann")?.is_some());
    /// baskets.persist("ann")?;
    /// assert_eq!(baskets.expires_at("ann")?, None);
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn touch(&self, key: impl AsKey<K>) -> Result<bool> {
        self.check_may_write()?;
        self.access.touch(&crate::encode::<K>(key))
    }

    /// Sets when an entry expires. Returns whether the key has a value.
    ///
    /// # Errors
    /// As [`Table::touch`].
    pub fn expire(&self, key: impl AsKey<K>, expires: Expires) -> Result<bool> {
        self.check_may_write()?;
        self.access.expire(&crate::encode::<K>(key), expires)
    }

    /// Lets an entry never expire. Returns whether the key has a value.
    ///
    /// # Errors
    /// As [`Table::touch`].
    pub fn persist(&self, key: impl AsKey<K>) -> Result<bool> {
        self.expire(key, Expires::Never)
    }
}

impl<K: Key, M: Merged, A: Reader> MergeTable<K, M, A> {
    /// Returns when an entry expires: see [`Table::expires_at`].
    ///
    /// # Errors
    /// As [`Reader::expires_at`].
    pub fn expires_at(&self, key: impl AsKey<K>) -> Result<Option<SystemTime>> {
        self.access().expires_at(crate::encode::<K>(key))
    }
}

impl<K: Key, M: Merged, A: Writes> MergeTable<K, M, A> {
    /// Renews the end of an entry: see [`Table::touch`].
    ///
    /// # Errors
    /// As [`Table::touch`].
    pub fn touch(&self, key: impl AsKey<K>) -> Result<bool> {
        self.access().touch(&crate::encode::<K>(key))
    }

    /// Sets when an entry expires: see [`Table::expire`].
    ///
    /// # Errors
    /// As [`Table::touch`].
    pub fn expire(&self, key: impl AsKey<K>, expires: Expires) -> Result<bool> {
        self.access().expire(&crate::encode::<K>(key), expires)
    }

    /// Lets an entry never expire: see [`Table::persist`].
    ///
    /// # Errors
    /// As [`Table::touch`].
    pub fn persist(&self, key: impl AsKey<K>) -> Result<bool> {
        self.expire(key, Expires::Never)
    }
}
