//! Transactions that run again after a conflict, until their commit succeeds.

use std::ffi::c_void;
use std::ptr;

use foldb::{Error, ErrorKind, Transaction, TransactionOptions};

use crate::boundary::{arg, call, free};
use crate::database::foldb_t;
use crate::error::foldb_code_t::{FOLDB_ABORTED, FOLDB_CONFLICT};
use crate::error::{foldb_error_code, foldb_error_t};
use crate::options::{foldb_write_options_t, write_options};
use crate::transaction::{foldb_transaction_t, isolation_of};

/// The work of a transaction of `foldb_transact`. `state` is what the program passed to that call.
/// Returns NULL to commit. Returns an error to give up: one that another call returned, or a
/// `foldb_error_aborted`. The function may call foldb, but neither commits nor frees the
/// transaction, and frees the iterators that it makes of it. It returns normally: no `longjmp`, no
/// exception.
pub type foldb_transaction_fn = Option<
    unsafe extern "C" fn(
        state: *mut c_void,
        transaction: *mut foldb_transaction_t,
    ) -> *mut foldb_error_t,
>;

/// Runs `work` in a transaction and commits it. After a conflict it runs `work` again, on this
/// thread, up to 100 times. So `work` should change nothing but the transaction and its own
/// results. A transaction that keeps losing gets a turn, in which other writers wait.
///
/// Returns the error of `work`, or `FOLDB_CONFLICT` after the last attempt. The deadline of the
/// options bounds the whole call, which then returns `FOLDB_CONFLICT` or `FOLDB_BUSY`. With an
/// error, except of a failed sync, nothing was written. The other arguments are those of
/// `foldb_transaction_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transact(
    db: *const foldb_t,
    isolation: u32,
    options: *const foldb_write_options_t,
    work: foldb_transaction_fn,
    state: *mut c_void,
) -> *mut foldb_error_t {
    // The error that the last run of `work` returned.
    let mut given = ptr::null_mut();
    let error = call(|| {
        let isolation = isolation_of(isolation)?;
        let work = work.ok_or_else(|| Error::invalid_argument("work is NULL"))?;
        // SAFETY: the caller keeps the rules of the header.
        let (db, write) = unsafe { (arg(db, "db")?, *write_options(options)) };
        let deadline = write.deadline;
        let options =
            TransactionOptions { isolation, write, deadline, ..TransactionOptions::default() };
        db.db.to_change()?.with(&options).transact(|transaction: &Transaction| {
            let mut lent = foldb_transaction_t::lent(transaction, db);
            // SAFETY: an error that `work` returned, and that no result is any more. The program's
            // function keeps the rules of the header, and the transaction lives during its call.
            given = unsafe {
                free(given);
                work(state, &mut lent)
            };
            // SAFETY: NULL, or an error that belongs to this call.
            match unsafe { given.as_ref() } {
                None => Ok(()),
                Some(error) => Err(Error::new(kind_of(error), "the work returned an error")),
            }
        })
    });
    // SAFETY: both are NULL or errors that belong to this call, and each is freed or returned once.
    unsafe {
        let is_given = matches!(foldb_error_code(error), FOLDB_CONFLICT | FOLDB_ABORTED);
        let (returned, other) =
            if is_given && !given.is_null() { (given, error) } else { (error, given) };
        free(other);
        returned
    }
}

/// Returns whether an error of `work` is a conflict, which runs it again, or its end.
fn kind_of(error: &foldb_error_t) -> ErrorKind {
    // SAFETY: a reference is a valid error.
    match unsafe { foldb_error_code(error) } {
        FOLDB_CONFLICT => ErrorKind::Conflict,
        _ => ErrorKind::Aborted,
    }
}
