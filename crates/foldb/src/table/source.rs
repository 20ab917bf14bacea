//! Where frames come from: the file, a window read ahead of a walk, or the cache.

use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::RandomAccessFile;

use super::frame::{Handle, check_frame, decompress};
use crate::error::{Error, Result};
use crate::options::Compression;

/// Bytes read at once by a walk that reads ahead and has all the memory it wants.
pub const READAHEAD: usize = 256 << 10;

/// The file of a table.
#[derive(Debug)]
pub struct TableFile {
    /// The open file.
    pub file: Arc<dyn RandomAccessFile>,
    /// Its name, for error messages.
    pub path: PathBuf,
    /// Its number, the seed of its checksums.
    pub number: u64,
}

/// What a frame is read and decompressed into.
#[derive(Debug, Default)]
pub struct FrameBuffers {
    frame: Vec<u8>,
    payload: Vec<u8>,
}

impl FrameBuffers {
    /// Bytes they take in memory.
    pub fn memory_bytes(&self) -> usize {
        self.frame.capacity() + self.payload.capacity()
    }
}

impl TableFile {
    /// Fills `buf` from `offset`.
    pub fn read(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_exact_at(buf, offset).map_err(|e| {
            if e.kind() == std::io::ErrorKind::UnexpectedEof {
                return self.locate(
                    Error::corruption(format!(
                        "table ends early: expected {} more bytes, found fewer",
                        buf.len()
                    )),
                    offset,
                );
            }
            Error::io(&self.path, "read table", &e).at_offset(offset)
        })
    }

    /// Reads, checks and decompresses a frame, and returns its payload.
    pub fn read_frame<'a>(
        &self,
        handle: Handle,
        buffers: &'a mut FrameBuffers,
    ) -> Result<&'a [u8]> {
        buffers.frame.resize(handle.len as usize, 0);
        self.read(&mut buffers.frame, handle.offset)?;
        self.open_frame(&buffers.frame, handle, &mut buffers.payload)
    }

    /// The payload of a frame that was read already: a part of it, or decompressed to `out`.
    fn open_frame<'a>(
        &self,
        frame: &'a [u8],
        handle: Handle,
        out: &'a mut Vec<u8>,
    ) -> Result<&'a [u8]> {
        let locate = |error| self.locate(error, handle.offset);
        let (payload, codec) = check_frame(frame, self.number, handle.offset).map_err(locate)?;
        if codec == Compression::None {
            return Ok(payload);
        }
        decompress(payload, codec, out).map_err(locate)?;
        Ok(out)
    }

    /// Adds to an error which file it is about, and where in it.
    #[cold]
    pub fn locate(&self, error: Error, offset: u64) -> Error {
        error.at(&self.path, offset)
    }
}

/// A stretch of the file around where a walk is, read at once.
#[derive(Debug)]
pub struct ReadWindow {
    bytes: Vec<u8>,
    offset: u64,
    /// Bytes to read at once.
    len: u64,
}

impl ReadWindow {
    /// An empty window of so many bytes.
    pub fn new(len: usize) -> ReadWindow {
        ReadWindow { bytes: Vec::new(), offset: 0, len: len as u64 }
    }

    /// Reads a frame out of the window, which is first moved to begin at it if it must be.
    /// `limit` is where the file's frames end, the frame's end included.
    pub fn read_frame<'a>(
        &'a mut self,
        file: &TableFile,
        handle: Handle,
        limit: u64,
        buffers: &'a mut FrameBuffers,
    ) -> Result<&'a [u8]> {
        if self.find(handle).is_none() {
            self.move_to(file, handle, limit)?;
        }
        match self.find(handle) {
            Some(frame) => file.open_frame(frame, handle, &mut buffers.payload),
            None => file.read_frame(handle, buffers),
        }
    }

    /// Reads a frame, out of the window if it is in it; the window stays where it is.
    pub fn peek_frame<'a>(
        &'a self,
        file: &TableFile,
        handle: Handle,
        buffers: &'a mut FrameBuffers,
    ) -> Result<&'a [u8]> {
        match self.find(handle) {
            Some(frame) => file.open_frame(frame, handle, &mut buffers.payload),
            None => file.read_frame(handle, buffers),
        }
    }

    fn find(&self, handle: Handle) -> Option<&[u8]> {
        let start = usize::try_from(handle.offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..start.checked_add(handle.len as usize)?)
    }

    fn move_to(&mut self, file: &TableFile, handle: Handle, limit: u64) -> Result<()> {
        let len = self.len.max(u64::from(handle.len)).min(limit.saturating_sub(handle.offset));
        self.bytes.resize(len as usize, 0);
        self.offset = handle.offset;
        let read = file.read(&mut self.bytes, handle.offset);
        if read.is_err() {
            self.bytes.clear();
        }
        file.file.will_need(handle.offset + len, self.len);
        read
    }
}
