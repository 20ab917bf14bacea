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
//!
//! The holder has two locks of the file, and a process that holds either one excludes all others:
//!
//! - `flock` belongs to the descriptor. It also excludes a second copy of this library in the same
//!   process. A fork inherits it, so the child closes the descriptor at once ([`super::forks`]).
//! - `fcntl` belongs to the process. LevelDB and its tools take this lock. It ends as soon as the
//!   process closes any descriptor of the file. So this module never opens a file that it has
//!   locked, and keeps the descriptor of a lock that another copy of the library has.
//!
//! Network file systems make both of the same lock of the server, where they would exclude each
//! other. There the holder takes the first one only.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use super::forks::{Forks, OfProcess, OwnFile};
use super::{hints, open_file};
use crate::faults::{Fault, planted};
use crate::fs::{CheckPlace, DirectoryLost, FileLock, Holder, Place};
use crate::paths::locked;
use crate::process::Process;

/// Opens again after a fork, this often. A process that forks without a pause is locked then, too.
const ATTEMPTS: u32 = 100;

/// Takes the lock of `path`, creating the file if it is missing.
pub(super) fn lock(path: &Path) -> io::Result<PosixLock> {
    // Held until the lock is taken, so that no thread opens a file that another one locks.
    let mut claimed = claimed();
    for attempt in 1.. {
        // The look comes before the open: closing a second handle of the file would release the
        // first one's lock.
        if let Ok(found) = fs::symlink_metadata(path)
            && claimed.contains(&identity(&found))
        {
            return Err(locked(path, Holder::ThisProcess));
        }
        let forks = Forks::now();
        let file = open_file(OpenOptions::new().read(true).write(true).create(true), path)?;
        let is_careless = planted(Fault::LockWithoutName);
        if is_careless {
            // Long enough for another program to unlink the file.
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let place = LockPlace::of(&file, path)?;
        if claimed.contains(&place.identity) {
            // It got this name since the look.
            std::mem::forget(file);
            return Err(locked(path, Holder::ThisProcess));
        }
        let file = OwnFile::new(file);
        if forks.may_have_made_a_child() && attempt < ATTEMPTS {
            // The child would keep the lock of this descriptor.
            drop(file);
            std::thread::yield_now();
            continue;
        }
        let file = take(file, path)?;
        if place.is_right()? || is_careless {
            claimed.insert(place.identity);
            return Ok(PosixLock { file: Some(file), place: Arc::new(place) });
        }
    }
    unreachable!("the loop has no end")
}

/// The files that this process has locked.
///
/// Invariant: while a thread holds this set, each file in it is open. So no other file has one of
/// these numbers.
static CLAIMED: OfProcess<Mutex<BTreeSet<Identity>>> = OfProcess::new(|_| Mutex::default());

fn claimed() -> MutexGuard<'static, BTreeSet<Identity>> {
    // The set is never left half changed, so a panic elsewhere does not damage it.
    CLAIMED.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes both locks of an open file.
fn take(file: OwnFile, path: &Path) -> io::Result<OwnFile> {
    match file.get().try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            if !has_another_process(file.get()) {
                // Another copy of this library in this process may have the lock, and a close would
                // end its lock by `fcntl`.
                std::mem::forget(file);
            }
            return Err(locked(path, Holder::AnotherProcess));
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    if hints::has_one_kind_of_lock(file.get()) {
        return Ok(file);
    }
    match fcntl_lock(file.get(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::AGAIN | Errno::ACCESS) => Err(locked(path, Holder::AnotherProcess)),
        // The file system knows no such locks.
        Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOLCK) => Ok(file),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether another process holds the lock by `fcntl`.
fn has_another_process(file: &File) -> bool {
    matches!(fcntl_getlk(file, &Flock::from(FlockType::WriteLock)), Ok(Some(_)))
}

/// The name of a locked file, what file it is, and who locked it.
#[derive(Debug)]
struct LockPlace {
    path: PathBuf,
    identity: Identity,
    /// The process that locked it. A fork has a copy of this value, but not the lock.
    process: Process,
    /// Tells where the file is. Another file may have the number after the lock was released.
    #[cfg(target_os = "linux")]
    descriptor: std::os::fd::RawFd,
    /// The directory of the file, open, if its descriptor has a path.
    #[cfg(target_os = "linux")]
    directory: Option<File>,
}

/// The device and inode of a file.
type Identity = (u64, u64);

fn identity(metadata: &fs::Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

impl LockPlace {
    fn of(file: &File, path: &Path) -> io::Result<LockPlace> {
        let identity = identity(&file.metadata()?);
        Ok(LockPlace {
            path: path.to_owned(),
            identity,
            process: Process::current(),
            #[cfg(target_os = "linux")]
            descriptor: std::os::fd::AsRawFd::as_raw_fd(file),
            #[cfg(target_os = "linux")]
            directory: LockPlace::directory_of(path, identity),
        })
    }

    /// Opens the directory of the locked file. `None` if the file cannot be found through its
    /// descriptor: without `/proc`, or if the directory was moved meanwhile.
    #[cfg(target_os = "linux")]
    fn directory_of(path: &Path, locked: Identity) -> Option<File> {
        let directory = File::open(crate::paths::directory_of(path)).ok()?;
        let through = inside(&directory).join(path.file_name()?);
        let found = fs::symlink_metadata(through).ok()?;
        (identity(&found) == locked).then_some(directory)
    }

    /// Returns whether the path is still the name of the file.
    fn is_right(&self) -> io::Result<bool> {
        use io::ErrorKind::{NotADirectory, NotFound};
        match fs::symlink_metadata(&self.path) {
            Ok(named) => Ok(identity(&named) == self.identity),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the present path of the file, if it has one.
    #[cfg(target_os = "linux")]
    fn now(&self) -> Option<PathBuf> {
        let link = format!("/proc/self/fd/{}", self.descriptor);
        let found = fs::metadata(&link).ok()?;
        let has_a_name = identity(&found) == self.identity && found.nlink() > 0;
        has_a_name.then(|| fs::read_link(link).ok()).flatten()
    }

    #[cfg(not(target_os = "linux"))]
    fn now(&self) -> Option<PathBuf> {
        None
    }
}

impl CheckPlace for LockPlace {
    fn check(&self) -> io::Result<()> {
        if !self.process.is_current() {
            let message = "this process is a fork of the one that locked the directory";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        if self.is_right()? {
            return Ok(());
        }
        let opened = crate::paths::directory_of(&self.path).to_owned();
        Err(DirectoryLost { opened, now: self.now() }.into())
    }

    #[cfg(target_os = "linux")]
    fn path_inside(&self, path: &Path) -> Option<PathBuf> {
        let name = path.strip_prefix(crate::paths::directory_of(&self.path)).ok()?;
        Some(inside(self.directory.as_ref()?).join(name))
    }
}

/// Returns a path to an open directory that does not depend on its name.
#[cfg(target_os = "linux")]
fn inside(directory: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(directory)))
}

#[derive(Debug)]
pub(super) struct PosixLock {
    /// `None` after the drop began.
    file: Option<OwnFile>,
    place: Arc<LockPlace>,
}

impl FileLock for PosixLock {
    fn is_held(&self) -> bool {
        self.place.process.is_current()
    }

    fn place(&self) -> Option<Place> {
        Some(Arc::clone(&self.place) as Place)
    }
}

impl Drop for PosixLock {
    fn drop(&mut self) {
        if self.is_held()
            && let Some(file) = self.file.take()
        {
            // Held until the claim has ended. If the file has no name any more, a new file may get
            // its number as soon as it is closed.
            let mut claimed = claimed();
            // Closing alone would leave the lock to a forked child that has a copy of the
            // descriptor. If this fails, only the close that follows remains.
            let _ = file.get().unlock();
            drop(file);
            claimed.remove(&self.place.identity);
        }
    }
}
