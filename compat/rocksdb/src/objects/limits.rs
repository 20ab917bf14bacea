//! Limits that several databases share: of write buffers, of rates and of space.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::boundary::{free, handle};
use crate::objects::cache::rocksdb_cache_t;
use crate::objects::environment::rocksdb_env_t;

/// RocksDB: `WriteBufferManager`.
pub struct rocksdb_write_buffer_manager_t(pub(crate) Arc<WriteBuffers>);

/// RocksDB: `RateLimiter`. The engine paces its background work by its own budgets.
pub struct rocksdb_ratelimiter_t {
    _private: (),
}

/// RocksDB: `SstFileManager`. The engine removes files at once, so nothing is in a trash.
#[derive(Default)]
pub struct rocksdb_sst_file_manager_t {
    allowed_space: AtomicU64,
    delete_rate: AtomicI64,
    trash_ratio: AtomicU64,
}

/// Returns the bytes of a database's memtables; `None` once it is closed.
pub(crate) type Usage = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// The bytes that the write buffers of several databases may take together.
pub(crate) struct WriteBuffers {
    size: AtomicUsize,
    may_stall: AtomicBool,
    has_cache: bool,
    databases: Mutex<Vec<Usage>>,
}

impl std::fmt::Debug for WriteBuffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteBuffers").field("size", &self.size).finish_non_exhaustive()
    }
}

impl WriteBuffers {
    fn handle(
        size: usize,
        has_cache: bool,
        may_stall: bool,
    ) -> *mut rocksdb_write_buffer_manager_t {
        handle(rocksdb_write_buffer_manager_t(Arc::new(WriteBuffers {
            size: size.into(),
            may_stall: may_stall.into(),
            has_cache,
            databases: Mutex::default(),
        })))
    }

    /// Returns the bytes of all write buffers; 0: no limit.
    pub(crate) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// Counts the memtables of a database.
    pub(crate) fn add(&self, usage: Usage) {
        self.databases.lock().push(usage);
    }

    fn used(&self) -> usize {
        let mut databases = self.databases.lock();
        let mut sum = 0;
        databases.retain(|usage| usage().inspect(|bytes| sum += bytes).is_some());
        usize::try_from(sum).unwrap_or(usize::MAX)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_write_buffer_manager_create(
    size: usize,
    may_stall: bool,
) -> *mut rocksdb_write_buffer_manager_t {
    WriteBuffers::handle(size, false, may_stall)
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_write_buffer_manager_create_with_cache(
    size: usize,
    cache: *const rocksdb_cache_t,
    may_stall: bool,
) -> *mut rocksdb_write_buffer_manager_t {
    WriteBuffers::handle(size, !cache.is_null(), may_stall)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_write_buffer_manager_destroy(
    manager: *mut rocksdb_write_buffer_manager_t,
) {
    free(manager);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_write_buffer_manager_enabled(
    manager: *mut rocksdb_write_buffer_manager_t,
) -> bool {
    (&(*manager).0).size() > 0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_write_buffer_manager_cost_to_cache(
    manager: *mut rocksdb_write_buffer_manager_t,
) -> bool {
    (&(*manager).0).has_cache
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_write_buffer_manager_memory_usage(
    manager: *mut rocksdb_write_buffer_manager_t,
) -> usize {
    (&(*manager).0).used()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_write_buffer_manager_mutable_memtable_memory_usage(
    manager: *mut rocksdb_write_buffer_manager_t,
) -> usize {
    (&(*manager).0).used()
}

/// Write buffers are no entries of a cache here.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(
    _manager: *mut rocksdb_write_buffer_manager_t,
) -> usize {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_write_buffer_manager_buffer_size(
    manager: *mut rocksdb_write_buffer_manager_t,
) -> usize {
    (&(*manager).0).size()
}

/// Databases that are open keep the size that they were opened with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_write_buffer_manager_set_buffer_size(
    manager: *mut rocksdb_write_buffer_manager_t,
    size: usize,
) {
    (&(*manager).0).size.store(size, Ordering::Relaxed);
}

/// A full write buffer always waits for a flush.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_write_buffer_manager_set_allow_stall(
    manager: *mut rocksdb_write_buffer_manager_t,
    may_stall: bool,
) {
    (&(*manager).0).may_stall.store(may_stall, Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_ratelimiter_create(
    _bytes_per_second: i64,
    _refill_micros: i64,
    _fairness: i32,
) -> *mut rocksdb_ratelimiter_t {
    handle(rocksdb_ratelimiter_t { _private: () })
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_ratelimiter_create_auto_tuned(
    _bytes_per_second: i64,
    _refill_micros: i64,
    _fairness: i32,
) -> *mut rocksdb_ratelimiter_t {
    handle(rocksdb_ratelimiter_t { _private: () })
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_ratelimiter_create_with_mode(
    _bytes_per_second: i64,
    _refill_micros: i64,
    _fairness: i32,
    _mode: c_int,
    _auto_tuned: bool,
) -> *mut rocksdb_ratelimiter_t {
    handle(rocksdb_ratelimiter_t { _private: () })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_ratelimiter_destroy(limiter: *mut rocksdb_ratelimiter_t) {
    free(limiter);
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_sst_file_manager_create(
    _env: *mut rocksdb_env_t,
) -> *mut rocksdb_sst_file_manager_t {
    handle(rocksdb_sst_file_manager_t {
        trash_ratio: 0.25_f64.to_bits().into(),
        ..rocksdb_sst_file_manager_t::default()
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_manager_destroy(
    manager: *mut rocksdb_sst_file_manager_t,
) {
    free(manager);
}

/// No option of a database takes the manager, so it never limits one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_manager_set_max_allowed_space_usage(
    manager: *mut rocksdb_sst_file_manager_t,
    bytes: u64,
) {
    (*manager).allowed_space.store(bytes, Ordering::Relaxed);
}

/// No option of a database takes the manager, so it never limits one.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_sst_file_manager_set_compaction_buffer_size(
    _manager: *mut rocksdb_sst_file_manager_t,
    _bytes: u64,
) {
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_sst_file_manager_is_max_allowed_space_reached(
    _manager: *mut rocksdb_sst_file_manager_t,
) -> bool {
    false
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(
    _manager: *mut rocksdb_sst_file_manager_t,
) -> bool {
    false
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_sst_file_manager_get_total_size(
    _manager: *mut rocksdb_sst_file_manager_t,
) -> u64 {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(
    manager: *mut rocksdb_sst_file_manager_t,
) -> i64 {
    (*manager).delete_rate.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(
    manager: *mut rocksdb_sst_file_manager_t,
    rate: i64,
) {
    (*manager).delete_rate.store(rate, Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_manager_get_max_trash_db_ratio(
    manager: *mut rocksdb_sst_file_manager_t,
) -> f64 {
    f64::from_bits((*manager).trash_ratio.load(Ordering::Relaxed))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_manager_set_max_trash_db_ratio(
    manager: *mut rocksdb_sst_file_manager_t,
    ratio: f64,
) {
    (*manager).trash_ratio.store(ratio.to_bits(), Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_sst_file_manager_get_total_trash_size(
    _manager: *mut rocksdb_sst_file_manager_t,
) -> u64 {
    0
}
