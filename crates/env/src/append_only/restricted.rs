//! Another file system with only the calls of [`AppendOnlyFiles`], for tests.
//!
//! It behaves as LevelDB's own file systems do, where the adapter could come to rely on more:
//! - an append stays in a buffer until a flush, and a file that is dropped writes its buffer;
//! - a file that is open for reads has the bytes that it had when it was opened;
//! - only the sync of a file whose name begins with `MANIFEST` makes names durable;
//! - a missing file is an error of no particular kind.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{AppendOnlyFiles, AppendedFile, ReadableFile};
use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile};
use crate::paths::directory_of;

/// Another file system, whose files only grow at their end.
#[derive(Clone, Debug)]
pub struct RestrictedFs(Arc<dyn FileSystem>);

impl RestrictedFs {
    /// Makes a restricted view of `fs`.
    pub fn new(fs: Arc<dyn FileSystem>) -> RestrictedFs {
        RestrictedFs(fs)
    }
}

/// Hides that a file does not exist.
fn unspecific(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound => io::Error::other(error.to_string()),
        _ => error,
    }
}

impl AppendOnlyFiles for RestrictedFs {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendedFile>> {
        let file = self.0.create(path)?;
        let names = path
            .file_name()
            .is_some_and(|name| name.to_str().is_some_and(|name| name.starts_with("MANIFEST")));
        let directory = names.then(|| (Arc::clone(&self.0), directory_of(path).to_owned()));
        Ok(Box::new(Buffered { file, directory, written: 0, buffer: Vec::new() }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadableFile>> {
        let file = self.0.open(path).map_err(unspecific)?;
        let len = file.len()?;
        Ok(Box::new(Fixed { file, len }))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.0.try_exists(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let names = self.0.list(path).map_err(unspecific)?;
        Ok(names.into_iter().chain([".".to_owned(), "..".to_owned()]).collect())
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.absolute(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path).map_err(unspecific)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.0.len(path).map_err(unspecific)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to).map_err(unspecific)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.0.lock(path)
    }
}

/// Bytes wait here until a flush, or until there are this many.
const BUFFER: usize = 64 << 10;

struct Buffered {
    file: Arc<dyn WritableFile>,
    /// The directory that a sync makes durable, with its file system.
    directory: Option<(Arc<dyn FileSystem>, PathBuf)>,
    written: u64,
    buffer: Vec<u8>,
}

impl AppendedFile for Buffered {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < BUFFER { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.buffer);
        self.file.write_at(&bytes, self.written)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if let Some((fs, directory)) = &self.directory {
            fs.sync_dir(directory)?;
        }
        self.flush()?;
        self.file.sync()
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.flush()
    }
}

impl Drop for Buffered {
    fn drop(&mut self) {
        let _unreported = self.flush();
    }
}

impl fmt::Debug for Buffered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffered({:?})", self.file)
    }
}

#[derive(Debug)]
struct Fixed {
    file: Arc<dyn RandomAccessFile>,
    len: u64,
}

impl ReadableFile for Fixed {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = buf.len().min(left);
        self.file.read_exact_at(&mut buf[..count], offset)?;
        Ok(count)
    }
}
