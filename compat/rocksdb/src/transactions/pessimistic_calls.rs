//! Calls of a database with pessimistic transactions, outside of one.
//!
//! A write holds the locks of its keys while it runs, so it waits for transactions that hold them.

use std::ffi::{c_char, c_int, c_uchar};
use std::ptr;

use crate::batch::filling::Bytes;
use crate::batch::rocksdb_writebatch_t;
use crate::boundary::{arg, bytes, call};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::pinned::rocksdb_pinnableslice_t;
use crate::database::reads::{
    check_family, rocksdb_get, rocksdb_get_cf, rocksdb_get_pinned, rocksdb_get_pinned_cf,
    rocksdb_multi_get, rocksdb_multi_get_cf,
};
use crate::database::snapshot::{release, rocksdb_snapshot_t};
use crate::database::upkeep::{
    rocksdb_flush, rocksdb_flush_cf, rocksdb_flush_cfs, rocksdb_flush_wal,
};
use crate::database::{Family, rocksdb_t};
use crate::iterator::{rocksdb_create_iterator, rocksdb_create_iterator_cf, rocksdb_iterator_t};
use crate::options::calls::{
    rocksdb_flushoptions_t, rocksdb_readoptions_t, rocksdb_writeoptions_t,
};
use crate::status::Outcome;
use crate::transactions::databases::rocksdb_transactiondb_t;

/// Calls a function of the database below, with a handle that lives during the call.
unsafe fn below<T>(
    db: *mut rocksdb_transactiondb_t,
    function: impl FnOnce(*mut rocksdb_t) -> T,
) -> T {
    // The function itself reports a NULL.
    if db.is_null() {
        return function(ptr::null_mut());
    }
    let mut base = rocksdb_t { database: (&(*db).database).clone() };
    function(&mut base)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_get(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    below(db, |db| rocksdb_get(db, options, key, key_len, value_len, errptr))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_get_pinned(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    below(db, |db| rocksdb_get_pinned(db, options, key, key_len, errptr))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_get_cf(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    below(db, |db| rocksdb_get_cf(db, options, family, key, key_len, value_len, errptr))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_get_pinned_cf(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    below(db, |db| rocksdb_get_pinned_cf(db, options, family, key, key_len, errptr))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_multi_get(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_readoptions_t,
    count: usize,
    keys: *const *const c_char,
    key_lens: *const usize,
    values: *mut *mut c_char,
    value_lens: *mut usize,
    errors: *mut *mut c_char,
) {
    below(db, |db| {
        rocksdb_multi_get(db, options, count, keys, key_lens, values, value_lens, errors);
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_multi_get_cf(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_readoptions_t,
    families: *const *const rocksdb_column_family_handle_t,
    count: usize,
    keys: *const *const c_char,
    key_lens: *const usize,
    values: *mut *mut c_char,
    value_lens: *mut usize,
    errors: *mut *mut c_char,
) {
    below(db, |db| {
        rocksdb_multi_get_cf(
            db, options, families, count, keys, key_lens, values, value_lens, errors,
        );
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_create_iterator(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_readoptions_t,
) -> *mut rocksdb_iterator_t {
    below(db, |db| rocksdb_create_iterator(db, options))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_create_iterator_cf(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
) -> *mut rocksdb_iterator_t {
    below(db, |db| rocksdb_create_iterator_cf(db, options, family))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_create_snapshot(
    db: *mut rocksdb_transactiondb_t,
) -> *const rocksdb_snapshot_t {
    rocksdb_snapshot_t::owning((&(*db).database).snapshot())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_release_snapshot(
    _db: *mut rocksdb_transactiondb_t,
    snapshot: *const rocksdb_snapshot_t,
) {
    release(snapshot);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_flush(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_flushoptions_t,
    errptr: *mut *mut c_char,
) {
    below(db, |db| rocksdb_flush(db, options, errptr));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_flush_cf(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_flushoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    errptr: *mut *mut c_char,
) {
    below(db, |db| rocksdb_flush_cf(db, options, family, errptr));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_flush_cfs(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_flushoptions_t,
    families: *mut *mut rocksdb_column_family_handle_t,
    count: c_int,
    errptr: *mut *mut c_char,
) {
    below(db, |db| rocksdb_flush_cfs(db, options, families, count, errptr));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_flush_wal(
    db: *mut rocksdb_transactiondb_t,
    sync: c_uchar,
    errptr: *mut *mut c_char,
) {
    below(db, |db| rocksdb_flush_wal(db, sync, errptr));
}

/// Writes a key under its lock.
unsafe fn write(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_writeoptions_t,
    family: *const rocksdb_column_family_handle_t,
    key: Bytes,
    write: impl FnOnce(&Family, &foldb::WriteOptions, &[u8]) -> Outcome<()>,
) -> Outcome<()> {
    let (db, options) = (arg(db, "txn_db")?, arg(options, "options")?.for_engine()?);
    let key = bytes(key.0, key.1)?;
    let family = family.as_ref().map_or(&db.database.default, |own| &own.family);
    let locked = vec![(family.id, key.to_vec())];
    db.locking.with_locks(locked, || write(family, &options, key))
}

/// Declares writes of a key and a value.
macro_rules! pair_writes {
    ($($write:ident: $name:ident, $of_family:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            db: *mut rocksdb_transactiondb_t,
            options: *const rocksdb_writeoptions_t,
            key: *const c_char,
            key_len: usize,
            value: *const c_char,
            value_len: usize,
            errptr: *mut *mut c_char,
        ) {
            call(errptr, || {
                let value = bytes(value, value_len)?;
                write(db, options, ptr::null(), Bytes(key, key_len), |family, options, key| {
                    family.$write(options, key, value)
                })
            });
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $of_family(
            db: *mut rocksdb_transactiondb_t,
            options: *const rocksdb_writeoptions_t,
            family: *mut rocksdb_column_family_handle_t,
            key: *const c_char,
            key_len: usize,
            value: *const c_char,
            value_len: usize,
            errptr: *mut *mut c_char,
        ) {
            call(errptr, || {
                check_family(family)?;
                let value = bytes(value, value_len)?;
                write(db, options, family, Bytes(key, key_len), |family, options, key| {
                    family.$write(options, key, value)
                })
            });
        }
    )*};
}

pair_writes! {
    put: rocksdb_transactiondb_put, rocksdb_transactiondb_put_cf;
    merge: rocksdb_transactiondb_merge, rocksdb_transactiondb_merge_cf;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_delete(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_writeoptions_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) {
    let key = Bytes(key, key_len);
    call(errptr, || write(db, options, ptr::null(), key, Family::delete));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_delete_cf(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_writeoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        check_family(family)?;
        write(db, options, family, Bytes(key, key_len), Family::delete)
    });
}

/// Writes a batch under the locks of its keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_write(
    db: *mut rocksdb_transactiondb_t,
    options: *const rocksdb_writeoptions_t,
    batch: *mut rocksdb_writebatch_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (db, batch) = (arg(db, "txn_db")?, arg(batch, "batch")?);
        let options = arg(options, "options")?;
        let keys = batch.rep.ops().map(|op| op.map(|op| (op.family, op.key.to_vec())));
        let keys = keys.collect::<Outcome<Vec<_>>>()?;
        db.locking.with_locks(keys, || db.database.write(options, &batch.rep))
    });
}
