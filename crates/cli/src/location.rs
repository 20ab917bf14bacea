//! What stands at the path of a database, found out without touching it.
//!
//! A database is a directory with a file `CURRENT`. Only `put`, `merge`, `count` and `demo --keep`
//! create one, and only where nothing or an empty directory stands; everything else is refused and
//! left byte for byte as it was.

use std::fs;
use std::io;
use std::path::Path;

use foldb::{Db, Options};

use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;

/// The file that makes a directory a database.
const CURRENT: &str = "CURRENT";

/// Where a command may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Nothing, or an empty directory: a database can be created.
    Free,
    /// A database.
    Database,
}

impl Location {
    /// Looks at `path`.
    ///
    /// # Errors
    /// Failed, for a file or a directory with something else in it.
    pub fn of(path: &Path) -> Outcome<Location> {
        let name = shown(path);
        let look_failed =
            |error: io::Error| Exit::failed(format!("cannot look at {name}: {error}"));
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.as_os_str().is_empty() {
                    return Err(Exit::failed("the path of the database is empty"));
                }
                if fs::symlink_metadata(path).is_ok() {
                    return Err(Exit::failed(format!("{name} is a link that leads nowhere")));
                }
                return Ok(Location::Free);
            }
            Err(error) => return Err(look_failed(error)),
            Ok(found) if !found.is_dir() => {
                return Err(Exit::failed(format!(
                    "{name} is not a database: it is a file, not a directory"
                )));
            }
            Ok(_) => {}
        }
        if path.join(CURRENT).is_file() {
            return Ok(Location::Database);
        }
        match fs::read_dir(path).map_err(look_failed)?.next() {
            None => Ok(Location::Free),
            Some(_) => Err(Exit::failed(format!(
                "{name} is not a database: it is a directory with other files in it"
            ))),
        }
    }
}

/// Opens the database that stands at `path`.
///
/// # Errors
/// Failed where none does.
pub fn open(path: &Path) -> Outcome<Db> {
    match Location::of(path)? {
        Location::Database => Ok(Db::open(path, Options::default())?),
        Location::Free => Err(Exit::failed(format!("there is no database at {}", shown(path)))),
    }
}

/// Creates a database at a free `path`.
pub fn create(path: &Path, options: Options) -> Outcome<Db> {
    Ok(Db::open(path, Options { create_if_missing: true, error_if_exists: true, ..options })?)
}

/// A path in a message.
pub fn shown(path: &Path) -> String {
    quoted(path.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        match Location::of(path) {
            Err(Exit::Failed(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_and_an_empty_directory_are_free() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Location::of(dir.path()), Ok(Location::Free));
        assert_eq!(Location::of(&dir.path().join("new")), Ok(Location::Free));
        assert_eq!(Location::of(&dir.path().join("new/deep")), Ok(Location::Free));
    }

    #[test]
    fn a_directory_with_current_is_a_database() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("CURRENT"), "MANIFEST-000001\n").unwrap();
        assert_eq!(Location::of(dir.path()), Ok(Location::Database));
    }

    #[test]
    fn everything_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "text").unwrap();
        assert!(refusal(&file).contains("it is a file"));
        assert!(refusal(dir.path()).contains("other files in it"));
        assert!(refusal(&file.join("below")).contains("cannot look at"));
        assert!(refusal(Path::new("")).contains("is empty"));
        // A directory called CURRENT makes no database.
        fs::create_dir(dir.path().join("CURRENT")).unwrap();
        assert!(refusal(dir.path()).contains("other files in it"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(refusal(&link).contains("leads nowhere"));
    }
}
