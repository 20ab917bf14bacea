//! The conditional writes of a database: those of its default keyspace.

use crate::db::handle::database::Db;
use crate::db::transaction::CompareAndSwap;
use crate::error::Result;
use crate::key::AsKeyRange;
use crate::value::Value;

impl Db {
    /// Calls [`crate::Keyspace::compare_and_swap`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::compare_and_swap`].
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<CompareAndSwap> {
        self.default_keyspace().compare_and_swap(key, expected, new)
    }

    /// Calls [`crate::Keyspace::put_if_absent`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::put_if_absent`].
    pub fn put_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.default_keyspace().put_if_absent(key, value)
    }

    /// Calls [`crate::Keyspace::update`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::update`].
    pub fn update(
        &self,
        key: impl AsRef<[u8]>,
        change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Value>> {
        self.default_keyspace().update(key, change)
    }

    /// Calls [`crate::Keyspace::fetch_update`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::fetch_update`].
    pub fn fetch_update(
        &self,
        key: impl AsRef<[u8]>,
        change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Value>> {
        self.default_keyspace().fetch_update(key, change)
    }

    /// Calls [`crate::Keyspace::take`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::take`].
    pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.default_keyspace().take(key)
    }

    /// Calls [`crate::Keyspace::take_first`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::take_first`].
    pub fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>> {
        self.default_keyspace().take_first(range)
    }

    /// Calls [`crate::Keyspace::merge_get`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::merge_get`].
    pub fn merge_get(
        &self,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<Option<Value>> {
        self.default_keyspace().merge_get(key, operand)
    }

    /// Calls [`crate::Keyspace::merge_if`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::merge_if`].
    pub fn merge_if(
        &self,
        key: impl AsRef<[u8]>,
        predicate: impl FnMut(Option<&[u8]>) -> bool,
        operand: impl AsRef<[u8]>,
    ) -> Result<bool> {
        self.default_keyspace().merge_if(key, predicate, operand)
    }
}
