//! How far the check of files in the background has come ([`crate::db::trees::scrub`]).
//!
//! Invariant: one worker at a time checks a file, and none before the last one is paid for.

use std::time::Duration;

use crate::key::KeyspaceId;
use crate::locks::rank::SCRUB;
use crate::locks::{Lock, LockGuard};

/// The kinds of files that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileKind {
    Table,
    Segment,
}

/// A file, in the order of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) keyspace: KeyspaceId,
    pub(crate) kind: FileKind,
    /// The number of the table or segment.
    pub(crate) number: u64,
}

/// The progress of the scrub, which one worker at a time holds.
#[derive(Debug, Default)]
pub(crate) struct Scrub(Lock<Progress, SCRUB>);

/// How far a round has come. A new open begins a new round.
#[derive(Debug, Default)]
struct Progress {
    last: Option<Place>,
    /// When the round began, on the environment's clock.
    begun: Duration,
    /// When the next file is due, on that clock.
    due: Duration,
}

impl Scrub {
    /// Begins a check. Returns `None` if another worker checks, or none is due yet.
    pub(crate) fn begin(&self, now: Duration) -> Option<ScrubStep<'_>> {
        let mut progress = self.0.try_lock()?;
        if now < progress.due {
            return None;
        }
        if progress.last.is_none() {
            progress.begun = now;
        }
        Some(ScrubStep(progress))
    }
}

/// The right to check the next file.
pub(crate) struct ScrubStep<'a>(LockGuard<'a, Progress, SCRUB>);

impl ScrubStep<'_> {
    /// Returns the file that was checked last.
    pub(crate) fn last(&self) -> Option<Place> {
        self.0.last
    }

    /// Notes that a file was checked, from `start` on. The next one is due after `rest`.
    pub(crate) fn checked(&mut self, place: Place, start: Duration, rest: Duration) {
        self.0.last = Some(place);
        self.0.due = start.saturating_add(rest);
    }

    /// Ends the round. The next one begins `after` the begin of this one.
    pub(crate) fn end_round(&mut self, after: Duration) {
        self.0.last = None;
        self.0.due = self.0.begun.saturating_add(after);
    }
}
