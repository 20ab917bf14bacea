//! Batches: writes that take effect together.
//!
//! A batch keeps the bytes of RocksDB's format, because programs take them out and put them in.
//! Writing it makes a batch of the engine.

pub(crate) mod apply;
pub(crate) mod filling;
pub(crate) mod index;
pub(crate) mod merged;
mod reading;
pub(crate) mod rep;
pub mod with_index;

use std::ffi::{c_char, c_int, c_void};

use crate::batch::filling::{Bytes, Fill, NO_PARTS, NOTHING, Parts, filling, push, push_parts};
use crate::batch::rep::{Kind, Op, Rep};
use crate::boundary::{arg, arg_mut, bytes, call, free, handle, lend};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::rocksdb_t;
use crate::options::calls::{no_timestamps, rocksdb_writeoptions_t};
use crate::status::Outcome;

/// RocksDB: `WriteBatch`.
#[derive(Default)]
pub struct rocksdb_writebatch_t {
    pub(crate) rep: Rep,
}

impl Fill for rocksdb_writebatch_t {
    fn push(
        &mut self,
        family: Option<&rocksdb_column_family_handle_t>,
        kind: Kind,
        key: &[&[u8]],
        value: &[&[u8]],
    ) -> Outcome<()> {
        self.rep.push_parts(family.map_or(0, |own| own.family.id), kind, key, value)
    }

    fn push_log_data(&mut self, blob: &[u8]) {
        self.rep.push_log_data(blob);
    }
}

filling! {
    rocksdb_writebatch_t;
    pairs {
        Put: rocksdb_writebatch_put, rocksdb_writebatch_put_cf,
            rocksdb_writebatch_putv, rocksdb_writebatch_putv_cf;
        Merge: rocksdb_writebatch_merge, rocksdb_writebatch_merge_cf,
            rocksdb_writebatch_mergev, rocksdb_writebatch_mergev_cf;
    }
    keys {
        Delete: rocksdb_writebatch_delete, rocksdb_writebatch_delete_cf;
        SingleDelete: rocksdb_writebatch_singledelete, rocksdb_writebatch_singledelete_cf;
    }
    key_parts { Delete: rocksdb_writebatch_deletev, rocksdb_writebatch_deletev_cf; }
    ranges {
        rocksdb_writebatch_delete_range, rocksdb_writebatch_delete_range_cf,
        rocksdb_writebatch_delete_rangev, rocksdb_writebatch_delete_rangev_cf
    }
    log_data { rocksdb_writebatch_put_log_data }
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_writebatch_create() -> *mut rocksdb_writebatch_t {
    handle(rocksdb_writebatch_t::default())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_create_from(
    rep: *const c_char,
    size: usize,
) -> *mut rocksdb_writebatch_t {
    let rep = bytes(rep, size).unwrap_or_default();
    handle(rocksdb_writebatch_t { rep: Rep::from_bytes(rep) })
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_writebatch_create_with_params(
    reserved_bytes: usize,
    max_bytes: usize,
    _protection_bytes_per_key: usize,
    _default_cf_timestamp_size: usize,
) -> *mut rocksdb_writebatch_t {
    handle(rocksdb_writebatch_t { rep: Rep::with_limits(reserved_bytes, max_bytes) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_destroy(batch: *mut rocksdb_writebatch_t) {
    free(batch);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_clear(batch: *mut rocksdb_writebatch_t) {
    (*batch).rep.clear();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_count(batch: *mut rocksdb_writebatch_t) -> c_int {
    c_int::try_from((*batch).rep.count()).unwrap_or(c_int::MAX)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_data(
    batch: *mut rocksdb_writebatch_t,
    size: *mut usize,
) -> *const c_char {
    lend((&(*batch).rep).bytes(), size)
}

/// Hands a key and a value to the program.
pub type PutFn =
    Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize)>;

/// Hands a key to the program.
pub type DeletedFn = Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>;

/// Hands a key and a value of a family to the program.
pub type PutOfFn =
    Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize, *const c_char, usize)>;

/// Hands a key of a family to the program.
pub type DeletedOfFn = Option<unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize)>;

/// Hands the puts and deletes of the default family to the program. RocksDB's function stops at
/// other writes; this one passes over them.
pub(crate) unsafe fn iterate(rep: &Rep, state: *mut c_void, put: PutFn, deleted: DeletedFn) {
    for op in rep.ops().map_while(Result::ok).filter(|op| op.family == 0) {
        let key = op.key.as_ptr().cast();
        match (op.kind, put, deleted) {
            (Kind::Put, Some(put), _) => {
                put(state, key, op.key.len(), op.value.as_ptr().cast(), op.value.len());
            }
            (Kind::Delete, _, Some(deleted)) => deleted(state, key, op.key.len()),
            _ => {}
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_iterate(
    batch: *mut rocksdb_writebatch_t,
    state: *mut c_void,
    put: PutFn,
    deleted: DeletedFn,
) {
    iterate(&(*batch).rep, state, put, deleted);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_iterate_cf(
    batch: *mut rocksdb_writebatch_t,
    state: *mut c_void,
    put: PutOfFn,
    deleted: DeletedOfFn,
    merge: PutOfFn,
) {
    let rep = &(*batch).rep;
    for Op { family, kind, key, value } in rep.ops().map_while(Result::ok) {
        let (start, len) = (key.as_ptr().cast(), key.len());
        let (value_start, value_len) = (value.as_ptr().cast(), value.len());
        match (kind, put, deleted, merge) {
            (Kind::Put, Some(put), ..) => put(state, family, start, len, value_start, value_len),
            (Kind::Delete, _, Some(deleted), _) => deleted(state, family, start, len),
            (Kind::Merge, .., Some(merge)) => {
                merge(state, family, start, len, value_start, value_len);
            }
            _ => {}
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_set_save_point(batch: *mut rocksdb_writebatch_t) {
    (*batch).rep.set_savepoint();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_rollback_to_save_point(
    batch: *mut rocksdb_writebatch_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg_mut(batch, "batch")?.rep.rollback());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_pop_save_point(
    batch: *mut rocksdb_writebatch_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg_mut(batch, "batch")?.rep.pop_savepoint());
}

/// Returns the length of the timestamps of a family.
pub type TimestampSizeFn = Option<unsafe extern "C" fn(*mut c_void, u32) -> usize>;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_update_timestamps(
    _batch: *mut rocksdb_writebatch_t,
    _timestamp: *const c_char,
    _timestamp_len: usize,
    _state: *mut c_void,
    _size: TimestampSizeFn,
    errptr: *mut *mut c_char,
) {
    call(errptr, || -> Outcome<()> { Err(no_timestamps()) });
}

/// Declares writes to a batch with a timestamp. RocksDB's functions report no error, and write
/// nothing if the family has no timestamps.
macro_rules! deletes_with_timestamps {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            _batch: *mut rocksdb_writebatch_t,
            _family: *mut rocksdb_column_family_handle_t,
            _key: *const c_char,
            _key_len: usize,
            _timestamp: *const c_char,
            _timestamp_len: usize,
        ) {
        }
    )*};
}

deletes_with_timestamps! {
    rocksdb_writebatch_delete_cf_with_ts rocksdb_writebatch_singledelete_cf_with_ts
}

/// As the deletes with a timestamp.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_writebatch_put_cf_with_ts(
    _batch: *mut rocksdb_writebatch_t,
    _family: *mut rocksdb_column_family_handle_t,
    _key: *const c_char,
    _key_len: usize,
    _timestamp: *const c_char,
    _timestamp_len: usize,
    _value: *const c_char,
    _value_len: usize,
) {
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_write(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    batch: *mut rocksdb_writebatch_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (db, batch) = (arg(db, "db")?, arg(batch, "batch")?);
        db.database.write(arg(options, "options")?, &batch.rep)
    });
}
