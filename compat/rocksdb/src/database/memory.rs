//! The memory of several databases and caches together.

use std::ffi::c_char;
use std::ptr;
use std::sync::{Arc, Weak};

use crate::boundary::{arg, call, free, handle};
use crate::database::{Database, rocksdb_t};
use crate::objects::cache::{Cache, rocksdb_cache_t};

/// RocksDB: what `MemoryUtil` counts.
#[derive(Default)]
pub struct rocksdb_memory_consumers_t {
    databases: Vec<Weak<Database>>,
    caches: Vec<Arc<Cache>>,
}

/// RocksDB: what `MemoryUtil` found, in bytes.
#[derive(Default)]
pub struct rocksdb_memory_usage_t {
    memtables: u64,
    unflushed: u64,
    readers: u64,
    caches: u64,
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_memory_consumers_create() -> *mut rocksdb_memory_consumers_t {
    handle(rocksdb_memory_consumers_t::default())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_memory_consumers_add_db(
    consumers: *mut rocksdb_memory_consumers_t,
    db: *mut rocksdb_t,
) {
    (*consumers).databases.push(Arc::downgrade(&(*db).database));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_memory_consumers_add_cache(
    consumers: *mut rocksdb_memory_consumers_t,
    cache: *mut rocksdb_cache_t,
) {
    let cache = &(*cache).0;
    let caches = &mut (*consumers).caches;
    if !caches.iter().any(|known| Arc::ptr_eq(known, cache)) {
        caches.push(cache.clone());
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_memory_consumers_destroy(
    consumers: *mut rocksdb_memory_consumers_t,
) {
    free(consumers);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_memory_usage_create(
    consumers: *mut rocksdb_memory_consumers_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_memory_usage_t {
    let made = call(errptr, || {
        let own = arg(consumers, "consumers")?;
        let mut usage = rocksdb_memory_usage_t::default();
        for database in own.databases.iter().filter_map(Weak::upgrade) {
            let memory = database.memory();
            let unflushed = memory.active_memtables + memory.sealed_memtables;
            usage.unflushed += unflushed;
            usage.memtables += unflushed + memory.pinned_memtables;
            usage.readers += memory.indexes + memory.filters;
        }
        usage.caches = own.caches.iter().map(|cache| cache.usage() as u64).sum();
        Ok(handle(usage))
    });
    made.unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_memory_usage_destroy(
    usage: *mut rocksdb_memory_usage_t,
) {
    free(usage);
}

/// Declares the getters.
macro_rules! figures {
    ($($name:ident: $field:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(usage: *mut rocksdb_memory_usage_t) -> u64 {
            usage.as_ref().map_or(0, |usage| usage.$field)
        }
    )*};
}

figures! {
    rocksdb_approximate_memory_usage_get_mem_table_total: memtables;
    rocksdb_approximate_memory_usage_get_mem_table_unflushed: unflushed;
    rocksdb_approximate_memory_usage_get_mem_table_readers_total: readers;
    rocksdb_approximate_memory_usage_get_cache_total: caches;
}
