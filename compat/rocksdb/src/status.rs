//! The outcome of a call, in the words of RocksDB.
//!
//! A C program sees an error as text only, so programs and bindings look at how it begins:
//! `NotFound` or `Resource busy`, for example. Invariant: a text begins with that of a [`Code`].

use std::fmt;

use foldb::{Error, ErrorKind};

/// What a text begins with. RocksDB: `Status::Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    NotFound,
    Corruption,
    NotSupported,
    InvalidArgument,
    IoError,
    Incomplete,
    MergeInProgress,
    ShutdownInProgress,
    TimedOut,
    Aborted,
    Busy,
    Expired,
}

impl Code {
    /// Returns what the text begins with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Code::NotFound => "NotFound: ",
            Code::Corruption => "Corruption: ",
            Code::NotSupported => "Not implemented: ",
            Code::InvalidArgument => "Invalid argument: ",
            Code::IoError => "IO error: ",
            Code::Incomplete => "Result incomplete: ",
            Code::MergeInProgress => "Merge in progress: ",
            Code::ShutdownInProgress => "Shutdown in progress: ",
            Code::TimedOut => "Operation timed out: ",
            Code::Aborted => "Operation aborted: ",
            Code::Busy => "Resource busy: ",
            Code::Expired => "Operation expired: ",
        }
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: Code,
    pub(crate) message: String,
}

/// The result of a call.
pub(crate) type Outcome<T> = Result<T, Status>;

impl Status {
    /// Makes a status.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Status {
        Status { code, message: message.into() }
    }

    /// Makes the status of wrong arguments.
    pub(crate) fn invalid(message: impl Into<String>) -> Status {
        Status::new(Code::InvalidArgument, message)
    }

    /// Makes the status of what this library does not do.
    pub(crate) fn unsupported(message: impl Into<String>) -> Status {
        Status::new(Code::NotSupported, message)
    }

    /// Makes the status of operands whose value is not known.
    pub(crate) fn merge_in_progress() -> Status {
        Status::new(Code::MergeInProgress, "")
    }

    /// Makes the status of what is not there.
    pub(crate) fn not_found(message: impl Into<String>) -> Status {
        Status::new(Code::NotFound, message)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.code.prefix(), self.message)
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Status {
        Status::new(code_of(error.kind()), error.to_string())
    }
}

fn code_of(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::Corruption | ErrorKind::MergeFailed | ErrorKind::ComparatorFailed => {
            Code::Corruption
        }
        ErrorKind::Unsupported | ErrorKind::ReadOnly | ErrorKind::Forked | ErrorKind::Reentrant => {
            Code::NotSupported
        }
        ErrorKind::Closed => Code::ShutdownInProgress,
        ErrorKind::Busy => Code::Incomplete,
        ErrorKind::Conflict => Code::Busy,
        ErrorKind::TransactionTooLarge | ErrorKind::Aborted => Code::Aborted,
        ErrorKind::PositionLost => Code::NotFound,
        ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::Poisoned | ErrorKind::Locked => {
            Code::IoError
        }
        ErrorKind::DirectoryLost => Code::IoError,
        _ => Code::InvalidArgument,
    }
}
