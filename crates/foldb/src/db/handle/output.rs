//! A check of the places that programs write to.

use std::path::Path;

use crate::error::Result;
use crate::files::refuse_inside;
use crate::options::Options;

/// Refuses to create a file or a directory at a path inside of a database or a directory of
/// backups. Programs call this for an output of their own, such as a dump. All calls of foldb that
/// create a directory at a path of the caller's make the same check.
///
/// # Errors
/// `InvalidArgument`. `Io` if the working directory is not known.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use foldb::operators::check_output;
/// use foldb::{Db, Options};
///
/// let path = dir.path().join("db");
/// Db::create(&path)?;
/// assert!(check_output(path.join("CURRENT"), &Options::default()).is_err());
/// check_output(dir.path().join("dump"), &Options::default())?;
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn check_output(path: impl AsRef<Path>, options: &Options) -> Result<()> {
    refuse_inside(&*options.env.fs, path.as_ref())
}
