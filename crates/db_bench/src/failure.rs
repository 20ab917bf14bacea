//! Failures that end a run early, each with a message of one line.

use std::fmt::Display;
use std::io;

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Printed in one line on stderr; exit 1.
    Message(String),
    /// The reader of the output has closed it; no message.
    OutputClosed,
}

impl Failure {
    /// Returns a failure with a message of one line.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure::Message(message.into())
    }

    /// Returns a failure for an unknown name, with the nearest known one.
    pub(crate) fn unknown<'a>(
        what: &str,
        name: &str,
        prefix: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Failure {
        let nearest = nearest(name, known).unwrap_or_default();
        Failure::new(format!("unknown {what} {prefix}{name}; the nearest is {prefix}{nearest}"))
    }

    /// Returns a function that adds what the program was doing to an error of the database.
    pub(crate) fn during(what: impl Display) -> impl FnOnce(foldb::Error) -> Failure {
        move |error| Failure::new(format!("{what}: {error}"))
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

/// Returns the known name that is most similar to `name`.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(name, candidate), candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_survives_transposed_and_missing_letters() {
        let known = ["value_size", "key_size", "values"];
        assert_eq!(nearest("vlaue_size", known), Some("value_size"));
        assert_eq!(nearest("ky_size", known), Some("key_size"));
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn closed_pipe_has_no_message() {
        let closed = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(matches!(closed, Failure::OutputClosed));
        let full = Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert!(matches!(full, Failure::Message(_)));
    }
}
