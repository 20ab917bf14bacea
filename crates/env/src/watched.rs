//! A file system that asks before each call: for disks that are slow, hang, fail or lose power.

use std::fmt::{self, Debug};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile};
use crate::mem::Operation;

/// Decides what happens before a call: it may take time, and it may answer in place of the disk.
pub trait Watch: Debug + Send + Sync {
    /// Called before each call. If it returns an error, the call fails with it and never reaches
    /// the disk.
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()>;

    /// Does what [`Watch::before`] does for a write, which may reach the disk in part.
    fn before_write(
        &self,
        path: &Path,
        _file: &dyn WritableFile,
        _bytes: &[u8],
        _offset: u64,
    ) -> io::Result<()> {
        self.before(Operation::Write, path)
    }
}

/// Another file system, with a [`Watch`] before each call to it and to its files. Calls that only
/// look at lengths and names pass unwatched, except for lists.
///
/// ```
/// use std::io;
/// use std::path::Path;
/// use std::sync::Arc;
/// use foldb_env::mem::Operation;
/// use foldb_env::{FileSystem, MemFs, Watch, WatchedFs};
///
/// #[derive(Debug)]
/// struct NeverSyncs;
///
/// impl Watch for NeverSyncs {
///     fn before(&self, operation: Operation, _path: &Path) -> io::Result<()> {
///         match operation {
///             Operation::Sync => Err(io::Error::other("no sync today")),
///             _ => Ok(()),
///         }
///     }
/// }
///
/// let fs = WatchedFs::new(Arc::new(MemFs::new()), Arc::new(NeverSyncs));
/// let file = fs.create(Path::new("file"))?;
/// file.write_at(b"bytes", 0)?;
/// assert!(file.sync().is_err());
/// # Ok::<(), io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WatchedFs {
    fs: Arc<dyn FileSystem>,
    watch: Arc<dyn Watch>,
}

impl WatchedFs {
    /// Makes a view of `fs` that `watch` watches.
    pub fn new(fs: Arc<dyn FileSystem>, watch: Arc<dyn Watch>) -> WatchedFs {
        WatchedFs { fs, watch }
    }

    fn writable(&self, path: &Path, file: Arc<dyn WritableFile>) -> Arc<dyn WritableFile> {
        Arc::new(Watched { file, path: path.to_owned(), watch: Arc::clone(&self.watch) })
    }
}

impl FileSystem for WatchedFs {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.watch.before(Operation::Create, path)?;
        Ok(self.writable(path, self.fs.create(path)?))
    }

    fn create_log(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        self.watch.before(Operation::Create, path)?;
        Ok(self.writable(path, self.fs.create_log(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.watch.before(Operation::Open, path)?;
        let (file, watch) = (self.fs.open(path)?, Arc::clone(&self.watch));
        Ok(Arc::new(Watched { file, path: path.to_owned(), watch }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.watch.before(Operation::Rename, to)?;
        self.fs.rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.watch.before(Operation::HardLink, to)?;
        self.fs.hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.watch.before(Operation::Remove, path)?;
        self.fs.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.watch.before(Operation::CreateDir, path)?;
        self.fs.create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.watch.before(Operation::RemoveDir, path)?;
        self.fs.remove_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.watch.before(Operation::List, path)?;
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

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.fs.len(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.watch.before(Operation::SyncDir, path)?;
        self.fs.sync_dir(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.watch.before(Operation::Lock, path)?;
        self.fs.lock(path)
    }
}

/// An open file, and the watch before its calls.
struct Watched<F: ?Sized> {
    file: Arc<F>,
    path: PathBuf,
    watch: Arc<dyn Watch>,
}

impl<F: ?Sized> Watched<F> {
    fn before(&self, operation: Operation) -> io::Result<()> {
        self.watch.before(operation, &self.path)
    }
}

impl<F: ?Sized> Debug for Watched<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watched({})", self.path.display())
    }
}

impl WritableFile for Watched<dyn WritableFile> {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.watch.before_write(&self.path, &*self.file, bytes, offset)?;
        self.file.write_at(bytes, offset)
    }

    fn preallocate(&self, len: u64) -> io::Result<()> {
        self.before(Operation::Preallocate)?;
        self.file.preallocate(len)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.before(Operation::Truncate)?;
        self.file.truncate(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.before(Operation::Sync)?;
        self.file.sync()
    }

    fn free_space(&self) -> Option<u64> {
        self.file.free_space()
    }

    fn is_mapped(&self) -> bool {
        self.file.is_mapped()
    }

    fn has_name(&self) -> bool {
        self.file.has_name()
    }

    fn memory_bytes(&self) -> usize {
        self.file.memory_bytes()
    }

    fn rest(&self) {
        self.file.rest();
    }
}

impl RandomAccessFile for Watched<dyn RandomAccessFile> {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.before(Operation::Read)?;
        self.file.read_exact_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn will_need(&self, offset: u64, len: u64) {
        self.file.will_need(offset, len);
    }
}
