//! The handle of a transaction: beginning, naming, preparing, committing, and giving up.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::batch::rocksdb_writebatch_t;
use crate::batch::with_index::rocksdb_writebatch_wi_t;
use crate::boundary::{arg, array_copy, bytes, call, copy, free, handle, store_len};
use crate::database::snapshot::rocksdb_snapshot_t;
use crate::options::calls::rocksdb_writeoptions_t;
use crate::status::Status;
use crate::transactions::databases::{rocksdb_optimistictransactiondb_t, rocksdb_transactiondb_t};
use crate::transactions::locking::SharedTransaction;
use crate::transactions::options::{
    rocksdb_optimistictransaction_options_t, rocksdb_transaction_options_t,
};
use crate::transactions::state::{Rules, Transaction};

/// RocksDB: `Transaction`.
pub struct rocksdb_transaction_t {
    pub(crate) shared: SharedTransaction,
}

/// Makes a handle of a transaction, or puts it into a handle that the program uses again.
unsafe fn begun(
    transaction: Transaction,
    old: *mut rocksdb_transaction_t,
) -> *mut rocksdb_transaction_t {
    let shared = Arc::new(Mutex::new(transaction));
    match old.as_mut() {
        Some(old_handle) => {
            old_handle.shared = shared;
            old
        }
        None => handle(rocksdb_transaction_t { shared }),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_begin(
    db: *mut rocksdb_transactiondb_t,
    write_options: *const rocksdb_writeoptions_t,
    options: *const rocksdb_transaction_options_t,
    old: *mut rocksdb_transaction_t,
) -> *mut rocksdb_transaction_t {
    let (db, values) = (&*db, &(*options).values);
    let transaction = Transaction::begin(
        db.database.clone(),
        db.locking.rules(values, 0),
        &*write_options,
        values.set_snapshot != 0,
        values.max_write_batch_size,
    );
    begun(transaction, old)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_optimistictransaction_begin(
    db: *mut rocksdb_optimistictransactiondb_t,
    write_options: *const rocksdb_writeoptions_t,
    options: *const rocksdb_optimistictransaction_options_t,
    old: *mut rocksdb_transaction_t,
) -> *mut rocksdb_transaction_t {
    let takes_snapshot = options.as_ref().is_some_and(|own| own.values.set_snapshot != 0);
    let database = (&(*db).database).clone();
    let transaction =
        Transaction::begin(database, Rules::Optimistic, &*write_options, takes_snapshot, 0);
    begun(transaction, old)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_destroy(transaction: *mut rocksdb_transaction_t) {
    free(transaction);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_get_prepared_transactions(
    db: *mut rocksdb_transactiondb_t,
    count: *mut usize,
) -> *mut *mut rocksdb_transaction_t {
    let all = (&(*db).locking).all_prepared();
    store_len(count, all.len());
    if all.is_empty() {
        return ptr::null_mut();
    }
    let handles: Vec<_> =
        all.into_iter().map(|shared| handle(rocksdb_transaction_t { shared })).collect();
    array_copy(&handles)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_set_name(
    transaction: *mut rocksdb_transaction_t,
    name: *const c_char,
    name_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let shared = &arg(transaction, "txn")?.shared;
        let name = bytes(name, name_len)?;
        let mut own = shared.lock();
        own.check_name(name)?;
        let Rules::Pessimistic { locking, .. } = &own.rules else {
            return Err(Status::invalid("Optimistic transactions cannot be named."));
        };
        locking.name(name, Arc::downgrade(shared))?;
        own.name = Some(name.to_vec());
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get_name(
    transaction: *mut rocksdb_transaction_t,
    len: *mut usize,
) -> *mut c_char {
    let own = (&(*transaction).shared).lock();
    let name = own.name.as_deref().unwrap_or_default();
    store_len(len, name.len());
    copy(name)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_prepare(
    transaction: *mut rocksdb_transaction_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg(transaction, "txn")?.shared.lock().prepare());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_commit(
    transaction: *mut rocksdb_transaction_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg(transaction, "txn")?.shared.lock().commit());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_rollback(
    transaction: *mut rocksdb_transaction_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg(transaction, "txn")?.shared.lock().rollback());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_set_savepoint(
    transaction: *mut rocksdb_transaction_t,
) {
    (&(*transaction).shared).lock().set_savepoint();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_rollback_to_savepoint(
    transaction: *mut rocksdb_transaction_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg(transaction, "txn")?.shared.lock().rollback_to_savepoint());
}

/// Lends the transaction's batch. The program frees the handle with `rocksdb_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get_writebatch_wi(
    transaction: *mut rocksdb_transaction_t,
) -> *mut rocksdb_writebatch_wi_t {
    rocksdb_writebatch_wi_t::lent(&(&(*transaction).shared).lock().batch)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_rebuild_from_writebatch(
    transaction: *mut rocksdb_transaction_t,
    batch: *mut rocksdb_writebatch_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let batch = arg(batch, "writebatch")?;
        arg(transaction, "txn")?.shared.lock().rebuild(&batch.rep)
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_rebuild_from_writebatch_wi(
    transaction: *mut rocksdb_transaction_t,
    batch: *mut rocksdb_writebatch_wi_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let rep = arg(batch, "wi")?.lock().read().rep.clone();
        arg(transaction, "txn")?.shared.lock().rebuild(&rep)
    });
}

/// User-defined timestamps are refused where a family is opened, so this has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_transaction_set_commit_timestamp(
    _transaction: *mut rocksdb_transaction_t,
    _timestamp: u64,
) {
}

/// User-defined timestamps are refused where a family is opened, so this has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_transaction_set_read_timestamp_for_validation(
    _transaction: *mut rocksdb_transaction_t,
    _timestamp: u64,
) {
}

/// Lends the transaction's snapshot. The program frees the handle with `rocksdb_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get_snapshot(
    transaction: *mut rocksdb_transaction_t,
) -> *const rocksdb_snapshot_t {
    rocksdb_snapshot_t::lent((&(*transaction).shared).lock().snapshot.as_deref())
}
