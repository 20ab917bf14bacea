//! What a garbage collection on demand did.

use std::time::Duration;

use crate::db::trees::gc::step::GcStep;

/// What a garbage collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GcReport {
    /// How long it took.
    pub duration: Duration,
    /// Bytes of segment files before it.
    pub bytes_before: u64,
    /// Bytes of segment files after it.
    pub bytes_after: u64,
    /// Bytes read from segments.
    pub bytes_read: u64,
    /// Bytes written to segments.
    pub bytes_written: u64,
    /// Bytes of tables read to find which values are alive.
    pub references_read: u64,
    /// Files that were rewritten.
    pub files_rewritten: u64,
    /// Most bytes held at once to find and move live values.
    pub peak_lookup_bytes: u64,
    /// Edits that said where segments lie from then on.
    pub commits: u64,
    /// Longest time that one of them held the tree, its sync included. No read and no write waits
    /// for that.
    pub longest_install: Duration,
    /// Longest time that this or other background work held a lock for which a get, an iterator, a
    /// write or a sync may wait.
    pub longest_lock: Duration,
    /// Longest processor time of a thread that held one; zero where the system does not tell.
    pub longest_lock_cpu: Duration,
    /// Whether it was ended by [`crate::GcOptions::cancel`].
    pub cancelled: bool,
}

impl GcReport {
    /// Bytes of segment files that were given back.
    pub fn bytes_reclaimed(&self) -> u64 {
        self.bytes_before.saturating_sub(self.bytes_after)
    }

    /// The same as a fraction of what there was; 0 where there was nothing.
    pub fn reduction_ratio(&self) -> f64 {
        match self.bytes_before {
            0 => 0.0,
            before => self.bytes_reclaimed() as f64 / before as f64,
        }
    }

    pub(crate) fn add(&mut self, step: &GcStep) {
        self.bytes_read += step.rewritten.bytes_read;
        self.bytes_written += step.rewritten.bytes_written;
        self.files_rewritten += step.files;
        self.references_read += step.rewritten.references_read;
        self.peak_lookup_bytes = self.peak_lookup_bytes.max(step.rewritten.peak_memory as u64);
        self.commits += 1;
        self.longest_install = self.longest_install.max(step.install);
    }
}
