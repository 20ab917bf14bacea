//! Transactions: reads and writes of several keys that happen at one moment, or not at all.
//!
//! In each function a NULL keyspace is the default one.

use std::ffi::c_char;
use std::ptr::NonNull;

use foldb::{
    Error, Isolation, Keyspace, Result, Savepoint, Transaction, TransactionKeyspace,
    TransactionOptions,
};

use crate::boundary::{arg, arg_mut, bytes, call, check_out, free, store, text};
use crate::bytes::{foldb_bytes_t, foldb_value_t, range};
use crate::database::foldb_t;
use crate::error::foldb_error_t;
use crate::iterator::foldb_iter_t;
use crate::keyspace::{foldb_keyspace_t, keyspace_to_change};
use crate::options::{foldb_write_options_t, write_options};

/// What a transaction is protected from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum foldb_isolation_t {
    /// What the transaction read is unchanged at its commit. Writes conflict with nothing.
    FOLDB_SERIALIZABLE = 0,
    /// The transaction reads one moment, and no other write changed what it writes. Merges do not
    /// conflict with merges.
    FOLDB_SNAPSHOT_ISOLATION = 1,
}

/// A transaction. One thread at a time may use it. It keeps its database open.
pub struct foldb_transaction_t {
    transaction: Held,
    /// The savepoints that can be rolled back to, oldest first.
    savepoints: Vec<Savepoint>,
    /// The transaction's own handle of its database.
    db: foldb_t,
}

/// What a handle has of its transaction.
enum Held {
    Own(Box<Transaction>),
    /// One of `foldb_transact`, which outlives the handle.
    Lent(NonNull<Transaction>),
    /// Nothing, after the commit.
    Ended,
}

impl foldb_transaction_t {
    fn of(transaction: Held, db: &foldb_t) -> foldb_transaction_t {
        foldb_transaction_t { transaction, savepoints: Vec::new(), db: foldb_t::clone(db) }
    }

    /// Makes a handle of a transaction of `foldb_transact`. The caller drops it before the
    /// transaction ends.
    pub(crate) fn lent(transaction: &Transaction, db: &foldb_t) -> foldb_transaction_t {
        foldb_transaction_t::of(Held::Lent(NonNull::from(transaction)), db)
    }
}

/// Begins a transaction and stores it in `*transaction`. The options say what its commit
/// guarantees; NULL stands for the defaults. Free it with `foldb_transaction_free`, in any case.
///
/// `isolation` is a `foldb_isolation_t`; another number is refused with `FOLDB_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_begin(
    db: *const foldb_t,
    isolation: u32,
    options: *const foldb_write_options_t,
    transaction: *mut *mut foldb_transaction_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(transaction, "transaction")?;
        let isolation = isolation_of(isolation)?;
        // SAFETY: the caller keeps the rules of the header.
        let (db, write) = unsafe { (arg(db, "db")?, *write_options(options)) };
        let options = TransactionOptions { isolation, write, ..TransactionOptions::default() };
        let begun = Held::Own(Box::new(db.db.to_change()?.with(&options).begin()?));
        let begun = foldb_transaction_t::of(begun, db);
        // SAFETY: checked above.
        unsafe { store(transaction, Box::into_raw(Box::new(begun))) };
        Ok(())
    })
}

/// Returns the isolation of this number.
///
/// # Errors
/// `InvalidArgument` for a number without one.
pub(crate) fn isolation_of(number: u32) -> Result<Isolation> {
    match number {
        n if n == foldb_isolation_t::FOLDB_SERIALIZABLE as u32 => Ok(Isolation::Serializable),
        n if n == foldb_isolation_t::FOLDB_SNAPSHOT_ISOLATION as u32 => Ok(Isolation::Snapshot),
        n => Err(Error::invalid_argument(format!("isolation {n} is no foldb_isolation_t"))),
    }
}

pub(crate) fn open(transaction: &foldb_transaction_t) -> Result<&Transaction> {
    match &transaction.transaction {
        Held::Own(own) => Ok(own),
        // SAFETY: the transaction outlives the handle.
        Held::Lent(lent) => Ok(unsafe { lent.as_ref() }),
        Held::Ended => Err(Error::invalid_argument("the transaction has ended; begin another one")),
    }
}

/// Runs a read or a write of one keyspace.
///
/// # Safety
/// The C program keeps the rules of the header.
pub(crate) unsafe fn within(
    transaction: *const foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    run: impl FnOnce(TransactionKeyspace<'_>, &Keyspace) -> Result<()>,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: as the caller promises.
        let transaction = unsafe { arg(transaction, "transaction")? };
        // SAFETY: as the caller promises; the own handle lives as long as the transaction.
        let keyspace = unsafe { keyspace_to_change(&transaction.db, keyspace)? };
        run(open(transaction)?.keyspace(keyspace), keyspace)
    })
}

/// Reads the value of a key: the transaction's own writes, over the moment that it reads. Stores it
/// in `*value`, to be freed with `foldb_value_free`; NULL if there is no value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_get(
    transaction: *const foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            check_out(value, "value")?;
            store(value, foldb_value_t::of(own.get(bytes(key, key_len, "key")?)?));
            Ok(())
        })
    }
}

/// Makes an iterator over the keys from `lower` on and before `upper`, with the writes that the
/// transaction has made so far. NULL for a bound means no bound there. Free the iterator with
/// `foldb_iter_free`, best before the commit: while it lives, all of its range counts as read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_iter(
    transaction: *const foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    lower: *const foldb_bytes_t,
    upper: *const foldb_bytes_t,
    iter: *mut *mut foldb_iter_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            check_out(iter, "iter")?;
            store(iter, foldb_iter_t::of(own.range(range(lower, upper)?)?));
            Ok(())
        })
    }
}

/// Sets the value of a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_put(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            own.put(bytes(key, key_len, "key")?, bytes(value, value_len, "value")?)
        })
    }
}

/// Deletes a key. A missing key is no error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_delete(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { within(transaction, keyspace, |own, _| own.delete(bytes(key, key_len, "key")?)) }
}

/// Deletes all keys from `lower` on and before `upper`. NULL for a bound means no bound there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_delete_range(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    lower: *const foldb_bytes_t,
    upper: *const foldb_bytes_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { within(transaction, keyspace, |own, _| own.delete_range(range(lower, upper)?)) }
}

/// Merges an operand with the keyspace's merge operator. It reads nothing, so it causes no
/// conflict.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_merge(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    operand: *const u8,
    operand_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            own.merge(bytes(key, key_len, "key")?, bytes(operand, operand_len, "operand")?)
        })
    }
}

/// Merges an operand with the operator of this name, with its parameter after a colon if it has
/// one: "stringappend:,".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_merge_with(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    operator: *const c_char,
    key: *const u8,
    key_len: usize,
    operand: *const u8,
    operand_len: usize,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, keyspace| {
            let operator = keyspace.operator(text(operator, "operator")?)?;
            let (key, operand) =
                (bytes(key, key_len, "key")?, bytes(operand, operand_len, "operand")?);
            own.merge_with(&operator, key, operand)
        })
    }
}

/// Makes a savepoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_savepoint(
    transaction: *mut foldb_transaction_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg_mut(transaction, "transaction")? };
        let savepoint = open(own)?.savepoint();
        own.savepoints.push(savepoint);
        Ok(())
    })
}

/// Undoes the writes made after the last savepoint, and removes that savepoint. Without a savepoint
/// it returns `FOLDB_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_rollback_to_savepoint(
    transaction: *mut foldb_transaction_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg_mut(transaction, "transaction")? };
        let none = || Error::invalid_argument("the transaction has no savepoint");
        let last = *own.savepoints.last().ok_or_else(none)?;
        open(own)?.rollback_to(last)?;
        open(own)?.release(last);
        own.savepoints.pop();
        Ok(())
    })
}

/// Removes the last savepoint, and keeps the writes made after it. Without a savepoint it returns
/// `FOLDB_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_release_savepoint(
    transaction: *mut foldb_transaction_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg_mut(transaction, "transaction")? };
        let none = || Error::invalid_argument("the transaction has no savepoint");
        let last = *own.savepoints.last().ok_or_else(none)?;
        open(own)?.release(last);
        own.savepoints.pop();
        Ok(())
    })
}

/// Writes everything at one moment. With `FOLDB_CONFLICT`, and with any other error except a failed
/// sync, nothing was written: begin a new transaction to try again. In any case the transaction has
/// ended, and only `foldb_transaction_free` is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_commit(
    transaction: *mut foldb_transaction_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg_mut(transaction, "transaction")? };
        open(own)?;
        if matches!(own.transaction, Held::Lent(_)) {
            return Err(Error::invalid_argument(
                "foldb_transact commits this transaction: return NULL from its function",
            ));
        }
        match std::mem::replace(&mut own.transaction, Held::Ended) {
            Held::Own(transaction) => transaction.commit(),
            Held::Lent(_) | Held::Ended => Ok(()),
        }
    })
}

/// Frees a transaction. Without a commit, nothing of it remains. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_free(transaction: *mut foldb_transaction_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(transaction) };
}
