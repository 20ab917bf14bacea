//! Iterators over the keys of a keyspace, in order, both ways.

use std::ptr;

use foldb::{Iter, Result};

use crate::boundary::{arg, arg_mut, bytes, call, check_out, free, store};
use crate::bytes::{foldb_bytes_t, range};
use crate::database::foldb_t;
use crate::error::foldb_error_t;
use crate::keyspace::{foldb_keyspace_t, keyspace_of};
use crate::options::{foldb_read_options_t, read_options};

/// An iterator over one state of a keyspace. One thread at a time may use it. It stands on no entry
/// until a call moves it.
pub struct foldb_iter_t(Iter);

/// Makes an iterator over the keys from `lower` on and before `upper`, and stores it in `*iter`.
/// NULL for a bound means no bound there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    options: *const foldb_read_options_t,
    lower: *const foldb_bytes_t,
    upper: *const foldb_bytes_t,
    iter: *mut *mut foldb_iter_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(iter, "iter")?;
        // SAFETY: the caller keeps the rules of the header.
        let (keyspace, options) = unsafe { (keyspace_of(db, keyspace)?, read_options(options)) };
        // SAFETY: the caller keeps the rules of the header.
        let range = unsafe { range(lower, upper)? };
        let made = match options {
            None => keyspace.range(range)?,
            Some(options) => keyspace.range_opt(range, options)?,
        };
        // SAFETY: checked above.
        unsafe { store(iter, Box::into_raw(Box::new(foldb_iter_t(made)))) };
        Ok(())
    })
}

/// Moves an iterator.
///
/// # Safety
/// The C program keeps the rules of the header.
#[inline]
unsafe fn moved(
    iter: *mut foldb_iter_t,
    step: impl FnOnce(&mut Iter) -> Result<bool>,
) -> *mut foldb_error_t {
    // SAFETY: as the caller promises.
    call(|| step(&mut unsafe { arg_mut(iter, "iter")? }.0).map(drop))
}

/// Moves to the first entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_seek_to_first(iter: *mut foldb_iter_t) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { moved(iter, Iter::seek_to_first) }
}

/// Moves to the last entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_seek_to_last(iter: *mut foldb_iter_t) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { moved(iter, Iter::seek_to_last) }
}

/// Moves to the first entry at or after `key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_seek(
    iter: *mut foldb_iter_t,
    key: *const u8,
    key_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { moved(iter, |iter| iter.seek(bytes(key, key_len, "key")?)) }
}

/// Moves to the last entry at or before `key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_seek_for_prev(
    iter: *mut foldb_iter_t,
    key: *const u8,
    key_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { moved(iter, |iter| iter.seek_for_prev(bytes(key, key_len, "key")?)) }
}

/// Moves to the next entry; a new iterator to the first one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_next(iter: *mut foldb_iter_t) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { moved(iter, Iter::advance) }
}

/// Moves to the previous entry; a new iterator to the last one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_prev(iter: *mut foldb_iter_t) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { moved(iter, Iter::retreat) }
}

/// Returns whether the iterator stands on an entry; false for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_valid(iter: *const foldb_iter_t) -> bool {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { iter.as_ref() }.is_some_and(|iter| iter.0.valid())
}

/// Returns the key under the iterator and stores its length in `*len`. The key lives until the next
/// move. NULL and a length of 0 if the iterator stands on no entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_key(iter: *const foldb_iter_t, len: *mut usize) -> *const u8 {
    // SAFETY: the caller keeps the rules of the header.
    let iter = unsafe { iter.as_ref() };
    let key = iter.filter(|iter| iter.0.valid()).map(|iter| iter.0.key());
    if !len.is_null() {
        // SAFETY: not NULL, and the caller keeps the rules of the header.
        unsafe { store(len, key.map_or(0, <[u8]>::len)) };
    }
    key.map_or(ptr::null(), <[u8]>::as_ptr)
}

/// Stores the value under the iterator in `*value` and its length in `*len`. It lives until the
/// next move. Stores NULL and 0 if the iterator stands on no entry. Fails with `FOLDB_MERGE_FAILED`
/// if this key's merge fails; the iterator can still move on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_value(
    iter: *const foldb_iter_t,
    value: *mut *const u8,
    len: *mut usize,
) -> *mut foldb_error_t {
    call(|| {
        check_out(value, "value")?;
        check_out(len, "len")?;
        // SAFETY: the caller keeps the rules of the header.
        let iter = &unsafe { arg(iter, "iter")? }.0;
        let found = if iter.valid() { Some(iter.value()?.as_slice()) } else { None };
        // SAFETY: checked above.
        unsafe {
            store(value, found.map_or(ptr::null(), <[u8]>::as_ptr));
            store(len, found.map_or(0, <[u8]>::len));
        }
        Ok(())
    })
}

/// Frees an iterator. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_free(iter: *mut foldb_iter_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(iter) };
}
