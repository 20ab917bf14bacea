//! Frames of a table's file: read, checked and decompressed.

use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::RandomAccessFile;

use crate::error::{Error, Result};
use crate::settings::Compression;
use crate::table::frame::{Handle, check_frame, decompress, uncompressed_len};

/// The payload of a sub-block of at least this size gets memory of its own, and keeps it. So it is
/// not copied again, and no reused buffer grows to its size.
pub(crate) const LARGE_BLOCK: usize = 1 << 20;

/// The payload of a sub-block.
#[derive(Debug)]
pub(super) enum Payload<'a> {
    /// In a reused buffer.
    Lent(&'a [u8]),
    /// The first `len` of these bytes.
    Own { bytes: Arc<[u8]>, len: usize },
}

/// Makes a buffer of `len` zeroes with a single owner.
fn zeroed(len: usize) -> Arc<[u8]> {
    std::iter::repeat_n(0, len).collect()
}

/// Returns the bytes of a new buffer, to be filled.
fn unshared(bytes: &mut Arc<[u8]>) -> &mut [u8] {
    Arc::get_mut(bytes).expect("a new Arc is not shared")
}

/// The file of a table.
#[derive(Debug)]
pub(super) struct TableFile {
    /// The open file.
    pub file: Arc<dyn RandomAccessFile>,
    /// Its path, for error messages.
    pub path: PathBuf,
    /// Its number, the seed of its checksums.
    pub number: u64,
    /// The end of the file, while a reader opens it.
    pub(super) tail: Option<Tail>,
}

/// The end of a table's file, read with one call. Footer, properties, index and filter lie there,
/// so a table whose file is not in the page cache opens with one wait for the device.
///
/// Invariant: it only saves calls. What it does not hold is read from the file, and a tail that
/// cannot be read is none: the read of the damaged part tells of the damage.
#[derive(Debug)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    offset: u64,
}

/// The share of a file that is read as its tail, and its least and most bytes. The index and the
/// filter of a table with values of 4 KiB are a 500th of it.
const TAIL_SHARE: u64 = 256;
const LEAST_TAIL: u64 = 4 << 10;
const MOST_TAIL: u64 = 64 << 10;

impl Tail {
    /// Reads the tail of a file of this length; `None` if it cannot be read.
    pub(super) fn read(file: &dyn RandomAccessFile, file_len: u64) -> Option<Tail> {
        let len = (file_len / TAIL_SHARE).clamp(LEAST_TAIL, MOST_TAIL).min(file_len);
        let offset = file_len - len;
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, offset).ok()?;
        Some(Tail { bytes, offset })
    }

    /// Returns `len` bytes from an offset of the file on, if the tail has all of them.
    fn get(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..start.checked_add(len)?)
    }
}

/// The buffers into which a frame is read and decompressed.
#[derive(Debug, Default)]
pub(super) struct FrameBuffers {
    frame: Vec<u8>,
    pub(super) payload: Vec<u8>,
}

impl FrameBuffers {
    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.frame.capacity() + self.payload.capacity()
    }
}

impl TableFile {
    /// Fills `buf` from `offset`.
    pub(super) fn read(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        if let Some(bytes) = self.tail.as_ref().and_then(|tail| tail.get(offset, buf.len())) {
            buf.copy_from_slice(bytes);
            return Ok(());
        }
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
    pub(super) fn read_frame<'a>(
        &self,
        handle: Handle,
        buffers: &'a mut FrameBuffers,
    ) -> Result<&'a [u8]> {
        buffers.frame.resize(handle.len as usize, 0);
        self.read(&mut buffers.frame, handle.offset)?;
        self.open_frame(&buffers.frame, handle, &mut buffers.payload)
    }

    /// Returns the payload of a frame that was already read: a part of it, or decompressed to
    /// `out`.
    pub(super) fn open_frame<'a>(
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
        let (len, compressed) = uncompressed_len(payload, codec).map_err(locate)?;
        out.resize(len, 0);
        decompress(compressed, codec, out).map_err(locate)?;
        Ok(out)
    }

    /// Reads, checks and decompresses the frame of a sub-block.
    pub(super) fn read_block<'a>(
        &self,
        handle: Handle,
        buffers: &'a mut FrameBuffers,
    ) -> Result<Payload<'a>> {
        if handle.len as usize >= LARGE_BLOCK {
            return self.read_large_block(handle);
        }
        buffers.frame.resize(handle.len as usize, 0);
        self.read(&mut buffers.frame, handle.offset)?;
        self.open_block(&buffers.frame, handle, &mut buffers.payload)
    }

    #[cold]
    fn read_large_block<'a>(&self, handle: Handle) -> Result<Payload<'a>> {
        let mut frame = zeroed(handle.len as usize);
        self.read(unshared(&mut frame), handle.offset)?;
        let locate = |error| self.locate(error, handle.offset);
        let (payload, codec) = check_frame(&frame, self.number, handle.offset).map_err(locate)?;
        if codec == Compression::None {
            let len = payload.len();
            return Ok(Payload::Own { bytes: frame, len });
        }
        let (len, compressed) = uncompressed_len(payload, codec).map_err(locate)?;
        decompress_to_own(compressed, codec, len).map_err(locate)
    }

    /// Returns the payload of a sub-block whose frame was already read.
    pub(super) fn open_block<'a>(
        &self,
        frame: &'a [u8],
        handle: Handle,
        out: &'a mut Vec<u8>,
    ) -> Result<Payload<'a>> {
        let locate = |error| self.locate(error, handle.offset);
        let (payload, codec) = check_frame(frame, self.number, handle.offset).map_err(locate)?;
        if codec == Compression::None {
            return Ok(Payload::Lent(payload));
        }
        let (len, compressed) = uncompressed_len(payload, codec).map_err(locate)?;
        if len >= LARGE_BLOCK {
            return decompress_to_own(compressed, codec, len).map_err(locate);
        }
        out.resize(len, 0);
        decompress(compressed, codec, out).map_err(locate)?;
        Ok(Payload::Lent(out))
    }

    /// Adds to an error which file it is about, and the offset.
    #[cold]
    pub(super) fn locate(&self, error: Error, offset: u64) -> Error {
        error.at(&self.path, offset)
    }
}

#[cold]
fn decompress_to_own<'a>(compressed: &[u8], codec: Compression, len: usize) -> Result<Payload<'a>> {
    let mut bytes = zeroed(len);
    decompress(compressed, codec, unshared(&mut bytes))?;
    Ok(Payload::Own { bytes, len })
}
