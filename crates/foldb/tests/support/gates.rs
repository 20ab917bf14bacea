//! Files whose syncs wait at a gate that a test opens and closes.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

use foldb::env::{FileLock, FileSystem, MemFs, RandomAccessFile, WritableFile};

/// A gate that threads pass while it is open.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    waiting: usize,
}

impl Gate {
    /// Stops every thread that comes from now on.
    pub fn close(&self) {
        self.state.lock().unwrap().closed = true;
    }

    /// Lets the waiting threads through, and all later ones.
    pub fn open(&self) {
        self.state.lock().unwrap().closed = false;
        self.changed.notify_all();
    }

    /// Opens the gate when the returned guard is dropped: a failing test must not hang.
    pub fn open_at_end(self: &Arc<Gate>) -> OpenAtEnd {
        OpenAtEnd(Arc::clone(self))
    }

    /// Waits until a thread stands before the gate.
    pub fn wait_for_a_thread(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.waiting == 0).unwrap());
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        self.changed.notify_all();
        state = self.changed.wait_while(state, |state| state.closed).unwrap();
        state.waiting -= 1;
    }
}

/// Opens the gate when dropped: see [`Gate::open_at_end`].
#[derive(Debug)]
pub struct OpenAtEnd(Arc<Gate>);

impl Drop for OpenAtEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// Files in memory. Syncs of files with one extension pass a gate.
#[derive(Clone, Debug)]
pub struct GatedFs {
    pub fs: MemFs,
    pub extension: &'static str,
    pub gate: Arc<Gate>,
}

impl GatedFs {
    pub fn new(extension: &'static str) -> GatedFs {
        GatedFs { fs: MemFs::new(), extension, gate: Arc::default() }
    }

    fn gated(&self, path: &Path, file: Arc<dyn WritableFile>) -> Arc<dyn WritableFile> {
        match path.extension().is_some_and(|extension| extension == self.extension) {
            true => Arc::new(GatedFile { file, gate: Arc::clone(&self.gate) }),
            false => file,
        }
    }
}

#[derive(Debug)]
struct GatedFile {
    file: Arc<dyn WritableFile>,
    gate: Arc<Gate>,
}

impl WritableFile for GatedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }
    fn preallocate(&self, len: u64) -> io::Result<()> {
        self.file.preallocate(len)
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }
    fn sync(&self) -> io::Result<()> {
        self.gate.pass();
        self.file.sync()
    }
}

impl FileSystem for GatedFs {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        Ok(self.gated(path, self.fs.create(path)?))
    }
    fn create_log(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        Ok(self.gated(path, self.fs.create_log(path)?))
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.fs.open(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fs.rename(from, to)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.fs.hard_link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
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
        self.fs.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.fs.lock(path)
    }
}
