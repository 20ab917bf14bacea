//! Writes under a condition: each reads one key and writes it in one step, and no other write to
//! the key comes in between.
//!
//! In each function a NULL keyspace is the default one, and NULL options are the defaults.

use std::ffi::{c_int, c_void};
use std::ptr;

use foldb::{CompareAndSwap, Keyspace, Result, Value, With, WriteOptions};

use crate::boundary::{bytes, call, check_out, store};
use crate::bytes::{foldb_bytes_t, foldb_value_t, range};
use crate::database::foldb_t;
use crate::error::foldb_error_t;
use crate::keyspace::{foldb_keyspace_t, keyspace_to_change};
use crate::operator::foldb_output_t;
use crate::options::{foldb_write_options_t, write_options};
use crate::reads::store_entry;

/// # Safety
/// The C program keeps the rules of the header.
unsafe fn conditional<'a>(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
) -> Result<With<'a, Keyspace, WriteOptions>> {
    // SAFETY: as the caller promises.
    unsafe { Ok(keyspace_to_change(db, keyspace)?.with(write_options(options))) }
}

/// # Safety
/// The C program keeps the rules of the header.
pub(crate) unsafe fn bytes_or_none<'a>(
    pointer: *const foldb_bytes_t,
    name: &str,
) -> Result<Option<&'a [u8]>> {
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
            let value = match outcome {
                CompareAndSwap::Swapped => None,
                CompareAndSwap::Found(value) => value,
            };
            store_value(found, value);
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

/// Renews the end of an entry, as a put of its value does. Stores in `*was_there` whether the key
/// has a value; an absent key stays absent. `foldb_write_options_set_expires_at_millis`
/// names another end than that of the keyspace. Fails if the keyspace has no expiry, or if nothing
/// says when the entry expires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_touch(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
    was_there: *mut bool,
) -> *mut foldb_error_t {
    call(|| {
        check_out(was_there, "was_there")?;
        // SAFETY: the caller keeps the rules of the header.
        unsafe {
            let key = bytes(key, key_len, "key")?;
            store(was_there, conditional(db, keyspace, options)?.touch(key)?);
        }
        Ok(())
    })
}

/// Deletes the first entry of the range from `lower` on and before `upper`. Stores its key in
/// `*key` and its value in `*value`, each to be freed with `foldb_value_free`; NULL in both if the
/// range has no entry. NULL for a bound means no bound there.
///
/// This is the front of a queue: a call takes as long however many entries were taken before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_take_first(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    lower: *const foldb_bytes_t,
    upper: *const foldb_bytes_t,
    key: *mut *mut foldb_value_t,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    let first = || unsafe { conditional(db, keyspace, options)?.take_first(range(lower, upper)?) };
    // SAFETY: the caller keeps the rules of the header.
    unsafe { store_entry(first, key, value) }
}

/// Makes the new value of a key: appends it to `new_value` with `foldb_output_append`. Returns
/// something other than 0 if the key has that value from now on, and 0 to delete the key or to
/// leave it absent. `value` is NULL if the key is absent; it lives during the call. `state` is what
/// the program passed to `foldb_update`.
pub type foldb_update_fn = Option<
    unsafe extern "C" fn(
        state: *mut c_void,
        value: *const u8,
        value_len: usize,
        new_value: *mut foldb_output_t,
    ) -> c_int,
>;

/// Returns the function of a program as one of the engine.
///
/// # Safety
/// The C program keeps the rules of the header.
///
/// # Errors
/// `InvalidArgument` for NULL.
unsafe fn updater(
    change: foldb_update_fn,
    state: *mut c_void,
) -> Result<impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>> {
    let change = change.ok_or_else(|| foldb::Error::invalid_argument("change is NULL"))?;
    Ok(move |value: Option<&[u8]>| {
        let (data, len) = value.map_or((ptr::null(), 0), |bytes| (bytes.as_ptr(), bytes.len()));
        let mut new = Vec::new();
        // SAFETY: as the caller promises; the value and the output live during the call.
        let has_value = foldb_output_t::lend(&mut new, |output| unsafe {
            change(state, data, len, output) != 0
        });
        has_value.then_some(new)
    })
}

/// Replaces the value of a key by what `change` makes of it. Stores the new value in `*value`, to
/// be freed with `foldb_value_free`; NULL if the key has none. `value` itself may be NULL.
///
/// If another write changes the key meanwhile, `change` is called again with its new value, on this
/// thread. Only the answer of the last call counts, so the function should have no other effects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_update(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
    change: foldb_update_fn,
    state: *mut c_void,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        unsafe {
            let (key, change) = (bytes(key, key_len, "key")?, updater(change, state)?);
            store_value(value, conditional(db, keyspace, options)?.update(key, change)?);
        }
        Ok(())
    })
}

/// Replaces the value of a key as `foldb_update` does, and stores the value before in `*value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_fetch_update(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_write_options_t,
    key: *const u8,
    key_len: usize,
    change: foldb_update_fn,
    state: *mut c_void,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        unsafe {
            let (key, change) = (bytes(key, key_len, "key")?, updater(change, state)?);
            store_value(value, conditional(db, keyspace, options)?.fetch_update(key, change)?);
        }
        Ok(())
    })
}

/// Stores a value where the program wants it; NULL is nowhere.
///
/// # Safety
/// `out` is NULL, or points to a place for the value.
pub(crate) unsafe fn store_value(out: *mut *mut foldb_value_t, value: Option<Value>) {
    if !out.is_null() {
        // SAFETY: not NULL, and as the caller promises.
        unsafe { store(out, foldb_value_t::of(value)) };
    }
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
/// `*merged` whether it did. If another write changes the key meanwhile, `accepts` is called again
/// with its new value, on this thread.
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
