//! Merge operators of a program over reopens: without one, and with one of another name.

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call keeps the rules of the header")]

mod support;

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::path::Path;
use std::ptr;

use foldb_rocksdb::database::close::rocksdb_close;
use foldb_rocksdb::database::family::{rocksdb_create_column_family, rocksdb_drop_column_family};
use foldb_rocksdb::database::reads::rocksdb_get_cf;
use foldb_rocksdb::database::rocksdb_t;
use foldb_rocksdb::database::upkeep::rocksdb_flush;
use foldb_rocksdb::database::writes::rocksdb_merge_cf;
use foldb_rocksdb::objects::merge_operator::rocksdb_mergeoperator_create;
use foldb_rocksdb::options::calls::{
    rocksdb_flushoptions_create, rocksdb_readoptions_create, rocksdb_writeoptions_create,
};
use foldb_rocksdb::options::{rocksdb_options_set_merge_operator, rocksdb_options_t};

use support::{creating, error_of, get, merge, opened, taken};

/// Joins the value and the operands. The state is the name, whose first letter is put between.
unsafe extern "C" fn join(
    state: *mut c_void,
    _key: *const c_char,
    _key_len: usize,
    base: *const c_char,
    base_len: usize,
    operands: *const *const c_char,
    lens: *const usize,
    count: c_int,
    success: *mut c_uchar,
    new_len: *mut usize,
) -> *mut c_char {
    unsafe {
        let mut parts = Vec::new();
        if !base.is_null() {
            parts.push(std::slice::from_raw_parts(base.cast::<u8>(), base_len));
        }
        for at in 0..count as usize {
            let operand = *operands.add(at);
            parts.push(std::slice::from_raw_parts(operand.cast::<u8>(), *lens.add(at)));
        }
        let joined = parts.join(&*state.cast::<u8>());
        *success = 1;
        *new_len = joined.len();
        let copy = libc::malloc(joined.len().max(1)).cast::<u8>();
        ptr::copy_nonoverlapping(joined.as_ptr(), copy, joined.len());
        copy.cast()
    }
}

/// Folds no operands without a value.
unsafe extern "C" fn keep(
    _state: *mut c_void,
    _key: *const c_char,
    _key_len: usize,
    _operands: *const *const c_char,
    _lens: *const usize,
    _count: c_int,
    success: *mut c_uchar,
    _new_len: *mut usize,
) -> *mut c_char {
    unsafe { *success = 0 };
    ptr::null_mut()
}

unsafe extern "C" fn name(state: *mut c_void) -> *const c_char {
    state.cast()
}

/// Returns options with an operator that joins by the first letter of its name.
fn joining(own: &'static CStr) -> *mut rocksdb_options_t {
    let options = creating();
    unsafe {
        let state = own.as_ptr().cast_mut().cast();
        let operator =
            rocksdb_mergeoperator_create(state, None, Some(join), Some(keep), None, Some(name));
        rocksdb_options_set_merge_operator(options, operator);
    }
    options
}

fn flush(db: *mut rocksdb_t) {
    let options = rocksdb_flushoptions_create();
    assert_eq!(error_of(|error| unsafe { rocksdb_flush(db, options, error) }), None);
}

fn with_merges(path: &Path) {
    let db = opened(joining(c"-joined"), path);
    assert_eq!(merge(db, "k", b"a"), None);
    flush(db);
    assert_eq!(merge(db, "k", b"b"), None);
    assert_eq!(get(db, "k"), Ok(Some(b"a-b".to_vec())));
    unsafe { rocksdb_close(db) };
}

#[test]
fn a_reopen_without_the_operator_reads_no_merges_and_loses_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    with_merges(&path);
    let db = opened(creating(), &path);
    let told = "Invalid argument: merge_operator is not properly initialized.";
    assert_eq!(get(db, "k"), Err(told.to_owned()));
    flush(db);
    unsafe { rocksdb_close(db) };
    let db = opened(joining(c"-joined"), &path);
    assert_eq!(get(db, "k"), Ok(Some(b"a-b".to_vec())));
    unsafe { rocksdb_close(db) };
}

#[test]
fn a_reopen_with_an_operator_of_another_name_folds_the_old_operands() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    with_merges(&path);
    let db = opened(joining(c"+ another name"), &path);
    assert_eq!(merge(db, "k", b"c"), None);
    assert_eq!(get(db, "k"), Ok(Some(b"a+b+c".to_vec())));
    unsafe { rocksdb_close(db) };
}

#[test]
fn a_family_created_again_has_the_operator_of_its_new_options() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(creating(), &dir.path().join("db"));
    let (write, read) = (rocksdb_writeoptions_create(), rocksdb_readoptions_create());
    for (own, expected) in [(c"-", b"a-b"), (c"+", b"a+b")] {
        unsafe {
            let mut error = ptr::null_mut();
            let family =
                rocksdb_create_column_family(db, joining(own), c"own".as_ptr(), &mut error);
            assert!(error.is_null());
            for operand in ["a", "b"] {
                let (start, key) = (operand.as_ptr().cast(), b"k".as_ptr().cast());
                let merged = error_of(|error| {
                    rocksdb_merge_cf(db, write, family, key, 1, start, 1, error);
                });
                assert_eq!(merged, None);
            }
            let mut len = 0;
            let key = b"k".as_ptr().cast();
            let value = rocksdb_get_cf(db, read, family, key, 1, &mut len, &mut error);
            assert_eq!(taken(value, len).as_deref(), Some(&expected[..]));
            assert_eq!(error_of(|error| rocksdb_drop_column_family(db, family, error)), None);
        }
    }
    unsafe { rocksdb_close(db) };
}
