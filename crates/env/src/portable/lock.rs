//! The lock of a directory by the standard library alone: see `posix::lock` for what it must do.
//!
//! A lock counts only if its file still has the name. The standard library cannot compare the
//! identity of two files on Windows. So the holder gives its file a random modification time. If
//! the file under the name has the same time, it is the same file. Nothing else uses that time.
//!
//! Windows lets no other program read a locked file: while a database is open, a program that
//! copies its directory fails at `LOCK`, which is empty.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::open_file;
use crate::fs::{FileLock, Holder};
use crate::paths::{PathClaim, locked};

/// Takes the lock of `path`, creating the file if it is missing.
pub(super) fn lock(path: &Path) -> io::Result<PortableLock> {
    let claim = PathClaim::take(path)?;
    loop {
        let file = open_file(OpenOptions::new().read(true).write(true).create(true), path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => locked(path, Holder::AnotherProcess),
            TryLockError::Error(error) => error,
        })?;
        if has_name(&file, path)? {
            return Ok(PortableLock { file, _claim: claim });
        }
    }
}

/// Returns whether `path` is the name of this file. Only the holder of its lock may ask.
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    // Whole seconds between 2004 and 2038: every file system can store some of these bits.
    let random = RandomState::new().hash_one(()) >> 34;
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs((1 << 30) + random))?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok(named.modified()? == file.metadata()?.modified()?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[derive(Debug)]
pub(super) struct PortableLock {
    file: File,
    // Declared last, so dropped last: a caller that gets the claim finds the file unlocked.
    _claim: PathClaim,
}

impl FileLock for PortableLock {}

impl Drop for PortableLock {
    fn drop(&mut self) {
        // Windows may take a while to unlock a file that is only closed. If this fails, the close
        // that follows remains.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_replaced_has_lost_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("LOCK");
        let old = File::create_new(&path).unwrap();
        assert!(has_name(&old, &path).unwrap());
        fs::remove_file(&path).unwrap();
        if cfg!(windows) && fs::exists(&path).unwrap_or(true) {
            eprintln!("this file system keeps the names of open files: nothing more was checked");
            return;
        }
        assert!(!has_name(&old, &path).unwrap());
        let new = File::create_new(&path).unwrap();
        assert!(!has_name(&old, &path).unwrap());
        assert!(has_name(&new, &path).unwrap());
    }
}
