//! Options of one read.

use crate::db::handle::snapshot::Snapshot;
use crate::stats::ReadReport;

/// Options of one read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Read the database as it was at this snapshot. Default: none, which reads the current state.
    pub snapshot: Option<Snapshot>,
    /// Whether the block cache keeps the blocks that the read loads. Default: true. With false, a
    /// scan that is not repeated leaves the cached blocks of other reads in place.
    pub fill_cache: bool,
    /// A report that counts the cost of the read. Default: none.
    pub report: Option<ReadReport>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions::PLAIN.clone()
    }
}

impl ReadOptions {
    /// The default options.
    pub(crate) const PLAIN: &ReadOptions =
        &ReadOptions { snapshot: None, fill_cache: true, report: None };
}
