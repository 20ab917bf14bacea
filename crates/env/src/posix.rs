//! The real file system: positioned I/O of the standard library, and the two kernel hints it lacks
//! (`fallocate`, `posix_fadvise`; Linux only, elsewhere they do nothing).
//!
//! Nothing is retried after a failed sync: the kernel may have dropped the pages it could not
//! write, and a second sync would then succeed over the hole (P. Rebello et al., "Can Applications
//! Recover from fsync Failures?", USENIX ATC 2020).

#[allow(unsafe_code)]
mod mapped;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::mapped::MappedFile;
use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile, check_same_directory};

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct PosixFs;

impl FileSystem for PosixFs {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        Ok(Arc::new(PosixFile(file)))
    }

    fn create_log(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Arc::new(MappedFile::new(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        Ok(Arc::new(PosixFile(File::open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        check_same_directory(from, to)?;
        fs::rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
        fs::create_dir_all(path)?;
        missing.into_iter().rev().try_for_each(|created| self.sync_dir(directory_of(created)))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        // A name that is not UTF-8 is not the engine's; what matters is that it stays visible.
        fs::read_dir(path)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(metadata.len())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        // The claim comes before the open: where the lock belongs to the process (NFS emulates it
        // so), closing a second handle of the file would release the first one's lock.
        let claim = PathClaim::take(path)?;
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => locked(path, "another process"),
            TryLockError::Error(error) => error,
        })?;
        Ok(Box::new(PosixLock { file, _claim: claim }))
    }
}

/// The directory in which `path` is an entry.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

#[derive(Debug)]
struct PosixFile(File);

impl WritableFile for PosixFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn preallocate(&self, len: u64) -> io::Result<()> {
        hints::preallocate(&self.0, len).map(|_reserved| ())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

impl RandomAccessFile for PosixFile {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn will_need(&self, offset: u64, len: u64) {
        hints::will_need(&self.0, offset, len);
    }
}

#[cfg(target_os = "linux")]
mod hints {
    use std::fs::File;
    use std::io;
    use std::num::NonZeroU64;

    use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
    use rustix::io::{Errno, retry_on_intr};

    /// Whether the blocks are reserved now.
    pub(super) fn preallocate(file: &File, len: u64) -> io::Result<bool> {
        if len == 0 {
            return Ok(true);
        }
        outcome(retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, len)))
    }

    /// What the file system cannot do is no error; what the disk has no room for is.
    pub(super) fn outcome(result: Result<(), Errno>) -> io::Result<bool> {
        match result {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::NODEV | Errno::PERM) => {
                Ok(false)
            }
            result => result.map(|()| true).map_err(io::Error::from),
        }
    }

    pub(super) fn will_need(file: &File, offset: u64, len: u64) {
        // Length 0 would mean "to the end of the file".
        if let Some(len) = NonZeroU64::new(len) {
            // A hint that is not taken changes nothing.
            let _ = fadvise(file, offset, Some(len), Advice::WillNeed);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod hints {
    use std::fs::File;
    use std::io;

    pub(super) fn preallocate(_file: &File, _len: u64) -> io::Result<bool> {
        Ok(false)
    }

    pub(super) fn will_need(_file: &File, _offset: u64, _len: u64) {}
}

#[derive(Debug)]
struct PosixLock {
    file: File,
    // Declared last, so given back last: whoever may claim the path finds the file unlocked.
    _claim: PathClaim,
}

impl FileLock for PosixLock {}

impl Drop for PosixLock {
    fn drop(&mut self) {
        // Closing alone would leave the lock to a child that was forked and has not called exec yet.
        // On failure the close that follows is all that is left to do.
        let _ = self.file.unlock();
    }
}

/// Paths this process has locked, with their directories resolved.
static CLAIMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn claimed() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // The set is never left half changed, so a panic elsewhere says nothing about it.
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One path's place in [`CLAIMED`], given back on drop.
#[derive(Debug)]
struct PathClaim(PathBuf);

impl PathClaim {
    fn take(path: &Path) -> io::Result<PathClaim> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let path = directory_of(path).canonicalize()?.join(name);
        if !claimed().insert(path.clone()) {
            return Err(locked(&path, "this process"));
        }
        Ok(PathClaim(path))
    }
}

impl Drop for PathClaim {
    fn drop(&mut self) {
        claimed().remove(&self.0);
    }
}

fn locked(path: &Path, holder: &str) -> io::Error {
    let message = format!("{} is locked by {holder}", path.display());
    io::Error::new(io::ErrorKind::WouldBlock, message)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn preallocation_is_a_hint_unless_the_disk_is_full() {
        assert!(hints::outcome(Ok(())).is_ok());
        assert!(hints::outcome(Err(Errno::OPNOTSUPP)).is_ok());
        let full = hints::outcome(Err(Errno::NOSPC)).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        let quota = hints::outcome(Err(Errno::DQUOT)).unwrap_err();
        assert_eq!(quota.kind(), io::ErrorKind::QuotaExceeded);
    }

    #[test]
    fn the_directory_of_a_bare_name_is_the_working_directory() {
        assert_eq!(directory_of(Path::new("db")), Path::new("."));
        assert_eq!(directory_of(Path::new("a/db")), Path::new("a"));
        assert_eq!(directory_of(Path::new("/")), Path::new("/"));
    }
}
