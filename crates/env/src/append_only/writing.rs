//! Files being written. A file that may end in bytes of a failed append takes no more bytes until
//! it is truncated.
//!
//! ```text
//! 7.log: 1 2 3?     truncate after 2     MANIFEST.tmp: 1 2     rename     7.log: 1 2
//! ```
//!
//! The copy is synced before the rename, so a file with this name has the bytes of 1 and 2 at every
//! moment. Until the copy is complete, syncs go to the torn file: 1 and 2 become durable even if
//! the disk has no space for a copy.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::adapter::Inner;
use super::{AppendedFile, SCRATCH_NAME};
use crate::fs::WritableFile;
use crate::paths::directory_of;

/// Bytes copied at once.
const COPY_STEP: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Writer {
    fs: Arc<Inner>,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None` after the close or the removal, and after a rename in a truncation that failed.
    file: Option<Box<dyn AppendedFile>>,
    /// Whether the file was removed. No name leads to its bytes any more, so a sync does nothing.
    is_removed: bool,
    /// Bytes that were appended successfully.
    len: u64,
    /// Whether the file may have more bytes than `len`.
    is_torn: bool,
}

impl Writer {
    pub(super) fn new(fs: Arc<Inner>, path: &Path, file: Box<dyn AppendedFile>) -> Writer {
        let state = State { file: Some(file), is_removed: false, len: 0, is_torn: false };
        Writer { fs, path: path.to_owned(), state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the file for its removal. A sync that another thread began before the removal then
    /// succeeds: the log of a flushed memtable may be removed while a slow thread still syncs it.
    pub(super) fn close_for_removal(&self) {
        let mut state = self.lock();
        state.is_removed = true;
        if let Some(file) = state.file.take() {
            // Bytes that a failed close loses would go with the file.
            let _of_no_use = file.close();
        }
    }

    /// Writes the first `len` bytes to a new file, and gives it the name of this one.
    fn write_anew(&self, state: &mut State, len: u64) -> io::Result<()> {
        let directory = directory_of(&self.path);
        let scratch = directory.join(SCRATCH_NAME);
        let files = &*self.fs.files;
        state.is_torn = true;
        let _scratch = self.fs.lock_scratch();
        let copied = self.copy_head(&scratch, len);
        let copied = copied.and_then(|file| {
            // The old handle may still write what it has in its buffer, to the file of this name.
            state.file = None;
            files.rename(&scratch, &self.path)?;
            let reopened = files.append(&self.path)?;
            self.fs.sync_names(directory)?;
            Ok(reopened.unwrap_or(file))
        });
        match copied {
            Ok(file) => {
                *state = State { file: Some(file), is_removed: false, len, is_torn: false };
                Ok(())
            }
            Err(error) => {
                let _best_effort = files.remove(&scratch);
                Err(error)
            }
        }
    }

    fn copy_head(&self, scratch: &Path, len: u64) -> io::Result<Box<dyn AppendedFile>> {
        let mut copy = self.fs.files.create(scratch)?;
        if len > 0 {
            let original = self.fs.files.open(&self.path)?;
            let mut buffer = vec![0; COPY_STEP.min(usize::try_from(len).unwrap_or(COPY_STEP))];
            let mut offset = 0;
            while offset < len {
                let most = usize::try_from(len - offset).unwrap_or(COPY_STEP).min(COPY_STEP);
                let read = original.read_at(&mut buffer[..most], offset)?;
                let read = buffer.get(..read).filter(|read| !read.is_empty());
                let read = read.ok_or(io::ErrorKind::UnexpectedEof)?;
                copy.append(read)?;
                offset += read.len() as u64;
            }
        }
        copy.sync()?;
        Ok(copy)
    }
}

impl WritableFile for Writer {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.lock();
        if state.is_torn || offset != state.len {
            let (len, path) = (state.len, self.path.display());
            let message = format!("{path} grows only at its end: a write at {offset} of {len}");
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        let Some(file) = &mut state.file else { return Err(io::ErrorKind::NotFound.into()) };
        let appended = file.append(bytes).and_then(|()| file.flush());
        match appended {
            Ok(()) => state.len += bytes.len() as u64,
            Err(_) => state.is_torn = true,
        }
        appended
    }

    fn preallocate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut state = self.lock();
        if len > state.len {
            let message = format!("{} cannot be extended", self.path.display());
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        if len == state.len && !state.is_torn {
            return Ok(());
        }
        if state.is_removed {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.write_anew(&mut state, len)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.lock();
        let State { len, is_removed, is_torn, .. } = *state;
        match &mut state.file {
            Some(file) => file.sync(),
            None if is_removed => Ok(()),
            // The truncation failed after it had closed the file.
            None if is_torn => self.write_anew(&mut state, len),
            None => Err(io::Error::other("the file is closed")),
        }
    }

    fn close(&self) -> io::Result<()> {
        let file = self.lock().file.take();
        file.map_or(Ok(()), AppendedFile::close)
    }

    fn appends_only(&self) -> bool {
        true
    }
}
