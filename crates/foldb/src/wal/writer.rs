//! Appends to a log. Threads sync it through [`LogSync`] while appends continue.
//!
//! An append makes one `write_at` call for each record. When the call returns, the operating system
//! has the record.
//!
//! An append that fails may leave whole frames after the log's end. A reader would take these
//! frames for the next records. So the writer clears them, durably, before it writes there again.
//!
//! A write that fails after its append is *taken back*: its frames leave the log. Until the writer
//! has published the write, its frames are not *settled*, and nothing that keeps frames may read
//! them (H28):
//!
//! ```text
//! append frame 6    sync fails    frame 6 taken back    no write to this log any more
//! append frame 6    sync          publish               frame 6 settled
//! ```
//!
//! Another process may have read them nevertheless. So the next write goes to a new log, which
//! names the frames that this one has.
//!
//! A log of an earlier open that closed cleanly is *closed*. It takes no record: its owner begins
//! the log after it first. A database that is opened and only read so begins no log.

use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

use foldb_env::{FileSystem, UnwritableFile, WritableFile};

use crate::encoding::format::{FileFormat, LOG};
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::files::{Proof, remove};
use crate::wal::ended::EndedFile;
use crate::wal::format::{Extent, FrameHeader, HEADER_LEN, Part, digest_with, longest_payload};
use crate::wal::record::LogHeader;
use crate::wal::separable::{SealedLog, SeparableValues};
use crate::wal::sync::LogSync;

/// Bytes of the first reservation of a log's blocks. Each further reservation doubles the total,
/// but adds at most the step.
const FIRST_RESERVATION: u64 = 16 << 10;
const RESERVATION_STEP: u64 = 16 << 20;
/// A reservation may take at most the disk's free space divided by this number.
const SHARE_OF_FREE_SPACE: u64 = 32;
/// The unit in which file systems allocate.
const BLOCK: u64 = 4096;

/// A log open for appending. It has one owner.
#[derive(Debug)]
pub(crate) struct LogWriter {
    sync: Arc<LogSync>,
    number: u64,
    offset: u64,
    reserved: u64,
    frames: u64,
    /// The digest of the frames.
    digest: u64,
    /// End of the bytes that a failed append may have left after `offset`.
    left_behind: Option<u64>,
    /// Whether frames were taken back.
    has_retracted: bool,
    is_closed: bool,
    /// The frame being built: header space, then payload. It is reused for the next record.
    buffer: Vec<u8>,
}

/// The end of a log at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogMark {
    offset: u64,
    frames: u64,
    digest: u64,
}

impl LogWriter {
    /// Creates log `number` of a database as the successor of another log. The caller keeps the
    /// [`LogSync`] of the other log until tables hold that log's writes.
    pub(crate) fn create(
        fs: &Arc<dyn FileSystem>,
        path: &Path,
        number: u64,
        database: u64,
        predecessor: Option<&LogWriter>,
    ) -> Result<LogWriter> {
        let created = fs.create_log(path);
        LogWriter::write_header(created, &LOG, fs, path, number, database, predecessor)
    }

    /// Creates a file of frames with records of another format, such as the manifest. After an
    /// error the file does not exist: failed attempts must not fill a full disk.
    pub(crate) fn create_in_format(
        format: &FileFormat,
        fs: &Arc<dyn FileSystem>,
        path: &Path,
        number: u64,
        database: u64,
        predecessor: Option<&LogWriter>,
    ) -> Result<LogWriter> {
        // Such a file takes so few appends that a mapping would not save time.
        let created = fs.create(path);
        LogWriter::write_header(created, format, fs, path, number, database, predecessor)
    }

    fn write_header(
        created: io::Result<Arc<dyn WritableFile>>,
        format: &FileFormat,
        fs: &Arc<dyn FileSystem>,
        path: &Path,
        number: u64,
        database: u64,
        predecessor: Option<&LogWriter>,
    ) -> Result<LogWriter> {
        let file = created.map_err(|error| Error::io(path, "create the log", &error))?;
        let mut log = LogWriter::begin_in(file, fs, path, number, predecessor);
        let header = LogHeader {
            database,
            log: number,
            predecessor: predecessor.map_or(0, |log| log.number),
            predecessor_len: predecessor.map_or(0, |log| log.offset),
            predecessor_closed: predecessor.is_some_and(|log| log.is_closed),
            predecessor_frames: predecessor.map_or(0, |log| log.frames),
        };
        header.encode(format, log.begin());
        match log.append() {
            Ok(()) => Ok(log),
            Err(error) => {
                drop(log);
                // A file that cannot be removed is a log without writes: the next open removes it.
                let _best_effort = remove(&**fs, path, Proof::Written);
                Err(error)
            }
        }
    }

    /// Makes the placeholder for the log of a read-only database. It takes no record.
    pub(crate) fn unwritable(fs: &Arc<dyn FileSystem>, path: &Path, number: u64) -> LogWriter {
        LogWriter::begin_in(Arc::new(UnwritableFile), fs, path, number, None)
    }

    /// Makes the writer of a log that a clean close left with this extent.
    pub(crate) fn closed(fs: &Arc<dyn FileSystem>, path: &Path, extent: &Extent) -> LogWriter {
        let Extent { number, len, frames, digest } = *extent;
        let mut log = LogWriter::begin_in(Arc::new(EndedFile), fs, path, number, None);
        (log.offset, log.reserved, log.frames, log.digest) = (len, len, frames, digest);
        log.is_closed = true;
        log.sync.note_written(frames);
        log.settle();
        log.sync.note_durable();
        log
    }

    /// Returns whether an earlier open closed the log. The next record needs the log after it.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn begin_in(
        file: Arc<dyn WritableFile>,
        fs: &Arc<dyn FileSystem>,
        path: &Path,
        number: u64,
        predecessor: Option<&LogWriter>,
    ) -> LogWriter {
        assert!(
            predecessor.is_none_or(|log| log.number < number),
            "a log has a larger number than the log before it"
        );
        let predecessor = predecessor.map_or_else(Weak::new, |log| Arc::downgrade(&log.sync));
        let sync = Arc::new(LogSync::new(file, fs, path, predecessor));
        let (offset, reserved, frames, digest) = (0, 0, 0, 0);
        LogWriter {
            sync,
            number,
            offset,
            reserved,
            frames,
            digest,
            left_behind: None,
            has_retracted: false,
            is_closed: false,
            buffer: Vec::new(),
        }
    }

    /// Returns the number of the log.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the bytes appended so far.
    pub(crate) fn len(&self) -> u64 {
        self.offset
    }

    /// Returns the number of the last frame appended.
    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the shared part, through which threads sync while appends continue.
    pub(crate) fn sync_handle(&self) -> &Arc<LogSync> {
        &self.sync
    }

    /// Starts a record. The caller pushes the payload onto the returned buffer.
    #[inline]
    pub(crate) fn begin(&mut self) -> &mut Vec<u8> {
        self.buffer.clear();
        self.buffer.resize(HEADER_LEN, 0);
        &mut self.buffer
    }

    /// Appends the record begun, which nothing takes back. After an error nothing was appended, and
    /// the next record goes to the same offset.
    pub(crate) fn append(&mut self) -> Result<()> {
        self.append_unsettled()?;
        self.settle();
        Ok(())
    }

    /// Appends the record begun, as [`LogWriter::append`]. The caller then settles it, or takes it
    /// back with [`LogWriter::retract`].
    pub(crate) fn append_unsettled(&mut self) -> Result<()> {
        if self.left_behind.is_some() {
            self.clear_attempt()?;
        }
        debug_assert!(!self.is_closed, "only the open that created a log appends to it");
        debug_assert!(self.left_behind.is_none(), "a frame begins where the last whole one ends");
        let payload = self.buffer.len() - HEADER_LEN;
        if payload <= longest_payload() {
            let mut frame = std::mem::take(&mut self.buffer);
            let result = self.write_frame(&mut frame, Part::Whole, self.offset, self.frames + 1);
            if let Ok(sum) = result {
                self.offset += frame.len() as u64;
                self.frames += 1;
                self.digest = digest_with(self.digest, sum);
            }
            let attempted = self.offset + frame.len() as u64;
            self.buffer = frame;
            result.inspect_err(|_| self.leave_behind(attempted))?;
        } else {
            self.append_in_parts()?;
        }
        self.sync.note_written(self.frames);
        Ok(())
    }

    fn append_in_parts(&mut self) -> Result<()> {
        let record = std::mem::take(&mut self.buffer);
        let payload = &record[HEADER_LEN..];
        let most = longest_payload();
        let parts = payload.len().div_ceil(most);
        let (mut offset, mut number, mut digest) = (self.offset, self.frames, self.digest);
        // Fail early if there is no space for the whole record.
        let end = offset + (payload.len() + parts * HEADER_LEN) as u64;
        self.reserve(end)?;
        self.left_behind = Some(end);
        let mut frame = Vec::with_capacity(HEADER_LEN + most);
        for (index, chunk) in payload.chunks(most).enumerate() {
            frame.clear();
            frame.resize(HEADER_LEN, 0);
            frame.extend_from_slice(chunk);
            number += 1;
            let part = Part::of(index == 0, index + 1 == parts);
            let written = self.write_frame(&mut frame, part, offset, number);
            let sum = written.inspect_err(|_| self.leave_behind(end))?;
            digest = digest_with(digest, sum);
            offset += frame.len() as u64;
        }
        assert_eq!(offset, end, "the parts of a record fill the space that was reserved for them");
        assert_eq!(number, self.frames + parts as u64, "each part of a record is a frame");
        (self.offset, self.frames, self.digest) = (offset, number, digest);
        self.left_behind = None;
        Ok(())
    }

    /// Notes that what was appended so far is never taken back.
    #[inline]
    pub(crate) fn settle(&mut self) {
        self.sync.settle(self.frames);
    }

    /// Returns whether records were taken back. No record may follow in this log (H28).
    #[inline]
    pub(crate) fn has_retracted(&self) -> bool {
        self.has_retracted
    }

    /// Returns whether the log takes records. Otherwise the next record needs the log after it.
    pub(crate) fn takes_records(&self) -> bool {
        !self.is_closed && !self.has_retracted
    }

    /// Returns whether bytes of a failed append may still be in the file.
    pub(crate) fn may_hold_failed_record(&self) -> bool {
        self.left_behind.is_some()
    }

    /// Marks the current end of the log, for [`LogWriter::retract`].
    #[inline]
    pub(crate) fn mark(&self) -> LogMark {
        LogMark { offset: self.offset, frames: self.frames, digest: self.digest }
    }

    /// Removes the records after a mark.
    ///
    /// # Errors
    /// `Io` if a write or sync fails. The next open may then find the records.
    pub(crate) fn retract(&mut self, mark: LogMark) -> Result<()> {
        assert!(mark.offset <= self.offset, "only records after the mark are removed");
        // An append that panicked may have written its frame without counting it.
        assert!(mark.frames <= self.frames, "only frames after the mark are removed");
        assert!(self.sync.settled() <= mark.frames, "no settled frame is removed");
        self.has_retracted = true;
        let end = self.left_behind.unwrap_or(self.offset).max(mark.offset + 1);
        (self.offset, self.frames, self.digest) = (mark.offset, mark.frames, mark.digest);
        self.sync.note_written(self.frames);
        self.left_behind = Some(end);
        self.sync.note_remains();
        self.clear_attempt()
    }

    /// Notes that a failed append may have written up to `end`, and clears those bytes if it can.
    #[cold]
    fn leave_behind(&mut self, end: u64) {
        self.left_behind = Some(end);
        self.sync.note_remains();
        // If clearing fails here, the next append tries again, and fails if that fails too.
        let _tried_again = self.clear_attempt();
    }

    /// Makes sure that no frame of a failed append lies after the end. It overwrites the header of
    /// each such frame, which needs no space. If that fails, or if the file grows only at its end,
    /// it truncates the file. It then syncs the file. Otherwise such a frame could reappear after a
    /// power loss, between frames written later.
    ///
    /// # Errors
    /// `Io` if a write or sync fails. The log takes no append until a later call succeeds.
    #[cold]
    pub(crate) fn clear_attempt(&mut self) -> Result<()> {
        let Some(end) = self.left_behind else { return Ok(()) };
        if planted(Fault::KeepFailedFrames) {
            self.left_behind = None;
            return Ok(());
        }
        let file = &self.sync.file;
        // All frames of an attempt except the last have the longest length.
        let mut starts = (self.offset..end).step_by(HEADER_LEN + longest_payload());
        let mut overwrite = |start| file.write_at(&[0; HEADER_LEN], start);
        if file.appends_only() || starts.try_for_each(&mut overwrite).is_err() {
            file.truncate(self.offset).map_err(|error| {
                Error::io(&self.sync.path, "clear what a failed append left in the log", &error)
            })?;
            self.reserved = self.offset;
        }
        self.sync.sync_bytes()?;
        debug_assert!(self.offset <= end, "only what lies behind the last whole frame is cleared");
        self.sync.forget_synced_above(self.frames);
        self.left_behind = None;
        Ok(())
    }

    fn write_frame(
        &mut self,
        frame: &mut [u8],
        part: Part,
        offset: u64,
        number: u64,
    ) -> Result<u32> {
        let synced_through = self.sync.synced();
        let header = FrameHeader { part, frame: number, synced_through, log: self.number };
        let sum = header.seal(frame, offset);
        let end = offset + frame.len() as u64;
        self.reserve(end)?;
        self.sync
            .file
            .write_at(frame, offset)
            .map_err(|error| Error::io(&self.sync.path, "append to the log", &error))?;
        Ok(sum)
    }

    /// Reserves space up to `end`, unless it is already reserved.
    #[inline]
    fn reserve(&mut self, end: u64) -> Result<()> {
        if end > self.reserved { self.reserve_more(end) } else { Ok(()) }
    }

    /// Reserves space for a record of at most this many bytes.
    ///
    /// # Errors
    /// `NoSpace` if the disk is full.
    pub(crate) fn ask_for(&mut self, bytes: u64) -> Result<()> {
        let parts = bytes / longest_payload() as u64 + 1;
        self.reserve(self.offset + bytes + parts * HEADER_LEN as u64)
    }

    #[cold]
    fn reserve_more(&mut self, end: u64) -> Result<()> {
        let file = &self.sync.file;
        // Leave room for tables. If little is left, use it for the current writes.
        let most = file.free_space().unwrap_or(u64::MAX) / SHARE_OF_FREE_SPACE;
        let step = self.reserved.clamp(FIRST_RESERVATION, RESERVATION_STEP).min(most);
        let needed = end.next_multiple_of(BLOCK);
        let mut reserved = needed.max(self.reserved + step);
        let mut outcome = file.preallocate(reserved);
        if outcome.is_err() && reserved > needed {
            reserved = needed;
            outcome = file.preallocate(reserved);
        }
        outcome.map_err(|error| Error::io(&self.sync.path, "reserve space for the log", &error))?;
        debug_assert!(reserved >= end, "a frame is written into space that was reserved");
        self.reserved = reserved;
        Ok(())
    }

    /// Ends the log: it takes no more writes.
    pub(crate) fn seal(self, values: Arc<SeparableValues>) -> SealedLog {
        assert!(self.left_behind.is_none(), "a sealed log ends with a whole frame");
        self.sync.seal(self.extent());
        SealedLog { number: self.number, len: self.offset, sync: self.sync, values }
    }

    /// Releases the reserved space after the last frame, with the frames that a failed append left
    /// there.
    pub(crate) fn trim(&mut self) -> Result<()> {
        if self.left_behind.is_some() {
            self.sync.note_remains();
        }
        self.sync.trim(self.offset)?;
        self.reserved = self.offset;
        Ok(())
    }

    /// Returns the extent of the frames so far.
    pub(crate) fn extent(&self) -> Extent {
        let LogWriter { number, offset: len, frames, digest, .. } = *self;
        Extent { number, len, frames, digest }
    }
}
