//! Settings that go with one read.

use crate::db::handle::snapshot::Snapshot;
use crate::stats::ReadReport;

/// How one read behaves.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Read the database as it was at this snapshot. Default: as it is now.
    pub snapshot: Option<Snapshot>,
    /// Keep the blocks read in the cache. Default: true; false for scans that are not repeated.
    pub fill_cache: bool,
    /// Counts what the read costs. Default: nothing is counted.
    pub report: Option<ReadReport>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions { snapshot: None, fill_cache: true, report: None }
    }
}
