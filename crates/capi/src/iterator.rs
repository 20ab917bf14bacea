//! Iterators over the keys of a keyspace, in order, both ways.

use std::ffi::c_int;
use std::ptr;

use foldb::{Error, Iter, Result};

use crate::boundary::{arg, arg_mut, bytes, call, check_out, free, store};
use crate::bytes::{foldb_bytes_t, range};
use crate::database::foldb_t;
use crate::error::foldb_error_t;
use crate::keyspace::{foldb_keyspace_t, keyspace_of};
use crate::options::{foldb_read_options_t, read_options};

/// An iterator over one state of a keyspace. One thread at a time may use it. It stands on no entry
/// until a call moves it.
pub struct foldb_iter_t(Iter);

impl foldb_iter_t {
    /// Hands an iterator to the caller.
    pub(crate) fn of(iter: Iter) -> *mut foldb_iter_t {
        Box::into_raw(Box::new(foldb_iter_t(iter)))
    }
}

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
        let made = keyspace.range(range, options)?;
        // SAFETY: checked above.
        unsafe { store(iter, foldb_iter_t::of(made)) };
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

/// A move of an iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum foldb_move_t {
    /// To the next entry; a new iterator to the first one.
    FOLDB_MOVE_NEXT = 0,
    /// To the previous entry; a new iterator to the last one.
    FOLDB_MOVE_PREV = 1,
    /// To the first entry.
    FOLDB_MOVE_FIRST = 2,
    /// To the last entry.
    FOLDB_MOVE_LAST = 3,
    /// To the first entry at or after a key.
    FOLDB_MOVE_SEEK = 4,
    /// To the last entry at or before a key.
    FOLDB_MOVE_SEEK_FOR_PREV = 5,
}

use foldb_move_t::*;

/// What an iterator stands on after a move.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct foldb_entry_t {
    /// The key. It lives until the iterator's next move.
    pub key: foldb_bytes_t,
    /// The value. It lives until the iterator's next move.
    pub value: foldb_bytes_t,
    /// Whether there is an entry. If not, key and value are empty.
    pub valid: bool,
}

/// Moves an iterator, and stores in `*entry` the key and the value that it then stands on: all that
/// a step of a scan needs, in one call. `how` is a `foldb_move_t`; only the seeks use `key`. Fails
/// as the move does, or as `foldb_iter_value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_iter_move(
    iter: *mut foldb_iter_t,
    how: c_int,
    key: *const u8,
    key_len: usize,
    entry: *mut foldb_entry_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(entry, "entry")?;
        // SAFETY: the caller keeps the rules of the header.
        let iter = &mut unsafe { arg_mut(iter, "iter")? }.0;
        let found = if how == FOLDB_MOVE_NEXT as c_int {
            iter.advance()?
        } else {
            // SAFETY: the caller keeps the rules of the header.
            unsafe { other_move(iter, how, key, key_len)? }
        };
        let none = foldb_bytes_t { data: ptr::null(), len: 0 };
        let shown = if found {
            let value = iter.value()?.as_slice().into();
            foldb_entry_t { key: iter.key().into(), value, valid: true }
        } else {
            foldb_entry_t { key: none, value: none, valid: false }
        };
        // SAFETY: checked above.
        unsafe { store(entry, shown) };
        Ok(())
    })
}

/// Makes a move other than the most common one.
///
/// # Safety
/// The C program keeps the rules of the header.
unsafe fn other_move(iter: &mut Iter, how: c_int, key: *const u8, len: usize) -> Result<bool> {
    // SAFETY: as the caller promises.
    let key = || unsafe { bytes(key, len, "key") };
    match how {
        _ if how == FOLDB_MOVE_PREV as c_int => iter.retreat(),
        _ if how == FOLDB_MOVE_FIRST as c_int => iter.seek_to_first(),
        _ if how == FOLDB_MOVE_LAST as c_int => iter.seek_to_last(),
        _ if how == FOLDB_MOVE_SEEK as c_int => iter.seek(key()?),
        _ if how == FOLDB_MOVE_SEEK_FOR_PREV as c_int => iter.seek_for_prev(key()?),
        _ => Err(Error::invalid_argument(format!(
            "how is {how}, which is no foldb_move_t: expected 0 to 5"
        ))),
    }
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
