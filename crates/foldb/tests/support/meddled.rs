//! A file system that runs an action between two accesses of a reader.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use foldb::env::{FileLock, FileSystem, MemFs, RandomAccessFile, WritableFile};

/// The action. It runs before each access and gets its number, from 1.
type Deed = Box<dyn FnMut(u64) + Send>;

/// The files of a [`MemFs`], read-only.
#[derive(Clone)]
pub struct Meddled {
    fs: MemFs,
    meddler: Arc<Mutex<(u64, Deed)>>,
}

impl Meddled {
    pub fn new(fs: &MemFs, deed: impl FnMut(u64) + Send + 'static) -> Meddled {
        Meddled { fs: fs.clone(), meddler: Arc::new(Mutex::new((0, Box::new(deed)))) }
    }

    /// Returns the number of accesses so far.
    pub fn looks(&self) -> u64 {
        self.meddler.lock().unwrap().0
    }

    fn look(&self) {
        let mut meddler = self.meddler.lock().unwrap();
        meddler.0 += 1;
        let number = meddler.0;
        (meddler.1)(number);
    }
}

impl fmt::Debug for Meddled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meddled")
    }
}

#[derive(Debug)]
struct MeddledFile(Meddled, Arc<dyn RandomAccessFile>);

impl RandomAccessFile for MeddledFile {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.look();
        self.1.read_exact_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.look();
        self.1.len()
    }
}

impl FileSystem for Meddled {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        panic!("create {}", path.display())
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.look();
        Ok(Arc::new(MeddledFile(self.clone(), self.fs.open(path)?)))
    }

    fn rename(&self, from: &Path, _: &Path) -> io::Result<()> {
        panic!("rename {}", from.display())
    }

    fn hard_link(&self, from: &Path, _: &Path) -> io::Result<()> {
        panic!("link {}", from.display())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        panic!("remove {}", path.display())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        panic!("create {}", path.display())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        panic!("remove {}", path.display())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.look();
        self.fs.list(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.look();
        self.fs.exists(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.look();
        self.fs.is_dir(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.look();
        self.fs.len(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        panic!("sync {}", path.display())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        panic!("lock {}", path.display())
    }
}
