//! Copies files of a database to another directory.

use std::io;
use std::path::{Path, PathBuf};

use foldb_env::FileSystem;

use crate::error::{Error, ErrorKind, Result};
use crate::files::LOST_AND_FOUND;

/// Bytes copied between two syncs. A sync of the database's log might wait for a larger sync (H23).
const COPY_STEP: usize = 1 << 20;

/// # Errors
/// `InvalidArgument` if `directory` is a file. `DatabaseExists` or `InvalidArgument` if it holds a
/// file for which `counts` returns true.
pub(crate) fn refuse_used(
    fs: &dyn FileSystem,
    directory: &Path,
    counts: fn(&str) -> bool,
) -> Result<()> {
    let list = list_directory(fs, directory)?.ok_or_else(|| {
        Error::invalid_argument("this is a file, not a directory").in_file(directory)
    })?;
    if !list.iter().any(|name| name != LOST_AND_FOUND && counts(name)) {
        return Ok(());
    }
    let (kind, what) = match list.iter().any(|name| name == "CURRENT") {
        true => (ErrorKind::DatabaseExists, "already holds a database"),
        false => (ErrorKind::InvalidArgument, "has files in it"),
    };
    let message = format!("the directory {what}: it must be empty or not exist");
    Err(Error::new(kind, message).in_file(directory))
}

/// Lists a directory. Returns `None` for a file. `FileSystem::is_dir` would take a failed look for
/// a file.
///
/// # Errors
/// `Io` if the directory cannot be listed.
pub(crate) fn list_directory(fs: &dyn FileSystem, path: &Path) -> Result<Option<Vec<String>>> {
    match fs.list(path) {
        Ok(names) => Ok(Some(names)),
        // A directory has no length.
        Err(_) if fs.len(path).is_ok() => Ok(None),
        Err(error) => Err(Error::io(path, "list", &error)),
    }
}

/// Returns whether a link failed because the file system has no links between these places.
pub(crate) fn is_no_link(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
    matches!(error.kind(), CrossesDevices | PermissionDenied | TooManyLinks | Unsupported)
}

/// Copies a file that does not change, and syncs the copy. The caller still syncs the directory.
pub(crate) fn copy_file(fs: &dyn FileSystem, from: &Path, to: &Path, len: u64) -> Result<()> {
    let failed = |path: &Path, doing: &'static str| {
        let path: PathBuf = path.to_owned();
        move |error: io::Error| Error::io(&path, doing, &error)
    };
    let original = fs.open(from).map_err(failed(from, "open the table"))?;
    let copy = fs.create(to).map_err(failed(to, "create the table"))?;
    let mut buffer = Vec::new();
    let mut offset = 0;
    while offset < len {
        buffer.resize((len - offset).min(COPY_STEP as u64) as usize, 0);
        original.read_exact_at(&mut buffer, offset).map_err(failed(from, "read the table"))?;
        copy.write_at(&buffer, offset).map_err(failed(to, "write the table"))?;
        copy.sync().map_err(failed(to, "sync the table"))?;
        offset += buffer.len() as u64;
    }
    copy.close().map_err(failed(to, "close the table"))
}
