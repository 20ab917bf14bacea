//! Writes of one key or range.

use std::cmp::Ordering;
use std::ffi::c_char;
use std::ptr;

use crate::boundary::{arg, bytes, call};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::reads::check_family;
use crate::database::{Family, rocksdb_t};
use crate::options::calls::{no_timestamps, rocksdb_writeoptions_t};
use crate::status::{Outcome, Status};

/// Writes to a family; NULL is the default one.
#[inline]
unsafe fn write(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    family: *const rocksdb_column_family_handle_t,
    write: impl FnOnce(&Family, &foldb::WriteOptions) -> Outcome<()>,
) -> Outcome<()> {
    let (db, options) = (arg(db, "db")?, arg(options, "options")?.for_engine()?);
    let family = family.as_ref().map_or(&db.database.default, |own| &own.family);
    db.database.counted_write(&options, || write(family, &options))
}

impl Family {
    #[inline]
    pub(crate) fn put(
        &self,
        options: &foldb::WriteOptions,
        key: &[u8],
        value: &[u8],
    ) -> Outcome<()> {
        Ok(self.writable()?.with(options).put(key, value)?)
    }

    #[inline]
    pub(crate) fn delete(&self, options: &foldb::WriteOptions, key: &[u8]) -> Outcome<()> {
        Ok(self.writable()?.with(options).delete(key)?)
    }

    /// # Errors
    /// `Not implemented` without an operator.
    #[inline]
    pub(crate) fn merge(
        &self,
        options: &foldb::WriteOptions,
        key: &[u8],
        operand: &[u8],
    ) -> Outcome<()> {
        let keyspace = self.writable()?.with(options);
        match &self.operator {
            Some(operator) => Ok(keyspace.merge_with(operator, key, operand)?),
            None => Err(Status::unsupported("Provide a merge_operator when opening DB")),
        }
    }

    /// Deletes the keys from `start` up to `end`, without it.
    ///
    /// # Errors
    /// `Invalid argument` if the end comes before the start.
    pub(crate) fn delete_range(
        &self,
        options: &foldb::WriteOptions,
        start: &[u8],
        end: &[u8],
    ) -> Outcome<()> {
        let keyspace = self.writable()?;
        match keyspace.comparator().compare(start, end) {
            Ordering::Less => Ok(keyspace.with(options).delete_range(start..end)?),
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(Status::invalid("end key comes before start key")),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_put(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (key, value) = (bytes(key, key_len)?, bytes(value, value_len)?);
        write(db, options, ptr::null(), |family, options| family.put(options, key, value))
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_put_cf(
    db: *mut rocksdb_t,
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
        let (key, value) = (bytes(key, key_len)?, bytes(value, value_len)?);
        write(db, options, family, |family, options| family.put(options, key, value))
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_delete(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let key = bytes(key, key_len)?;
        write(db, options, ptr::null(), |family, options| family.delete(options, key))
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_delete_cf(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        check_family(family)?;
        let key = bytes(key, key_len)?;
        write(db, options, family, |family, options| family.delete(options, key))
    });
}

/// Deletes all versions of the key. RocksDB leaves open what happens if there are several.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_singledelete(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) {
    rocksdb_delete(db, options, key, key_len, errptr);
}

/// As [`rocksdb_singledelete`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_singledelete_cf(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) {
    rocksdb_delete_cf(db, options, family, key, key_len, errptr);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_delete_range_cf(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    start: *const c_char,
    start_len: usize,
    end: *const c_char,
    end_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        check_family(family)?;
        let (start, end) = (bytes(start, start_len)?, bytes(end, end_len)?);
        write(db, options, family, |family, options| family.delete_range(options, start, end))
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_merge(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    key: *const c_char,
    key_len: usize,
    operand: *const c_char,
    operand_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (key, operand) = (bytes(key, key_len)?, bytes(operand, operand_len)?);
        write(db, options, ptr::null(), |family, options| family.merge(options, key, operand))
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_merge_cf(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    operand: *const c_char,
    operand_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        check_family(family)?;
        let (key, operand) = (bytes(key, key_len)?, bytes(operand, operand_len)?);
        write(db, options, family, |family, options| family.merge(options, key, operand))
    });
}

/// Stores the error of a write with a timestamp.
unsafe fn refuse(errptr: *mut *mut c_char) {
    call(errptr, || -> Outcome<()> { Err(no_timestamps()) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_put_with_ts(
    _db: *mut rocksdb_t,
    _options: *const rocksdb_writeoptions_t,
    _key: *const c_char,
    _key_len: usize,
    _timestamp: *const c_char,
    _timestamp_len: usize,
    _value: *const c_char,
    _value_len: usize,
    errptr: *mut *mut c_char,
) {
    refuse(errptr);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_put_cf_with_ts(
    _db: *mut rocksdb_t,
    _options: *const rocksdb_writeoptions_t,
    _family: *mut rocksdb_column_family_handle_t,
    _key: *const c_char,
    _key_len: usize,
    _timestamp: *const c_char,
    _timestamp_len: usize,
    _value: *const c_char,
    _value_len: usize,
    errptr: *mut *mut c_char,
) {
    refuse(errptr);
}

/// Declares deletes of a key with a timestamp, which are refused.
macro_rules! deletes_with_timestamps {
    ($($name:ident)* ; $($of_family:ident)*) => {
        $(#[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            _db: *mut rocksdb_t,
            _options: *const rocksdb_writeoptions_t,
            _key: *const c_char,
            _key_len: usize,
            _timestamp: *const c_char,
            _timestamp_len: usize,
            errptr: *mut *mut c_char,
        ) {
            refuse(errptr);
        })*
        $(#[unsafe(no_mangle)]
        pub unsafe extern "C" fn $of_family(
            _db: *mut rocksdb_t,
            _options: *const rocksdb_writeoptions_t,
            _family: *mut rocksdb_column_family_handle_t,
            _key: *const c_char,
            _key_len: usize,
            _timestamp: *const c_char,
            _timestamp_len: usize,
            errptr: *mut *mut c_char,
        ) {
            refuse(errptr);
        })*
    };
}

deletes_with_timestamps! {
    rocksdb_delete_with_ts rocksdb_singledelete_with_ts;
    rocksdb_delete_cf_with_ts rocksdb_singledelete_cf_with_ts
}
