//! Tables whose values change by merges.

use std::fmt;
use std::marker::PhantomData;

use foldb::{
    Db, Iter, Keyspace, KeyspaceOptions, KeyspaceReader, ReadOnlyDb, Reader, Result, Transaction,
    TransactionKeyspace, Value,
};

use crate::access::{BlindWrites, CallOptions, Writes};
use crate::batch::{Batch, Batched};
use crate::borrowed::AsKey;
use crate::key::{Key, decode};
use crate::merge::Merged;
use crate::range::{AsPrefix, AsRange, EncodedRange};
use crate::schema::{self, Schema};

/// A map from keys of type `K` to values that merges change, as `M` says. A merge reads nothing, so
/// merges never conflict. `A` is what the table stands on, as for a [`Table`](crate::Table).
///
/// Beside [`MergeTable::merge`], each kind of value has calls of its own: `add`, `insert`, `push`.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use foldb_typed::{LastN, Max, MergeTable, Set, foldb::Db};
///
/// let db = Db::create(dir.path().join("db"))?;
/// let tags = MergeTable::<u64, Set<String>>::open(&db, "tags")?;
/// tags.insert(7, "red")?;
/// tags.insert(7, "blue")?;
/// tags.remove(7, "red")?;
/// assert_eq!(tags.get(7)?.unwrap().into_iter().collect::<Vec<_>>(), ["blue"]);
///
/// let best = MergeTable::<String, Max<i32>>::open(&db, "best")?;
/// let recent = MergeTable::<String, LastN<i32, 2>>::open(&db, "recent")?;
/// db.transact(|transaction| {
///     for score in [3, 9, -4] {
///         best.within(transaction).merge("ann", &score)?;
///         recent.within(transaction).push("ann", &score)?;
///     }
///     Ok(())
/// })?;
/// assert_eq!(best.get("ann")?, Some(9));
/// assert_eq!(recent.get("ann")?.unwrap(), [9, -4]);
/// # Ok::<(), foldb_typed::Error>(())
/// ```
pub struct MergeTable<K, M, A = Keyspace> {
    access: A,
    types: PhantomData<fn() -> (K, M)>,
}

impl<K, M, A: Clone> Clone for MergeTable<K, M, A> {
    fn clone(&self) -> Self {
        Self::of(self.access.clone())
    }
}

impl<K, M, A: fmt::Debug> fmt::Debug for MergeTable<K, M, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MergeTable").field(&self.access).finish()
    }
}

impl<K, M, A> MergeTable<K, M, A> {
    pub(crate) fn access(&self) -> &A {
        &self.access
    }

    fn of(access: A) -> MergeTable<K, M, A> {
        MergeTable { access, types: PhantomData }
    }
}

impl<K: Key, M: Merged> MergeTable<K, M> {
    /// Returns the text that is stored with the table.
    pub fn schema() -> Schema {
        Schema { keys: K::schema(), values: M::schema() }
    }

    /// Opens a table, and creates it if it is missing.
    ///
    /// # Errors
    /// `InvalidArgument` if the keyspace of this name has other types of keys or values, or another
    /// operator. As [`Db::keyspace_or_create`].
    pub fn open(db: &Db, name: &str) -> Result<Self> {
        Self::open_with(db, name, KeyspaceOptions::default())
    }

    /// Opens a table, and creates it with these options if it is missing. The table sets the order,
    /// the operator and the schema itself.
    ///
    /// # Errors
    /// As [`MergeTable::open`].
    pub fn open_with(db: &Db, name: &str, options: KeyspaceOptions) -> Result<Self> {
        schema::open(db, name, &Self::schema(), Some(M::operator()), options).map(MergeTable::of)
    }

    /// Returns a table of a database that is only read.
    ///
    /// # Errors
    /// `KeyspaceMissing`; `InvalidArgument` as [`MergeTable::open`].
    pub fn read(db: &ReadOnlyDb, name: &str) -> Result<MergeTable<K, M, KeyspaceReader>> {
        schema::read(db, name, &Self::schema()).map(MergeTable::of)
    }
}

impl<K, M> MergeTable<K, M> {
    /// Returns the keyspace, for what a table does not have.
    pub fn keyspace(&self) -> &Keyspace {
        &self.access
    }

    /// Returns the table inside a transaction.
    pub fn within<'a>(
        &'a self,
        transaction: &'a Transaction,
    ) -> MergeTable<K, M, TransactionKeyspace<'a>> {
        MergeTable::of(transaction.keyspace(&self.access))
    }

    /// Returns the table in a batch: see [`Batch`].
    pub fn in_batch<'a>(&'a self, batch: &'a Batch) -> MergeTable<K, M, Batched<'a>> {
        MergeTable::of(batch.over(&self.access))
    }

    /// Returns the table with options for its reads or writes: see
    /// [`Table::with`](crate::Table::with).
    pub fn with<'a, O: CallOptions>(&'a self, options: &'a O) -> MergeTable<K, M, O::Handle<'a>> {
        MergeTable::of(options.over(&self.access))
    }
}

impl<K: Key, M: Merged, A: Reader> MergeTable<K, M, A> {
    /// Reads a value.
    ///
    /// # Errors
    /// As [`Reader::get`]; `Corruption` if the bytes are no such value.
    pub fn get(&self, key: impl AsKey<K>) -> Result<Option<M::Value>> {
        self.access.get(crate::encode::<K>(key))?.map(|value| M::decode(&value)).transpose()
    }

    /// Returns the entries of a range, from both ends.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn range(&self, range: impl AsRange<K>) -> Result<MergedEntries<K, M>> {
        self.entries(&range.encode_range(&[]))
    }

    /// Returns the entries whose keys begin with a prefix.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn prefix(&self, prefix: impl AsPrefix<K>) -> Result<MergedEntries<K, M>> {
        let mut bytes = Vec::new();
        prefix.encode_prefix(&mut bytes);
        self.entries(&EncodedRange::of_prefix(bytes))
    }

    /// Returns all entries.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn iter(&self) -> Result<MergedEntries<K, M>> {
        self.range(..)
    }

    fn entries(&self, range: &EncodedRange) -> Result<MergedEntries<K, M>> {
        let entries = self.access.range(range.bounds())?;
        Ok(MergedEntries { entries, types: PhantomData })
    }
}

impl<K: Key, M: Merged, A: BlindWrites> MergeTable<K, M, A> {
    /// Merges an operand into a value, without reading it.
    ///
    /// # Errors
    /// As [`Keyspace::merge`]; `InvalidArgument` for an operand that cannot be written.
    pub fn merge(&self, key: impl AsKey<K>, operand: &M::Operand) -> Result<()> {
        self.merge_encoded(key, &M::encode(operand)?)
    }

    pub(super) fn merge_encoded(&self, key: impl AsKey<K>, operand: &[u8]) -> Result<()> {
        self.access.merge(&crate::encode::<K>(key), operand)
    }

    /// Deletes a key: the next merge begins anew.
    ///
    /// # Errors
    /// As [`Keyspace::delete`].
    pub fn delete(&self, key: impl AsKey<K>) -> Result<()> {
        self.access.delete(&crate::encode::<K>(key))
    }

    /// Deletes all keys of a range, in one write.
    ///
    /// # Errors
    /// As [`Keyspace::delete_range`].
    pub fn delete_range(&self, range: impl AsRange<K>) -> Result<()> {
        self.access.delete_range(range.encode_range(&[]).bounds())
    }
}

impl<K: Key, M: Merged, A: Writes> MergeTable<K, M, A> {
    /// Merges an operand, and returns the value after it. This reads the value.
    ///
    /// # Errors
    /// As [`Keyspace::merge_get`].
    pub fn merge_get(&self, key: impl AsKey<K>, operand: &M::Operand) -> Result<Option<M::Value>> {
        let merged = self.access.merge_get(&crate::encode::<K>(key), &M::encode(operand)?)?;
        merged.map(|value| M::decode(&value)).transpose()
    }

    /// Deletes a key, and returns the value that it had.
    ///
    /// # Errors
    /// As [`Keyspace::take`]. If the value cannot be decoded, the key is deleted all the same.
    pub fn take(&self, key: impl AsKey<K>) -> Result<Option<M::Value>> {
        self.access.take(&crate::encode::<K>(key))?.map(|value| M::decode(&value)).transpose()
    }
}

/// The entries of a range of a [`MergeTable`]. Each is decoded when it is its turn.
pub struct MergedEntries<K, M> {
    entries: Iter,
    types: PhantomData<fn() -> (K, M)>,
}

impl<K: Key, M: Merged> MergedEntries<K, M> {
    fn decoded(entry: Result<(Vec<u8>, Value)>) -> Result<(K, M::Value)> {
        let (key, value) = entry?;
        Ok((decode(&key)?, M::decode(&value)?))
    }
}

impl<K: Key, M: Merged> Iterator for MergedEntries<K, M> {
    type Item = Result<(K, M::Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next().map(Self::decoded)
    }
}

impl<K: Key, M: Merged> DoubleEndedIterator for MergedEntries<K, M> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.entries.next_back().map(Self::decoded)
    }
}

impl<K, M> fmt::Debug for MergedEntries<K, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MergedEntries").field(&self.entries).finish()
    }
}
