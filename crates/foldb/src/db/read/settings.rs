//! The options of a read, without handles.

use crate::db::core::Core;
use crate::error::{Error, Result};
use crate::fold::stamp::Moment;
use crate::key::SeqNo;
use crate::stats::ReadReport;

/// How a read is done: see [`crate::ReadOptions`].
#[derive(Clone, Copy)]
pub(crate) struct ReadSettings<'a> {
    pub(crate) snapshot: Option<SnapshotMoment<'a>>,
    pub(crate) fill_cache: bool,
    pub(crate) report: Option<&'a ReadReport>,
}

impl Default for ReadSettings<'_> {
    fn default() -> Self {
        ReadSettings { snapshot: None, fill_cache: true, report: None }
    }
}

/// The moment of a snapshot.
#[derive(Clone, Copy)]
pub(crate) struct SnapshotMoment<'a> {
    pub(crate) core: &'a Core,
    /// [`NOT_TAKEN`] if reads are to fail.
    pub(crate) seqno: SeqNo,
    /// The database's time at this moment.
    pub(crate) time: Moment,
}

/// The number of a snapshot that was not taken.
pub(crate) const NOT_TAKEN: SeqNo = SeqNo::MAX;

impl SnapshotMoment<'_> {
    /// Returns the sequence number for a read.
    ///
    /// # Errors
    /// `Reentrant` if the snapshot was not taken.
    #[inline]
    pub(crate) fn seqno_to_read(self) -> Result<SeqNo> {
        if self.seqno == NOT_TAKEN { Err(Error::reentrant()) } else { Ok(self.seqno) }
    }
}
