//! Properties: figures of a database and of a family, by RocksDB's names.
//!
//! Invariant: a figure is the engine's own. One that the engine does not have is 0, or has no
//! answer where RocksDB may have none. Figures of memory, of value segments and of pending
//! compactions are those of the whole database.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::ptr;

use foldb::explain::TableInfo;
use foldb::stats::{KeyspaceStats, Stats};

use crate::boundary::{arg, quiet, text, text_copy};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::{Database, Engine, Family, FamilyKeyspace, property_texts, rocksdb_t};
use crate::objects::statistics::Counted;
use crate::status::Outcome;
use crate::transactions::databases::{rocksdb_optimistictransactiondb_t, rocksdb_transactiondb_t};

/// What a property says.
pub(crate) enum Property {
    Number(u64),
    Text(String),
}

/// What the engine knows about a family at one moment.
pub(crate) struct Figures<'a> {
    pub(crate) database: &'a Database,
    pub(crate) family: &'a Family,
    pub(crate) stats: Stats,
    pub(crate) own: KeyspaceStats,
    pub(crate) tables: Vec<TableInfo>,
}

impl Family {
    /// Returns the name of the keyspace.
    fn keyspace_name(&self) -> String {
        match &self.keyspace {
            FamilyKeyspace::Writable(keyspace) => keyspace.name().to_owned(),
            FamilyKeyspace::ReadOnly(reader) => reader.name().to_owned(),
            FamilyKeyspace::Secondary(reader) => reader.read().name().to_owned(),
        }
    }
}

impl Counted for Database {
    fn stats(&self) -> Stats {
        match &self.engine {
            Engine::Writable(db) => db.stats(),
            Engine::ReadOnly(db) => db.stats(),
            Engine::Secondary { shown, .. } => shown.read().stats(),
        }
    }
}

impl Database {
    /// Returns what the engine knows about a family.
    ///
    /// # Errors
    /// `Shutdown in progress` if the database is closed.
    pub(crate) fn figures<'a>(&'a self, family: &'a Family) -> Outcome<Figures<'a>> {
        let (stats, name) = (self.stats(), family.keyspace_name());
        let own = stats.keyspaces.iter().find(|own| own.name == name).cloned().unwrap_or_default();
        let tables = family.read(|reader| reader.tables())?;
        Ok(Figures { database: self, family, stats, own, tables })
    }

    /// Returns a property of a family. `None` if there is none of that name.
    pub(crate) fn property(&self, family: &Family, name: &str) -> Option<Property> {
        let name = name.strip_prefix("rocksdb.")?;
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let argument = name.get(stem.len()..)?;
        let figures = self.figures(family).ok()?;
        let number = figures.of_memtables(stem).or_else(|| figures.of_files(stem));
        let number = number.or_else(|| figures.of_work(stem)).or_else(|| figures.of_caches(stem));
        match number {
            Some(number) => Some(Property::Number(number)),
            None => property_texts::of(&figures, stem, argument).map(Property::Text),
        }
    }
}

impl Figures<'_> {
    fn of_memtables(&self, name: &str) -> Option<u64> {
        let (active, sealed) = (&self.own.active, &self.own.sealed);
        Some(match name {
            "num-immutable-mem-table" => sealed.memtables,
            "mem-table-flush-pending" => u64::from(sealed.memtables > 0),
            "cur-size-active-mem-table" => active.bytes,
            "cur-size-all-mem-tables" | "size-all-mem-tables" => active.bytes + sealed.bytes,
            "num-entries-active-mem-table" => active.records,
            "num-entries-imm-mem-tables" => sealed.records,
            "num-deletes-active-mem-table" => active.deletes,
            "num-deletes-imm-mem-tables" => sealed.deletes,
            // Flushed memtables that readers hold are not counted by family.
            "num-immutable-mem-table-flushed" => 0,
            _ => return None,
        })
    }

    fn of_files(&self, name: &str) -> Option<u64> {
        let segments = &self.stats.segments;
        Some(match name {
            "estimate-num-keys" => self.key_count(),
            "estimate-live-data-size" => {
                let mut sizes = self.own.levels.iter().rev().map(|level| level.bytes);
                sizes.find(|&bytes| bytes > 0).unwrap_or(0)
            }
            "total-sst-files-size" | "live-sst-files-size" => self.table_bytes(),
            "base-level" => self.base_level() as u64,
            "num-blob-files" => segments.files,
            "total-blob-file-size" | "live-blob-file-size" => segments.bytes,
            "live-blob-file-garbage-size" => segments.dead_bytes,
            "is-file-deletions-enabled" => 1,
            // The engine removes a file as soon as nothing refers to it.
            "obsolete-sst-files-size" => 0,
            "min-obsolete-sst-number-to-keep" => u64::MAX,
            // The engine does not tell the numbers of its logs, nor count its versions.
            "min-log-number-to-keep" | "num-live-versions" | "current-super-version-number" => 0,
            _ => return None,
        })
    }

    fn of_work(&self, name: &str) -> Option<u64> {
        let stats = &self.stats;
        Some(match name {
            "compaction-pending" => u64::from(stats.compaction_debt > 0),
            "estimate-pending-compaction-bytes" => stats.compaction_debt,
            "background-errors" => self.database.events.background_errors(),
            "num-snapshots" => stats.snapshots,
            "oldest-snapshot-sequence" if stats.snapshots > 0 => {
                let last = self.database.snapshot().sequence_number();
                last.saturating_sub(stats.writes_since_oldest_snapshot)
            }
            "oldest-snapshot-sequence" => 0,
            "actual-delayed-write-rate" => match self.own.pace_micros_per_mib {
                0 => 0,
                micros => (1_000_000 << 20) / micros,
            },
            "is-write-stopped" => stats.disk_is_full.into(),
            // The engine does not tell what its threads do, nor when a snapshot was taken.
            "num-running-flushes"
            | "num-running-compactions"
            | "num-running-compaction-sorted-runs"
            | "oldest-snapshot-time" => 0,
            _ => return None,
        })
    }

    fn of_caches(&self, name: &str) -> Option<u64> {
        let options = &self.family.options;
        let (table, blobs) = (&options.table, options.blob_cache.as_ref());
        let has_blocks = table.values.no_block_cache == 0;
        Some(match name {
            "estimate-table-readers-mem" => self.stats.open_table_bytes,
            "block-cache-capacity" if has_blocks => match &self.database.options.table.cache {
                Some(cache) => cache.capacity() as u64,
                None => foldb::Options::default().block_cache_size as u64,
            },
            "block-cache-usage" if has_blocks => self.stats.block_cache_bytes,
            "block-cache-pinned-usage" if has_blocks => 0,
            "blob-cache-capacity" => blobs?.capacity() as u64,
            // Values of segments are not cached apart from the system's cache.
            "blob-cache-usage" | "blob-cache-pinned-usage" => blobs.map(|_| 0)?,
            _ => return None,
        })
    }

    fn key_count(&self) -> u64 {
        let count = self.family.read(|reader| reader.approximate_count(..));
        count.map_or(0, |count| count.estimate)
    }

    /// Returns the files of tables, each once, with their bytes. A file may be cut into parts.
    fn files(&self) -> BTreeMap<u64, u64> {
        self.tables.iter().map(|table| (table.number, table.bytes)).collect()
    }

    pub(crate) fn table_bytes(&self) -> u64 {
        self.files().values().sum()
    }

    /// Returns how many levels the family has, at least those that its options name.
    pub(crate) fn level_count(&self) -> usize {
        let wanted = usize::try_from(self.family.options.values.num_levels).unwrap_or(0);
        self.own.levels.len().max(wanted)
    }

    /// Returns the first level after 0 that has tables, or the last level.
    fn base_level(&self) -> usize {
        let levels = self.own.levels.iter().enumerate().skip(1);
        let mut levels = levels.filter(|(_, level)| level.tables > 0);
        levels.next().map_or(self.level_count().saturating_sub(1), |(level, _)| level)
    }
}

/// Returns a property as RocksDB's `GetProperty` does.
unsafe fn value(database: &Database, family: &Family, name: *const c_char) -> *mut c_char {
    quiet(ptr::null_mut(), || {
        let Ok(name) = text(name, "propname") else { return ptr::null_mut() };
        match database.property(family, name) {
            Some(Property::Number(number)) => text_copy(&number.to_string()),
            Some(Property::Text(found)) => text_copy(&found),
            None => ptr::null_mut(),
        }
    })
}

/// Stores a property that is a number. Returns 0, or -1 if there is none of that name.
unsafe fn number(
    database: &Database,
    family: &Family,
    name: *const c_char,
    out: *mut u64,
) -> c_int {
    quiet(-1, || {
        let Ok(name) = text(name, "propname") else { return -1 };
        match database.property(family, name) {
            Some(Property::Number(number)) if !out.is_null() => {
                *out = number;
                0
            }
            _ => -1,
        }
    })
}

/// Declares the two functions for a kind of database, about its default family.
macro_rules! properties {
    ($($object:ident: $value:ident, $number:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $value(db: *mut $object, name: *const c_char) -> *mut c_char {
            let Ok(db) = arg(db, "db") else { return ptr::null_mut() };
            value(&db.database, &db.database.default, name)
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $number(
            db: *mut $object,
            name: *const c_char,
            out: *mut u64,
        ) -> c_int {
            let Ok(db) = arg(db, "db") else { return -1 };
            number(&db.database, &db.database.default, name, out)
        }
    )*};
}

properties! {
    rocksdb_t: rocksdb_property_value, rocksdb_property_int;
    rocksdb_transactiondb_t:
        rocksdb_transactiondb_property_value, rocksdb_transactiondb_property_int;
    rocksdb_optimistictransactiondb_t:
        rocksdb_optimistictransactiondb_property_value,
        rocksdb_optimistictransactiondb_property_int;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_property_value_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    name: *const c_char,
) -> *mut c_char {
    match (arg(db, "db"), arg(family, "column_family")) {
        (Ok(db), Ok(own)) => value(&db.database, &own.family, name),
        _ => ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_property_int_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    name: *const c_char,
    out: *mut u64,
) -> c_int {
    match (arg(db, "db"), arg(family, "column_family")) {
        (Ok(db), Ok(own)) => number(&db.database, &own.family, name, out),
        _ => -1,
    }
}
