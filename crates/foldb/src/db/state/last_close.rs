//! Whether the database is still as the last clean close left it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the record of the last clean close describes the files. If it does at the next close,
/// that close has nothing to write.
#[derive(Debug)]
pub(crate) struct LastClose(AtomicBool);

impl LastClose {
    pub(crate) fn new(is_in_force: bool) -> LastClose {
        LastClose(AtomicBool::new(is_in_force))
    }

    pub(crate) fn is_in_force(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Notes that the record is removed: files are about to change.
    pub(crate) fn end(&self) {
        self.0.store(false, Ordering::Release);
    }
}
