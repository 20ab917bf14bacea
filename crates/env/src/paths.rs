//! Code that `posix` and `portable` share: absolute paths, directories of paths, claims on paths,
//! and the errors for files that are not regular.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::faults::{Fault, planted};
use crate::fs::{Holder, LockHeld};

/// Returns the directory in which `path` is an entry.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// Returns the path from the root. It resolves no link: what a link leads to is looked up at each
/// call.
pub(crate) fn absolute(path: &Path) -> io::Result<PathBuf> {
    if planted(Fault::PathStaysRelative) {
        return Ok(path.to_owned());
    }
    match path.as_os_str().is_empty() {
        true => std::env::current_dir(),
        false => std::path::absolute(path),
    }
}

/// Creates a directory and its missing parents, and calls `sync_dir` for each directory that has a
/// new entry.
pub(crate) fn create_dir_all(
    path: &Path,
    sync_dir: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    std::fs::create_dir_all(path)?;
    missing.into_iter().rev().try_for_each(|created| sync_dir(directory_of(created)))
}

/// Returns the names (not paths) of the entries of a directory.
pub(crate) fn list(path: &Path) -> io::Result<Vec<String>> {
    // The engine creates only names in UTF-8. The list must show names of other programs too.
    std::fs::read_dir(path)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// Returns how long ago the bytes of a file last changed.
pub(crate) fn age(path: &Path) -> Option<Duration> {
    std::fs::symlink_metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

/// Returns whether a path is a symbolic link.
pub(crate) fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

/// Returns the length of a file; a directory has none.
pub(crate) fn len(path: &Path) -> io::Result<u64> {
    let metadata = std::fs::symlink_metadata(path)?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(metadata.len())
}

/// The error for a symbolic link.
pub(crate) fn link_error() -> io::Error {
    not_regular("a symbolic link, and foldb does not follow links")
}

/// Checks that an open file is a regular file.
pub(crate) fn check_regular(metadata: &std::fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        false => Err(irregular_error()),
    }
}

/// The error for a pipe, a socket or a device.
pub(crate) fn irregular_error() -> io::Error {
    not_regular("not a regular file")
}

fn not_regular(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}"))
}

/// Paths that this process has locked or is about to lock, with their directories resolved.
static CLAIMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn claimed() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // The set is never left half changed, so a panic elsewhere does not damage it.
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One path that this process has locked or is about to lock. The claim ends on drop.
#[derive(Debug)]
pub(crate) struct PathClaim(PathBuf);

impl PathClaim {
    pub(crate) fn take(path: &Path) -> io::Result<PathClaim> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let path = resolved(directory_of(path))?.join(name);
        if !claimed().insert(path.clone()) {
            return Err(locked(&path, Holder::ThisProcess));
        }
        Ok(PathClaim(path))
    }
}

/// Returns one spelling of a directory for all of its spellings. Some disks of Windows (in memory,
/// or mounted by a program) do not tell it. The claim then covers this spelling only, and the lock
/// of the file excludes the others.
fn resolved(directory: &Path) -> io::Result<PathBuf> {
    directory.canonicalize().or_else(|error| match cfg!(windows) && directory.is_dir() {
        true => absolute(directory),
        false => Err(error),
    })
}

impl Drop for PathClaim {
    fn drop(&mut self) {
        claimed().remove(&self.0);
    }
}

/// The error for a path whose lock is held.
pub(crate) fn locked(path: &Path, holder: Holder) -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, LockHeld { path: path.to_owned(), holder })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_bare_name_is_the_working_directory() {
        assert_eq!(directory_of(Path::new("db")), Path::new("."));
        assert_eq!(directory_of(Path::new("a/db")), Path::new("a"));
        assert_eq!(directory_of(Path::new("/")), Path::new("/"));
    }
}
