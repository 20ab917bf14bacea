//! Functions that this library does not have yet.
//!
//! A function that reports errors answers `Not implemented` with its name. One that does not gives
//! the answer for nothing: NULL or 0. Objects that only these functions make do not exist.

use std::ffi::{c_char, c_int, c_uchar};
use std::ptr;

use crate::batch::rocksdb_writebatch_t;
use crate::boundary::call;
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::rocksdb_t;
use crate::objects::cache::rocksdb_cache_t;
use crate::objects::comparator::rocksdb_comparator_t;
use crate::objects::environment::{rocksdb_env_t, rocksdb_envoptions_t};
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
    rocksdb_restore_options_t
    rocksdb_sstfilewriter_t
    rocksdb_wal_iterator_t
    rocksdb_wal_readoptions_t
}

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
    rocksdb_transactiondb_checkpoint_object_create(
        *mut rocksdb_transactiondb_t,
    ) -> *mut rocksdb_checkpoint_t = ptr::null_mut();
    rocksdb_wal_iter_status(*const rocksdb_wal_iterator_t);
}

unanswered! {
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
    rocksdb_get_db_identity(*mut rocksdb_t, *mut usize) -> *mut c_char = ptr::null_mut();
    rocksdb_load_latest_options_destroy(
        *mut rocksdb_options_t, *mut *mut c_char, *mut *mut rocksdb_options_t, usize,
    );
    rocksdb_restore_options_create() -> *mut rocksdb_restore_options_t = ptr::null_mut();
    rocksdb_restore_options_destroy(*mut rocksdb_restore_options_t);
    rocksdb_restore_options_set_keep_log_files(*mut rocksdb_restore_options_t, c_int);
    rocksdb_sstfilewriter_create(
        *const rocksdb_envoptions_t, *const rocksdb_options_t,
    ) -> *mut rocksdb_sstfilewriter_t = ptr::null_mut();
    rocksdb_sstfilewriter_create_with_comparator(
        *const rocksdb_envoptions_t, *const rocksdb_options_t, *const rocksdb_comparator_t,
    ) -> *mut rocksdb_sstfilewriter_t = ptr::null_mut();
    rocksdb_sstfilewriter_destroy(*mut rocksdb_sstfilewriter_t);
    rocksdb_sstfilewriter_file_size(*mut rocksdb_sstfilewriter_t, *mut u64);
    rocksdb_wal_iter_destroy(*const rocksdb_wal_iterator_t);
    rocksdb_wal_iter_get_batch(
        *const rocksdb_wal_iterator_t, *mut u64,
    ) -> *mut rocksdb_writebatch_t = ptr::null_mut();
    rocksdb_wal_iter_next(*mut rocksdb_wal_iterator_t);
    rocksdb_wal_iter_valid(*const rocksdb_wal_iterator_t) -> c_uchar = 0;
}
