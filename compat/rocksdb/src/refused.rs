//! Functions that this library does not have yet.
//!
//! A function that reports errors answers `Not implemented` with its name. One that does not gives
//! the answer for nothing: NULL or 0. Objects that only these functions make do not exist.

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::ptr;

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

/// Declares objects that programs never get.
macro_rules! objects {
    ($($object:ident)*) => {$(
        pub struct $object {
            _private: (),
        }
    )*};
}

objects! {
    rocksdb_compactionjobinfo_t
    rocksdb_externalfileingestioninfo_t
    rocksdb_flushjobinfo_t
    rocksdb_memtableinfo_t
    rocksdb_perfcontext_t
    rocksdb_sstfilewriter_t
    rocksdb_statistics_histogram_data_t
    rocksdb_status_ptr_t
    rocksdb_subcompactionjobinfo_t
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
    rocksdb_compactionjobinfo_status(*const rocksdb_compactionjobinfo_t);
    rocksdb_ingest_external_file(
        *mut rocksdb_t, *const *const c_char, usize, *const rocksdb_ingestexternalfileoptions_t,
    );
    rocksdb_ingest_external_file_cf(
        *mut rocksdb_t, *mut rocksdb_column_family_handle_t, *const *const c_char, usize,
        *const rocksdb_ingestexternalfileoptions_t,
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
}

unanswered! {
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
    rocksdb_memtableinfo_cf_name(
        *const rocksdb_memtableinfo_t, *mut usize,
    ) -> *const c_char = ptr::null();
    rocksdb_memtableinfo_earliest_seqno(*const rocksdb_memtableinfo_t) -> u64 = 0;
    rocksdb_memtableinfo_first_seqno(*const rocksdb_memtableinfo_t) -> u64 = 0;
    rocksdb_memtableinfo_num_deletes(*const rocksdb_memtableinfo_t) -> u64 = 0;
    rocksdb_memtableinfo_num_entries(*const rocksdb_memtableinfo_t) -> u64 = 0;
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
    rocksdb_reset_status(*mut rocksdb_status_ptr_t);
    rocksdb_set_perf_level(c_int);
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
