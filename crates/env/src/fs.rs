//! The file system as a storage engine needs it: positioned writes and reads, explicit syncs of
//! data and of directories, one lock.
//!
//! Nothing in this module buffers. When `write_at` returns, the operating system has the bytes, and
//! a killed process loses none of them. When `sync` returns, the bytes are on the medium. A name is
//! on the medium only after `sync_dir` of its directory.

use std::fmt::{self, Debug};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Rejects a rename out of its directory, because one `sync_dir` could not make it durable.
pub(crate) fn check_same_directory(from: &Path, to: &Path) -> io::Result<()> {
    if from.parent() == to.parent() {
        return Ok(());
    }
    let message = format!("rename of {} to {} leaves its directory", from.display(), to.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// A directory tree. It uses every path as given; the engine passes paths below the database's.
pub trait FileSystem: Debug + Send + Sync {
    /// Returns the path by which the same file or directory is found whatever becomes of the
    /// process's working directory. File systems without a working directory return `path`.
    ///
    /// # Errors
    /// Fails if the working directory is not known.
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
    /// Creates `path` for writing. An existing file is replaced by an empty one.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>>;
    /// Does what [`FileSystem::create`] does, for a file that gets many small appends. Where the
    /// system can, a write into preallocated space needs no system call. The promises are the same.
    fn create_log(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.create(path)
    }
    /// Opens an existing file for positioned reads.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>>;
    /// Does what [`FileSystem::open`] does, for a file that keeps its name until the handle is
    /// dropped. Where file handles are few, the file system may close it and open it again.
    fn open_named(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.open(path)
    }
    /// Renames a file within one directory, replacing the target. Atomic; durable after `sync_dir`.
    ///
    /// # Errors
    /// `InvalidInput` if the two paths have different directories. [`NothingDone`], wrapped, if the
    /// target surely is what it was. After any other error, it may be either file.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives the file at `from` a second name, in any directory of the same file system. Durable
    /// after `sync_dir` of the new name's directory.
    ///
    /// # Errors
    /// `AlreadyExists` if `to` already exists; `CrossesDevices` or `Unsupported` if the file system
    /// cannot link.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Unlinks a file. Open handles continue to read it.
    ///
    /// # Errors
    /// [`NothingDone`], wrapped, if the file surely still has its name.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a directory and its missing parents, durably: no sync of a parent is needed.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Returns the names (not paths) of the files and directories directly in `path`, in no order.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Returns whether a file or directory of this name exists. A failed lookup counts as absence.
    fn exists(&self, path: &Path) -> bool;
    /// Returns whether a file or directory of this name exists.
    ///
    /// # Errors
    /// Fails if the lookup fails, for example because the directory may not be searched.
    fn try_exists(&self, path: &Path) -> io::Result<bool> {
        match self.len(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
    /// Returns whether `path` is a directory.
    fn is_dir(&self, path: &Path) -> bool;
    /// Returns whether `path` is a symbolic link. File systems without links return false.
    fn is_link(&self, _path: &Path) -> bool {
        false
    }
    /// Returns the length of a file, in bytes.
    fn len(&self, path: &Path) -> io::Result<u64>;
    /// Returns how long ago the bytes of a file last changed. `None` if the file system does not
    /// know, or if the system's clock was set back since.
    fn age(&self, _path: &Path) -> Option<Duration> {
        None
    }
    /// Makes creations, renames and removals in `path` durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Takes the exclusive lock of `path`, creating the file if missing. Released when the handle
    /// is dropped or the process dies.
    ///
    /// # Errors
    /// `WouldBlock` if another handle, in this process or another, holds the lock.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>>;

    /// Reads a whole file, for small files.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.open(path)?;
        let mut bytes = vec![0; usize::try_from(file.len()?).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}

/// A file being written. Shared: one thread may sync while another writes.
pub trait WritableFile: Debug + Send + Sync {
    /// Writes all of `bytes` at `offset`, extending the file if needed.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Reserves blocks up to `len` bytes and extends the file to `len` with zeroes. Later writes
    /// then neither allocate nor fail for lack of space. It is a hint: if the file system cannot
    /// reserve blocks, nothing happens. An error leaves the length of the file unchanged.
    fn preallocate(&self, len: u64) -> io::Result<()>;
    /// Truncates the file to `len` bytes.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Makes the written bytes, and the length needed to read them, durable (`fdatasync`).
    fn sync(&self) -> io::Result<()>;
    /// Ends the writing of a finished file. Some file systems report errors only now. Without this
    /// call, dropping the handle ends the writing, and such errors are lost.
    fn close(&self) -> io::Result<()> {
        Ok(())
    }
    /// Returns the bytes that can still be written to the file system; `None` if unknown.
    fn free_space(&self) -> Option<u64> {
        None
    }
    /// Returns whether small writes go through a mapping and need no system call.
    fn is_mapped(&self) -> bool {
        false
    }
    /// Returns whether the file grows only at its end. A write elsewhere fails, and a truncation
    /// writes the file anew under its name. After a failed write, the file takes no more bytes
    /// until a truncation succeeds.
    fn appends_only(&self) -> bool {
        false
    }
    /// Returns whether the file still has a name. Writes to a file without a name are lost when its
    /// handle is dropped.
    fn has_name(&self) -> bool {
        true
    }
    /// Returns the memory of this process that writing the file uses now, in bytes.
    fn memory_bytes(&self) -> usize {
        0
    }
    /// Frees the memory that writing uses. The caller expects no write soon; the next write takes
    /// the memory again.
    fn rest(&self) {}
}

/// A file being read.
pub trait RandomAccessFile: Debug + Send + Sync {
    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends first.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// Returns the length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Returns whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Makes the bytes durable that others wrote to the file.
    ///
    /// # Errors
    /// `Unsupported` if the file system syncs only files that are open for writing.
    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Tells the kernel that `[offset, offset + len)` will be read soon. A hint.
    fn will_need(&self, _offset: u64, _len: u64) {}
}

/// An exclusive lock, held until dropped.
pub trait FileLock: Debug + Send + Sync {
    /// Returns whether this process holds the lock. A forked process has only a copy of the handle.
    fn is_held(&self) -> bool {
        true
    }

    /// Returns a check that the locked file still has its name. While it has, the directory around
    /// it is the one that was locked. `None` if the file system does not know.
    fn place(&self) -> Option<Place> {
        None
    }
}

/// A check that a locked file still has its name. It may outlive the lock.
pub type Place = Arc<dyn CheckPlace>;

/// What a [`Place`] does.
pub trait CheckPlace: Debug + Send + Sync {
    /// # Errors
    /// [`DirectoryLost`], wrapped, if another file or none has the name now. `PermissionDenied` in
    /// a fork of the process that took the lock.
    fn check(&self) -> io::Result<()>;

    /// Returns a path that leads to the same name in the locked directory, wherever that is by now.
    /// `None` if the system has no such path, or for a path elsewhere. It lasts as long as `self`.
    fn path_inside(&self, path: &Path) -> Option<PathBuf> {
        let _ = path;
        None
    }
}

/// The error for a file that another handle has locked. [`FileSystem::lock`] wraps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHeld {
    /// The path of the file.
    pub path: PathBuf,
    /// The process that holds the lock.
    pub holder: Holder,
}

/// The process that holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A handle in the calling process.
    ThisProcess,
    /// Another process, or another copy of this library.
    AnotherProcess,
}

impl fmt::Display for LockHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder = match self.holder {
            Holder::ThisProcess => "this process",
            Holder::AnotherProcess => "another process",
        };
        write!(f, "{} is locked by {holder}", self.path.display())
    }
}

impl std::error::Error for LockHeld {}

/// The error for a directory that was locked, and then moved, removed or replaced by another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryLost {
    /// The path by which the directory was opened.
    pub opened: PathBuf,
    /// Where the locked file is now, if the system knows.
    pub now: Option<PathBuf>,
}

impl fmt::Display for DirectoryLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let opened = self.opened.display();
        write!(f, "{opened} is not the directory that was opened there any more: ")?;
        match &self.now {
            Some(now) => write!(f, "its LOCK is now {}", now.display()),
            None => f.write_str("its LOCK was removed or replaced"),
        }
    }
}

impl std::error::Error for DirectoryLost {}

impl From<DirectoryLost> for io::Error {
    fn from(lost: DirectoryLost) -> io::Error {
        io::Error::other(lost)
    }
}

/// The error of a call that surely changed nothing, because another program holds the file. The
/// same call succeeds once that program lets go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NothingDone {
    /// What the system said.
    pub refusal: String,
}

impl NothingDone {
    /// Returns whether this is the reason of an error.
    pub fn is_why(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|reason| reason.is::<NothingDone>())
    }
}

impl fmt::Display for NothingDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: nothing was changed; another program, such as a virus scanner or a backup, may \
             hold the file, so close it there or try again",
            self.refusal
        )
    }
}

impl std::error::Error for NothingDone {}
