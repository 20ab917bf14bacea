//! The state of a database, which its keyspaces, handles, iterators and workers share.
//!
//! [`crate::locks::rank`] has all locks, in the order in which a thread may take them. No thread
//! holds the writer lock during a stall. Its holder uses the disk only to append to the log, to
//! begin the next log, or to change keyspaces or operators.
//!
//! Operators and comparators run under the locks down to the tree's, and may call the database.
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

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::db::state::writer_lock::{WriterGuard, WriterLock};
use foldb_chains::Pins;
use foldb_env::scheduling_point;

use crate::counters::Totals;
use crate::db::state::background::Background;
use crate::db::state::buffers::SealedGroups;
use crate::db::state::chain::Chain;
use crate::db::state::fronts::Fronts;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::keyspaces::Keyspaces;
use crate::db::state::last_close::LastClose;
use crate::db::state::logs::Logs;
use crate::db::state::ownership::Ownership;
use crate::db::state::reserve::Reserve;
use crate::db::state::snapshots::SnapshotList;
use crate::db::state::standing::Standing;
use crate::db::state::time::DatabaseTime;
use crate::db::state::transactions::OpenTransactions;
use crate::db::state::tree::{TreeGuard, TreeLock};
use crate::db::state::writer::WriterState;
use crate::error::{Error, Result};
use crate::events::{DroppedTail, Events};
use crate::faults::{Fault, planted};
use crate::files::FileNames;
use crate::files::HeldFiles;
use crate::fold::Registry;
use crate::key::SeqNo;
use crate::options::Options;
use crate::recording::Recorder;
use crate::rewriting::memory::WorkMemory;
use crate::runtime::Runtime;
use crate::segment::SegmentFiles;
use crate::settings::{Compression, Settings};
use crate::table::{BlockCache, TableBuilderOptions};
use crate::user_code::must_not_wait;

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

    pub(crate) keyspaces: Keyspaces,

    pub(crate) writer: WriterLock<WriterState>,
    /// The last sequence number that reads may see, and the numbers that readers have pinned.
    pub(crate) pins: Pins,
    pub(crate) sealed: SealedGroups,
    pub(crate) snapshots: SnapshotList,
    pub(crate) tree: TreeLock,
    /// The number of the next file. All accesses are `Relaxed`: the addition gives each number
    /// once. An edit stores a larger number than those of its files. It finds one because the
    /// numbers were taken before, by this thread or by one that has handed over its tables under a
    /// lock: no later load of a word returns an older value.
    pub(crate) next_file: AtomicU64,
    pub(crate) logs: Logs,
    pub(crate) last_close: LastClose,

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
    /// Records what the database does; `None` if nothing is recorded.
    pub(crate) recorder: Option<Arc<Recorder>>,
    /// The time by which entries expire.
    pub(crate) time: DatabaseTime,
    pub(crate) transactions: OpenTransactions,
    pub(crate) fronts: Fronts,

    /// The space that deletes may use when the disk is full.
    pub(crate) reserve: Reserve,

    /// Which calls the database takes.
    pub(crate) standing: Standing,
    /// The directory's lock. The close releases it at its end, with the tree locked.
    pub(crate) ownership: Ownership,
    /// The bytes after the valid ends of the manifest and the logs, which the open dropped.
    pub(crate) dropped: Vec<DroppedTail>,
}

impl Core {
    /// # Errors
    /// See [`Standing::check_open`].
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.standing.check_open()
    }

    /// # Errors
    /// See [`Standing::check_writable`].
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.standing.check_writable()
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
        self.standing.check_process()?;
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

    /// Takes the number of a new file.
    pub(crate) fn new_file_number(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns how to build tables for a level of a keyspace.
    pub(crate) fn table_options(
        &self,
        keyspace: &KeyspaceState,
        level: usize,
    ) -> TableBuilderOptions {
        let compress = level >= self.settings.knobs.min_level_to_compress;
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
            expiry: keyspace.expiry(),
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
