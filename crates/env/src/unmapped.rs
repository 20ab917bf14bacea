//! A file system that writes its logs by system calls, even if it could map them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile};

/// Another file system, with every file written by system calls. A failing disk then returns an
/// error, where a store into a mapping would end the process.
#[derive(Clone, Debug)]
pub struct UnmappedFs(Arc<dyn FileSystem>);

impl UnmappedFs {
    /// Makes a view of `fs` without mappings.
    pub fn new(fs: Arc<dyn FileSystem>) -> UnmappedFs {
        UnmappedFs(fs)
    }
}

impl FileSystem for UnmappedFs {
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.absolute(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.0.create(path)
    }

    fn create_log(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.0.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.0.open(path)
    }

    fn open_named(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.0.open_named(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }

    fn try_exists(&self, path: &Path) -> io::Result<bool> {
        self.0.try_exists(path)
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

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.0.lock(path)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }
}
