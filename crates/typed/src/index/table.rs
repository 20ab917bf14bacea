//! Tables that keep indexes.

mod expiring;
mod kept;

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use foldb::feed::UpdateOp;
use foldb::{Db, Error, KeyspaceOptions, KeyspaceReader, Result, Transaction, TransactionKeyspace};

use crate::borrowed::AsKey;
use crate::index::build::{self, build};
use crate::index::by::By;
use crate::index::{AnyIndex, Index, check_names, names_of};
use crate::key::{Key, decode};
use crate::range::{AsPrefix, AsRange};
use crate::schema;
use crate::table::{Entries, Table, TableUpdate};
use crate::value::{Format, Postcard};

pub(super) use kept::Kept;

/// A [`Table`] that also finds its entries by the keys of its [`Index`]es. Each write changes the
/// table and its indexes in one commit. Cloning is cheap.
///
/// A write reads the old value, so two writes to one key may conflict. They run again by
/// themselves.
pub struct IndexedTable<K, V, F = Postcard>(Arc<Inner<K, V, F>>);

struct Inner<K, V, F> {
    db: Db,
    name: String,
    table: Table<K, V, F>,
    /// Whether rows expire, and with each row its entries of the indexes.
    expires: bool,
    indexes: Vec<Kept<K, V>>,
}

impl<K, V, F> Clone for IndexedTable<K, V, F> {
    fn clone(&self) -> Self {
        IndexedTable(Arc::clone(&self.0))
    }
}

impl<K, V, F> fmt::Debug for IndexedTable<K, V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indexes: Vec<_> = self.0.indexes.iter().map(|kept| kept.index.name()).collect();
        f.debug_struct("IndexedTable")
            .field("table", &self.0.table)
            .field("indexes", &indexes)
            .finish()
    }
}

impl<K: Key, V, F: Format<V>> IndexedTable<K, V, F> {
    /// Opens a table with all of its indexes, and creates what is missing. An index that is new to
    /// a table with entries is built, in transactions of a thousand entries. An open after a kill
    /// continues.
    ///
    /// While an index is new, no older handle of the table may write: it does not know the index.
    ///
    /// # Errors
    /// `InvalidArgument` if the table has an index that is not declared, or one of another type; as
    /// [`Table::open`]. `Aborted` if two entries have one key of a unique index.
    pub fn open(db: &Db, name: &str, indexes: &[&dyn AnyIndex<K, V>]) -> Result<Self> {
        Self::open_with(db, name, KeyspaceOptions::default(), indexes)
    }

    /// Opens a table as [`IndexedTable::open`] does, and creates it with these options if it is
    /// missing. With an expiry, the entries of an index expire at the moment of their row. An index
    /// whose entries have another lifetime than the rows is built again.
    ///
    /// # Errors
    /// As [`IndexedTable::open`].
    pub fn open_with(
        db: &Db,
        name: &str,
        options: KeyspaceOptions,
        indexes: &[&dyn AnyIndex<K, V>],
    ) -> Result<Self> {
        check_names(indexes)?;
        let stored = names_of(db, name)?;
        let is_declared = |stored: &&String| indexes.iter().any(|index| index.name() == **stored);
        if let Some(missing) = stored.iter().find(|stored| !is_declared(stored)) {
            return Err(Error::invalid_argument(format!(
                "table '{name}' has an index '{missing}', which this open does not declare: \
                 declare it, or drop it with IndexedTable::drop_index"
            )));
        }
        let keyspace = schema::open(db, name, &Table::<K, V, F>::schema(), None, options)?;
        let expires = keyspace.options().expiry.is_some();
        let table = Table::of(keyspace);
        let mut kept = Vec::with_capacity(indexes.len());
        for index in indexes {
            kept.push(build(db, name, &table, index.shared())?);
        }
        let (db, name) = (db.clone(), name.to_owned());
        Ok(IndexedTable(Arc::new(Inner { db, name, table, expires, indexes: kept })))
    }

    /// Drops an index of a table. No handle of the table may be in use. After a kill, the index may
    /// be half dropped: drop it again, or open the table with it, which builds it again.
    ///
    /// # Errors
    /// `InvalidArgument` if the table has no such index; as [`Db::drop_keyspace`].
    pub fn drop_index(db: &Db, table: &str, index: &str) -> Result<()> {
        build::drop_index(db, table, index)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn get(&self, key: impl AsKey<K>) -> Result<Option<V>> {
        self.0.table.get(key)
    }

    /// Returns whether a key has a value.
    ///
    /// # Errors
    /// As [`Table::contains`].
    pub fn contains(&self, key: impl AsKey<K>) -> Result<bool> {
        self.0.table.contains(key)
    }

    /// Returns the entries of a range, in the order of the table's keys.
    ///
    /// # Errors
    /// As [`Table::range`].
    pub fn range(&self, range: impl AsRange<K>) -> Result<Entries<K, V, F>> {
        self.0.table.range(range)
    }

    /// Returns the entries whose keys begin with a prefix.
    ///
    /// # Errors
    /// As [`Table::prefix`].
    pub fn prefix(&self, prefix: impl AsPrefix<K>) -> Result<Entries<K, V, F>> {
        self.0.table.prefix(prefix)
    }

    /// Counts the entries of a range, one by one.
    ///
    /// # Errors
    /// As [`Table::count`].
    pub fn count(&self, range: impl AsRange<K>) -> Result<u64> {
        self.0.table.count(range)
    }

    /// Returns what a write of the change feed did to the table: see [`Table::decode`]. A write to
    /// an index is none of the table.
    ///
    /// # Errors
    /// As [`Table::decode`].
    pub fn decode(&self, op: &UpdateOp<'_>) -> Result<Option<TableUpdate<K, V>>> {
        self.0.table.decode(op)
    }

    /// Returns all entries, in the order of the table's keys.
    ///
    /// # Errors
    /// As [`Table::iter`].
    pub fn iter(&self) -> Result<Entries<K, V, F>> {
        self.0.table.iter()
    }

    /// Returns the entries by an index, as they are now: the index and the table at one moment.
    ///
    /// # Errors
    /// `InvalidArgument` if the table was opened without the index.
    pub fn by<I: Key + 'static>(
        &self,
        index: &Index<K, V, I>,
    ) -> Result<By<K, V, I, F, KeyspaceReader>>
    where
        K: 'static,
        V: 'static,
    {
        let kept = self.0.kept(index)?;
        let moment = self.0.db.snapshot();
        let rows = moment.keyspace(self.0.table.keyspace());
        Ok(By::new(moment.keyspace(&kept.keyspace), rows, index, self.0.expires))
    }

    /// Returns the table inside a transaction.
    pub fn within<'a>(&'a self, transaction: &'a Transaction) -> IndexedWithin<'a, K, V, F> {
        IndexedWithin { own: &self.0, transaction }
    }

    fn transact<T>(
        &self,
        mut work: impl FnMut(&IndexedWithin<'_, K, V, F>) -> Result<T>,
    ) -> Result<T> {
        self.0.db.transact(|transaction| work(&self.within(transaction)))
    }

    /// Sets the value of a key, and changes the indexes.
    ///
    /// # Errors
    /// As [`Table::put`]. `Aborted` if another entry has a key of a unique index. Nothing was
    /// written then.
    pub fn put(&self, key: impl AsKey<K>, value: impl Borrow<V>) -> Result<()> {
        let (key, value): (_, &V) = (crate::encode::<K>(key), value.borrow());
        self.transact(|own| own.replace(&key, Some(value)).map(drop))
    }

    /// Sets the value of an absent key. Returns whether it was absent.
    ///
    /// # Errors
    /// As [`IndexedTable::put`].
    pub fn put_if_absent(&self, key: impl AsKey<K>, value: impl Borrow<V>) -> Result<bool> {
        let (key, value): (_, &V) = (crate::encode::<K>(key), value.borrow());
        self.transact(|own| own.put_encoded_if_absent(&key, value))
    }

    /// Deletes a key. A missing key is no error.
    ///
    /// # Errors
    /// As [`IndexedTable::put`].
    pub fn delete(&self, key: impl AsKey<K>) -> Result<()> {
        self.take(key).map(drop)
    }

    /// Deletes a key, and returns the value that it had.
    ///
    /// # Errors
    /// As [`IndexedTable::put`].
    pub fn take(&self, key: impl AsKey<K>) -> Result<Option<V>> {
        let key = crate::encode::<K>(key);
        self.transact(|own| own.replace(&key, None))
    }

    /// Replaces a value by what `change` makes of it, and returns the new one: see
    /// [`Table::update`].
    ///
    /// # Errors
    /// As [`IndexedTable::put`].
    pub fn update(
        &self,
        key: impl AsKey<K>,
        mut change: impl FnMut(Option<V>) -> Option<V>,
    ) -> Result<Option<V>> {
        let key = crate::encode::<K>(key);
        self.transact(|own| own.update_encoded(&key, &mut change))
    }
}

impl<K: Key, V, F> Inner<K, V, F> {
    fn kept<I>(&self, index: &Index<K, V, I>) -> Result<&Kept<K, V>>
    where
        Index<K, V, I>: AnyIndex<K, V>,
    {
        let is_it = |kept: &&Kept<K, V>| {
            kept.index.name() == index.name() && kept.index.key_type() == index.key_type()
        };
        self.indexes.iter().find(is_it).ok_or_else(|| {
            let (name, index) = (&self.name, index.name());
            Error::invalid_argument(format!("table '{name}' was opened without index '{index}'"))
        })
    }
}

/// An [`IndexedTable`] inside a transaction.
pub struct IndexedWithin<'a, K, V, F = Postcard> {
    own: &'a Inner<K, V, F>,
    transaction: &'a Transaction,
}

impl<K, V, F> fmt::Debug for IndexedWithin<'_, K, V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IndexedWithin").field(&self.own.table).finish()
    }
}

impl<'a, K: Key, V, F: Format<V>> IndexedWithin<'a, K, V, F> {
    fn rows(&self) -> Table<K, V, F, TransactionKeyspace<'a>> {
        self.own.table.within(self.transaction)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn get(&self, key: impl AsKey<K>) -> Result<Option<V>> {
        self.rows().get(key)
    }

    /// Returns whether a key has a value.
    ///
    /// # Errors
    /// As [`Table::contains`].
    pub fn contains(&self, key: impl AsKey<K>) -> Result<bool> {
        self.rows().contains(key)
    }

    /// Returns the entries of a range, in the order of the table's keys.
    ///
    /// # Errors
    /// As [`Table::range`].
    pub fn range(&self, range: impl AsRange<K>) -> Result<Entries<K, V, F>> {
        self.rows().range(range)
    }

    /// Returns the entries by an index, with the writes of the transaction.
    ///
    /// # Errors
    /// As [`IndexedTable::by`].
    pub fn by<I: Key + 'static>(
        &self,
        index: &Index<K, V, I>,
    ) -> Result<By<K, V, I, F, TransactionKeyspace<'a>>>
    where
        K: 'static,
        V: 'static,
    {
        let kept = self.own.kept(index)?;
        let rows = self.transaction.keyspace(self.own.table.keyspace());
        let entries = self.transaction.keyspace(&kept.keyspace);
        Ok(By::new(entries, rows, index, self.own.expires))
    }

    /// Sets the value of a key, and changes the indexes.
    ///
    /// # Errors
    /// As [`IndexedTable::put`]. The transaction then has no further write.
    pub fn put(&self, key: impl AsKey<K>, value: impl Borrow<V>) -> Result<()> {
        self.replace(&crate::encode::<K>(key), Some(value.borrow())).map(drop)
    }

    /// Sets the value of an absent key. Returns whether it was absent.
    ///
    /// # Errors
    /// As [`IndexedWithin::put`].
    pub fn put_if_absent(&self, key: impl AsKey<K>, value: impl Borrow<V>) -> Result<bool> {
        self.put_encoded_if_absent(&crate::encode::<K>(key), value.borrow())
    }

    /// Deletes a key. A missing key is no error.
    ///
    /// # Errors
    /// As [`IndexedWithin::put`].
    pub fn delete(&self, key: impl AsKey<K>) -> Result<()> {
        self.take(key).map(drop)
    }

    /// Deletes a key, and returns the value that it had.
    ///
    /// # Errors
    /// As [`IndexedWithin::put`].
    pub fn take(&self, key: impl AsKey<K>) -> Result<Option<V>> {
        self.replace(&crate::encode::<K>(key), None)
    }

    /// Replaces a value by what `change` makes of it, and returns the new one.
    ///
    /// # Errors
    /// As [`IndexedWithin::put`].
    pub fn update(
        &self,
        key: impl AsKey<K>,
        change: impl FnOnce(Option<V>) -> Option<V>,
    ) -> Result<Option<V>> {
        self.update_encoded(&crate::encode::<K>(key), change)
    }

    fn put_encoded_if_absent(&self, key: &[u8], value: &V) -> Result<bool> {
        if self.find(key)?.is_some() {
            return Ok(false);
        }
        self.replace(key, Some(value)).map(|_| true)
    }

    fn update_encoded(
        &self,
        key: &[u8],
        change: impl FnOnce(Option<V>) -> Option<V>,
    ) -> Result<Option<V>> {
        let new = change(self.find(key)?);
        self.replace(key, new.as_ref())?;
        Ok(new)
    }

    /// Reads a value, and claims it with every isolation.
    fn find(&self, key: &[u8]) -> Result<Option<V>> {
        let found = self.transaction.keyspace(self.own.table.keyspace()).get_for_update(key)?;
        found.map(F::decode).transpose()
    }

    /// Replaces a value and returns the old one. After an error the transaction has no further
    /// write.
    fn replace(&self, key: &[u8], new: Option<&V>) -> Result<Option<V>> {
        let old = self.find(key)?;
        self.all_or_nothing(|| self.write(key, old.as_ref(), new))?;
        Ok(old)
    }

    /// Does some writes. After an error, none of them stays in the transaction. If the lifetime of
    /// the rows changes meanwhile, they are done again.
    fn all_or_nothing<T>(&self, write: impl Fn() -> Result<T>) -> Result<T> {
        loop {
            let expiry = self.own.expiry_of_all()?;
            let savepoint = self.transaction.savepoint();
            let outcome = write();
            let is_over = outcome.is_err() || self.own.all_expire_as(expiry);
            if outcome.is_err() || !is_over {
                self.transaction.rollback_to(savepoint)?;
            }
            self.transaction.release(savepoint);
            if is_over {
                return outcome;
            }
        }
    }

    fn write(&self, key: &[u8], old: Option<&V>, new: Option<&V>) -> Result<()> {
        let typed: K = decode(key)?;
        let rows = self.transaction.keyspace(self.own.table.keyspace());
        for kept in &self.own.indexes {
            let keys_of = |value: Option<&V>| {
                value.map_or_else(Vec::new, |value| kept.index.keys(&typed, value))
            };
            let (before, after) = (keys_of(old), keys_of(new));
            for own in before.iter().filter(|own| after.binary_search(own).is_err()) {
                kept.remove(self.transaction, own, key)?;
            }
            // Where rows expire, each put gives a row a new end, and so its entries.
            let is_new = |own: &&Vec<u8>| self.own.expires || before.binary_search(own).is_err();
            for own in after.iter().filter(is_new) {
                kept.add::<F>(self.transaction, &rows, own, key)?;
            }
        }
        match new {
            Some(new) => rows.put(key, F::encode(new)?),
            None if old.is_some() => rows.delete(key),
            None => Ok(()),
        }
    }
}
