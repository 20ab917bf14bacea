//! The lock of a directory. It excludes other processes and other handles in this process, and ends
//! with its process.
//!
//! The lock belongs to a file, but other processes find that file by its name. A file may lose its
//! name while a process waits for the lock, so a lock counts only if the file still has the name:
//!
//! ```text
//! A: open LOCK, lock it      B: open LOCK
//! A: unlink LOCK, unlock     B: lock it: the file has no name      C: create LOCK, lock it
//!                            B: looks again, and finds C's
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process;

use super::open_file;
use crate::faults::{Fault, planted};
use crate::fs::FileLock;
use crate::paths::{PathClaim, locked};

/// Takes the lock of `path`, creating the file if it is missing.
pub(super) fn lock(path: &Path) -> io::Result<PosixLock> {
    // The claim comes before the open: where the lock belongs to the process (NFS emulates it
    // so), closing a second handle of the file would release the first one's lock.
    let claim = PathClaim::take(path)?;
    loop {
        let file = open_file(OpenOptions::new().read(true).write(true).create(true), path)?;
        if planted(Fault::LockWithoutName) {
            // Long enough for another program to unlink the file.
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => locked(path, "another process"),
            TryLockError::Error(error) => error,
        })?;
        if has_name(&file, path)? || planted(Fault::LockWithoutName) {
            return Ok(PosixLock { file, process: process::id(), _claim: claim });
        }
    }
}

/// Returns whether `path` is the name of this file.
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match fs::symlink_metadata(path) {
        Ok(named) => Ok(identity(named) == identity(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[derive(Debug)]
pub(super) struct PosixLock {
    file: File,
    /// The process that took it. A fork has a copy of this value, but not the lock.
    process: u32,
    // Declared last, so dropped last: a caller that gets the claim finds the file unlocked.
    _claim: PathClaim,
}

impl FileLock for PosixLock {
    fn is_held(&self) -> bool {
        self.process == process::id()
    }
}

impl Drop for PosixLock {
    fn drop(&mut self) {
        if self.is_held() {
            // Closing alone would leave the lock to a forked child that has not called exec yet. If
            // this fails, only the close that follows remains.
            let _ = self.file.unlock();
        }
    }
}
