//! What the callbacks of listeners get, and what it tells.
//!
//! Invariant: a figure that the engine does not tell is 0, and a name is empty.

use std::ffi::{c_char, c_int, c_uchar};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::ptr;

use foldb::events::{Event, StallReason};

use crate::boundary::{lend, store_len};
use crate::keyspaces::family_name;

/// RocksDB: `FlushJobInfo`.
pub struct rocksdb_flushjobinfo_t {
    family: String,
    file: PathBuf,
    smallest_seqno: u64,
    largest_seqno: u64,
}

/// RocksDB: `CompactionJobInfo`.
pub struct rocksdb_compactionjobinfo_t {
    family: String,
    /// The level and the file of each input.
    inputs: Vec<(usize, PathBuf)>,
    outputs: Vec<PathBuf>,
    output_level: usize,
    bytes: (u64, u64),
    records: (u64, u64),
    micros: u64,
}

/// RocksDB: `SubcompactionJobInfo`. It tells what the whole compaction does.
#[repr(transparent)]
pub struct rocksdb_subcompactionjobinfo_t(pub(crate) rocksdb_compactionjobinfo_t);

/// RocksDB: `ExternalFileIngestionInfo`. The records of an ingested file are in no file of their
/// own, so its path is that of the program.
pub struct rocksdb_externalfileingestioninfo_t {
    pub(crate) family: String,
    pub(crate) file: PathBuf,
}

/// RocksDB: `WriteStallInfo`. The engine does not tell whose family stalls, so the name is empty.
pub struct rocksdb_writestallinfo_t {
    now: rocksdb_writestallcondition_t,
    before: rocksdb_writestallcondition_t,
}

/// RocksDB: `WriteStallCondition`.
#[repr(transparent)]
pub struct rocksdb_writestallcondition_t(c_int);

/// RocksDB: `MemTableInfo`. The engine does not tell of memtables, so no program gets one.
pub struct rocksdb_memtableinfo_t {
    _private: (),
}

/// RocksDB: `WriteStallCondition::kDelayed`.
const DELAYED: c_int = 0;

/// RocksDB: `WriteStallCondition::kStopped`.
const STOPPED: c_int = 1;

/// RocksDB: `WriteStallCondition::kNormal`.
const NORMAL: c_int = 2;

impl rocksdb_flushjobinfo_t {
    /// Returns what a flush of a family tells. `None` for other events.
    pub(crate) fn of(event: &Event) -> Option<rocksdb_flushjobinfo_t> {
        let Event::Flush { keyspace, files, seqnos, .. } = event else { return None };
        Some(rocksdb_flushjobinfo_t {
            family: family_name(keyspace)?.to_owned(),
            file: files.first().cloned().unwrap_or_default(),
            smallest_seqno: seqnos.0,
            largest_seqno: seqnos.1,
        })
    }
}

impl rocksdb_writestallinfo_t {
    /// Returns what a stall that is over tells: its begin and its end.
    pub(crate) fn changes(reason: StallReason) -> [rocksdb_writestallinfo_t; 2] {
        let condition = if reason == StallReason::CompactionDebt { DELAYED } else { STOPPED };
        [(NORMAL, condition), (condition, NORMAL)].map(|(before, now)| rocksdb_writestallinfo_t {
            now: rocksdb_writestallcondition_t(now),
            before: rocksdb_writestallcondition_t(before),
        })
    }
}

impl rocksdb_compactionjobinfo_t {
    /// Returns what a compaction of a family tells. `None` for other events.
    pub(crate) fn of(event: &Event) -> Option<rocksdb_compactionjobinfo_t> {
        let Event::Compaction {
            keyspace,
            inputs,
            outputs,
            output_level,
            bytes_read,
            bytes_written,
            records_in,
            records_out,
            duration,
            ..
        } = event
        else {
            return None;
        };
        Some(rocksdb_compactionjobinfo_t {
            family: family_name(keyspace)?.to_owned(),
            inputs: inputs.clone(),
            outputs: outputs.clone(),
            output_level: *output_level,
            bytes: (*bytes_read, *bytes_written),
            records: (*records_in, *records_out),
            micros: u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
        })
    }

    /// Returns the level of the newest input.
    fn base_level(&self) -> usize {
        self.inputs.iter().map(|(level, _)| *level).min().unwrap_or(self.output_level)
    }
}

/// Lends a path.
unsafe fn lend_path(path: Option<&PathBuf>, len: *mut usize) -> *const c_char {
    match path {
        Some(path) => lend(path.as_os_str().as_bytes(), len),
        None => {
            store_len(len, 0);
            ptr::null()
        }
    }
}

/// Declares functions that lend a text of what a callback gets.
macro_rules! texts {
    ($($name:ident($object:ident), $own:ident => $path:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(info: *const $object, len: *mut usize) -> *const c_char {
            let $own = &*info;
            lend($path.as_bytes(), len)
        }
    )*};
}

texts! {
    rocksdb_flushjobinfo_cf_name(rocksdb_flushjobinfo_t), own => own.family;
    rocksdb_flushjobinfo_file_path(rocksdb_flushjobinfo_t), own => own.file.as_os_str();
    rocksdb_compactionjobinfo_cf_name(rocksdb_compactionjobinfo_t), own => own.family;
    rocksdb_subcompactionjobinfo_cf_name(rocksdb_subcompactionjobinfo_t), own => own.0.family;
    rocksdb_externalfileingestioninfo_cf_name(rocksdb_externalfileingestioninfo_t), own =>
        own.family;
    rocksdb_externalfileingestioninfo_internal_file_path(rocksdb_externalfileingestioninfo_t),
        own => own.file.as_os_str();
    rocksdb_writestallinfo_cf_name(rocksdb_writestallinfo_t), _own => "";
    rocksdb_memtableinfo_cf_name(rocksdb_memtableinfo_t), _own => "";
}

/// Declares functions that return a figure of what a callback gets.
macro_rules! figures {
    ($($name:ident($object:ident) -> $type:ty, $own:ident => $figure:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(info: *const $object) -> $type {
            let $own = &*info;
            $figure
        }
    )*};
}

fn level(level: usize) -> c_int {
    c_int::try_from(level).unwrap_or(c_int::MAX)
}

figures! {
    rocksdb_flushjobinfo_triggered_writes_slowdown(rocksdb_flushjobinfo_t) -> c_uchar, _own => 0;
    rocksdb_flushjobinfo_triggered_writes_stop(rocksdb_flushjobinfo_t) -> c_uchar, _own => 0;
    rocksdb_flushjobinfo_largest_seqno(rocksdb_flushjobinfo_t) -> u64, own => own.largest_seqno;
    rocksdb_flushjobinfo_smallest_seqno(rocksdb_flushjobinfo_t) -> u64, own => own.smallest_seqno;
    rocksdb_compactionjobinfo_input_files_count(rocksdb_compactionjobinfo_t) -> usize,
        own => own.inputs.len();
    rocksdb_compactionjobinfo_output_files_count(rocksdb_compactionjobinfo_t) -> usize,
        own => own.outputs.len();
    rocksdb_compactionjobinfo_elapsed_micros(rocksdb_compactionjobinfo_t) -> u64,
        own => own.micros;
    rocksdb_compactionjobinfo_num_corrupt_keys(rocksdb_compactionjobinfo_t) -> u64, _own => 0;
    rocksdb_compactionjobinfo_base_input_level(rocksdb_compactionjobinfo_t) -> c_int,
        own => level(own.base_level());
    rocksdb_compactionjobinfo_output_level(rocksdb_compactionjobinfo_t) -> c_int,
        own => level(own.output_level);
    rocksdb_compactionjobinfo_input_records(rocksdb_compactionjobinfo_t) -> u64,
        own => own.records.0;
    rocksdb_compactionjobinfo_output_records(rocksdb_compactionjobinfo_t) -> u64,
        own => own.records.1;
    rocksdb_compactionjobinfo_total_input_bytes(rocksdb_compactionjobinfo_t) -> u64,
        own => own.bytes.0;
    rocksdb_compactionjobinfo_total_output_bytes(rocksdb_compactionjobinfo_t) -> u64,
        own => own.bytes.1;
    // RocksDB's reasons are those of its own policies: this is the unknown one.
    rocksdb_compactionjobinfo_compaction_reason(rocksdb_compactionjobinfo_t) -> u32, _own => 0;
    rocksdb_compactionjobinfo_num_input_files(rocksdb_compactionjobinfo_t) -> usize,
        own => own.inputs.len();
    rocksdb_compactionjobinfo_num_input_files_at_output_level(rocksdb_compactionjobinfo_t)
        -> usize, own => own.inputs.iter().filter(|(level, _)| *level == own.output_level).count();
    rocksdb_subcompactionjobinfo_thread_id(rocksdb_subcompactionjobinfo_t) -> u64, _own => 0;
    rocksdb_subcompactionjobinfo_base_input_level(rocksdb_subcompactionjobinfo_t) -> c_int,
        own => level(own.0.base_level());
    rocksdb_subcompactionjobinfo_output_level(rocksdb_subcompactionjobinfo_t) -> c_int,
        own => level(own.0.output_level);
    rocksdb_writestallinfo_cur(rocksdb_writestallinfo_t) -> *const rocksdb_writestallcondition_t,
        own => &raw const own.now;
    rocksdb_writestallinfo_prev(rocksdb_writestallinfo_t) -> *const rocksdb_writestallcondition_t,
        own => &raw const own.before;
    rocksdb_memtableinfo_first_seqno(rocksdb_memtableinfo_t) -> u64, _own => 0;
    rocksdb_memtableinfo_earliest_seqno(rocksdb_memtableinfo_t) -> u64, _own => 0;
    rocksdb_memtableinfo_num_entries(rocksdb_memtableinfo_t) -> u64, _own => 0;
    rocksdb_memtableinfo_num_deletes(rocksdb_memtableinfo_t) -> u64, _own => 0;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactionjobinfo_input_file_at(
    info: *const rocksdb_compactionjobinfo_t,
    index: usize,
    len: *mut usize,
) -> *const c_char {
    let inputs = &(*info).inputs;
    lend_path(inputs.get(index).map(|(_, file)| file), len)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactionjobinfo_output_file_at(
    info: *const rocksdb_compactionjobinfo_t,
    index: usize,
    len: *mut usize,
) -> *const c_char {
    let outputs = &(*info).outputs;
    lend_path(outputs.get(index), len)
}

/// A compaction that is told has succeeded.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_compactionjobinfo_status(
    _info: *const rocksdb_compactionjobinfo_t,
    _errptr: *mut *mut c_char,
) {
}

/// As [`rocksdb_compactionjobinfo_status`].
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_subcompactionjobinfo_status(
    _info: *const rocksdb_subcompactionjobinfo_t,
    _errptr: *mut *mut c_char,
) {
}
