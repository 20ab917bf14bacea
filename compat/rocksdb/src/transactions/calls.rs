//! Reads and writes inside a transaction.

use std::ffi::{c_char, c_uchar};
use std::ptr;
use std::sync::Arc;

use foldb::Value;

use crate::batch::filling::{Bytes, NOTHING};
use crate::batch::merged::MergedEntries;
use crate::batch::rep::Kind;
use crate::boundary::{arg, array, bytes, call, slices, value_copy};
use crate::database::Family;
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::pinned::{pinned, rocksdb_pinnableslice_t};
use crate::database::reads::{ValueArrays, check_family};
use crate::iterator::{Entries, FamilyEntries, iterator_handle, rocksdb_iterator_t};
use crate::options::calls::rocksdb_readoptions_t;
use crate::status::{Outcome, Status};
use crate::transactions::handle::rocksdb_transaction_t;
use crate::transactions::state::Transaction;

/// How a read of a transaction binds the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Binding {
    /// Others may change the key.
    Free,
    /// The transaction depends on the key.
    ForUpdate { is_exclusive: bool },
}

/// Returns a family of a transaction; NULL is the default one.
unsafe fn family_of(
    own: &Transaction,
    family: *const rocksdb_column_family_handle_t,
) -> Arc<Family> {
    match family.as_ref() {
        Some(handle) => handle.family.clone(),
        None => own.database.default.clone(),
    }
}

fn read(
    own: &mut Transaction,
    options: &rocksdb_readoptions_t,
    family: &Family,
    key: &[u8],
    binding: Binding,
) -> Outcome<Option<Value>> {
    if let Binding::ForUpdate { is_exclusive } = binding {
        own.track(family, key, is_exclusive)?;
    }
    own.get(options, family, key)
}

unsafe fn get(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    family: *const rocksdb_column_family_handle_t,
    key: Bytes,
    binding: Binding,
) -> Outcome<Option<Value>> {
    let options = arg(options, "options")?;
    let key = bytes(key.0, key.1)?;
    let mut own = arg(transaction, "txn")?.shared.lock();
    let family = family_of(&own, family);
    read(&mut own, options, &family, key, binding)
}

fn for_update(exclusive: c_uchar) -> Binding {
    Binding::ForUpdate { is_exclusive: exclusive != 0 }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    let key = Bytes(key, key_len);
    let found = call(errptr, || get(transaction, options, ptr::null(), key, Binding::Free));
    value_copy(found.flatten().as_deref(), value_len)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get_pinned(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    let key = Bytes(key, key_len);
    let found = call(errptr, || get(transaction, options, ptr::null(), key, Binding::Free));
    pinned(found.flatten())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get_cf(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    let found = call(errptr, || {
        check_family(family)?;
        get(transaction, options, family, Bytes(key, key_len), Binding::Free)
    });
    value_copy(found.flatten().as_deref(), value_len)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get_pinned_cf(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    let found = call(errptr, || {
        check_family(family)?;
        get(transaction, options, family, Bytes(key, key_len), Binding::Free)
    });
    pinned(found.flatten())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get_for_update(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    exclusive: c_uchar,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    let (key, binding) = (Bytes(key, key_len), for_update(exclusive));
    let found = call(errptr, || get(transaction, options, ptr::null(), key, binding));
    value_copy(found.flatten().as_deref(), value_len)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get_pinned_for_update(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    exclusive: c_uchar,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    let (key, binding) = (Bytes(key, key_len), for_update(exclusive));
    let found = call(errptr, || get(transaction, options, ptr::null(), key, binding));
    pinned(found.flatten())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get_for_update_cf(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    exclusive: c_uchar,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    let found = call(errptr, || {
        check_family(family)?;
        get(transaction, options, family, Bytes(key, key_len), for_update(exclusive))
    });
    value_copy(found.flatten().as_deref(), value_len)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_get_pinned_for_update_cf(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    exclusive: c_uchar,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    let found = call(errptr, || {
        check_family(family)?;
        get(transaction, options, family, Bytes(key, key_len), for_update(exclusive))
    });
    pinned(found.flatten())
}

/// The keys of a read of several, as C gives them.
#[derive(Clone, Copy)]
struct KeyArrays {
    count: usize,
    /// NULL: all are keys of the default family.
    families: *const *const rocksdb_column_family_handle_t,
    keys: *const *const c_char,
    lens: *const usize,
}

/// Reads several keys, and stores the result of each.
unsafe fn multi_get(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    given: KeyArrays,
    results: &ValueArrays,
    binding: Binding,
) {
    let mut failed = ptr::null_mut();
    let found = call(&mut failed, || -> Outcome<Vec<Outcome<Option<Value>>>> {
        let options = arg(options, "options")?;
        let keys = slices(given.keys, given.lens, given.count)?;
        let families = match given.families.is_null() {
            true => &[],
            false => array(given.families, given.count)?,
        };
        let mut own = arg(transaction, "txn")?.shared.lock();
        Ok(keys
            .into_iter()
            .enumerate()
            .map(|(index, key)| {
                let family = families.get(index).copied().unwrap_or(ptr::null());
                let family = family_of(&own, family);
                read(&mut own, options, &family, key, binding)
            })
            .collect())
    });
    libc::free(failed.cast());
    match found {
        Some(found) => {
            found.into_iter().enumerate().for_each(|(index, one)| results.store(index, one));
        }
        None => results.store_all(given.count, &Status::invalid("the keys cannot be read")),
    }
}

/// Declares reads of several keys.
macro_rules! multi_gets {
    ($($name:ident, $of_families:ident: $binding:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            transaction: *mut rocksdb_transaction_t,
            options: *const rocksdb_readoptions_t,
            count: usize,
            keys: *const *const c_char,
            key_lens: *const usize,
            values: *mut *mut c_char,
            value_lens: *mut usize,
            errors: *mut *mut c_char,
        ) {
            let given = KeyArrays { count, families: ptr::null(), keys, lens: key_lens };
            let results = ValueArrays { values, lens: value_lens, errors };
            multi_get(transaction, options, given, &results, $binding);
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $of_families(
            transaction: *mut rocksdb_transaction_t,
            options: *const rocksdb_readoptions_t,
            families: *const *const rocksdb_column_family_handle_t,
            count: usize,
            keys: *const *const c_char,
            key_lens: *const usize,
            values: *mut *mut c_char,
            value_lens: *mut usize,
            errors: *mut *mut c_char,
        ) {
            let given = KeyArrays { count, families, keys, lens: key_lens };
            let results = ValueArrays { values, lens: value_lens, errors };
            multi_get(transaction, options, given, &results, $binding);
        }
    )*};
}

multi_gets! {
    rocksdb_transaction_multi_get, rocksdb_transaction_multi_get_cf: Binding::Free;
    rocksdb_transaction_multi_get_for_update, rocksdb_transaction_multi_get_for_update_cf:
        Binding::ForUpdate { is_exclusive: true };
}

unsafe fn write(
    transaction: *mut rocksdb_transaction_t,
    family: *const rocksdb_column_family_handle_t,
    kind: Kind,
    key: Bytes,
    value: Bytes,
) -> Outcome<()> {
    let (key, value) = (bytes(key.0, key.1)?, bytes(value.0, value.1)?);
    let mut own = arg(transaction, "txn")?.shared.lock();
    let family = family_of(&own, family);
    own.write(&family, kind, key, value)
}

/// Declares writes of a key and a value.
macro_rules! pair_writes {
    ($($kind:ident: $name:ident, $of_family:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            transaction: *mut rocksdb_transaction_t,
            key: *const c_char,
            key_len: usize,
            value: *const c_char,
            value_len: usize,
            errptr: *mut *mut c_char,
        ) {
            let (key, value) = (Bytes(key, key_len), Bytes(value, value_len));
            call(errptr, || write(transaction, ptr::null(), Kind::$kind, key, value));
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $of_family(
            transaction: *mut rocksdb_transaction_t,
            family: *mut rocksdb_column_family_handle_t,
            key: *const c_char,
            key_len: usize,
            value: *const c_char,
            value_len: usize,
            errptr: *mut *mut c_char,
        ) {
            let (key, value) = (Bytes(key, key_len), Bytes(value, value_len));
            call(errptr, || {
                check_family(family)?;
                write(transaction, family, Kind::$kind, key, value)
            });
        }
    )*};
}

pair_writes! {
    Put: rocksdb_transaction_put, rocksdb_transaction_put_cf;
    Merge: rocksdb_transaction_merge, rocksdb_transaction_merge_cf;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_delete(
    transaction: *mut rocksdb_transaction_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) {
    let key = Bytes(key, key_len);
    call(errptr, || write(transaction, ptr::null(), Kind::Delete, key, NOTHING));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_delete_cf(
    transaction: *mut rocksdb_transaction_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        check_family(family)?;
        write(transaction, family, Kind::Delete, Bytes(key, key_len), NOTHING)
    });
}

/// Makes an iterator over the database with the transaction's writes over it.
unsafe fn iterator(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    family: *const rocksdb_column_family_handle_t,
) -> *mut rocksdb_iterator_t {
    let made = || -> Outcome<Entries> {
        let options = arg(options, "options")?;
        let own = arg(transaction, "txn")?.shared.lock();
        let family = family_of(&own, family);
        let base = Box::new(FamilyEntries::of(family.clone(), options)?);
        let merged = MergedEntries::of(own.batch.clone(), family, base, options.clone());
        Ok(Entries::Merged(Box::new(merged)))
    };
    iterator_handle(made(), options.as_ref())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_create_iterator(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
) -> *mut rocksdb_iterator_t {
    iterator(transaction, options, ptr::null())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transaction_create_iterator_cf(
    transaction: *mut rocksdb_transaction_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
) -> *mut rocksdb_iterator_t {
    iterator(transaction, options, family)
}
