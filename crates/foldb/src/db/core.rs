//! The database's state, shared by its handles, iterators and workers.
//!
//! Locks, in the order in which they may be taken:
//!
//! 1. `writer`: held while a write is logged, applied and published; never while waiting for a disk
//!    except to append to the log.
//! 2. `background.flushing`: held while sealed memtables are flushed.
//! 3. `tree`: held while the manifest is written and the next version made.
//! 4. the view's own lock, and that of the background's state: held for a pointer's worth of work.
//!
//! Readers take none of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foldb_chains::{ArenaPool, Pins};
use foldb_env::FileLock;

use crate::compaction::policy::Policy;
use crate::db::background::Background;
use crate::db::snapshot::SnapshotList;
use crate::db::tree::Tree;
use crate::db::view::ViewCell;
use crate::db::write::WriterState;
use crate::error::{Error, ErrorKind, Result};
use crate::fold::{Definition, Operator, Registry};
use crate::key::{Comparator, DEFAULT_KEYSPACE, SeqNo};
use crate::options::{Compression, Options};
use crate::table::{BlockCache, TableBuilderOptions};
use crate::totals::Totals;
use crate::version::{FileNames, OpenTables, Trash};
use crate::wal::LogSync;

/// Everything a database is made of.
pub(crate) struct Core {
    pub(crate) options: Options,
    pub(crate) names: FileNames,
    /// Identity of the database, in all its files.
    pub(crate) database: u64,
    pub(crate) comparator: Arc<dyn Comparator>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) default_operator: Option<Operator>,
    pub(crate) policy: Policy,

    pub(crate) writer: Mutex<WriterState>,
    /// Last sequence number that reads may see, and how far readers hold on to it.
    pub(crate) pins: Pins,
    pub(crate) view: ViewCell,
    pub(crate) snapshots: SnapshotList,
    pub(crate) tree: Mutex<Tree>,
    pub(crate) next_file: AtomicU64,
    /// The logs on disk, and of those begun since the open what syncs them.
    pub(crate) logs: Mutex<Vec<(u64, Option<Arc<LogSync>>)>>,

    pub(crate) tables: Arc<OpenTables>,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) arenas: Arc<ArenaPool>,
    pub(crate) trash: Arc<Trash>,
    pub(crate) background: Background,
    pub(crate) totals: Arc<Totals>,

    /// Why the database takes no writes until it is reopened.
    pub(crate) poison: OnceLock<Error>,
    pub(crate) closed: AtomicBool,
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
    /// `Closed`, or `Poisoned` after a failed sync.
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        self.check_sound()
    }

    /// # Errors
    /// `Poisoned` after a failed sync.
    #[inline]
    pub(crate) fn check_sound(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(cause) => Err(Error::new(
                ErrorKind::Poisoned,
                format!("what is durable is unknown since a sync failed ({cause}); reopen"),
            )),
        }
    }

    /// Refuses writes from now on: something that had to be durable may not be.
    pub(crate) fn poison(&self, cause: &Error) {
        let _already_poisoned = self.poison.set(cause.clone());
    }

    pub(crate) fn lock_writer(&self) -> MutexGuard<'_, WriterState> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn new_file_number(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// How tables of a level are built.
    pub(crate) fn table_options(&self, level: usize) -> TableBuilderOptions {
        let operators = self.registry.resolver().definitions().cloned().collect();
        table_options(&self.options, self.database, &self.comparator, level, operators)
    }

    /// Microseconds by the database's clock.
    pub(crate) fn now_micros(&self) -> u64 {
        self.options.env.clock.now().as_micros() as u64
    }

    /// Last sequence number applied and published.
    pub(crate) fn published(&self) -> SeqNo {
        self.pins.published()
    }
}

/// How tables of a level are built.
pub(crate) fn table_options(
    options: &Options,
    database: u64,
    comparator: &Arc<dyn Comparator>,
    level: usize,
    operators: Arc<[Definition]>,
) -> TableBuilderOptions {
    let compress = level >= options.min_level_to_compress;
    TableBuilderOptions {
        path: PathBuf::new(),
        file_number: 0,
        database_id: database,
        keyspace: DEFAULT_KEYSPACE,
        comparator: Arc::clone(comparator),
        block_size: options.block_size,
        compression: if compress { options.compression } else { Compression::None },
        filter_bits: options.filter_bits(level),
        operators,
    }
}
