//! Batches: writes to several tables that happen at one moment and read nothing.

use std::cell::RefCell;

use foldb::expiry::Expires;
use foldb::{AsKeyRange, Db, Keyspace, Result, WriteBatch};

use crate::access::{BlindWrites, sealed};

/// Writes to several tables that become visible at one moment, or not at all. They read nothing, so
/// a batch costs less than a transaction and never conflicts. [`Table::in_batch`] and
/// [`MergeTable::in_batch`] have the calls that fill it: puts, deletes and merges.
///
/// An [`IndexedTable`] is not in batches: it reads the old value of an entry to change its indexes,
/// and a transaction does that ([`IndexedTable::within`]). A [`Table`] of such entries refuses.
///
/// [`Table`]: crate::Table
/// [`Table::in_batch`]: crate::Table::in_batch
/// [`MergeTable::in_batch`]: crate::MergeTable::in_batch
/// [`IndexedTable`]: crate::IndexedTable
/// [`IndexedTable::within`]: crate::IndexedTable::within
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::{Batch, Counter, MergeTable, Table};
///
/// let pages = Table::<String, String>::open(&db, "pages")?;
/// let edits = MergeTable::<String, Counter>::open(&db, "edits")?;
/// let batch = Batch::new();
/// pages.in_batch(&batch).put("index", "hello")?;
/// pages.in_batch(&batch).delete("draft")?;
/// edits.in_batch(&batch).add("index", 1)?;
/// assert_eq!(pages.get("index")?, None);
/// batch.write(&db)?;
/// assert_eq!((pages.get("index")?.as_deref(), edits.get("index")?), (Some("hello"), Some(1)));
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Batch(RefCell<WriteBatch>);

impl Batch {
    /// Makes an empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Sets when the puts and merges that follow expire: see [`WriteBatch::set_expires`].
    pub fn set_expires(&self, expires: Option<Expires>) {
        self.0.borrow_mut().set_expires(expires);
    }

    /// Returns the number of writes.
    pub fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// Returns whether there is no write.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Writes the batch to the database of its tables. The batch can be written again.
    ///
    /// # Errors
    /// As [`Db::write`].
    pub fn write(&self, db: &Db) -> Result<()> {
        db.write(&self.0.borrow())
    }

    /// Returns the writes as bytes, for [`foldb::WriteOptions`] or writes to other keyspaces.
    pub fn into_inner(self) -> WriteBatch {
        self.0.into_inner()
    }

    pub(crate) fn over<'a>(&'a self, keyspace: &'a Keyspace) -> Batched<'a> {
        Batched { keyspace, batch: &self.0 }
    }
}

/// A keyspace whose writes go into a [`Batch`].
#[derive(Clone, Copy, Debug)]
pub struct Batched<'a> {
    keyspace: &'a Keyspace,
    batch: &'a RefCell<WriteBatch>,
}

impl sealed::Sealed for Batched<'_> {}

impl BlindWrites for Batched<'_> {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.batch.borrow_mut().put_in(self.keyspace, key, value);
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.batch.borrow_mut().delete_in(self.keyspace, key);
        Ok(())
    }

    fn delete_range(&self, range: impl AsKeyRange) -> Result<()> {
        self.batch.borrow_mut().delete_range_in(self.keyspace, range);
        Ok(())
    }

    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.batch.borrow_mut().merge_in(self.keyspace, key, operand);
        Ok(())
    }
}
