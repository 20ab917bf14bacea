//! Appending to a log, and syncing it beside the appends.
//!
//! Appending is one `write_at` a record: when it returned, the record is in the operating system's
//! hands. Syncing goes through [`LogSync`], which is shared: who syncs does not keep others from
//! appending, and one `fdatasync` serves everybody whose frames were written before it began.
//!
//! An append that fails may leave whole frames behind the log's end. The writer clears them,
//! durably, before it writes there again: a reader would take them for what comes next.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use foldb_env::{FileSystem, UnwritableFile, WritableFile};

use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::wal::format::{Extent, FrameHeader, HEADER_LEN, Part, digest_with, longest_payload};
use crate::wal::record::{LOG_FORMAT, LogHeader};
use crate::wal::separable::{SealedLog, SeparableValues};

/// First reservation of a log's blocks; each next one is as large as all before, up to the step.
const FIRST_RESERVATION: u64 = 256 << 10;
const RESERVATION_STEP: u64 = 16 << 20;
/// No more is reserved ahead than this part of what the disk has left.
const SHARE_OF_FREE_SPACE: u64 = 32;
/// What file systems give at a time.
const BLOCK: u64 = 4096;

/// A log open for appending. One owner.
#[derive(Debug)]
pub(crate) struct LogWriter {
    sync: Arc<LogSync>,
    number: u64,
    offset: u64,
    reserved: u64,
    frames: u64,
    /// Of the frames.
    digest: u64,
    /// End of the bytes that a failed append may have left behind `offset`.
    left_behind: Option<u64>,
    /// The frame being built: header space, then payload. Kept between records for its memory.
    buffer: Vec<u8>,
}

/// Where a log ended at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogMark {
    offset: u64,
    frames: u64,
    digest: u64,
}

/// The half of a log that anybody may sync.
#[derive(Debug)]
pub(crate) struct LogSync {
    file: Arc<dyn WritableFile>,
    path: PathBuf,
    fs: Arc<dyn FileSystem>,
    /// Last frame handed to the operating system.
    written: AtomicU64,
    /// Last frame known to be on the medium.
    synced: AtomicU64,
    /// Bytes of memory that tell where values lie in it.
    noted: AtomicUsize,
    /// Whether all its writes are in tables, so that it may lose its name.
    is_retired: AtomicBool,
    /// What the log holds, once nobody writes to it any more.
    sealed: OnceLock<Extent>,
    progress: Mutex<SyncProgress>,
}

#[derive(Debug)]
struct SyncProgress {
    /// Whether the log's name is durable.
    named: bool,
    /// The log before this one, until it is known to be wholly on the medium: nothing in this log
    /// may be called synced before (H11). Held weakly: once all its writes are in tables nobody
    /// needs it, and a log that is never synced must not keep all before it open.
    predecessor: Weak<LogSync>,
    /// Why a sync failed. The kernel reports lost writes once: a second sync that succeeds says
    /// nothing about them.
    failed: Option<Error>,
}

impl LogWriter {
    /// Creates log `number` of a database as the successor of another, whose [`LogSync`] the caller
    /// keeps until its writes are in tables.
    pub(crate) fn create(
        fs: &Arc<dyn FileSystem>,
        path: &Path,
        number: u64,
        database: u64,
        predecessor: Option<&LogWriter>,
    ) -> Result<LogWriter> {
        let created = fs.create_log(path);
        LogWriter::write_header(created, LOG_FORMAT, fs, path, number, database, predecessor)
    }

    /// Creates a file of frames whose records have a format of their own. After an error there is
    /// no such file: a full disk must not fill with attempts.
    pub(crate) fn create_in_format(
        format: u32,
        fs: &Arc<dyn FileSystem>,
        path: &Path,
        number: u64,
        database: u64,
        predecessor: Option<&LogWriter>,
    ) -> Result<LogWriter> {
        // Nothing is appended to it so often that a mapping would pay.
        let created = fs.create(path);
        LogWriter::write_header(created, format, fs, path, number, database, predecessor)
    }

    fn write_header(
        created: io::Result<Arc<dyn WritableFile>>,
        format: u32,
        fs: &Arc<dyn FileSystem>,
        path: &Path,
        number: u64,
        database: u64,
        predecessor: Option<&LogWriter>,
    ) -> Result<LogWriter> {
        let file = created.map_err(|error| Error::io(path, "create the log", &error))?;
        let mut log = LogWriter::begin_in(file, fs, path, number, predecessor);
        let header = LogHeader {
            format,
            database,
            log: number,
            predecessor: predecessor.map_or(0, |log| log.number),
            predecessor_len: predecessor.map_or(0, |log| log.offset),
            predecessor_frames: predecessor.map_or(0, |log| log.frames),
        };
        header.encode(log.begin());
        match log.append() {
            Ok(()) => Ok(log),
            Err(error) => {
                drop(log);
                // What cannot be removed is a log without writes: the next open removes it.
                let _best_effort = fs.remove(path);
                Err(error)
            }
        }
    }

    /// What stands in for a log where a database is open read-only: it takes nothing.
    pub(crate) fn unwritable(fs: &Arc<dyn FileSystem>, path: &Path, number: u64) -> LogWriter {
        LogWriter::begin_in(Arc::new(UnwritableFile), fs, path, number, None)
    }

    fn begin_in(
        file: Arc<dyn WritableFile>,
        fs: &Arc<dyn FileSystem>,
        path: &Path,
        number: u64,
        predecessor: Option<&LogWriter>,
    ) -> LogWriter {
        let progress = SyncProgress {
            named: false,
            predecessor: predecessor.map_or_else(Weak::new, |log| Arc::downgrade(&log.sync)),
            failed: None,
        };
        let sync = Arc::new(LogSync {
            file,
            path: path.to_owned(),
            fs: Arc::clone(fs),
            written: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            noted: AtomicUsize::new(0),
            is_retired: AtomicBool::new(false),
            sealed: OnceLock::new(),
            progress: Mutex::new(progress),
        });
        let (offset, reserved, frames, digest) = (0, 0, 0, 0);
        LogWriter {
            sync,
            number,
            offset,
            reserved,
            frames,
            digest,
            left_behind: None,
            buffer: Vec::new(),
        }
    }

    /// Number of the log.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes appended so far.
    pub(crate) fn len(&self) -> u64 {
        self.offset
    }

    /// Number of the last frame appended.
    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    /// The half that can be synced beside appends.
    pub(crate) fn sync_handle(&self) -> &Arc<LogSync> {
        &self.sync
    }

    /// Starts a record: what is pushed onto the answer is its payload.
    #[inline]
    pub(crate) fn begin(&mut self) -> &mut Vec<u8> {
        self.buffer.clear();
        self.buffer.resize(HEADER_LEN, 0);
        &mut self.buffer
    }

    /// Appends the record begun. After an error nothing was appended, and the next record takes its
    /// place.
    pub(crate) fn append(&mut self) -> Result<()> {
        if self.left_behind.is_some() {
            self.clear_attempt()?;
        }
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
        self.sync.written.store(self.frames, Ordering::Release);
        Ok(())
    }

    fn append_in_parts(&mut self) -> Result<()> {
        let record = std::mem::take(&mut self.buffer);
        let payload = &record[HEADER_LEN..];
        let most = longest_payload();
        let parts = payload.len().div_ceil(most);
        let (mut offset, mut number, mut digest) = (self.offset, self.frames, self.digest);
        // Where there is no space nothing is begun.
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
        (self.offset, self.frames, self.digest) = (offset, number, digest);
        self.left_behind = None;
        Ok(())
    }

    /// Where the log ends now, for [`LogWriter::retract`].
    #[inline]
    pub(crate) fn mark(&self) -> LogMark {
        LogMark { offset: self.offset, frames: self.frames, digest: self.digest }
    }

    /// Takes back what was appended behind a mark.
    ///
    /// # Errors
    /// `Io`: the next open may find it.
    pub(crate) fn retract(&mut self, mark: LogMark) -> Result<()> {
        // An append that panicked may have written its frame without counting it.
        let end = self.left_behind.unwrap_or(self.offset).max(mark.offset + 1);
        (self.offset, self.frames, self.digest) = (mark.offset, mark.frames, mark.digest);
        self.sync.written.store(self.frames, Ordering::Release);
        self.left_behind = Some(end);
        self.clear_attempt()
    }

    /// Notes that a failed append may have written up to `end`, and clears that if it can.
    #[cold]
    fn leave_behind(&mut self, end: u64) {
        self.left_behind = Some(end);
        // The next append tries again, and fails if it cannot be done then.
        let _tried_again = self.clear_attempt();
    }

    /// Makes sure that no frame of a failed append lies behind the end. It takes the header of
    /// each, which needs no space, else it cuts the file. Both are made durable: else a power loss
    /// could bring such a frame back between those that are written in its place.
    ///
    /// # Errors
    /// `Io`. Nothing may be appended until it is done.
    #[cold]
    pub(crate) fn clear_attempt(&mut self) -> Result<()> {
        let Some(end) = self.left_behind else { return Ok(()) };
        if planted(Fault::KeepFailedFrames) {
            self.left_behind = None;
            return Ok(());
        }
        let file = &self.sync.file;
        // All frames of an attempt but the last are as long as frames get.
        let mut starts = (self.offset..end).step_by(HEADER_LEN + longest_payload());
        if starts.try_for_each(|start| file.write_at(&[0; HEADER_LEN], start)).is_err() {
            file.truncate(self.offset).map_err(|error| {
                Error::io(&self.sync.path, "clear what a failed append left in the log", &error)
            })?;
            self.reserved = self.offset;
        }
        self.sync.sync_bytes()?;
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
        let synced_through = self.sync.synced.load(Ordering::Acquire);
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

    /// Reserves space up to `end`, if it is not yet.
    #[inline]
    fn reserve(&mut self, end: u64) -> Result<()> {
        if end > self.reserved { self.reserve_more(end) } else { Ok(()) }
    }

    #[cold]
    fn reserve_more(&mut self, end: u64) -> Result<()> {
        let file = &self.sync.file;
        // Tables need room too, and where little is left it is for what is written now.
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
        self.reserved = reserved;
        Ok(())
    }

    /// Whether appending costs no system call.
    pub(crate) fn is_mapped(&self) -> bool {
        self.sync.file.is_mapped()
    }

    /// Ends it: it is not written to any more.
    pub(crate) fn seal(self, values: Arc<SeparableValues>) -> SealedLog {
        self.sync.rest();
        let _never_sealed_before = self.sync.sealed.set(self.extent());
        SealedLog { number: self.number, len: self.offset, sync: self.sync, values }
    }

    /// Gives back the reserved space behind the last frame, with what a failed append left there.
    pub(crate) fn trim(&mut self) -> Result<()> {
        self.sync.trim(self.offset)?;
        self.reserved = self.offset;
        Ok(())
    }

    /// What it holds so far.
    pub(crate) fn extent(&self) -> Extent {
        let LogWriter { number, offset: len, frames, digest, .. } = *self;
        Extent { number, len, frames, digest }
    }
}

impl LogSync {
    /// Bytes of memory that writing to the log takes now.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.file.memory_bytes() + self.noted.load(Ordering::Relaxed)
    }

    /// Has so many bytes counted that tell where values lie in the log.
    #[inline]
    pub(crate) fn note_memory(&self, bytes: usize) {
        self.noted.store(bytes, Ordering::Relaxed);
    }

    /// Gives back the reserved space behind the last frame, where nobody appends any more.
    pub(crate) fn trim(&self, len: u64) -> Result<()> {
        let trimmed = self.file.truncate(len);
        trimmed.map_err(|error| Error::io(&self.path, "trim the log", &error))
    }

    /// What the log holds; `None` while it is written to.
    pub(crate) fn sealed(&self) -> Option<Extent> {
        self.sealed.get().copied()
    }

    /// Notes that all written so far is durable: the caller had its bytes synced, and then the
    /// directory.
    pub(crate) fn note_durable(&self) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).named = true;
        self.synced.store(self.written(), Ordering::Release);
    }

    /// Makes the log's bytes durable, whatever is of the logs before it. Its name is left to
    /// whoever gives it another one.
    ///
    /// # Errors
    /// `Io`. What is durable is unknown then, and every later sync fails too.
    pub(crate) fn sync_bytes(&self) -> Result<()> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &progress.failed {
            return Err(error.clone());
        }
        let synced = self.file.sync();
        let synced = synced.map_err(|error| Error::io(&self.path, "sync the log", &error));
        progress.failed = synced.as_ref().err().cloned();
        synced
    }

    /// The log's writes are all in tables: from here on it may be removed.
    pub(crate) fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }

    /// The log is not written to any more.
    fn rest(&self) {
        self.file.rest();
    }

    /// Makes the log durable up to a frame, and all logs before it wholly.
    ///
    /// # Errors
    /// `Io`. What is durable is unknown then, and every later call fails too.
    pub(crate) fn sync_through(&self, frame: u64) -> Result<()> {
        if self.synced.load(Ordering::Acquire) >= frame {
            return Ok(());
        }
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if self.synced.load(Ordering::Acquire) >= frame {
            return Ok(());
        }
        if let Some(error) = &progress.failed {
            return Err(error.clone());
        }
        let synced = self.sync_file(&mut progress);
        progress.failed = synced.as_ref().err().cloned();
        synced
    }

    fn sync_file(&self, progress: &mut SyncProgress) -> Result<()> {
        if let Some(predecessor) = progress.predecessor.upgrade() {
            predecessor.sync_all()?;
            progress.predecessor = Weak::new();
        }
        let written = self.written.load(Ordering::Acquire);
        let failed = |error| Error::io(&self.path, "sync the log", &error);
        self.file.sync().map_err(failed)?;
        if !self.file.has_name() && !self.is_retired.load(Ordering::Acquire) {
            return Err(Error::new(
                ErrorKind::Io,
                "the file was removed from its directory, and what it holds ends with this process: \
                 copy the data out, and open another database",
            )
            .in_file(&self.path));
        }
        if !progress.named {
            let directory = self.path.parent().unwrap_or_else(|| Path::new("."));
            self.fs.sync_dir(directory).map_err(failed)?;
            progress.named = true;
        }
        self.synced.store(written, Ordering::Release);
        Ok(())
    }

    /// Number of the last frame of the last record that was appended.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Makes everything written so far durable.
    pub(crate) fn sync_all(&self) -> Result<()> {
        self.sync_through(self.written())
    }
}
