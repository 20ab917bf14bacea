//! The adapter: a [`FileSystem`] over files that only grow.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::reading::Reader;
use super::writing::Writer;
use super::{AppendOnlyFiles, AppendedFile, SCRATCH_NAME};
use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile, check_same_directory};
use crate::paths::directory_of;

/// A [`FileSystem`] over files that only grow at their end.
///
/// A sync of a directory is as good as that of the files below. Without
/// [`AppendOnlyFiles::sync_dir`], names are durable only if a sync of a file called
/// [`SCRATCH_NAME`] makes the earlier changes of its directory durable.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
/// use foldb_env::{AppendOnlyFs, FileSystem, MemFs, RestrictedFs};
///
/// let below = MemFs::new();
/// let fs = AppendOnlyFs::new(Arc::new(RestrictedFs::new(Arc::new(below.clone()))));
/// let file = fs.create(Path::new("file"))?;
/// file.write_at(b"begin", 0)?;
/// assert!(file.write_at(b"elsewhere", 100).is_err());
/// file.truncate(3)?; // the file is written anew
/// assert_eq!(below.read(Path::new("file"))?, b"beg");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AppendOnlyFs(Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) files: Arc<dyn AppendOnlyFiles>,
    /// Held while a file called [`SCRATCH_NAME`] is in use.
    scratch: Mutex<()>,
    /// Files that may be open for writing, by their present names.
    writers: Mutex<HashMap<PathBuf, Weak<Writer>>>,
    /// Files that may be open for reading.
    readers: Mutex<Vec<Weak<Reader>>>,
}

impl AppendOnlyFs {
    /// Makes a file system of these files.
    pub fn new(files: Arc<dyn AppendOnlyFiles>) -> AppendOnlyFs {
        let (scratch, writers, readers) = Default::default();
        AppendOnlyFs(Arc::new(Inner { files, scratch, writers, readers }))
    }
}

impl Inner {
    pub(super) fn lock_scratch(&self) -> MutexGuard<'_, ()> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_writers(&self) -> MutexGuard<'_, HashMap<PathBuf, Weak<Writer>>> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_readers(&self) -> MutexGuard<'_, Vec<Weak<Reader>>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renames a file. Its readers open it again under its new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let readers: Vec<_> = self.lock_readers().iter().filter_map(Weak::upgrade).collect();
        let names: Vec<_> = readers.iter().filter_map(|reader| reader.named(from)).collect();
        self.files.rename(from, to).map_err(|error| self.explain(from, error))?;
        for mut name in names {
            to.clone_into(&mut name);
        }
        Ok(())
    }

    fn is_dir(&self, path: &Path) -> bool {
        // Some systems list a missing directory as empty, and some know only files.
        match self.files.list(path) {
            Ok(names) => !names.is_empty() || matches!(self.files.exists(path), Ok(true)),
            Err(_) => false,
        }
    }

    /// Returns the error with the kind `NotFound` if the file does not exist, whatever kind the
    /// system gave it.
    pub(super) fn explain(&self, path: &Path, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::NotFound => error,
            _ => match self.files.exists(path) {
                Ok(false) => io::Error::new(io::ErrorKind::NotFound, error.to_string()),
                _ => error,
            },
        }
    }

    /// Makes the names in a directory durable. The caller holds the scratch lock.
    pub(super) fn sync_names(&self, directory: &Path) -> io::Result<()> {
        if let Some(synced) = self.files.sync_dir(directory) {
            return synced;
        }
        let scratch = directory.join(SCRATCH_NAME);
        let mut file: Box<dyn AppendedFile> = self.files.create(&scratch)?;
        let synced = file.sync().and_then(|()| file.close());
        // A file that stays is removed by the next open.
        let _best_effort = self.files.remove(&scratch);
        synced
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        if path.as_os_str().is_empty() || self.is_dir(path) {
            return Ok(());
        }
        let Err(first) = self.files.create_dir(path) else { return Ok(()) };
        if self.is_dir(path) {
            return Ok(());
        }
        // Either the parent is missing, or the directory cannot be created.
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() && !self.is_dir(parent) => {
                self.create_dir_all(parent)?;
                self.files.create_dir(path)
            }
            _ => Err(first),
        }
    }
}

impl FileSystem for AppendOnlyFs {
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.files.absolute(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        let file = self.0.files.create(path)?;
        let writer = Arc::new(Writer::new(Arc::clone(&self.0), path, file));
        let mut writers = self.0.lock_writers();
        writers.retain(|_, writer| writer.strong_count() > 0);
        writers.insert(path.to_owned(), Arc::downgrade(&writer));
        Ok(writer)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        let mut readers = self.0.lock_readers();
        let reader = Arc::new(Reader::open(Arc::clone(&self.0), path)?);
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(&reader));
        Ok(reader)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        check_same_directory(from, to)?;
        self.0.rename(from, to)?;
        let mut writers = self.0.lock_writers();
        if let Some(writer) = writers.remove(from) {
            writers.insert(to.to_owned(), writer);
        }
        Ok(())
    }

    fn hard_link(&self, _: &Path, _: &Path) -> io::Result<()> {
        let message = "files of this file system have one name";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    /// Removes a file. A handle that writes to it is closed before, because some systems remove no
    /// open file. The handle takes no more bytes, and syncs nothing.
    fn remove(&self, path: &Path) -> io::Result<()> {
        // Some systems take the removal of a missing file for a mistake of their user.
        if matches!(self.0.files.exists(path), Ok(false)) {
            let message = format!("{} does not exist", path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        let writer = self.0.lock_writers().remove(path);
        if let Some(writer) = writer.and_then(|writer| writer.upgrade()) {
            writer.close_for_removal();
        }
        self.0.files.remove(path).map_err(|error| self.0.explain(path, error))
    }

    /// Creates a directory and its missing parents. The adapter writes nothing to the parents, so
    /// their new entries are durable only if the file system below makes them so.
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.files.remove_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = self.0.files.list(path)?;
        names.retain(|name| name != "." && name != "..");
        Ok(names)
    }

    fn exists(&self, path: &Path) -> bool {
        matches!(self.try_exists(path), Ok(true))
    }

    fn try_exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.0.files.exists(path)? || self.0.is_dir(path))
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.0.is_dir(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.0.files.len(path).map_err(|error| match self.0.is_dir(path) {
            true => io::ErrorKind::IsADirectory.into(),
            false => self.0.explain(path, error),
        })
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let _scratch = self.0.lock_scratch();
        self.0.sync_names(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let locked = self.0.files.lock(path);
        locked.map_err(|error| match error.kind() {
            // A missing directory, and not a lock that is held.
            io::ErrorKind::Other if !self.0.is_dir(directory_of(path)) => {
                self.0.explain(directory_of(path), error)
            }
            _ => error,
        })
    }
}
