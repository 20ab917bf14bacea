//! Values that the engine keeps in place while the program reads them.

use std::ffi::c_char;

use foldb::Value;

use crate::boundary::{free, handle, lend, store_len};

/// RocksDB: `PinnableSlice`. A large value is not copied: it pins its memtable or block.
pub struct rocksdb_pinnableslice_t {
    value: Value,
}

/// Makes a handle of a value; NULL for none.
pub(crate) fn pinned(value: Option<Value>) -> *mut rocksdb_pinnableslice_t {
    value.map_or(std::ptr::null_mut(), |value| handle(rocksdb_pinnableslice_t { value }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_pinnableslice_destroy(value: *mut rocksdb_pinnableslice_t) {
    free(value);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_pinnableslice_value(
    value: *const rocksdb_pinnableslice_t,
    len: *mut usize,
) -> *const c_char {
    match value.as_ref() {
        Some(own) => lend(&own.value, len),
        None => {
            store_len(len, 0);
            std::ptr::null()
        }
    }
}
