//! Syncs a log while appends continue. Threads share this part of a log.
//!
//! One `fdatasync` serves every caller whose frames were written before it began. The first caller
//! leads: it syncs for all that wait. Callers that arrive during a sync wait for the next one.
//!
//! Four threads that each append and sync would form groups of one and three: while one leads, the
//! others arrive. So a leader first waits for as many callers as were there at the last sync, for
//! at most a fraction of the time that a sync takes. One thread alone never waits. PostgreSQL's
//! `commit_delay` and `commit_siblings` follow the same idea with fixed numbers.
//!
//! Invariants: at most one thread syncs at a time, and no frame counts as synced before its bytes,
//! the log's name and all earlier logs are on the medium (H11).
//!
//! The numbers of frames are stored with `Release` and read with `Acquire`. A thread that sees a
//! number also sees the bytes of its frames, or their durability.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use foldb_env::{FileSystem, WritableFile};

use crate::error::{Error, ErrorKind, Result};
use crate::locks::rank::LOG_SYNC;
use crate::locks::{Condition, Lock, LockGuard};
use crate::wal::format::Extent;

/// A leader waits for other callers for at most the time of the last sync divided by this number.
const GATHER_SHARE: u32 = 4;
/// No leader waits longer for other callers.
const LONGEST_GATHERING: Duration = Duration::from_millis(1);

/// The part of a log that threads share: any thread may sync through it.
#[derive(Debug)]
pub(crate) struct LogSync {
    pub(super) file: Arc<dyn WritableFile>,
    pub(super) path: PathBuf,
    fs: Arc<dyn FileSystem>,
    /// Last frame passed to the operating system.
    written: AtomicU64,
    /// Last frame that no failed write takes back. What keeps frames reads only these.
    settled: AtomicU64,
    /// Last frame known to be on the medium.
    synced: AtomicU64,
    /// Bytes of memory of the list that says where values lie in the log.
    noted: AtomicUsize,
    /// Whether tables hold all its writes, so that its file may be unlinked.
    is_retired: AtomicBool,
    /// Whether bytes of a failed append may lie behind the frames.
    has_remains: AtomicBool,
    /// The log's extent, once it takes no more writes.
    sealed: OnceLock<Extent>,
    progress: Lock<SyncProgress, LOG_SYNC>,
    /// Signals the end of a sync to the callers that wait for it.
    ended: Condition,
    /// Signals to a leader that the callers it expects are there.
    gathered: Condition,
}

#[derive(Debug)]
struct SyncProgress {
    /// Whether a thread leads: it gathers callers or syncs.
    leads: bool,
    /// Callers of [`LogSync::sync_through`] that have come since the last sync began.
    waiting: usize,
    /// Syncs begun. A caller that came before a sync began is no longer in `waiting`.
    begun: u64,
    /// Callers that the next sync is expected to serve.
    expected: usize,
    /// How long the last sync took.
    last_sync: Duration,
    /// Whether the log's name is durable.
    named: bool,
    /// The log before this one, until all of that log is known to be on the medium. Before that, no
    /// frame of this log may count as synced (H11). The reference is weak, because a log that is
    /// never synced must not keep all earlier logs open. Once tables hold all writes of the earlier
    /// log, it may be dropped.
    predecessor: Weak<LogSync>,
    /// Why a sync failed. The kernel reports lost writes once, so a second sync that succeeds
    /// proves nothing about them.
    failed: Option<Error>,
}

impl LogSync {
    /// Makes the shared part of a new log.
    pub(super) fn new(
        file: Arc<dyn WritableFile>,
        fs: &Arc<dyn FileSystem>,
        path: &Path,
        predecessor: Weak<LogSync>,
    ) -> LogSync {
        LogSync {
            file,
            path: path.to_owned(),
            fs: Arc::clone(fs),
            written: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            noted: AtomicUsize::new(0),
            is_retired: AtomicBool::new(false),
            has_remains: AtomicBool::new(false),
            sealed: OnceLock::new(),
            progress: Lock::new(SyncProgress {
                leads: false,
                waiting: 0,
                begun: 0,
                expected: 1,
                last_sync: Duration::ZERO,
                named: false,
                predecessor,
                failed: None,
            }),
            ended: Condition::default(),
            gathered: Condition::default(),
        }
    }

    /// Returns the bytes of memory that the log's buffers and mapped window use now.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.file.memory_bytes() + self.noted.load(Ordering::Relaxed)
    }

    /// Returns the free bytes of the log's disk; `None` if it does not tell.
    pub(crate) fn free_space(&self) -> Option<u64> {
        self.file.free_space()
    }

    /// Returns whether an append needs no system call.
    pub(crate) fn is_mapped(&self) -> bool {
        self.file.is_mapped()
    }

    /// Sets the bytes of memory of the list that says where values lie in the log.
    #[inline]
    pub(crate) fn note_memory(&self, bytes: usize) {
        self.noted.store(bytes, Ordering::Relaxed);
    }

    /// Releases the reserved space after the last frame. No writer appends any more.
    pub(crate) fn trim(&self, len: u64) -> Result<()> {
        let trimmed = self.file.truncate(len);
        trimmed.map_err(|error| Error::io(&self.path, "trim the log", &error))
    }

    /// Notes the log's extent: it takes no more writes.
    pub(super) fn seal(&self, extent: Extent) {
        self.file.rest();
        assert!(self.sealed.set(extent).is_ok(), "a log is sealed once");
    }

    /// Returns the extent of the frames; `None` while the log takes writes.
    pub(crate) fn sealed(&self) -> Option<Extent> {
        self.sealed.get().copied()
    }

    /// Notes that tables hold all the log's writes, so the log may be removed.
    pub(crate) fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }

    /// Sets the number of the last frame of the last appended record.
    #[inline]
    pub(super) fn note_written(&self, frame: u64) {
        debug_assert!(self.sealed.get().is_none(), "a sealed log takes no more frames");
        self.written.store(frame, Ordering::Release);
    }

    /// Returns the number of the last frame of the last appended record. The write may still fail:
    /// see [`LogSync::settled`].
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Notes that the frames up to this one are never taken back.
    #[inline]
    pub(super) fn settle(&self, frame: u64) {
        debug_assert!(frame <= self.written(), "a frame is written before it is settled");
        self.settled.store(frame, Ordering::Release);
    }

    /// Returns the number of the last frame that is never taken back. Readers of the database see
    /// the writes up to it.
    pub(crate) fn settled(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    /// Returns the number of the last frame that is known to be durable.
    pub(crate) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// Notes that all frames written so far are durable. The caller has synced the bytes and then
    /// the directory.
    pub(crate) fn note_durable(&self) {
        self.lock().named = true;
        self.synced.store(self.written(), Ordering::Release);
    }

    /// Notes that the frames behind `frame` were removed. A sync for another caller may have
    /// counted them as durable meanwhile, and the next frames get their numbers. No sync is under
    /// way that still counts them: the caller has synced the bytes since.
    ///
    /// ```text
    /// append 6, its sync fails, another sync through 6 succeeds, 6 is removed, append another 6
    /// ```
    pub(crate) fn forget_synced_above(&self, frame: u64) {
        debug_assert!(self.written() <= frame, "frames that are left in the log stay synced");
        self.synced.fetch_min(frame, Ordering::AcqRel);
    }

    /// Notes that bytes of a failed append may lie behind the frames.
    pub(super) fn note_remains(&self) {
        self.has_remains.store(true, Ordering::Release);
    }

    /// Returns whether the log's name and all frames written so far are durable, with nothing but
    /// zeroes behind them, whatever part of a trim is durable.
    pub(crate) fn is_durable(&self) -> bool {
        let has_remains = self.has_remains.load(Ordering::Acquire);
        !has_remains && self.lock().named && self.synced() == self.written()
    }

    /// Makes the log's bytes durable, whatever the state of the logs before it. A caller that gives
    /// the file another name makes that name durable.
    ///
    /// # Errors
    /// `Io` if the sync fails. It is then unknown which bytes are durable, and every later sync
    /// fails too.
    pub(crate) fn sync_bytes(&self) -> Result<()> {
        let mut progress = self.lock();
        while progress.leads {
            progress = self.ended.wait(progress);
        }
        if let Some(error) = &progress.failed {
            return Err(error.clone());
        }
        let lead = Lead::begin(self, progress);
        let synced = self.file.sync().map_err(|error| self.failure(&error));
        lead.end(&synced);
        synced
    }

    /// Makes everything written so far durable.
    pub(crate) fn sync_all(&self) -> Result<()> {
        self.sync_through(self.written())
    }

    /// Makes the log durable up to a frame, and all logs before it completely.
    ///
    /// # Errors
    /// `Io` if a sync fails. It is then unknown which writes are durable, and every later call
    /// fails too. `DirectoryLost` until the directory is back in its place.
    pub(crate) fn sync_through(&self, frame: u64) -> Result<()> {
        if self.synced() >= frame {
            return Ok(());
        }
        let mut progress = self.lock();
        progress.waiting += 1;
        let came_after = progress.begun;
        if progress.waiting == progress.expected {
            self.gathered.notify_one();
        }
        // One look decides: a leader may store a smaller number after records were retracted.
        let mut is_synced = self.synced() >= frame;
        while progress.leads && !is_synced {
            progress = self.ended.wait(progress);
            is_synced = self.synced() >= frame;
        }
        let outcome = match &progress.failed {
            _ if is_synced => Ok(()),
            Some(error) => Err(error.clone()),
            None => return self.lead(progress),
        };
        if progress.begun == came_after {
            progress.waiting -= 1;
        }
        outcome
    }

    /// Gathers callers, and syncs for all of them.
    fn lead(&self, progress: LockGuard<'_, SyncProgress, LOG_SYNC>) -> Result<()> {
        let lead = Lead::begin(self, progress);
        let mut progress = self.gather();
        progress.begun += 1;
        let served = std::mem::take(&mut progress.waiting);
        let (named, predecessor) = (progress.named, progress.predecessor.upgrade());
        // A caller that waits has written its frames.
        let written = self.written();
        drop(progress);
        let begin = Instant::now();
        let synced = self.sync_file(named, predecessor.as_deref());
        let mut progress = self.lock();
        progress.last_sync = begin.elapsed();
        progress.expected = served + progress.waiting;
        if synced.is_ok() {
            progress.named = true;
            progress.predecessor = Weak::new();
            self.synced.store(written, Ordering::Release);
        }
        drop(progress);
        lead.end(&synced);
        synced
    }

    /// Waits until the expected callers are there, or for a fraction of the time of a sync.
    fn gather(&self) -> LockGuard<'_, SyncProgress, LOG_SYNC> {
        let progress = self.lock();
        let most = (progress.last_sync / GATHER_SHARE).min(LONGEST_GATHERING);
        let are_missing = |progress: &mut SyncProgress| progress.waiting < progress.expected;
        self.gathered.wait_while_for(progress, are_missing, most)
    }

    fn sync_file(&self, named: bool, predecessor: Option<&LogSync>) -> Result<()> {
        if let Some(predecessor) = predecessor {
            predecessor.sync_all()?;
        }
        self.file.sync().map_err(|error| self.failure(&error))?;
        if !self.file.has_name() && !self.is_retired.load(Ordering::Acquire) {
            return Err(Error::new(
                ErrorKind::Io,
                "the file was removed from its directory, and what it holds ends with this process: \
                 copy the data out, and open another database",
            )
            .in_file(&self.path));
        }
        if !named {
            let directory = self.path.parent().unwrap_or_else(|| Path::new("."));
            self.fs.sync_dir(directory).map_err(|error| self.failure(&error))?;
        }
        Ok(())
    }

    /// Returns how many callers the next leader waits for.
    #[cfg(test)]
    pub(super) fn expected(&self) -> usize {
        self.lock().expected
    }

    fn failure(&self, error: &std::io::Error) -> Error {
        Error::io(&self.path, "sync the log", error)
    }

    fn lock(&self) -> LockGuard<'_, SyncProgress, LOG_SYNC> {
        self.progress.lock()
    }
}

/// A thread's lead. Dropped by a panic, it lets the next caller lead.
struct Lead<'a> {
    sync: &'a LogSync,
}

impl<'a> Lead<'a> {
    fn begin(sync: &'a LogSync, mut progress: LockGuard<'_, SyncProgress, LOG_SYNC>) -> Lead<'a> {
        assert!(!progress.leads, "one thread at a time leads the syncs of a log");
        progress.leads = true;
        Lead { sync }
    }

    /// Ends the lead with the outcome of its sync. If the directory is elsewhere, the bytes are
    /// durable and the name is not yet: a later sync may still make it so.
    fn end(self, synced: &Result<()>) {
        if let Err(error) = synced
            && error.kind() != ErrorKind::DirectoryLost
        {
            self.sync.lock().failed = Some(error.clone());
        }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.sync.lock().leads = false;
        self.sync.ended.notify_all();
    }
}
