//! Whether a database takes calls: not in a fork, not after its close, and no writes if it is only
//! read or after a failed sync.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use foldb_env::Process;

use crate::error::{Error, ErrorKind, Result};
use crate::locks::Lock;
use crate::locks::rank::CLOSE;

/// Which calls a database takes.
pub(crate) struct Standing {
    /// The process that opened the database.
    process: Process,
    read_only: bool,
    /// Why the database takes no writes until it is reopened.
    poison: OnceLock<Error>,
    /// Whether the manifest may hold an edit that failed. Stored with `Release` and read with
    /// `Acquire`. The thread whose edit failed asks before it removes the edit's files. It sees its
    /// own store, or that of a later edit, which has overwritten the failed one if there is no
    /// doubt left.
    edit_in_doubt: AtomicBool,
    closed: AtomicBool,
    /// The outcome of the close, once it is done. Held while the close runs.
    outcome: Lock<Option<Result<()>>, CLOSE>,
}

impl Standing {
    /// `read_only`: [`crate::Db::open_read_only`] opened the database. The engine then writes
    /// nothing, and its file system rejects writes.
    pub(crate) fn new(process: Process, read_only: bool) -> Standing {
        Standing {
            process,
            read_only,
            poison: OnceLock::new(),
            edit_in_doubt: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            outcome: Lock::default(),
        }
    }

    /// Returns whether this process opened the database.
    #[inline]
    pub(crate) fn is_in_its_process(&self) -> bool {
        self.process.is_current()
    }

    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release of `close`. A call that misses it began before the close.
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poison.get().is_some()
    }

    /// Notes whether the manifest may hold an edit that failed: its bytes were written, and could
    /// not be cleared.
    pub(crate) fn note_edit_in_doubt(&self, is_in_doubt: bool) {
        self.edit_in_doubt.store(is_in_doubt, Ordering::Release);
    }

    /// Returns whether the next open may find an edit that failed here, and the files that it
    /// names. They must stay.
    pub(crate) fn may_have_failed_edit(&self) -> bool {
        self.is_poisoned() || self.edit_in_doubt.load(Ordering::Acquire)
    }

    /// Checks that this process opened the database. A fork has a copy of the memory, in which
    /// locks may be held by threads that the fork does not have, so a caller checks before it
    /// waits.
    ///
    /// # Errors
    /// `Forked` in a fork of the process that opened the database.
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.process.is_current() { Ok(()) } else { Err(Error::forked()) }
    }

    /// # Errors
    /// `Closed` after the database was closed; see [`Standing::check_process`].
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.check_process()?;
        self.check_not_closed()
    }

    #[inline]
    fn check_not_closed(&self) -> Result<()> {
        if self.is_closed() {
            return Err(Error::new(ErrorKind::Closed, "the database is closed; open it again"));
        }
        Ok(())
    }

    /// # Errors
    /// `Forked`, `Closed`, `ReadOnly`; see [`Standing::check_sound`].
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_process()?;
        self.check_takes_writes()
    }

    /// As [`Standing::check_writable`], for a caller that has checked the process in this call.
    ///
    /// # Errors
    /// `Closed`, `ReadOnly`; see [`Standing::check_sound`].
    #[inline]
    pub(crate) fn check_takes_writes(&self) -> Result<()> {
        self.check_not_closed()?;
        if self.read_only {
            return Err(Error::new(
                ErrorKind::ReadOnly,
                "the database was opened read-only; open it with Db::open to write",
            ));
        }
        self.check_sound()
    }

    /// # Errors
    /// `Poisoned` after a failed sync or a panic in the background. `DirectoryLost` if the
    /// directory was elsewhere in the middle of a change.
    #[inline]
    pub(crate) fn check_sound(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(cause) => Err(poisoned(cause)),
        }
    }

    /// Makes all later writes fail: data that had to be durable may not be, or memory may be wrong.
    pub(crate) fn poison(&self, cause: &Error) {
        let _already_poisoned = self.poison.set(cause.clone());
    }

    /// Notes that a sync of a log failed. All later writes fail, because it is unknown which writes
    /// are durable. Only a sync that found the directory elsewhere may be tried again.
    pub(crate) fn note_failed_sync(&self, cause: &Error) {
        if cause.kind() != ErrorKind::DirectoryLost {
            self.poison(cause);
        }
    }

    /// Makes all later calls fail.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Runs the close, or waits for another caller's. Each caller receives its outcome.
    pub(crate) fn close_once(&self, close: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut outcome = self.outcome.lock();
        outcome.get_or_insert_with(close).clone()
    }
}

/// Returns the error of writes to a database that `cause` poisoned.
#[cold]
fn poisoned(cause: &Error) -> Error {
    match cause.kind() {
        // A panic's error already says what to do.
        ErrorKind::Poisoned => cause.clone(),
        ErrorKind::DirectoryLost => Error::new(
            ErrorKind::DirectoryLost,
            format!("{cause}; this was noticed during a change, so reopen the database"),
        ),
        _ => Error::new(
            ErrorKind::Poisoned,
            format!("a sync failed ({cause}), so durability is unknown; reopen the database"),
        ),
    }
}
