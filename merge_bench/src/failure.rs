//! What ends a run early, reported in one line.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is invalid; exit code 2.
    Usage(String),
    /// The run failed, or a result is wrong; exit code 1.
    Message(String),
    /// The reader of the output has gone. Nothing is reported.
    OutputClosed,
}

impl Failure {
    /// A failure with a one-line message.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure::Message(message.into())
    }

    /// Names the work during which a database call failed.
    pub(crate) fn during(what: impl Display) -> impl FnOnce(foldb::Error) -> Failure {
        move |error| Failure::new(format!("{what}: {error}"))
    }

    /// Names the file of a failed call.
    pub(crate) fn with_file(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Failure {
        move |error| Failure::new(format!("cannot {what} {}: {error}", path.display()))
    }
}

/// Failed writes to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::new(format!("cannot write to standard output: {error}")),
        }
    }
}
