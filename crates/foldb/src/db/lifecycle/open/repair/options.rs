//! Options of a repair.

use std::path::PathBuf;

use crate::options::Options;

/// Options of a repair. Made of [`Options`], it repairs in place.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("db");
/// use foldb::repair::RepairOptions;
/// use foldb::{Db, Options};
///
/// drop(Db::open(&path, Options { create_if_missing: true, ..Options::default() })?);
/// let dry = RepairOptions { dry_run: true, ..Options::default().into() };
/// assert!(Db::repair(&path, dry)?.lost_nothing());
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// The options with which the repair opens the database.
    pub open: Options,
    /// Directory of a copy to repair instead; the database itself does not change. The directory
    /// must be empty or not exist. Default: none, which repairs in place. Tables and value segments
    /// become hard links if the file system has them. So the copy takes space only for logs,
    /// manifests and new files. If the repair fails, it removes the copy.
    pub copy_to: Option<PathBuf>,
    /// Whether to only report and write nothing to disk. Default: false. The files that a repair
    /// would write stay in memory until it ends: salvaged tables and logged writes.
    pub dry_run: bool,
    /// Where to cut a damaged log: what follows is given up. Default: none, and the repair keeps
    /// the intact writes behind damage ([`crate::repair::RepairReport::skipped`]).
    pub cut_log: Option<LogCut>,
}

impl From<Options> for RepairOptions {
    fn from(open: Options) -> RepairOptions {
        RepairOptions { open, copy_to: None, dry_run: false, cut_log: None }
    }
}

/// A place to cut a log. Errors about damaged logs name file and offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCut {
    /// The log's file; its directory is ignored.
    pub file: PathBuf,
    /// Bytes to keep. A partial frame at their end is dropped too.
    pub offset: u64,
}
