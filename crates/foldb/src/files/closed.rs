//! Whether the database was closed.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, ErrorKind};

/// Whether the database was closed. After a close another opener owns the files and may remove
/// them. An iterator may then need a file that is not open. It finds the file unchanged, or gets an
/// error that names the close.
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
