//! Jobs between two of their slices.

use crate::db::state::tree::Claim;
use crate::locks::Lock;
use crate::locks::rank::PAUSED;

/// Jobs that no thread runs now: the next free worker continues them with their next slice.
#[derive(Debug, Default)]
pub(crate) struct PausedJobs(Lock<Vec<Claim>, PAUSED>);

impl PausedJobs {
    pub(crate) fn add(&self, job: Option<Claim>) {
        self.0.lock().extend(job);
    }

    /// Takes the job that has been paused for the longest time.
    pub(crate) fn take_first(&self) -> Option<Claim> {
        let mut jobs = self.0.lock();
        if jobs.is_empty() { None } else { Some(jobs.remove(0)) }
    }

    pub(crate) fn take_all(&self) -> Vec<Claim> {
        std::mem::take(&mut *self.0.lock())
    }
}
