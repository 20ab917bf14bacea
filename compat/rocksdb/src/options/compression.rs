//! Settings of codecs, of all levels and of the last one.
//!
//! The engine takes the codec alone. Its level, window and dictionaries are kept for the getters.

use std::ffi::{c_int, c_uchar};

use crate::options::rocksdb_options_t;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_compression_options(
    options: *mut rocksdb_options_t,
    window_bits: c_int,
    level: c_int,
    strategy: c_int,
    max_dict_bytes: c_int,
) {
    let own = &mut (*options).compression;
    own.window_bits = window_bits;
    own.level = level;
    own.strategy = strategy;
    own.max_dict_bytes = max_dict_bytes;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_bottommost_compression_options(
    options: *mut rocksdb_options_t,
    window_bits: c_int,
    level: c_int,
    strategy: c_int,
    max_dict_bytes: c_int,
    enabled: c_uchar,
) {
    let own = &mut (*options).bottommost;
    own.window_bits = window_bits;
    own.level = level;
    own.strategy = strategy;
    own.max_dict_bytes = max_dict_bytes;
    own.enabled = enabled;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(
    options: *mut rocksdb_options_t,
    bytes: c_int,
    enabled: c_uchar,
) {
    (*options).bottommost.zstd_max_train_bytes = bytes;
    (*options).bottommost.enabled = enabled;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_bottommost_compression_options_use_zstd_dict_trainer(
    options: *mut rocksdb_options_t,
    value: c_uchar,
    enabled: c_uchar,
) {
    (*options).bottommost.use_zstd_dict_trainer = value;
    (*options).bottommost.enabled = enabled;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_get_bottommost_compression_options_use_zstd_dict_trainer(
    options: *mut rocksdb_options_t,
) -> c_uchar {
    (*options).bottommost.use_zstd_dict_trainer
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_bottommost_compression_options_max_dict_buffer_bytes(
    options: *mut rocksdb_options_t,
    bytes: u64,
    enabled: c_uchar,
) {
    (*options).bottommost.max_dict_buffer_bytes = bytes;
    (*options).bottommost.enabled = enabled;
}
