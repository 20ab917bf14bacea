//! Reads and writes in one step inside a transaction, and reads that claim more or less than the
//! isolation says.
//!
//! Each step reads first and writes second, in the transaction. So the read is claimed as every
//! other one, and the commit decides whether the step still holds.

use crate::db::handle::keyspace::Keyspace;
use crate::db::transaction::handle::{Reads, Transaction, TransactionKeyspace};
use crate::db::transaction::steps::{Next, Steps};
use crate::error::Result;
use crate::key::AsKeyRange;
use crate::settings::Expires;
use crate::value::Value;

impl Transaction {
    /// Sets when the puts and merges that follow expire. `None`: as their keyspace says. A write
    /// with an expiry to a keyspace without one fails.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb::expiry::{Expires, Expiry};
    /// use foldb::KeyspaceOptions;
    ///
    /// let expiry = Some(Expiry::per_write());
    /// let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    /// let tokens = db.create_keyspace("tokens", options)?;
    /// db.transact(|transaction| {
    ///     transaction.set_expires(Some(Expires::After(Duration::from_secs(60))));
    ///     transaction.keyspace(&tokens).put("token", "ann")?;
    ///     assert!(transaction.keyspace(&tokens).expires_at("token")?.is_some());
    ///     transaction.set_expires(None);
    ///     transaction.put("last login", "ann")
    /// })?;
    /// assert!(tokens.expires_at("token")?.is_some());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn set_expires(&self, expires: Option<Expires>) {
        self.change_batch(|batch| {
            batch.set_expires(expires);
        });
    }

    /// Reads a key and claims it, with every isolation; see
    /// [`TransactionKeyspace::get_for_update`].
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn get_for_update(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.default_keyspace().get_for_update(key)
    }

    /// Reads a key and claims nothing, with every isolation; see
    /// [`TransactionKeyspace::get_unclaimed`].
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn get_unclaimed(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.default_keyspace().get_unclaimed(key)
    }
}

impl TransactionKeyspace<'_> {
    /// Reads a key and claims it, with every isolation: the commit conflicts if another write
    /// changed the key. With snapshot isolation, a get claims nothing.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// use foldb::{Isolation, TransactionOptions};
    ///
    /// let options = TransactionOptions { isolation: Isolation::Snapshot, ..Default::default() };
    /// let transaction = db.with(&options).begin()?;
    /// assert_eq!(transaction.get("rate")?, None);
    /// assert_eq!(transaction.get_for_update("limit")?, None);
    /// transaction.put("order", "1")?;
    /// db.put("rate", "2")?;
    /// db.put("limit", "0")?;
    /// assert_eq!(transaction.commit().unwrap_err().kind(), foldb::ErrorKind::Conflict);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn get_for_update(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.transaction.read_as(Reads::Claimed, self.keyspace, |over| over.get(key.as_ref()))
    }

    /// Reads a key and claims nothing, with every isolation: the key may change before the commit.
    /// With serializable isolation, a get claims the key.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// let transaction = db.begin()?;
    /// let greeting = transaction.get_unclaimed("greeting")?;
    /// transaction.put("greeted", greeting.as_deref().unwrap_or(b"hello"))?;
    /// db.put("greeting", "good morning")?;
    /// transaction.commit()?;
    /// assert_eq!(db.get("greeted")?.unwrap(), b"hello");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn get_unclaimed(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.transaction.read_as(Reads::Unclaimed, self.keyspace, |over| over.get(key.as_ref()))
    }
}

impl Steps for TransactionKeyspace<'_> {
    fn own_keyspace(&self) -> &Keyspace {
        self.keyspace
    }

    fn expires(&self) -> Option<Expires> {
        self.transaction.expires()
    }

    fn step<'a, T>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<Value>) -> Result<(Next<'a>, T)>,
    ) -> Result<T> {
        let (next, result) = decide(self.get_for_update(key)?)?;
        match next {
            Next::Nothing => {}
            Next::Put(value) => self.put(key, value)?,
            Next::Again(value) => self.put(key, value)?,
            Next::Delete => self.delete(key)?,
            Next::Merge(_, operand) => self.merge(key, operand)?,
        }
        Ok(result)
    }

    fn expire(&self, key: &[u8], expires: Expires) -> Result<bool> {
        let before = self.transaction.expires();
        self.transaction.set_expires(Some(expires));
        let was_there = self.touch(key);
        self.transaction.set_expires(before);
        was_there
    }

    fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>> {
        let first = self.range(range)?.at_front().next().transpose()?;
        if let Some((key, _)) = &first {
            self.delete(key)?;
        }
        Ok(first)
    }
}
