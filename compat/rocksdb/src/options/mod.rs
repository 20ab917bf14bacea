//! The options of a database and of a column family, which are one object in C.
//!
//! A program fills the object before an open. The open copies it, so later changes have no effect.
//! Plain values stand in one list; `effect` tells what the engine makes of them.

pub mod calls;
pub mod changes;
pub mod compression;
pub(crate) mod effect;
pub(crate) mod files;
pub mod latest;
mod names;
pub mod presets;
pub mod statistics;
pub(crate) mod stored;
pub mod styles;
pub mod table;
pub mod text;
mod text_objects;
pub(crate) mod values;

use std::ffi::{c_char, c_int, c_uchar, c_uint};
use std::path::PathBuf;
use std::sync::Arc;

use crate::boundary::{array, free, handle, path};
use crate::objects::cache::{Cache, rocksdb_cache_t};
use crate::objects::compaction_filter::{
    FilterSource, rocksdb_compactionfilter_t, rocksdb_compactionfilterfactory_t,
};
use crate::objects::comparator::{ForeignComparator, rocksdb_comparator_t};
use crate::objects::environment::{Environment, rocksdb_dbpath_t, rocksdb_env_t};
use crate::objects::limits::{WriteBuffers, rocksdb_ratelimiter_t, rocksdb_write_buffer_manager_t};
use crate::objects::listener::{Listener, rocksdb_eventlistener_t};
use crate::objects::logger::{Logger, rocksdb_logger_t};
use crate::objects::merge_operator::{FamilyOperator, rocksdb_mergeoperator_t};
use crate::objects::slice_transform::{SliceTransform, rocksdb_slicetransform_t};
use crate::objects::statistics::Statistics;
use crate::options::styles::{FifoValues, UniversalValues};
use crate::options::table::TableChoice;
use crate::options::values::{made_and_freed, values};

/// RocksDB: `Options`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_options_t {
    pub(crate) values: OptionValues,
    pub(crate) compression: CompressionChoice,
    pub(crate) bottommost: CompressionChoice,
    /// The codec of each level, where the program gave a list.
    pub(crate) compression_per_level: Vec<c_int>,
    pub(crate) table: TableChoice,
    pub(crate) universal: UniversalValues,
    pub(crate) fifo: FifoValues,
    pub(crate) comparator: Option<Arc<ForeignComparator>>,
    pub(crate) merge_operator: Option<FamilyOperator>,
    pub(crate) compaction_filter: Option<FilterSource>,
    pub(crate) prefix_extractor: Option<Arc<SliceTransform>>,
    pub(crate) env: Option<Arc<Environment>>,
    pub(crate) logger: Option<Arc<Logger>>,
    /// Where the file of events is, if not beside the database's files.
    pub(crate) log_directory: Option<PathBuf>,
    pub(crate) listeners: Vec<Arc<Listener>>,
    pub(crate) statistics: Option<Arc<Statistics>>,
    pub(crate) write_buffers: Option<Arc<WriteBuffers>>,
    pub(crate) row_cache: Option<Arc<Cache>>,
    pub(crate) blob_cache: Option<Arc<Cache>>,
}

/// The settings of a codec, beside its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompressionChoice {
    pub(crate) window_bits: c_int,
    pub(crate) level: c_int,
    pub(crate) strategy: c_int,
    pub(crate) max_dict_bytes: c_int,
    pub(crate) zstd_max_train_bytes: c_int,
    pub(crate) use_zstd_dict_trainer: c_uchar,
    pub(crate) max_dict_buffer_bytes: u64,
    pub(crate) enabled: c_uchar,
}

impl Default for CompressionChoice {
    fn default() -> Self {
        CompressionChoice {
            window_bits: -14,
            level: 32767,
            strategy: 0,
            max_dict_bytes: 0,
            zstd_max_train_bytes: 0,
            use_zstd_dict_trainer: 1,
            max_dict_buffer_bytes: 0,
            enabled: 0,
        }
    }
}

made_and_freed! {
    rocksdb_options_t: rocksdb_options_create, rocksdb_options_destroy;
}

values! {
    /// Plain values of a [`rocksdb_options_t`].
    OptionValues of rocksdb_options_t {
        allow_ingest_behind: c_uchar = 0,
            rocksdb_options_set_allow_ingest_behind(c_uchar),
            rocksdb_options_get_allow_ingest_behind;
        compaction_readahead_size: usize = 2 << 20,
            rocksdb_options_compaction_readahead_size(usize),
            rocksdb_options_get_compaction_readahead_size;
        create_if_missing: c_uchar = 0,
            rocksdb_options_set_create_if_missing(c_uchar),
            rocksdb_options_get_create_if_missing;
        create_missing_column_families: c_uchar = 0,
            rocksdb_options_set_create_missing_column_families(c_uchar),
            rocksdb_options_get_create_missing_column_families;
        error_if_exists: c_uchar = 0,
            rocksdb_options_set_error_if_exists(c_uchar), rocksdb_options_get_error_if_exists;
        paranoid_checks: c_uchar = 1,
            rocksdb_options_set_paranoid_checks(c_uchar), rocksdb_options_get_paranoid_checks;
        info_log_level: c_int = 1,
            rocksdb_options_set_info_log_level(c_int), rocksdb_options_get_info_log_level;
        write_buffer_size: usize = 64 << 20,
            rocksdb_options_set_write_buffer_size(usize), rocksdb_options_get_write_buffer_size;
        db_write_buffer_size: usize = 0,
            rocksdb_options_set_db_write_buffer_size(usize),
            rocksdb_options_get_db_write_buffer_size;
        max_open_files: c_int = -1,
            rocksdb_options_set_max_open_files(c_int), rocksdb_options_get_max_open_files;
        max_file_opening_threads: c_int = 16,
            rocksdb_options_set_max_file_opening_threads(c_int),
            rocksdb_options_get_max_file_opening_threads;
        max_total_wal_size: u64 = 0,
            rocksdb_options_set_max_total_wal_size(u64), rocksdb_options_get_max_total_wal_size;
        compression_options_zstd_max_train_bytes: c_int = 0,
            rocksdb_options_set_compression_options_zstd_max_train_bytes(c_int),
            rocksdb_options_get_compression_options_zstd_max_train_bytes;
        compression_options_use_zstd_dict_trainer: c_uchar = 1,
            rocksdb_options_set_compression_options_use_zstd_dict_trainer(c_uchar),
            rocksdb_options_get_compression_options_use_zstd_dict_trainer;
        compression_options_parallel_threads: c_int = 1,
            rocksdb_options_set_compression_options_parallel_threads(c_int),
            rocksdb_options_get_compression_options_parallel_threads;
        compression_options_max_dict_buffer_bytes: u64 = 0,
            rocksdb_options_set_compression_options_max_dict_buffer_bytes(u64),
            rocksdb_options_get_compression_options_max_dict_buffer_bytes;
        num_levels: c_int = 7,
            rocksdb_options_set_num_levels(c_int), rocksdb_options_get_num_levels;
        level0_file_num_compaction_trigger: c_int = 4,
            rocksdb_options_set_level0_file_num_compaction_trigger(c_int),
            rocksdb_options_get_level0_file_num_compaction_trigger;
        level0_slowdown_writes_trigger: c_int = 20,
            rocksdb_options_set_level0_slowdown_writes_trigger(c_int),
            rocksdb_options_get_level0_slowdown_writes_trigger;
        level0_stop_writes_trigger: c_int = 36,
            rocksdb_options_set_level0_stop_writes_trigger(c_int),
            rocksdb_options_get_level0_stop_writes_trigger;
        target_file_size_base: u64 = 64 << 20,
            rocksdb_options_set_target_file_size_base(u64),
            rocksdb_options_get_target_file_size_base;
        target_file_size_multiplier: c_int = 1,
            rocksdb_options_set_target_file_size_multiplier(c_int),
            rocksdb_options_get_target_file_size_multiplier;
        max_bytes_for_level_base: u64 = 256 << 20,
            rocksdb_options_set_max_bytes_for_level_base(u64),
            rocksdb_options_get_max_bytes_for_level_base;
        level_compaction_dynamic_level_bytes: c_uchar = 1,
            rocksdb_options_set_level_compaction_dynamic_level_bytes(c_uchar),
            rocksdb_options_get_level_compaction_dynamic_level_bytes;
        max_bytes_for_level_multiplier: f64 = 10.0,
            rocksdb_options_set_max_bytes_for_level_multiplier(f64),
            rocksdb_options_get_max_bytes_for_level_multiplier;
        ttl: u64 = 0xffff_ffff_ffff_fffe, rocksdb_options_set_ttl(u64), rocksdb_options_get_ttl;
        periodic_compaction_seconds: u64 = 0xffff_ffff_ffff_fffe,
            rocksdb_options_set_periodic_compaction_seconds(u64),
            rocksdb_options_get_periodic_compaction_seconds;
        memtable_op_scan_flush_trigger: u32 = 0,
            rocksdb_options_set_memtable_op_scan_flush_trigger(u32),
            rocksdb_options_get_memtable_op_scan_flush_trigger;
        memtable_avg_op_scan_flush_trigger: u32 = 0,
            rocksdb_options_set_memtable_avg_op_scan_flush_trigger(u32),
            rocksdb_options_get_memtable_avg_op_scan_flush_trigger;
        skip_stats_update_on_db_open: c_uchar = 0,
            rocksdb_options_set_skip_stats_update_on_db_open(c_uchar),
            rocksdb_options_get_skip_stats_update_on_db_open;
        skip_checking_sst_file_sizes_on_db_open: c_uchar = 0,
            rocksdb_options_set_skip_checking_sst_file_sizes_on_db_open(c_uchar),
            rocksdb_options_get_skip_checking_sst_file_sizes_on_db_open;
        enable_blob_files: c_uchar = 0,
            rocksdb_options_set_enable_blob_files(c_uchar),
            rocksdb_options_get_enable_blob_files;
        min_blob_size: u64 = 0,
            rocksdb_options_set_min_blob_size(u64), rocksdb_options_get_min_blob_size;
        blob_file_size: u64 = 1 << 28,
            rocksdb_options_set_blob_file_size(u64), rocksdb_options_get_blob_file_size;
        blob_compression_type: c_int = 0,
            rocksdb_options_set_blob_compression_type(c_int),
            rocksdb_options_get_blob_compression_type;
        enable_blob_gc: c_uchar = 0,
            rocksdb_options_set_enable_blob_gc(c_uchar), rocksdb_options_get_enable_blob_gc;
        blob_gc_age_cutoff: f64 = 0.25,
            rocksdb_options_set_blob_gc_age_cutoff(f64), rocksdb_options_get_blob_gc_age_cutoff;
        blob_gc_force_threshold: f64 = 1.0,
            rocksdb_options_set_blob_gc_force_threshold(f64),
            rocksdb_options_get_blob_gc_force_threshold;
        blob_compaction_readahead_size: u64 = 0,
            rocksdb_options_set_blob_compaction_readahead_size(u64),
            rocksdb_options_get_blob_compaction_readahead_size;
        blob_file_starting_level: c_int = 0,
            rocksdb_options_set_blob_file_starting_level(c_int),
            rocksdb_options_get_blob_file_starting_level;
        prepopulate_blob_cache: c_int = 0,
            rocksdb_options_set_prepopulate_blob_cache(c_int),
            rocksdb_options_get_prepopulate_blob_cache;
        max_write_buffer_number: c_int = 2,
            rocksdb_options_set_max_write_buffer_number(c_int),
            rocksdb_options_get_max_write_buffer_number;
        min_write_buffer_number_to_merge: c_int = 1,
            rocksdb_options_set_min_write_buffer_number_to_merge(c_int),
            rocksdb_options_get_min_write_buffer_number_to_merge;
        max_write_buffer_size_to_maintain: i64 = 0,
            rocksdb_options_set_max_write_buffer_size_to_maintain(i64),
            rocksdb_options_get_max_write_buffer_size_to_maintain;
        enable_pipelined_write: c_uchar = 0,
            rocksdb_options_set_enable_pipelined_write(c_uchar),
            rocksdb_options_get_enable_pipelined_write;
        unordered_write: c_uchar = 0,
            rocksdb_options_set_unordered_write(c_uchar), rocksdb_options_get_unordered_write;
        max_subcompactions: u32 = 1,
            rocksdb_options_set_max_subcompactions(u32), rocksdb_options_get_max_subcompactions;
        max_background_jobs: c_int = 2,
            rocksdb_options_set_max_background_jobs(c_int),
            rocksdb_options_get_max_background_jobs;
        max_background_compactions: c_int = -1,
            rocksdb_options_set_max_background_compactions(c_int),
            rocksdb_options_get_max_background_compactions;
        max_background_flushes: c_int = -1,
            rocksdb_options_set_max_background_flushes(c_int),
            rocksdb_options_get_max_background_flushes;
        max_log_file_size: usize = 0,
            rocksdb_options_set_max_log_file_size(usize), rocksdb_options_get_max_log_file_size;
        log_file_time_to_roll: usize = 0,
            rocksdb_options_set_log_file_time_to_roll(usize),
            rocksdb_options_get_log_file_time_to_roll;
        keep_log_file_num: usize = 1000,
            rocksdb_options_set_keep_log_file_num(usize), rocksdb_options_get_keep_log_file_num;
        recycle_log_file_num: usize = 0,
            rocksdb_options_set_recycle_log_file_num(usize),
            rocksdb_options_get_recycle_log_file_num;
        soft_pending_compaction_bytes_limit: usize = 64 << 30,
            rocksdb_options_set_soft_pending_compaction_bytes_limit(usize),
            rocksdb_options_get_soft_pending_compaction_bytes_limit;
        hard_pending_compaction_bytes_limit: usize = 256 << 30,
            rocksdb_options_set_hard_pending_compaction_bytes_limit(usize),
            rocksdb_options_get_hard_pending_compaction_bytes_limit;
        max_manifest_file_size: usize = 1 << 30,
            rocksdb_options_set_max_manifest_file_size(usize),
            rocksdb_options_get_max_manifest_file_size;
        table_cache_numshardbits: c_int = 6,
            rocksdb_options_set_table_cache_numshardbits(c_int),
            rocksdb_options_get_table_cache_numshardbits;
        arena_block_size: usize = 0,
            rocksdb_options_set_arena_block_size(usize), rocksdb_options_get_arena_block_size;
        use_fsync: c_uchar = 0, rocksdb_options_set_use_fsync(c_int);
        WAL_ttl_seconds: u64 = 0,
            rocksdb_options_set_WAL_ttl_seconds(u64), rocksdb_options_get_WAL_ttl_seconds;
        WAL_size_limit_MB: u64 = 0,
            rocksdb_options_set_WAL_size_limit_MB(u64), rocksdb_options_get_WAL_size_limit_MB;
        manifest_preallocation_size: usize = 4 << 20,
            rocksdb_options_set_manifest_preallocation_size(usize),
            rocksdb_options_get_manifest_preallocation_size;
        allow_mmap_reads: c_uchar = 0,
            rocksdb_options_set_allow_mmap_reads(c_uchar), rocksdb_options_get_allow_mmap_reads;
        allow_mmap_writes: c_uchar = 0,
            rocksdb_options_set_allow_mmap_writes(c_uchar),
            rocksdb_options_get_allow_mmap_writes;
        use_direct_reads: c_uchar = 0,
            rocksdb_options_set_use_direct_reads(c_uchar), rocksdb_options_get_use_direct_reads;
        use_direct_io_for_flush_and_compaction: c_uchar = 0,
            rocksdb_options_set_use_direct_io_for_flush_and_compaction(c_uchar),
            rocksdb_options_get_use_direct_io_for_flush_and_compaction;
        is_fd_close_on_exec: c_uchar = 1,
            rocksdb_options_set_is_fd_close_on_exec(c_uchar),
            rocksdb_options_get_is_fd_close_on_exec;
        stats_dump_period_sec: c_uint = 600,
            rocksdb_options_set_stats_dump_period_sec(c_uint),
            rocksdb_options_get_stats_dump_period_sec;
        stats_persist_period_sec: c_uint = 600,
            rocksdb_options_set_stats_persist_period_sec(c_uint),
            rocksdb_options_get_stats_persist_period_sec;
        advise_random_on_open: c_uchar = 1,
            rocksdb_options_set_advise_random_on_open(c_uchar),
            rocksdb_options_get_advise_random_on_open;
        use_adaptive_mutex: c_uchar = 0,
            rocksdb_options_set_use_adaptive_mutex(c_uchar),
            rocksdb_options_get_use_adaptive_mutex;
        bytes_per_sync: u64 = 0,
            rocksdb_options_set_bytes_per_sync(u64), rocksdb_options_get_bytes_per_sync;
        wal_bytes_per_sync: u64 = 0,
            rocksdb_options_set_wal_bytes_per_sync(u64), rocksdb_options_get_wal_bytes_per_sync;
        writable_file_max_buffer_size: u64 = 1 << 20,
            rocksdb_options_set_writable_file_max_buffer_size(u64),
            rocksdb_options_get_writable_file_max_buffer_size;
        allow_concurrent_memtable_write: c_uchar = 1,
            rocksdb_options_set_allow_concurrent_memtable_write(c_uchar),
            rocksdb_options_get_allow_concurrent_memtable_write;
        enable_write_thread_adaptive_yield: c_uchar = 1,
            rocksdb_options_set_enable_write_thread_adaptive_yield(c_uchar),
            rocksdb_options_get_enable_write_thread_adaptive_yield;
        max_sequential_skip_in_iterations: u64 = 8,
            rocksdb_options_set_max_sequential_skip_in_iterations(u64),
            rocksdb_options_get_max_sequential_skip_in_iterations;
        disable_auto_compactions: c_uchar = 0,
            rocksdb_options_set_disable_auto_compactions(c_int),
            rocksdb_options_get_disable_auto_compactions;
        optimize_filters_for_hits: c_uchar = 0,
            rocksdb_options_set_optimize_filters_for_hits(c_int),
            rocksdb_options_get_optimize_filters_for_hits;
        delete_obsolete_files_period_micros: u64 = 21093750 << 10,
            rocksdb_options_set_delete_obsolete_files_period_micros(u64),
            rocksdb_options_get_delete_obsolete_files_period_micros;
        memtable_prefix_bloom_size_ratio: f64 = 0.0,
            rocksdb_options_set_memtable_prefix_bloom_size_ratio(f64),
            rocksdb_options_get_memtable_prefix_bloom_size_ratio;
        max_compaction_bytes: u64 = 0,
            rocksdb_options_set_max_compaction_bytes(u64),
            rocksdb_options_get_max_compaction_bytes;
        write_dbid_to_manifest: c_uchar = 1,
            rocksdb_options_set_write_dbid_to_manifest(c_uchar),
            rocksdb_options_get_write_dbid_to_manifest;
        write_identity_file: c_uchar = 1,
            rocksdb_options_set_write_identity_file(c_uchar),
            rocksdb_options_get_write_identity_file;
        track_and_verify_wals_in_manifest: c_uchar = 0,
            rocksdb_options_set_track_and_verify_wals_in_manifest(c_uchar),
            rocksdb_options_get_track_and_verify_wals_in_manifest;
        min_level_to_compress: c_int = 0, rocksdb_options_set_min_level_to_compress(c_int);
        memtable_huge_page_size: usize = 0,
            rocksdb_options_set_memtable_huge_page_size(usize),
            rocksdb_options_get_memtable_huge_page_size;
        max_successive_merges: usize = 0,
            rocksdb_options_set_max_successive_merges(usize),
            rocksdb_options_get_max_successive_merges;
        bloom_locality: u32 = 0,
            rocksdb_options_set_bloom_locality(u32), rocksdb_options_get_bloom_locality;
        inplace_update_support: c_uchar = 0,
            rocksdb_options_set_inplace_update_support(c_uchar),
            rocksdb_options_get_inplace_update_support;
        inplace_update_num_locks: usize = 10000,
            rocksdb_options_set_inplace_update_num_locks(usize),
            rocksdb_options_get_inplace_update_num_locks;
        report_bg_io_stats: c_uchar = 0,
            rocksdb_options_set_report_bg_io_stats(c_int),
            rocksdb_options_get_report_bg_io_stats;
        avoid_unnecessary_blocking_io: c_uchar = 0,
            rocksdb_options_set_avoid_unnecessary_blocking_io(c_uchar),
            rocksdb_options_get_avoid_unnecessary_blocking_io;
        experimental_mempurge_threshold: f64 = 0.0,
            rocksdb_options_set_experimental_mempurge_threshold(f64),
            rocksdb_options_get_experimental_mempurge_threshold;
        wal_recovery_mode: c_int = 2,
            rocksdb_options_set_wal_recovery_mode(c_int), rocksdb_options_get_wal_recovery_mode;
        compression: c_int = 1,
            rocksdb_options_set_compression(c_int), rocksdb_options_get_compression;
        bottommost_compression: c_int = 0xff,
            rocksdb_options_set_bottommost_compression(c_int),
            rocksdb_options_get_bottommost_compression;
        compaction_style: c_int = 0,
            rocksdb_options_set_compaction_style(c_int), rocksdb_options_get_compaction_style;
        atomic_flush: c_uchar = 0,
            rocksdb_options_set_atomic_flush(c_uchar), rocksdb_options_get_atomic_flush;
        manual_wal_flush: c_uchar = 0,
            rocksdb_options_set_manual_wal_flush(c_uchar), rocksdb_options_get_manual_wal_flush;
        wal_compression: c_int = 0,
            rocksdb_options_set_wal_compression(c_int), rocksdb_options_get_wal_compression;
        compaction_pri: c_int = 3,
            rocksdb_options_set_compaction_pri(c_int), rocksdb_options_get_compaction_pri;
        dump_malloc_stats: c_uchar = 0, rocksdb_options_set_dump_malloc_stats(c_uchar);
        memtable_whole_key_filtering: c_uchar = 0,
            rocksdb_options_set_memtable_whole_key_filtering(c_uchar);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_create_copy(
    options: *mut rocksdb_options_t,
) -> *mut rocksdb_options_t {
    handle(options.as_ref().cloned().unwrap_or_default())
}

/// Shares the comparator. The program frees its own handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_comparator(
    options: *mut rocksdb_options_t,
    comparator: *mut rocksdb_comparator_t,
) {
    (*options).comparator = comparator.as_ref().map(|own| own.0.clone());
}

/// Takes the operator: the program does not free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_merge_operator(
    options: *mut rocksdb_options_t,
    operator: *mut rocksdb_mergeoperator_t,
) {
    (*options).merge_operator = operator.as_ref().map(|own| FamilyOperator::Foreign(own.0.clone()));
    free(operator);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_uint64add_merge_operator(
    options: *mut rocksdb_options_t,
) {
    (*options).merge_operator = Some(FamilyOperator::Builtin(FamilyOperator::UINT64_ADD.into()));
}

/// Shares the filter. The program frees its own handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_compaction_filter(
    options: *mut rocksdb_options_t,
    filter: *mut rocksdb_compactionfilter_t,
) {
    (*options).compaction_filter = filter.as_ref().map(|own| FilterSource::One(own.0.clone()));
}

/// Takes the factory: the program does not free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_compaction_filter_factory(
    options: *mut rocksdb_options_t,
    factory: *mut rocksdb_compactionfilterfactory_t,
) {
    (*options).compaction_filter = factory.as_ref().map(|own| FilterSource::Factory(own.0.clone()));
    free(factory);
}

/// Takes the extractor: the program does not free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_prefix_extractor(
    options: *mut rocksdb_options_t,
    extractor: *mut rocksdb_slicetransform_t,
) {
    (*options).prefix_extractor = extractor.as_ref().map(|own| own.0.clone());
    free(extractor);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_env(
    options: *mut rocksdb_options_t,
    env: *mut rocksdb_env_t,
) {
    (*options).env = env.as_ref().map(|own| own.0.clone());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_info_log(
    options: *mut rocksdb_options_t,
    logger: *mut rocksdb_logger_t,
) {
    (*options).logger = logger.as_ref().map(|own| own.0.clone());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_get_info_log(
    options: *mut rocksdb_options_t,
) -> *mut rocksdb_logger_t {
    let logger = (*options).logger.clone();
    logger.map_or(std::ptr::null_mut(), |logger| handle(rocksdb_logger_t(logger)))
}

/// Takes the listener: the program does not free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_add_eventlistener(
    options: *mut rocksdb_options_t,
    listener: *mut rocksdb_eventlistener_t,
) {
    if let Some(own) = listener.as_ref() {
        (*options).listeners.push(own.0.clone());
        free(listener);
    }
}

/// The engine paces its own background work.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_set_ratelimiter(
    _options: *mut rocksdb_options_t,
    _limiter: *mut rocksdb_ratelimiter_t,
) {
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_write_buffer_manager(
    options: *mut rocksdb_options_t,
    manager: *mut rocksdb_write_buffer_manager_t,
) {
    (*options).write_buffers = manager.as_ref().map(|own| own.0.clone());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_row_cache(
    options: *mut rocksdb_options_t,
    cache: *mut rocksdb_cache_t,
) {
    (*options).row_cache = cache.as_ref().map(|own| own.0.clone());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_blob_cache(
    options: *mut rocksdb_options_t,
    cache: *mut rocksdb_cache_t,
) {
    (*options).blob_cache = cache.as_ref().map(|own| own.0.clone());
}

/// Returns `use_fsync`, which is 0 or 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_get_use_fsync(options: *mut rocksdb_options_t) -> c_int {
    options.as_ref().map_or(0, |own| own.values.use_fsync.into())
}

/// All files of a database lie in its own directory.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_set_db_paths(
    _options: *mut rocksdb_options_t,
    _paths: *mut *const rocksdb_dbpath_t,
    _count: usize,
) {
}

/// All files of a database lie in its own directory.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_set_cf_paths(
    _options: *mut rocksdb_options_t,
    _paths: *mut *const rocksdb_dbpath_t,
    _count: usize,
) {
}

/// All files of a database lie in its own directory.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_set_wal_dir(
    _options: *mut rocksdb_options_t,
    _directory: *const c_char,
) {
}

/// The file of events is there. An empty text is the directory of the database.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_db_log_dir(
    options: *mut rocksdb_options_t,
    directory: *const c_char,
) {
    let directory = path(directory, "db_log_dir").ok();
    (*options).log_directory = directory.filter(|own| !own.as_os_str().is_empty());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_compression_per_level(
    options: *mut rocksdb_options_t,
    levels: *const c_int,
    count: usize,
) {
    (*options).compression_per_level = array(levels, count).unwrap_or_default().to_vec();
}

/// The sizes of levels follow from the shape of the tree.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_options_set_max_bytes_for_level_multiplier_additional(
    _options: *mut rocksdb_options_t,
    _levels: *mut c_int,
    _count: usize,
) {
}
