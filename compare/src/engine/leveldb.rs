//! The original LevelDB, through its C interface: a log that cannot be turned off, no merge.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::slice;
use std::thread;
use std::time::Duration;

use foldb_report::results::BackgroundEvent;
use leveldb_sys as ffi;

use super::{Engine, Nominal, Operator, Scan, State};
use crate::failure::{Failure, Result};
use crate::measure::Written;

/// Number of LevelDB's levels.
const LEVELS: usize = 7;
/// Background work counts as done after this time without a written byte: LevelDB has no call that
/// waits for it.
const CALM: Duration = Duration::from_millis(500);

/// LevelDB.
#[derive(Debug)]
pub struct LevelDb {
    db: *mut ffi::leveldb_t,
    read: *mut ffi::leveldb_readoptions_t,
    write: *mut ffi::leveldb_writeoptions_t,
    options: *mut ffi::leveldb_options_t,
    cache: *mut ffi::leveldb_cache_t,
    filter: *mut ffi::leveldb_filterpolicy_t,
    operator: Option<Operator>,
}

// SAFETY: LevelDB's database may be used by several threads at once; the options are not changed
// after open.
unsafe impl Sync for LevelDb {}

/// LevelDB's version.
pub fn version() -> String {
    // SAFETY: these answer constants.
    let (major, minor) = unsafe { (ffi::leveldb_major_version(), ffi::leveldb_minor_version()) };
    format!("{major}.{minor}")
}

impl Engine for LevelDb {
    fn open(nominal: &Nominal, directory: &Path) -> Result<LevelDb> {
        let path = CString::new(directory.as_os_str().as_bytes())
            .map_err(Failure::during("leveldb: path"))?;
        // SAFETY: each object is made here, given to setters of its own kind, and freed in `drop`
        // after the database that uses it; the path ends with a zero byte.
        unsafe {
            let mut this = LevelDb {
                db: ptr::null_mut(),
                read: ffi::leveldb_readoptions_create(),
                write: ffi::leveldb_writeoptions_create(),
                options: ffi::leveldb_options_create(),
                cache: ffi::leveldb_cache_create_lru(nominal.cache),
                filter: ptr::null_mut(),
                operator: nominal.operator,
            };
            ffi::leveldb_options_set_create_if_missing(this.options, 1);
            ffi::leveldb_options_set_write_buffer_size(this.options, nominal.write_buffer);
            ffi::leveldb_options_set_block_size(this.options, nominal.block);
            ffi::leveldb_options_set_cache(this.options, this.cache);
            ffi::leveldb_options_set_compression(this.options, ffi::Compression::Snappy);
            if nominal.bloom_bits > 0 {
                let bits = nominal.bloom_bits as c_int;
                this.filter = ffi::leveldb_filterpolicy_create_bloom(bits);
                ffi::leveldb_options_set_filter_policy(this.options, this.filter);
            }
            if let Some(files) = nominal.open_files {
                ffi::leveldb_options_set_max_open_files(this.options, files as c_int);
            }
            let mut error = ptr::null_mut();
            this.db = ffi::leveldb_open(this.options, path.as_ptr(), &raw mut error);
            check("open", error)?;
            Ok(this)
        }
    }

    fn settings(nominal: &Nominal) -> String {
        format!(
            "write_buffer={} cache={} block={} bloom_bits={} open_files={} compression=snappy \
             log=unsynced merge=get+put",
            nominal.write_buffer,
            nominal.cache,
            nominal.block,
            nominal.bloom_bits,
            nominal.open_files.map_or("own".to_owned(), |files| files.to_string()),
        )
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut error = ptr::null_mut();
        let (key_bytes, value_bytes) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the database is open, and LevelDB copies both slices during the call.
        unsafe {
            ffi::leveldb_put(
                self.db,
                self.write,
                key_bytes,
                key.len(),
                value_bytes,
                value.len(),
                &raw mut error,
            );
            check("put", error)
        }
    }

    #[inline]
    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        let Some(operator) = self.operator else { return self.put(key, operand) };
        let value = self.get(key, |value| operator.apply(Some(value), operand))?;
        self.put(key, value.as_deref().unwrap_or(operand))
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let (mut error, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the database is open; what LevelDB answers is null or `length` bytes that are
        // ours to free.
        unsafe {
            let value = ffi::leveldb_get(
                self.db,
                self.read,
                key.as_ptr().cast(),
                key.len(),
                &raw mut length,
                &raw mut error,
            );
            check("get", error)?;
            if value.is_null() {
                return Ok(None);
            }
            let answer = read(slice::from_raw_parts(value.cast::<u8>(), length));
            ffi::leveldb_free(value.cast());
            Ok(Some(answer))
        }
    }

    fn scan(&self, scan: Scan<'_>, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        // SAFETY: the iterator is destroyed here, before the database; key and value are LevelDB's
        // until it is moved, which happens after `visit`.
        unsafe {
            let iter = ffi::leveldb_create_iterator(self.db, self.read);
            match scan {
                Scan::Forward => ffi::leveldb_iter_seek_to_first(iter),
                Scan::Reverse => ffi::leveldb_iter_seek_to_last(iter),
                Scan::From(key) => ffi::leveldb_iter_seek(iter, key.as_ptr().cast(), key.len()),
            }
            let reverse = matches!(scan, Scan::Reverse);
            while ffi::leveldb_iter_valid(iter) != 0 {
                // The bindings call these lengths constant, yet LevelDB writes them.
                let (mut key_length, mut value_length) = (0_usize, 0_usize);
                let key = ffi::leveldb_iter_key(iter, (&raw mut key_length).cast_const());
                let value = ffi::leveldb_iter_value(iter, (&raw mut value_length).cast_const());
                let key = slice::from_raw_parts(key.cast::<u8>(), key_length);
                if !visit(key, slice::from_raw_parts(value.cast::<u8>(), value_length)) {
                    break;
                }
                if reverse {
                    ffi::leveldb_iter_prev(iter);
                } else {
                    ffi::leveldb_iter_next(iter);
                }
            }
            let mut error: *mut c_char = ptr::null_mut();
            let place: *mut *const c_char = (&raw mut error).cast();
            ffi::leveldb_iter_get_error(iter, place.cast_const());
            ffi::leveldb_iter_destroy(iter);
            check("scan", error)
        }
    }

    /// The memtable stays in memory and in the log: only a compaction of the whole database would
    /// flush it.
    fn rest(&self, _: bool) -> Result<()> {
        let mut before = Written::now()?;
        loop {
            thread::sleep(CALM);
            let now = Written::now()?;
            if now.calls == before.calls {
                return Ok(());
            }
            before = now;
        }
    }

    fn state(&self) -> State {
        State { owed: None, runs_per_read: self.runs_per_read(), own: None, mapped: 0 }
    }

    fn events(&self) -> Vec<BackgroundEvent> {
        Vec::new()
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

impl LevelDb {
    /// Counts each file of level 0, and each other level that has files.
    fn runs_per_read(&self) -> Option<u32> {
        let files = |level| -> Option<u32> {
            let name = format!("leveldb.num-files-at-level{level}");
            self.property(&name)?.trim().parse().ok()
        };
        let lower = (1..LEVELS).filter_map(files).filter(|&files| files > 0).count();
        Some(files(0)? + lower as u32)
    }

    fn property(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: the database is open; the answer is null or a string of LevelDB's that is ours to
        // free.
        unsafe {
            let text = ffi::leveldb_property_value(self.db, name.as_ptr());
            if text.is_null() {
                return None;
            }
            let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
            ffi::leveldb_free(text.cast());
            Some(copy)
        }
    }
}

impl Drop for LevelDb {
    fn drop(&mut self) {
        // SAFETY: all were made in `open` and are freed once, the database before what it uses.
        unsafe {
            if !self.db.is_null() {
                ffi::leveldb_close(self.db);
            }
            ffi::leveldb_options_destroy(self.options);
            ffi::leveldb_readoptions_destroy(self.read);
            ffi::leveldb_writeoptions_destroy(self.write);
            ffi::leveldb_cache_destroy(self.cache);
            if !self.filter.is_null() {
                ffi::leveldb_filterpolicy_destroy(self.filter);
            }
        }
    }
}

/// Returns LevelDB's error in `error`, unless the pointer is null.
///
/// # Safety
/// `error` is null or a string of LevelDB's that no other code frees.
#[inline]
unsafe fn check(what: &str, error: *mut c_char) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: by this function's contract.
    let message = unsafe {
        let message = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::leveldb_free(error.cast());
        message
    };
    Err(Failure::new(format!("leveldb: {what}: {message}")))
}
