//! Filters of tables. The engine has one kind of filter, so a policy is its bits for each key.

use std::ffi::c_int;

use crate::boundary::{free, handle};

/// RocksDB: `FilterPolicy`.
#[derive(Debug)]
pub struct rocksdb_filterpolicy_t {
    pub(crate) bits_per_key: f64,
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_filterpolicy_create_bloom(
    bits_per_key: f64,
) -> *mut rocksdb_filterpolicy_t {
    handle(rocksdb_filterpolicy_t { bits_per_key })
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_filterpolicy_create_bloom_full(
    bits_per_key: f64,
) -> *mut rocksdb_filterpolicy_t {
    handle(rocksdb_filterpolicy_t { bits_per_key })
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_filterpolicy_create_ribbon(
    bits_per_key: f64,
) -> *mut rocksdb_filterpolicy_t {
    handle(rocksdb_filterpolicy_t { bits_per_key })
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_filterpolicy_create_ribbon_hybrid(
    bits_per_key: f64,
    _bloom_before_level: c_int,
) -> *mut rocksdb_filterpolicy_t {
    handle(rocksdb_filterpolicy_t { bits_per_key })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_filterpolicy_destroy(policy: *mut rocksdb_filterpolicy_t) {
    free(policy);
}
