//! Whether what reads without asking the database may still do so: iterators, scans and batches.

use std::sync::atomic::{AtomicBool, Ordering};

use foldb::{Error, ErrorKind};
use foldb_env::Process;

use crate::errors::closed;

/// The state of a database that its handles and iterators share.
pub(crate) struct Standing {
    is_closed: AtomicBool,
    /// The process that opened the database. A fork of it must not read on: the parent goes on
    /// with the same files.
    process: Process,
}

impl Standing {
    pub(crate) fn new() -> Standing {
        Standing { is_closed: AtomicBool::new(false), process: Process::current() }
    }

    /// Notes that the database was closed through a handle.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// # Errors
    /// `Closed`; `Forked` in a fork of the process that opened the database.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.process.is_current() {
            return Err(Error::new(
                ErrorKind::Forked,
                "this process is a fork of the one that opened the database: open it after the \
                 fork",
            ));
        }
        if self.is_closed() {
            return Err(closed("database"));
        }
        Ok(())
    }
}
