//! Whether the database was closed.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, ErrorKind};

/// Whether the database was closed. From then on its files are another opener's, who may remove
/// them: an iterator that needs one which is not open finds it as it was, or learns why it does
/// not.
#[derive(Debug, Default)]
pub(crate) struct Closed(AtomicBool);

impl Closed {
    /// Notes that it is.
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// What a failure to open a file means.
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
