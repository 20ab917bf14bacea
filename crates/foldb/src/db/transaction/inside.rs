//! Reads and writes in one step inside a transaction, and reads that claim more or less than the
//! isolation says.
//!
//! Each step reads first and writes second, in the transaction. So the read is claimed as every
//! other one, and the commit decides whether the step still holds.

use std::time::SystemTime;

use crate::db::transaction::conditional::CompareAndSwap;
use crate::db::transaction::handle::{Reads, Transaction, TransactionKeyspace};
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
    /// use foldb::{Expires, Expiry, KeyspaceOptions};
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

    /// Sets the key to `new` if its value is `expected`; see
    /// [`TransactionKeyspace::compare_and_swap`].
    ///
    /// # Errors
    /// As [`TransactionKeyspace::compare_and_swap`].
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<CompareAndSwap> {
        self.default_keyspace().compare_and_swap(key, expected, new)
    }

    /// Sets an absent key. Returns whether it was absent.
    ///
    /// # Errors
    /// As [`TransactionKeyspace::compare_and_swap`].
    pub fn put_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.default_keyspace().put_if_absent(key, value)
    }

    /// Deletes a key, and returns the value that it had.
    ///
    /// # Errors
    /// As [`TransactionKeyspace::compare_and_swap`].
    pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.default_keyspace().take(key)
    }

    /// Deletes the first entry of a range, and returns it.
    ///
    /// # Errors
    /// As [`TransactionKeyspace::compare_and_swap`].
    pub fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>> {
        self.default_keyspace().take_first(range)
    }

    /// Merges an operand, and returns the value after it; see [`TransactionKeyspace::merge_get`].
    ///
    /// # Errors
    /// As [`TransactionKeyspace::merge_get`].
    pub fn merge_get(
        &self,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<Option<Value>> {
        self.default_keyspace().merge_get(key, operand)
    }
}

impl TransactionKeyspace<'_> {
    /// Returns when a key expires; `None` if the key is absent or never expires. Own writes count
    /// as made at the moment that the transaction reads. The key is claimed as by a get.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn expires_at(&self, key: impl AsRef<[u8]>) -> Result<Option<SystemTime>> {
        self.transaction.read(self.keyspace, |over| over.expires_at(key.as_ref()))
    }

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
    /// let transaction = db.begin(options)?;
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
    /// let transaction = db.begin(Default::default())?;
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

    /// Sets the key to `new` if its value is `expected`. `None` stands for an absent key. The read
    /// is claimed, with every isolation.
    ///
    /// # Errors
    /// As [`Transaction::get`] and [`Transaction::put`]; the transaction then has no further write.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.transact(|transaction| {
    ///     assert!(transaction.put_if_absent("state", "open")?);
    ///     let outcome = transaction.compare_and_swap("state", Some(b"open"), Some(b"closed"))?;
    ///     assert!(outcome.is_swapped());
    ///     Ok(())
    /// })?;
    /// assert_eq!(db.get("state")?.unwrap(), b"closed");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<CompareAndSwap> {
        let found = self.get_for_update(&key)?;
        if found.as_deref() != expected {
            return Ok(CompareAndSwap::Found(found));
        }
        match new {
            Some(new) => self.put(key, new)?,
            None => self.delete(key)?,
        }
        Ok(CompareAndSwap::Swapped)
    }

    /// Sets an absent key. Returns whether it was absent.
    ///
    /// # Errors
    /// As [`TransactionKeyspace::compare_and_swap`].
    pub fn put_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        if self.get_for_update(&key)?.is_some() {
            return Ok(false);
        }
        self.put(key, value)?;
        Ok(true)
    }

    /// Deletes a key, and returns the value that it had.
    ///
    /// # Errors
    /// As [`TransactionKeyspace::compare_and_swap`].
    pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        let found = self.get_for_update(&key)?;
        if found.is_some() {
            self.delete(key)?;
        }
        Ok(found)
    }

    /// Deletes the first entry of a range, and returns it; `None` if the range has no entry. With
    /// serializable isolation the commit conflicts if an entry came before it.
    ///
    /// # Errors
    /// As [`TransactionKeyspace::compare_and_swap`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// let running = db.create_keyspace("running", Default::default())?;
    /// db.put("task 1", "write")?;
    /// let task = db.transact(|transaction| {
    ///     let Some((key, task)) = transaction.take_first("task ".."task:")? else {
    ///         return Ok(None);
    ///     };
    ///     transaction.keyspace(&running).put(key, &task)?;
    ///     Ok(Some(task))
    /// })?;
    /// assert_eq!(task.unwrap(), b"write");
    /// assert!(running.contains_key("task 1")? && !db.contains_key("task 1")?);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>> {
        let first = self.range(range)?.at_front().next().transpose()?;
        if let Some((key, _)) = &first {
            self.delete(key)?;
        }
        Ok(first)
    }

    /// Merges an operand with the keyspace's default operator, and returns the value after it. The
    /// value is read, so the key is claimed, with every isolation.
    ///
    /// # Errors
    /// As [`Transaction::merge`] and [`Transaction::get`]; the transaction then has no further
    /// write. In particular `MergeFailed` if the operator rejects the operand.
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
    /// let ticket = db.transact(|transaction| {
    ///     let ticket = transaction.merge_get("ticket", 1u64.to_le_bytes())?.unwrap();
    ///     transaction.put(&ticket, "sold")?;
    ///     Ok(ticket)
    /// })?;
    /// assert_eq!(db.get(ticket)?.unwrap(), b"sold");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn merge_get(
        &self,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<Option<Value>> {
        let (key, operand) = (key.as_ref(), operand.as_ref());
        let operator = self.keyspace.state().default_operator()?;
        operator.check_operand(operand)?;
        let found = self.get_for_update(key)?;
        let merged = self.keyspace.core().merged(operator, key, found, operand)?;
        self.merge(key, operand)?;
        Ok(merged)
    }
}
