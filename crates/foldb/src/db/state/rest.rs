//! Whether a look for the jobs of an idle database would find one.
//!
//! Such a look walks over all trees, which takes milliseconds where there are thousands of
//! keyspaces. So a worker looks again only after news: what may have made a job.
//!
//! Jobs come from changes of the trees, from snapshots that are released, and from the time that
//! reads lose. Each of them happens first and counts second. A look reads the count first and looks
//! second. The count is raised with `AcqRel` and read with `Acquire`. So a look that has the news
//! in its count also sees what they are about, and news that it missed have a larger count.
//!
//! Looks store what they found under the lock of the trees. [`Rest::end`] takes no lock, and a look
//! may begin a rest again behind it. So its caller then wakes a worker, or is a worker whose look
//! at the trees came before. `Release` and `Acquire` are enough for such a flag.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the last look for a job found, and what came since.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// Whether the last look found no job, not even one for an idle database.
    is_at_rest: AtomicBool,
    /// Counts what may have made a job for an idle database.
    news: AtomicU64,
    /// The count at the last look that found no such job, and 1 more.
    rested_at: AtomicU64,
}

impl Rest {
    pub(crate) fn is_at_rest(&self) -> bool {
        self.is_at_rest.load(Ordering::Acquire)
    }

    /// Ends the rest, so that a worker looks even if no news came.
    pub(crate) fn end(&self) {
        self.is_at_rest.store(false, Ordering::Release);
    }

    /// Notes that there may be a job, even if the database is at rest.
    pub(crate) fn note_news(&self) {
        self.news.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the count of what may have made a job. A worker reads it before it looks for a job.
    pub(crate) fn news(&self) -> u64 {
        self.news.load(Ordering::Acquire)
    }

    /// Notes whether a look found that there is nothing to do. `seen` is the count before it.
    pub(crate) fn note_look(&self, seen: u64, finds_rest: bool) {
        self.is_at_rest.store(finds_rest, Ordering::Release);
        if finds_rest {
            self.rested_at.store(seen + 1, Ordering::Release);
        }
    }

    /// Returns whether nothing came that may have made a job since a look found none.
    pub(crate) fn has_no_news(&self) -> bool {
        self.rested_at.load(Ordering::Acquire) == self.news() + 1
    }

    /// Does what [`Rest::has_no_news`] does. If there are none, the rest goes on.
    pub(crate) fn goes_on(&self) -> bool {
        let has_none = self.has_no_news();
        if has_none {
            self.is_at_rest.store(true, Ordering::Release);
        }
        has_none
    }
}
