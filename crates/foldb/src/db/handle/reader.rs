//! Reading, as one interface: what databases, keyspaces, snapshots, transactions and read-only
//! databases share.
//!
//! [`crate::db::handle::reads`] implements it, and repeats its methods on the handles themselves.

use std::time::SystemTime;

use crate::db::read::operands::Operands;
use crate::error::{Error, Result};
use crate::iterator::{Bounds, Iter};
use crate::key::{AsKeyRange, Comparator};
use crate::value::Value;

/// Something that can be read like one ordered map: a [`Db`](crate::Db), a
/// [`Keyspace`](crate::Keyspace), a [`Snapshot`](crate::Snapshot), a
/// [`KeyspaceReader`](crate::KeyspaceReader), a [`ReadOnlyDb`](crate::ReadOnlyDb) or a
/// [`Transaction`](crate::Transaction). A database, a snapshot and a transaction read the keyspace
/// `default`. A handle with [`ReadOptions`](crate::ReadOptions) is a reader too: see
/// [`With`](crate::With).
///
/// A function over `impl Reader` reads all of them. Each of these types also has the methods of the
/// trait as its own, so only generic code imports the trait.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options {
/// #     create_if_missing: true,
/// #     default: foldb::KeyspaceOptions::with_operator("uint64add"),
/// #     ..Default::default()
/// # };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::{Reader, Result};
///
/// fn total(accounts: &impl Reader) -> Result<u64> {
///     let mut sum = 0;
///     for entry in accounts.prefix("account/")? {
///         let (_, balance) = entry?;
///         sum += u64::from_le_bytes(balance[..].try_into().unwrap());
///     }
///     Ok(sum)
/// }
///
/// db.merge("account/ann", 5u64.to_le_bytes())?;
/// let before = db.snapshot();
/// db.merge("account/bob", 7u64.to_le_bytes())?;
/// assert_eq!(total(&db)?, 12);
/// assert_eq!(total(db.default_keyspace())?, 12);
/// assert_eq!(total(&before)?, 5);
/// # Ok::<(), foldb::Error>(())
/// ```
pub trait Reader {
    /// Reads a key.
    ///
    /// # Errors
    /// `MergeFailed` if its operands cannot be applied; only this key is affected. `Corruption`,
    /// `Io`, `Closed`. `InvalidArgument` for a key that the comparator cannot compare, and for a
    /// snapshot of another database. `KeyspaceDropped` if the keyspace no longer exists.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("key", "value")?;
    /// assert_eq!(db.get("key")?.unwrap(), b"value");
    /// assert_eq!(db.get("other")?, None);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>>;

    /// Reads several keys at one moment, and returns their values in the order of the keys. Each
    /// key has its own result: a failed merge or a damaged block fails only the keys it concerns.
    /// Neighbouring keys are read faster than by single reads. A key may occur more than once.
    ///
    /// # Errors
    /// `Closed`, and `InvalidArgument` as for [`Reader::get`]. The result of each key has the other
    /// errors of [`Reader::get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("a", "1")?;
    /// db.put("c", "3")?;
    /// let values = db.multi_get(["c", "b", "a"])?.into_iter().collect::<foldb::Result<Vec<_>>>()?;
    /// assert_eq!(values, [Some(b"3".as_slice().into()), None, Some(b"1".as_slice().into())]);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn multi_get<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Result<Option<Value>>>>;

    /// Returns an iterator over the entries whose keys lie in a range. A range that ends before it
    /// starts has none. ([`crate::Keyspace::delete_range`] refuses such a range.)
    ///
    /// # Errors
    /// `Closed`. `InvalidArgument` as for [`Reader::get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// for key in ["a", "b", "c"] {
    ///     db.put(key, "")?;
    /// }
    /// let mut entries = db.range("a"..="b")?;
    /// assert_eq!(entries.next().unwrap()?.0, b"a");
    /// assert_eq!(entries.next().unwrap()?.0, b"b");
    /// assert!(entries.next().is_none());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn range(&self, range: impl AsKeyRange) -> Result<Iter>;

    /// Reads the base and the operands of a key without folding them. The call works even if the
    /// merge of the key fails.
    ///
    /// # Errors
    /// As [`Reader::get`], without `MergeFailed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     default: foldb::KeyspaceOptions::with_operator("stringappend:,"),
    /// #     ..Default::default()
    /// # };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// db.put("colours", "red")?;
    /// db.merge("colours", "green")?;
    /// assert_eq!(db.get_operands("colours")?.len(), 1);
    /// assert_eq!(db.get("colours")?.unwrap(), b"red,green");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands>;

    /// Returns when a key expires; `None` if the key is absent or never expires. The moment is
    /// rounded up: see [`Expiry`](crate::expiry::Expiry).
    ///
    /// # Errors
    /// As [`Reader::get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::{Duration, SystemTime};
    /// use foldb::expiry::Expiry;
    /// use foldb::KeyspaceOptions;
    ///
    /// let expiry = Some(Expiry::after_last_write(Duration::from_secs(60)));
    /// let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    /// let cache = db.create_keyspace("cache", options)?;
    /// cache.put("page", "…")?;
    /// assert!(cache.expires_at("page")?.unwrap() > SystemTime::now());
    /// assert_eq!(cache.expires_at("other")?, None);
    ///
    /// let then = db.snapshot().keyspace(&cache);
    /// cache.delete("page")?;
    /// assert!(then.expires_at("page")?.is_some() && cache.expires_at("page")?.is_none());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn expires_at(&self, key: impl AsRef<[u8]>) -> Result<Option<SystemTime>>;

    /// Returns the order of the keys.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use foldb::custom::Comparator;
    ///
    /// assert!(db.comparator().bytewise_order());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn comparator(&self) -> &dyn Comparator;

    /// Returns whether a key has a value that [`Reader::get`] would return.
    ///
    /// # Errors
    /// As [`Reader::get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("key", "")?;
    /// assert!(db.contains_key("key")?);
    /// db.clear()?;
    /// assert!(!db.contains_key("key")?);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }

    /// Returns an iterator over all entries.
    ///
    /// # Errors
    /// As [`Reader::range`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("a", "1")?;
    /// db.put("b", "2")?;
    /// for entry in db.iter()? {
    ///     let (key, value) = entry?;
    ///     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
    /// }
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn iter(&self) -> Result<Iter> {
        self.range(..)
    }

    /// Returns an iterator over the entries whose keys begin with `prefix`.
    ///
    /// # Errors
    /// As [`Reader::range`]; `InvalidArgument` if the keys are not in byte order.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// for key in ["user/ann", "user/bob", "visits"] {
    ///     db.put(key, "")?;
    /// }
    /// assert_eq!(db.prefix("user/")?.count(), 2);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Iter> {
        let comparator = self.comparator();
        if !comparator.bytewise_order() {
            return Err(Error::invalid_argument(format!(
                "a prefix is not a key range in the order of comparator '{}': use a range instead",
                comparator.name()
            )));
        }
        let Bounds { lower, upper } = Bounds::of_prefix(prefix.as_ref());
        self.range((lower, upper))
    }

    /// Returns the entry with the smallest key; `None` if there is no entry.
    ///
    /// # Errors
    /// As [`Reader::get`]. A failed merge of the first key is an error; the call does not skip to
    /// the next key.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// assert!(db.first()?.is_none());
    /// db.put("b", "2")?;
    /// db.put("a", "1")?;
    /// let (key, value) = db.first()?.unwrap();
    /// assert_eq!((&key[..], &value[..]), (&b"a"[..], &b"1"[..]));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn first(&self) -> Result<Option<(Vec<u8>, Value)>> {
        self.iter()?.at_front().next().transpose()
    }

    /// Returns the entry with the largest key; `None` if there is no entry.
    ///
    /// # Errors
    /// As [`Reader::first`], for the last key.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// assert!(db.last()?.is_none());
    /// db.put("b", "2")?;
    /// db.put("a", "1")?;
    /// let (key, value) = db.last()?.unwrap();
    /// assert_eq!((&key[..], &value[..]), (&b"b"[..], &b"2"[..]));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn last(&self) -> Result<Option<(Vec<u8>, Value)>> {
        self.iter()?.at_front().next_back().transpose()
    }

    /// Returns whether there is no entry. A key whose merge fails is an entry.
    ///
    /// # Errors
    /// As [`Reader::range`]; `Corruption`, `Io`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// assert!(db.is_empty()?);
    /// db.put("key", "value")?;
    /// assert!(!db.is_empty()?);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn is_empty(&self) -> Result<bool> {
        Ok(!self.iter()?.at_front().seek_to_first()?)
    }
}

impl<R: Reader> Reader for &R {
    fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        (**self).get(key)
    }

    fn multi_get<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Result<Option<Value>>>> {
        (**self).multi_get(keys)
    }

    fn range(&self, range: impl AsKeyRange) -> Result<Iter> {
        (**self).range(range)
    }

    fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
        (**self).get_operands(key)
    }

    fn expires_at(&self, key: impl AsRef<[u8]>) -> Result<Option<SystemTime>> {
        (**self).expires_at(key)
    }

    fn comparator(&self) -> &dyn Comparator {
        (**self).comparator()
    }
}
