//! What ends a run, always told in one line.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

/// Why something did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

/// What may fail.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure with a one-line message.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure(message.into())
    }

    /// Says what could not be done with which file.
    pub fn file(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Failure {
        let path = path.display().to_string();
        move |error| Failure(format!("cannot {what} {path}: {error}"))
    }

    /// Says during what an engine's call failed.
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
