//! A file that is read from its first byte to its last, in parts of 256 KiB.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Outcome};
use crate::location::shown;

/// How much a read takes from the file at once.
const WINDOW: usize = 256 << 10;

/// A file being read.
#[derive(Debug)]
pub(crate) struct Window {
    path: PathBuf,
    file: File,
    /// Bytes that are read at most.
    size: u64,
    /// Bytes of the file from `at` on.
    bytes: Vec<u8>,
    at: u64,
}

impl Window {
    /// Opens a file, and returns it with its length.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub(crate) fn open(path: &Path) -> io::Result<(Window, u64)> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        Ok((Window { path: path.to_owned(), file, size, bytes: Vec::new(), at: 0 }, size))
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns how many bytes are read at most.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Reads no more than this many bytes of the file from now on.
    pub(crate) fn cut(&mut self, size: u64) {
        self.size = size.min(self.size);
    }

    /// Returns bytes, which the file has.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    pub(crate) fn bytes(&mut self, at: u64, len: usize) -> Outcome<Vec<u8>> {
        let begin = at.checked_sub(self.at).and_then(|begin| usize::try_from(begin).ok());
        let inside = begin.and_then(|begin| self.bytes.get(begin..begin.checked_add(len)?));
        if let Some(inside) = inside {
            return Ok(inside.to_vec());
        }
        let left = self.size.saturating_sub(at);
        self.bytes.resize(left.min(len.max(WINDOW) as u64) as usize, 0);
        self.at = at;
        if let Err(error) = self.fill(at) {
            self.bytes.clear();
            let name = shown(&self.path);
            return Err(Exit::failed(format!("cannot read {name}: {error}")));
        }
        match self.bytes.get(..len) {
            Some(bytes) => Ok(bytes.to_vec()),
            None => Err(Exit::failed(format!("{} is cut", shown(&self.path)))),
        }
    }

    fn fill(&mut self, at: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut self.bytes)
    }
}
