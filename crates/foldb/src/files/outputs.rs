//! Refuses outputs among the files of a database or of backups.
//!
//! An output there could replace a file that is needed, would be removed together with the
//! database, and would make the directory one with files of others. Every call that creates a file
//! or a directory at a path of the user's makes this check.

use std::path::{Path, PathBuf};

use foldb_env::FileSystem;

use super::look::may_be_there;
use super::names::FileKind;
use crate::error::{Error, Result};

/// Longest chain of directories that the check follows. At the root, a further step stays there.
const MOST_ABOVE: usize = 64;

/// Refuses a path inside of a database or a directory of backups. Links are followed.
///
/// # Errors
/// `InvalidArgument`, which names the directory.
pub(crate) fn refuse_inside(fs: &dyn FileSystem, output: &Path) -> Result<()> {
    let absolute =
        fs.absolute(output).map_err(|error| Error::io(output, "find the directory", &error))?;
    let Some(nearest) = absolute.ancestors().skip(1).find(|above| may_be_there(fs, above)) else {
        return Ok(());
    };
    // The steps go through the file system, because the path may lead through a link.
    let mut above = nearest.to_owned();
    for _ in 0..MOST_ABOVE {
        if let Some(what) = taken_by(fs, &above) {
            let message = format!(
                "the path is inside of {what}, whose files must not change: choose another path"
            );
            return Err(Error::invalid_argument(message).in_file(output));
        }
        above = next_above(above);
    }
    Ok(())
}

fn next_above(mut directory: PathBuf) -> PathBuf {
    directory.push("..");
    directory
}

/// Returns what a directory holds, if it is a database or backups.
fn taken_by(fs: &dyn FileSystem, directory: &Path) -> Option<&'static str> {
    let has = |is_it: fn(&str) -> bool| {
        fs.list(directory).is_ok_and(|names| names.iter().any(|name| is_it(name)))
    };
    let is_manifest = |name: &str| matches!(FileKind::parse(name), Some(FileKind::Manifest(_)));
    if may_be_there(fs, &directory.join("CURRENT")) && has(is_manifest) {
        return Some("a database");
    }
    let is_record = |name: &str| name.ends_with(".backup");
    if may_be_there(fs, &directory.join("shared")) && has(is_record) {
        return Some("a directory of backups");
    }
    None
}
