//! Functions that this library does not have yet.
//!
//! A function that reports errors answers `Not implemented` with its name. One that does not gives
//! the answer for nothing: NULL or 0. Objects that only these functions make do not exist.

use std::ffi::c_char;
use std::ptr;

use crate::boundary::call;
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::rocksdb_t;
use crate::objects::comparator::rocksdb_comparator_t;
use crate::objects::environment::rocksdb_envoptions_t;
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
    rocksdb_sstfilewriter_t
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
}

unanswered! {
    rocksdb_sstfilewriter_create(
        *const rocksdb_envoptions_t, *const rocksdb_options_t,
    ) -> *mut rocksdb_sstfilewriter_t = ptr::null_mut();
    rocksdb_sstfilewriter_create_with_comparator(
        *const rocksdb_envoptions_t, *const rocksdb_options_t, *const rocksdb_comparator_t,
    ) -> *mut rocksdb_sstfilewriter_t = ptr::null_mut();
    rocksdb_sstfilewriter_destroy(*mut rocksdb_sstfilewriter_t);
    rocksdb_sstfilewriter_file_size(*mut rocksdb_sstfilewriter_t, *mut u64);
}
