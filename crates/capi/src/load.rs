//! Sorted loads: keys in ascending order, written straight into tables.

use std::ffi::c_char;

use foldb::load::SortedLoad;
use foldb::{Error, Keyspace, Result};

use crate::boundary::{arg_mut, bytes, call, check_out, free, store, text};
use crate::database::foldb_t;
use crate::error::foldb_error_t;
use crate::keyspace::{foldb_keyspace_t, keyspace_to_change};

/// A sorted load into one keyspace. One thread at a time may use it. It keeps its database open.
pub struct foldb_load_t {
    /// `None` after the end of the load.
    load: Option<SortedLoad>,
    keyspace: Keyspace,
}

/// What a sorted load added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct foldb_load_report_t {
    /// Number of keys.
    pub entries: u64,
    /// Tables written.
    pub tables: u64,
    /// Bytes of those tables.
    pub bytes: u64,
    /// The load's place in the order of writes; 0 for a load without keys.
    pub sequence_number: u64,
}

/// Begins a sorted load and stores it in `*load`. A NULL keyspace is the default one. Keys must
/// come in strictly ascending order. Nothing is visible before `foldb_load_finish`. Free the load
/// with `foldb_load_free`, in any case.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_load_begin(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    load: *mut *mut foldb_load_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(load, "load")?;
        // SAFETY: the caller keeps the rules of the header.
        let keyspace = unsafe { keyspace_to_change(db, keyspace)? }.clone();
        let begun = foldb_load_t { load: Some(keyspace.sorted_load()?), keyspace };
        // SAFETY: checked above.
        unsafe { store(load, Box::into_raw(Box::new(begun))) };
        Ok(())
    })
}

/// Adds a key to a load.
///
/// # Safety
/// The C program keeps the rules of the header.
unsafe fn add(
    load: *mut foldb_load_t,
    add: impl FnOnce(&mut SortedLoad, &Keyspace) -> Result<()>,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: as the caller promises.
        let foldb_load_t { load, keyspace } = unsafe { arg_mut(load, "load")? };
        add(load.as_mut().ok_or_else(ended)?, keyspace)
    })
}

fn ended() -> Error {
    Error::invalid_argument("the load has ended: begin another one")
}

/// Adds a key with its value. Fails with `FOLDB_INVALID_ARGUMENT` if the key does not come after
/// the one before it; the load can then go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_load_put(
    load: *mut foldb_load_t,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        add(load, |load, _| {
            load.put(bytes(key, key_len, "key")?, bytes(value, value_len, "value")?)
        })
    }
}

/// Adds a key with an operand of the keyspace's merge operator; see `foldb_load_put`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_load_merge(
    load: *mut foldb_load_t,
    key: *const u8,
    key_len: usize,
    operand: *const u8,
    operand_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        add(load, |load, _| {
            load.merge(bytes(key, key_len, "key")?, bytes(operand, operand_len, "operand")?)
        })
    }
}

/// Adds a key with an operand of the operator `NAME` or `NAME:PARAM`; see `foldb_load_put`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_load_merge_with(
    load: *mut foldb_load_t,
    operator: *const c_char,
    key: *const u8,
    key_len: usize,
    operand: *const u8,
    operand_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        add(load, |load, keyspace| {
            let operator = keyspace.operator(text(operator, "operator")?)?;
            let key = bytes(key, key_len, "key")?;
            load.merge_with(&operator, key, bytes(operand, operand_len, "operand")?)
        })
    }
}

/// Ends a load: adds all its keys in one atomic step, durably. Stores what it added in `*report`,
/// unless that is NULL. After an error nothing was added, except that a failed sync leaves that
/// open until the next open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_load_finish(
    load: *mut foldb_load_t,
    report: *mut foldb_load_report_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg_mut(load, "load")? };
        let added = own.load.take().ok_or_else(ended)?.finish()?;
        if !report.is_null() {
            let own = foldb_load_report_t {
                entries: added.entries,
                tables: added.tables,
                bytes: added.bytes,
                sequence_number: added.sequence_number,
            };
            // SAFETY: not NULL, and the caller keeps the rules of the header.
            unsafe { store(report, own) };
        }
        Ok(())
    })
}

/// Frees a load. One that was not finished adds nothing. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_load_free(load: *mut foldb_load_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(load) };
}
