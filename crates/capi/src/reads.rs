//! Point reads.
//!
//! In each function a NULL keyspace is the default one, and NULL options are the defaults.

use std::ffi::c_void;
use std::ptr;
use std::time::SystemTime;

use foldb::{Error, KeyspaceReader, ReadOptions, Result, Value, With};

use crate::boundary::{arg, array, bytes, call, check_array, check_out, store};
use crate::bytes::{foldb_bytes_t, foldb_value_t};
use crate::database::foldb_t;
use crate::error::foldb_error_t;
use crate::expiry::{NEVER, millis_of};
use crate::keyspace::{foldb_keyspace_t, keyspace_of};
use crate::options::{foldb_read_options_t, read_options};

/// Reads the value of a key.
///
/// # Safety
/// The C program keeps the rules of the header.
#[inline]
unsafe fn get(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    key: *const u8,
    key_len: usize,
) -> Result<Option<Value>> {
    // SAFETY: as the caller promises.
    let (keyspace, options) = unsafe { (keyspace_of(db, keyspace)?, read_options(options)) };
    // SAFETY: as the caller promises.
    let key = unsafe { bytes(key, key_len, "key")? };
    keyspace.get(key, options)
}

/// Reads a keyspace with these options.
///
/// # Safety
/// The C program keeps the rules of the header.
unsafe fn read<T>(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    read: impl FnOnce(With<'_, KeyspaceReader, ReadOptions>) -> Result<T>,
) -> Result<T> {
    // SAFETY: as the caller promises.
    let (keyspace, options) = unsafe { (keyspace_of(db, keyspace)?, read_options(options)) };
    let defaults = ReadOptions::default();
    read(keyspace.reader().with(options.unwrap_or(&defaults)))
}

/// Stores the value of a key in `*value`, to be freed with `foldb_value_free`; NULL if there is no
/// value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_get(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    key: *const u8,
    key_len: usize,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(value, "value")?;
        // SAFETY: the caller keeps the rules of the header; checked above.
        unsafe { store(value, foldb_value_t::of(get(db, keyspace, options, key, key_len)?)) };
        Ok(())
    })
}

/// Stores in `*millis` when a key expires, in milliseconds since 1970; -1 if there is no value, or
/// if it never expires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_expires_at(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    key: *const u8,
    key_len: usize,
    millis: *mut i64,
) -> *mut foldb_error_t {
    call(|| {
        check_out(millis, "millis")?;
        // SAFETY: the caller keeps the rules of the header.
        let key = unsafe { bytes(key, key_len, "key")? };
        // SAFETY: the caller keeps the rules of the header.
        let end = unsafe { read(db, keyspace, options, |reader| reader.expires_at(key))? };
        let end = millis_of(end);
        // SAFETY: the caller keeps the rules of the header; checked above.
        unsafe { store(millis, end) };
        Ok(())
    })
}

/// Stores in `*millis` how long a key has left, in milliseconds by the time of the database; -1 if
/// it has a value that never expires, and -2 if it has no value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_ttl_millis(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    key: *const u8,
    key_len: usize,
    millis: *mut i64,
) -> *mut foldb_error_t {
    call(|| {
        check_out(millis, "millis")?;
        // SAFETY: the caller keeps the rules of the header.
        let (own, key) = unsafe { (arg(db, "db")?, bytes(key, key_len, "key")?) };
        // The clock first: a key that expires between the two calls has nothing left.
        let now = own.db.clock().database;
        // SAFETY: the caller keeps the rules of the header.
        let end = unsafe { read(db, keyspace, options, |reader| reader.expires_at(key))? };
        let left = match end {
            Some(end) => millis_left(now, end),
            // SAFETY: the caller keeps the rules of the header.
            None => match unsafe { get(db, keyspace, options, key.as_ptr(), key.len())? } {
                Some(_) => NEVER,
                None => NO_VALUE,
            },
        };
        // SAFETY: checked above.
        unsafe { store(millis, left) };
        Ok(())
    })
}

/// What `foldb_ttl_millis` stores for a key without a value.
const NO_VALUE: i64 = -2;

fn millis_left(now: SystemTime, end: SystemTime) -> i64 {
    let left = end.duration_since(now).unwrap_or_default().as_millis();
    i64::try_from(left).unwrap_or(i64::MAX)
}

/// Copies the value of a key to `buffer`, which has room for `capacity` bytes, and stores in
/// `*value_len` how long the value is: -1 if there is none. Copies nothing if the value is longer
/// than `capacity`. Allocates nothing, so it is the fast way to read small values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_get_into(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    key: *const u8,
    key_len: usize,
    buffer: *mut u8,
    capacity: usize,
    value_len: *mut i64,
) -> *mut foldb_error_t {
    call(|| {
        check_out(value_len, "value_len")?;
        check_array(buffer, capacity, "buffer")?;
        // SAFETY: the caller keeps the rules of the header.
        let found = unsafe { get(db, keyspace, options, key, key_len)? };
        let Some(found) = found.as_ref().map(Value::as_slice) else {
            // SAFETY: checked above.
            unsafe { store(value_len, -1) };
            return Ok(());
        };
        if found.len() <= capacity && !found.is_empty() {
            // SAFETY: the buffer has room for `capacity` bytes, and no value of the engine lies in
            // memory that the caller may write to.
            unsafe { ptr::copy_nonoverlapping(found.as_ptr(), buffer, found.len()) };
        }
        // SAFETY: checked above. A value has at most 256 MiB.
        unsafe { store(value_len, found.len() as i64) };
        Ok(())
    })
}

/// Receives a value. The bytes live during the call. It must not call foldb, and must return: no
/// `longjmp`, no exception.
pub type foldb_value_fn = Option<unsafe extern "C" fn(state: *mut c_void, value: foldb_bytes_t)>;

/// Passes the value of a key to `receive`, which copies it to where the program wants it. Stores in
/// `*found` whether the key has a value; without one, `receive` is not called. The call is on the
/// calling thread, with `state`. Allocates nothing, whatever the length of the value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_get_with(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    key: *const u8,
    key_len: usize,
    receive: foldb_value_fn,
    state: *mut c_void,
    found: *mut bool,
) -> *mut foldb_error_t {
    call(|| {
        check_out(found, "found")?;
        let receive = receive.ok_or_else(|| Error::invalid_argument("receive is NULL"))?;
        // SAFETY: the caller keeps the rules of the header.
        let value = unsafe { get(db, keyspace, options, key, key_len)? };
        if let Some(value) = &value {
            // SAFETY: the program's function keeps the rules of the header; the value lives.
            unsafe { receive(state, value.as_slice().into()) };
        }
        // SAFETY: checked above.
        unsafe { store(found, value.is_some()) };
        Ok(())
    })
}

/// Stores in `*found` whether a key has a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_contains_key(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    key: *const u8,
    key_len: usize,
    found: *mut bool,
) -> *mut foldb_error_t {
    call(|| {
        check_out(found, "found")?;
        // SAFETY: the caller keeps the rules of the header; checked above.
        unsafe { store(found, get(db, keyspace, options, key, key_len)?.is_some()) };
        Ok(())
    })
}

/// Stores a key and its value, or NULL for both.
///
/// # Safety
/// The C program keeps the rules of the header.
pub(crate) unsafe fn store_entry(
    end: impl FnOnce() -> Result<Option<(Vec<u8>, Value)>>,
    key: *mut *mut foldb_value_t,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(key, "key")?;
        check_out(value, "value")?;
        let (found, its_value) = end()?.map(|(key, value)| (Value::from(key), value)).unzip();
        // SAFETY: checked above.
        unsafe {
            store(key, foldb_value_t::of(found));
            store(value, foldb_value_t::of(its_value));
        }
        Ok(())
    })
}

/// Stores the smallest key in `*key` and its value in `*value`, each to be freed with
/// `foldb_value_free`; NULL in both if there is no entry. Fails with `FOLDB_MERGE_FAILED` if the
/// merge of that key fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_first(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    key: *mut *mut foldb_value_t,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    let first = || unsafe { read(db, keyspace, options, |reader| reader.first()) };
    // SAFETY: the caller keeps the rules of the header.
    unsafe { store_entry(first, key, value) }
}

/// Stores the largest key in `*key` and its value in `*value`, as `foldb_first` does the smallest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_last(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    key: *mut *mut foldb_value_t,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    let last = || unsafe { read(db, keyspace, options, |reader| reader.last()) };
    // SAFETY: the caller keeps the rules of the header.
    unsafe { store_entry(last, key, value) }
}

/// Stores in `*empty` whether the keyspace has no entry. A key whose merge fails is an entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_is_empty(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    empty: *mut bool,
) -> *mut foldb_error_t {
    call(|| {
        check_out(empty, "empty")?;
        // SAFETY: the caller keeps the rules of the header.
        let is_empty = unsafe { read(db, keyspace, options, |reader| reader.is_empty())? };
        // SAFETY: checked above.
        unsafe { store(empty, is_empty) };
        Ok(())
    })
}

/// Reads `count` keys of one state of the keyspace. Stores the value of each key in `values`, NULL
/// if it has none, and its error in `errors`, NULL if it could be read; free them all. If the call
/// itself returns an error, it stores nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_multi_get(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    keys: *const foldb_bytes_t,
    count: usize,
    values: *mut *mut foldb_value_t,
    errors: *mut *mut foldb_error_t,
) -> *mut foldb_error_t {
    call(|| {
        check_array(values, count, "values")?;
        check_array(errors, count, "errors")?;
        // SAFETY: the caller keeps the rules of the header.
        let keys = unsafe { array(keys, count, "keys")? };
        // SAFETY: the caller keeps the rules of the header.
        let keys = keys.iter().map(|key| unsafe { key.get("key") });
        let keys = keys.collect::<Result<Vec<_>>>()?;
        // SAFETY: the caller keeps the rules of the header.
        let answers = unsafe { read(db, keyspace, options, |reader| reader.multi_get(keys))? };
        for (at, answer) in answers.into_iter().enumerate() {
            let (value, error) = match answer {
                Ok(value) => (foldb_value_t::of(value), ptr::null_mut()),
                Err(error) => (ptr::null_mut(), foldb_error_t::of(&error)),
            };
            // SAFETY: both arrays have `count` places, and there is one answer for each key.
            unsafe {
                store(values.add(at), value);
                store(errors.add(at), error);
            }
        }
        Ok(())
    })
}
