//! A view of a file system that calls a [`Watch`] before each call. Tests use it for disks that are
//! slow, hang, fail or lose power, and to act at a certain call.

use std::fmt::{self, Debug};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile};
use crate::mem::Operation;

/// Decides what happens before a call: it may take time, and it may answer in place of the disk.
/// Closures with the arguments of [`Watch::before`] are watches.
pub trait Watch: Send + Sync {
    /// Called before each call, except for looks ([`Watch::before_look`]). If it returns an error,
    /// the call fails with that error and never reaches the disk. The path of a rename or a hard
    /// link is the new path.
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

    /// Called before each look: a call that asks whether a name exists, whether it is a directory,
    /// or how long a file is. A watch cannot make a look fail.
    fn before_look(&self, _path: &Path) {}
}

impl<F> Watch for F
where
    F: Fn(Operation, &Path) -> io::Result<()> + Send + Sync,
{
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        self(operation, path)
    }
}

/// Another file system, with a [`Watch`] before each call to it and to its files. Hints and
/// questions about an open handle (free space, memory, name) pass unwatched.
///
/// ```
/// use std::io;
/// use std::path::Path;
/// use std::sync::Arc;
/// use foldb_env::mem::Operation;
/// use foldb_env::{FileSystem, MemFs, WatchedFs};
///
/// let never_syncs = |operation: Operation, _: &Path| match operation {
///     Operation::Sync => Err(io::Error::other("no sync today")),
///     _ => Ok(()),
/// };
/// let fs = WatchedFs::new(Arc::new(MemFs::new()), Arc::new(never_syncs));
/// let file = fs.create(Path::new("file"))?;
/// file.write_at(b"bytes", 0)?;
/// assert!(file.sync().is_err());
/// # Ok::<(), io::Error>(())
/// ```
#[derive(Clone)]
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

impl Debug for WatchedFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WatchedFs({:?})", self.fs)
    }
}

impl FileSystem for WatchedFs {
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.fs.absolute(path)
    }

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

    fn open_named(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        self.watch.before(Operation::Open, path)?;
        let (file, watch) = (self.fs.open_named(path)?, Arc::clone(&self.watch));
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
        self.watch.before_look(path);
        self.fs.exists(path)
    }

    fn try_exists(&self, path: &Path) -> io::Result<bool> {
        self.watch.before_look(path);
        self.fs.try_exists(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.watch.before_look(path);
        self.fs.is_dir(path)
    }

    fn is_link(&self, path: &Path) -> bool {
        self.fs.is_link(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.watch.before_look(path);
        self.fs.len(path)
    }

    fn age(&self, path: &Path) -> Option<Duration> {
        self.watch.before_look(path);
        self.fs.age(path)
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

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn appends_only(&self) -> bool {
        self.file.appends_only()
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
        self.watch.before_look(&self.path);
        self.file.len()
    }

    fn sync(&self) -> io::Result<()> {
        self.before(Operation::Sync)?;
        self.file.sync()
    }

    fn will_need(&self, offset: u64, len: u64) {
        self.file.will_need(offset, len);
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::sync::Mutex;

    use super::*;
    use crate::mem::MemFs;

    /// Notes every call, and fails calls of one kind.
    #[derive(Default)]
    struct Notes {
        /// `None` is a look.
        calls: Mutex<Vec<(Option<Operation>, PathBuf)>>,
        fails: Mutex<Option<Operation>>,
    }

    impl Watch for Notes {
        fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
            self.calls.lock().unwrap().push((Some(operation), path.to_owned()));
            match *self.fails.lock().unwrap() == Some(operation) {
                true => Err(ErrorKind::QuotaExceeded.into()),
                false => Ok(()),
            }
        }

        fn before_look(&self, path: &Path) {
            self.calls.lock().unwrap().push((None, path.to_owned()));
        }
    }

    /// Each call is announced once, and reaches the files below unless the watch fails it.
    #[test]
    fn the_watch_is_told_of_every_call_and_may_fail_all_but_looks() {
        use Operation::*;
        let (below, notes) = (MemFs::new(), Arc::new(Notes::default()));
        let fs = WatchedFs::new(Arc::new(below.clone()), Arc::clone(&notes) as _);
        let [dir, file, new] = ["dir", "dir/file", "dir/new"].map(Path::new);
        below.create_dir_all(dir).unwrap();
        let (writer, reader) = (fs.create(file).unwrap(), fs.open(file).unwrap());
        let check = |operation: Option<Operation>,
                     path: &Path,
                     call: &dyn Fn() -> io::Result<()>| {
            let told = || std::mem::take(&mut *notes.calls.lock().unwrap());
            let expected = vec![(operation, path.to_owned())];
            if let Some(operation) = operation {
                let before = below.counts();
                *notes.fails.lock().unwrap() = Some(operation);
                told();
                assert_eq!(call().unwrap_err().kind(), ErrorKind::QuotaExceeded, "{operation:?}");
                assert_eq!(told(), expected);
                assert_eq!(below.counts(), before, "{operation:?} of {} went on", path.display());
                *notes.fails.lock().unwrap() = None;
            }
            let calls = |operation| below.counts().of(operation);
            let before = operation.map(calls);
            told();
            call().unwrap();
            assert_eq!(told(), expected);
            assert_eq!(operation.map(calls), before.map(|calls| calls + 1), "{operation:?}");
        };
        check(Some(Create), new, &|| fs.create(new).map(drop));
        check(Some(Create), new, &|| fs.create_log(new).map(drop));
        check(Some(Open), file, &|| fs.open(file).map(drop));
        check(Some(Write), file, &|| writer.write_at(b"bytes", 0));
        check(Some(Preallocate), file, &|| writer.preallocate(9));
        check(Some(Truncate), file, &|| writer.truncate(7));
        check(Some(Sync), file, &|| writer.sync());
        check(Some(Read), file, &|| reader.read_exact_at(&mut [0; 5], 0));
        check(None, file, &|| reader.len().map(|len| assert_eq!(len, 7)));
        check(None, file, &|| fs.len(file).map(|len| assert_eq!(len, 7)));
        check(None, file, &|| fs.try_exists(file).map(|exists| assert!(exists)));
        check(None, file, &|| {
            assert!(fs.exists(file));
            Ok(())
        });
        check(None, dir, &|| {
            assert!(fs.is_dir(dir));
            Ok(())
        });
        check(Some(List), dir, &|| fs.list(dir).map(|names| assert_eq!(names.len(), 2)));
        check(Some(SyncDir), dir, &|| fs.sync_dir(dir));
        check(Some(Lock), file, &|| fs.lock(file).map(drop));
        check(Some(Rename), file, &|| fs.rename(new, file));
        check(Some(HardLink), new, &|| fs.hard_link(file, new));
        check(Some(Remove), new, &|| fs.remove(new));
        check(Some(CreateDir), new, &|| fs.create_dir_all(new));
        check(Some(RemoveDir), new, &|| fs.remove_dir(new));
    }
}
