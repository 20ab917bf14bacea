//! Reading, as one interface: what databases, keyspaces, snapshots, transactions and read-only
//! databases share.
//!
//! Each handle gives a keyspace and read options, from which [`read_with!`] makes its [`Reader`].
//! [`inherent_reads!`] repeats the methods of the trait on the handle itself, so that a program
//! that names the handle's type needs no import of the trait.

use crate::db::read::operands::Operands;
use crate::error::{Error, Result};
use crate::iterator::{Bounds, Iter};
use crate::key::{AsKeyRange, Comparator};
use crate::value::Value;

/// Something that can be read like one ordered map: a [`Db`](crate::Db), a
/// [`Keyspace`](crate::Keyspace), a [`Snapshot`](crate::Snapshot), a
/// [`KeyspaceReader`](crate::KeyspaceReader), a [`ReadOnlyDb`](crate::ReadOnlyDb) or a
/// [`Transaction`](crate::Transaction). A database, a snapshot and a transaction read the keyspace
/// `default`.
///
/// A function over `impl Reader` reads all of them. Each of these types also has the methods of the
/// trait as its own, so only generic code imports the trait.
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
    /// #     merge_operator: Some("stringappend:,".to_owned()),
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

    /// Returns the order of the keys.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use foldb::Comparator;
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

    fn comparator(&self) -> &dyn Comparator {
        (**self).comparator()
    }
}

/// Implements [`Reader`] for a handle that reads a [`Keyspace`](crate::Keyspace) with
/// [`ReadOptions`](crate::ReadOptions).
macro_rules! read_with {
    ($handle:ty, |$own:ident| $keyspace:expr, $options:expr) => {
        const _: () = {
            use $crate::db::handle::reader::Reader;
            use $crate::db::read::operands::Operands;
            use $crate::error::Result;
            use $crate::iterator::Iter;
            use $crate::key::{AsKeyRange, Comparator};
            use $crate::value::Value;
            impl Reader for $handle {
                #[inline]
                fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
                    let $own = self;
                    $keyspace.get_opt(key, $options)
                }

                fn multi_get<K: AsRef<[u8]>>(
                    &self,
                    keys: impl IntoIterator<Item = K>,
                ) -> Result<Vec<Result<Option<Value>>>> {
                    let $own = self;
                    $keyspace.multi_get_opt(keys, $options)
                }

                fn range(&self, range: impl AsKeyRange) -> Result<Iter> {
                    let $own = self;
                    $keyspace.range_opt(range, $options)
                }

                fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
                    let $own = self;
                    $keyspace.get_operands_opt(key, $options)
                }

                fn comparator(&self) -> &dyn Comparator {
                    let $own = self;
                    &*$keyspace.state().comparator
                }
            }
        };
    };
}
pub(crate) use read_with;

/// Gives a handle that is a [`Reader`] the trait's methods as its own.
macro_rules! inherent_reads {
    ($handle:ty) => {
        const _: () = {
            use $crate::db::handle::reader::Reader;
            use $crate::db::read::operands::Operands;
            use $crate::error::Result;
            use $crate::iterator::Iter;
            use $crate::key::{AsKeyRange, Comparator};
            use $crate::value::Value;
            impl $handle {
                /// Reads a key: see [`Reader::get`](crate::Reader::get).
                ///
                /// # Errors
                /// As [`Reader::get`](crate::Reader::get).
                #[inline]
                pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
                    Reader::get(self, key)
                }

                /// Reads several keys at one moment: see
                /// [`Reader::multi_get`](crate::Reader::multi_get).
                ///
                /// # Errors
                /// As [`Reader::multi_get`](crate::Reader::multi_get).
                pub fn multi_get<K: AsRef<[u8]>>(
                    &self,
                    keys: impl IntoIterator<Item = K>,
                ) -> Result<Vec<Result<Option<Value>>>> {
                    Reader::multi_get(self, keys)
                }

                /// Returns an iterator over the entries whose keys lie in a range: see
                /// [`Reader::range`](crate::Reader::range).
                ///
                /// # Errors
                /// As [`Reader::range`](crate::Reader::range).
                pub fn range(&self, range: impl AsKeyRange) -> Result<Iter> {
                    Reader::range(self, range)
                }

                /// Reads the base and the operands of a key without folding them: see
                /// [`Reader::get_operands`](crate::Reader::get_operands).
                ///
                /// # Errors
                /// As [`Reader::get_operands`](crate::Reader::get_operands).
                pub fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
                    Reader::get_operands(self, key)
                }

                /// Returns the order of the keys.
                pub fn comparator(&self) -> &dyn Comparator {
                    Reader::comparator(self)
                }

                /// Returns whether a key has a value: see
                /// [`Reader::contains_key`](crate::Reader::contains_key).
                ///
                /// # Errors
                /// As [`Reader::contains_key`](crate::Reader::contains_key).
                pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
                    Reader::contains_key(self, key)
                }

                /// Returns an iterator over all entries: see [`Reader::iter`](crate::Reader::iter).
                ///
                /// # Errors
                /// As [`Reader::iter`](crate::Reader::iter).
                pub fn iter(&self) -> Result<Iter> {
                    Reader::iter(self)
                }

                /// Returns an iterator over the entries whose keys begin with `prefix`: see
                /// [`Reader::prefix`](crate::Reader::prefix).
                ///
                /// # Errors
                /// As [`Reader::prefix`](crate::Reader::prefix).
                pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Iter> {
                    Reader::prefix(self, prefix)
                }

                /// Returns the entry with the smallest key: see
                /// [`Reader::first`](crate::Reader::first).
                ///
                /// # Errors
                /// As [`Reader::first`](crate::Reader::first).
                pub fn first(&self) -> Result<Option<(Vec<u8>, Value)>> {
                    Reader::first(self)
                }

                /// Returns the entry with the largest key: see
                /// [`Reader::last`](crate::Reader::last).
                ///
                /// # Errors
                /// As [`Reader::last`](crate::Reader::last).
                pub fn last(&self) -> Result<Option<(Vec<u8>, Value)>> {
                    Reader::last(self)
                }

                /// Returns whether there is no entry: see
                /// [`Reader::is_empty`](crate::Reader::is_empty).
                ///
                /// # Errors
                /// As [`Reader::is_empty`](crate::Reader::is_empty).
                pub fn is_empty(&self) -> Result<bool> {
                    Reader::is_empty(self)
                }
            }
        };
    };
}
pub(crate) use inherent_reads;
