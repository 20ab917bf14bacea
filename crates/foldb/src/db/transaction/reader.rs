//! A transaction is a [`Reader`]: of its own writes, over its snapshot.
//!
//! With serializable isolation the commit checks every read: a key, also an absent one, and each
//! range that an iterator walked over. An iterator sees the own writes made before it.

use std::time::SystemTime;

use crate::db::handle::reader::Reader;
use crate::db::handle::reads::inherent_reads;
use crate::db::read::operands::Operands;
use crate::db::transaction::handle::{Transaction, TransactionKeyspace};
use crate::error::Result;
use crate::iterator::{Bounds, Iter};
use crate::key::{AsKeyRange, Comparator};
use crate::value::Value;

impl Reader for TransactionKeyspace<'_> {
    fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.transaction.read(self.keyspace, |over| over.get(key.as_ref()))
    }

    fn multi_get<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Result<Option<Value>>>> {
        self.transaction.read(self.keyspace, |over| {
            Ok(keys.into_iter().map(|key| over.get(key.as_ref())).collect())
        })
    }

    fn range(&self, range: impl AsKeyRange) -> Result<Iter> {
        self.transaction.read(self.keyspace, |over| over.iter(Bounds::of(&range)))
    }

    fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
        self.transaction.read(self.keyspace, |over| over.operands(key.as_ref()))
    }

    /// Own writes count as made at the moment that the transaction reads.
    fn expires_at(&self, key: impl AsRef<[u8]>) -> Result<Option<SystemTime>> {
        self.transaction.read(self.keyspace, |over| over.expires_at(key.as_ref()))
    }

    fn comparator(&self) -> &dyn Comparator {
        &*self.keyspace.state().comparator
    }
}

inherent_reads!(TransactionKeyspace<'_>);

impl Reader for Transaction {
    fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.default_keyspace().get(key)
    }

    fn multi_get<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Result<Option<Value>>>> {
        self.default_keyspace().multi_get(keys)
    }

    fn range(&self, range: impl AsKeyRange) -> Result<Iter> {
        self.default_keyspace().range(range)
    }

    fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
        self.default_keyspace().get_operands(key)
    }

    fn expires_at(&self, key: impl AsRef<[u8]>) -> Result<Option<SystemTime>> {
        self.default_keyspace().expires_at(key)
    }

    fn comparator(&self) -> &dyn Comparator {
        &*self.default_keyspace().keyspace.state().comparator
    }
}

inherent_reads!(Transaction);
