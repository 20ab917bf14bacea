//! The report of a garbage collection on demand.

use std::time::Duration;

use crate::db::trees::gc::step::GcStep;

/// The figures of a garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GcReport {
    /// How long the collection took.
    pub duration: Duration,
    /// Bytes of segment files before the collection.
    pub bytes_before: u64,
    /// Bytes of segment files after the collection.
    pub bytes_after: u64,
    /// Bytes read from segments.
    pub bytes_read: u64,
    /// Bytes written to segments.
    pub bytes_written: u64,
    /// Bytes of tables read to find live values.
    pub references_read: u64,
    /// Segment files rewritten.
    pub files_rewritten: u64,
    /// Most bytes held at once to find and move live values.
    pub peak_lookup_bytes: u64,
    /// Manifest edits that moved segments.
    pub commits: u64,
    /// Longest time that one of these edits held the tree lock, its sync included. No read and no
    /// write waits for that lock.
    pub longest_install: Duration,
    /// Longest time that background work held a lock which a get, an iterator, a write or a sync
    /// may wait for.
    pub longest_lock: Duration,
    /// Longest processor time of a thread that held such a lock; zero if the system does not report
    /// it.
    pub longest_lock_cpu: Duration,
    /// Whether [`crate::garbage::GcOptions::cancel`] ended the collection.
    pub cancelled: bool,
}

impl GcReport {
    /// Returns the bytes of segment files that were reclaimed.
    pub fn bytes_reclaimed(&self) -> u64 {
        self.bytes_before.saturating_sub(self.bytes_after)
    }

    /// Returns the reclaimed bytes as a fraction of the bytes before; 0 if there were no bytes
    /// before.
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
