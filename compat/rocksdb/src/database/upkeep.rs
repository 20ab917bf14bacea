//! Upkeep: flushes, compactions, and the sizes of ranges.

use std::ffi::{c_char, c_int, c_uchar};
use std::ops::Bound;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::boundary::{arg, bytes, call, slices, store_len};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::reads::check_family;
use crate::database::{Database, Engine, Family, rocksdb_t};
use crate::options::calls::{
    no_timestamps, rocksdb_compactoptions_t, rocksdb_flushoptions_t,
    rocksdb_wait_for_compact_options_t,
};
use crate::status::{Outcome, Status};

/// A range of keys. `None`: without a bound.
#[derive(Clone, Copy)]
struct Range<'a> {
    start: Option<&'a [u8]>,
    end: Option<&'a [u8]>,
}

impl<'a> Range<'a> {
    unsafe fn of(
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    ) -> Outcome<Range<'a>> {
        let start = if start.is_null() { None } else { Some(bytes(start, start_len)?) };
        let end = if end.is_null() { None } else { Some(bytes(end, end_len)?) };
        Ok(Range { start, end })
    }

    /// Both ends belong to the range.
    fn closed(self) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
        let bound = |key: Option<&'a [u8]>| key.map_or(Bound::Unbounded, Bound::Included);
        (bound(self.start), bound(self.end))
    }

    /// The end does not belong to the range.
    fn half_open(self) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
        let end = self.end.map_or(Bound::Unbounded, Bound::Excluded);
        (self.start.map_or(Bound::Unbounded, Bound::Included), end)
    }
}

unsafe fn family_of<'a>(
    db: *mut rocksdb_t,
    family: *const rocksdb_column_family_handle_t,
) -> Outcome<&'a Family> {
    let db: &'a rocksdb_t = arg(db, "db")?;
    Ok(match family.as_ref() {
        Some(own) => &own.family,
        None => &db.database.default,
    })
}

unsafe fn flush(db: *mut rocksdb_t, errptr: *mut *mut c_char) {
    call(errptr, || Ok(arg(db, "db")?.database.writable()?.flush()?));
}

/// Flushes all families: they share the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_flush(
    db: *mut rocksdb_t,
    _options: *const rocksdb_flushoptions_t,
    errptr: *mut *mut c_char,
) {
    flush(db, errptr);
}

/// As [`rocksdb_flush`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_flush_cf(
    db: *mut rocksdb_t,
    _options: *const rocksdb_flushoptions_t,
    _family: *mut rocksdb_column_family_handle_t,
    errptr: *mut *mut c_char,
) {
    flush(db, errptr);
}

/// As [`rocksdb_flush`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_flush_cfs(
    db: *mut rocksdb_t,
    _options: *const rocksdb_flushoptions_t,
    _families: *mut *mut rocksdb_column_family_handle_t,
    _count: c_int,
    errptr: *mut *mut c_char,
) {
    flush(db, errptr);
}

/// Writes are in the system's hands when their call returns, so only a sync has work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_flush_wal(
    db: *mut rocksdb_t,
    sync: c_uchar,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let db = arg(db, "db")?.database.writable()?;
        if sync != 0 {
            db.sync()?;
        }
        Ok(())
    });
}

/// Compacts a range. RocksDB's call reports no error.
unsafe fn compact(
    db: *mut rocksdb_t,
    family: *const rocksdb_column_family_handle_t,
    range: Outcome<Range<'_>>,
) -> Outcome<()> {
    Ok(family_of(db, family)?.writable()?.compact(range?.closed())?)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compact_range(
    db: *mut rocksdb_t,
    start: *const c_char,
    start_len: usize,
    end: *const c_char,
    end_len: usize,
) {
    rocksdb_compact_range_cf(db, ptr::null_mut(), start, start_len, end, end_len);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compact_range_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    start: *const c_char,
    start_len: usize,
    end: *const c_char,
    end_len: usize,
) {
    if db.is_null() || (&(*db).database).compactions_disabled.load(Ordering::Relaxed) {
        return;
    }
    let range = Range::of(start, start_len, end, end_len);
    let mut ignored = ptr::null_mut();
    call(&mut ignored, || compact(db, family, range));
    libc::free(ignored.cast());
}

/// The engine compacts to the last level of the range, whatever the options say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compact_range_opt(
    db: *mut rocksdb_t,
    _options: *mut rocksdb_compactoptions_t,
    start: *const c_char,
    start_len: usize,
    end: *const c_char,
    end_len: usize,
) {
    rocksdb_compact_range_cf(db, ptr::null_mut(), start, start_len, end, end_len);
}

/// As [`rocksdb_compact_range_opt`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compact_range_cf_opt(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    _options: *mut rocksdb_compactoptions_t,
    start: *const c_char,
    start_len: usize,
    end: *const c_char,
    end_len: usize,
) {
    rocksdb_compact_range_cf(db, family, start, start_len, end, end_len);
}

/// Compacts the range before it returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_suggest_compact_range(
    db: *mut rocksdb_t,
    start: *const c_char,
    start_len: usize,
    end: *const c_char,
    end_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || compact(db, ptr::null(), Range::of(start, start_len, end, end_len)));
}

/// Compacts the range before it returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_suggest_compact_range_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    start: *const c_char,
    start_len: usize,
    end: *const c_char,
    end_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        check_family(family)?;
        compact(db, family, Range::of(start, start_len, end, end_len))
    });
}

/// Deletes all keys of the range. RocksDB deletes those in whole files of it, so its programs need
/// none of them any more.
unsafe fn delete_files(
    db: *mut rocksdb_t,
    family: *const rocksdb_column_family_handle_t,
    range: Outcome<Range<'_>>,
) -> Outcome<()> {
    Ok(family_of(db, family)?.writable()?.delete_range(range?.half_open())?)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_delete_file_in_range(
    db: *mut rocksdb_t,
    start: *const c_char,
    start_len: usize,
    end: *const c_char,
    end_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || delete_files(db, ptr::null(), Range::of(start, start_len, end, end_len)));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_delete_file_in_range_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    start: *const c_char,
    start_len: usize,
    end: *const c_char,
    end_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        check_family(family)?;
        delete_files(db, family, Range::of(start, start_len, end, end_len))
    });
}

/// The ranges of a call for sizes, as C gives them.
struct SizeArrays {
    count: c_int,
    starts: *const *const c_char,
    start_lens: *const usize,
    ends: *const *const c_char,
    end_lens: *const usize,
    sizes: *mut u64,
}

impl SizeArrays {
    unsafe fn store(
        self,
        db: *mut rocksdb_t,
        family: *const rocksdb_column_family_handle_t,
    ) -> Outcome<()> {
        let own = family_of(db, family)?;
        let count = usize::try_from(self.count).unwrap_or(0);
        let starts = slices(self.starts, self.start_lens, count)?;
        let ends = slices(self.ends, self.end_lens, count)?;
        for (index, (start, end)) in starts.into_iter().zip(ends).enumerate() {
            *self.sizes.add(index) = own.read(|reader| reader.approximate_size(start..end))?;
        }
        Ok(())
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_sizes(
    db: *mut rocksdb_t,
    count: c_int,
    starts: *const *const c_char,
    start_lens: *const usize,
    ends: *const *const c_char,
    end_lens: *const usize,
    sizes: *mut u64,
    errptr: *mut *mut c_char,
) {
    let arrays = SizeArrays { count, starts, start_lens, ends, end_lens, sizes };
    call(errptr, || arrays.store(db, ptr::null()));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_sizes_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    count: c_int,
    starts: *const *const c_char,
    start_lens: *const usize,
    ends: *const *const c_char,
    end_lens: *const usize,
    sizes: *mut u64,
    errptr: *mut *mut c_char,
) {
    let arrays = SizeArrays { count, starts, start_lens, ends, end_lens, sizes };
    call(errptr, || arrays.store(db, family));
}

/// The sizes are those of tables and memtables together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_approximate_sizes_cf_with_flags(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    count: c_int,
    starts: *const *const c_char,
    start_lens: *const usize,
    ends: *const *const c_char,
    end_lens: *const usize,
    _flags: u8,
    sizes: *mut u64,
    errptr: *mut *mut c_char,
) {
    let arrays = SizeArrays { count, starts, start_lens, ends, end_lens, sizes };
    call(errptr, || arrays.store(db, family));
}

impl Database {
    /// Waits until no background work is due.
    fn wait(&self, options: Option<&rocksdb_wait_for_compact_options_t>) -> Outcome<()> {
        let Engine::Writable(db) = &self.engine else { return Ok(()) };
        let is_set = |value: fn(&rocksdb_wait_for_compact_options_t) -> c_uchar| {
            options.is_some_and(|options| value(options) != 0)
        };
        if is_set(|options| options.values.flush) {
            db.flush()?;
        }
        db.wait_for_background()?;
        if is_set(|options| options.values.close_db) {
            db.close()?;
        }
        Ok(())
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_wait_for_compact(
    db: *mut rocksdb_t,
    options: *mut rocksdb_wait_for_compact_options_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg(db, "db")?.database.wait(options.as_ref()));
}

/// Refused: a checkpoint keeps the files of one moment, and costs no copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_disable_file_deletions(
    _db: *mut rocksdb_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || -> Outcome<()> {
        Err(Status::unsupported("DisableFileDeletions: make a checkpoint, and copy its files"))
    });
}

/// File deletions are always enabled.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_enable_file_deletions(_db: *mut rocksdb_t, _errptr: *mut *mut c_char) {}

/// Closing the database ends its background work.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_cancel_all_background_work(_db: *mut rocksdb_t, _wait: c_uchar) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_disable_manual_compaction(db: *mut rocksdb_t) {
    (&(*db).database).compactions_disabled.store(true, Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_enable_manual_compaction(db: *mut rocksdb_t) {
    (&(*db).database).compactions_disabled.store(false, Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_increase_full_history_ts_low(
    _db: *mut rocksdb_t,
    _family: *mut rocksdb_column_family_handle_t,
    _timestamp: *const c_char,
    _timestamp_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || -> Outcome<()> { Err(no_timestamps()) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_full_history_ts_low(
    _db: *mut rocksdb_t,
    _family: *mut rocksdb_column_family_handle_t,
    timestamp_len: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    call(errptr, || -> Outcome<()> { Err(no_timestamps()) });
    store_len(timestamp_len, 0);
    ptr::null_mut()
}
