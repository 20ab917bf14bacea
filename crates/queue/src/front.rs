//! What a handle knows of the jobs that come first, so that most claims need no walk.
//!
//! A walk over the ready jobs steps over the deleted entries before them: a few milliseconds behind
//! 100 000 jobs that were done since the last flush, where an ack takes 3 µs. So a walk reads the
//! first [`AHEAD`] ready jobs, and the claims after it try one after another. The next walk begins
//! where the last claim was. These are hints: a claim reads the entry of its job in its
//! transaction.
//!
//! ```text
//!   done  done  done  done | ready  ready  ready ...
//!                     from   hints
//! ```
//!
//! The handle tells the front of each state that it writes. A ready job that comes before the next
//! hint makes the next claim walk again, from that job on. A claim looks for due jobs when the
//! first told time has come, and every 100 ms.
//!
//! A job that returns to a place far before the hints makes the walk step over what was done since
//! the last flush, once for each such job.
//!
//! What the front is not told of comes late: jobs of other handles, and of transactions that commit
//! after the walk. So the first walk after a look begins at the start. Up to [`AHEAD`] claims, and
//! those until the next look, may go before such jobs. A queue is empty only if a look and a walk
//! from the start find nothing.

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
    /// Where the next walk begins; `None`: at the start. Before it are only jobs that the handle
    /// was not told of.
    from: Option<[u8; 13]>,
    /// Whether the next walk begins at the start, wherever the last one was.
    is_from_start: bool,
    /// The last write of the database when a look and a walk found nothing.
    empty_at: Option<u64>,
    /// No delayed or leased job of the handle is due before this time. Zero: that is not known.
    quiet_until: u64,
    /// The time of the last look.
    looked_at: u64,
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

    /// Returns whether a job may be due. If the clock went back since the last look, nothing is
    /// known of the time in between.
    pub(crate) fn may_be_due(&self, now: u64) -> bool {
        self.quiet_until <= now || now < self.looked_at
    }

    /// Returns the last write of the database when a look and a walk found nothing.
    pub(crate) fn empty_at(&self) -> Option<u64> {
        self.empty_at
    }

    /// Takes in that a look and a walk found nothing. No write came after this one before they
    /// began.
    pub(crate) fn found_nothing(&mut self, last_write: u64) {
        self.empty_at = Some(last_write);
    }

    /// Begins a look for the first time at which a job is due. What is told from now on counts.
    pub(crate) fn begin_look(&mut self, now: u64) {
        self.quiet_until = u64::MAX;
        self.looked_at = now;
        self.is_from_start = true;
    }

    /// Returns the next hint; `None` if a walk must come before it.
    pub(crate) fn next(&mut self) -> Option<Job> {
        let key = self.jobs.front()?.ready_key();
        if self.came.is_some_and(|came| came < key) {
            return None;
        }
        self.from = Some(key);
        self.jobs.pop_front()
    }

    /// Begins a walk, and returns its first key; `None` for the start. What is told from now on
    /// counts.
    pub(crate) fn begin_walk(&mut self) -> Option<[u8; 13]> {
        self.jobs.clear();
        let came = self.came.take();
        if std::mem::take(&mut self.is_from_start) {
            self.from = None;
        } else if let (Some(from), Some(came)) = (self.from, came) {
            self.from = Some(from.min(came));
        }
        self.from
    }

    /// Takes what a walk found.
    pub(crate) fn end_walk(&mut self, jobs: Vec<Job>) {
        self.jobs = jobs.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: u64) -> Job {
        Job { id, priority: 0, attempts: 0 }
    }

    fn ids(front: &mut Front) -> Vec<u64> {
        std::iter::from_fn(|| front.next()).map(|job| job.id).collect()
    }

    #[test]
    fn a_walk_begins_where_the_last_claim_was() {
        let mut front = Front::default();
        assert_eq!(front.begin_walk(), None);
        front.end_walk(vec![job(1), job(2)]);
        front.ready(job(3));
        assert_eq!(ids(&mut front), [1, 2]);
        assert_eq!(front.begin_walk(), Some(job(2).ready_key()));
        front.end_walk(vec![job(3), job(4)]);
        assert_eq!(front.next().unwrap().id, 3);
        front.begin_look(0);
        assert_eq!(ids(&mut front), [4]);
        assert_eq!(front.begin_walk(), None, "the first walk after a look");
        front.end_walk(Vec::new());
        assert_eq!(front.begin_walk(), None, "nothing was claimed since");
    }

    /// A clock that went back an hour once kept a claim from looking for an hour.
    #[test]
    fn a_clock_that_goes_back_leads_to_a_look() {
        let mut front = Front::default();
        front.begin_look(5000);
        front.due_at(5100);
        assert!(!front.may_be_due(5000) && !front.may_be_due(5099));
        assert!(front.may_be_due(5100) && front.may_be_due(1400));
    }

    #[test]
    fn a_job_that_returns_while_another_is_claimed_is_not_passed() {
        let mut front = Front::default();
        front.begin_walk();
        front.end_walk(vec![job(1), job(5), job(6)]);
        assert_eq!(ids(&mut front), [1, 5, 6]);
        front.ready(job(1));
        assert_eq!(front.begin_walk(), Some(job(1).ready_key()));
        // It returns again before the walk ends.
        front.ready(job(1));
        front.end_walk(vec![job(7)]);
        assert_eq!(front.next(), None);
        assert_eq!(front.begin_walk(), Some(job(1).ready_key()));
    }
}
