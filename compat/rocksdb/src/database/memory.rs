//! The memory of databases and caches.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use crate::boundary::{arg, call, free};
use crate::database::{Database, rocksdb_t};
use crate::objects::cache::{Cache, rocksdb_cache_t};
use crate::options::values::made_and_freed;

/// RocksDB: the arguments of `MemoryUtil::GetApproximateMemoryUsageByType`.
#[derive(Default)]
pub struct rocksdb_memory_consumers_t {
    databases: Vec<Arc<Database>>,
    caches: Vec<Arc<Cache>>,
}

/// The answer of that function.
pub struct rocksdb_memory_usage_t {
    memtables: u64,
    table_readers: u64,
    caches: u64,
}

made_and_freed! {
    rocksdb_memory_consumers_t:
        rocksdb_memory_consumers_create, rocksdb_memory_consumers_destroy;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_memory_consumers_add_db(
    consumers: *mut rocksdb_memory_consumers_t,
    db: *mut rocksdb_t,
) {
    if let (Some(own), Some(db)) = (consumers.as_mut(), db.as_ref()) {
        own.databases.push(db.database.clone());
    }
}

/// A cache counts once, however often it is added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_memory_consumers_add_cache(
    consumers: *mut rocksdb_memory_consumers_t,
    cache: *mut rocksdb_cache_t,
) {
    if let (Some(own), Some(cache)) = (consumers.as_mut(), cache.as_ref())
        && !own.caches.iter().any(|other| Arc::ptr_eq(other, &cache.0))
    {
        own.caches.push(cache.0.clone());
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_memory_usage_create(
    consumers: *mut rocksdb_memory_consumers_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_memory_usage_t {
    let usage = call(errptr, || {
        let consumers = arg(consumers, "consumers")?;
        let stats: Vec<_> = consumers.databases.iter().map(|database| database.stats()).collect();
        Ok(rocksdb_memory_usage_t {
            memtables: stats.iter().map(|stats| stats.memtable_bytes).sum(),
            table_readers: stats.iter().map(|stats| stats.open_table_bytes).sum(),
            caches: consumers.caches.iter().map(|cache| cache.usage() as u64).sum(),
        })
    });
    usage.map_or(ptr::null_mut(), crate::boundary::handle)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_memory_usage_destroy(
    usage: *mut rocksdb_memory_usage_t,
) {
    free(usage);
}

/// Without flushed memtables that readers hold: the engine counts these for all families together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_memory_usage_get_mem_table_total(
    usage: *mut rocksdb_memory_usage_t,
) -> u64 {
    (*usage).memtables
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_memory_usage_get_mem_table_unflushed(
    usage: *mut rocksdb_memory_usage_t,
) -> u64 {
    (*usage).memtables
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_memory_usage_get_mem_table_readers_total(
    usage: *mut rocksdb_memory_usage_t,
) -> u64 {
    (*usage).table_readers
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_memory_usage_get_cache_total(
    usage: *mut rocksdb_memory_usage_t,
) -> u64 {
    (*usage).caches
}
