//! Batches with an index: programs read their writes back, alone or over a database.
//!
//! A transaction lends its batch as such a handle, which the program frees as plain memory. So the
//! handle is a pointer only. One that the program made owns its batch, and `destroy` frees it.

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::ptr;
use std::sync::Arc;

use foldb::Value;
use foldb::custom::BytewiseComparator;
use parking_lot::RwLock;

use crate::batch::filling::{Bytes, Fill, NO_PARTS, NOTHING, Parts, filling, push, push_parts};
use crate::batch::index::{IndexedBatch, OwnState};
use crate::batch::merged::MergedEntries;
use crate::batch::rep::{Kind, Rep};
use crate::batch::{DeletedFn, PutFn, TimestampSizeFn, iterate};
use crate::boundary::{arg, bytes, call, handle, lend, value_copy};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::pinned::{pinned, rocksdb_pinnableslice_t};
use crate::database::{Family, rocksdb_t};
use crate::iterator::{Entries, iterator_handle, rocksdb_iterator_t};
use crate::objects::comparator::rocksdb_comparator_t;
use crate::options::calls::{no_timestamps, rocksdb_readoptions_t, rocksdb_writeoptions_t};
use crate::options::rocksdb_options_t;
use crate::status::{Outcome, Status};

/// A batch that several handles and iterators share.
pub(crate) type SharedBatch = Arc<RwLock<IndexedBatch>>;

/// RocksDB: `WriteBatchWithIndex`.
#[repr(C)]
pub struct rocksdb_writebatch_wi_t {
    batch: *const RwLock<IndexedBatch>,
}

impl rocksdb_writebatch_wi_t {
    /// Makes a handle that lives in memory of `malloc`, and lends a batch that lives longer.
    pub(crate) fn lent(batch: &SharedBatch) -> *mut rocksdb_writebatch_wi_t {
        let own = rocksdb_writebatch_wi_t { batch: Arc::as_ptr(batch) };
        // SAFETY: the block has the size of the handle.
        unsafe {
            let place = libc::malloc(size_of::<rocksdb_writebatch_wi_t>());
            let place = place.cast::<rocksdb_writebatch_wi_t>();
            assert!(!place.is_null(), "a handle needs a few bytes of memory");
            place.write(own);
            place
        }
    }

    fn owning(batch: IndexedBatch) -> *mut rocksdb_writebatch_wi_t {
        handle(rocksdb_writebatch_wi_t { batch: Arc::into_raw(Arc::new(RwLock::new(batch))) })
    }

    /// Returns the batch.
    pub(crate) unsafe fn lock(&self) -> &RwLock<IndexedBatch> {
        &*self.batch
    }

    /// Returns the batch, shared.
    unsafe fn share(&self) -> SharedBatch {
        Arc::increment_strong_count(self.batch);
        Arc::from_raw(self.batch)
    }
}

impl Fill for rocksdb_writebatch_wi_t {
    /// A range delete is left out, as in RocksDB: the index cannot answer for it.
    fn push(
        &mut self,
        family: Option<&rocksdb_column_family_handle_t>,
        kind: Kind,
        key: &[&[u8]],
        value: &[&[u8]],
    ) -> Outcome<()> {
        if kind == Kind::DeleteRange {
            return Err(Status::unsupported("DeleteRange unsupported in WriteBatchWithIndex"));
        }
        // SAFETY: the handle is alive, and so is its batch.
        let batch = unsafe { self.lock() };
        batch.write().push(family.map(|own| &*own.family), kind, key, value)
    }

    fn push_log_data(&mut self, blob: &[u8]) {
        // SAFETY: the handle is alive, and so is its batch.
        unsafe { self.lock() }.write().rep.push_log_data(blob);
    }
}

filling! {
    rocksdb_writebatch_wi_t;
    pairs {
        Put: rocksdb_writebatch_wi_put, rocksdb_writebatch_wi_put_cf,
            rocksdb_writebatch_wi_putv, rocksdb_writebatch_wi_putv_cf;
        Merge: rocksdb_writebatch_wi_merge, rocksdb_writebatch_wi_merge_cf,
            rocksdb_writebatch_wi_mergev, rocksdb_writebatch_wi_mergev_cf;
    }
    keys {
        Delete: rocksdb_writebatch_wi_delete, rocksdb_writebatch_wi_delete_cf;
        SingleDelete: rocksdb_writebatch_wi_singledelete, rocksdb_writebatch_wi_singledelete_cf;
    }
    key_parts { Delete: rocksdb_writebatch_wi_deletev, rocksdb_writebatch_wi_deletev_cf; }
    ranges {
        rocksdb_writebatch_wi_delete_range, rocksdb_writebatch_wi_delete_range_cf,
        rocksdb_writebatch_wi_delete_rangev, rocksdb_writebatch_wi_delete_rangev_cf
    }
    log_data { rocksdb_writebatch_wi_put_log_data }
}

/// Reads give the same answers whether the index keeps all writes of a key or the newest alone.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_writebatch_wi_create(
    reserved_bytes: usize,
    _overwrite_key: c_uchar,
) -> *mut rocksdb_writebatch_wi_t {
    let rep = Rep::with_limits(reserved_bytes, 0);
    rocksdb_writebatch_wi_t::owning(IndexedBatch::of(rep, Arc::new(BytewiseComparator)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_create_from(
    rep: *const c_char,
    size: usize,
) -> *mut rocksdb_writebatch_wi_t {
    let rep = Rep::from_bytes(bytes(rep, size).unwrap_or_default());
    rocksdb_writebatch_wi_t::owning(IndexedBatch::of(rep, Arc::new(BytewiseComparator)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_create_with_params(
    order: *mut rocksdb_comparator_t,
    reserved_bytes: usize,
    _overwrite_key: c_uchar,
    max_bytes: usize,
    _protection_bytes_per_key: usize,
) -> *mut rocksdb_writebatch_wi_t {
    let rep = Rep::with_limits(reserved_bytes, max_bytes);
    rocksdb_writebatch_wi_t::owning(match order.as_ref() {
        Some(order) => IndexedBatch::of(rep, order.0.clone()),
        None => IndexedBatch::of(rep, Arc::new(BytewiseComparator)),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_destroy(batch: *mut rocksdb_writebatch_wi_t) {
    if !batch.is_null() {
        let own = Box::from_raw(batch);
        drop(Arc::from_raw(own.batch));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_clear(batch: *mut rocksdb_writebatch_wi_t) {
    (&*batch).lock().write().clear();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_count(batch: *mut rocksdb_writebatch_wi_t) -> c_int {
    let count = (&*batch).lock().read().rep.count();
    c_int::try_from(count).unwrap_or(c_int::MAX)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_data(
    batch: *mut rocksdb_writebatch_wi_t,
    size: *mut usize,
) -> *const c_char {
    lend((&*batch).lock().read().rep.bytes(), size)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_iterate(
    batch: *mut rocksdb_writebatch_wi_t,
    state: *mut c_void,
    put: PutFn,
    deleted: DeletedFn,
) {
    // The program may change the batch in a callback.
    let rep = (&*batch).lock().read().rep.clone();
    iterate(&rep, state, put, deleted);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_set_save_point(batch: *mut rocksdb_writebatch_wi_t) {
    (&*batch).lock().write().rep.set_savepoint();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_rollback_to_save_point(
    batch: *mut rocksdb_writebatch_wi_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg(batch, "batch")?.lock().write().rollback());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_update_timestamps(
    _batch: *mut rocksdb_writebatch_wi_t,
    _timestamp: *const c_char,
    _timestamp_len: usize,
    _state: *mut c_void,
    _size: TimestampSizeFn,
    errptr: *mut *mut c_char,
) {
    call(errptr, || -> Outcome<()> { Err(no_timestamps()) });
}

/// Returns the value that the batch alone gives a key.
///
/// # Errors
/// `Merge in progress` if the batch has operands without a value below them.
unsafe fn get_from_batch(
    batch: *mut rocksdb_writebatch_wi_t,
    options: *const rocksdb_options_t,
    family: *const rocksdb_column_family_handle_t,
    key: &[u8],
) -> Outcome<Option<Vec<u8>>> {
    let id = family.as_ref().map_or(0, |own| own.family.id);
    let state = arg(batch, "batch")?.lock().read().state(id, key);
    let (base, operands) = match state {
        OwnState::Untouched => return Ok(None),
        OwnState::Merged(_) => return Err(Status::merge_in_progress()),
        OwnState::Deleted(operands) => (None, operands),
        OwnState::Put(value, operands) => (Some(value), operands),
    };
    if operands.is_empty() {
        return Ok(base);
    }
    match family.as_ref() {
        Some(own) => own.family.fold(key, base.as_deref(), &operands),
        None => {
            let options = arg(options, "options")?;
            Family::fold_with(options, key, base.as_deref(), &operands)
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_get_from_batch(
    batch: *mut rocksdb_writebatch_wi_t,
    options: *const rocksdb_options_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    let read = || get_from_batch(batch, options, ptr::null(), bytes(key, key_len)?);
    value_copy(call(errptr, read).flatten().as_deref(), value_len)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_get_from_batch_cf(
    batch: *mut rocksdb_writebatch_wi_t,
    options: *const rocksdb_options_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    let read = || get_from_batch(batch, options, family, bytes(key, key_len)?);
    value_copy(call(errptr, read).flatten().as_deref(), value_len)
}

/// Returns the value of a key in the database with the batch over it.
unsafe fn get_over(
    batch: *mut rocksdb_writebatch_wi_t,
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: *const rocksdb_column_family_handle_t,
    key: Bytes,
) -> Outcome<Option<Value>> {
    let (batch, db) = (arg(batch, "batch")?, arg(db, "db")?);
    let key = bytes(key.0, key.1)?;
    let family = family.as_ref().map_or(&db.database.default, |own| &own.family);
    let state = batch.lock().read().state(family.id, key);
    family.get_over(arg(options, "options")?, key, state)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_get_from_batch_and_db(
    batch: *mut rocksdb_writebatch_wi_t,
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    let read = || get_over(batch, db, options, ptr::null(), Bytes(key, key_len));
    value_copy(call(errptr, read).flatten().as_deref(), value_len)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_get_from_batch_and_db_cf(
    batch: *mut rocksdb_writebatch_wi_t,
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    value_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    let read = || get_over(batch, db, options, family, Bytes(key, key_len));
    value_copy(call(errptr, read).flatten().as_deref(), value_len)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db(
    batch: *mut rocksdb_writebatch_wi_t,
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    let read = || get_over(batch, db, options, ptr::null(), Bytes(key, key_len));
    pinned(call(errptr, read).flatten())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(
    batch: *mut rocksdb_writebatch_wi_t,
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: *mut rocksdb_column_family_handle_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_pinnableslice_t {
    let read = || get_over(batch, db, options, family, Bytes(key, key_len));
    pinned(call(errptr, read).flatten())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_write_writebatch_wi(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
    batch: *mut rocksdb_writebatch_wi_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (db, batch) = (arg(db, "db")?, arg(batch, "batch")?);
        let batch = batch.lock().read();
        db.database.write(arg(options, "options")?, &batch.rep)
    });
}

/// Makes an iterator over the batch and what the base iterator shows. It takes the base iterator.
unsafe fn over_base(
    batch: *mut rocksdb_writebatch_wi_t,
    base: *mut rocksdb_iterator_t,
    options: *const rocksdb_readoptions_t,
) -> *mut rocksdb_iterator_t {
    let base = Box::from_raw(base);
    let (family, base_options, cursor) = match base.entries.into_parts() {
        Ok(parts) => parts,
        Err(status) => return iterator_handle(Err(status), None),
    };
    let options = options.as_ref().cloned().unwrap_or(base_options);
    let merged = MergedEntries::of((&*batch).share(), family, cursor, options.clone());
    iterator_handle(Ok(Entries::Merged(Box::new(merged))), Some(&options))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_create_iterator_with_base(
    batch: *mut rocksdb_writebatch_wi_t,
    base: *mut rocksdb_iterator_t,
) -> *mut rocksdb_iterator_t {
    over_base(batch, base, ptr::null())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_create_iterator_with_base_readopts(
    batch: *mut rocksdb_writebatch_wi_t,
    base: *mut rocksdb_iterator_t,
    options: *const rocksdb_readoptions_t,
) -> *mut rocksdb_iterator_t {
    over_base(batch, base, options)
}

/// The family is that of the base iterator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_create_iterator_with_base_cf(
    batch: *mut rocksdb_writebatch_wi_t,
    base: *mut rocksdb_iterator_t,
    _family: *mut rocksdb_column_family_handle_t,
) -> *mut rocksdb_iterator_t {
    over_base(batch, base, ptr::null())
}

/// The family is that of the base iterator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
    batch: *mut rocksdb_writebatch_wi_t,
    base: *mut rocksdb_iterator_t,
    _family: *mut rocksdb_column_family_handle_t,
    options: *const rocksdb_readoptions_t,
) -> *mut rocksdb_iterator_t {
    over_base(batch, base, options)
}
