//! The entries of one index, in the transaction that writes their row.

use std::sync::Arc;

use foldb::{Error, Keyspace, Result, Transaction, TransactionKeyspace};

use crate::index::AnyIndex;
use crate::key::{Key, decode};
use crate::schema::Schema;
use crate::value::Format;

/// An index with its keyspace.
pub(in crate::index) struct Kept<K, V> {
    pub(in crate::index) index: Arc<dyn AnyIndex<K, V>>,
    pub(in crate::index) keyspace: Keyspace,
    /// Whether rows expire. After a reset of the time, an entry may be back whose row is not. Its
    /// row may also have other keys by then, and two rows may have one key of a unique index.
    pub(in crate::index) expires: bool,
}

impl<K: Key, V> Kept<K, V> {
    /// Returns the entry of the index for a key of its own and a key of the table.
    pub(super) fn entry(&self, own: &[u8], key: &[u8]) -> (Vec<u8>, Vec<u8>) {
        match self.index.is_unique() {
            true => (own.to_vec(), key.to_vec()),
            false => ([own, key].concat(), Vec::new()),
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// `Aborted` if the index is unique and another row has the key.
    pub(in crate::index) fn add<F: Format<V>>(
        &self,
        transaction: &Transaction,
        rows: &TransactionKeyspace<'_>,
        own: &[u8],
        key: &[u8],
    ) -> Result<()> {
        let keyspace = transaction.keyspace(&self.keyspace);
        if self.index.is_unique()
            && let Some(other) = keyspace.get_for_update(own)?
            && *other != *key
            && self.is_of::<F>(rows, own, &other)?
        {
            return Err(self.taken(own, &other));
        }
        let (key, value) = self.entry(own, key);
        keyspace.put(key, value)
    }

    /// Returns whether the row that an entry names has the key of the entry.
    fn is_of<F: Format<V>>(
        &self,
        rows: &TransactionKeyspace<'_>,
        own: &[u8],
        named: &[u8],
    ) -> Result<bool> {
        if !self.expires {
            return Ok(true);
        }
        let Some(row) = rows.get_for_update(named)? else { return Ok(false) };
        let keys = self.index.keys(&decode(named)?, &F::decode(row)?);
        Ok(keys.iter().any(|key| **key == *own))
    }

    /// Returns whether the entry under a key of a row names that row, and not another one.
    pub(super) fn names(&self, transaction: &Transaction, own: &[u8], key: &[u8]) -> Result<bool> {
        if !self.expires || !self.index.is_unique() {
            return Ok(true);
        }
        let named = transaction.keyspace(&self.keyspace).get_for_update(own)?;
        Ok(named.is_some_and(|named| *named == *key))
    }

    pub(super) fn remove(&self, transaction: &Transaction, own: &[u8], key: &[u8]) -> Result<()> {
        match self.names(transaction, own, key)? {
            true => transaction.keyspace(&self.keyspace).delete(self.entry(own, key).0),
            false => Ok(()),
        }
    }

    fn taken(&self, own: &[u8], other: &[u8]) -> Error {
        let shown = |types: String, bytes: &[u8]| {
            let schema = Schema { keys: types, values: String::new() };
            schema.show_key(bytes).unwrap_or_else(|_| bytes.escape_ascii().to_string())
        };
        let (name, own) = (self.index.name(), shown(self.index.schema().keys, own));
        let other = shown(K::schema(), other);
        Error::aborted(format!("index '{name}' is unique, and its key {own} belongs to {other}"))
    }
}
