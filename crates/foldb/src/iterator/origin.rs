//! What the cursors of one iterator share: the reader that they answer, and the sources that they
//! open.

use std::sync::Arc;

use crate::counters::Totals;
use crate::error::Result;
use crate::fold::{CachedResolver, ReadTime};
use crate::iterator::covers::Covers;
use crate::iterator::dead::DeadStretches;
use crate::iterator::merging::{Effort, MergingCursor};
use crate::key::{Order, SeqNo};
use crate::segment::ValueReader;
use crate::stats::ReadReport;
use crate::value::Value;

/// The reader of an iterator.
#[derive(Clone)]
pub(crate) struct Viewpoint {
    pub(crate) seqno: SeqNo,
    /// The moment of the reader, if the keyspace has an expiry.
    pub(crate) time: Option<ReadTime>,
    pub(crate) order: Order,
    /// Keeps alive what the iterator reads, and receives its effort.
    pub(crate) origin: Arc<dyn Origin>,
    /// Counts the iterator's cost, if the caller asked for a report.
    pub(crate) report: Option<ReadReport>,
}

/// The sources that an iterator reads, at the moment of the iterator.
pub(crate) trait Origin: Send + Sync {
    /// Opens cursors over the sources, for a reader at `seqno`. An iterator that is read from both
    /// ends has two of each.
    fn open(&self, seqno: SeqNo, report: Option<&ReadReport>) -> Opened;

    /// Returns the reader of separated values; `None` if no value is separated.
    fn values(&self) -> Option<ValueReader>;

    /// Returns the operators that are registered at the moment of a fold. An operator that was
    /// registered after the iterator was made folds too.
    fn operators(&self) -> CachedResolver;

    /// Returns the counts that failed merges add to.
    fn totals(&self) -> &Totals;

    /// Returns the value of an entry of [`FoldedCursor`] that could not be read.
    ///
    /// # Errors
    /// Why the value cannot be read.
    ///
    /// [`FoldedCursor`]: crate::iterator::FoldedCursor
    fn value_below(&self, _key: &[u8]) -> Result<Value> {
        unreachable!("separated values have segments")
    }

    /// Receives the effort of the iterator since the last call.
    fn note_effort(&self, effort: Effort);

    /// Returns the stretches of deleted keys that earlier walks found.
    fn dead(&self) -> &DeadStretches;

    /// Returns the number of the newest file that the iterator reads.
    fn newest_file(&self) -> u64;

    /// Returns the number of the version that the iterator reads: later versions have larger ones.
    fn installs(&self) -> u64;
}

/// Cursors over the sources of an iterator.
pub(crate) struct Opened {
    pub(crate) records: MergingCursor,
    /// The range tombstones of the same sources, if they have any.
    pub(crate) covers: Option<Covers>,
}
