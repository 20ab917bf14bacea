//! Single writes.
//!
//! In each function a NULL keyspace is the default one, and NULL options are the defaults.

use std::ffi::c_char;

use crate::boundary::{bytes, call, text};
use crate::bytes::{foldb_bytes_t, range};
use crate::database::foldb_t;
use crate::error::foldb_error_t;
use crate::keyspace::{foldb_keyspace_t, keyspace_to_change};
use crate::options::{foldb_write_options_t, write_options};

/// Sets the value of a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_put(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (keyspace, options) =
            unsafe { (keyspace_to_change(db, keyspace)?, write_options(options)) };
        // SAFETY: the caller keeps the rules of the header.
        let (key, value) =
            unsafe { (bytes(key, key_len, "key")?, bytes(value, value_len, "value")?) };
        keyspace.with(options).put(key, value)
    })
}

/// Deletes a key. A missing key is no error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_delete(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (keyspace, options) =
            unsafe { (keyspace_to_change(db, keyspace)?, write_options(options)) };
        // SAFETY: the caller keeps the rules of the header.
        keyspace.with(options).delete(unsafe { bytes(key, key_len, "key")? })
    })
}

/// Deletes all keys from `lower` on and before `upper`, with one record. NULL for a bound means no
/// bound there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_delete_range(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    lower: *const foldb_bytes_t,
    upper: *const foldb_bytes_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (keyspace, options) =
            unsafe { (keyspace_to_change(db, keyspace)?, write_options(options)) };
        // SAFETY: the caller keeps the rules of the header.
        keyspace.with(options).delete_range(unsafe { range(lower, upper)? })
    })
}

/// Merges an operand into a key with the keyspace's merge operator. It reads nothing: the engine
/// folds the operands later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_merge(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
    operand: *const u8,
    operand_len: usize,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (keyspace, options) =
            unsafe { (keyspace_to_change(db, keyspace)?, write_options(options)) };
        // SAFETY: the caller keeps the rules of the header.
        let (key, operand) =
            unsafe { (bytes(key, key_len, "key")?, bytes(operand, operand_len, "operand")?) };
        keyspace.with(options).merge(key, operand)
    })
}

/// Merges an operand into a key with the operator `NAME` or `NAME:PARAM`, for example `max` or
/// `stringappend:;`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_merge_with(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    operator: *const c_char,
    key: *const u8,
    key_len: usize,
    operand: *const u8,
    operand_len: usize,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (keyspace, options) =
            unsafe { (keyspace_to_change(db, keyspace)?, write_options(options)) };
        // SAFETY: the caller keeps the rules of the header.
        let (key, operand) =
            unsafe { (bytes(key, key_len, "key")?, bytes(operand, operand_len, "operand")?) };
        // SAFETY: the caller keeps the rules of the header.
        let operator = keyspace.operator(unsafe { text(operator, "operator")? })?;
        keyspace.with(options).merge_with(&operator, key, operand)
    })
}
