//! The database's state, shared by its keyspaces, handles, iterators and workers.
//!
//! Locks, in the order in which they may be taken:
//!
//! 1. `writer`: held while a write is logged, applied and published; never while waiting for
//!    room, nor for a disk except to append to the log, to begin the next one and to change the
//!    list of keyspaces or operators.
//! 2. `background.flushing`: held while sealed memtables are flushed.
//! 3. `tree`: held while the manifest is written and the next version made.
//! 4. the views' own locks, the list of keyspaces, that of sealed memtables, and the background's
//!    state: held for a pointer's worth of work.
//!
//! Before all of these `background.alone` and `background.collecting` are taken, by who compacts on
//! a thread of his own and by who merges segments. Readers take none of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use crate::db::throttle::writer_lock::{WriterGuard, WriterLock};
use foldb_chains::Pins;
use foldb_env::{FileLock, scheduling_point};

use crate::counters::Totals;
use crate::db::state::background::Background;
use crate::db::state::buffers::SealedGroups;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::read_folds::ReadFolds;
use crate::db::state::snapshots::SnapshotList;
use crate::db::state::tree::Tree;
use crate::db::state::writer::WriterState;
use crate::error::{Error, ErrorKind, Result};
use crate::events::{DroppedTail, Events};
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
use crate::wal::LogSync;

/// Everything a database is made of.
pub(crate) struct Core {
    /// What the caller gave: its handles, and what it said.
    pub(crate) options: Options,
    /// What the engine works by.
    pub(crate) settings: Settings,
    pub(crate) names: FileNames,
    /// Identity of the database, in all its files.
    pub(crate) database: u64,
    pub(crate) registry: Arc<Registry>,

    /// The keyspace that needs no name.
    pub(crate) default: Arc<KeyspaceState>,
    /// All that exist, the default one included, by name.
    pub(crate) keyspaces: RwLock<BTreeMap<Arc<str>, Arc<KeyspaceState>>>,

    pub(crate) writer: WriterLock<WriterState>,
    /// Last sequence number that reads may see, and how far readers hold on to it.
    pub(crate) pins: Pins,
    pub(crate) sealed: SealedGroups,
    pub(crate) snapshots: SnapshotList,
    pub(crate) tree: Mutex<Tree>,
    pub(crate) next_file: AtomicU64,
    /// The logs on disk, and of those begun since the open what syncs them.
    pub(crate) logs: Mutex<Vec<(u64, Option<Arc<LogSync>>)>>,

    pub(crate) cache: Arc<BlockCache>,
    /// What it shares with other databases.
    pub(crate) runtime: Runtime,
    /// Its number there.
    pub(crate) member: u64,
    /// Of a read-only open: its tables and segment files, which stay open.
    pub(crate) _held: Option<HeldFiles>,
    pub(crate) segment_files: Arc<SegmentFiles>,
    pub(crate) background: Background,
    pub(crate) totals: Arc<Totals>,
    pub(crate) events: Events,
    pub(crate) read_folds: ReadFolds,
    /// How often somebody waited for a log to be durable.
    pub(crate) syncs: AtomicU64,

    /// Whether it was opened by [`crate::Db::open_read_only`]: nothing is written then, and
    /// `env.fs` could not.
    pub(crate) read_only: bool,
    /// Why the database takes no writes until it is reopened.
    pub(crate) poison: OnceLock<Error>,
    pub(crate) closed: AtomicBool,
    /// What the close came to, once it is done; held while it is under way.
    pub(crate) close_outcome: Mutex<Option<Result<()>>>,
    /// What the open found behind the ends of manifest and logs, and left out.
    pub(crate) dropped: Vec<DroppedTail>,
    /// The directory's; let go at the end of the close, with the tree locked.
    pub(crate) lock: Mutex<Option<Box<dyn FileLock>>>,
}

impl Core {
    /// # Errors
    /// `Closed` after the database was closed.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, "the database is closed; open it again"));
        }
        Ok(())
    }

    /// # Errors
    /// `Closed`, `ReadOnly`, or `Poisoned` after a failed sync or a panic in the background.
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
    /// `Poisoned` after a failed sync or a panic in the background.
    #[inline]
    pub(crate) fn check_sound(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            // Of a panic: it says all there is to say.
            Some(cause) if cause.kind() == ErrorKind::Poisoned => Err(cause.clone()),
            Some(cause) => Err(Error::new(
                ErrorKind::Poisoned,
                format!("what is durable is unknown since a sync failed ({cause}); reopen"),
            )),
        }
    }

    /// Refuses writes from now on: something that had to be durable may not be, or what is in
    /// memory may not be what it should.
    pub(crate) fn poison(&self, cause: &Error) {
        let _already_poisoned = self.poison.set(cause.clone());
    }

    pub(crate) fn lock_writer(&self) -> WriterGuard<'_, WriterState> {
        scheduling_point();
        self.writer.lock()
    }

    pub(crate) fn lock_tree(&self) -> MutexGuard<'_, Tree> {
        scheduling_point();
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn new_file_number(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// All keyspaces that exist, by name.
    pub(crate) fn all_keyspaces(&self) -> Vec<Arc<KeyspaceState>> {
        let keyspaces = self.keyspaces.read().unwrap_or_else(PoisonError::into_inner);
        keyspaces.values().cloned().collect()
    }

    /// How tables of a level of a keyspace are built.
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
            operators: self.registry.resolver().definitions().cloned().collect(),
        }
    }

    /// What one step of background work may take in memory.
    pub(crate) fn work_memory(&self) -> WorkMemory {
        self.runtime.work_memory()
    }

    /// Last sequence number applied and published.
    pub(crate) fn published(&self) -> SeqNo {
        self.pins.published()
    }
}
