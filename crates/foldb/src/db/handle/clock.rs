//! The clock of a database: shown, and reset.

use crate::db::handle::database::Db;
use crate::db::handle::read_only::ReadOnlyDb;
use crate::db::lifecycle::reset_time::ClockReading;
use crate::error::Result;

impl Db {
    /// Returns the time by which entries expire, and the machine's.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// assert!(db.clock().ahead().is_zero());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn clock(&self) -> ClockReading {
        self.core().clock()
    }

    /// Sets the database's time back to the machine's clock, if it is ahead. Call this after the
    /// machine's clock was ahead by mistake and was corrected. Returns the two times before the
    /// call.
    ///
    /// Entries that had expired by the false time are back until their end, except those that a
    /// flush or compaction has dropped meanwhile: these are gone. Entries written under the false
    /// time keep the ends that they got from it. Open snapshots keep their time. The commit of a
    /// transaction whose time is later than the new one fails with
    /// [`Conflict`](crate::ErrorKind::Conflict). docs/expiry.md has the whole list.
    ///
    /// The call waits for the flush and the slice of a compaction in progress, and writes wait for
    /// one synced edit of the manifest. The new time is durable when the call returns.
    ///
    /// # Errors
    /// `Closed`, `Poisoned`, `NoSpace`, `Io`; `Reentrant` in a callback of the database.
    /// After an error the time has not changed, or is stored and takes effect at the next open.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// let before = db.reset_clock()?;
    /// println!("the time was {} s ahead", before.ahead().as_secs());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn reset_clock(&self) -> Result<ClockReading> {
        self.core().reset_time()
    }
}

impl ReadOnlyDb {
    /// Returns the time by which entries expire, and the machine's.
    pub fn clock(&self) -> ClockReading {
        self.db().clock()
    }
}
