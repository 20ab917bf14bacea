//! Reading a log back: whole records until the first frame that is not what was written.
//!
//! Where the frames end, the question is whether that is a torn tail (bytes that were never synced
//! and need not be there) or damage (bytes that were):
//!
//! ```text
//! frames 1 2 3 x . . .            torn: nothing later calls frame 4 synced
//! frames 1 2 3 x 5(synced 4) …    damage: frame 4 was on the medium when 5 was written
//! ```

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb_env::{FileSystem, RandomAccessFile};

use crate::error::{Error, Result};
use crate::wal::format::{FrameHeader, HEADER_LEN, KIND_AT, MAX_PAYLOAD, Part};

const WINDOW: usize = 256 << 10;

/// A log being read from its start.
#[derive(Debug)]
pub(crate) struct LogReader {
    file: Arc<dyn RandomAccessFile>,
    path: PathBuf,
    number: u64,
    len: u64,
    offset: u64,
    frames: u64,
    max_synced: u64,
    window: Vec<u8>,
    window_offset: u64,
}

/// How a log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    /// Where the last whole frame ends.
    pub(crate) offset: u64,
    /// Its number.
    pub(crate) frames: u64,
    /// The largest "synced through" of any frame: some of this log is known to have been synced.
    pub(crate) max_synced: u64,
}

impl LogReader {
    pub(crate) fn open(fs: &dyn FileSystem, path: &Path, number: u64) -> Result<LogReader> {
        let failed = |error| Error::io(path, "open the log", &error);
        let file = fs.open(path).map_err(failed)?;
        let len = file.len().map_err(failed)?;
        Ok(LogReader {
            file,
            path: path.to_owned(),
            number,
            len,
            offset: 0,
            frames: 0,
            max_synced: 0,
            window: Vec::new(),
            window_offset: 0,
        })
    }

    /// Number of the log.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Where the next frame starts.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the next record into `record`. `false` at the end, which [`LogReader::end`] then
    /// judges.
    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        record.clear();
        let (start, start_frames) = (self.offset, self.frames);
        loop {
            let Some((header, length)) = self.frame_at(self.offset)? else {
                // A record whose last part is missing was never finished.
                (self.offset, self.frames) = (start, start_frames);
                return Ok(false);
            };
            let begins = matches!(header.part, Part::Whole | Part::First);
            if header.frame != self.frames + 1 || begins != record.is_empty() {
                return Err(Error::corruption(format!(
                    "expected frame {}, found frame {} ({:?})",
                    self.frames + 1,
                    header.frame,
                    header.part
                ))
                .at(&self.path, self.offset));
            }
            let payload = self.bytes(self.offset + HEADER_LEN as u64, length)?;
            record.extend_from_slice(payload);
            self.frames += 1;
            self.max_synced = self.max_synced.max(header.synced_through);
            self.offset += (HEADER_LEN + length) as u64;
            if matches!(header.part, Part::Whole | Part::Last) {
                return Ok(true);
            }
        }
    }

    /// Hands over the frames up to number `last`, which were all appended, many at a time with the
    /// offset of the first, while somebody may go on appending. Answers where the last one ends.
    ///
    /// # Errors
    /// `Corruption` for one that is damaged; `Io`; those of `take`.
    pub(crate) fn copy_through(
        &mut self,
        last: u64,
        mut take: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<u64> {
        let mut gathered = Vec::new();
        while self.frames < last {
            let intact = self.frame_at(self.offset)?;
            let Some((_, length)) = intact.filter(|(header, _)| header.frame == self.frames + 1)
            else {
                let missing = format!("frame {} is damaged", self.frames + 1);
                return Err(Error::corruption(missing).at(&self.path, self.offset));
            };
            let len = HEADER_LEN + length;
            gathered.extend_from_slice(self.bytes(self.offset, len)?);
            self.offset += len as u64;
            self.frames += 1;
            if gathered.len() >= WINDOW || self.frames == last {
                take(&gathered, self.offset - gathered.len() as u64)?;
                gathered.clear();
            }
        }
        Ok(self.offset)
    }

    /// Judges the end that [`LogReader::next`] came to.
    ///
    /// # Errors
    /// `Corruption` when frames behind it call what is missing synced.
    pub(crate) fn end(&mut self) -> Result<LogEnd> {
        let later = self.later_frame()?;
        if let Some((offset, header)) = later
            && header.synced_through > self.frames
        {
            return Err(Error::corruption(format!(
                "frame {} is damaged, but frame {} at offset {offset} says it was synced",
                self.frames + 1,
                header.frame
            ))
            .at(&self.path, self.offset));
        }
        Ok(LogEnd { offset: self.offset, frames: self.frames, max_synced: self.max_synced })
    }

    /// The intact frame behind the end with the largest "synced through", if there is one.
    fn later_frame(&mut self) -> Result<Option<(u64, FrameHeader)>> {
        let mut best: Option<(u64, FrameHeader)> = None;
        let mut offset = self.offset + 1;
        while offset + HEADER_LEN as u64 <= self.len {
            let step = match self.frame_at(offset)? {
                Some((header, length)) if header.frame > self.frames => {
                    if best.is_none_or(|(_, best)| header.synced_through > best.synced_through) {
                        best = Some((offset, header));
                    }
                    (HEADER_LEN + length) as u64
                }
                _ => self.zeroes_from(offset)?.max(1),
            };
            offset += step;
        }
        Ok(best)
    }

    /// How far one may skip because a frame's kind is not zero: a header can begin at most where a run
    /// of zeroes that starts at `offset` leaves off, less the bytes before its kind.
    fn zeroes_from(&mut self, offset: u64) -> Result<u64> {
        let length = (self.len - offset).min(WINDOW as u64 / 2) as usize;
        let bytes = self.bytes(offset, length)?;
        let zeroes = bytes.iter().position(|&byte| byte != 0).unwrap_or(length);
        Ok(zeroes.saturating_sub(KIND_AT) as u64)
    }

    /// The intact frame of this log at `offset`, if there is one.
    fn frame_at(&mut self, offset: u64) -> Result<Option<(FrameHeader, usize)>> {
        if offset + HEADER_LEN as u64 > self.len {
            return Ok(None);
        }
        let number = self.number;
        let Some(header) = self.bytes(offset, HEADER_LEN)?.first_chunk() else { return Ok(None) };
        let Some((header, length)) = FrameHeader::parse(header) else { return Ok(None) };
        if header.log != number || offset + (HEADER_LEN + length) as u64 > self.len {
            return Ok(None);
        }
        let frame = self.bytes(offset, HEADER_LEN + length)?;
        Ok(header.verify(frame, offset).then_some((header, length)))
    }

    /// Reads ahead from `offset`. The space reserved behind the last frame may have been given back since the
    /// log was opened: it reads as the zeroes that it was.
    fn fill(&mut self, offset: u64, length: usize) -> io::Result<()> {
        self.window_offset = offset;
        let mut read = length;
        loop {
            self.window.clear();
            self.window.resize(length, 0);
            let Err(error) = self.file.read_exact_at(&mut self.window[..read], offset) else {
                return Ok(());
            };
            self.window.clear();
            let left = self.file.len()?.saturating_sub(offset);
            if error.kind() != io::ErrorKind::UnexpectedEof || left >= read as u64 {
                return Err(error);
            }
            read = left as usize;
        }
    }

    /// Bytes of the file, through the window. They must exist.
    fn bytes(&mut self, offset: u64, length: usize) -> Result<&[u8]> {
        debug_assert!(length <= HEADER_LEN + MAX_PAYLOAD);
        let inside = offset >= self.window_offset
            && offset + length as u64 <= self.window_offset + self.window.len() as u64;
        if !inside {
            let wanted = (length.max(WINDOW) as u64).min(self.len - offset) as usize;
            self.fill(offset, wanted)
                .map_err(|error| Error::io(&self.path, "read the log", &error))?;
        }
        let start = (offset - self.window_offset) as usize;
        Ok(&self.window[start..start + length])
    }
}
