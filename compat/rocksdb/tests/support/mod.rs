//! Calls of the C interface as a program makes them, with texts and slices of Rust.

#![allow(dead_code, reason = "each test program uses some of them")]

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr;

use foldb_rocksdb::database::close::rocksdb_free;
use foldb_rocksdb::database::open::rocksdb_open;
use foldb_rocksdb::database::reads::rocksdb_get;
use foldb_rocksdb::database::rocksdb_t;
use foldb_rocksdb::database::upkeep::{rocksdb_compact_range, rocksdb_flush};
use foldb_rocksdb::database::writes::{rocksdb_delete, rocksdb_merge, rocksdb_put};
use foldb_rocksdb::iterator::{
    rocksdb_iter_key, rocksdb_iter_next, rocksdb_iter_valid, rocksdb_iterator_t,
};
use foldb_rocksdb::options::calls::{
    rocksdb_flushoptions_create, rocksdb_flushoptions_destroy, rocksdb_readoptions_create,
    rocksdb_writeoptions_create,
};
use foldb_rocksdb::options::{
    rocksdb_options_create, rocksdb_options_set_create_if_missing, rocksdb_options_t,
};

pub(crate) fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

/// Calls a function that may fail. Returns its error.
pub(crate) fn error_of(call: impl FnOnce(*mut *mut c_char)) -> Option<String> {
    let mut error = ptr::null_mut();
    call(&mut error);
    if error.is_null() {
        return None;
    }
    let text = unsafe { CStr::from_ptr(error) }.to_str().unwrap().to_owned();
    unsafe { rocksdb_free(error.cast()) };
    Some(text)
}

pub(crate) fn creating() -> *mut rocksdb_options_t {
    let options = rocksdb_options_create();
    unsafe { rocksdb_options_set_create_if_missing(options, 1) };
    options
}

pub(crate) fn opened(options: *mut rocksdb_options_t, path: &Path) -> *mut rocksdb_t {
    let mut db = ptr::null_mut();
    let path = c_path(path);
    let error = error_of(|error| db = unsafe { rocksdb_open(options, path.as_ptr(), error) });
    assert_eq!(error, None);
    db
}

pub(crate) fn put(db: *mut rocksdb_t, key: &str, value: &[u8]) -> Option<String> {
    let options = rocksdb_writeoptions_create();
    let (key, value) = ((key.as_ptr().cast(), key.len()), (value.as_ptr().cast(), value.len()));
    error_of(|error| unsafe { rocksdb_put(db, options, key.0, key.1, value.0, value.1, error) })
}

pub(crate) fn merge(db: *mut rocksdb_t, key: &str, value: &[u8]) -> Option<String> {
    let options = rocksdb_writeoptions_create();
    let (key, value) = ((key.as_ptr().cast(), key.len()), (value.as_ptr().cast(), value.len()));
    error_of(|error| unsafe { rocksdb_merge(db, options, key.0, key.1, value.0, value.1, error) })
}

pub(crate) fn delete(db: *mut rocksdb_t, key: &str) {
    let options = rocksdb_writeoptions_create();
    let (key, len) = (key.as_ptr().cast(), key.len());
    let error = error_of(|error| unsafe { rocksdb_delete(db, options, key, len, error) });
    assert_eq!(error, None);
}

pub(crate) fn flush(db: *mut rocksdb_t) {
    let options = rocksdb_flushoptions_create();
    assert_eq!(error_of(|error| unsafe { rocksdb_flush(db, options, error) }), None);
    unsafe { rocksdb_flushoptions_destroy(options) };
}

pub(crate) fn compact(db: *mut rocksdb_t) {
    unsafe { rocksdb_compact_range(db, ptr::null(), 0, ptr::null(), 0) };
}

/// Takes a text that the library made. `None` for NULL.
pub(crate) fn taken_text(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let own = unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned();
    unsafe { rocksdb_free(text.cast()) };
    Some(own)
}

/// Takes a value that the library made.
pub(crate) fn taken(value: *mut c_char, len: usize) -> Option<Vec<u8>> {
    if value.is_null() {
        return None;
    }
    let bytes = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), len) }.to_vec();
    unsafe { rocksdb_free(value.cast()) };
    Some(bytes)
}

pub(crate) fn get(db: *mut rocksdb_t, key: &str) -> Result<Option<Vec<u8>>, String> {
    let options = rocksdb_readoptions_create();
    let (mut value, mut len) = (ptr::null_mut(), 0);
    let key = (key.as_ptr().cast(), key.len());
    let error = error_of(|error| {
        value = unsafe { rocksdb_get(db, options, key.0, key.1, &mut len, error) };
    });
    error.map_or(Ok(taken(value, len)), Err)
}

/// Returns the key under an iterator.
pub(crate) fn key_of(iterator: *mut rocksdb_iterator_t) -> Option<String> {
    unsafe {
        if rocksdb_iter_valid(iterator) == 0 {
            return None;
        }
        let mut len = 0;
        let start = rocksdb_iter_key(iterator, &mut len);
        let key = std::slice::from_raw_parts(start.cast::<u8>(), len);
        Some(String::from_utf8(key.to_vec()).unwrap())
    }
}

/// Returns the keys from the current one to the last.
pub(crate) fn keys_from_here(iterator: *mut rocksdb_iterator_t) -> Vec<String> {
    let mut keys = Vec::new();
    while let Some(key) = key_of(iterator) {
        keys.push(key);
        unsafe { rocksdb_iter_next(iterator) };
    }
    keys
}
