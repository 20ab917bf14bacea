//! Open tables. They open at first use, lookups take no lock, and their number and memory are
//! bounded.
//!
//! The bounds belong to a [`FilePool`], which several databases may share. If the pool closes a
//! table while a reader uses it, the table stays open and counts until the reader drops it.

use std::any::Any;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::{ArcSwapOption, Guard};
use foldb_env::{FileSystem, Process};

use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::files::FileNames;
use crate::files::{Closed, FilePool, InUse, PooledFile};
use crate::key::{Comparator, DEFAULT_KEYSPACE, GuardedPolicy, KeyspaceId};
use crate::locks::Lock;
use crate::locks::rank::OPENING;
use crate::segment::OpenSegments;
use crate::table::{BlockCache, TableReader};
use crate::version::file::FileMeta;

/// Where a file keeps its open table.
#[derive(Debug, Default)]
pub(crate) struct TableSlot {
    table: ArcSwapOption<TableReader>,
    /// Set at each use. The pool clears the flag when it looks for tables to close, and closes
    /// tables without it.
    used: AtomicBool,
    /// Held by the thread that opens the table.
    opening: Lock<(), OPENING>,
}

/// An open table on loan. It stays open as long as the loan.
#[derive(Debug)]
pub(crate) struct LentTable(Guard<Option<Arc<TableReader>>>);

impl Deref for LentTable {
    type Target = TableReader;

    #[inline]
    fn deref(&self) -> &TableReader {
        self.0.as_ref().expect("a loan is of an open table")
    }
}

impl PooledFile for FileMeta {
    fn close_unless_used(&self) -> std::result::Result<Option<Arc<dyn Any + Send + Sync>>, InUse> {
        // Relaxed, as all accesses of `used`: a hint for the choice of the table to close.
        if self.slot.used.swap(false, Ordering::Relaxed) {
            return Err(InUse);
        }
        Ok(self.slot.table.swap(None).map(|table| table as Arc<dyn Any + Send + Sync>))
    }

    #[cfg(test)]
    fn is_open(&self) -> bool {
        self.slot.table.load().is_some()
    }
}

/// The open tables of a database, as one of its keyspaces sees them.
#[derive(Debug)]
pub(crate) struct OpenTables {
    shared: Arc<Shared>,
    keyspace: KeyspaceId,
    comparator: Arc<dyn Comparator>,
    filter_policy: Option<GuardedPolicy>,
}

/// What all keyspaces of a database share.
#[derive(Debug)]
struct Shared {
    fs: Arc<dyn FileSystem>,
    names: FileNames,
    cache: Arc<BlockCache>,
    pool: Arc<FilePool>,
    /// The database id that every table must carry.
    database: u64,
    /// The value segments that tables refer to.
    segments: Arc<OpenSegments>,
    closed: Arc<Closed>,
    process: Process,
    filters_left_out: AtomicU64,
}

impl OpenTables {
    /// Makes an empty set of open tables, for the default keyspace.
    pub(crate) fn new(
        fs: Arc<dyn FileSystem>,
        names: FileNames,
        comparator: Arc<dyn Comparator>,
        cache: Arc<BlockCache>,
        pool: Arc<FilePool>,
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
        let process = Process::current();
        let filters_left_out = AtomicU64::new(0);
        let shared = Shared {
            fs,
            names,
            cache,
            pool,
            database,
            segments,
            closed,
            process,
            filters_left_out,
        };
        OpenTables {
            shared: Arc::new(shared),
            keyspace: DEFAULT_KEYSPACE,
            comparator,
            filter_policy: None,
        }
    }

    /// Returns the open tables as another keyspace sees them.
    pub(crate) fn for_keyspace(
        &self,
        keyspace: KeyspaceId,
        comparator: Arc<dyn Comparator>,
        filter_policy: Option<GuardedPolicy>,
    ) -> OpenTables {
        OpenTables { shared: Arc::clone(&self.shared), keyspace, comparator, filter_policy }
    }

    /// Notes for all keyspaces that the database is closed. The close calls this before it releases
    /// the database's lock.
    pub(crate) fn note_closed(&self) {
        self.shared.closed.note();
    }

    /// Returns the value segments that tables refer to.
    pub(crate) fn segments(&self) -> &Arc<OpenSegments> {
        &self.shared.segments
    }

    /// Returns the table of a file. Opens the table if it is closed.
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

    /// Returns the table of a file on loan. The loan counts no reference that other threads share.
    #[inline]
    pub(crate) fn lend(&self, file: &Arc<FileMeta>) -> Result<LentTable> {
        loop {
            // As for `get_owned`.
            let table = self.get(file)?;
            if table.is_some() {
                return Ok(LentTable(table));
            }
        }
    }

    /// Returns the table of a file, in an `Arc` that the caller may keep.
    pub(crate) fn get_owned(&self, file: &Arc<FileMeta>) -> Result<Arc<TableReader>> {
        loop {
            // If the pool closed the table between the open and this load, open it again.
            if let Some(table) = &*self.get(file)? {
                return Ok(Arc::clone(table));
            }
        }
    }

    /// Returns whether a table may hold a key, of this hash. A filter that has no room in memory is
    /// not asked: the answer is then `true`. To load it would close other tables, and the next read
    /// would load theirs again. After many such answers it is loaded all the same. So the filters
    /// that reads ask most often are in memory.
    ///
    /// # Errors
    /// As [`TableReader::may_contain`].
    #[inline(always)]
    pub(crate) fn may_contain(&self, table: &TableReader, hash: u64, key: &[u8]) -> Result<bool> {
        if !table.has_loaded_filter() && !self.load_filter(table)? {
            return Ok(true);
        }
        table.may_contain(hash, key)
    }

    /// Loads the filter of a table if it has room, or has lacked it long enough. Returns whether it
    /// is loaded.
    #[cold]
    fn load_filter(&self, table: &TableReader) -> Result<bool> {
        let shared = &*self.shared;
        if !shared.pool.has_room(table.filter_bytes()) && !table.is_filter_due() {
            // Relaxed: a figure for the statistics.
            shared.filters_left_out.fetch_add(1, Ordering::Relaxed);
            return Ok(false);
        }
        table.load_filter()?;
        shared.pool.trim();
        Ok(true)
    }

    /// Returns how many lookups found a table whose filter had no room in memory.
    pub(crate) fn filters_left_out(&self) -> u64 {
        self.shared.filters_left_out.load(Ordering::Relaxed)
    }

    /// Stores the open table of a file, which [`OpenTables::get_owned`] returned earlier.
    pub(crate) fn take_in(&self, file: &Arc<FileMeta>, table: Arc<TableReader>) {
        debug_assert_eq!(table.file_len(), file.len, "a new table is as long as the tree says");
        file.slot.table.store(Some(table));
        self.shared.pool.note_table(as_pooled(file));
    }

    fn open(&self, file: &Arc<FileMeta>) -> Result<()> {
        let shared = &*self.shared;
        if !shared.process.is_current() {
            return Err(Error::forked());
        }
        let _opening = file.slot.opening.lock();
        if file.slot.table.load().is_some() {
            return Ok(());
        }
        let table = self.open_own(file).map_err(|error| shared.closed.explain(error))?;
        file.slot.table.store(Some(table));
        file.slot.used.store(true, Ordering::Relaxed);
        shared.pool.note_table(as_pooled(file));
        Ok(())
    }

    fn open_own(&self, file: &FileMeta) -> Result<Arc<TableReader>> {
        let shared = &*self.shared;
        let path = shared.names.table(file.number);
        let handle = shared
            .fs
            .open_named(&path)
            .map_err(|error| Error::io(&path, "open the table", &error))?;
        let (comparator, cache) = (Arc::clone(&self.comparator), Arc::clone(&shared.cache));
        let policy = self.filter_policy.clone();
        let table = TableReader::open(handle, &path, file.number, comparator, policy, cache)?;
        self.check_identity(file, &table).map_err(|error| error.in_file(&path))?;
        let is_numbered = file.loaded.is_some() && !planted(Fault::LoadWithoutNumber);
        if is_numbered { table.numbered(file.largest_seqno) } else { Ok(table) }
    }

    /// Checks that the table has the database, keyspace and length that the manifest expects.
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

fn as_pooled(file: &Arc<FileMeta>) -> Weak<dyn PooledFile> {
    let file: Weak<FileMeta> = Arc::downgrade(file);
    file
}
