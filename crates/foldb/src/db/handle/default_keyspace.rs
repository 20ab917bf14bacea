//! The methods of a database that are those of its default keyspace, apart from reads and writes.
//!
//! A program with one keyspace never names it. [`Keyspace`](crate::Keyspace) documents each method.
//! [`Db`] forwards the usual methods, and [`Db::default_keyspace`] has them all.

use crate::db::handle::database::Db;
use crate::db::read::approximate::ApproximateCount;
use crate::db::read::explain::Explained;
use crate::db::read::tables::TableInfo;
use crate::error::Result;
use crate::fold::Operator;
use crate::key::AsKeyRange;
use crate::options::ExplainedOption;

impl Db {
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
