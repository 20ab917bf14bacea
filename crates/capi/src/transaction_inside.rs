//! Steps inside a transaction that read and write at once, and reads that claim more or less than
//! the isolation says.
//!
//! In each function a NULL keyspace is the default one.

use foldb::{CompareAndSwap, Value};

use crate::boundary::{arg, bytes, call, check_out, store};
use crate::bytes::{foldb_bytes_t, foldb_value_t, range};
use crate::conditional::{bytes_or_none, store_value};
use crate::error::foldb_error_t;
use crate::expiry::{expires_after, expires_at, millis_of};
use crate::keyspace::foldb_keyspace_t;
use crate::transaction::{foldb_transaction_t, open, within};

/// Reads as `foldb_transaction_get` does, and claims the key with every isolation: the commit
/// conflicts if another write changed it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_get_for_update(
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
            store(value, foldb_value_t::of(own.get_for_update(bytes(key, key_len, "key")?)?));
            Ok(())
        })
    }
}

/// Reads as `foldb_transaction_get` does, and claims nothing with every isolation: the key may
/// change before the commit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_get_unclaimed(
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
            store(value, foldb_value_t::of(own.get_unclaimed(bytes(key, key_len, "key")?)?));
            Ok(())
        })
    }
}

/// Sets for how many seconds the puts and merges that follow live, in keyspaces with an expiry. 0:
/// as the keyspace says, the default. Negative: they never expire.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_set_lifetime_seconds(
    transaction: *mut foldb_transaction_t,
    seconds: i64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let transaction = unsafe { arg(transaction, "transaction")? };
        open(transaction)?.set_expires(expires_after(seconds));
        Ok(())
    })
}

/// Sets when the puts and merges that follow expire, in milliseconds since 1970. A moment in the
/// past: at once. Negative: never. The last call of this function and of
/// `foldb_transaction_set_lifetime_seconds` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_set_expires_at_millis(
    transaction: *mut foldb_transaction_t,
    millis: i64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let transaction = unsafe { arg(transaction, "transaction")? };
        open(transaction)?.set_expires(Some(expires_at(millis)));
        Ok(())
    })
}

/// Stores when a key expires in `*millis`, in milliseconds since 1970; -1 if the key is absent or
/// never expires. The key is claimed as by `foldb_transaction_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_expires_at(
    transaction: *const foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    millis: *mut i64,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            check_out(millis, "millis")?;
            store(millis, millis_of(own.expires_at(bytes(key, key_len, "key")?)?));
            Ok(())
        })
    }
}

/// Sets a key to `new_value` if its value is `expected`, as `foldb_compare_and_swap` does. The read
/// is claimed with every isolation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_compare_and_swap(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    expected: *const foldb_bytes_t,
    new_value: *const foldb_bytes_t,
    swapped: *mut bool,
    found: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            check_out(swapped, "swapped")?;
            let expected = bytes_or_none(expected, "expected")?;
            let new = bytes_or_none(new_value, "new_value")?;
            let outcome = own.compare_and_swap(bytes(key, key_len, "key")?, expected, new)?;
            store(swapped, outcome.is_swapped());
            let value = match outcome {
                CompareAndSwap::Swapped => None,
                CompareAndSwap::Found(value) => value,
            };
            store_value(found, value);
            Ok(())
        })
    }
}

/// Sets an absent key. Stores in `*put` whether it was absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_put_if_absent(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
    put: *mut bool,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            check_out(put, "put")?;
            let (key, value) = (bytes(key, key_len, "key")?, bytes(value, value_len, "value")?);
            store(put, own.put_if_absent(key, value)?);
            Ok(())
        })
    }
}

/// Renews the end of an entry, as `foldb_transaction_put` of its value does. Stores in `*was_there`
/// whether the key has a value; see `foldb_touch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_touch(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    was_there: *mut bool,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            check_out(was_there, "was_there")?;
            store(was_there, own.touch(bytes(key, key_len, "key")?)?);
            Ok(())
        })
    }
}

/// Deletes a key. Stores the value that it had in `*value`, to be freed with `foldb_value_free`;
/// NULL if it had none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_take(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            check_out(value, "value")?;
            store(value, foldb_value_t::of(own.take(bytes(key, key_len, "key")?)?));
            Ok(())
        })
    }
}

/// Deletes the first entry of the range from `lower` on and before `upper`, and stores it as
/// `foldb_take_first` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_take_first(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    lower: *const foldb_bytes_t,
    upper: *const foldb_bytes_t,
    key: *mut *mut foldb_value_t,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            check_out(key, "key")?;
            check_out(value, "value")?;
            let first = own.take_first(range(lower, upper)?)?;
            let (its_key, its_value) = first.map(|(key, value)| (Value::from(key), value)).unzip();
            store(key, foldb_value_t::of(its_key));
            store(value, foldb_value_t::of(its_value));
            Ok(())
        })
    }
}

/// Merges an operand with the keyspace's merge operator. Stores the value after this merge in
/// `*value`, to be freed with `foldb_value_free`; NULL if the operator deleted the key. The read is
/// claimed with every isolation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_transaction_merge_get(
    transaction: *mut foldb_transaction_t,
    keyspace: *const foldb_keyspace_t,
    key: *const u8,
    key_len: usize,
    operand: *const u8,
    operand_len: usize,
    value: *mut *mut foldb_value_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    unsafe {
        within(transaction, keyspace, |own, _| {
            check_out(value, "value")?;
            let (key, operand) =
                (bytes(key, key_len, "key")?, bytes(operand, operand_len, "operand")?);
            store(value, foldb_value_t::of(own.merge_get(key, operand)?));
            Ok(())
        })
    }
}
