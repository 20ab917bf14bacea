//! File systems that can only append: the few calls that a program must provide, and an adapter
//! that makes a [`FileSystem`] of them.
//!
//! [`AppendOnlyFiles`] asks for what LevelDB's `Env` has: new files that grow at their end,
//! positioned reads, whole-file renames, directories and one lock. It does not ask for positioned
//! writes, truncation, mapping, hard links, reserved blocks or syncs of directories.
//! [`AppendOnlyFs`] does without them:
//!
//! | the engine asks for | the adapter |
//! | --- | --- |
//! | a write at the end | appends and flushes, so a kill of the process loses nothing |
//! | a write elsewhere | refuses it; see [`WritableFile::appends_only`] |
//! | a truncation | copies the head of the file to [`SCRATCH_NAME`] and renames that file |
//! | a hard link | refuses it with `Unsupported`; the engine copies |
//! | reserved blocks | does nothing |
//! | a sync of a directory | calls `sync_dir`, or syncs a file called [`SCRATCH_NAME`] there |
//!
//! Invariants: the adapter appends to a file only if all its bytes are known. One thread at a time
//! uses an [`AppendedFile`].

mod adapter;
mod reading;
mod restricted;
pub mod under_test;
mod writing;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};

pub use adapter::AppendOnlyFs;
pub use restricted::RestrictedFs;

use crate::fs::FileLock;
#[cfg(doc)]
use crate::fs::{FileSystem, WritableFile};

/// Name of the temporary file of [`AppendOnlyFs`]. A crash may leave it in a directory.
///
/// LevelDB's own file systems sync the directory of a file whose name begins with `MANIFEST`
/// before they sync that file. So a sync of a file with this name makes other names durable.
pub const SCRATCH_NAME: &str = "MANIFEST.tmp";

/// A directory tree whose files only grow at their end. All paths are below the directory that the
/// program opens.
///
/// The kind `NotFound` of an error says that the file does not exist, `StorageFull` that the disk
/// is full. All other kinds have the same effect.
pub trait AppendOnlyFiles: Debug + Send + Sync {
    /// Creates `path` for writing. An existing file is replaced by an empty one.
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendedFile>>;
    /// Opens an existing file to append to it. `None` if this is not possible: a handle of a
    /// renamed file must then append to the file under its new name.
    fn append(&self, _path: &Path) -> io::Result<Option<Box<dyn AppendedFile>>> {
        Ok(None)
    }
    /// Returns the path by which the same file is found whatever becomes of the process's working
    /// directory: see [`crate::FileSystem::absolute`].
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
    /// Opens an existing file for positioned reads. Reads need to find only the bytes that the file
    /// has now. They work until the handle is dropped, even if the file is renamed or removed.
    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadableFile>>;
    /// Returns whether a file of this name exists. A directory may count or not.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Returns the names (not paths) of the files directly in a directory, in no order. Names of
    /// directories, `.` and `..` may be among them. The list of a missing directory may be empty
    /// or an error.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a directory whose parent exists.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Returns the length of a file, in bytes. All flushed bytes count.
    fn len(&self, path: &Path) -> io::Result<u64>;
    /// Renames a file within its directory. It replaces the target atomically.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in a directory durable. `None` if there is no such
    /// call: the adapter then syncs a file called [`SCRATCH_NAME`] in the directory.
    fn sync_dir(&self, _path: &Path) -> Option<io::Result<()>> {
        None
    }
    /// Takes the exclusive lock of `path`. Released when the handle is dropped.
    ///
    /// # Errors
    /// `WouldBlock` if the lock is held. Other kinds have the same effect, and another message.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>>;
}

/// A file that grows at its end. Dropping it closes it.
pub trait AppendedFile: Debug + Send {
    /// Appends all of `bytes`. They may stay in a buffer until [`AppendedFile::flush`].
    ///
    /// # Errors
    /// After an error it is unknown which of the bytes the file has. The adapter appends nothing
    /// more to it. It may still sync it, to make the bytes of earlier appends durable.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Hands buffered bytes to the system. A kill of the process then loses none of them.
    fn flush(&mut self) -> io::Result<()>;
    /// Flushes, and makes the bytes durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Flushes and closes the file. Dropping it does the same and loses the error.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// A file for positioned reads. Several threads may read at the same time.
pub trait ReadableFile: Debug + Send + Sync {
    /// Reads bytes from `offset` into `buf`, and returns how many it read. Zero means that the file
    /// ends at `offset` or before.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
}
