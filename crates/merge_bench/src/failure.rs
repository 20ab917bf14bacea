//! What ends a run early, always told in one line.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// Why a run ended early.
#[derive(Debug)]
pub enum Failure {
    /// The command line makes no sense; exit 2.
    Usage(String),
    /// It did not work, or what was found is wrong; exit 1.
    Message(String),
    /// Whoever read our output has gone; nothing to tell.
    OutputClosed,
}

impl Failure {
    /// A failure with a one-line message.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure::Message(message.into())
    }

    /// Says during what a database call failed.
    pub fn during(what: impl Display) -> impl FnOnce(foldb::Error) -> Failure {
        move |error| Failure::new(format!("{what}: {error}"))
    }

    /// Says with which file something failed.
    pub fn with_file(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Failure {
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
