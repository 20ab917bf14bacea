//! Reads the records of a log, up to the first frame that is not as it was written.
//!
//! At the end of the frames, the reader distinguishes a torn tail from damage. A torn tail consists
//! of bytes that were never synced and may be missing. Damaged bytes were synced:
//!
//! ```text
//! frames 1 2 3 x . . .            torn: nothing later calls frame 4 synced
//! frames 1 2 3 x 5(synced 4) …    damage: frame 4 was on the medium when 5 was written
//! ```
//!
//! A cleanly closed log has no torn tail: the record of the close says what the file holds.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb_env::{FileSystem, RandomAccessFile};

use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::wal::format::{
    Extent, FrameHeader, HEADER_LEN, KIND_AT, MAX_PAYLOAD, Part, digest_with,
};

const WINDOW: usize = 256 << 10;

/// Bytes that hold the first records of most logs.
const HEAD: usize = 4 << 10;

/// Reads a log from its start.
#[derive(Debug)]
pub(crate) struct LogReader {
    file: Arc<dyn RandomAccessFile>,
    path: PathBuf,
    number: u64,
    len: u64,
    offset: u64,
    frames: u64,
    digest: u64,
    max_synced: u64,
    /// Bytes hashed in the search for frames after the end.
    hashed: u64,
    window: Vec<u8>,
    window_offset: u64,
    /// The last frame that had been appended before the window was read, as far as the caller said.
    appended: u64,
    /// Bytes read at once.
    read_ahead: usize,
    /// Where the next frame of a record begins that [`LogReader::begin`] read in part.
    rest: Option<u64>,
    /// The last record that [`LogReader::run_to_end`] passed.
    last: Option<PassedRecord>,
}

/// A record that a reader has passed.
#[derive(Clone, Copy, Debug)]
struct PassedRecord {
    /// Where it begins, with the frames before it and their digest.
    offset: u64,
    frames: u64,
    digest: u64,
    /// The first bytes of its header.
    sum: [u8; 4],
}

/// The end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    /// Where the last whole frame ends.
    pub(crate) offset: u64,
    /// The number of the last whole frame.
    pub(crate) frames: u64,
    /// The digest of all frames up to `offset`.
    pub(crate) digest: u64,
    /// The largest "synced through" of any frame: the frames up to this number are known to be
    /// synced.
    pub(crate) max_synced: u64,
    /// The bytes after the end.
    pub(crate) tail: Tail,
}

/// Bytes after the end of a log, which an open does not replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tail {
    /// Bytes up to the last one that is not zero.
    pub(crate) bytes: u64,
    /// Whole frames of this log.
    pub(crate) frames: u64,
}

/// Bytes of a log without an intact record, before an intact record or an intact frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogGap {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Frames that are damaged, or belong to a record with a damaged frame.
    pub(crate) frames: u64,
}

/// Bytes that the search for frames after the end may hash, in addition to [`SEARCH_PER_BYTE`] for
/// each byte searched. Real frames follow one another directly, so the search hashes each of their
/// bytes once. It needs more only if values look like headers of long frames.
pub(super) const SEARCH_AT_LEAST: u64 = 64 << 20;
pub(super) const SEARCH_PER_BYTE: u64 = 4;

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
            digest: 0,
            max_synced: 0,
            hashed: 0,
            window: Vec::new(),
            window_offset: 0,
            appended: 0,
            read_ahead: WINDOW,
            rest: None,
            last: None,
        })
    }

    /// Returns the number of the log.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the path of the log.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes that the search after the end hashed.
    #[cfg(test)]
    pub(crate) fn hashed(&self) -> u64 {
        self.hashed
    }

    /// Returns where the next frame starts.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the next record into `record`. Returns `false` at the end. [`LogReader::end`] then
    /// tells whether the log ends in damage.
    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        record.clear();
        self.pass(|_, payload| record.extend_from_slice(payload))
    }

    /// Reads the first frame of the next record into `record`, and checks that the others are
    /// there, so a record longer than memory can be read. [`LogReader::more`] reads them. Returns
    /// `false` at the end, like [`LogReader::next`].
    pub(crate) fn begin(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        record.clear();
        let mut first_end = 0;
        let is_read = self.pass(|end, payload| {
            if first_end == 0 {
                first_end = end;
                record.extend_from_slice(payload);
            }
        })?;
        self.rest = (is_read && first_end < self.offset).then_some(first_end);
        Ok(is_read)
    }

    /// Moves behind the next record. Returns `false` at the end, like [`LogReader::next`].
    pub(crate) fn skip(&mut self) -> Result<bool> {
        self.pass(|_, _| {})
    }

    /// Returns whether [`LogReader::more`] has a frame of the record to read.
    pub(crate) fn has_more(&self) -> bool {
        self.rest.is_some()
    }

    /// Appends the next frame of the record that [`LogReader::begin`] read last. Returns `false` if
    /// there is none.
    ///
    /// # Errors
    /// `Corruption` if the frame changed since then; `Io` if a read fails.
    pub(crate) fn more(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        let Some(offset) = self.rest else { return Ok(false) };
        let Some((_, length)) = self.frame_at(offset)? else {
            let message = "expected the same frame as at the first read, found another";
            return Err(Error::corruption(message).at(&self.path, offset));
        };
        record.extend_from_slice(self.bytes(offset + HEADER_LEN as u64, length)?);
        let end = offset + (HEADER_LEN + length) as u64;
        self.rest = (end < self.offset).then_some(end);
        Ok(true)
    }

    /// Moves behind the next record, and calls `take` with the end and the payload of each of its
    /// frames. Returns `false` at the end.
    fn pass(&mut self, mut take: impl FnMut(u64, &[u8])) -> Result<bool> {
        self.rest = None;
        let (start, start_frames, start_digest) = (self.offset, self.frames, self.digest);
        loop {
            let Some((header, length)) = self.frame_at(self.offset)? else {
                // A record without its last part was never finished.
                (self.offset, self.frames) = (start, start_frames);
                self.digest = start_digest;
                return Ok(false);
            };
            let begins = matches!(header.part, Part::Whole | Part::First);
            if header.frame != self.frames + 1 || begins != (self.offset == start) {
                return Err(Error::corruption(format!(
                    "expected frame {}, found frame {} ({:?})",
                    self.frames + 1,
                    header.frame,
                    header.part
                ))
                .at(&self.path, self.offset));
            }
            let end = self.offset + (HEADER_LEN + length) as u64;
            take(end, self.bytes(self.offset + HEADER_LEN as u64, length)?);
            self.count_frame()?;
            self.max_synced = self.max_synced.max(header.synced_through);
            self.offset = end;
            if matches!(header.part, Part::Whole | Part::Last) {
                return Ok(true);
            }
        }
    }

    /// Reads the next record if it ends at frame `last` or before. All frames up to `last` must
    /// have been appended already. Writers may append meanwhile.
    ///
    /// # Errors
    /// `Corruption` if one of these frames is damaged or missing; `Io` if a read fails.
    pub(crate) fn next_through(&mut self, last: u64, record: &mut Vec<u8>) -> Result<bool> {
        if self.frames >= last {
            return Ok(false);
        }
        if last > self.appended {
            // The window may have been read before the frames were appended. It may even hold
            // frames of an append that failed, in their place.
            self.look_again()?;
            self.appended = last;
        }
        if self.next(record)? {
            return Ok(true);
        }
        let missing = format!("expected {last} frames, found {}", self.frames);
        Err(Error::corruption(missing).at(&self.path, self.offset))
    }

    /// Reads on to the last whole record that the file has now. A writer in another process may
    /// have taken back the record at which the last call ended. Then it does not count any more.
    pub(crate) fn run_to_end(&mut self) -> Result<()> {
        self.look_again()?;
        if let Some(last) = self.last
            && self.sum_at(last.offset)? != Some(last.sum)
        {
            (self.offset, self.frames, self.digest) = (last.offset, last.frames, last.digest);
            self.last = None;
        }
        let mut passed = None;
        loop {
            let LogReader { offset, frames, digest, .. } = *self;
            if !self.skip()? {
                break;
            }
            passed = Some((offset, frames, digest));
        }
        if let Some((offset, frames, digest)) = passed {
            let sum = self.sum_at(offset)?;
            self.last = sum.map(|sum| PassedRecord { offset, frames, digest, sum });
        }
        Ok(())
    }

    /// Returns the first bytes of the header at `offset`, if the file has one there.
    fn sum_at(&mut self, offset: u64) -> Result<Option<[u8; 4]>> {
        if offset + HEADER_LEN as u64 > self.len {
            return Ok(None);
        }
        Ok(self.bytes(offset, HEADER_LEN)?.first_chunk().copied())
    }

    /// Reads the next intact record, past damage, for a repair. Sets `gap` to what lies between the
    /// last record and this one, or between the last record and the end. A record with a damaged
    /// frame is skipped whole. Frame numbers rise, so old frames of the log never come back.
    ///
    /// # Errors
    /// `Io` if a read fails.
    pub(crate) fn next_intact(
        &mut self,
        record: &mut Vec<u8>,
        gap: &mut Option<LogGap>,
    ) -> Result<bool> {
        *gap = None;
        let (start, before, digest) = (self.offset, self.frames, self.digest);
        if self.next_whole(record)? {
            return Ok(true);
        }
        (self.hashed, self.digest) = (0, digest);
        let budget = SEARCH_AT_LEAST + SEARCH_PER_BYTE * (self.len - start);
        // If only the payload is damaged, the header still tells where the next frame begins.
        let next = self.next_by_header()?;
        let mut offset = match next {
            Some(next) if self.frame_at(next)?.is_some() => next,
            _ => start,
        };
        // Where the intact frames that follow the last record end, and the largest frame number.
        let (mut run_end, mut last, mut beyond) = (start, before, false);
        while offset < self.len {
            (self.offset, self.frames) = (start, before);
            let Some((header, length)) = self.later_frame_at(offset, budget)? else {
                offset += self.zeroes_from(offset)?.max(1);
                continue;
            };
            let frames_fit = header.frame - before <= (offset - start) / HEADER_LEN as u64 + 1;
            // The record that begins at `start` was just found incomplete.
            let may_begin = offset > start && matches!(header.part, Part::Whole | Part::First);
            if may_begin && frames_fit {
                (self.offset, self.frames) = (offset, header.frame - 1);
                if self.next_whole(record)? {
                    let (bytes, frames) = (offset - start, header.frame - 1 - before);
                    *gap = Some(LogGap { offset: start, bytes, frames });
                    return Ok(true);
                }
            }
            let follows = offset == run_end && header.frame == last + 1;
            // A failed write may have left frames behind the end. They prove nothing.
            beyond |= frames_fit && !follows && header.synced_through > before;
            offset += (HEADER_LEN + length) as u64;
            if frames_fit {
                (run_end, last) = (offset, header.frame);
            }
        }
        (self.offset, self.frames) = (start, before);
        record.clear();
        // Without a frame that proves the damaged ones synced, the end is a torn tail.
        let (bytes, frames) = (run_end - start, last - before);
        *gap = beyond.then_some(LogGap { offset: start, bytes, frames });
        Ok(false)
    }

    /// Reads the next record if its frames are intact and follow the last one. Otherwise reads
    /// nothing.
    fn next_whole(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        let (start, frames) = (self.offset, self.frames);
        let is_read = match self.next(record) {
            Err(error) if error.kind() == ErrorKind::Corruption => false,
            read => read?,
        };
        if !is_read {
            (self.offset, self.frames) = (start, frames);
        }
        Ok(is_read)
    }

    /// Returns the largest "synced through" of the frames read.
    pub(crate) fn max_synced(&self) -> u64 {
        self.max_synced
    }

    /// Drops the read-ahead window and notes the length of the file, which may have grown.
    fn look_again(&mut self) -> Result<()> {
        self.window.clear();
        self.len =
            self.file.len().map_err(|error| Error::io(&self.path, "read the log", &error))?;
        Ok(())
    }

    /// Returns the number of the last frame read.
    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    /// Reads ahead only a few bytes at a time, for a caller that reads only the first records.
    #[must_use]
    pub(crate) fn for_its_head(mut self) -> LogReader {
        self.read_ahead = HEAD;
        self
    }

    /// Calls `take` with the frames up to number `last`, many at a time, and the offset of the
    /// first. The frames must have been appended already. Writers may append meanwhile. Returns the
    /// extent of the frames.
    ///
    /// # Errors
    /// `Corruption` for a damaged frame; `Io` if a read fails; errors of `take`.
    pub(crate) fn copy_through(
        &mut self,
        last: u64,
        mut take: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<Extent> {
        debug_assert!(self.frames <= last, "frames are copied from the place of the reader on");
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
            self.count_frame()?;
            self.offset += len as u64;
            if gathered.len() >= WINDOW || self.frames == last {
                take(&gathered, self.offset - gathered.len() as u64)?;
                gathered.clear();
            }
        }
        let LogReader { number, offset: len, frames, digest, .. } = *self;
        Ok(Extent { number, len, frames, digest })
    }

    /// Counts the whole frame at the current offset, and adds it to the digest.
    fn count_frame(&mut self) -> Result<()> {
        let sum = self.bytes(self.offset, size_of::<u32>())?;
        let sum = u32::from_le_bytes(*sum.first_chunk().expect("so many bytes were asked for"));
        self.frames += 1;
        self.digest = digest_with(self.digest, sum);
        Ok(())
    }

    /// Checks whether the end that [`LogReader::next`] reached is a torn tail or damage.
    ///
    /// # Errors
    /// `Corruption` if frames after the end say that the missing bytes were synced.
    pub(crate) fn end(&mut self) -> Result<LogEnd> {
        let mut tail = Tail::default();
        if let Some((offset, header)) = self.search_tail(&mut tail)? {
            return Err(Error::corruption(format!(
                "frame {} is damaged, but frame {} at offset {offset} says it was synced",
                self.frames + 1,
                header.frame
            ))
            .at(&self.path, self.offset));
        }
        debug_assert!(
            tail.bytes <= self.len - self.offset,
            "the tail of a log lies between its last frame and its end"
        );
        let LogReader { offset, frames, digest, max_synced, .. } = *self;
        Ok(LogEnd { offset, frames, digest, max_synced, tail })
    }

    /// Checks the end like [`LogReader::end`]. After a clean close, `closed` describes the frames
    /// of the file. Zeroes may follow them: a power loss may take back that the close cut the file.
    ///
    /// # Errors
    /// As [`LogReader::end`], and `Corruption` if the frames differ from `closed`.
    pub(crate) fn end_as(&mut self, closed: Option<&Extent>) -> Result<LogEnd> {
        let end = self.end()?;
        let Some(closed) = closed else { return Ok(end) };
        let (number, len) = (self.number, end.offset);
        let found = Extent { number, len, frames: end.frames, digest: end.digest };
        if found == *closed && end.tail.bytes == 0 {
            return Ok(end);
        }
        Err(Error::corruption(format!(
            "the file had {} frames in {} bytes (digest {:016x}) when the database was closed, now \
             {} frames in {} of {} bytes (digest {:016x})",
            closed.frames, closed.len, closed.digest, end.frames, end.offset, self.len, end.digest
        ))
        .at(&self.path, end.offset.min(closed.len)))
    }

    /// Searches the bytes after the end for an intact frame that says that missing bytes were
    /// synced.
    fn search_tail(&mut self, tail: &mut Tail) -> Result<Option<(u64, FrameHeader)>> {
        let (begin, mut offset) = (self.offset, self.offset);
        let mut budget = SEARCH_AT_LEAST + SEARCH_PER_BYTE * (self.len - begin);
        if planted(Fault::UnboundedTailSearch) {
            budget = u64::MAX;
        }
        if planted(Fault::TornTailIsEnd) {
            return Ok(None);
        }
        self.hashed = 0;
        let proves = |header: &FrameHeader, frames: u64| header.synced_through > frames;
        // If only the payload is damaged, the header still tells where the next frame begins.
        if let Some(next) = self.next_by_header()?
            && let Some((header, _)) = self.frame_at(next)?
            && proves(&header, self.frames)
        {
            return Ok(Some((next, header)));
        }
        while offset < self.len {
            match self.later_frame_at(offset, budget)? {
                Some((header, _)) if proves(&header, self.frames) => {
                    return Ok(Some((offset, header)));
                }
                Some((_, length)) => {
                    offset += (HEADER_LEN + length) as u64;
                    tail.frames += 1;
                    tail.bytes = offset - begin;
                }
                None => {
                    if self.bytes(offset, 1)?[0] != 0 {
                        tail.bytes = offset + 1 - begin;
                    }
                    offset += self.zeroes_from(offset)?.max(1);
                }
            }
        }
        Ok(None)
    }

    /// Returns the offset at which the damaged frame ends according to its header; `None` if its
    /// bytes do not look like a header with the next frame number.
    fn next_by_header(&mut self) -> Result<Option<u64>> {
        let Some((header, length)) = self.header_at(self.offset)? else { return Ok(None) };
        let is_next = header.frame == self.frames + 1;
        Ok(is_next.then(|| self.offset + (HEADER_LEN + length) as u64))
    }

    /// Returns the intact frame of this log at `offset`, if there is one with a number not read
    /// yet. `budget` limits the bytes that the search may hash.
    fn later_frame_at(&mut self, offset: u64, budget: u64) -> Result<Option<(FrameHeader, usize)>> {
        let Some((header, length)) = self.header_at(offset)? else { return Ok(None) };
        let cost = (HEADER_LEN + length) as u64;
        if header.frame <= self.frames || self.hashed + cost > budget {
            return Ok(None);
        }
        self.hashed += cost;
        self.frame_at(offset)
    }

    /// Returns how many bytes the search may skip. A frame's kind is never zero, so the kind lies
    /// after the zeroes that begin at `offset`.
    fn zeroes_from(&mut self, offset: u64) -> Result<u64> {
        let length = (self.len - offset).min(WINDOW as u64 / 2) as usize;
        let bytes = self.bytes(offset, length)?;
        let zeroes = bytes.iter().position(|&byte| byte != 0).unwrap_or(length);
        Ok(zeroes.saturating_sub(KIND_AT) as u64)
    }

    /// Returns the intact frame of this log at `offset`, if there is one.
    fn frame_at(&mut self, offset: u64) -> Result<Option<(FrameHeader, usize)>> {
        let Some((header, length)) = self.header_at(offset)? else { return Ok(None) };
        let frame = self.bytes(offset, HEADER_LEN + length)?;
        Ok(header.verify(frame, offset).then_some((header, length)))
    }

    /// Returns the header of a frame of this log at `offset`, if the bytes there look like one, and
    /// the length of the payload. The file holds all of the payload.
    fn header_at(&mut self, offset: u64) -> Result<Option<(FrameHeader, usize)>> {
        if offset + HEADER_LEN as u64 > self.len {
            return Ok(None);
        }
        let number = self.number;
        let Some(header) = self.bytes(offset, HEADER_LEN)?.first_chunk() else { return Ok(None) };
        let Some((header, length)) = FrameHeader::parse(header) else { return Ok(None) };
        let is_inside = offset + (HEADER_LEN + length) as u64 <= self.len;
        Ok((header.log == number && is_inside).then_some((header, length)))
    }

    /// Reads ahead from `offset`. The space reserved after the last frame may have been released
    /// since the open. Such bytes count as zeroes.
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

    /// Returns bytes of the file, which must exist, through the read-ahead window.
    fn bytes(&mut self, offset: u64, length: usize) -> Result<&[u8]> {
        debug_assert!(length <= HEADER_LEN + MAX_PAYLOAD);
        let inside = offset >= self.window_offset
            && offset + length as u64 <= self.window_offset + self.window.len() as u64;
        if !inside {
            debug_assert!(
                offset + length as u64 <= self.len,
                "no bytes behind the end are asked for"
            );
            let wanted = (length.max(self.read_ahead) as u64).min(self.len - offset) as usize;
            self.fill(offset, wanted)
                .map_err(|error| Error::io(&self.path, "read the log", &error))?;
        }
        let start = (offset - self.window_offset) as usize;
        Ok(&self.window[start..start + length])
    }
}
