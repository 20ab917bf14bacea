//! Whether the database was closed.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, ErrorKind};

/// Whether the database was closed. After a close another opener owns the files and may remove
/// them. An iterator may then need a file that is not open. It finds the file unchanged, or gets an
/// error that names the close.
///
/// The note is stored with `Release` before the lock of the directory is released, and only then
/// may files go. It is read with `Acquire` after the system failed to open one. Between the two lie
/// calls of the system that found the file removed. A late look would only explain less.
#[derive(Debug, Default)]
pub(crate) struct Closed(AtomicBool);

impl Closed {
    /// Notes that the database was closed.
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Explains a failure to open a file.
    #[cold]
    pub(crate) fn explain(&self, error: Error) -> Error {
        if !self.0.load(Ordering::Acquire) {
            return error;
        }
        let message = format!(
            "the database was closed, and a file that is still needed cannot be opened; close it \
             after its iterators: {error}"
        );
        Error::new(ErrorKind::Closed, message)
    }
}
