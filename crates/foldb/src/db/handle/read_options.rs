//! Options of one read.

use crate::db::handle::snapshot::Snapshot;
use crate::db::read::settings::ReadSettings;
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
        ReadOptions { snapshot: None, fill_cache: true, report: None }
    }
}

impl ReadOptions {
    #[inline]
    pub(crate) fn settings(&self) -> ReadSettings<'_> {
        ReadSettings {
            snapshot: self.snapshot.as_ref().map(Snapshot::moment),
            fill_cache: self.fill_cache,
            report: self.report.as_ref(),
        }
    }
}
