//! A file system that allows no change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile};

/// A read-only view of another file system. Every call that would change something, a lock
/// included, fails with `ReadOnlyFilesystem` and is not passed on. So a program that gets only this
/// view cannot write, whatever its bugs.
///
/// ```
/// use std::io::ErrorKind;
/// use std::path::Path;
/// use std::sync::Arc;
/// use foldb_env::{FileSystem, MemFs, ReadOnlyFs};
///
/// let fs = MemFs::new();
/// fs.create(Path::new("file"))?;
/// let shown = ReadOnlyFs::new(Arc::new(fs));
/// assert!(shown.exists(Path::new("file")));
/// assert_eq!(shown.remove(Path::new("file")).unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReadOnlyFs(Arc<dyn FileSystem>);

impl ReadOnlyFs {
    /// Makes a read-only view of `fs`.
    pub fn new(fs: Arc<dyn FileSystem>) -> ReadOnlyFs {
        ReadOnlyFs(fs)
    }
}

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl FileSystem for ReadOnlyFs {
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.absolute(path)
    }

    fn create(&self, _: &Path) -> io::Result<Arc<dyn WritableFile>> {
        refused()
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.0.open(path)
    }

    fn open_named(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.0.open_named(path)
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        refused()
    }

    fn hard_link(&self, _: &Path, _: &Path) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn create_dir_all(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn remove_dir(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.0.is_dir(path)
    }

    fn is_link(&self, path: &Path) -> bool {
        self.0.is_link(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.0.len(path)
    }

    fn age(&self, path: &Path) -> Option<Duration> {
        self.0.age(path)
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        refused()
    }

    fn lock(&self, _: &Path) -> io::Result<Box<dyn FileLock>> {
        refused()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }
}

/// A file that accepts no write: every call fails with `ReadOnlyFilesystem`.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnwritableFile;

impl WritableFile for UnwritableFile {
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        refused()
    }

    fn preallocate(&self, _: u64) -> io::Result<()> {
        refused()
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        refused()
    }

    fn sync(&self) -> io::Result<()> {
        refused()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::MemFs;

    #[test]
    fn nothing_that_changes_anything_is_passed_on() {
        let fs = MemFs::new();
        let (file, other) = (Path::new("file"), Path::new("other"));
        fs.create(file).unwrap().write_at(b"kept", 0).unwrap();
        let before = fs.counts();
        let shown = ReadOnlyFs::new(Arc::new(fs.clone()));
        let refusals = [
            shown.create(other).map(drop),
            shown.create_log(other).map(drop),
            shown.rename(file, other),
            shown.hard_link(file, other),
            shown.remove(file),
            shown.create_dir_all(other),
            shown.remove_dir(Path::new(".")),
            shown.sync_dir(Path::new(".")),
            shown.lock(other).map(drop),
            UnwritableFile.write_at(b"x", 0),
            UnwritableFile.preallocate(1),
            UnwritableFile.truncate(0),
            UnwritableFile.sync(),
        ];
        for refusal in refusals {
            assert_eq!(refusal.unwrap_err().kind(), io::ErrorKind::ReadOnlyFilesystem);
        }
        assert_eq!(fs.counts(), before);
        assert_eq!(shown.read(file).unwrap(), b"kept");
        assert_eq!(shown.len(file).unwrap(), 4);
    }
}
