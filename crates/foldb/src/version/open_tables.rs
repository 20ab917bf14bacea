//! Open tables: opened at first use, found without a lock, bounded in number.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arc_swap::{ArcSwapOption, Guard};
use foldb_env::FileSystem;

use crate::error::{Error, Result};
use crate::key::{Comparator, DEFAULT_KEYSPACE, KeyspaceId};
use crate::table::{BlockCache, TableReader};
use crate::version::file::FileMeta;
use crate::version::file_names::FileNames;

/// Where a file keeps its open table.
#[derive(Debug, Default)]
pub(crate) struct TableSlot {
    table: ArcSwapOption<TableReader>,
    /// Set at each use, cleared as the eviction hand passes.
    used: AtomicBool,
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
    limit: usize,
    /// Files whose slot is filled, in the order the eviction hand visits them (second chance).
    clock: Mutex<VecDeque<Weak<FileMeta>>>,
    /// Identity that every table must carry.
    database: u64,
}

impl OpenTables {
    /// No open tables yet; as the default keyspace sees them.
    pub(crate) fn new(
        fs: Arc<dyn FileSystem>,
        names: FileNames,
        comparator: Arc<dyn Comparator>,
        cache: Arc<BlockCache>,
        limit: usize,
        database: u64,
    ) -> OpenTables {
        let shared = Shared { fs, names, cache, limit, clock: Mutex::default(), database };
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

    /// Takes in the table of a file that was opened before, as [`OpenTables::get_owned`] answered it.
    pub(crate) fn take_in(&self, file: &Arc<FileMeta>, table: Arc<TableReader>) {
        let mut clock = self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner);
        file.slot.table.store(Some(table));
        clock.push_back(Arc::downgrade(file));
    }

    fn open(&self, file: &Arc<FileMeta>) -> Result<()> {
        let shared = &*self.shared;
        let mut clock = shared.clock.lock().unwrap_or_else(PoisonError::into_inner);
        if file.slot.table.load().is_some() {
            return Ok(());
        }
        let path = shared.names.table(file.number);
        let handle =
            shared.fs.open(&path).map_err(|error| Error::io(&path, "open the table", &error))?;
        let (comparator, cache) = (Arc::clone(&self.comparator), Arc::clone(&shared.cache));
        let table = TableReader::open(handle, &path, file.number, comparator, cache)?;
        self.check_identity(file, &table).map_err(|error| error.in_file(&path))?;
        while clock.len() >= shared.limit {
            evict_one(&mut clock);
        }
        file.slot.table.store(Some(table));
        file.slot.used.store(true, Ordering::Relaxed);
        clock.push_back(Arc::downgrade(file));
        Ok(())
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

    /// Bytes that open tables take: indexes, filters and properties.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let clock = self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let open = clock.iter().filter_map(|file| file.upgrade()?.slot.table.load_full());
        open.map(|table| table.memory_bytes() as u64).sum()
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
