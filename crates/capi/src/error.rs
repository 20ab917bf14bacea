//! Errors: a code to act on, and a message to print.

use std::ffi::{CStr, CString, c_char};

use foldb::{Error, ErrorKind};

/// What the caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum foldb_code_t {
    /// No error: the code of a NULL error.
    FOLDB_OK = 0,
    /// The call itself is wrong: a bad option, a malformed operand, or a NULL that may not be one.
    FOLDB_INVALID_ARGUMENT = 1,
    /// The directory holds no database. Set `create_if_missing`, or fix the path.
    FOLDB_DATABASE_MISSING = 2,
    /// The directory already holds a database, and `error_if_exists` is set.
    FOLDB_DATABASE_EXISTS = 3,
    /// Another process or handle has the database open. Close it first.
    FOLDB_LOCKED = 4,
    /// The database uses a merge operator that the open did not get.
    FOLDB_UNKNOWN_OPERATOR = 5,
    /// A comparator that the open did not get orders one of the keyspaces.
    FOLDB_UNKNOWN_COMPARATOR = 6,
    /// No keyspace has that name. Create it.
    FOLDB_KEYSPACE_MISSING = 7,
    /// A keyspace of that name already exists.
    FOLDB_KEYSPACE_EXISTS = 8,
    /// The keyspace was dropped after this handle was made. Free the handle.
    FOLDB_KEYSPACE_DROPPED = 9,
    /// The merge operator rejected this key's operands. Other keys are not affected.
    FOLDB_MERGE_FAILED = 10,
    /// The comparator contradicted itself. Reopen with a total order.
    FOLDB_COMPARATOR_FAILED = 11,
    /// Bytes on disk are not the bytes that were written. Restore a copy, or repair.
    FOLDB_CORRUPTION = 12,
    /// This build does not know a file's format, a codec or the platform.
    FOLDB_UNSUPPORTED = 13,
    /// The disk is full. Delete keys or keyspaces, or free some space; the database then resumes.
    FOLDB_NO_SPACE = 14,
    /// An earlier sync failed, so it is unknown which writes are durable. Reopen the database.
    FOLDB_POISONED = 15,
    /// The database was opened read-only.
    FOLDB_READ_ONLY = 16,
    /// The database was closed.
    FOLDB_CLOSED = 17,
    /// The write would have waited longer than its deadline. Nothing was written.
    FOLDB_BUSY = 18,
    /// A call of the operating system failed.
    FOLDB_IO = 19,
    /// A bug in foldb. The message says where; please report it.
    FOLDB_PANIC = 20,
    /// A kind of error that is newer than this header.
    FOLDB_OTHER = 21,
    /// The directory holds a LevelDB or RocksDB database. Nothing in it was changed.
    FOLDB_FOREIGN_DATABASE = 22,
    /// A file does not exist. Only functions of a `foldb_env_t` return it.
    FOLDB_FILE_MISSING = 23,
    /// Another write changed what this transaction depends on. Nothing was written; run it again.
    FOLDB_CONFLICT = 24,
    /// The transaction holds more writes than one batch may. Split it.
    FOLDB_TRANSACTION_TOO_LARGE = 25,
    /// The program gave up its transaction.
    FOLDB_ABORTED = 26,
    /// The change feed cannot continue at this position. Copy the database anew.
    FOLDB_POSITION_LOST = 27,
    /// This process is a fork of the one that opened the database. Use the database in the parent,
    /// or open another one after the fork.
    FOLDB_FORKED = 28,
    /// The directory of the open database was moved, removed or replaced. Nothing was written to
    /// the new one. Put it back, or close the database and open it where it is now.
    FOLDB_DIRECTORY_LOST = 29,
    /// A callback of the program made this call, and the call would have waited for that callback.
    /// Nothing was written. Make the call on another thread, or after the callback has returned.
    FOLDB_REENTRANT = 30,
}

use foldb_code_t::*;

/// An error. The caller frees it with `foldb_error_free`.
pub struct foldb_error_t {
    code: foldb_code_t,
    message: CString,
}

impl foldb_error_t {
    /// Hands an error of the engine to the caller.
    pub(crate) fn of(error: &Error) -> *mut foldb_error_t {
        foldb_error_t::new(code_of(error.kind()), &error.to_string())
    }

    /// Hands an error to the caller.
    pub(crate) fn new(code: foldb_code_t, message: &str) -> *mut foldb_error_t {
        Box::into_raw(Box::new(foldb_error_t { code, message: c_string(message) }))
    }
}

/// Returns a text for C. It ends at a NUL inside the text, if there is one.
pub(crate) fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

fn code_of(kind: ErrorKind) -> foldb_code_t {
    match kind {
        ErrorKind::InvalidArgument => FOLDB_INVALID_ARGUMENT,
        ErrorKind::DatabaseMissing => FOLDB_DATABASE_MISSING,
        ErrorKind::DatabaseExists => FOLDB_DATABASE_EXISTS,
        ErrorKind::ForeignDatabase => FOLDB_FOREIGN_DATABASE,
        ErrorKind::Locked => FOLDB_LOCKED,
        ErrorKind::UnknownOperator => FOLDB_UNKNOWN_OPERATOR,
        ErrorKind::UnknownComparator => FOLDB_UNKNOWN_COMPARATOR,
        ErrorKind::KeyspaceMissing => FOLDB_KEYSPACE_MISSING,
        ErrorKind::KeyspaceExists => FOLDB_KEYSPACE_EXISTS,
        ErrorKind::KeyspaceDropped => FOLDB_KEYSPACE_DROPPED,
        ErrorKind::MergeFailed => FOLDB_MERGE_FAILED,
        ErrorKind::ComparatorFailed => FOLDB_COMPARATOR_FAILED,
        ErrorKind::Corruption => FOLDB_CORRUPTION,
        ErrorKind::Unsupported => FOLDB_UNSUPPORTED,
        ErrorKind::NoSpace => FOLDB_NO_SPACE,
        ErrorKind::Poisoned => FOLDB_POISONED,
        ErrorKind::ReadOnly => FOLDB_READ_ONLY,
        ErrorKind::Closed => FOLDB_CLOSED,
        ErrorKind::Busy => FOLDB_BUSY,
        ErrorKind::Io => FOLDB_IO,
        ErrorKind::Conflict => FOLDB_CONFLICT,
        ErrorKind::TransactionTooLarge => FOLDB_TRANSACTION_TOO_LARGE,
        ErrorKind::Aborted => FOLDB_ABORTED,
        ErrorKind::PositionLost => FOLDB_POSITION_LOST,
        ErrorKind::Forked => FOLDB_FORKED,
        ErrorKind::DirectoryLost => FOLDB_DIRECTORY_LOST,
        ErrorKind::Reentrant => FOLDB_REENTRANT,
        _ => FOLDB_OTHER,
    }
}

/// Returns the code of an error; `FOLDB_OK` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_error_code(error: *const foldb_error_t) -> foldb_code_t {
    // SAFETY: the caller passes NULL or an error that it has not freed.
    unsafe { error.as_ref() }.map_or(FOLDB_OK, |error| error.code)
}

/// Returns the message of an error: one line that names the file, offset, key or option. It lives
/// as long as the error. For NULL it is "no error".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_error_message(error: *const foldb_error_t) -> *const c_char {
    // SAFETY: the caller passes NULL or an error that it has not freed.
    unsafe { error.as_ref() }.map_or(c"no error".as_ptr(), |error| error.message.as_ptr())
}

/// Makes an error with the code `FOLDB_ABORTED`, for the function of a `foldb_transact` that gives
/// up. Copies the message; NULL is a message of foldb's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_error_aborted(message: *const c_char) -> *mut foldb_error_t {
    let message = match message.is_null() {
        true => "the program gave up its transaction".into(),
        // SAFETY: the caller passes a text that ends with a NUL.
        false => unsafe { CStr::from_ptr(message) }.to_string_lossy(),
    };
    foldb_error_t::new(FOLDB_ABORTED, &message)
}

/// Frees an error. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_error_free(error: *mut foldb_error_t) {
    // SAFETY: the caller passes NULL or an error that it has not freed.
    unsafe { crate::boundary::free(error) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_at_a_nul() {
        assert_eq!(c_string("one\0two").to_str(), Ok("one"));
    }

    #[test]
    fn a_foreign_database_has_a_code() {
        assert_eq!(code_of(ErrorKind::ForeignDatabase), FOLDB_FOREIGN_DATABASE);
    }

    #[test]
    fn a_fork_and_a_lost_directory_have_codes() {
        assert_eq!(code_of(ErrorKind::Forked), FOLDB_FORKED);
        assert_eq!(code_of(ErrorKind::DirectoryLost), FOLDB_DIRECTORY_LOST);
    }

    #[test]
    fn no_error_has_a_code_and_a_message() {
        // SAFETY: NULL is allowed.
        let (code, message) = unsafe {
            let message = std::ffi::CStr::from_ptr(foldb_error_message(std::ptr::null()));
            (foldb_error_code(std::ptr::null()), message)
        };
        assert_eq!((code, message), (FOLDB_OK, c"no error"));
    }
}
