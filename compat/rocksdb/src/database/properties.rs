//! Properties of a database and its families, by name.
//!
//! A property is here if the engine has its figure. Any other name is an unknown one: NULL, or -1.

use std::ffi::{c_char, c_int};
use std::ptr;

use crate::boundary::{call, quiet, text, text_copy};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::{Database, Engine, Family, rocksdb_t};
use crate::status::Outcome;
use crate::transactions::databases::{rocksdb_optimistictransactiondb_t, rocksdb_transactiondb_t};

/// What each name of a property begins with.
const PREFIX: &str = "rocksdb.";

impl Database {
    /// Returns a property of a family.
    ///
    /// # Errors
    /// Those of the engine.
    fn property(&self, family: &Family, name: &str) -> Outcome<Option<String>> {
        let Some(name) = name.strip_prefix(PREFIX) else { return Ok(None) };
        if let Some(level) = name.strip_prefix("num-files-at-level") {
            let Ok(level) = level.parse::<usize>() else { return Ok(None) };
            let tables = family.read(|reader| reader.tables())?;
            let count = tables.iter().filter(|table| table.level == level).count();
            return Ok(Some(count.to_string()));
        }
        if name == "stats" {
            return Ok(Some(self.stats_text()));
        }
        Ok(self.number(family, name)?.map(|number| number.to_string()))
    }

    /// Returns a property that is a number.
    fn number(&self, family: &Family, name: &str) -> Outcome<Option<u64>> {
        let memory = self.memory();
        let active = memory.active_memtables;
        let waiting = active + memory.sealed_memtables;
        Ok(Some(match name {
            "estimate-num-keys" => family.read(|reader| reader.approximate_count(..))?.estimate,
            "cur-size-active-mem-table" => active,
            "cur-size-all-mem-tables" => waiting,
            "size-all-mem-tables" => waiting + memory.pinned_memtables,
            "estimate-table-readers-mem" => memory.indexes + memory.filters,
            "block-cache-usage" => memory.block_cache,
            "block-cache-capacity" => self.cache_capacity(),
            "total-sst-files-size" | "live-sst-files-size" | "estimate-live-data-size" => {
                family.read(|reader| reader.tables())?.iter().map(|table| table.bytes).sum()
            }
            _ => return Ok(None),
        }))
    }

    fn cache_capacity(&self) -> u64 {
        let cache = self.options.table.cache.as_ref();
        cache.map_or(DEFAULT_CACHE, |cache| cache.capacity() as u64)
    }

    fn stats_text(&self) -> String {
        match &self.engine {
            Engine::Writable(db) => format!("{:#?}", db.stats()),
            Engine::ReadOnly(db) => format!("{:#?}", db.stats()),
            Engine::Secondary { shown, .. } => format!("{:#?}", shown.read().stats()),
        }
    }
}

/// Bytes of the cache of a database that was opened without one of the program.
const DEFAULT_CACHE: u64 = 32 << 20;

unsafe fn value(
    database: &Database,
    family: *const rocksdb_column_family_handle_t,
    name: *const c_char,
) -> Option<String> {
    let mut failed = ptr::null_mut();
    let found = call(&mut failed, || {
        let family = family.as_ref().map_or(&database.default, |own| &own.family);
        database.property(family, text(name, "propname")?)
    });
    libc::free(failed.cast());
    found.flatten()
}

fn text_of(found: Option<String>) -> *mut c_char {
    found.map_or(ptr::null_mut(), |found| text_copy(&found))
}

/// Stores a number. Returns 0, or -1 if there is none of this name.
unsafe fn store(found: Option<String>, out: *mut u64) -> c_int {
    match (found.and_then(|found| found.parse().ok()), out.as_mut()) {
        (Some(number), Some(out)) => {
            *out = number;
            0
        }
        _ => -1,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_property_value(
    db: *mut rocksdb_t,
    name: *const c_char,
) -> *mut c_char {
    quiet(ptr::null_mut(), || text_of(value(&(*db).database, ptr::null(), name)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_property_value_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    name: *const c_char,
) -> *mut c_char {
    quiet(ptr::null_mut(), || text_of(value(&(*db).database, family, name)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_property_int(
    db: *mut rocksdb_t,
    name: *const c_char,
    out: *mut u64,
) -> c_int {
    quiet(-1, || store(value(&(*db).database, ptr::null(), name), out))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_property_int_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    name: *const c_char,
    out: *mut u64,
) -> c_int {
    quiet(-1, || store(value(&(*db).database, family, name), out))
}

/// Declares the properties of a database with transactions.
macro_rules! of_transactions {
    ($($database:ident: $value:ident, $int:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $value(db: *mut $database, name: *const c_char) -> *mut c_char {
            quiet(ptr::null_mut(), || text_of(value(&(*db).database, ptr::null(), name)))
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $int(
            db: *mut $database,
            name: *const c_char,
            out: *mut u64,
        ) -> c_int {
            quiet(-1, || store(value(&(*db).database, ptr::null(), name), out))
        }
    )*};
}

of_transactions! {
    rocksdb_transactiondb_t:
        rocksdb_transactiondb_property_value, rocksdb_transactiondb_property_int;
    rocksdb_optimistictransactiondb_t:
        rocksdb_optimistictransactiondb_property_value,
        rocksdb_optimistictransactiondb_property_int;
}
