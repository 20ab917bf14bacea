//! A file system that runs an action before each change of a file.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use foldb::env::{FileLock, FileSystem, MemFs, RandomAccessFile, WritableFile};

thread_local! {
    /// Whether this thread runs the action, whose own changes trigger nothing.
    static DOING: Cell<bool> = const { Cell::new(false) };
}

/// The action. It gets the number of the change, from 0.
type Deed = Box<dyn FnMut(u64) + Send>;

/// The files of a [`MemFs`].
#[derive(Clone)]
pub struct DeedFs {
    pub fs: MemFs,
    deed: Arc<Mutex<Option<(u64, Deed)>>>,
}

impl DeedFs {
    pub fn new() -> DeedFs {
        DeedFs { fs: MemFs::new(), deed: Arc::default() }
    }

    /// Runs `deed` before each change from now on.
    pub fn before_each(&self, deed: impl FnMut(u64) + Send + 'static) {
        *self.deed.lock().unwrap() = Some((0, Box::new(deed)));
    }

    /// Stops the action. Returns how many changes there were.
    pub fn stop(&self) -> u64 {
        self.deed.lock().unwrap().take().map_or(0, |(changes, _)| changes)
    }

    fn change(&self) {
        if DOING.replace(true) {
            return;
        }
        if let Some((number, deed)) = &mut *self.deed.lock().unwrap() {
            deed(*number);
            *number += 1;
        }
        DOING.set(false);
    }

    fn watched(&self, file: Arc<dyn WritableFile>) -> Arc<dyn WritableFile> {
        Arc::new(Watched(self.clone(), file))
    }
}

impl fmt::Debug for DeedFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeedFs")
    }
}

#[derive(Debug)]
struct Watched(DeedFs, Arc<dyn WritableFile>);

impl WritableFile for Watched {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.change();
        self.1.write_at(bytes, offset)
    }
    fn preallocate(&self, len: u64) -> io::Result<()> {
        self.1.preallocate(len)
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.change();
        self.1.truncate(len)
    }
    fn sync(&self) -> io::Result<()> {
        self.0.change();
        self.1.sync()
    }
}

impl FileSystem for DeedFs {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.change();
        Ok(self.watched(self.fs.create(path)?))
    }
    fn create_log(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.change();
        Ok(self.watched(self.fs.create_log(path)?))
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.fs.open(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change();
        self.fs.rename(from, to)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change();
        self.fs.hard_link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change();
        self.fs.remove(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.fs.create_dir_all(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.fs.remove_dir(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.fs.list(path)
    }
    fn exists(&self, path: &Path) -> bool {
        self.fs.exists(path)
    }
    fn is_dir(&self, path: &Path) -> bool {
        self.fs.is_dir(path)
    }
    fn len(&self, path: &Path) -> io::Result<u64> {
        self.fs.len(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.change();
        self.fs.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.fs.lock(path)
    }
}
