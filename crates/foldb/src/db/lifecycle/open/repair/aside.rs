//! Keeps the files that a repair replaces, and those that an open would remove, under other names.
//!
//! Opens ignore files with such names. Invariant: no file replaces one that was kept before, and a
//! copy gets its name only as a whole.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use foldb_env::FileSystem;

use crate::error::{Error, Result};
use crate::files::{Proof, copy_file, is_no_link, is_there, remove};

/// Appends an ending to a file name.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.to_owned().into_os_string();
    name.push(format!(".{ending}"));
    name.into()
}

/// Returns a name with this ending that no file has.
fn free_name(fs: &dyn FileSystem, path: &Path, ending: &str) -> Result<PathBuf> {
    let mut name = with_ending(path, ending);
    let mut next = 2;
    while is_there(fs, &name)? {
        name = with_ending(path, &format!("{ending}-{next}"));
        next += 1;
    }
    Ok(name)
}

/// Keeps what a file holds under another name too, durably. Without links, this is a copy.
///
/// # Errors
/// `Io` or `NoSpace`.
pub(crate) fn keep(fs: &dyn FileSystem, path: &Path, ending: &str) -> Result<()> {
    let kept = free_name(fs, path, ending)?;
    match fs.hard_link(path, &kept) {
        Err(error) if is_no_link(&error) => copy(fs, path, &kept)?,
        linked => linked.map_err(|error| Error::io(path, "link", &error))?,
    }
    sync_directory_of(fs, path)
}

/// Renames a file. The caller still syncs the directory.
///
/// # Errors
/// `Io`.
pub(crate) fn put_aside(fs: &dyn FileSystem, path: &Path, ending: &str) -> Result<()> {
    let renamed = fs.rename(path, &free_name(fs, path, ending)?);
    renamed.map_err(|error| Error::io(path, "put aside", &error))
}

fn copy(fs: &dyn FileSystem, path: &Path, to: &Path) -> Result<()> {
    let len = fs.len(path).map_err(|error| Error::io(path, "look at", &error))?;
    let part = with_ending(path, "part");
    if let Err(error) = copy_file(fs, path, &part, len) {
        // The caller may need the space.
        let _best_effort = remove(fs, &part, Proof::Written);
        return Err(error);
    }
    fs.rename(&part, to).map_err(|error| Error::io(&part, "rename", &error))
}

/// Syncs the directory of a file.
///
/// # Errors
/// `Io`.
pub(crate) fn sync_directory_of(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let directory = path.parent().unwrap_or(path);
    let synced = fs.sync_dir(directory);
    synced.map_err(|error| Error::io(directory, "sync the directory", &error))
}
