//! Checks of `--expires`, which only a keyspace with an expiry takes.
//!
//! Invariant: a refused `--expires` is an error before a database is created or gets an operator.

use foldb::WriteOptions;

use crate::args::Ends;
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::keyspace::{DEFAULT, Opened};

/// The command that creates a keyspace with an expiry.
const CREATE: &str = "foldb keyspaces DB --create NAME --expiry per-write";

/// Checks `--expires` before a database is created for it.
///
/// # Errors
/// A usage error if the keyspace is [`DEFAULT`]: its entries never expire.
pub(super) fn check_default(ends: &Ends, keyspace: &str) -> Outcome {
    if ends.expires.is_none() || keyspace != DEFAULT {
        return Ok(());
    }
    Err(Exit::usage(format!(
        "entries of keyspace '{DEFAULT}' never expire: leave out --expires, or use --keyspace with \
         a keyspace that has an expiry ({CREATE})"
    )))
}

/// Checks `--expires` against the keyspace.
///
/// # Errors
/// Fails if the keyspace has no expiry.
pub(super) fn check(ends: &Ends, opened: &Opened) -> Outcome {
    if ends.expires.is_none() || opened.keyspace.options().expiry.is_some() {
        return Ok(());
    }
    let name = quoted(opened.keyspace.name().as_bytes());
    Err(Exit::failed(format!(
        "keyspace {name} has no expiry: leave out --expires, or create another keyspace ({CREATE})"
    )))
}

/// Refuses `--expires` for a keyspace that an import would create.
///
/// # Errors
/// Fails if `--expires` is given: the new keyspace would have no expiry.
pub(super) fn check_new(ends: &Ends, keyspace: &str) -> Outcome {
    if ends.expires.is_none() {
        return Ok(());
    }
    let name = quoted(keyspace.as_bytes());
    Err(Exit::failed(format!(
        "there is no keyspace {name}, and --expires needs one with an expiry ({CREATE})"
    )))
}

/// Returns the options of a write that says when its entry expires.
///
/// # Errors
/// As [`check`].
pub(super) fn write_options(ends: &Ends, opened: &Opened) -> Outcome<WriteOptions> {
    check(ends, opened)?;
    Ok(WriteOptions { expires: ends.expires, ..WriteOptions::default() })
}
