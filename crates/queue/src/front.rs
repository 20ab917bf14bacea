//! What a handle knows of the jobs that come first, so that most claims need no walk.
//!
//! A walk to the first ready job steps over the deleted entries before it. That took 12 to 44 µs,
//! where an ack takes 3 µs. So a walk reads the first [`AHEAD`] ready jobs, and the claims after it
//! try one after another. These are hints: a claim reads the entry of its job in its transaction.
//!
//! The handle tells the front of each state that it writes. A ready job that comes before the next
//! hint makes the next claim walk again. A claim looks for due jobs when the first told time has
//! come, and before each walk.
//!
//! What the front is not told of comes late: jobs of other handles, and of transactions that commit
//! after the walk. Up to [`AHEAD`] claims may go before them. Then a walk finds them, as it does
//! when no hint is left.

use std::collections::VecDeque;

use crate::layout::Job;

/// Ready jobs that a walk reads.
pub(crate) const AHEAD: usize = 256;

/// The hints of a handle.
#[derive(Debug, Default)]
pub(crate) struct Front {
    /// The first ready jobs at the last walk, without those that claims have tried.
    jobs: VecDeque<Job>,
    /// The first of the ready jobs that the handle wrote since the last walk began.
    came: Option<[u8; 13]>,
    /// No delayed or leased job of the handle is due before this time. Zero: that is not known.
    quiet_until: u64,
}

impl Front {
    /// Takes in that a job became ready.
    pub(crate) fn ready(&mut self, job: Job) {
        let key = job.ready_key();
        self.came = Some(self.came.map_or(key, |came| came.min(key)));
    }

    /// Takes in that a job is due at a time.
    pub(crate) fn due_at(&mut self, time: u64) {
        self.quiet_until = self.quiet_until.min(time);
    }

    /// Returns whether a job may be due.
    pub(crate) fn may_be_due(&self, now: u64) -> bool {
        self.quiet_until <= now
    }

    /// Begins a look for the first time at which a job is due. What is told from now on counts.
    pub(crate) fn begin_look(&mut self) {
        self.quiet_until = u64::MAX;
    }

    /// Returns the next hint; `None` if a walk must come before it.
    pub(crate) fn next(&mut self) -> Option<Job> {
        let key = self.jobs.front()?.ready_key();
        if self.came.is_some_and(|came| came < key) { None } else { self.jobs.pop_front() }
    }

    /// Begins a walk. What is told from now on counts.
    pub(crate) fn begin_walk(&mut self) {
        self.jobs.clear();
        self.came = None;
    }

    /// Takes what a walk found.
    pub(crate) fn end_walk(&mut self, jobs: Vec<Job>) {
        self.jobs = jobs.into();
    }
}
