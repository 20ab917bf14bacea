//! Errors: what happened, where, and what the caller can do about it.
//!
//! [`ErrorKind`] is the stable part and answers "what should I do?". The message answers "what
//! happened, where". Corrupt bytes are always an [`Error`], never a panic.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb_env::{DirectoryLost, NothingDone};

/// The result of every fallible call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call itself is wrong: bad options, a malformed operand, or a merge without an operator.
    /// Fix the input.
    InvalidArgument,
    /// The directory holds no database and `create_if_missing` is off. Turn the option on, or fix
    /// the path.
    DatabaseMissing,
    /// The directory already holds a database and `error_if_exists` is on.
    DatabaseExists,
    /// The directory holds a database of another engine: LevelDB or RocksDB. Nothing in it was
    /// changed. Import a LevelDB database with `foldb import`, or choose another directory.
    ForeignDatabase,
    /// Another process, or another handle in this process, has the database open. Close it there
    /// first.
    Locked,
    /// The database uses an operator that the caller of open did not pass. Register the operator in
    /// `Options`.
    UnknownOperator,
    /// A keyspace uses a comparator that the caller of open did not pass. Add it to
    /// `Options::comparators`.
    UnknownComparator,
    /// No keyspace has that name. Create it.
    KeyspaceMissing,
    /// A keyspace of that name already exists. Open it, or choose another name.
    KeyspaceExists,
    /// The keyspace was dropped after this handle was made. Drop the handle.
    KeyspaceDropped,
    /// The merge operator rejected this key's operands. Only reads of this key are affected.
    MergeFailed,
    /// The comparator of a keyspace panicked in background work, or contradicted itself. Only this
    /// keyspace is affected. The keyspace takes no more writes and is no longer flushed. The
    /// database keeps the logs that hold its writes. Reopen the database with a comparator that is
    /// a total order.
    ///
    /// An open also fails with this kind if the stored keys do not ascend in the order of the given
    /// comparator. Such an open changes nothing. Open with the comparator that wrote the keys.
    ComparatorFailed,
    /// Bytes on disk are not the bytes that were written. Restore the database from a copy, or
    /// repair it.
    Corruption,
    /// This version or build does not know the format of a file, or a requested codec. The file
    /// stays as it is. Use the foldb that wrote it, or a build with the cargo feature that the
    /// message names.
    ///
    /// Every open also fails with this kind on a platform where the tests of foldb have not run,
    /// unless the cargo feature `untested-platform` is on.
    Unsupported,
    /// The disk is full. Delete keys, ranges or keyspaces, which may use the database's reserve
    /// ([`crate::Options::space_reserve`]), or free some space; the database then resumes by
    /// itself.
    NoSpace,
    /// An earlier sync failed, so it is unknown which writes are durable. Reopen the database.
    Poisoned,
    /// The database was opened read-only. Open it with [`crate::Db::open`] to write.
    ReadOnly,
    /// The database was closed. Open it again.
    Closed,
    /// The write would have waited longer than [`crate::WriteOptions::deadline`] allows. Nothing
    /// was written; try again later.
    Busy,
    /// Another write changed what this transaction read, or wrote what it writes. The commit wrote
    /// nothing. Run the transaction again; [`crate::Db::transact`] does so by itself.
    Conflict,
    /// The transaction holds more writes than one batch may. Running it again does not help: split
    /// it. [`crate::limits::max_batch_bytes`] is the limit.
    TransactionTooLarge,
    /// The program gave up its transaction, by [`Error::aborted`]. The commit wrote nothing.
    Aborted,
    /// This process is a fork of the one that opened the database. The database belongs to the
    /// parent, which writes on; the child has none of its threads. Nothing was written. Use the
    /// database in the parent only, or open another one after the fork.
    Forked,
    /// Code of the caller made this call while the engine ran it: a merge operator, comparator,
    /// filter policy or listener. The call would have waited for that code to return, for ever.
    /// Nothing was written. Make the call on another thread, without waiting for it, or after the
    /// code has returned.
    Reentrant,
    /// The directory of the open database was moved or removed, or another one was put in its
    /// place. Nothing was written to the other one. Put the directory back, or close the database
    /// and open it where it is now. A call that fills or empties a directory, such as a checkpoint
    /// or a backup, fails so too: remove what it left in the moved directory, and call again.
    DirectoryLost,
    /// The change feed cannot continue at this position. A log after it was removed, or it belongs
    /// to another history of the database. Copy the database anew, and follow from the position of
    /// the copy ([`crate::Db::snapshot_and_position`]).
    PositionLost,
    /// A read, write or other call of the operating system failed.
    Io,
}

/// An error: a kind to match on and a one-line message that names the file, offset or key.
///
/// # Example
/// ```
/// use foldb::{Error, ErrorKind};
/// let error = Error::invalid_argument("a key may not be longer than 4 GiB");
/// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    /// The file that the error is about, if any.
    path: Option<PathBuf>,
    /// The byte offset in `path`, if any.
    offset: Option<u64>,
    /// The key whose operands could not be folded, and their operator, for a failed merge.
    failed_merge: Option<(Vec<u8>, String)>,
    /// The operating system's error that caused this one.
    source: Option<Arc<io::Error>>,
}

impl Error {
    /// Makes an error of any kind, with a message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            path: None,
            offset: None,
            failed_merge: None,
            source: None,
        }))
    }

    /// Makes an error for a call whose arguments are wrong.
    pub fn invalid_argument(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidArgument, message)
    }

    /// Makes an error with which a program gives up its transaction; see [`crate::Db::transact`].
    ///
    /// # Example
    /// ```
    /// let error = foldb::Error::aborted("the account is empty");
    /// assert_eq!(error.kind(), foldb::ErrorKind::Aborted);
    /// ```
    pub fn aborted(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Aborted, message)
    }

    /// Makes an error for bytes that are not the bytes that were written. The layer that knows the
    /// file adds it with [`Error::at`].
    pub fn corruption(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Corruption, message)
    }

    /// Makes an error for a failed operating system call on `path`. A full disk becomes
    /// [`ErrorKind::NoSpace`].
    pub fn io(path: &Path, doing: &str, source: &io::Error) -> Error {
        let mut error = Error::new(kind_of(source), format!("cannot {doing}: {source}"));
        error.0.path = Some(path.to_owned());
        error.0.source = Some(Arc::new(copy_of(source)));
        error
    }

    /// Returns whether the failed call of the system surely changed nothing, because another
    /// program holds the file.
    pub(crate) fn did_nothing(&self) -> bool {
        self.0.source.as_deref().is_some_and(NothingDone::is_why)
    }

    /// Makes the error of a call in a fork of the process that opened the database.
    #[cold]
    pub(crate) fn forked() -> Error {
        Error::new(
            ErrorKind::Forked,
            "this process is a fork of the one that opened the database: use the database in the \
             parent, or open another one after the fork",
        )
    }

    /// Makes the error of a call that would wait for the code that makes it.
    #[cold]
    pub(crate) fn reentrant() -> Error {
        Error::new(
            ErrorKind::Reentrant,
            "this call would wait for the listener, operator, comparator or filter policy that \
             makes it: make the call on another thread, or after that code has returned",
        )
    }

    /// Makes the error for a key whose operands cannot be folded.
    pub(crate) fn merge_failed(message: String, key: &[u8], operator: String) -> Error {
        let mut error = Error::new(ErrorKind::MergeFailed, message);
        error.0.failed_merge = Some((key.to_vec(), operator));
        error
    }

    /// Adds the file and offset, unless a deeper layer already added them.
    #[must_use]
    pub fn at(mut self, path: &Path, offset: u64) -> Error {
        if self.0.path.is_none() {
            self.0.path = Some(path.to_owned());
            self.0.offset.get_or_insert(offset);
        }
        self
    }

    /// Adds the byte offset. A calling layer adds the file.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Error {
        if self.0.offset.is_none() {
            self.0.offset = Some(offset);
        }
        self
    }

    /// Returns the same error with its subject in front of the message.
    #[must_use]
    pub(crate) fn prefixed(mut self, what: &str) -> Error {
        self.0.message.insert_str(0, what);
        self
    }

    /// Returns the same error with advice behind the message.
    #[must_use]
    pub(crate) fn advising(mut self, advice: &str) -> Error {
        self.0.message.push_str(advice);
        self
    }

    /// Returns whether a file does not exist.
    pub(crate) fn is_missing_file(&self) -> bool {
        let source = std::error::Error::source(self).and_then(|it| it.downcast_ref::<io::Error>());
        source.is_some_and(|source| source.kind() == io::ErrorKind::NotFound)
    }

    /// Adds the file and keeps an offset that is already there.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Error {
        if self.0.path.is_none() {
            self.0.path = Some(path.to_owned());
        }
        self
    }

    /// Returns the kind, which says what the caller can do about the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the file that the error is about, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the whole key and the operator of a [`ErrorKind::MergeFailed`]. The operator is the
    /// one that rejects the value or an operand, as `NAME` or `NAME:PARAM`.
    pub fn failed_merge(&self) -> Option<(&[u8], &str)> {
        self.0.failed_merge.as_ref().map(|(key, operator)| (&key[..], &operator[..]))
    }

    /// Returns the byte offset in [`Error::path`], if known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }
}

/// Returns the kind for a failed call of the operating system: `NoSpace` for a full disk,
/// `DirectoryLost` for a directory that was moved away, otherwise `Io`.
fn kind_of(error: &io::Error) -> ErrorKind {
    if error.get_ref().is_some_and(|cause| cause.is::<DirectoryLost>()) {
        return ErrorKind::DirectoryLost;
    }
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::NoSpace,
        _ => ErrorKind::Io,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.kind == ErrorKind::Corruption {
            f.write_str("corruption: ")?;
        }
        f.write_str(&self.0.message)?;
        if let Some(path) = &self.0.path {
            write!(f, " ({}", path.display())?;
            if let Some(offset) = self.0.offset {
                write!(f, ", offset {offset}")?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    /// Returns the operating system's [`io::Error`], if a system call failed.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// Returns a copy of an [`io::Error`], which the standard library cannot clone.
fn copy_of(error: &io::Error) -> io::Error {
    let reason = error.get_ref().and_then(|reason| reason.downcast_ref::<NothingDone>());
    match (error.raw_os_error(), reason) {
        (Some(code), _) => io::Error::from_raw_os_error(code),
        (None, Some(reason)) => io::Error::new(error.kind(), reason.clone()),
        (None, None) => io::Error::new(error.kind(), error.to_string()),
    }
}

impl From<Error> for io::Error {
    /// Wraps the error. The kind of the result is that of the operating system's error. Without
    /// such an error, it is the nearest kind of the standard library.
    ///
    /// ```
    /// fn count(path: &std::path::Path) -> std::io::Result<usize> {
    ///     let db = foldb::Db::open(path, foldb::Options::default())?;
    ///     Ok(db.keyspaces().len())
    /// }
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let error = count(&dir.path().join("missing")).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// assert!(error.get_ref().unwrap().is::<foldb::Error>());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn from(error: Error) -> io::Error {
        let kind = match (error.kind(), &error.0.source) {
            (_, Some(source)) => source.kind(),
            (ErrorKind::InvalidArgument, None) => io::ErrorKind::InvalidInput,
            (ErrorKind::Corruption, None) => io::ErrorKind::InvalidData,
            (ErrorKind::DatabaseMissing | ErrorKind::KeyspaceMissing, None) => {
                io::ErrorKind::NotFound
            }
            (
                ErrorKind::DatabaseExists | ErrorKind::ForeignDatabase | ErrorKind::KeyspaceExists,
                None,
            ) => io::ErrorKind::AlreadyExists,
            (ErrorKind::NoSpace, None) => io::ErrorKind::StorageFull,
            (ErrorKind::Busy | ErrorKind::Locked, None) => io::ErrorKind::WouldBlock,
            (ErrorKind::Unsupported, None) => io::ErrorKind::Unsupported,
            (ErrorKind::ReadOnly, None) => io::ErrorKind::ReadOnlyFilesystem,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

impl From<io::Error> for Error {
    /// Converts an error of a file system or of the program's own code: [`ErrorKind::NoSpace`] for
    /// a full disk, otherwise [`ErrorKind::Io`]. If the error wraps an error of the engine, returns
    /// that one.
    ///
    /// ```
    /// use foldb::{Error, ErrorKind};
    ///
    /// let error = Error::from(std::io::Error::other("the cable is loose"));
    /// assert_eq!(error.kind(), ErrorKind::Io);
    /// let source = std::error::Error::source(&error).expect("there is one");
    /// assert_eq!(source.to_string(), "the cable is loose");
    /// ```
    fn from(error: io::Error) -> Error {
        match error.downcast::<Error>() {
            Ok(own) => own,
            Err(error) => {
                let mut own = Error::new(kind_of(&error), error.to_string());
                own.0.source = Some(Arc::new(error));
                own
            }
        }
    }
}
