//! Point reads: into copies, pinned, into the program's buffers, and several at once.

use std::ffi::{c_char, c_uchar};
use std::ptr;

use foldb::{ReadOptions, Value};

use crate::boundary::{arg, array, bytes, call, copy, slices, store_error, store_len, value_copy};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::pinned::{pinned, rocksdb_pinnableslice_t};
use crate::database::{Family, FamilyKeyspace, rocksdb_t};
use crate::options::calls::{no_timestamps, rocksdb_readoptions_t};
use crate::status::{Code, Outcome, Status};

impl Family {
    /// Reads a key.
    #[inline]
    pub(crate) fn get(
        &self,
        options: &rocksdb_readoptions_t,
        key: &[u8],
    ) -> Outcome<Option<Value>> {
        self.get_then(options, key, |found| found)
    }

    /// Reads a key, and makes something of its value where it lies. A value is some hundred bytes
    /// large, and each function that passes it on would move it.
    #[inline]
    pub(crate) fn get_then<T>(
        &self,
        options: &rocksdb_readoptions_t,
        key: &[u8],
        then: impl FnOnce(Option<Value>) -> T,
    ) -> Outcome<T> {
        let found = match &self.keyspace {
            FamilyKeyspace::Writable(keyspace) if options.is_plain() => keyspace.get(key),
            _ => self.get_with(&options.for_engine()?, key),
        };
        match found {
            Ok(found) => Ok(then(found)),
            Err(error) => Err(self.read_error(error)),
        }
    }

    fn get_with(&self, options: &ReadOptions, key: &[u8]) -> foldb::Result<Option<Value>> {
        match &self.keyspace {
            FamilyKeyspace::Writable(keyspace) => keyspace.with(options).get(key),
            FamilyKeyspace::ReadOnly(reader) => reader.with(options).get(key),
            FamilyKeyspace::Secondary(reader) => reader.read().with(options).get(key),
        }
    }

    /// Says an error of a read as RocksDB does.
    #[cold]
    pub(crate) fn read_error(&self, error: foldb::Error) -> Status {
        match error.kind() {
            foldb::ErrorKind::MergeFailed if self.options.merge_operator.is_none() => {
                Status::invalid("merge_operator is not properly initialized.")
            }
            foldb::ErrorKind::MergeFailed => {
                Status::new(Code::Corruption, format!("Merge operator failed: {error}"))
            }
            _ => error.into(),
        }
    }
}

/// Reads a key of a family, and makes something of its value; NULL is the default one.
#[inline]
unsafe fn get<T>(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: *const rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    then: impl FnOnce(Option<Value>) -> T,
) -> Outcome<T> {
    let (db, options) = (arg(db, "db")?, arg(options, "options")?);
    let key = bytes(key, key_len)?;
    let family = family.as_ref().map_or(&db.database.default, |own| &own.family);
    db.database.counted_get(family, options, key, then)
}

/// Checks that a call of a family names one.
#[inline]
pub(crate) unsafe fn check_family(family: *const rocksdb_column_family_handle_t) -> Outcome<()> {
    arg(family, "column_family").map(drop)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    store_len(value_len, 0);
    let copied = |found: Option<Value>| value_copy(found.as_deref(), value_len);
    call(errptr, || get(db, options, ptr::null(), key, key_len, copied)).unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_cf(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    store_len(value_len, 0);
    let copied = |found: Option<Value>| value_copy(found.as_deref(), value_len);
    let read = || {
        check_family(family)?;
        get(db, options, family, key, key_len, copied)
    };
    call(errptr, read).unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_pinned(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    call(errptr, || get(db, options, ptr::null(), key, key_len, pinned)).unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_pinned_cf(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    let read = || {
        check_family(family)?;
        get(db, options, family, key, key_len, pinned)
    };
    call(errptr, read).unwrap_or(ptr::null_mut())
}

/// Where the results of a read of several keys go.
pub(crate) struct ValueArrays {
    pub(crate) values: *mut *mut c_char,
    pub(crate) lens: *mut usize,
    pub(crate) errors: *mut *mut c_char,
}

impl ValueArrays {
    /// Stores the result of one key: NULL without an error is a key without a value.
    pub(crate) unsafe fn store(&self, index: usize, result: Outcome<Option<Value>>) {
        let error = self.errors.add(index);
        *error = ptr::null_mut();
        let found = match result {
            Ok(found) => found,
            Err(status) => {
                store_error(error, &status);
                None
            }
        };
        *self.values.add(index) = found.as_deref().map_or(ptr::null_mut(), copy);
        store_len(self.lens.add(index), found.as_deref().map_or(0, <[u8]>::len));
    }

    /// Stores one error for all keys.
    pub(crate) unsafe fn store_all(&self, count: usize, status: &Status) {
        for index in 0..count {
            self.store(index, Err(status.clone()));
        }
    }
}

impl Family {
    /// Reads several keys at one moment.
    pub(crate) fn multi_get(
        &self,
        options: &rocksdb_readoptions_t,
        keys: &[&[u8]],
    ) -> Outcome<Vec<Outcome<Option<Value>>>> {
        let options = options.for_engine()?;
        let found = self.read(|reader| reader.with(&options).multi_get(keys.iter().copied()))?;
        Ok(found.into_iter().map(|one| one.map_err(|error| self.read_error(error))).collect())
    }
}

unsafe fn multi_get(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    keys: &[&[u8]],
) -> Outcome<Vec<Outcome<Option<Value>>>> {
    let (database, options) = (&arg(db, "db")?.database, arg(options, "options")?);
    database.counted_multi_get(|| database.default.multi_get(options, keys))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_multi_get(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    count: usize,
    keys: *const *const c_char,
    key_lens: *const usize,
    values: *mut *mut c_char,
    value_lens: *mut usize,
    errors: *mut *mut c_char,
) {
    let arrays = ValueArrays { values, lens: value_lens, errors };
    let mut failed = ptr::null_mut();
    let found = call(&mut failed, || multi_get(db, options, &slices(keys, key_lens, count)?));
    libc::free(failed.cast());
    match found {
        Some(found) => {
            found.into_iter().enumerate().for_each(|(index, one)| arrays.store(index, one));
        }
        None => arrays.store_all(count, &Status::invalid("the keys cannot be read")),
    }
}

/// Reads a key of each of several families, at one moment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_multi_get_cf(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    families: *const *const rocksdb_column_family_handle_t,
    count: usize,
    keys: *const *const c_char,
    key_lens: *const usize,
    values: *mut *mut c_char,
    value_lens: *mut usize,
    errors: *mut *mut c_char,
) {
    let arrays = ValueArrays { values, lens: value_lens, errors };
    let mut failed = ptr::null_mut();
    let read = || {
        let database = &arg(db, "db")?.database;
        let mut options = arg(options, "options")?.clone();
        if options.engine.snapshot.is_none() {
            options.engine.snapshot = Some(database.snapshot());
        }
        let families = array(families, count)?;
        let keys = slices(keys, key_lens, count)?;
        let each = families.iter().zip(keys);
        let read = |(&family, key): (&*const rocksdb_column_family_handle_t, &[u8])| {
            arg(family, "column_family")?.family.get(&options, key)
        };
        database.counted_multi_get(|| Ok(each.map(read).collect()))
    };
    let found = call(&mut failed, read);
    libc::free(failed.cast());
    match found {
        Some(found) => {
            found.into_iter().enumerate().for_each(|(index, one)| arrays.store(index, one));
        }
        None => arrays.store_all(count, &Status::invalid("the keys cannot be read")),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_batched_multi_get_cf(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    count: usize,
    keys: *const *const c_char,
    key_lens: *const usize,
    values: *mut *mut rocksdb_pinnableslice_t,
    errors: *mut *mut c_char,
    _is_sorted: bool,
) {
    let mut failed = ptr::null_mut();
    let found = call(&mut failed, || {
        let database = &arg(db, "db")?.database;
        let family = &arg(family, "column_family")?.family;
        let (options, keys) = (arg(options, "options")?, slices(keys, key_lens, count)?);
        database.counted_multi_get(|| family.multi_get(options, &keys))
    });
    libc::free(failed.cast());
    let unread = || Err(Status::invalid("the keys cannot be read"));
    let found = found.unwrap_or_else(|| (0..count).map(|_| unread()).collect());
    for (index, one) in found.into_iter().enumerate() {
        *errors.add(index) = ptr::null_mut();
        *values.add(index) = match one {
            Ok(value) => pinned(value),
            Err(status) => {
                store_error(errors.add(index), &status);
                ptr::null_mut()
            }
        };
    }
}

/// Reads the key: an answer from a filter alone would save little. As in RocksDB, `value_found`
/// says that the answer is certain. Then there is a value, which is empty for an absent key.
unsafe fn key_may_exist(
    read: Outcome<Option<Value>>,
    value: *mut *mut c_char,
    value_len: *mut usize,
    value_found: *mut c_uchar,
) -> c_uchar {
    let is_certain = read.is_ok();
    let found = read.unwrap_or_default();
    if let Some(value_found) = value_found.as_mut() {
        *value_found = is_certain.into();
        if is_certain && !value.is_null() {
            *value = value_copy(Some(found.as_deref().unwrap_or_default()), value_len);
        }
    }
    found.is_some().into()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_key_may_exist(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    value: *mut *mut c_char,
    value_len: *mut usize,
    _timestamp: *const c_char,
    _timestamp_len: usize,
    value_found: *mut c_uchar,
) -> c_uchar {
    let read = get(db, options, ptr::null(), key, key_len, |found| found);
    key_may_exist(read, value, value_len, value_found)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_key_may_exist_cf(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    value: *mut *mut c_char,
    value_len: *mut usize,
    _timestamp: *const c_char,
    _timestamp_len: usize,
    value_found: *mut c_uchar,
) -> c_uchar {
    let read = get(db, options, family, key, key_len, |found| found);
    key_may_exist(read, value, value_len, value_found)
}

/// Stores the error of a read with a timestamp.
unsafe fn refuse_timestamp(errptr: *mut *mut c_char) {
    call(errptr, || -> Outcome<()> { Err(no_timestamps()) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_with_ts(
    _db: *mut rocksdb_t,
    _options: *const rocksdb_readoptions_t,
    _key: *const c_char,
    _key_len: usize,
    value_len: *mut usize,
    _timestamp: *mut *mut c_char,
    _timestamp_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    refuse_timestamp(errptr);
    value_copy(None, value_len)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_cf_with_ts(
    _db: *mut rocksdb_t,
    _options: *const rocksdb_readoptions_t,
    _family: *mut rocksdb_column_family_handle_t,
    _key: *const c_char,
    _key_len: usize,
    value_len: *mut usize,
    _timestamp: *mut *mut c_char,
    _timestamp_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    refuse_timestamp(errptr);
    value_copy(None, value_len)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_multi_get_with_ts(
    _db: *mut rocksdb_t,
    _options: *const rocksdb_readoptions_t,
    count: usize,
    _keys: *const *const c_char,
    _key_lens: *const usize,
    values: *mut *mut c_char,
    value_lens: *mut usize,
    _timestamps: *mut *mut c_char,
    _timestamp_lens: *mut usize,
    errors: *mut *mut c_char,
) {
    ValueArrays { values, lens: value_lens, errors }.store_all(count, &no_timestamps());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_multi_get_cf_with_ts(
    _db: *mut rocksdb_t,
    _options: *const rocksdb_readoptions_t,
    _families: *const *const rocksdb_column_family_handle_t,
    count: usize,
    _keys: *const *const c_char,
    _key_lens: *const usize,
    values: *mut *mut c_char,
    value_lens: *mut usize,
    _timestamps: *mut *mut c_char,
    _timestamp_lens: *mut usize,
    errors: *mut *mut c_char,
) {
    ValueArrays { values, lens: value_lens, errors }.store_all(count, &no_timestamps());
}
