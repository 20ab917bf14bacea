//! Batches: several writes that happen together or not at all.

use std::ffi::c_char;

use foldb::{Keyspace, Result, WriteBatch};

use crate::boundary::{arg, arg_mut, bytes, call, free, text};
use crate::bytes::{foldb_bytes_t, range};
use crate::database::foldb_t;
use crate::error::foldb_error_t;
use crate::expiry::{expires_after, expires_at};
use crate::keyspace::{foldb_keyspace_t, keyspace_to_change};
use crate::options::{foldb_write_options_t, write_options};

/// A batch of writes to one database. One thread at a time may use it.
pub struct foldb_batch_t {
    pub(crate) batch: WriteBatch,
    /// The batch's own handle of its database.
    pub(crate) db: foldb_t,
}

/// Makes an empty batch of writes to `db`; NULL if `db` is NULL. Free it with `foldb_batch_free`.
/// After the database was closed, `foldb_batch_merge_with` and `foldb_batch_write` return
/// `FOLDB_CLOSED`; the other calls still work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_new(db: *const foldb_t) -> *mut foldb_batch_t {
    // SAFETY: the caller keeps the rules of the header.
    let Some(db) = (unsafe { db.as_ref() }) else { return std::ptr::null_mut() };
    let db = foldb_t::clone(db);
    Box::into_raw(Box::new(foldb_batch_t { batch: WriteBatch::new(), db }))
}

/// Adds a write of `key` to a batch.
///
/// # Safety
/// The C program keeps the rules of the header.
unsafe fn add(
    batch: *mut foldb_batch_t,
    keyspace: *const foldb_keyspace_t,
    write: impl FnOnce(&mut WriteBatch, &Keyspace) -> Result<()>,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: as the caller promises.
        let batch = unsafe { arg_mut(batch, "batch")? };
        // SAFETY: as the caller promises; the batch's own handle lives as long as the batch.
        let keyspace = unsafe { keyspace_to_change(&batch.db, keyspace)? };
        write(&mut batch.batch, keyspace)
    })
}

/// Sets for how many seconds the puts and merges that are added from now on live, in keyspaces with
/// an expiry. 0: as the keyspace says, the default. Negative: they never expire.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_set_lifetime_seconds(
    batch: *mut foldb_batch_t,
    seconds: i64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let batch = unsafe { arg_mut(batch, "batch")? };
        batch.batch.set_expires(expires_after(seconds));
        Ok(())
    })
}

/// Sets when the puts and merges that are added from now on expire, in milliseconds since 1970. A
/// moment in the past: at once. Negative: never. The last call of this function and of
/// `foldb_batch_set_lifetime_seconds` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_set_expires_at_millis(
    batch: *mut foldb_batch_t,
    millis: i64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let batch = unsafe { arg_mut(batch, "batch")? };
        batch.batch.set_expires(Some(expires_at(millis)));
        Ok(())
    })
}

/// Adds a put.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_put(
    batch: *mut foldb_batch_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        add(batch, keyspace, |batch, keyspace| {
            let (key, value) = (bytes(key, key_len, "key")?, bytes(value, value_len, "value")?);
            batch.put_in(keyspace, key, value);
            Ok(())
        })
    }
}

/// Adds a delete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_delete(
    batch: *mut foldb_batch_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        add(batch, keyspace, |batch, keyspace| {
            batch.delete_in(keyspace, bytes(key, key_len, "key")?);
            Ok(())
        })
    }
}

/// Adds a delete of all keys from `lower` on and before `upper`. NULL for a bound means no bound
/// there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_delete_range(
    batch: *mut foldb_batch_t,
    keyspace: *const foldb_keyspace_t,
    lower: *const foldb_bytes_t,
    upper: *const foldb_bytes_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        add(batch, keyspace, |batch, keyspace| {
            batch.delete_range_in(keyspace, range(lower, upper)?);
            Ok(())
        })
    }
}

/// Adds a merge with the keyspace's merge operator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_merge(
    batch: *mut foldb_batch_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    operand: *const u8,
    operand_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        add(batch, keyspace, |batch, keyspace| {
            let key = bytes(key, key_len, "key")?;
            batch.merge_in(keyspace, key, bytes(operand, operand_len, "operand")?);
            Ok(())
        })
    }
}

/// Adds a merge with the operator `NAME` or `NAME:PARAM`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_merge_with(
    batch: *mut foldb_batch_t,
    keyspace: *const foldb_keyspace_t,
    operator: *const c_char,
    key: *const u8,
    key_len: usize,
    operand: *const u8,
    operand_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        add(batch, keyspace, |batch, keyspace| {
            let operator = keyspace.operator(text(operator, "operator")?)?;
            let key = bytes(key, key_len, "key")?;
            batch.merge_with_in(&operator, keyspace, key, bytes(operand, operand_len, "operand")?);
            Ok(())
        })
    }
}

/// Returns the number of writes in a batch; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_len(batch: *const foldb_batch_t) -> usize {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { batch.as_ref() }.map_or(0, |batch| batch.batch.len())
}

/// Removes all writes from a batch, to fill it again. Later writes expire as their keyspace says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_clear(batch: *mut foldb_batch_t) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let batch = unsafe { arg_mut(batch, "batch")? };
        batch.batch.clear();
        Ok(())
    })
}

/// Applies a batch to its database. Readers see all of it or nothing, also after a crash. NULL
/// options are the defaults. The batch stays as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_write(
    batch: *const foldb_batch_t,
    options: *const foldb_write_options_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (batch, options) = unsafe { (arg(batch, "batch")?, write_options(options)) };
        batch.db.db.to_change()?.with(options).write(&batch.batch)
    })
}

/// Frees a batch. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_free(batch: *mut foldb_batch_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(batch) };
}
