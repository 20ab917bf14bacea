//! Writes frames to a file in large chunks.
//!
//! The builder encodes a frame's payload straight into the chunk ([`FrameWriter::chunk`]), and the
//! writer seals it in place ([`FrameWriter::end_frame`]). So uncompressed records are copied once,
//! from the caller into the chunk. A payload that was encoded elsewhere is compressed into the
//! chunk, or copied ([`FrameWriter::add_frame`]). The writer syncs the file every
//! [`SYNC_INTERVAL`], because one large sync would delay every log sync that runs at the same time
//! (H23).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::WritableFile;

use crate::encoding::{checksum, checksum_seed, put_varint};
use crate::error::{Error, Result};
use crate::settings::Compression;
use crate::table::chunk::Chunk;
use crate::table::frame::{Handle, check_frame, checksum_bytes};
use crate::table::later_syncs::LaterSyncs;
use crate::table::{snappy, zstd};
use foldb_env::PagedBytes;

/// Bytes gathered before one write to the operating system.
const CHUNK: usize = 256 << 10;

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
    /// What waits to be written.
    chunk: Chunk,
    /// Bytes passed to the operating system: the file offset of the chunk's first byte.
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
            chunk: Chunk::for_bytes(CHUNK),
            written: 0,
            synced: 0,
            compressor: Compressor::default(),
        }
    }

    /// Returns the file offset of the next byte.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.written + self.chunk.position() as u64
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.chunk.memory_bytes() + self.compressor.out.len()
    }

    /// Returns whether the last frames that were to be compressed gained enough.
    pub(super) fn gains(&self) -> bool {
        self.compressor.incompressible < TRIED_IN_A_ROW
    }

    /// Returns the chunk, to append to it.
    #[inline]
    pub(super) fn chunk(&mut self) -> &mut Chunk {
        &mut self.chunk
    }

    /// Makes a frame of everything since `start`, a position in the chunk. It is compressed if that
    /// saves at least an eighth.
    ///
    /// # Errors
    /// `InvalidArgument` if it is 4 GiB or longer; `Io` or `NoSpace` if a full chunk cannot be
    /// written.
    pub(super) fn end_frame(&mut self, start: usize, compression: Compression) -> Result<Handle> {
        let raw = &self.chunk.filled()[start..];
        let codec = match self.compressor.compress(raw, compression) {
            None => Compression::None,
            Some(compressed) => {
                self.chunk.replace_from(start, compressed);
                compression
            }
        };
        self.seal(start, codec)
    }

    /// Appends a frame with this payload, as [`FrameWriter::end_frame`] makes it.
    ///
    /// # Errors
    /// As [`FrameWriter::end_frame`].
    pub(super) fn add_frame(&mut self, raw: &[u8], compression: Compression) -> Result<Handle> {
        let start = self.chunk.position();
        let codec = match self.compressor.compress(raw, compression) {
            None => {
                self.chunk.put(raw);
                Compression::None
            }
            Some(compressed) => {
                self.chunk.put(compressed);
                compression
            }
        };
        self.seal(start, codec)
    }

    /// Appends the trailer of a frame, whose payload begins at `start`.
    fn seal(&mut self, start: usize, codec: Compression) -> Result<Handle> {
        self.compressor.rest();
        let offset = self.written + start as u64;
        let seed = checksum_seed(self.file_number, offset);
        self.chunk.put(&[codec as u8]);
        let sum = checksum(seed, &self.chunk.filled()[start..]);
        self.chunk.put(&checksum_bytes(sum));
        let frame = &self.chunk.filled()[start..];
        debug_assert!(
            check_frame(frame, self.file_number, offset).is_ok(),
            "a reader accepts the checksum of each frame"
        );
        let len = frame.len();
        let Ok(len) = u32::try_from(len) else {
            return Err(Error::invalid_argument(format!(
                "a frame of {len} bytes exceeds the table format's 4 GiB: write smaller tables"
            ))
            .at(&self.path, offset));
        };
        if self.chunk.is_full() {
            self.write_chunk()?;
        }
        Ok(Handle { offset, len })
    }

    fn write_chunk(&mut self) -> Result<()> {
        self.file
            .write_at(self.chunk.filled(), self.written)
            .map_err(|e| self.io_error("write table", &e))?;
        self.written += self.chunk.position() as u64;
        self.chunk.clear();
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
        if self.chunk.position() > 0 {
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
