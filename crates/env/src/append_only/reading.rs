//! Reads of files that may still grow. A handle of the system below may see only the bytes that the
//! file had when it was opened, for example through a mapping. So a read beyond them opens the file
//! again, under the name that it has then.
//!
//! A truncation puts another file under the name. The two have the same bytes up to the cut. A
//! reader of the old file goes on with the new one when it asks for the length.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::ReadableFile;
use super::adapter::Inner;
use crate::fs::RandomAccessFile;

#[derive(Debug)]
pub(super) struct Reader {
    fs: Arc<Inner>,
    /// The present name of the file. A rename holds the lock.
    path: RwLock<PathBuf>,
    opened: RwLock<Opened>,
}

/// An open file, and the length that it had before it was opened.
#[derive(Clone, Debug)]
struct Opened {
    file: Arc<dyn ReadableFile>,
    len: u64,
}

impl Opened {
    fn open(fs: &Inner, path: &Path) -> io::Result<Opened> {
        let failed = |error| fs.explain(path, error);
        let len = fs.files.len(path).map_err(failed)?;
        let file = fs.files.open(path).map_err(failed)?;
        Ok(Opened { file: Arc::from(file), len })
    }
}

impl Reader {
    pub(super) fn open(fs: Arc<Inner>, path: &Path) -> io::Result<Reader> {
        let opened = RwLock::new(Opened::open(&fs, path)?);
        Ok(Reader { fs, path: RwLock::new(path.to_owned()), opened })
    }

    fn path(&self) -> RwLockReadGuard<'_, PathBuf> {
        self.path.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the lock of the file's name if the name is `path`. The caller renames the file and
    /// stores the new name.
    pub(super) fn named(&self, path: &Path) -> Option<RwLockWriteGuard<'_, PathBuf>> {
        let name = self.path.write().unwrap_or_else(PoisonError::into_inner);
        (*name == path).then_some(name)
    }

    fn opened(&self) -> Opened {
        self.opened.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the file with at least `end` bytes.
    fn with(&self, end: u64) -> io::Result<Opened> {
        let opened = self.opened();
        if opened.len >= end {
            return Ok(opened);
        }
        let again = Opened::open(&self.fs, &self.path())?;
        if again.len < end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = again.clone();
        Ok(again)
    }
}

impl RandomAccessFile for Reader {
    fn read_exact_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let end = offset.checked_add(buf.len() as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
        let opened = self.with(end)?;
        while !buf.is_empty() {
            match opened.file.read_at(buf, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    buf = buf.get_mut(read..).ok_or_else(too_many)?;
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        match Opened::open(&self.fs, &self.path()) {
            Ok(again) => {
                let len = again.len;
                *self.opened.write().unwrap_or_else(PoisonError::into_inner) = again;
                Ok(len)
            }
            // A file that was removed still has the bytes that it had.
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(self.opened().len),
            Err(error) => Err(error),
        }
    }
}

fn too_many() -> io::Error {
    io::Error::other("the file system read more bytes than were asked for")
}
