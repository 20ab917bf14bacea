//! Caches of blocks.
//!
//! A cache is a number of bytes until a database is opened with it. It then gets a runtime of the
//! engine, and every database that uses the cache shares that runtime: its cache, its threads and
//! its table handles. So two databases with one cache take its bytes once, as in RocksDB.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldb::{Runtime, RuntimeOptions};
use parking_lot::Mutex;

use crate::boundary::{call, free, handle};
use crate::options::values::{made_and_freed, values};
use crate::status::{Outcome, Status};

/// RocksDB: `Cache`.
pub struct rocksdb_cache_t(pub(crate) Arc<Cache>);

/// RocksDB: `MemoryAllocator`.
pub struct rocksdb_memory_allocator_t {
    _private: (),
}

/// RocksDB: `LRUCacheOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_lru_cache_options_t {
    values: LruValues,
}

/// RocksDB: `HyperClockCacheOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_hyper_clock_cache_options_t {
    values: HyperClockValues,
}

/// The bytes of a cache, and the runtime of the databases that use it.
#[derive(Debug)]
pub(crate) struct Cache {
    capacity: AtomicUsize,
    runtime: Mutex<Option<Runtime>>,
}

/// What a runtime is made with, beside the cache's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuntimeNeeds {
    pub(crate) write_buffers: usize,
    pub(crate) open_tables: usize,
    pub(crate) threads: usize,
}

/// Memory of a runtime beyond its write buffers and its cache: open tables and background work.
const OTHER_MEMORY: usize = 192 << 20;

impl Cache {
    pub(crate) fn new(capacity: usize) -> Arc<Cache> {
        Arc::new(Cache { capacity: AtomicUsize::new(capacity), runtime: Mutex::new(None) })
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    /// Returns the runtime of the databases that use this cache. The first of them makes it.
    ///
    /// # Errors
    /// `Invalid argument` for a size that the engine does not take.
    pub(crate) fn runtime(&self, needs: RuntimeNeeds) -> Outcome<Runtime> {
        let mut runtime = self.runtime.lock();
        if let Some(runtime) = &*runtime {
            return Ok(runtime.clone());
        }
        let cache = self.capacity();
        let made = Runtime::new(RuntimeOptions {
            // A database takes at most a quarter of the budget for a write buffer.
            memory_budget: (4 * needs.write_buffers).max(2 * needs.write_buffers + OTHER_MEMORY)
                + cache,
            block_cache_size: cache,
            max_open_files: needs.open_tables,
            background_threads: needs.threads,
            ..RuntimeOptions::default()
        })?;
        Ok(runtime.insert(made).clone())
    }

    /// Returns the bytes in the cache.
    pub(crate) fn usage(&self) -> usize {
        let used = self.runtime.lock().as_ref().map_or(0, |runtime| runtime.memory().block_cache);
        usize::try_from(used).unwrap_or(usize::MAX)
    }
}

made_and_freed! {
    rocksdb_lru_cache_options_t:
        rocksdb_lru_cache_options_create, rocksdb_lru_cache_options_destroy;
}

values! {
    /// Plain values of a [`rocksdb_lru_cache_options_t`].
    LruValues of rocksdb_lru_cache_options_t {
        capacity: usize = 0, rocksdb_lru_cache_options_set_capacity(usize);
        num_shard_bits: c_int = -1, rocksdb_lru_cache_options_set_num_shard_bits(c_int);
    }
}
values! {
    /// Plain values of a [`rocksdb_hyper_clock_cache_options_t`].
    HyperClockValues of rocksdb_hyper_clock_cache_options_t {
        capacity: usize = 0, rocksdb_hyper_clock_cache_options_set_capacity(usize);
        estimated_entry_charge: usize = 0,
            rocksdb_hyper_clock_cache_options_set_estimated_entry_charge(usize);
        num_shard_bits: c_int = -1, rocksdb_hyper_clock_cache_options_set_num_shard_bits(c_int);
    }
}

/// The engine allocates by itself.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_lru_cache_options_set_memory_allocator(
    _options: *mut rocksdb_lru_cache_options_t,
    _allocator: *mut rocksdb_memory_allocator_t,
) {
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_hyper_clock_cache_options_create(
    capacity: usize,
    estimated_entry_charge: usize,
) -> *mut rocksdb_hyper_clock_cache_options_t {
    let values = HyperClockValues { capacity, estimated_entry_charge, num_shard_bits: -1 };
    handle(rocksdb_hyper_clock_cache_options_t { values })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_hyper_clock_cache_options_destroy(
    options: *mut rocksdb_hyper_clock_cache_options_t,
) {
    free(options);
}

/// The engine allocates by itself.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_hyper_clock_cache_options_set_memory_allocator(
    _options: *mut rocksdb_hyper_clock_cache_options_t,
    _allocator: *mut rocksdb_memory_allocator_t,
) {
}

/// The engine allocates by itself, so the call fails as in a RocksDB without jemalloc.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_jemalloc_nodump_allocator_create(
    errptr: *mut *mut c_char,
) -> *mut rocksdb_memory_allocator_t {
    call(errptr, || -> Outcome<()> {
        Err(Status::unsupported("rocksdb_jemalloc_nodump_allocator_create"))
    });
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_memory_allocator_destroy(
    allocator: *mut rocksdb_memory_allocator_t,
) {
    free(allocator);
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_cache_create_lru(capacity: usize) -> *mut rocksdb_cache_t {
    handle(rocksdb_cache_t(Cache::new(capacity)))
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_cache_create_lru_with_strict_capacity_limit(
    capacity: usize,
) -> *mut rocksdb_cache_t {
    handle(rocksdb_cache_t(Cache::new(capacity)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_cache_create_lru_opts(
    options: *const rocksdb_lru_cache_options_t,
) -> *mut rocksdb_cache_t {
    handle(rocksdb_cache_t(Cache::new((*options).values.capacity)))
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_cache_create_hyper_clock(
    capacity: usize,
    _estimated_entry_charge: usize,
) -> *mut rocksdb_cache_t {
    handle(rocksdb_cache_t(Cache::new(capacity)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_cache_create_hyper_clock_opts(
    options: *const rocksdb_hyper_clock_cache_options_t,
) -> *mut rocksdb_cache_t {
    handle(rocksdb_cache_t(Cache::new((*options).values.capacity)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_cache_destroy(cache: *mut rocksdb_cache_t) {
    free(cache);
}

/// The engine frees its cache quickly, so there is nothing to leave behind.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_cache_disown_data(_cache: *mut rocksdb_cache_t) {}

/// Databases that are open keep the size that the cache had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_cache_set_capacity(cache: *mut rocksdb_cache_t, capacity: usize) {
    (&(*cache).0).capacity.store(capacity, Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_cache_get_capacity(cache: *const rocksdb_cache_t) -> usize {
    (&(*cache).0).capacity()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_cache_get_usage(cache: *const rocksdb_cache_t) -> usize {
    (&(*cache).0).usage()
}

/// Blocks that readers hold are not counted apart.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_cache_get_pinned_usage(_cache: *const rocksdb_cache_t) -> usize {
    0
}

/// The slots of the cache are not counted.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_cache_get_table_address_count(_cache: *const rocksdb_cache_t) -> usize {
    0
}

/// The entries of the cache are not counted.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_cache_get_occupancy_count(_cache: *const rocksdb_cache_t) -> usize {
    0
}
