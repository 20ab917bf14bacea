//! A view of another file system that changes the files of a directory only while the directory's
//! lock is in place.
//!
//! The engine finds its files by path. If a program moves the directory away and puts another one
//! in its place, the path leads to files of the other directory. Invariant: no call creates,
//! replaces, renames, removes or opens a file of the directory once the lock file has lost its
//! name. Files that are open keep working, wherever they are.
//!
//! The program may move the directory between the look at the lock file and the call. So calls that
//! change a directory reach it through a handle, if the system can ([`Place`]). Then they change
//! the locked directory and no other. A call that fails because the directory just went says so.
//!
//! These calls are rare, and each costs one look at the lock file more.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::faults::{Fault, planted};
use crate::fs::{FileLock, FileSystem, Place, RandomAccessFile, WritableFile};

/// Another file system, for the holder of the lock of one directory. Calls for other directories
/// pass.
#[derive(Clone, Debug)]
pub struct HeldFs {
    fs: Arc<dyn FileSystem>,
    directory: PathBuf,
    place: Place,
}

impl HeldFs {
    /// Makes a view of `fs` for the holder of the directory's lock.
    pub fn new(fs: Arc<dyn FileSystem>, directory: &Path, place: Place) -> HeldFs {
        HeldFs { fs, directory: directory.to_owned(), place }
    }

    fn check(&self, path: &Path) -> io::Result<()> {
        if !path.starts_with(&self.directory) || planted(Fault::MoveUnnoticed) {
            return Ok(());
        }
        self.place.check()
    }

    /// Runs a call that changes a name in the directory.
    fn change<T>(&self, path: &Path, call: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        self.check(path)?;
        let done = match self.path_inside(path) {
            Some(inside) => call(&inside),
            None => call(path),
        };
        done.or_else(|error| {
            self.check(path)?;
            Err(error)
        })
    }

    fn path_inside(&self, path: &Path) -> Option<PathBuf> {
        if planted(Fault::MoveUnnoticed) { None } else { self.place.path_inside(path) }
    }
}

impl FileSystem for HeldFs {
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.fs.absolute(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.change(path, |path| self.fs.create(path))
    }

    fn create_log(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.change(path, |path| self.fs.create_log(path))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.check(path)?;
        self.fs.open(path)
    }

    fn open_named(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.check(path)?;
        self.fs.open_named(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(from, |inside| match self.path_inside(to) {
            Some(to) => self.fs.rename(inside, &to),
            None => self.fs.rename(from, to),
        })
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check(from)?;
        self.change(to, |to| {
            let inside = self.path_inside(from);
            self.fs.hard_link(inside.as_deref().unwrap_or(from), to)
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(path, |path| self.fs.remove(path))
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.change(path, |path| self.fs.create_dir_all(path))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.change(path, |path| self.fs.remove_dir(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.check(path)?;
        self.fs.list(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.fs.exists(path)
    }

    fn try_exists(&self, path: &Path) -> io::Result<bool> {
        self.fs.try_exists(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.fs.is_dir(path)
    }

    fn is_link(&self, path: &Path) -> bool {
        self.fs.is_link(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.fs.len(path)
    }

    fn age(&self, path: &Path) -> Option<Duration> {
        self.fs.age(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.change(path, |path| self.fs.sync_dir(path))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.fs.lock(path)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.check(path)?;
        self.fs.read(path)
    }
}
