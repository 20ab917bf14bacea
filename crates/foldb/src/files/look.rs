//! Looks for files whose absence decides something.
//!
//! A look may fail: a network file system is away for a moment, or a directory may not be searched.
//! A failed look is no answer. The engine removes, replaces or begins nothing because of one.

use std::path::Path;

use foldb_env::FileSystem;

use crate::error::{Error, Result};

/// Returns whether a file or directory exists.
///
/// # Errors
/// `Io` if the look fails.
pub(crate) fn is_there(fs: &dyn FileSystem, path: &Path) -> Result<bool> {
    fs.try_exists(path).map_err(|error| Error::io(path, "look for", &error))
}

/// Returns whether a file or directory exists, or may exist because the look failed.
pub(crate) fn may_be_there(fs: &dyn FileSystem, path: &Path) -> bool {
    !matches!(fs.try_exists(path), Ok(false))
}
