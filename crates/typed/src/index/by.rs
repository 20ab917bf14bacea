//! Reads by an index.

use std::fmt;
use std::marker::PhantomData;

use foldb::{Error, Iter, Reader, Result, Value};

use crate::borrowed::AsKey;
use crate::key::{Key, decode};
use crate::range::{AsPrefix, AsRange, EncodedRange};
use crate::table::Types;
use crate::value::{Format, Postcard};

/// A table's entries by the keys of an index, at one moment. Made by
/// [`IndexedTable::by`](crate::IndexedTable::by).
pub struct By<K, V, I, F, A> {
    entries: A,
    rows: A,
    is_unique: bool,
    types: Types<(K, V, I, F)>,
}

impl<K, V, I, F, A: fmt::Debug> fmt::Debug for By<K, V, I, F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("By").field(&self.entries).finish()
    }
}

impl<K, V, I, F, A> By<K, V, I, F, A> {
    pub(super) fn new(entries: A, rows: A, is_unique: bool) -> By<K, V, I, F, A> {
        By { entries, rows, is_unique, types: PhantomData }
    }
}

impl<K: Key, V, I: Key, F: Format<V>, A: Reader> By<K, V, I, F, A> {
    /// Returns the first entry with a key of the index.
    ///
    /// # Errors
    /// As [`Reader::get`]; `Corruption` if a key or value cannot be decoded.
    pub fn get(self, key: impl AsKey<I>) -> Result<Option<(K, V)>> {
        if !self.is_unique {
            return self.all(key)?.next().transpose();
        }
        let named = self.entries.get(crate::encode::<I>(key))?;
        named.map(|named| self.row(&named)).transpose()
    }

    /// Reads the row that an entry of the index names.
    fn row(&self, key: &[u8]) -> Result<(K, V)> {
        let row = self.rows.get(key)?.ok_or_else(|| {
            Error::corruption(format!(
                "expected an entry of the table under '{}', which its index names; found none",
                key.escape_ascii()
            ))
        })?;
        Ok((decode(key)?, F::decode(row)?))
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
    fn row(&self, entry: Result<(Vec<u8>, Value)>) -> Result<(K, V)> {
        let (index_key, value) = entry?;
        if self.by.is_unique {
            return self.by.row(&value);
        }
        let mut rest = &index_key[..];
        I::decode_key(&mut rest)?;
        self.by.row(rest)
    }
}

impl<K: Key, V, I: Key, F: Format<V>, A: Reader> Iterator for Found<K, V, I, F, A> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Result<(K, V)>> {
        let entry = self.entries.next()?;
        Some(self.row(entry))
    }
}

impl<K: Key, V, I: Key, F: Format<V>, A: Reader> DoubleEndedIterator for Found<K, V, I, F, A> {
    fn next_back(&mut self) -> Option<Result<(K, V)>> {
        let entry = self.entries.next_back()?;
        Some(self.row(entry))
    }
}
