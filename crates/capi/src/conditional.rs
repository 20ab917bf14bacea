//! Writes under a condition: each reads one key and writes it in one step, and no other write to
//! the key comes in between.
//!
//! In each function a NULL keyspace is the default one, and NULL options are the defaults.

use std::ffi::{c_int, c_void};
use std::ptr;

use foldb::{CompareAndSwap, Conditional, Result};

use crate::boundary::{bytes, call, check_out, store};
use crate::bytes::{foldb_bytes_t, foldb_value_t};
use crate::database::foldb_t;
use crate::error::foldb_error_t;
use crate::keyspace::{foldb_keyspace_t, keyspace_to_change};
use crate::options::{foldb_write_options_t, write_options};

/// # Safety
/// The C program keeps the rules of the header.
unsafe fn conditional<'a>(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
) -> Result<Conditional<'a>> {
    // SAFETY: as the caller promises.
    unsafe { Ok(keyspace_to_change(db, keyspace)?.conditional(write_options(options))) }
}

/// # Safety
/// The C program keeps the rules of the header.
unsafe fn bytes_or_none<'a>(pointer: *const foldb_bytes_t, name: &str) -> Result<Option<&'a [u8]>> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref().map(|bytes| bytes.get(name)).transpose() }
}

/// Sets a key to `new_value` if its value is `expected`. NULL for either stands for an absent key.
/// Stores in `*swapped` whether it did. If it did not, it stores the value found in `*found`, to be
/// freed with `foldb_value_free`, NULL if the key is absent. `found` itself may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_compare_and_swap(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
    expected: *const foldb_bytes_t,
    new_value: *const foldb_bytes_t,
    swapped: *mut bool,
    found: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(swapped, "swapped")?;
        // SAFETY: the caller keeps the rules of the header.
        let outcome = unsafe {
            let expected = bytes_or_none(expected, "expected")?;
            let new = bytes_or_none(new_value, "new_value")?;
            let key = bytes(key, key_len, "key")?;
            conditional(db, keyspace, options)?.compare_and_swap(key, expected, new)?
        };
        // SAFETY: checked above and here.
        unsafe {
            store(swapped, outcome.is_swapped());
            if !found.is_null() {
                let value = match outcome {
                    CompareAndSwap::Swapped => None,
                    CompareAndSwap::Found(value) => value,
                };
                store(found, foldb_value_t::of(value));
            }
        }
        Ok(())
    })
}

/// Sets an absent key. Stores in `*put` whether it was absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_put_if_absent(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
    put: *mut bool,
) -> *mut foldb_error_t {
    call(|| {
        check_out(put, "put")?;
        // SAFETY: the caller keeps the rules of the header.
        unsafe {
            let (key, value) = (bytes(key, key_len, "key")?, bytes(value, value_len, "value")?);
            store(put, conditional(db, keyspace, options)?.put_if_absent(key, value)?);
        }
        Ok(())
    })
}

/// Deletes a key. Stores the value that it had in `*value`, to be freed with `foldb_value_free`;
/// NULL if it had none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_take(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(value, "value")?;
        // SAFETY: the caller keeps the rules of the header.
        unsafe {
            let taken = conditional(db, keyspace, options)?.take(bytes(key, key_len, "key")?)?;
            store(value, foldb_value_t::of(taken));
        }
        Ok(())
    })
}

/// Merges an operand with the keyspace's merge operator. Stores the value after this merge in
/// `*value`, to be freed with `foldb_value_free`; NULL if the operator deleted the key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_merge_get(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
    operand: *const u8,
    operand_len: usize,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(value, "value")?;
        // SAFETY: the caller keeps the rules of the header.
        unsafe {
            let (key, operand) =
                (bytes(key, key_len, "key")?, bytes(operand, operand_len, "operand")?);
            let merged = conditional(db, keyspace, options)?.merge_get(key, operand)?;
            store(value, foldb_value_t::of(merged));
        }
        Ok(())
    })
}

/// Returns whether a value is accepted. `value` is NULL if the key is absent. `state` is what the
/// program passed to `foldb_merge_if`.
pub type foldb_accepts_t =
    Option<unsafe extern "C" fn(state: *mut c_void, value: *const u8, value_len: usize) -> c_int>;

/// Merges an operand if `accepts` returns something other than 0 for the key's value. Stores in
/// `*merged` whether it did. `accepts` may be called several times, on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_merge_if(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
    accepts: foldb_accepts_t,
    state: *mut c_void,
    operand: *const u8,
    operand_len: usize,
    merged: *mut bool,
) -> *mut foldb_error_t {
    call(|| {
        check_out(merged, "merged")?;
        let accepts = accepts.ok_or_else(|| foldb::Error::invalid_argument("accepts is NULL"))?;
        let accepts = |value: Option<&[u8]>| {
            let (data, len) = value.map_or((ptr::null(), 0), |bytes| (bytes.as_ptr(), bytes.len()));
            // SAFETY: the caller keeps the rules of the header.
            unsafe { accepts(state, data, len) != 0 }
        };
        // SAFETY: the caller keeps the rules of the header.
        unsafe {
            let (key, operand) =
                (bytes(key, key_len, "key")?, bytes(operand, operand_len, "operand")?);
            store(merged, conditional(db, keyspace, options)?.merge_if(key, accepts, operand)?);
        }
        Ok(())
    })
}
