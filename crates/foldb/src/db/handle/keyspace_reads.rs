//! Reads of a keyspace that no other handle has: cursors for other rooms, estimates, explanations,
//! tables.

use crate::db::handle::keyspace::Keyspace;
use crate::db::read::approximate::ApproximateCount;
use crate::db::read::explain::Explained;
use crate::db::read::settings::ReadSettings;
use crate::db::read::tables::TableInfo;
use crate::error::Result;
use crate::fold::ReadTime;
use crate::iterator::{Bounded, Bounds, Iter};
use crate::key::AsKeyRange;

impl Keyspace {
    pub(crate) fn new_iter(&self, bounds: Bounds, options: ReadSettings<'_>) -> Result<Iter> {
        self.new_iter_at(bounds, options, |time| time)
    }

    /// Returns an iterator whose moment `adapt` changes. Only a keyspace with expiry has one.
    pub(crate) fn new_iter_at(
        &self,
        bounds: Bounds,
        options: ReadSettings<'_>,
        adapt: impl FnOnce(ReadTime) -> ReadTime,
    ) -> Result<Iter> {
        self.cursor_at(bounds, options, adapt).map(Iter::from)
    }

    /// Returns the cursor of such an iterator.
    pub(crate) fn cursor_at(
        &self,
        bounds: Bounds,
        options: ReadSettings<'_>,
        adapt: impl FnOnce(ReadTime) -> ReadTime,
    ) -> Result<Bounded> {
        self.handle().cursor(self.shared_state(), bounds, options, adapt)
    }

    /// Estimates the bytes that the records of a key range take in tables and memtables, older
    /// versions included. A table that is partly in the range counts by the share of its samples in
    /// the range, at least one. A table has up to 32 samples, so each end of the range adds an
    /// error of up to 1/32 of a table per run.
    ///
    /// # Errors
    /// `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// for n in 0..100 {
    ///     db.put(format!("{n:02}"), [0; 100])?;
    /// }
    /// assert!(db.approximate_size("00".."50")? > 0);
    /// assert_eq!(db.approximate_size("a"..)?, 0);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn approximate_size(&self, range: impl AsKeyRange) -> Result<u64> {
        self.core().size_within(self.state(), &Bounds::of(&range))
    }

    /// Estimates the number of keys in a range, and bounds the error. Keys whose merge fails count
    /// too. Reads no records of tables, only their range tombstones, and at most 4096 keys of each
    /// memtable.
    ///
    /// # Errors
    /// `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// for n in 0..100 {
    ///     db.put(format!("{n:02}"), "value")?;
    /// }
    /// let count = db.approximate_count("00".."50")?;
    /// assert!(count.at_least <= 50 && 50 <= count.at_most);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn approximate_count(&self, range: impl AsKeyRange) -> Result<ApproximateCount> {
        self.core().count_within(self.state(), &Bounds::of(&range))
    }

    /// Returns every record of a key, its place, and why it is not folded yet.
    ///
    /// # Errors
    /// `Corruption`, `Io`, `Closed`. A failed merge is part of the result.
    pub fn explain(&self, key: impl AsRef<[u8]>) -> Result<Explained> {
        self.core().explain(self.state(), key.as_ref())
    }

    /// Returns the tables, from level 0 to the last, each level's newest run first and each run in
    /// key order.
    ///
    /// # Errors
    /// `Closed`.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("key", "value")?;
    /// assert!(db.tables()?.is_empty());
    /// db.flush()?;
    /// let tables = db.tables()?;
    /// assert_eq!((tables[0].records, &*tables[0].smallest), (1, &b"key"[..]));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn tables(&self) -> Result<Vec<TableInfo>> {
        self.core().tables(self.state())
    }
}
