//! Tables that a program writes itself, for an ingestion: RocksDB's `SstFileWriter`.
//!
//! The tables have RocksDB's format, so RocksDB ingests them too. Their blocks are not compressed.
//!
//! Invariant: a finished table is durable, and its keys ascend in the order of its comparator. A
//! table that failed to finish leaves no file.

use std::cmp::Ordering;
use std::ffi::c_char;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb::custom::Comparator;
use foldb::env::Env;
use foldb_rocksdb_format::builder::TableBuilder;

use crate::boundary::{arg, arg_mut, bytes, call, free, handle, path};
use crate::copies::sst_file::{SstOutput, io_error, order_name};
use crate::objects::comparator::rocksdb_comparator_t;
use crate::objects::environment::rocksdb_envoptions_t;
use crate::options::calls::no_timestamps;
use crate::options::effect::comparator;
use crate::options::rocksdb_options_t;
use crate::status::{Outcome, Status};

/// RocksDB: `SstFileWriter`.
pub struct rocksdb_sstfilewriter_t {
    env: Env,
    order: Arc<dyn Comparator>,
    has_timestamps: bool,
    /// The table between `open` and `finish`.
    table: Option<OpenTable>,
    /// Bytes of the present table, or of the last one.
    size: u64,
}

struct OpenTable {
    path: PathBuf,
    builder: TableBuilder<SstOutput>,
    /// The last key; `None` before the first one.
    last: Option<Vec<u8>>,
}

/// A record of a table.
#[derive(Clone, Copy)]
enum Record<'a> {
    Put(&'a [u8]),
    Merge(&'a [u8]),
    Delete,
}

/// Returns the directory of a file.
fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

fn not_opened() -> Status {
    Status::invalid("File is not opened")
}

impl rocksdb_sstfilewriter_t {
    fn of(options: &rocksdb_options_t) -> rocksdb_sstfilewriter_t {
        rocksdb_sstfilewriter_t {
            env: options.env.as_ref().map_or_else(Env::system, |env| env.for_engine()),
            order: comparator(options),
            has_timestamps: options.comparator.as_ref().is_some_and(|own| own.has_timestamps),
            table: None,
            size: 0,
        }
    }

    fn open(&mut self, path: PathBuf) -> Outcome<()> {
        if self.has_timestamps {
            return Err(no_timestamps());
        }
        let created = SstOutput::create(&*self.env.fs, &path);
        let file =
            created.map_err(|error| io_error("While open a file for appending", &path, &error))?;
        let builder = TableBuilder::ordered_by(file, order_name(&*self.order));
        self.table = Some(OpenTable { path, builder, last: None });
        self.size = 0;
        Ok(())
    }

    fn add(&mut self, key: &[u8], record: Record<'_>) -> Outcome<()> {
        let own = self.table.as_mut().ok_or_else(not_opened)?;
        if own.last.as_ref().is_some_and(|last| self.order.compare(key, last).is_le()) {
            return Err(Status::invalid("Keys must be added in strict ascending order."));
        }
        let added = match record {
            Record::Put(value) => own.builder.add(key, value),
            Record::Merge(operand) => own.builder.merge(key, operand),
            Record::Delete => own.builder.delete(key),
        };
        added.map_err(|error| io_error("While appending to file", &own.path, &error))?;
        let last = own.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        self.size = own.builder.written();
        Ok(())
    }

    /// Adds a tombstone of a range. An empty range adds nothing.
    fn delete_range(&mut self, start: &[u8], end: &[u8]) -> Outcome<()> {
        let own = self.table.as_mut().ok_or_else(not_opened)?;
        match self.order.compare(start, end) {
            Ordering::Greater => Err(Status::invalid("end key comes before start key")),
            Ordering::Equal => Ok(()),
            Ordering::Less => {
                own.builder.delete_range(start, end);
                Ok(())
            }
        }
    }

    /// Makes the table durable. A table without entries stays open, as in RocksDB.
    fn finish(&mut self) -> Outcome<()> {
        if self.table.as_ref().ok_or_else(not_opened)?.builder.is_empty() {
            return Err(Status::invalid("Cannot create sst file with no entries"));
        }
        let Some(mut own) = self.table.take() else { return Err(not_opened()) };
        let finished = own.builder.finish();
        self.size = own.builder.written();
        let finished = finished.and_then(|()| own.builder.into_file().sync());
        let finished = finished.and_then(|()| self.env.fs.sync_dir(directory_of(&own.path)));
        finished.map_err(|error| {
            // The error of the write matters more than that of the removal.
            let _ = self.env.fs.remove(&own.path);
            io_error("While appending to file", &own.path, &error)
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_create(
    _env: *const rocksdb_envoptions_t,
    options: *const rocksdb_options_t,
) -> *mut rocksdb_sstfilewriter_t {
    handle(rocksdb_sstfilewriter_t::of(&*options))
}

/// The order of keys is that of the options, as in RocksDB, which does not use the comparator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_create_with_comparator(
    env: *const rocksdb_envoptions_t,
    options: *const rocksdb_options_t,
    _comparator: *const rocksdb_comparator_t,
) -> *mut rocksdb_sstfilewriter_t {
    rocksdb_sstfilewriter_create(env, options)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_open(
    writer: *mut rocksdb_sstfilewriter_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg_mut(writer, "writer")?.open(path(name, "name")?));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_add(
    writer: *mut rocksdb_sstfilewriter_t,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    errptr: *mut *mut c_char,
) {
    rocksdb_sstfilewriter_put(writer, key, key_len, value, value_len, errptr);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_put(
    writer: *mut rocksdb_sstfilewriter_t,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (key, value) = (bytes(key, key_len)?, bytes(value, value_len)?);
        arg_mut(writer, "writer")?.add(key, Record::Put(value))
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_merge(
    writer: *mut rocksdb_sstfilewriter_t,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (key, operand) = (bytes(key, key_len)?, bytes(value, value_len)?);
        arg_mut(writer, "writer")?.add(key, Record::Merge(operand))
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_delete(
    writer: *mut rocksdb_sstfilewriter_t,
    key: *const c_char,
    key_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg_mut(writer, "writer")?.add(bytes(key, key_len)?, Record::Delete));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_delete_range(
    writer: *mut rocksdb_sstfilewriter_t,
    start: *const c_char,
    start_len: usize,
    end: *const c_char,
    end_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (start, end) = (bytes(start, start_len)?, bytes(end, end_len)?);
        arg_mut(writer, "writer")?.delete_range(start, end)
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_put_with_ts(
    _writer: *mut rocksdb_sstfilewriter_t,
    _key: *const c_char,
    _key_len: usize,
    _timestamp: *const c_char,
    _timestamp_len: usize,
    _value: *const c_char,
    _value_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || -> Outcome<()> { Err(no_timestamps()) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_delete_with_ts(
    _writer: *mut rocksdb_sstfilewriter_t,
    _key: *const c_char,
    _key_len: usize,
    _timestamp: *const c_char,
    _timestamp_len: usize,
    errptr: *mut *mut c_char,
) {
    call(errptr, || -> Outcome<()> { Err(no_timestamps()) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_finish(
    writer: *mut rocksdb_sstfilewriter_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg_mut(writer, "writer")?.finish());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_file_size(
    writer: *mut rocksdb_sstfilewriter_t,
    size: *mut u64,
) {
    if let (Ok(writer), Some(size)) = (arg(writer, "writer"), size.as_mut()) {
        *size = writer.size;
    }
}

/// A table that was not finished stays as a file that is no table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sstfilewriter_destroy(writer: *mut rocksdb_sstfilewriter_t) {
    free(writer);
}
