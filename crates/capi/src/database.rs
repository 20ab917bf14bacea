//! Databases and snapshots: open, close, repair, and the state of a moment.

use std::ffi::c_char;
use std::path::PathBuf;
use std::sync::Arc;

use foldb::{Db, Options, ReadOnlyDb, Result, Snapshot};

use crate::boundary::{arg, call, check_out, free, path, store};
use crate::error::foldb_error_t;
use crate::opened::OpenDb;
use crate::options::{database_options, foldb_options_t};

/// An open database. All threads may use it at the same time.
#[derive(Clone)]
pub struct foldb_t {
    pub(crate) db: OpenDb,
    /// What the handles of the database's keyspaces share with it.
    pub(crate) identity: Arc<()>,
}

/// Opens the database of a directory.
///
/// # Safety
/// The C program keeps the rules of the header.
unsafe fn open_by(
    directory: *const c_char,
    options: *const foldb_options_t,
    db: *mut *mut foldb_t,
    open: impl FnOnce(PathBuf, Options) -> Result<OpenDb>,
) -> *mut foldb_error_t {
    call(|| {
        check_out(db, "db")?;
        // SAFETY: as the caller promises.
        let (directory, options) = unsafe { (path(directory)?, database_options(options)?) };
        let opened = foldb_t { db: open(directory, options)?, identity: Arc::default() };
        // SAFETY: checked above.
        unsafe { store(db, Box::into_raw(Box::new(opened))) };
        Ok(())
    })
}

/// Opens the database in `directory`, or creates it if the option `create_if_missing` is
/// set. NULL options are the defaults. Stores the handle in `*db`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_open(
    directory: *const c_char,
    options: *const foldb_options_t,
    db: *mut *mut foldb_t,
) -> *mut foldb_error_t {
    let open = |directory, options| Db::open(directory, options).map(OpenDb::Writable);
    // SAFETY: the caller keeps the rules of the header.
    unsafe { open_by(directory, options, db, open) }
}

/// Opens a database to read its state of this moment. Another process may be writing to it. Changes
/// nothing on disk. Stores the handle in `*db`.
///
/// The handle works in every function that reads, `foldb_snapshot` included. Every function that
/// writes, flushes, compacts, collects garbage, makes a checkpoint, or changes keyspaces returns
/// `FOLDB_READ_ONLY`, and so does an addition to a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_open_read_only(
    directory: *const c_char,
    options: *const foldb_options_t,
    db: *mut *mut foldb_t,
) -> *mut foldb_error_t {
    let open = |directory, options| ReadOnlyDb::open(directory, options).map(OpenDb::ReadOnly);
    // SAFETY: the caller keeps the rules of the header.
    unsafe { open_by(directory, options, db, open) }
}

/// Closes a database and frees its handle, also if it returns an error: then the last writes may
/// not be durable. Waits for running calls and background work. Handles of keyspaces, snapshots and
/// iterators stay to be freed; their calls return `FOLDB_CLOSED`. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_close(db: *mut foldb_t) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    let Some(open) = (unsafe { db.as_ref() }) else { return std::ptr::null_mut() };
    let error = call(|| open.db.close());
    // SAFETY: the caller keeps the rules of the header, and passes the handle once.
    unsafe { free(db) };
    error
}

/// Removes a database that nothing has open, with all its files. Other files in the directory stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_destroy(
    directory: *const c_char,
    options: *const foldb_options_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (directory, options) = unsafe { (path(directory)?, database_options(options)?) };
        Db::destroy(directory, &options)
    })
}

/// A state of the database. All threads may use it at the same time. Free it soon: it keeps old
/// values on disk.
pub struct foldb_snapshot_t(pub(crate) Snapshot);

/// Takes a snapshot of all keyspaces, for `foldb_read_options_set_snapshot`. Stores it in
/// `*snapshot`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_snapshot(
    db: *const foldb_t,
    snapshot: *mut *mut foldb_snapshot_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(snapshot, "snapshot")?;
        // SAFETY: the caller keeps the rules of the header.
        let taken = unsafe { arg(db, "db")? }.db.snapshot();
        // SAFETY: checked above.
        unsafe { store(snapshot, Box::into_raw(Box::new(foldb_snapshot_t(taken)))) };
        Ok(())
    })
}

/// Frees a snapshot. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_snapshot_free(snapshot: *mut foldb_snapshot_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(snapshot) };
}

/// Returns the version of the library as a number: `FOLDB_VERSION_NUMBER` is that of the header. A
/// program that loads the library may compare the two.
#[unsafe(no_mangle)]
pub extern "C" fn foldb_version_number() -> u32 {
    const fn part(text: &str) -> u32 {
        let (digits, mut number, mut at) = (text.as_bytes(), 0, 0);
        while at < digits.len() {
            number = 10 * number + (digits[at] - b'0') as u32;
            at += 1;
        }
        number
    }
    const NUMBER: u32 = part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + part(env!("CARGO_PKG_VERSION_MINOR")) * 1000
        + part(env!("CARGO_PKG_VERSION_PATCH"));
    NUMBER
}

/// Returns the version of the library, as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn foldb_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
