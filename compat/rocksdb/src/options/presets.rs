//! Functions that set several options at once.
//!
//! Each sets what RocksDB's does, so that getters answer alike.

use std::ffi::{c_char, c_int, c_uchar};

use crate::objects::cache::Cache;
use crate::options::rocksdb_options_t;
use crate::options::table::rocksdb_cuckoo_table_options_t;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_increase_parallelism(
    options: *mut rocksdb_options_t,
    total_threads: c_int,
) {
    (*options).values.max_background_jobs = total_threads;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_optimize_for_point_lookup(
    options: *mut rocksdb_options_t,
    block_cache_size_mb: u64,
) {
    let own = &mut *options;
    own.table.cache = Some(Cache::new((block_cache_size_mb as usize).saturating_mul(1 << 20)));
    own.table.values.data_block_index_type = 1;
    own.table.values.data_block_hash_ratio = 0.75;
    own.values.memtable_prefix_bloom_size_ratio = 0.02;
    own.values.memtable_whole_key_filtering = 1;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_optimize_level_style_compaction(
    options: *mut rocksdb_options_t,
    memtable_memory_budget: u64,
) {
    let own = &mut (*options).values;
    own.write_buffer_size = (memtable_memory_budget / 4) as usize;
    own.min_write_buffer_number_to_merge = 2;
    own.max_write_buffer_number = 6;
    own.level0_file_num_compaction_trigger = 2;
    own.target_file_size_base = memtable_memory_budget / 8;
    own.max_bytes_for_level_base = memtable_memory_budget;
    own.compaction_style = 0;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_optimize_universal_style_compaction(
    options: *mut rocksdb_options_t,
    memtable_memory_budget: u64,
) {
    let own = &mut (*options).values;
    own.write_buffer_size = (memtable_memory_budget / 4) as usize;
    own.min_write_buffer_number_to_merge = 2;
    own.max_write_buffer_number = 6;
    own.compaction_style = 1;
    (*options).universal.compression_size_percent = 80;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_prepare_for_bulk_load(options: *mut rocksdb_options_t) {
    let own = &mut (*options).values;
    own.level0_file_num_compaction_trigger = 1 << 30;
    own.level0_slowdown_writes_trigger = 1 << 30;
    own.level0_stop_writes_trigger = 1 << 30;
    own.soft_pending_compaction_bytes_limit = 0;
    own.hard_pending_compaction_bytes_limit = 0;
    own.disable_auto_compactions = 1;
    own.max_compaction_bytes = 1 << 60;
    own.num_levels = 2;
    own.max_write_buffer_number = 6;
    own.min_write_buffer_number_to_merge = 1;
    own.max_background_flushes = 4;
    own.max_background_compactions = 2;
    own.target_file_size_base = 256 << 20;
}

/// The engine has one memtable, so the program's choice has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_set_memtable_vector_rep(_options: *mut rocksdb_options_t) {}

/// The engine has one memtable, so the program's choice has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_set_hash_skip_list_rep(
    _options: *mut rocksdb_options_t,
    _buckets: usize,
    _height: i32,
    _branching: i32,
) {
}

/// The engine has one memtable, so the program's choice has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_set_hash_link_list_rep(
    _options: *mut rocksdb_options_t,
    _buckets: usize,
) {
}

/// The engine has one table format, so the program's choice has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_set_plain_table_factory(
    _options: *mut rocksdb_options_t,
    _key_len: u32,
    _bloom_bits: c_int,
    _hash_ratio: f64,
    _index_sparseness: usize,
    _huge_page_size: usize,
    _encoding: c_char,
    _full_scan_mode: c_uchar,
    _store_index: c_uchar,
) {
}

/// The engine has one table format, so the program's choice has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_set_cuckoo_table_factory(
    _options: *mut rocksdb_options_t,
    _table: *mut rocksdb_cuckoo_table_options_t,
) {
}

/// Compactions of the engine choose by dead bytes already.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_add_compact_on_deletion_collector_factory(
    _options: *mut rocksdb_options_t,
    _window: usize,
    _deletes: usize,
) {
}

/// Compactions of the engine choose by dead bytes already.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_add_compact_on_deletion_collector_factory_del_ratio(
    _options: *mut rocksdb_options_t,
    _window: usize,
    _deletes: usize,
    _ratio: f64,
) {
}
