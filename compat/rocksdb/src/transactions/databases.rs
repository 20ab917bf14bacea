//! Databases with transactions: opening, closing, and the database below.

use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::Arc;

use crate::batch::rocksdb_writebatch_t;
use crate::boundary::{arg, call, free, handle, path, quiet, text};
use crate::database::family::{handle_of, rocksdb_column_family_handle_t};
use crate::database::open::{FamilyArrays, Mode, Wanted, database_handle, open};
use crate::database::{Database, rocksdb_t};
use crate::keyspaces::DEFAULT_FAMILY;
use crate::options::calls::rocksdb_writeoptions_t;
use crate::options::rocksdb_options_t;
use crate::status::Outcome;
use crate::transactions::locking::LockingDb;
use crate::transactions::options::rocksdb_transactiondb_options_t;

/// RocksDB: `TransactionDB`.
pub struct rocksdb_transactiondb_t {
    pub(crate) database: Arc<Database>,
    pub(crate) locking: Arc<LockingDb>,
}

/// RocksDB: `OptimisticTransactionDB`.
pub struct rocksdb_optimistictransactiondb_t {
    pub(crate) database: Arc<Database>,
}

unsafe fn open_one(
    options: *const rocksdb_options_t,
    name: *const c_char,
) -> Outcome<Arc<Database>> {
    let (options, directory) = (arg(options, "options")?, path(name, "name")?);
    let families = [Wanted { name: DEFAULT_FAMILY, options, ttl: None }];
    open(options, directory, &families, Mode::Writable)
}

unsafe fn locking_handle(
    database: Arc<Database>,
    options: *const rocksdb_transactiondb_options_t,
) -> Outcome<*mut rocksdb_transactiondb_t> {
    let locking = LockingDb::open(&database, arg(options, "txn_db_options")?)?;
    Ok(handle(rocksdb_transactiondb_t { database, locking }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_open(
    options: *const rocksdb_options_t,
    db_options: *const rocksdb_transactiondb_options_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_transactiondb_t {
    let opened = call(errptr, || locking_handle(open_one(options, name)?, db_options));
    opened.unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_open_column_families(
    options: *const rocksdb_options_t,
    db_options: *const rocksdb_transactiondb_options_t,
    name: *const c_char,
    count: c_int,
    names: *const *const c_char,
    family_options: *const *const rocksdb_options_t,
    handles: *mut *mut rocksdb_column_family_handle_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_transactiondb_t {
    let arrays = FamilyArrays { count, names, options: family_options, ttls: ptr::null(), handles };
    let opened =
        call(errptr, || locking_handle(arrays.open(options, name, Mode::Writable)?, db_options));
    opened.unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_create_column_family(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_options_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_column_family_handle_t {
    let created = call(errptr, || {
        let (db, options) = (arg(db, "txn_db")?, arg(options, "column_family_options")?);
        let name = text(name, "column_family_name")?;
        db.database.create_family(name, options, None).map(handle_of)
    });
    created.unwrap_or(ptr::null_mut())
}

/// Closes the database. Prepared transactions stay prepared in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_close(db: *mut rocksdb_transactiondb_t) {
    if let Some(own) = db.as_ref() {
        quiet((), || {
            own.locking.close();
            drop(own.database.close());
        });
    }
    free(db);
}

/// Returns a handle of the database. Its writes take no locks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_get_base_db(
    db: *mut rocksdb_transactiondb_t,
) -> *mut rocksdb_t {
    database_handle((&(*db).database).clone())
}

/// Frees the handle. The database stays open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_close_base_db(base: *mut rocksdb_t) {
    free(base);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_optimistictransactiondb_open(
    options: *const rocksdb_options_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_optimistictransactiondb_t {
    let opened = call(errptr, || open_one(options, name));
    opened
        .map_or(ptr::null_mut(), |database| handle(rocksdb_optimistictransactiondb_t { database }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_optimistictransactiondb_open_column_families(
    options: *const rocksdb_options_t,
    name: *const c_char,
    count: c_int,
    names: *const *const c_char,
    family_options: *const *const rocksdb_options_t,
    handles: *mut *mut rocksdb_column_family_handle_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_optimistictransactiondb_t {
    let arrays = FamilyArrays { count, names, options: family_options, ttls: ptr::null(), handles };
    let opened = call(errptr, || arrays.open(options, name, Mode::Writable));
    opened
        .map_or(ptr::null_mut(), |database| handle(rocksdb_optimistictransactiondb_t { database }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_optimistictransactiondb_get_base_db(
    db: *mut rocksdb_optimistictransactiondb_t,
) -> *mut rocksdb_t {
    database_handle((&(*db).database).clone())
}

/// Frees the handle. The database stays open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_optimistictransactiondb_close_base_db(base: *mut rocksdb_t) {
    free(base);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_optimistictransactiondb_close(
    db: *mut rocksdb_optimistictransactiondb_t,
) {
    if let Some(own) = db.as_ref() {
        quiet((), || drop(own.database.close()));
    }
    free(db);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_optimistictransactiondb_write(
    db: *mut rocksdb_optimistictransactiondb_t,
    options: *const rocksdb_writeoptions_t,
    batch: *mut rocksdb_writebatch_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (db, batch) = (arg(db, "otxn_db")?, arg(batch, "batch")?);
        db.database.write(arg(options, "options")?, &batch.rep)
    });
}
