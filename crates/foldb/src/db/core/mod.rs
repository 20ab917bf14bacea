//! The state of a database, which its keyspaces, handles, iterators and workers share.
//!
//! Locks, in the order in which a thread may take them:
//!
//! 1. `background.flushing`: held while sealed memtables are flushed. Then `background.dropping`:
//!    held during a slice of a compaction.
//! 2. `writer`: held while a write is logged, applied and published. It is never held during a
//!    stall. Its holder uses the disk only to append to the log, to begin the next log, or to
//!    change keyspaces or operators.
//! 3. `tree`: held while the manifest is written and the next version is made.
//! 4. the locks of the views, the list of keyspaces, the sealed memtables and the background state:
//!    held for a few instructions.
//!
//! A thread takes two more locks before these four: `background.alone` if a caller compacts on its
//! own thread, and `background.collecting` for garbage collection of value segments. Readers take
//! none of these locks.
//!
//! Operators and comparators run under all of them but the fourth kind, and may call the database.
//! A call of theirs that would wait for a lock of their own thread is refused
//! ([`Core::check_not_inside`]). It is refused even if it needs a lock of an earlier place in this
//! order that another thread holds: that thread may wait for the later lock.

mod archive;
mod failures;
mod files;
mod manifest;
pub(crate) mod operators;
mod time;
mod workers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crate::db::state::writer_lock::{WriterGuard, WriterLock};
use foldb_chains::Pins;
use foldb_env::{FileLock, Process, scheduling_point};

use crate::counters::Totals;
use crate::db::state::background::Background;
use crate::db::state::buffers::SealedGroups;
use crate::db::state::chain::Chain;
use crate::db::state::fronts::Fronts;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::reserve::Reserve;
use crate::db::state::snapshots::SnapshotList;
use crate::db::state::time::DatabaseTime;
use crate::db::state::transactions::OpenTransactions;
use crate::db::state::tree::{TreeGuard, TreeLock};
use crate::db::state::writer::WriterState;
use crate::error::{Error, ErrorKind, Result};
use crate::events::{DroppedTail, Events};
use crate::faults::{Fault, planted};
use crate::files::FileNames;
use crate::files::HeldFiles;
use crate::fold::Registry;
use crate::key::SeqNo;
use crate::options::Options;
use crate::rewriting::memory::WorkMemory;
use crate::runtime::Runtime;
use crate::segment::SegmentFiles;
use crate::settings::{Compression, Settings};
use crate::table::{BlockCache, TableBuilderOptions};
use crate::user_code::must_not_wait;
use crate::wal::LogSync;

/// The state of one database.
pub(crate) struct Core {
    /// The caller's options, with its environment, operators and listeners.
    pub(crate) options: Options,
    /// The settings that the engine works with.
    pub(crate) settings: Settings,
    pub(crate) names: FileNames,
    /// The identity of the database, which all its files carry.
    pub(crate) database: u64,
    pub(crate) registry: Arc<Registry>,

    /// The default keyspace.
    pub(crate) default: Arc<KeyspaceState>,
    /// All existing keyspaces by name, the default one included.
    pub(crate) keyspaces: RwLock<BTreeMap<Arc<str>, Arc<KeyspaceState>>>,

    pub(crate) writer: WriterLock<WriterState>,
    /// The last sequence number that reads may see, and the numbers that readers have pinned.
    pub(crate) pins: Pins,
    pub(crate) sealed: SealedGroups,
    pub(crate) snapshots: SnapshotList,
    pub(crate) tree: TreeLock,
    pub(crate) next_file: AtomicU64,
    /// The logs on disk, by number. A log begun since the open has the handle that syncs it.
    pub(crate) logs: Mutex<Vec<(u64, Option<Arc<LogSync>>)>>,

    /// The logs of the change feed; `None` if logs are not kept for it.
    pub(crate) feed: Option<Chain>,

    pub(crate) cache: Arc<BlockCache>,
    /// The runtime, which other databases may share.
    pub(crate) runtime: Runtime,
    /// The number of this database in the runtime.
    pub(crate) member: u64,
    /// The tables and segment files of a read-only open, which stay open.
    pub(crate) _held: Option<HeldFiles>,
    pub(crate) segment_files: Arc<SegmentFiles>,
    pub(crate) background: Background,
    /// Runs a step of background work on the thread of a caller that waits for it. The floor of the
    /// work knows how.
    pub(crate) step: fn(&Core) -> Result<bool>,
    pub(crate) totals: Arc<Totals>,
    pub(crate) events: Events,
    /// The time by which entries expire.
    pub(crate) time: DatabaseTime,
    pub(crate) transactions: OpenTransactions,
    pub(crate) fronts: Fronts,
    /// How often a thread waited for a log to be durable.
    pub(crate) syncs: AtomicU64,

    /// The space that deletes may use when the disk is full.
    pub(crate) reserve: Reserve,

    /// Whether [`crate::Db::open_read_only`] opened the database. If so, the engine writes nothing,
    /// and `env.fs` rejects writes.
    pub(crate) read_only: bool,
    /// Why the database takes no writes until it is reopened.
    pub(crate) poison: OnceLock<Error>,
    pub(crate) closed: AtomicBool,
    /// The process that opened the database.
    pub(crate) process: Process,
    /// The outcome of the close, once it is done. Held while the close runs.
    pub(crate) close_outcome: Mutex<Option<Result<()>>>,
    /// The bytes after the valid ends of the manifest and the logs, which the open dropped.
    pub(crate) dropped: Vec<DroppedTail>,
    /// The directory's lock. The close releases it at its end, with the tree locked.
    pub(crate) lock: Mutex<Option<Box<dyn FileLock>>>,
}

impl Core {
    /// Checks that this process opened the database. A fork has a copy of the memory, in which
    /// locks may be held by threads that the fork does not have, so a caller checks before it
    /// waits.
    ///
    /// # Errors
    /// `Forked` in a fork of the process that opened the database.
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.process.is_current() { Ok(()) } else { Err(Error::forked()) }
    }

    /// # Errors
    /// `Closed` after the database was closed; see [`Core::check_process`].
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.check_process()?;
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, "the database is closed; open it again"));
        }
        Ok(())
    }

    /// # Errors
    /// `Forked`, `Closed`, `ReadOnly`; see [`Core::check_sound`].
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.read_only {
            return Err(Error::new(
                ErrorKind::ReadOnly,
                "the database was opened read-only; open it with Db::open to write",
            ));
        }
        self.check_sound()
    }

    /// # Errors
    /// `Poisoned` after a failed sync or a panic in the background. `DirectoryLost` if the
    /// directory was elsewhere in the middle of a change.
    #[inline]
    pub(crate) fn check_sound(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(cause) => Err(poisoned(cause)),
        }
    }

    /// Makes all later writes fail: data that had to be durable may not be, or memory may be wrong.
    pub(crate) fn poison(&self, cause: &Error) {
        let _already_poisoned = self.poison.set(cause.clone());
    }

    /// Notes that a sync of a log failed. All later writes fail, because it is unknown which writes
    /// are durable. Only a sync that found the directory elsewhere may be tried again.
    pub(crate) fn note_failed_sync(&self, cause: &Error) {
        if cause.kind() != ErrorKind::DirectoryLost {
            self.poison(cause);
        }
    }

    /// Takes the writer lock.
    ///
    /// # Errors
    /// `Reentrant`; see [`Core::check_not_inside`].
    #[inline]
    pub(crate) fn lock_writer(&self) -> Result<WriterGuard<'_, WriterState>> {
        scheduling_point();
        match self.writer.lock_unless_pressed() {
            Some(writer) => Ok(writer),
            None => self.wait_for_writer(),
        }
    }

    #[cold]
    fn wait_for_writer(&self) -> Result<WriterGuard<'_, WriterState>> {
        self.check_not_inside()?;
        Ok(self.writer.lock())
    }

    /// Takes the tree lock. A call that the caller's code may make inside a comparator comes here
    /// only after [`Core::check_not_inside`].
    pub(crate) fn lock_tree(&self) -> TreeGuard<'_> {
        scheduling_point();
        self.tree.lock()
    }

    /// Checks that this thread holds no lock under which the engine calls the caller's code.
    ///
    /// # Errors
    /// `Reentrant` if it does. Then that code makes the call.
    pub(crate) fn check_not_inside(&self) -> Result<()> {
        match self.writer.is_held_here() || self.tree.is_held_here() {
            true => Err(Error::reentrant()),
            false => Ok(()),
        }
    }

    /// Returns whether this thread runs code that background work of this database may wait for.
    pub(crate) fn must_not_wait(&self) -> bool {
        must_not_wait(self.events.mark()) || self.check_not_inside().is_err()
    }

    /// Checks that a call may wait for background work.
    ///
    /// # Errors
    /// `Forked` in a fork, which has no workers. `Reentrant` on a worker, and inside the caller's
    /// code that this database calls in the background or under a lock.
    pub(crate) fn check_may_wait(&self) -> Result<()> {
        self.check_process()?;
        if !self.must_not_wait() || planted(Fault::CloseInCallback) {
            return Ok(());
        }
        Err(Error::reentrant())
    }

    /// Checks that this thread may pin, which waits for the end of a write in progress.
    ///
    /// # Errors
    /// `Reentrant` inside an operator or comparator that this write calls.
    pub(crate) fn check_may_pin(&self) -> Result<()> {
        match self.writer.is_held_here() && self.pins.is_applying() {
            true => Err(Error::reentrant()),
            false => Ok(()),
        }
    }

    /// Pins the last sequence number that reads may see.
    ///
    /// # Errors
    /// See [`Core::check_may_pin`].
    pub(crate) fn pin(&self) -> Result<SeqNo> {
        self.check_may_pin()?;
        Ok(self.pins.pin())
    }

    pub(crate) fn new_file_number(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns all existing keyspaces, by name; in a fork, the default one.
    pub(crate) fn all_keyspaces(&self) -> Vec<Arc<KeyspaceState>> {
        if !self.process.is_current() {
            return vec![Arc::clone(&self.default)];
        }
        let keyspaces = self.keyspaces.read().unwrap_or_else(PoisonError::into_inner);
        keyspaces.values().cloned().collect()
    }

    /// Shows all existing keyspaces, by name, to a function that does not wait.
    pub(crate) fn look_at_keyspaces<T>(
        &self,
        look: impl FnOnce(&mut dyn Iterator<Item = &Arc<KeyspaceState>>) -> T,
    ) -> T {
        if !self.process.is_current() {
            return look(&mut std::iter::once(&self.default));
        }
        look(&mut self.keyspaces.read().unwrap_or_else(PoisonError::into_inner).values())
    }

    pub(crate) fn find_keyspace(&self, name: &str) -> Option<Arc<KeyspaceState>> {
        self.keyspaces.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Returns how to build tables for a level of a keyspace.
    pub(crate) fn table_options(
        &self,
        keyspace: &KeyspaceState,
        level: usize,
    ) -> TableBuilderOptions {
        let compress = level >= self.settings.min_level_to_compress;
        let settings = &keyspace.settings;
        TableBuilderOptions {
            path: PathBuf::new(),
            file_number: 0,
            database_id: self.database,
            keyspace: keyspace.id,
            comparator: Arc::clone(&keyspace.comparator),
            block_size: self.settings.block_size,
            compression: if compress { settings.compression } else { Compression::None },
            filter_bits: settings.filter_bits(keyspace.num_levels, level),
            filter_policy: keyspace.filter_policy.clone(),
            operators: self.registry.resolver().definitions().cloned().collect(),
            expiry: settings.expiry,
        }
    }

    /// Returns the memory that one step of background work may take.
    pub(crate) fn work_memory(&self) -> WorkMemory {
        self.runtime.work_memory()
    }

    /// Returns the last sequence number that was applied and published.
    pub(crate) fn published(&self) -> SeqNo {
        self.pins.published()
    }
}

/// Closes the database when the last handle is dropped. Workers hold the core, not this handle.
pub(crate) struct Handle {
    pub(crate) core: Arc<Core>,
    /// Closes the database. The floor that opened it knows how.
    pub(crate) close: fn(&Arc<Core>),
}

impl Drop for Handle {
    fn drop(&mut self) {
        (self.close)(&self.core);
    }
}

/// Returns the error of writes to a database that `cause` poisoned.
#[cold]
fn poisoned(cause: &Error) -> Error {
    match cause.kind() {
        // A panic's error already says what to do.
        ErrorKind::Poisoned => cause.clone(),
        ErrorKind::DirectoryLost => Error::new(
            ErrorKind::DirectoryLost,
            format!("{cause}; this was noticed during a change, so reopen the database"),
        ),
        _ => Error::new(
            ErrorKind::Poisoned,
            format!("a sync failed ({cause}), so durability is unknown; reopen the database"),
        ),
    }
}
