//! Writes frames to a file in large chunks.
//!
//! The builder encodes a frame's payload straight into the chunk ([`FrameWriter::room`],
//! [`FrameWriter::advance`]), and the writer seals it in place ([`FrameWriter::end_frame`]). So
//! uncompressed records are copied once, from the caller into the chunk. The writer syncs the file
//! every [`SYNC_INTERVAL`], because one large sync would delay every log sync that runs at the same
//! time (H23).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::WritableFile;

use crate::encoding::{checksum, checksum_seed, put_varint};
use crate::error::{Error, Result};
use crate::settings::Compression;
use crate::table::frame::{Handle, check_frame, checksum_bytes};
use crate::table::later_syncs::LaterSyncs;
use crate::table::{snappy, zstd};
use foldb_env::PagedBytes;

/// Bytes gathered before one write to the operating system.
const CHUNK: usize = 256 << 10;

/// Space after the requested bytes. Restarts, codec and checksum follow a large record, and must
/// not make it move to a larger buffer.
const SLACK: usize = 16 << 10;

/// Bytes written between two syncs.
const SYNC_INTERVAL: u64 = 1 << 20;

/// Longest payload that is compressed. Beyond it, a codec's own buffers would use noticeable
/// memory.
const MAX_COMPRESSED: usize = 64 << 20;

/// A file that grows frame by frame.
pub(super) struct FrameWriter {
    file: Arc<dyn WritableFile>,
    path: PathBuf,
    file_number: u64,
    /// The chunk: `..used` waits to be written, the rest is free.
    chunk: PagedBytes,
    used: usize,
    /// Bytes passed to the operating system: the file offset of `chunk[0]`.
    written: u64,
    synced: u64,
    compressor: Compressor,
}

impl FrameWriter {
    /// Makes a writer at the start of an empty file.
    pub(super) fn new(file: Arc<dyn WritableFile>, path: PathBuf, file_number: u64) -> FrameWriter {
        FrameWriter {
            file,
            path,
            file_number,
            chunk: PagedBytes::default(),
            used: 0,
            written: 0,
            synced: 0,
            compressor: Compressor::default(),
        }
    }

    /// Returns the file offset of the next byte.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.written + self.used as u64
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.chunk.len() + self.compressor.out.len()
    }

    /// Returns the position of the next byte in the chunk: the `start` of a frame to be ended
    /// later.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.used
    }

    /// Returns at least `len` bytes to write to. [`FrameWriter::advance`] says how many were
    /// written.
    #[inline]
    pub(super) fn room(&mut self, len: usize) -> &mut [u8] {
        if self.chunk.len() - self.used < len {
            self.grow(len);
        }
        &mut self.chunk[self.used..]
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        let needed = (self.used + len + SLACK).max(CHUNK + SLACK);
        // Doubling saves copies while the chunk is small. A large record arrives as a whole.
        let doubled = if needed > 4 * CHUNK { needed } else { self.chunk.len() * 2 };
        self.chunk.resize(needed.max(doubled), self.used);
    }

    /// Keeps the first `len` bytes of what [`FrameWriter::room`] returned.
    #[inline]
    pub(super) fn advance(&mut self, len: usize) {
        self.used += len;
        debug_assert!(self.used <= self.chunk.len());
    }

    /// Appends `bytes`.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.advance(bytes.len());
    }

    /// Makes a frame of everything since `start`, compressed if that saves at least an eighth.
    ///
    /// # Errors
    /// `InvalidArgument` if it is 4 GiB or longer; `Io` or `NoSpace` if a full chunk cannot be
    /// written.
    pub(super) fn end_frame(&mut self, start: usize, compression: Compression) -> Result<Handle> {
        let codec = self.compress(start, compression);
        let offset = self.written + start as u64;
        let seed = checksum_seed(self.file_number, offset);
        self.put(&[codec as u8]);
        let sum = checksum(seed, &self.chunk[start..self.used]);
        self.put(&checksum_bytes(sum));
        debug_assert!(
            check_frame(&self.chunk[start..self.used], self.file_number, offset).is_ok(),
            "a reader accepts the checksum of each frame"
        );
        let len = self.used - start;
        let Ok(len) = u32::try_from(len) else {
            return Err(Error::invalid_argument(format!(
                "a frame of {len} bytes exceeds the table format's 4 GiB: write smaller tables"
            ))
            .at(&self.path, offset));
        };
        if self.used >= CHUNK {
            self.write_chunk()?;
        }
        Ok(Handle { offset, len })
    }

    fn compress(&mut self, start: usize, compression: Compression) -> Compression {
        let raw = &self.chunk[start..self.used];
        let Some(compressed) = self.compressor.compress(raw, compression) else {
            self.compressor.rest();
            return Compression::None;
        };
        self.chunk[start..start + compressed.len()].copy_from_slice(compressed);
        self.used = start + compressed.len();
        self.compressor.rest();
        compression
    }

    fn write_chunk(&mut self) -> Result<()> {
        self.file
            .write_at(&self.chunk[..self.used], self.written)
            .map_err(|e| self.io_error("write table", &e))?;
        self.written += self.used as u64;
        self.used = 0;
        if self.chunk.len() > 4 * CHUNK {
            self.chunk.resize(2 * CHUNK, 0);
        }
        if self.written - self.synced >= SYNC_INTERVAL {
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync().map_err(|e| self.io_error("sync table", &e))?;
        self.synced = self.written;
        Ok(())
    }

    /// Writes the rest and syncs the file. With `later` the sync is left to [`LaterSyncs`]; the
    /// file is durable only after that. Returns the file's length.
    pub(super) fn finish(mut self, later: Option<&LaterSyncs>) -> Result<u64> {
        if self.used > 0 {
            self.write_chunk()?;
        }
        match later {
            Some(later) => later.add(self.file, self.path)?,
            None => {
                self.sync()?;
                self.file.close().map_err(|e| self.io_error("close table", &e))?;
            }
        }
        Ok(self.written)
    }

    fn io_error(&self, doing: &str, source: &io::Error) -> Error {
        Error::io(&self.path, doing, source)
    }
}

/// The codecs' state, reused from frame to frame.
#[derive(Default)]
struct Compressor {
    head: Vec<u8>,
    /// Mapped pages: of a large frame only the written pages use memory.
    out: PagedBytes,
    snappy: snappy::Encoder,
    zstd: zstd::Encoder,
    /// Frames in a row that gained too little, or were not tried.
    incompressible: u32,
}

/// After this many frames in a row that gained too little, few others are tried.
const TRIED_IN_A_ROW: u32 = 8;
/// Of those, one in this many is tried. If it gains, all are tried again.
const TRIED_ONE_IN: u32 = 32;

impl Compressor {
    /// Compresses as [`Compressor::compress_one`] does. Values that are random or compressed
    /// already look alike, so an attempt at each frame would be wasted time.
    fn compress(&mut self, raw: &[u8], codec: Compression) -> Option<&[u8]> {
        if codec == Compression::None {
            return None;
        }
        let frames = self.incompressible;
        self.incompressible = frames.saturating_add(1);
        if frames >= TRIED_IN_A_ROW && !frames.is_multiple_of(TRIED_ONE_IN) {
            return None;
        }
        let len = self.compress_one(raw, codec)?;
        self.incompressible = 0;
        Some(&self.out[..len])
    }

    /// Frees the memory that only a large frame needed.
    fn rest(&mut self) {
        if self.out.len() > 4 * CHUNK {
            self.out = PagedBytes::default();
        }
    }

    /// Compresses `raw` with `codec` into a payload: its length, then its compressed bytes. Returns
    /// the length of the payload, or `None` if that saves less than an eighth.
    fn compress_one(&mut self, raw: &[u8], codec: Compression) -> Option<usize> {
        if raw.len() > MAX_COMPRESSED {
            return None;
        }
        self.head.clear();
        put_varint(&mut self.head, raw.len() as u64);
        let head = self.head.len();
        let most = head + worst_case(raw.len(), codec);
        if self.out.len() < most {
            self.out.resize(most, 0);
        }
        self.out[..head].copy_from_slice(&self.head);
        let out = &mut self.out[head..];
        let len = match codec {
            Compression::Lz4 => lz4_flex::block::compress_into(raw, out).ok()?,
            Compression::Snappy => self.snappy.compress(raw, out)?,
            Compression::Zstd => self.zstd.compress(raw, out)?,
            Compression::None => return None,
        };
        let len = head + len;
        (len <= raw.len() - raw.len() / 8).then_some(len)
    }
}

fn worst_case(len: usize, codec: Compression) -> usize {
    match codec {
        Compression::Lz4 => lz4_flex::block::get_maximum_output_size(len),
        Compression::Snappy => snappy::worst_case(len),
        Compression::Zstd => zstd::worst_case(len),
        Compression::None => len,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(rng: &mut fastrand::Rng) -> Vec<u8> {
        std::iter::repeat_with(|| rng.u8(..)).take(4096).collect()
    }

    /// A frame that would gain shows whether the compressor tries at its place.
    #[test]
    fn behind_frames_that_gain_nothing_one_in_32_is_tried() {
        let mut rng = fastrand::Rng::with_seed(1);
        let tried = (0..256).filter(|&before| {
            let mut own = Compressor::default();
            for _ in 0..before {
                assert!(own.compress(&noise(&mut rng), Compression::Lz4).is_none());
            }
            own.compress(&[7; 4096], Compression::Lz4).is_some()
        });
        let expected = (0..8).chain((1..8).map(|n| 32 * n));
        assert_eq!(tried.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn one_frame_that_gains_has_all_tried_again() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut own = Compressor::default();
        for _ in 0..1000 {
            assert!(own.compress(&noise(&mut rng), Compression::Lz4).is_none());
            assert!(own.compress(&[7; 4096], Compression::None).is_none(), "not one of the frames");
        }
        let gained = (0..100).filter(|_| own.compress(&[7; 4096], Compression::Lz4).is_some());
        assert!(gained.count() >= 100 - 31);
    }
}
