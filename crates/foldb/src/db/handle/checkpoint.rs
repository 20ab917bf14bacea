//! Checkpoints, as a program asks for them.

use std::path::Path;

use crate::db::handle::database::Db;
use crate::db::lifecycle::checkpoint::CheckpointReport;
use crate::error::Result;

impl Db {
    /// Makes `directory` a separate database with the current contents. The directory must be empty
    /// or not exist. The checkpoint has all keyspaces with their orders and operators, every write
    /// that returned before this call, and the statistics. It has no snapshots.
    ///
    /// Tables become hard links, so a checkpoint takes little time and space; in another file
    /// system they are copied. The two databases share no file that is ever written to. Each may
    /// write, compact and be destroyed without effect on the other. Writers continue and do not
    /// wait. Writes with [`crate::WriteOptions::disable_wal`] are flushed first; if other threads
    /// make such writes all the time, writers wait for the last flush. The checkpoint is durable
    /// when this returns. A checkpoint that fails removes its files.
    ///
    /// The checkpoint has this database's identity, which all shared tables carry. Both databases
    /// reject files of a third database, but cannot tell their own files from each other's.
    ///
    /// # Errors
    /// `InvalidArgument` for a directory that is not empty, or is inside of a database or of a
    /// directory of backups. `DatabaseExists` if it holds a
    /// database; `NoSpace`, `Io`, `ReadOnly`, `Closed`. `Corruption` for a damaged log, and for a
    /// missing file of value segments that keys refer to.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let (path, copy) = (dir.path().join("db"), dir.path().join("copy"));
    /// use foldb::{Db, Options};
    ///
    /// let db = Db::open(&path, Options { create_if_missing: true, ..Options::default() })?;
    /// db.put("key", "flushed")?;
    /// db.flush()?;
    /// db.put("other", "logged")?;
    /// let report = db.checkpoint(&copy)?;
    /// assert_eq!((report.tables_linked, report.tables_copied), (1, 0));
    /// db.put("key", "later")?;
    ///
    /// let copy = Db::open(&copy, Options::default())?;
    /// assert_eq!(copy.get("key")?.unwrap(), b"flushed");
    /// assert_eq!(copy.get("other")?.unwrap(), b"logged");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn checkpoint(&self, directory: impl AsRef<Path>) -> Result<CheckpointReport> {
        self.core().checkpoint(directory.as_ref())
    }
}
