//! Whether the database is still as the last clean close left it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the record of the last clean close describes the files. If it does at the next close,
/// that close has nothing to write.
///
/// Files change under the writer lock or under that of the tree, and the close holds both. A thread
/// that holds one of them and sees that the other has removed the record may change files at once.
/// So the end is stored with `Release`, after the removal, and read with `Acquire`.
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
