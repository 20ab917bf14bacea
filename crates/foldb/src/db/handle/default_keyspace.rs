//! The methods of a database that are those of its default keyspace, apart from reads and writes.
//!
//! A program with one keyspace never names it. [`Keyspace`](crate::Keyspace) documents each method.
//! [`Db`] forwards the usual methods, and [`Db::default_keyspace`] has them all.

use std::sync::Arc;

use crate::db::handle::database::Db;
use crate::db::read::approximate::ApproximateCount;
use crate::db::read::explain::Explained;
use crate::db::read::tables::TableInfo;
use crate::error::Result;
use crate::fold::{MergeOperator, Operator};
use crate::key::AsKeyRange;
use crate::options::ExplainedOption;

impl Db {
    /// Registers a merge operator, as [`Options::operators`](crate::Options::operators) does for
    /// the operators that are known at the open. A program that creates keyspaces later can then
    /// give them operators of its own. It holds until the database is closed. Stored operands that
    /// [`Options::allow_unresolved_operators`](crate::Options::allow_unresolved_operators) let pass
    /// fold from now on.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that breaks the rules of [`MergeOperator::name`], and for an
    /// operator of the same name, version and parameters as an earlier one. `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::sync::Arc;
    /// use foldb::KeyspaceOptions;
    /// use foldb::operators::merge_fn;
    ///
    /// let last = merge_fn("app.last", |_, operands| operands.last().map(|last| last.to_vec()));
    /// db.add_operator(Arc::new(last))?;
    /// let seen = db.create_keyspace("seen", KeyspaceOptions::with_operator("app.last"))?;
    /// seen.merge("ann", "1")?;
    /// seen.merge("ann", "2")?;
    /// assert_eq!(seen.get("ann")?.unwrap(), b"2");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn add_operator(&self, operator: Arc<dyn MergeOperator>) -> Result<()> {
        self.core().add_operator(operator)
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
