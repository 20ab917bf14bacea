//! How a database is to be repaired.

use std::path::PathBuf;

/// How a database is to be repaired. By default in place.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("db");
/// use foldb::{Db, Options, RepairOptions};
///
/// drop(Db::open(&path, Options { create_if_missing: true, ..Options::default() })?);
/// let how = RepairOptions { dry_run: true, ..RepairOptions::default() };
/// assert!(Db::repair_with(&path, Options::default(), &how)?.lost_nothing());
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// Leave the database as it is, and repair a copy of it in this directory, which must not exist
    /// or be empty. Default: the database itself is repaired. Tables and value segments never
    /// change once they are closed, so they become hard links where the file system can: the copy
    /// takes the space of logs and manifests, and of what the repair writes. If the repair fails
    /// nothing is left of the copy.
    pub copy_to: Option<PathBuf>,
    /// Change nothing, and report what a repair would. Default: false. What it would write is kept
    /// in memory until it ends: what is salvaged of damaged tables, and what the logs hold.
    pub dry_run: bool,
    /// Give up the end of a log that is damaged before its end. Default: such a log is
    /// `Corruption`.
    pub cut_log: Option<LogCut>,
}

/// Where to cut a log. Errors about damaged logs name both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCut {
    /// The log's file; its directory is not looked at.
    pub file: PathBuf,
    /// What is kept, in bytes. Of a frame that is not whole nothing is.
    pub offset: u64,
}
