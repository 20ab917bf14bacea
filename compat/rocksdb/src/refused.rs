//! Functions that this library does not have yet.
//!
//! A function that reports errors answers `Not implemented` with its name. One that does not gives
//! the answer for nothing: NULL or 0. Objects that only these functions make do not exist.

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::ptr;

use crate::batch::rocksdb_writebatch_t;
use crate::boundary::call;
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::rocksdb_t;
use crate::objects::cache::rocksdb_cache_t;
use crate::objects::comparator::rocksdb_comparator_t;
use crate::objects::environment::{rocksdb_env_t, rocksdb_envoptions_t};
use crate::objects::listener::rocksdb_eventlistener_t;
use crate::options::calls::rocksdb_ingestexternalfileoptions_t;
use crate::options::rocksdb_options_t;
use crate::status::{Outcome, Status};
use crate::transactions::databases::{rocksdb_optimistictransactiondb_t, rocksdb_transactiondb_t};

/// Declares objects that programs never get.
macro_rules! objects {
    ($($object:ident)*) => {$(
        pub struct $object {
            _private: (),
        }
    )*};
}

objects! {
    rocksdb_backup_engine_info_t
    rocksdb_backup_engine_options_t
    rocksdb_backup_engine_t
    rocksdb_checkpoint_t
    rocksdb_column_family_metadata_t
    rocksdb_compactionjobinfo_t
    rocksdb_externalfileingestioninfo_t
    rocksdb_flushjobinfo_t
    rocksdb_level_metadata_t
    rocksdb_livefiles_t
    rocksdb_memory_consumers_t
    rocksdb_memory_usage_t
    rocksdb_memtableinfo_t
    rocksdb_perfcontext_t
    rocksdb_restore_options_t
    rocksdb_sst_file_metadata_t
    rocksdb_sstfilewriter_t
    rocksdb_statistics_histogram_data_t
    rocksdb_status_ptr_t
    rocksdb_subcompactionjobinfo_t
    rocksdb_wal_iterator_t
    rocksdb_wal_readoptions_t
    rocksdb_writestallcondition_t
    rocksdb_writestallinfo_t
}

/// Tells of a compaction.
type CompactionEvent =
    Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_compactionjobinfo_t)>;

/// Tells of an ingestion.
type IngestionEvent = Option<
    unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_externalfileingestioninfo_t),
>;

/// Declares functions that answer an error with their name. `errptr` is their last argument.
macro_rules! refused {
    ($($name:ident($($type:ty),* $(,)?) $(-> $result:ty = $nothing:expr)?;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $(_: $type,)* errptr: *mut *mut c_char
        ) $(-> $result)? {
            call(errptr, || -> Outcome<()> { Err(Status::unsupported(stringify!($name))) });
            $($nothing)?
        }
    )*};
}

/// Declares functions that report no error, and have no answer.
macro_rules! unanswered {
    ($($name:ident($($type:ty),* $(,)?) $(-> $result:ty = $nothing:expr)?;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($(_: $type),*) $(-> $result)? {
            $($nothing)?
        }
    )*};
}

refused! {
    rocksdb_approximate_memory_usage_create(
        *mut rocksdb_memory_consumers_t,
    ) -> *mut rocksdb_memory_usage_t = ptr::null_mut();
    rocksdb_backup_engine_create_new_backup(*mut rocksdb_backup_engine_t, *mut rocksdb_t);
    rocksdb_backup_engine_create_new_backup_flush(
        *mut rocksdb_backup_engine_t, *mut rocksdb_t, c_uchar,
    );
    rocksdb_backup_engine_open(
        *const rocksdb_options_t, *const c_char,
    ) -> *mut rocksdb_backup_engine_t = ptr::null_mut();
    rocksdb_backup_engine_open_opts(
        *const rocksdb_backup_engine_options_t, *mut rocksdb_env_t,
    ) -> *mut rocksdb_backup_engine_t = ptr::null_mut();
    rocksdb_backup_engine_purge_old_backups(*mut rocksdb_backup_engine_t, u32);
    rocksdb_backup_engine_restore_db_from_backup(
        *mut rocksdb_backup_engine_t, *const c_char, *const c_char,
        *const rocksdb_restore_options_t, u32,
    );
    rocksdb_backup_engine_restore_db_from_latest_backup(
        *mut rocksdb_backup_engine_t, *const c_char, *const c_char,
        *const rocksdb_restore_options_t,
    );
    rocksdb_backup_engine_verify_backup(*mut rocksdb_backup_engine_t, u32);
    rocksdb_checkpoint_create(*mut rocksdb_checkpoint_t, *const c_char, u64);
    rocksdb_checkpoint_object_create(*mut rocksdb_t) -> *mut rocksdb_checkpoint_t = ptr::null_mut();
    rocksdb_compactionjobinfo_status(*const rocksdb_compactionjobinfo_t);
    rocksdb_get_updates_since(
        *mut rocksdb_t, u64, *const rocksdb_wal_readoptions_t,
    ) -> *mut rocksdb_wal_iterator_t = ptr::null_mut();
    rocksdb_ingest_external_file(
        *mut rocksdb_t, *const *const c_char, usize, *const rocksdb_ingestexternalfileoptions_t,
    );
    rocksdb_ingest_external_file_cf(
        *mut rocksdb_t, *mut rocksdb_column_family_handle_t, *const *const c_char, usize,
        *const rocksdb_ingestexternalfileoptions_t,
    );
    rocksdb_load_latest_options(
        *const c_char, *mut rocksdb_env_t, bool, *mut rocksdb_cache_t,
        *mut *mut rocksdb_options_t, *mut usize, *mut *mut *mut c_char,
        *mut *mut *mut rocksdb_options_t,
    );
    rocksdb_optimistictransactiondb_checkpoint_object_create(
        *mut rocksdb_optimistictransactiondb_t,
    ) -> *mut rocksdb_checkpoint_t = ptr::null_mut();
    rocksdb_set_options(*mut rocksdb_t, c_int, *const *const c_char, *const *const c_char);
    rocksdb_set_options_cf(
        *mut rocksdb_t, *mut rocksdb_column_family_handle_t, c_int, *const *const c_char,
        *const *const c_char,
    );
    rocksdb_sstfilewriter_add(
        *mut rocksdb_sstfilewriter_t, *const c_char, usize, *const c_char, usize,
    );
    rocksdb_sstfilewriter_delete(*mut rocksdb_sstfilewriter_t, *const c_char, usize);
    rocksdb_sstfilewriter_delete_range(
        *mut rocksdb_sstfilewriter_t, *const c_char, usize, *const c_char, usize,
    );
    rocksdb_sstfilewriter_delete_with_ts(
        *mut rocksdb_sstfilewriter_t, *const c_char, usize, *const c_char, usize,
    );
    rocksdb_sstfilewriter_finish(*mut rocksdb_sstfilewriter_t);
    rocksdb_sstfilewriter_merge(
        *mut rocksdb_sstfilewriter_t, *const c_char, usize, *const c_char, usize,
    );
    rocksdb_sstfilewriter_open(*mut rocksdb_sstfilewriter_t, *const c_char);
    rocksdb_sstfilewriter_put(
        *mut rocksdb_sstfilewriter_t, *const c_char, usize, *const c_char, usize,
    );
    rocksdb_sstfilewriter_put_with_ts(
        *mut rocksdb_sstfilewriter_t, *const c_char, usize, *const c_char, usize, *const c_char,
        usize,
    );
    rocksdb_subcompactionjobinfo_status(*const rocksdb_subcompactionjobinfo_t);
    rocksdb_transactiondb_checkpoint_object_create(
        *mut rocksdb_transactiondb_t,
    ) -> *mut rocksdb_checkpoint_t = ptr::null_mut();
    rocksdb_wal_iter_status(*const rocksdb_wal_iterator_t);
}

unanswered! {
    rocksdb_approximate_memory_usage_destroy(*mut rocksdb_memory_usage_t);
    rocksdb_approximate_memory_usage_get_cache_total(*mut rocksdb_memory_usage_t) -> u64 = 0;
    rocksdb_approximate_memory_usage_get_mem_table_readers_total(
        *mut rocksdb_memory_usage_t,
    ) -> u64 = 0;
    rocksdb_approximate_memory_usage_get_mem_table_total(*mut rocksdb_memory_usage_t) -> u64 = 0;
    rocksdb_approximate_memory_usage_get_mem_table_unflushed(
        *mut rocksdb_memory_usage_t,
    ) -> u64 = 0;
    rocksdb_backup_engine_close(*mut rocksdb_backup_engine_t);
    rocksdb_backup_engine_get_backup_info(
        *mut rocksdb_backup_engine_t,
    ) -> *const rocksdb_backup_engine_info_t = ptr::null();
    rocksdb_backup_engine_info_backup_id(*const rocksdb_backup_engine_info_t, c_int) -> u32 = 0;
    rocksdb_backup_engine_info_count(*const rocksdb_backup_engine_info_t) -> c_int = 0;
    rocksdb_backup_engine_info_destroy(*const rocksdb_backup_engine_info_t);
    rocksdb_backup_engine_info_number_files(*const rocksdb_backup_engine_info_t, c_int) -> u32 = 0;
    rocksdb_backup_engine_info_size(*const rocksdb_backup_engine_info_t, c_int) -> u64 = 0;
    rocksdb_backup_engine_info_timestamp(*const rocksdb_backup_engine_info_t, c_int) -> i64 = 0;
    rocksdb_backup_engine_options_create(
        *const c_char,
    ) -> *mut rocksdb_backup_engine_options_t = ptr::null_mut();
    rocksdb_backup_engine_options_destroy(*mut rocksdb_backup_engine_options_t);
    rocksdb_backup_engine_options_get_backup_log_files(
        *mut rocksdb_backup_engine_options_t,
    ) -> c_uchar = 0;
    rocksdb_backup_engine_options_get_backup_rate_limit(
        *mut rocksdb_backup_engine_options_t,
    ) -> u64 = 0;
    rocksdb_backup_engine_options_get_callback_trigger_interval_size(
        *mut rocksdb_backup_engine_options_t,
    ) -> u64 = 0;
    rocksdb_backup_engine_options_get_destroy_old_data(
        *mut rocksdb_backup_engine_options_t,
    ) -> c_uchar = 0;
    rocksdb_backup_engine_options_get_max_background_operations(
        *mut rocksdb_backup_engine_options_t,
    ) -> c_int = 0;
    rocksdb_backup_engine_options_get_max_valid_backups_to_open(
        *mut rocksdb_backup_engine_options_t,
    ) -> c_int = 0;
    rocksdb_backup_engine_options_get_restore_rate_limit(
        *mut rocksdb_backup_engine_options_t,
    ) -> u64 = 0;
    rocksdb_backup_engine_options_get_share_files_with_checksum_naming(
        *mut rocksdb_backup_engine_options_t,
    ) -> c_int = 0;
    rocksdb_backup_engine_options_get_share_table_files(
        *mut rocksdb_backup_engine_options_t,
    ) -> c_uchar = 0;
    rocksdb_backup_engine_options_get_sync(*mut rocksdb_backup_engine_options_t) -> c_uchar = 0;
    rocksdb_backup_engine_options_set_backup_dir(
        *mut rocksdb_backup_engine_options_t, *const c_char,
    );
    rocksdb_backup_engine_options_set_backup_log_files(
        *mut rocksdb_backup_engine_options_t, c_uchar,
    );
    rocksdb_backup_engine_options_set_backup_rate_limit(*mut rocksdb_backup_engine_options_t, u64);
    rocksdb_backup_engine_options_set_callback_trigger_interval_size(
        *mut rocksdb_backup_engine_options_t, u64,
    );
    rocksdb_backup_engine_options_set_destroy_old_data(
        *mut rocksdb_backup_engine_options_t, c_uchar,
    );
    rocksdb_backup_engine_options_set_env(*mut rocksdb_backup_engine_options_t, *mut rocksdb_env_t);
    rocksdb_backup_engine_options_set_max_background_operations(
        *mut rocksdb_backup_engine_options_t, c_int,
    );
    rocksdb_backup_engine_options_set_max_valid_backups_to_open(
        *mut rocksdb_backup_engine_options_t, c_int,
    );
    rocksdb_backup_engine_options_set_restore_rate_limit(*mut rocksdb_backup_engine_options_t, u64);
    rocksdb_backup_engine_options_set_share_files_with_checksum_naming(
        *mut rocksdb_backup_engine_options_t, c_int,
    );
    rocksdb_backup_engine_options_set_share_table_files(
        *mut rocksdb_backup_engine_options_t, c_uchar,
    );
    rocksdb_backup_engine_options_set_sync(*mut rocksdb_backup_engine_options_t, c_uchar);
    rocksdb_checkpoint_object_destroy(*mut rocksdb_checkpoint_t);
    rocksdb_column_family_metadata_destroy(*mut rocksdb_column_family_metadata_t);
    rocksdb_column_family_metadata_get_file_count(
        *mut rocksdb_column_family_metadata_t,
    ) -> usize = 0;
    rocksdb_column_family_metadata_get_level_count(
        *mut rocksdb_column_family_metadata_t,
    ) -> usize = 0;
    rocksdb_column_family_metadata_get_level_metadata(
        *mut rocksdb_column_family_metadata_t, usize,
    ) -> *mut rocksdb_level_metadata_t = ptr::null_mut();
    rocksdb_column_family_metadata_get_name(
        *mut rocksdb_column_family_metadata_t,
    ) -> *mut c_char = ptr::null_mut();
    rocksdb_column_family_metadata_get_size(*mut rocksdb_column_family_metadata_t) -> u64 = 0;
    rocksdb_compactionjobinfo_base_input_level(*const rocksdb_compactionjobinfo_t) -> c_int = 0;
    rocksdb_compactionjobinfo_cf_name(
        *const rocksdb_compactionjobinfo_t, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_compactionjobinfo_compaction_reason(*const rocksdb_compactionjobinfo_t) -> u32 = 0;
    rocksdb_compactionjobinfo_elapsed_micros(*const rocksdb_compactionjobinfo_t) -> u64 = 0;
    rocksdb_compactionjobinfo_input_file_at(
        *const rocksdb_compactionjobinfo_t, usize, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_compactionjobinfo_input_files_count(*const rocksdb_compactionjobinfo_t) -> usize = 0;
    rocksdb_compactionjobinfo_input_records(*const rocksdb_compactionjobinfo_t) -> u64 = 0;
    rocksdb_compactionjobinfo_num_corrupt_keys(*const rocksdb_compactionjobinfo_t) -> u64 = 0;
    rocksdb_compactionjobinfo_num_input_files(*const rocksdb_compactionjobinfo_t) -> usize = 0;
    rocksdb_compactionjobinfo_num_input_files_at_output_level(
        *const rocksdb_compactionjobinfo_t,
    ) -> usize = 0;
    rocksdb_compactionjobinfo_output_file_at(
        *const rocksdb_compactionjobinfo_t, usize, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_compactionjobinfo_output_files_count(*const rocksdb_compactionjobinfo_t) -> usize = 0;
    rocksdb_compactionjobinfo_output_level(*const rocksdb_compactionjobinfo_t) -> c_int = 0;
    rocksdb_compactionjobinfo_output_records(*const rocksdb_compactionjobinfo_t) -> u64 = 0;
    rocksdb_compactionjobinfo_total_input_bytes(*const rocksdb_compactionjobinfo_t) -> u64 = 0;
    rocksdb_compactionjobinfo_total_output_bytes(*const rocksdb_compactionjobinfo_t) -> u64 = 0;
    rocksdb_eventlistener_create(
        *mut c_void, Option<unsafe extern "C" fn(*mut c_void)>,
        Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_flushjobinfo_t)>,
        Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_flushjobinfo_t)>,
        CompactionEvent,
        CompactionEvent,
        Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_subcompactionjobinfo_t)>,
        Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_subcompactionjobinfo_t)>,
        IngestionEvent,
        Option<unsafe extern "C" fn(*mut c_void, u32, *mut rocksdb_status_ptr_t)>,
        Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_writestallinfo_t)>,
        Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_memtableinfo_t)>,
    ) -> *mut rocksdb_eventlistener_t = ptr::null_mut();
    rocksdb_eventlistener_destroy(*mut rocksdb_eventlistener_t);
    rocksdb_externalfileingestioninfo_cf_name(
        *const rocksdb_externalfileingestioninfo_t, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_externalfileingestioninfo_internal_file_path(
        *const rocksdb_externalfileingestioninfo_t, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_flushjobinfo_cf_name(
        *const rocksdb_flushjobinfo_t, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_flushjobinfo_file_path(
        *const rocksdb_flushjobinfo_t, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_flushjobinfo_largest_seqno(*const rocksdb_flushjobinfo_t) -> u64 = 0;
    rocksdb_flushjobinfo_smallest_seqno(*const rocksdb_flushjobinfo_t) -> u64 = 0;
    rocksdb_flushjobinfo_triggered_writes_slowdown(*const rocksdb_flushjobinfo_t) -> c_uchar = 0;
    rocksdb_flushjobinfo_triggered_writes_stop(*const rocksdb_flushjobinfo_t) -> c_uchar = 0;
    rocksdb_get_column_family_metadata(
        *mut rocksdb_t,
    ) -> *mut rocksdb_column_family_metadata_t = ptr::null_mut();
    rocksdb_get_column_family_metadata_cf(
        *mut rocksdb_t, *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_column_family_metadata_t = ptr::null_mut();
    rocksdb_get_db_identity(*mut rocksdb_t, *mut usize) -> *mut c_char = ptr::null_mut();
    rocksdb_level_metadata_destroy(*mut rocksdb_level_metadata_t);
    rocksdb_level_metadata_get_file_count(*mut rocksdb_level_metadata_t) -> usize = 0;
    rocksdb_level_metadata_get_level(*mut rocksdb_level_metadata_t) -> c_int = 0;
    rocksdb_level_metadata_get_size(*mut rocksdb_level_metadata_t) -> u64 = 0;
    rocksdb_level_metadata_get_sst_file_metadata(
        *mut rocksdb_level_metadata_t, usize,
    ) -> *mut rocksdb_sst_file_metadata_t = ptr::null_mut();
    rocksdb_livefiles(*mut rocksdb_t) -> *const rocksdb_livefiles_t = ptr::null();
    rocksdb_livefiles_column_family_name(
        *const rocksdb_livefiles_t, c_int,
    ) -> *const c_char = ptr::null();
    rocksdb_livefiles_count(*const rocksdb_livefiles_t) -> c_int = 0;
    rocksdb_livefiles_deletions(*const rocksdb_livefiles_t, c_int) -> u64 = 0;
    rocksdb_livefiles_destroy(*const rocksdb_livefiles_t);
    rocksdb_livefiles_entries(*const rocksdb_livefiles_t, c_int) -> u64 = 0;
    rocksdb_livefiles_largestkey(
        *const rocksdb_livefiles_t, c_int, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_livefiles_level(*const rocksdb_livefiles_t, c_int) -> c_int = 0;
    rocksdb_livefiles_name(*const rocksdb_livefiles_t, c_int) -> *const c_char = ptr::null();
    rocksdb_livefiles_size(*const rocksdb_livefiles_t, c_int) -> usize = 0;
    rocksdb_livefiles_smallestkey(
        *const rocksdb_livefiles_t, c_int, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_load_latest_options_destroy(
        *mut rocksdb_options_t, *mut *mut c_char, *mut *mut rocksdb_options_t, usize,
    );
    rocksdb_memory_consumers_add_cache(*mut rocksdb_memory_consumers_t, *mut rocksdb_cache_t);
    rocksdb_memory_consumers_add_db(*mut rocksdb_memory_consumers_t, *mut rocksdb_t);
    rocksdb_memory_consumers_create() -> *mut rocksdb_memory_consumers_t = ptr::null_mut();
    rocksdb_memory_consumers_destroy(*mut rocksdb_memory_consumers_t);
    rocksdb_memtableinfo_cf_name(
        *const rocksdb_memtableinfo_t, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_memtableinfo_earliest_seqno(*const rocksdb_memtableinfo_t) -> u64 = 0;
    rocksdb_memtableinfo_first_seqno(*const rocksdb_memtableinfo_t) -> u64 = 0;
    rocksdb_memtableinfo_num_deletes(*const rocksdb_memtableinfo_t) -> u64 = 0;
    rocksdb_memtableinfo_num_entries(*const rocksdb_memtableinfo_t) -> u64 = 0;
    rocksdb_optimistictransactiondb_property_int(
        *mut rocksdb_optimistictransactiondb_t, *const c_char, *mut u64,
    ) -> c_int = 0;
    rocksdb_optimistictransactiondb_property_value(
        *mut rocksdb_optimistictransactiondb_t, *const c_char,
    ) -> *mut c_char = ptr::null_mut();
    rocksdb_options_statistics_get_histogram_data(
        *mut rocksdb_options_t, u32, *mut rocksdb_statistics_histogram_data_t,
    );
    rocksdb_options_statistics_get_string(*mut rocksdb_options_t) -> *mut c_char = ptr::null_mut();
    rocksdb_options_statistics_get_ticker_count(*mut rocksdb_options_t, u32) -> u64 = 0;
    rocksdb_perfcontext_create() -> *mut rocksdb_perfcontext_t = ptr::null_mut();
    rocksdb_perfcontext_destroy(*mut rocksdb_perfcontext_t);
    rocksdb_perfcontext_metric(*mut rocksdb_perfcontext_t, c_int) -> u64 = 0;
    rocksdb_perfcontext_report(
        *mut rocksdb_perfcontext_t, c_uchar,
    ) -> *mut c_char = ptr::null_mut();
    rocksdb_perfcontext_reset(*mut rocksdb_perfcontext_t);
    rocksdb_property_int(*mut rocksdb_t, *const c_char, *mut u64) -> c_int = 0;
    rocksdb_property_int_cf(
        *mut rocksdb_t, *mut rocksdb_column_family_handle_t, *const c_char, *mut u64,
    ) -> c_int = 0;
    rocksdb_property_value(*mut rocksdb_t, *const c_char) -> *mut c_char = ptr::null_mut();
    rocksdb_property_value_cf(
        *mut rocksdb_t, *mut rocksdb_column_family_handle_t, *const c_char,
    ) -> *mut c_char = ptr::null_mut();
    rocksdb_reset_status(*mut rocksdb_status_ptr_t);
    rocksdb_restore_options_create() -> *mut rocksdb_restore_options_t = ptr::null_mut();
    rocksdb_restore_options_destroy(*mut rocksdb_restore_options_t);
    rocksdb_restore_options_set_keep_log_files(*mut rocksdb_restore_options_t, c_int);
    rocksdb_set_perf_level(c_int);
    rocksdb_sst_file_metadata_destroy(*mut rocksdb_sst_file_metadata_t);
    rocksdb_sst_file_metadata_get_directory(
        *mut rocksdb_sst_file_metadata_t,
    ) -> *mut c_char = ptr::null_mut();
    rocksdb_sst_file_metadata_get_largestkey(
        *mut rocksdb_sst_file_metadata_t, *mut usize,
    ) -> *mut c_char = ptr::null_mut();
    rocksdb_sst_file_metadata_get_relative_filename(
        *mut rocksdb_sst_file_metadata_t,
    ) -> *mut c_char = ptr::null_mut();
    rocksdb_sst_file_metadata_get_size(*mut rocksdb_sst_file_metadata_t) -> u64 = 0;
    rocksdb_sst_file_metadata_get_smallestkey(
        *mut rocksdb_sst_file_metadata_t, *mut usize,
    ) -> *mut c_char = ptr::null_mut();
    rocksdb_sstfilewriter_create(
        *const rocksdb_envoptions_t, *const rocksdb_options_t,
    ) -> *mut rocksdb_sstfilewriter_t = ptr::null_mut();
    rocksdb_sstfilewriter_create_with_comparator(
        *const rocksdb_envoptions_t, *const rocksdb_options_t, *const rocksdb_comparator_t,
    ) -> *mut rocksdb_sstfilewriter_t = ptr::null_mut();
    rocksdb_sstfilewriter_destroy(*mut rocksdb_sstfilewriter_t);
    rocksdb_sstfilewriter_file_size(*mut rocksdb_sstfilewriter_t, *mut u64);
    rocksdb_statistics_histogram_data_create(

    ) -> *mut rocksdb_statistics_histogram_data_t = ptr::null_mut();
    rocksdb_statistics_histogram_data_destroy(*mut rocksdb_statistics_histogram_data_t);
    rocksdb_statistics_histogram_data_get_average(
        *mut rocksdb_statistics_histogram_data_t,
    ) -> f64 = 0.0;
    rocksdb_statistics_histogram_data_get_count(
        *mut rocksdb_statistics_histogram_data_t,
    ) -> u64 = 0;
    rocksdb_statistics_histogram_data_get_max(
        *mut rocksdb_statistics_histogram_data_t,
    ) -> f64 = 0.0;
    rocksdb_statistics_histogram_data_get_median(
        *mut rocksdb_statistics_histogram_data_t,
    ) -> f64 = 0.0;
    rocksdb_statistics_histogram_data_get_min(
        *mut rocksdb_statistics_histogram_data_t,
    ) -> f64 = 0.0;
    rocksdb_statistics_histogram_data_get_p95(
        *mut rocksdb_statistics_histogram_data_t,
    ) -> f64 = 0.0;
    rocksdb_statistics_histogram_data_get_p99(
        *mut rocksdb_statistics_histogram_data_t,
    ) -> f64 = 0.0;
    rocksdb_statistics_histogram_data_get_std_dev(
        *mut rocksdb_statistics_histogram_data_t,
    ) -> f64 = 0.0;
    rocksdb_statistics_histogram_data_get_sum(*mut rocksdb_statistics_histogram_data_t) -> u64 = 0;
    rocksdb_subcompactionjobinfo_base_input_level(
        *const rocksdb_subcompactionjobinfo_t,
    ) -> c_int = 0;
    rocksdb_subcompactionjobinfo_cf_name(
        *const rocksdb_subcompactionjobinfo_t, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_subcompactionjobinfo_output_level(*const rocksdb_subcompactionjobinfo_t) -> c_int = 0;
    rocksdb_subcompactionjobinfo_thread_id(*const rocksdb_subcompactionjobinfo_t) -> u64 = 0;
    rocksdb_transactiondb_property_int(
        *mut rocksdb_transactiondb_t, *const c_char, *mut u64,
    ) -> c_int = 0;
    rocksdb_transactiondb_property_value(
        *mut rocksdb_transactiondb_t, *const c_char,
    ) -> *mut c_char = ptr::null_mut();
    rocksdb_wal_iter_destroy(*const rocksdb_wal_iterator_t);
    rocksdb_wal_iter_get_batch(
        *const rocksdb_wal_iterator_t, *mut u64,
    ) -> *mut rocksdb_writebatch_t = ptr::null_mut();
    rocksdb_wal_iter_next(*mut rocksdb_wal_iterator_t);
    rocksdb_wal_iter_valid(*const rocksdb_wal_iterator_t) -> c_uchar = 0;
    rocksdb_writestallinfo_cf_name(
        *const rocksdb_writestallinfo_t, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_writestallinfo_cur(
        *const rocksdb_writestallinfo_t,
    ) -> *const rocksdb_writestallcondition_t = ptr::null();
    rocksdb_writestallinfo_prev(
        *const rocksdb_writestallinfo_t,
    ) -> *const rocksdb_writestallcondition_t = ptr::null();
}
