//! Keeps LevelDB or RocksDB from opening a database while it is read.
//!
//! Both take an exclusive lock of the file `LOCK`. A shared lock of the same kind excludes them,
//! needs no permission to write, and changes nothing. It ends with the process.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::exit::{Exit, Outcome};
use crate::location::shown;

/// The lock of a database, until it is dropped. A database without a file `LOCK` has none: no
/// program opened it here.
#[derive(Debug)]
pub(crate) struct SharedLock {
    _file: Option<File>,
}

impl SharedLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// Fails if a program has the database open.
    pub(crate) fn take(directory: &Path) -> Outcome<SharedLock> {
        let path = directory.join("LOCK");
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(SharedLock { _file: None });
            }
            Err(error) => {
                let name = shown(&path);
                return Err(Exit::failed(format!("cannot read {name}: {error}")));
            }
        };
        match try_lock(&file) {
            Ok(true) => Ok(SharedLock { _file: Some(file) }),
            Ok(false) => Err(Exit::failed(format!(
                "a program has {} open: close the database there first",
                shown(directory)
            ))),
            Err(error) => Err(Exit::failed(format!("cannot lock {}: {error}", shown(&path)))),
        }
    }
}

/// Takes a lock of the kind that these programs take. Returns false if another process has it.
#[cfg(unix)]
fn try_lock(file: &File) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, fcntl_lock};
    use rustix::io::Errno;
    match fcntl_lock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => Ok(true),
        Err(std::fs::TryLockError::WouldBlock) => Ok(false),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}
