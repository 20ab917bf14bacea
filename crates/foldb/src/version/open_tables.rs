//! Open tables: opened at first use, found without a lock, bounded in number and in memory.
//!
//! The bounds are those of a [`TablePool`], which several databases may share. A table that a
//! reader has in hand when it is closed stays open, and counted, until he lets go.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::{ArcSwapOption, Guard};
use foldb_env::FileSystem;

use crate::error::{Error, ErrorKind, Result};
use crate::hold::LongestHold;
use crate::key::{Comparator, DEFAULT_KEYSPACE, KeyspaceId};
use crate::memory::Charge;
use crate::segment::{InUse, OpenSegments, SegmentFile};
use crate::table::{BlockCache, BlockStore, TableReader};
use crate::version::file::FileMeta;
use crate::version::file_names::FileNames;

/// Where a file keeps its open table.
#[derive(Debug, Default)]
pub(crate) struct TableSlot {
    table: ArcSwapOption<TableReader>,
    /// Set at each use, cleared as the eviction hand passes.
    used: AtomicBool,
    /// Held by who opens the table.
    opening: Mutex<()>,
}

/// What bounds the open tables of all databases that share it.
#[derive(Debug)]
pub(crate) struct TablePool {
    /// Knows what the tables' indexes and filters take.
    store: Arc<BlockStore>,
    /// Most open at once.
    limit: usize,
    /// Bytes that indexes and filters may take, beside the one table that somebody needs.
    room: AtomicUsize,
    /// Tables that stay open for read-only databases, beside those that may be closed.
    held: AtomicUsize,
    /// Files whose slot is filled, in the order the eviction hand visits them (second chance).
    clock: Mutex<VecDeque<Weak<FileMeta>>>,
    /// Segment files that are open, likewise.
    segments: Mutex<VecDeque<Weak<SegmentFile>>>,
    /// How long somebody held their lock.
    pub(crate) longest_segments_hold: LongestHold,
}

/// The share of the open files that may be segments, as a divisor.
const SEGMENTS_SHARE: usize = 4;

impl TablePool {
    pub(crate) fn new(store: Arc<BlockStore>, limit: usize) -> TablePool {
        let (room, held) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
        let (clock, segments) = (Mutex::default(), Mutex::default());
        let longest_segments_hold = LongestHold::default();
        TablePool { store, limit, room, held, clock, segments, longest_segments_hold }
    }

    /// Notes an open segment file, and closes others that are too many, whichever database they are
    /// of.
    pub(crate) fn note_segment(&self, file: &Arc<SegmentFile>) {
        let limit = (self.limit / SEGMENTS_SHARE).max(1);
        // Closed, and perhaps removed, after the lock.
        let mut let_go = Vec::new();
        let mut clock = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        self.longest_segments_hold.measure(|| {
            let mut seen = 2 * clock.len();
            while clock.len() >= limit && seen > 0 {
                seen -= 1;
                let Some(candidate) = clock.pop_front() else { break };
                let Some(other) = candidate.upgrade() else { continue };
                match other.let_go_if_unused() {
                    Ok(open) => let_go.push((other, open)),
                    Err(InUse) => {
                        clock.push_back(candidate);
                        let_go.push((other, None));
                    }
                }
            }
            clock.push_back(Arc::downgrade(file));
        });
        drop(clock);
        drop(let_go);
    }

    /// Counts tables that another pool keeps open whatever the limit is: there is less left for
    /// these.
    pub(crate) fn hold(pool: &Arc<TablePool>, tables: usize) -> HeldTables {
        pool.held.fetch_add(tables, Ordering::Relaxed);
        pool.evict(&mut pool.lock(), 0);
        HeldTables { pool: Arc::clone(pool), tables }
    }

    /// Bytes that indexes and filters take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.store.indexes.get() + self.store.filters.get()
    }

    /// Counts an index of other files among those of the tables; `None` where there is no room to
    /// keep it.
    pub(crate) fn charge_index(&self, bytes: usize) -> Option<Charge> {
        let fits = self.memory_bytes() + bytes <= self.room.load(Ordering::Relaxed);
        fits.then(|| Charge::new(&self.store.indexes, bytes))
    }

    /// Counts an index that is kept even where there is no room: it must be small beside what it is
    /// of.
    pub(crate) fn charge_small_index(&self, bytes: usize) -> Charge {
        Charge::new(&self.store.indexes, bytes)
    }

    /// Sets what indexes and filters may take, and closes the tables that are too many.
    pub(crate) fn set_room(&self, bytes: usize) {
        self.room.store(bytes, Ordering::Relaxed);
        self.trim();
    }

    /// Closes tables until the others fit.
    fn trim(&self) {
        if self.memory_bytes() > self.room.load(Ordering::Relaxed) {
            self.evict(&mut self.lock(), 0);
        }
    }

    fn add(&self, file: &Arc<FileMeta>) {
        let mut clock = self.lock();
        self.evict(&mut clock, 1);
        clock.push_back(Arc::downgrade(file));
    }

    /// Closes tables until `more` fit beside the rest. The last one stays, whatever it takes: else
    /// its reader would open it for ever.
    fn evict(&self, clock: &mut VecDeque<Weak<FileMeta>>, more: usize) {
        let mut seen = 2 * clock.len();
        while clock.len() + more + self.held.load(Ordering::Relaxed) > self.limit
            || seen > 0
                && clock.len() + more > 1
                && self.memory_bytes() > self.room.load(Ordering::Relaxed)
        {
            if clock.is_empty() {
                return;
            }
            seen = seen.saturating_sub(1);
            evict_one(clock);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Weak<FileMeta>>> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn open_tables(&self) -> usize {
        let open = |file: &Weak<FileMeta>| file.upgrade().is_some_and(|file| file.slot.is_filled());
        self.lock().iter().filter(|file| open(file)).count()
    }
}

/// Tables that count in a pool's limit but are not bounded by it, until dropped.
#[derive(Debug)]
pub(crate) struct HeldTables {
    pool: Arc<TablePool>,
    tables: usize,
}

impl HeldTables {
    pub(crate) fn pool(&self) -> &TablePool {
        &self.pool
    }
}

impl Drop for HeldTables {
    fn drop(&mut self) {
        self.pool.held.fetch_sub(self.tables, Ordering::Relaxed);
    }
}

impl TableSlot {
    #[cfg(test)]
    fn is_filled(&self) -> bool {
        self.table.load().is_some()
    }
}

/// The open tables of a database, as one of its keyspaces sees them.
#[derive(Debug)]
pub(crate) struct OpenTables {
    shared: Arc<Shared>,
    keyspace: KeyspaceId,
    comparator: Arc<dyn Comparator>,
}

/// What all keyspaces of a database share.
#[derive(Debug)]
struct Shared {
    fs: Arc<dyn FileSystem>,
    names: FileNames,
    cache: Arc<BlockCache>,
    pool: Arc<TablePool>,
    /// Identity that every table must carry.
    database: u64,
    /// The value segments that tables refer to.
    segments: Arc<OpenSegments>,
    closed: Arc<Closed>,
}

/// Whether the database was closed. From then on its files are another opener's, who may remove
/// them: an iterator that needs one which is not open finds it as it was, or learns why it does
/// not.
#[derive(Debug, Default)]
pub(crate) struct Closed(AtomicBool);

impl Closed {
    /// What a failure to open a file means.
    #[cold]
    pub(crate) fn explain(&self, error: Error) -> Error {
        if !self.0.load(Ordering::Acquire) {
            return error;
        }
        let message = format!(
            "the database was closed, and a file that is still needed cannot be opened; close it \
             after its iterators: {error}"
        );
        Error::new(ErrorKind::Closed, message)
    }
}

impl OpenTables {
    /// No open tables yet; as the default keyspace sees them.
    pub(crate) fn new(
        fs: Arc<dyn FileSystem>,
        names: FileNames,
        comparator: Arc<dyn Comparator>,
        cache: Arc<BlockCache>,
        pool: Arc<TablePool>,
        database: u64,
    ) -> OpenTables {
        let closed = Arc::default();
        let segments = OpenSegments::new(
            Arc::clone(&fs),
            names.clone(),
            Arc::clone(&pool),
            database,
            Arc::clone(&closed),
        );
        let segments = Arc::new(segments);
        let shared = Shared { fs, names, cache, pool, database, segments, closed };
        OpenTables { shared: Arc::new(shared), keyspace: DEFAULT_KEYSPACE, comparator }
    }

    /// The same, for another keyspace.
    pub(crate) fn for_keyspace(
        &self,
        keyspace: KeyspaceId,
        comparator: Arc<dyn Comparator>,
    ) -> OpenTables {
        OpenTables { shared: Arc::clone(&self.shared), keyspace, comparator }
    }

    /// Notes that the database is closed, in all its keyspaces. Called before its lock is let go.
    pub(crate) fn note_closed(&self) {
        self.shared.closed.0.store(true, Ordering::Release);
    }

    /// The value segments that tables refer to.
    pub(crate) fn segments(&self) -> &Arc<OpenSegments> {
        &self.shared.segments
    }

    /// The table of a file, opened if it is not.
    #[inline]
    pub(crate) fn get(&self, file: &Arc<FileMeta>) -> Result<Guard<Option<Arc<TableReader>>>> {
        let table = file.slot.table.load();
        if table.is_none() {
            self.open(file)?;
            return Ok(file.slot.table.load());
        }
        if !file.slot.used.load(Ordering::Relaxed) {
            file.slot.used.store(true, Ordering::Relaxed);
        }
        Ok(table)
    }

    /// The table of a file, to keep.
    pub(crate) fn get_owned(&self, file: &Arc<FileMeta>) -> Result<Arc<TableReader>> {
        loop {
            // Evicted between opening and loading, if at all: open it again.
            if let Some(table) = &*self.get(file)? {
                return Ok(Arc::clone(table));
            }
        }
    }

    /// Whether a table may hold a key of this hash.
    ///
    /// # Errors
    /// As [`TableReader::may_contain`].
    #[inline]
    pub(crate) fn may_contain(&self, table: &TableReader, hash: u64) -> Result<bool> {
        if !table.has_loaded_filter() {
            table.may_contain(hash)?;
            self.shared.pool.trim();
        }
        table.may_contain(hash)
    }

    /// Takes in the table of a file that was opened before, as [`OpenTables::get_owned`] answered
    /// it.
    pub(crate) fn take_in(&self, file: &Arc<FileMeta>, table: Arc<TableReader>) {
        file.slot.table.store(Some(table));
        self.shared.pool.add(file);
    }

    fn open(&self, file: &Arc<FileMeta>) -> Result<()> {
        let shared = &*self.shared;
        let _opening = file.slot.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if file.slot.table.load().is_some() {
            return Ok(());
        }
        let table = self.open_own(file).map_err(|error| shared.closed.explain(error))?;
        file.slot.table.store(Some(table));
        file.slot.used.store(true, Ordering::Relaxed);
        shared.pool.add(file);
        Ok(())
    }

    fn open_own(&self, file: &FileMeta) -> Result<Arc<TableReader>> {
        let shared = &*self.shared;
        let path = shared.names.table(file.number);
        let handle =
            shared.fs.open(&path).map_err(|error| Error::io(&path, "open the table", &error))?;
        let (comparator, cache) = (Arc::clone(&self.comparator), Arc::clone(&shared.cache));
        let table = TableReader::open(handle, &path, file.number, comparator, cache)?;
        self.check_identity(file, &table).map_err(|error| error.in_file(&path))?;
        Ok(table)
    }

    /// Whether the table is the one the manifest means.
    fn check_identity(&self, file: &FileMeta, table: &TableReader) -> Result<()> {
        let found = table.properties();
        let expected = (self.shared.database, file.len);
        if expected != (found.database_id, table.file_len()) {
            return Err(Error::corruption(format!(
                "expected a table of database {:016x} with {} bytes, found one of {:016x} with {}",
                expected.0,
                expected.1,
                found.database_id,
                table.file_len()
            )));
        }
        if found.keyspace != self.keyspace {
            return Err(Error::corruption(format!(
                "expected a table of keyspace {}, found one of {}",
                self.keyspace, found.keyspace
            )));
        }
        Ok(())
    }
}

/// Closes the first table that was not used since the hand last passed.
fn evict_one(clock: &mut VecDeque<Weak<FileMeta>>) {
    while let Some(candidate) = clock.pop_front() {
        let Some(file) = candidate.upgrade() else { return };
        if file.slot.used.swap(false, Ordering::Relaxed) {
            clock.push_back(candidate);
        } else {
            file.slot.table.store(None);
            return;
        }
    }
}
