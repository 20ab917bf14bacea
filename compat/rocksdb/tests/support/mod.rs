//! Calls of the C interface in the words of Rust: each asserts that it has no error.

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr;

use foldb_rocksdb::database::close::rocksdb_free;
use foldb_rocksdb::database::open::rocksdb_open;
use foldb_rocksdb::database::reads::rocksdb_get;
use foldb_rocksdb::database::rocksdb_t;
use foldb_rocksdb::database::upkeep::{rocksdb_compact_range, rocksdb_flush};
use foldb_rocksdb::database::writes::{rocksdb_delete, rocksdb_put};
use foldb_rocksdb::options::calls::{
    rocksdb_flushoptions_create, rocksdb_flushoptions_destroy, rocksdb_readoptions_create,
    rocksdb_readoptions_destroy, rocksdb_writeoptions_create, rocksdb_writeoptions_destroy,
};
use foldb_rocksdb::options::{
    rocksdb_options_create, rocksdb_options_set_create_if_missing, rocksdb_options_t,
};

/// Does a call that must not fail.
fn succeeds<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> T {
    let mut error = ptr::null_mut();
    let result = call(&mut error);
    assert!(error.is_null(), "{:?}", unsafe { CStr::from_ptr(error) });
    result
}

/// Makes options that create a database.
pub(crate) fn creating() -> *mut rocksdb_options_t {
    let options = rocksdb_options_create();
    unsafe { rocksdb_options_set_create_if_missing(options, 1) };
    options
}

pub(crate) fn open(options: *mut rocksdb_options_t, path: &Path) -> *mut rocksdb_t {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    succeeds(|error| unsafe { rocksdb_open(options, path.as_ptr(), error) })
}

pub(crate) fn put(db: *mut rocksdb_t, key: &str, value: &str) {
    let options = rocksdb_writeoptions_create();
    let (key, value) = ((key.as_ptr().cast(), key.len()), (value.as_ptr().cast(), value.len()));
    succeeds(|error| unsafe { rocksdb_put(db, options, key.0, key.1, value.0, value.1, error) });
    unsafe { rocksdb_writeoptions_destroy(options) };
}

pub(crate) fn delete(db: *mut rocksdb_t, key: &str) {
    let options = rocksdb_writeoptions_create();
    let key = (key.as_ptr().cast(), key.len());
    succeeds(|error| unsafe { rocksdb_delete(db, options, key.0, key.1, error) });
    unsafe { rocksdb_writeoptions_destroy(options) };
}

/// Returns the length of the value of a key.
pub(crate) fn get(db: *mut rocksdb_t, key: &str) -> Option<usize> {
    let options = rocksdb_readoptions_create();
    let (key, mut len) = ((key.as_ptr().cast(), key.len()), 0);
    let found =
        succeeds(|error| unsafe { rocksdb_get(db, options, key.0, key.1, &mut len, error) });
    unsafe { rocksdb_readoptions_destroy(options) };
    let is_there = !found.is_null();
    unsafe { rocksdb_free(found.cast()) };
    is_there.then_some(len)
}

pub(crate) fn flush(db: *mut rocksdb_t) {
    let options = rocksdb_flushoptions_create();
    succeeds(|error| unsafe { rocksdb_flush(db, options, error) });
    unsafe { rocksdb_flushoptions_destroy(options) };
}

pub(crate) fn compact(db: *mut rocksdb_t) {
    unsafe { rocksdb_compact_range(db, ptr::null(), 0, ptr::null(), 0) };
}

/// Takes a text that the library made. `None` for NULL.
pub(crate) fn taken(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let own = unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned();
    unsafe { rocksdb_free(text.cast()) };
    Some(own)
}
