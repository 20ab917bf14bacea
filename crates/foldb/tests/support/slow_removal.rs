//! A file system that removes files slowly.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use foldb::env::{FileLock, FileSystem, MemFs, RandomAccessFile, WritableFile};

/// The files of a [`MemFs`].
#[derive(Debug)]
pub struct SlowRemoval(pub MemFs, pub Duration);

impl FileSystem for SlowRemoval {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.0.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.0.open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        thread::sleep(self.1);
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

    fn is_dir(&self, path: &Path) -> bool {
        self.0.is_dir(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.0.len(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.0.lock(path)
    }
}
