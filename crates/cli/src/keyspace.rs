//! The keyspace in which a command works.
//!
//! Every database has the keyspace `default`; `foldb keyspaces DB --create` creates others.
//! Invariant: if the keyspace is missing, the command fails and creates nothing.

use std::path::Path;

use foldb::operators::{Operator, TextForm};
use foldb::{Db, Keyspace, KeyspaceReader, Options, ReadOnlyDb};

use crate::args::nearest::hint;
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::location::{self, shown};

/// The keyspace that always exists.
pub(crate) const DEFAULT: &str = "default";

/// An open database, and one of its keyspaces.
#[derive(Clone)]
pub(crate) struct Opened {
    /// The database.
    pub db: Db,
    /// The keyspace.
    pub keyspace: Keyspace,
}

impl Opened {
    /// Opens the database at `path`.
    ///
    /// # Errors
    /// Fails if `path` holds no database, or if the database has no keyspace of this name.
    pub(crate) fn open(path: &Path, keyspace: &str, options: Options) -> Outcome<Opened> {
        Opened::of(location::open(path, options)?, path, keyspace)
    }

    /// Returns a keyspace of an open database.
    ///
    /// # Errors
    /// Fails if the keyspace is missing.
    pub(crate) fn of(db: Db, path: &Path, name: &str) -> Outcome<Opened> {
        check_exists(path, name, &db.keyspaces())?;
        let keyspace = db.keyspace(name)?;
        Ok(Opened { db, keyspace })
    }

    /// Creates a database at a free `path`.
    ///
    /// # Errors
    /// Fails if `keyspace` is not [`DEFAULT`]: a new database has no other keyspace.
    pub(crate) fn create(path: &Path, keyspace: &str, options: Options) -> Outcome<Opened> {
        check_new(path, keyspace)?;
        let db = location::create(path, options)?;
        Ok(Opened { keyspace: db.default_keyspace().clone(), db })
    }

    /// Returns the text form of the keyspace's operator.
    pub(crate) fn operator_text(&self) -> Option<TextForm> {
        self.keyspace.default_operator().as_ref().map(Operator::text)
    }

    /// Returns an error if this program lacks the keyspace's operator.
    pub(crate) fn missing_operator(&self) -> Option<Exit> {
        let spec = self.keyspace.options().merge_operator?;
        if self.keyspace.default_operator().is_some() {
            return None;
        }
        let (name, spec) = (quoted(self.keyspace.name().as_bytes()), quoted(spec.as_bytes()));
        Some(Exit::failed(format!(
            "the operator of keyspace {name} is {spec}, which is not built in: merge with a program \
             that registers this operator, or remove the operator from the keyspace with foldb \
             keyspaces DB --unset-operator {name}"
        )))
    }

    /// Closes the database.
    pub(crate) fn close(self) -> Outcome {
        Ok(self.db.close()?)
    }
}

/// A database opened to read, and one of its keyspaces.
#[derive(Clone)]
pub(crate) struct Shown {
    /// The database.
    pub db: ReadOnlyDb,
    /// The keyspace.
    pub keyspace: KeyspaceReader,
}

impl Shown {
    /// Opens the database read-only: see [`location::open_to_read`].
    ///
    /// # Errors
    /// As [`Opened::open`].
    pub(crate) fn open(path: &Path, keyspace: &str, options: Options) -> Outcome<Shown> {
        Shown::of(location::open_to_read(path, options)?, path, keyspace)
    }

    /// Returns a keyspace of an open database.
    ///
    /// # Errors
    /// Fails if the keyspace is missing.
    pub(crate) fn of(db: ReadOnlyDb, path: &Path, name: &str) -> Outcome<Shown> {
        check_exists(path, name, &db.keyspaces())?;
        let keyspace = db.keyspace(name)?;
        Ok(Shown { db, keyspace })
    }

    /// Returns the text form of the keyspace's operator.
    pub(crate) fn operator_text(&self) -> Option<TextForm> {
        self.keyspace.default_operator().as_ref().map(Operator::text)
    }

    /// Closes the database.
    pub(crate) fn close(self) -> Outcome {
        Ok(self.db.close()?)
    }
}

fn check_exists(path: &Path, name: &str, names: &[String]) -> Outcome {
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    Err(missing(path, name, &hint(name, names.iter().map(String::as_str))))
}

/// Checks that a new database would have the keyspace.
///
/// # Errors
/// Fails if `keyspace` is not [`DEFAULT`].
pub(crate) fn check_new(path: &Path, keyspace: &str) -> Outcome {
    if keyspace == DEFAULT { Ok(()) } else { Err(missing(path, keyspace, "")) }
}

fn missing(path: &Path, name: &str, nearest: &str) -> Exit {
    let (db, name) = (shown(path), quoted(name.as_bytes()));
    Exit::failed(format!(
        "there is no keyspace {name} in {db}{nearest} (foldb keyspaces DB --create NAME creates one)"
    ))
}
