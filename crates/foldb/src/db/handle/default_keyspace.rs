//! The data methods of a database: those of its default keyspace.
//!
//! A program with one keyspace never names it. [`Keyspace`](crate::Keyspace) documents each method.
//! [`Db`] forwards the usual methods, and [`Db::default_keyspace`] has them all.

use crate::db::handle::database::Db;
use crate::db::handle::read_options::ReadOptions;
use crate::db::handle::reader::{inherent_reads, read_with};
use crate::db::read::approximate::ApproximateCount;
use crate::db::read::explain::Explained;
use crate::db::read::tables::TableInfo;
use crate::error::Result;
use crate::fold::Operator;
use crate::iterator::Iter;
use crate::key::AsKeyRange;
use crate::options::{ExplainedOption, WriteOptions};
use crate::value::Value;

read_with!(Db, |own| own.default_keyspace(), &ReadOptions::default());
inherent_reads!(Db);

impl Db {
    /// Calls [`crate::Keyspace::get_opt`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::get_opt`].
    pub fn get_opt(&self, key: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Option<Value>> {
        self.default_keyspace().get_opt(key, options)
    }

    /// Calls [`crate::Keyspace::put`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::put`].
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.default_keyspace().put(key, value)
    }

    /// Calls [`crate::Keyspace::put_opt`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::put_opt`].
    pub fn put_opt(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.default_keyspace().put_opt(key, value, options)
    }

    /// Calls [`crate::Keyspace::delete`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::delete`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.default_keyspace().delete(key)
    }

    /// Calls [`crate::Keyspace::delete_opt`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::delete_opt`].
    pub fn delete_opt(&self, key: impl AsRef<[u8]>, options: &WriteOptions) -> Result<()> {
        self.default_keyspace().delete_opt(key, options)
    }

    /// Calls [`crate::Keyspace::delete_range`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::delete_range`].
    pub fn delete_range(&self, range: impl AsKeyRange) -> Result<()> {
        self.default_keyspace().delete_range(range)
    }

    /// Calls [`crate::Keyspace::clear`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::clear`].
    pub fn clear(&self) -> Result<()> {
        self.default_keyspace().clear()
    }

    /// Calls [`crate::Keyspace::merge`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::merge`].
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.default_keyspace().merge(key, operand)
    }

    /// Calls [`crate::Keyspace::merge_opt`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::merge_opt`].
    pub fn merge_opt(
        &self,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.default_keyspace().merge_opt(key, operand, options)
    }

    /// Calls [`crate::Keyspace::merge_with`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::merge_with`].
    pub fn merge_with(
        &self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.default_keyspace().merge_with(operator, key, operand)
    }

    /// Calls [`crate::Keyspace::operator`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::operator`].
    pub fn operator(&self, spec: &str) -> Result<Operator> {
        self.default_keyspace().operator(spec)
    }

    /// Calls [`crate::Keyspace::default_operator`] of the default keyspace.
    pub fn default_operator(&self) -> Option<Operator> {
        self.default_keyspace().default_operator()
    }

    /// Calls [`crate::Keyspace::range_opt`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::range_opt`].
    pub fn range_opt(&self, range: impl AsKeyRange, options: &ReadOptions) -> Result<Iter> {
        self.default_keyspace().range_opt(range, options)
    }

    /// Calls [`crate::Keyspace::approximate_size`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::approximate_size`].
    pub fn approximate_size(&self, range: impl AsKeyRange) -> Result<u64> {
        self.default_keyspace().approximate_size(range)
    }

    /// Calls [`crate::Keyspace::approximate_count`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::approximate_count`].
    pub fn approximate_count(&self, range: impl AsKeyRange) -> Result<ApproximateCount> {
        self.default_keyspace().approximate_count(range)
    }

    /// Calls [`crate::Keyspace::tables`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::tables`].
    pub fn tables(&self) -> Result<Vec<TableInfo>> {
        self.default_keyspace().tables()
    }

    /// Calls [`crate::Keyspace::explain`] of the default keyspace.
    ///
    /// # Errors
    /// As [`crate::Keyspace::explain`].
    pub fn explain(&self, key: impl AsRef<[u8]>) -> Result<Explained> {
        self.default_keyspace().explain(key)
    }

    /// Calls [`crate::Keyspace::explain_options`] of the default keyspace.
    pub fn explain_options(&self) -> Vec<ExplainedOption> {
        self.default_keyspace().explain_options()
    }
}
