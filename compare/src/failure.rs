//! Failures that end a run, each with a message of one line.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

/// A failure with a message of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

/// The result of a call that may fail.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure with a one-line message.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure(message.into())
    }

    /// Returns a function that adds the failed action and the file to an error.
    pub fn file(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Failure {
        let path = path.display().to_string();
        move |error| Failure(format!("cannot {what} {path}: {error}"))
    }

    /// Returns a function that adds the failed action to an error of an engine.
    pub fn during<E: Display>(what: &str) -> impl FnOnce(E) -> Failure {
        move |error| Failure(format!("{what}: {error}"))
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}
