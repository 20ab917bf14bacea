//! Keyspaces: named trees of one database, each with its own options.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

use foldb::{Error, Keyspace, Result};

use crate::boundary::{arg, call, check_out, free, store, text};
use crate::database::foldb_t;
use crate::error::{c_string, foldb_error_t};
use crate::opened::{KeyspaceRef, OpenDb, OpenKeyspace};
use crate::options::{foldb_keyspace_options_t, keyspace_options};

/// A keyspace of a database. All threads may use it at the same time.
pub struct foldb_keyspace_t {
    keyspace: OpenKeyspace,
    /// What the database's handle has too.
    identity: Arc<()>,
}

/// Returns a keyspace of a database; NULL is the default keyspace.
///
/// # Safety
/// Both pointers are NULL, or handles that nothing frees during `'a`.
///
/// # Errors
/// `InvalidArgument` without a database, and for a keyspace of another one.
#[inline]
pub(crate) unsafe fn keyspace_of<'a>(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
) -> Result<KeyspaceRef<'a>> {
    // SAFETY: as the caller promises.
    let (db, keyspace) = unsafe { (arg(db, "db")?, keyspace.as_ref()) };
    match keyspace {
        None => Ok(db.db.default_keyspace()),
        Some(own) if Arc::ptr_eq(&own.identity, &db.identity) => Ok(own.keyspace.to_ref()),
        Some(_) => Err(Error::invalid_argument("the keyspace is one of another database handle")),
    }
}

/// Returns a keyspace for a change.
///
/// # Safety
/// As [`keyspace_of`].
///
/// # Errors
/// As [`keyspace_of`]; `ReadOnly` after a read-only open.
#[inline]
pub(crate) unsafe fn keyspace_to_change<'a>(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
) -> Result<&'a Keyspace> {
    // SAFETY: as the caller promises.
    unsafe { keyspace_of(db, keyspace)? }.to_change()
}

fn stored(
    db: *const foldb_t,
    name: *const c_char,
    keyspace: *mut *mut foldb_keyspace_t,
    find: impl FnOnce(&OpenDb, &str) -> Result<OpenKeyspace>,
) -> *mut foldb_error_t {
    call(|| {
        check_out(keyspace, "keyspace")?;
        // SAFETY: the C program keeps the rules of the header.
        let (db, name) = unsafe { (arg(db, "db")?, text(name, "name")?) };
        let found = find(&db.db, name)?;
        let found = foldb_keyspace_t { keyspace: found, identity: Arc::clone(&db.identity) };
        // SAFETY: checked above.
        unsafe { store(keyspace, Box::into_raw(Box::new(found))) };
        Ok(())
    })
}

/// Stores the keyspace called `name` in `*keyspace`. Fails with `FOLDB_KEYSPACE_MISSING` if there
/// is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_open(
    db: *const foldb_t,
    name: *const c_char,
    keyspace: *mut *mut foldb_keyspace_t,
) -> *mut foldb_error_t {
    stored(db, name, keyspace, OpenDb::keyspace)
}

/// Creates a keyspace, durably, and stores it in `*keyspace`. NULL options are the database's.
/// Fails with `FOLDB_KEYSPACE_EXISTS` if there is one of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_create(
    db: *const foldb_t,
    name: *const c_char,
    options: *const foldb_keyspace_options_t,
    keyspace: *mut *mut foldb_keyspace_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    let options = unsafe { keyspace_options(options) };
    let create = |db: &OpenDb, name: &str| db.to_change()?.create_keyspace(name, options);
    stored(db, name, keyspace, |db, name| create(db, name).map(OpenKeyspace::Writable))
}

/// Stores the keyspace called `name` in `*keyspace`, and creates it first if it does not exist.
/// Fails if an existing keyspace has other options than those that are set; `foldb_keyspace_open`
/// opens it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_open_or_create(
    db: *const foldb_t,
    name: *const c_char,
    options: *const foldb_keyspace_options_t,
    keyspace: *mut *mut foldb_keyspace_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    let options = unsafe { keyspace_options(options) };
    stored(db, name, keyspace, |db, name| db.keyspace_or_create(name, options))
}

/// Drops a keyspace and its contents, durably. Its handles then return `FOLDB_KEYSPACE_DROPPED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_drop(
    db: *const foldb_t,
    name: *const c_char,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (db, name) = unsafe { (arg(db, "db")?, text(name, "name")?) };
        db.db.to_change()?.drop_keyspace(name)
    })
}

/// Changes how long entries of a keyspace live, in seconds, for the writes that follow, durably.
/// Stored entries keep their ends: `foldb_touch` gives one the new lifetime. A NULL keyspace is the
/// default one.
///
/// Fails with `FOLDB_INVALID_ARGUMENT` if the keyspace has no `expiry` or `per-write`, and for 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_set_lifetime_seconds(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    seconds: u64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let keyspace = unsafe { keyspace_to_change(db, keyspace)? };
        keyspace.set_lifetime(Duration::from_secs(seconds))
    })
}

/// Stores the names of all keyspaces in `*names`, in order, one a line; free it with
/// `foldb_string_free`. One of them is `default`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_names(
    db: *const foldb_t,
    names: *mut *mut c_char,
) -> *mut foldb_error_t {
    call(|| {
        check_out(names, "names")?;
        // SAFETY: the caller keeps the rules of the header.
        let all = unsafe { arg(db, "db")? }.db.keyspaces().join("\n");
        // SAFETY: checked above.
        unsafe { store(names, c_string(&all).into_raw()) };
        Ok(())
    })
}

/// Frees a handle of a keyspace. The keyspace stays. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_keyspace_free(keyspace: *mut foldb_keyspace_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(keyspace) };
}
