//! Tables: typed keys and values over a keyspace.
//!
//! A table is a handle and types. What it stands on says which calls it has: a keyspace, a keyspace
//! with options, one inside a transaction, or one that is only read.

mod decode;
mod entries;
mod expiring;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use foldb::feed::UpdateOp;
use foldb::{
    CompareAndSwap, Db, Error, ErrorKind, Keyspace, KeyspaceOptions, KeyspaceReader, ReadOnlyDb,
    Reader, Result, Transaction, TransactionKeyspace,
};

use crate::access::{BlindWrites, CallOptions, Writes};
use crate::batch::{Batch, Batched};
use crate::borrowed::AsKey;
use crate::key::{Key, decode};
use crate::range::{AsPrefix, AsRange, EncodedRange};
use crate::schema::{self, Schema};
use crate::value::{AsValue, Encodes, Format, Postcard};

pub use decode::TableUpdate;
pub use entries::Entries;
pub(crate) use entries::Types;

/// Most times that [`Table::update`] begins again, as many as the engine's own.
const MOST_LOSSES: u32 = 100;

/// A map from keys of type `K` to values of type `V`, in the order of the keys. It is a keyspace of
/// its own, which stores how both are encoded.
///
/// `F` is the format of the values: [`Postcard`] for types of serde, or [`Raw`](crate::Raw). `A` is
/// what the table stands on: see [`Table::within`], [`Table::with`] and [`Table::read`]. A table
/// has no `len`: the engine would have to count its entries one by one.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use foldb_typed::{Table, foldb::Db};
///
/// let db = Db::create(dir.path().join("db"))?;
/// let people = Table::<(String, u32), String>::open(&db, "people")?;
/// people.put(("berlin", 2), "bob")?;
/// people.put(("berlin", 1), "ada")?;
/// people.put(("paris", 1), "cid")?;
/// assert_eq!(people.get(("paris", 1))?.as_deref(), Some("cid"));
/// for person in people.range(("berlin", ..))?.rev() {
///     let ((city, number), name) = person?;
///     println!("{city} {number}: {name}");
/// }
/// # Ok::<(), foldb_typed::Error>(())
/// ```
pub struct Table<K, V, F = Postcard, A = Keyspace> {
    access: A,
    /// Why writes fail: the indexes that this handle does not keep.
    refusal: Option<Arc<str>>,
    types: Types<(K, V, F)>,
}

impl<K, V, F, A: Clone> Clone for Table<K, V, F, A> {
    fn clone(&self) -> Self {
        self.over(self.access.clone())
    }
}

impl<K, V, F, A: fmt::Debug> fmt::Debug for Table<K, V, F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Table").field(&self.access).finish()
    }
}

impl<K, V, F, A> Table<K, V, F, A> {
    /// Returns the same table over another handle.
    fn over<B>(&self, access: B) -> Table<K, V, F, B> {
        Table { access, refusal: self.refusal.clone(), types: PhantomData }
    }

    /// Makes a table over a handle whose schema was checked.
    pub(crate) fn of(access: A) -> Table<K, V, F, A> {
        Table { access, refusal: None, types: PhantomData }
    }

    pub(crate) fn refusing(self, refusal: Option<Arc<str>>) -> Self {
        Table { refusal, ..self }
    }
}

impl<K: Key, V, F: Format<V>> Table<K, V, F> {
    /// Returns the text that is stored with the table. A program that keeps a table in the keyspace
    /// `default` gives it as [`KeyspaceOptions::schema`] when it creates the database.
    pub fn schema() -> Schema {
        Schema { keys: K::schema(), values: F::schema() }
    }

    /// Opens a table, and creates it if it is missing.
    ///
    /// # Errors
    /// `InvalidArgument` if the keyspace of this name has other types of keys, or another format of
    /// values. As [`Db::keyspace_or_create`].
    pub fn open(db: &Db, name: &str) -> Result<Self> {
        Self::open_with(db, name, KeyspaceOptions::default())
    }

    /// Opens a table, and creates it with these options if it is missing. The table sets the order,
    /// the operator and the schema itself.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub fn open_with(db: &Db, name: &str, options: KeyspaceOptions) -> Result<Self> {
        let refusal = crate::index::refusal(db, name)?;
        let keyspace = schema::open(db, name, &Self::schema(), None, options)?;
        Ok(Table::of(keyspace).refusing(refusal))
    }

    /// Returns a table of a database that is only read.
    ///
    /// # Errors
    /// `KeyspaceMissing`; `InvalidArgument` as [`Table::open`].
    pub fn read(db: &ReadOnlyDb, name: &str) -> Result<Table<K, V, F, KeyspaceReader>> {
        schema::read(db, name, &Self::schema()).map(Table::of)
    }
}

impl<K: Key, V, F: Format<V>> Table<K, V, F> {
    /// Returns what a write of the change feed did to the table; `None` if it wrote another
    /// keyspace.
    ///
    /// # Errors
    /// `Corruption` if the bytes are no such key or value. `InvalidArgument` for a merge: only the
    /// untyped calls write one to a table.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb_typed::foldb::feed::{Change, Position};
    /// use foldb_typed::foldb::{Db, Options};
    /// use foldb_typed::{Table, TableUpdate};
    ///
    /// let options = Options {
    ///     create_if_missing: true,
    ///     wal_retention_bytes: 64 << 20,
    ///     ..Options::default()
    /// };
    /// let db = Db::open(dir.path().join("db"), options)?;
    /// let people = Table::<(String, u32), String>::open(&db, "people")?;
    /// people.put(("berlin", 1), "ada")?;
    /// db.put("other", "keyspace")?;
    /// people.delete(("paris", 2))?;
    /// people.delete_range(("rome", ..))?;
    /// db.sync()?;
    ///
    /// let mut seen = Vec::new();
    /// for update in db.updates_since(&Position::BEGINNING)? {
    ///     let Change::Batch(batch) = update?.change else { continue };
    ///     for op in batch.iter() {
    ///         match people.decode(&op)? {
    ///             Some(TableUpdate::Put { key, value, .. }) => {
    ///                 seen.push(format!("{}: {value}", key.0));
    ///             }
    ///             Some(TableUpdate::Delete { key }) => seen.push(format!("no {}", key.0)),
    ///             Some(TableUpdate::DeleteRange(range)) => {
    ///                 assert!(range.contains::<(String, u32)>(("rome", 7)));
    ///             }
    ///             _ => {}
    ///         }
    ///     }
    /// }
    /// assert_eq!(seen, ["berlin: ada", "no paris"]);
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn decode(&self, op: &UpdateOp<'_>) -> Result<Option<TableUpdate<K, V>>> {
        match op.keyspace() == self.access.name() {
            true => decode::decoded::<K, V, F>(op).map(Some),
            false => Ok(None),
        }
    }
}

impl<K, V, F> Table<K, V, F> {
    /// Returns the keyspace, for what a table does not have.
    pub fn keyspace(&self) -> &Keyspace {
        &self.access
    }

    /// Returns the table inside a transaction.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
    /// use foldb_typed::{Error, Table};
    ///
    /// let stock = Table::<String, u32>::open(&db, "stock")?;
    /// let orders = Table::<u64, String>::open(&db, "orders")?;
    /// stock.put("pen", 1)?;
    /// let order = |number: u64| {
    ///     db.transact(|transaction| {
    ///         let (stock, orders) = (stock.within(transaction), orders.within(transaction));
    ///         let left = stock.get("pen")?.unwrap_or(0);
    ///         stock.put("pen", left.checked_sub(1).ok_or_else(|| Error::aborted("none left"))?)?;
    ///         orders.put(number, "pen")
    ///     })
    /// };
    /// order(1)?;
    /// assert!(order(2).is_err() && !orders.contains(2)?);
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn within<'a>(
        &'a self,
        transaction: &'a Transaction,
    ) -> Table<K, V, F, TransactionKeyspace<'a>> {
        self.over(transaction.keyspace(&self.access))
    }

    /// Returns the table in a batch: see [`Batch`].
    pub fn in_batch<'a>(&'a self, batch: &'a Batch) -> Table<K, V, F, Batched<'a>> {
        self.over(batch.over(&self.access))
    }

    /// Returns the table with [`foldb::ReadOptions`] for its reads, or [`foldb::WriteOptions`] for
    /// its writes.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
    /// use foldb_typed::Table;
    /// use foldb_typed::foldb::{ReadOptions, WriteOptions};
    ///
    /// let table = Table::<u32, u32>::open(&db, "table")?;
    /// let durable = WriteOptions { sync: true, ..WriteOptions::default() };
    /// table.with(&durable).put(1, 10)?;
    /// let then = ReadOptions { snapshot: Some(db.snapshot()), ..ReadOptions::default() };
    /// table.put(1, 11)?;
    /// assert_eq!(table.with(&then).get(1)?, Some(10));
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn with<'a, O: CallOptions>(&'a self, options: &'a O) -> Table<K, V, F, O::Handle<'a>> {
        self.over(options.over(&self.access))
    }
}

impl<K: Key, V, F: Format<V>, A: Reader> Table<K, V, F, A> {
    /// Reads a value.
    ///
    /// # Errors
    /// As [`Reader::get`]; `Corruption` if the bytes are no such value.
    pub fn get(&self, key: impl AsKey<K>) -> Result<Option<V>> {
        self.access.get(crate::encode::<K>(key))?.map(F::decode).transpose()
    }

    /// Returns whether a key has a value.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn contains(&self, key: impl AsKey<K>) -> Result<bool> {
        self.access.contains_key(crate::encode::<K>(key))
    }

    /// Returns the entries of a range, from both ends.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn range(&self, range: impl AsRange<K>) -> Result<Entries<K, V, F>> {
        self.entries(&range.encode_range(&[]))
    }

    /// Returns the entries whose keys begin with a prefix.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn prefix(&self, prefix: impl AsPrefix<K>) -> Result<Entries<K, V, F>> {
        let mut bytes = Vec::new();
        prefix.encode_prefix(&mut bytes);
        self.entries(&EncodedRange::of_prefix(bytes))
    }

    /// Counts the entries of a range, one by one. No value is decoded.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn count(&self, range: impl AsRange<K>) -> Result<u64> {
        crate::range::count(&self.access, &range.encode_range(&[]))
    }

    /// Returns all entries.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn iter(&self) -> Result<Entries<K, V, F>> {
        self.range(..)
    }

    fn entries(&self, range: &EncodedRange) -> Result<Entries<K, V, F>> {
        self.access.range(range.bounds()).map(Entries::of)
    }
}

impl<K: Key, V, F: Format<V>, A: BlindWrites> Table<K, V, F, A> {
    /// # Errors
    /// `InvalidArgument` if the table has indexes that this handle does not keep.
    fn check_may_write(&self) -> Result<()> {
        self.refusal.as_ref().map_or(Ok(()), |why| Err(Error::invalid_argument(&**why)))
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// As [`Keyspace::put`]. `InvalidArgument` for a value that the format cannot write, and if the
    /// table has indexes that this handle does not keep.
    pub fn put<Q: AsValue<V>>(&self, key: impl AsKey<K>, value: Q) -> Result<()>
    where
        F: Encodes<Q::Form>,
    {
        self.check_may_write()?;
        self.access.put(&crate::encode::<K>(key), &F::encode(value.as_form())?)
    }

    /// Deletes a key. A missing key is no error.
    ///
    /// # Errors
    /// As [`Table::put`].
    pub fn delete(&self, key: impl AsKey<K>) -> Result<()> {
        self.check_may_write()?;
        self.access.delete(&crate::encode::<K>(key))
    }

    /// Deletes all keys of a range, in one write.
    ///
    /// # Errors
    /// As [`Keyspace::delete_range`].
    pub fn delete_range(&self, range: impl AsRange<K>) -> Result<()> {
        self.check_may_write()?;
        self.access.delete_range(range.encode_range(&[]).bounds())
    }
}

impl<K: Key, V, F: Format<V>, A: Writes> Table<K, V, F, A> {
    /// Sets the value of an absent key. Returns whether it was absent.
    ///
    /// # Errors
    /// As [`Table::put`].
    pub fn put_if_absent<Q: AsValue<V>>(&self, key: impl AsKey<K>, value: Q) -> Result<bool>
    where
        F: Encodes<Q::Form>,
    {
        self.check_may_write()?;
        self.access.put_if_absent(&crate::encode::<K>(key), &F::encode(value.as_form())?)
    }

    /// Deletes a key, and returns the value that it had.
    ///
    /// # Errors
    /// As [`Table::put`]. If the value cannot be decoded, the key is deleted all the same.
    pub fn take(&self, key: impl AsKey<K>) -> Result<Option<V>> {
        self.check_may_write()?;
        self.access.take(&crate::encode::<K>(key))?.map(F::decode).transpose()
    }

    /// Deletes the first entry of a range, and returns it.
    ///
    /// # Errors
    /// As [`Table::take`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
    /// let tasks = foldb_typed::Table::<(u8, u64), String>::open(&db, "tasks")?;
    /// tasks.put((2, 1), "sweep")?;
    /// tasks.put((1, 2), "cook")?;
    /// assert_eq!(tasks.take_first(..)?, Some(((1, 2), "cook".to_owned())));
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn take_first(&self, range: impl AsRange<K>) -> Result<Option<(K, V)>> {
        self.check_may_write()?;
        let taken = self.access.take_first(range.encode_range(&[]).bounds())?;
        taken.map(|(key, value)| Ok((decode(&key)?, F::decode(value)?))).transpose()
    }

    /// Replaces a value by what `change` makes of it, and returns the new one. `None` stands for an
    /// absent key. No other write comes in between; after one, `change` runs again.
    ///
    /// # Errors
    /// As [`Table::put`] and [`Table::get`]; nothing was written then. `Busy` after a hundred
    /// writes that came in between.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
    /// let paths = foldb_typed::Table::<u32, Vec<String>>::open(&db, "paths")?;
    /// let longer = paths.update(7, |path| {
    ///     let mut path = path.unwrap_or_default();
    ///     path.push("home".to_owned());
    ///     Some(path)
    /// })?;
    /// assert_eq!(longer.unwrap(), ["home"]);
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn update(
        &self,
        key: impl AsKey<K>,
        mut change: impl FnMut(Option<V>) -> Option<V>,
    ) -> Result<Option<V>> {
        self.check_may_write()?;
        let key = crate::encode::<K>(key);
        let mut found = self.access.find(&key)?;
        for _ in 0..MOST_LOSSES {
            let value = change(found.clone().map(F::decode).transpose()?);
            let new = value.as_ref().map(F::encode).transpose()?;
            if new.is_none() && found.is_none() {
                return Ok(None);
            }
            match self.access.compare_and_swap(&key, found.as_deref(), new.as_deref())? {
                CompareAndSwap::Swapped => {
                    drop(new);
                    return Ok(value);
                }
                CompareAndSwap::Found(other) => found = other,
            }
        }
        Err(Error::new(ErrorKind::Busy, "nothing was written: other writes kept changing the key"))
    }
}
