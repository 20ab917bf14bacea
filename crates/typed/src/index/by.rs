//! Reads by an index.

use std::fmt;
use std::marker::PhantomData;

use foldb::{Error, Iter, Reader, Result, Value};

use crate::borrowed::AsKey;
use crate::index::Index;
use crate::key::{Key, decode};
use crate::range::{AsPrefix, AsRange, EncodedRange};
use crate::table::Types;
use crate::value::{Format, Postcard};

/// A table's entries by the keys of an index, at one moment. Made by
/// [`IndexedTable::by`](crate::IndexedTable::by).
pub struct By<K, V, I, F, A> {
    entries: A,
    rows: A,
    index: Index<K, V, I>,
    /// Whether rows expire. After a reset of the time, an entry may be back whose row is not, or
    /// has other keys.
    expires: bool,
    types: Types<F>,
}

impl<K, V, I, F, A: fmt::Debug> fmt::Debug for By<K, V, I, F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("By").field(&self.entries).finish()
    }
}

impl<K, V, I, F, A> By<K, V, I, F, A> {
    pub(super) fn new(
        entries: A,
        rows: A,
        index: &Index<K, V, I>,
        expires: bool,
    ) -> By<K, V, I, F, A> {
        By { entries, rows, index: index.same(), expires, types: PhantomData }
    }
}

impl<K: Key, V, I: Key, F: Format<V>, A: Reader> By<K, V, I, F, A> {
    /// Returns the first entry with a key of the index.
    ///
    /// # Errors
    /// As [`Reader::get`]; `Corruption` if a key or value cannot be decoded.
    pub fn get(self, key: impl AsKey<I>) -> Result<Option<(K, V)>> {
        if !self.index.is_unique {
            return self.all(key)?.next().transpose();
        }
        let own = crate::encode::<I>(key);
        let named = self.entries.get(&own)?;
        named.map_or(Ok(None), |named| self.row(&own, &named))
    }

    /// Reads the row that an entry of the index names, if it has the key of the entry.
    fn row(&self, own: &[u8], key: &[u8]) -> Result<Option<(K, V)>> {
        match self.rows.get(key)? {
            Some(row) => {
                let (key, value) = (decode(key)?, F::decode(row)?);
                let has_it = !self.expires || self.index.has_key(&key, &value, own);
                Ok(has_it.then_some((key, value)))
            }
            None if self.expires => Ok(None),
            None => Err(Error::corruption(format!(
                "expected an entry of the table under '{}', which its index names; found none",
                key.escape_ascii()
            ))),
        }
    }

    /// Returns all entries with a key of the index, in the order of the table's keys.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn all(self, key: impl AsKey<I>) -> Result<Found<K, V, I, F, A>> {
        let prefix = crate::encode::<I>(key);
        self.found(&EncodedRange::of_prefix(prefix))
    }

    /// Returns the entries of a range of the index, in its order.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn range(self, range: impl AsRange<I>) -> Result<Found<K, V, I, F, A>> {
        self.found(&range.encode_range(&[]))
    }

    /// Returns the entries whose keys in the index begin with a prefix, in its order.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn prefix(self, prefix: impl AsPrefix<I>) -> Result<Found<K, V, I, F, A>> {
        let mut bytes = Vec::new();
        prefix.encode_prefix(&mut bytes);
        self.found(&EncodedRange::of_prefix(bytes))
    }

    /// Returns the keys of the entries in a range of the index, in its order, each behind its key
    /// of the index. This reads no entry of the table.
    ///
    /// # Errors
    /// As [`Reader::range`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
    /// use foldb_typed::{Index, IndexedTable, Result};
    ///
    /// static BY_CITY: Index<u64, (String, u8), (String, u8)> =
    ///     Index::new("by_city", |_, person| Some(person.clone()));
    ///
    /// let people = IndexedTable::<u64, (String, u8)>::open(&db, "people", &[&BY_CITY])?;
    /// people.put(7, ("berlin".to_owned(), 30))?;
    /// people.put(8, ("berlin".to_owned(), 20))?;
    /// people.put(9, ("paris".to_owned(), 40))?;
    /// let keys = people.by(&BY_CITY)?.keys(("berlin", ..))?;
    /// let keys: Vec<u64> = keys.map(|entry| Ok(entry?.1)).collect::<Result<_>>()?;
    /// assert_eq!(keys, [8, 7]);
    /// assert_eq!(people.by(&BY_CITY)?.count(("berlin", 25..))?, 1);
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn keys(self, range: impl AsRange<I>) -> Result<IndexKeys<K, I>> {
        let entries = self.entries.range(range.encode_range(&[]).bounds())?;
        Ok(IndexKeys { entries, is_unique: self.index.is_unique, types: PhantomData })
    }

    /// Counts the entries in a range of the index, one by one. This reads no entry of the table.
    ///
    /// # Errors
    /// As [`Reader::range`].
    pub fn count(self, range: impl AsRange<I>) -> Result<u64> {
        crate::range::count(&self.entries, &range.encode_range(&[]))
    }

    fn found(self, range: &EncodedRange) -> Result<Found<K, V, I, F, A>> {
        let entries = self.entries.range(range.bounds())?;
        Ok(Found { entries, by: self })
    }
}

/// Entries of a table in the order of an index. Each is read when it is its turn.
pub struct Found<K, V, I, F = Postcard, A = foldb::KeyspaceReader> {
    entries: Iter,
    by: By<K, V, I, F, A>,
}

impl<K, V, I, F, A> fmt::Debug for Found<K, V, I, F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Found").field(&self.entries).finish()
    }
}

impl<K: Key, V, I: Key, F: Format<V>, A: Reader> Found<K, V, I, F, A> {
    fn row(&self, entry: Result<(Vec<u8>, Value)>) -> Result<Option<(K, V)>> {
        let (index_key, value) = entry?;
        if self.by.index.is_unique {
            return self.by.row(&index_key, &value);
        }
        let mut rest = &index_key[..];
        I::decode_key(&mut rest)?;
        let own = &index_key[..index_key.len() - rest.len()];
        self.by.row(own, rest)
    }

    /// Returns the next row that is there and has the key of its entry.
    fn next_row(
        &mut self,
        next: impl Fn(&mut Iter) -> Option<Result<(Vec<u8>, Value)>>,
    ) -> Option<Result<(K, V)>> {
        loop {
            let entry = next(&mut self.entries)?;
            if let Some(row) = self.row(entry).transpose() {
                return Some(row);
            }
        }
    }
}

impl<K: Key, V, I: Key, F: Format<V>, A: Reader> Iterator for Found<K, V, I, F, A> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Result<(K, V)>> {
        self.next_row(Iter::next)
    }
}

impl<K: Key, V, I: Key, F: Format<V>, A: Reader> DoubleEndedIterator for Found<K, V, I, F, A> {
    fn next_back(&mut self) -> Option<Result<(K, V)>> {
        self.next_row(Iter::next_back)
    }
}

/// Keys of an index, each with the key of the table's entry. Made by [`By::keys`].
pub struct IndexKeys<K, I> {
    entries: Iter,
    is_unique: bool,
    types: Types<(K, I)>,
}

impl<K, I> fmt::Debug for IndexKeys<K, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IndexKeys").field(&self.entries).finish()
    }
}

impl<K: Key, I: Key> IndexKeys<K, I> {
    fn decoded(is_unique: bool, entry: Result<(Vec<u8>, Value)>) -> Result<(I, K)> {
        let (key, value) = entry?;
        let mut rest = &key[..];
        let own = I::decode_key(&mut rest)?;
        let named = if is_unique { decode(&value) } else { decode(rest) };
        Ok((own, named?))
    }
}

impl<K: Key, I: Key> Iterator for IndexKeys<K, I> {
    type Item = Result<(I, K)>;

    fn next(&mut self) -> Option<Result<(I, K)>> {
        let is_unique = self.is_unique;
        self.entries.next().map(|entry| Self::decoded(is_unique, entry))
    }
}

impl<K: Key, I: Key> DoubleEndedIterator for IndexKeys<K, I> {
    fn next_back(&mut self) -> Option<Result<(I, K)>> {
        let is_unique = self.is_unique;
        self.entries.next_back().map(|entry| Self::decoded(is_unique, entry))
    }
}
