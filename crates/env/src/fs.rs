//! The file system as a storage engine needs it: positioned writes and reads, explicit syncs of
//! data and of directories, one lock.
//!
//! Nothing here buffers: what `write_at` returned from is in the operating system's hands (a
//! killed process loses none of it), what `sync` returned from is on the medium. A name is on
//! the medium only after `sync_dir` of its directory.

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The error of a rename that would leave its directory, which one `sync_dir` could not cover.
pub(crate) fn check_same_directory(from: &Path, to: &Path) -> io::Result<()> {
    if from.parent() == to.parent() {
        return Ok(());
    }
    let message = format!("rename of {} to {} leaves its directory", from.display(), to.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// A directory tree. Every path is used as given; the engine passes paths below the database's.
pub trait FileSystem: Debug + Send + Sync {
    /// Creates `path` for writing; an existing file is replaced by an empty one.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>>;
    /// [`FileSystem::create`] for a file that many small records are appended to: where the system
    /// can, writing into preallocated space costs no system call. What it promises is the same.
    fn create_log(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.create(path)
    }
    /// Opens an existing file for positioned reads.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>>;
    /// Renames a file within one directory, replacing the target. Atomic; durable after `sync_dir`.
    ///
    /// # Errors
    /// `InvalidInput` when the two paths have different directories.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives the file at `from` a second name, in any directory of the same file system. Durable
    /// after `sync_dir` of the new name's directory.
    ///
    /// # Errors
    /// `AlreadyExists` where `to` is a name already; `CrossesDevices` or `Unsupported` where the
    /// file system cannot.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Unlinks a file. Open handles go on reading it.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a directory and its missing parents, durably: no sync of a parent is needed.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Names (not paths) of the files and directories directly in `path`, in no order.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Whether a file or directory of this name exists. A name that cannot be looked up does not.
    fn exists(&self, path: &Path) -> bool;
    /// Whether a file or directory of this name exists.
    ///
    /// # Errors
    /// When that cannot be told: a directory may not be searched, say.
    fn try_exists(&self, path: &Path) -> io::Result<bool> {
        match self.len(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
    /// Whether `path` is a directory.
    fn is_dir(&self, path: &Path) -> bool;
    /// Length of a file, in bytes.
    fn len(&self, path: &Path) -> io::Result<u64>;
    /// Makes creations, renames and removals in `path` durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Takes the exclusive lock of `path`, creating the file if missing. Released when the handle
    /// is dropped or the process dies.
    ///
    /// # Errors
    /// `WouldBlock` when another handle, in this process or another, holds it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>>;

    /// The whole of a file, for small ones.
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
    /// Reserves blocks up to `len` bytes and extends the file to it, filled with zeroes, so that
    /// later writes neither allocate nor fail for want of space. A hint: where the file system
    /// cannot, nothing happens. After an error the file is as long as it was.
    fn preallocate(&self, len: u64) -> io::Result<()>;
    /// Cuts the file to `len` bytes.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Makes what was written, and the length needed to read it, durable (`fdatasync`).
    fn sync(&self) -> io::Result<()>;
    /// Bytes that could still be written to the file system; `None` where that is not known.
    fn free_space(&self) -> Option<u64> {
        None
    }
    /// Whether small writes are stored through a mapping, and cost no system call.
    fn is_mapped(&self) -> bool {
        false
    }
    /// Whether the file can still be found by some name: what was written to one that was removed
    /// ends with its handle.
    fn has_name(&self) -> bool {
        true
    }
    /// Bytes of this process' memory that writing takes now.
    fn memory_bytes(&self) -> usize {
        0
    }
    /// Gives that memory back until the next write: none is expected soon.
    fn rest(&self) {}
}

/// A file being read.
pub trait RandomAccessFile: Debug + Send + Sync {
    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` when the file ends first.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Tells the kernel that `[offset, offset + len)` will be read soon. A hint.
    fn will_need(&self, _offset: u64, _len: u64) {}
}

/// An exclusive lock, held until dropped.
pub trait FileLock: Debug + Send + Sync {
    /// Whether this process holds it. A process that was forked has a copy of the handle only.
    fn is_held(&self) -> bool {
        true
    }
}
