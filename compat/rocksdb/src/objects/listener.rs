//! Listeners of the program.
//!
//! The engine tells of work when it is done. So the callbacks of a beginning come with those of its
//! end, directly before them, and those of a change of stalls come when a write has waited.
//! Programs that count beginnings and ends find them in pairs.
//!
//! Invariant: what a callback gets is valid until it returns.

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;

use foldb::events::{Event, StallReason};

use crate::boundary::{Destructor, State, free, handle, lend, store_len};
use crate::database::events::family_name;
use crate::database::{Database, rocksdb_t};

/// Tells of a flush.
type FlushEvent =
    Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_flushjobinfo_t)>;

/// Tells of a compaction.
type CompactionEvent =
    Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_compactionjobinfo_t)>;

/// Tells of a part of a compaction.
type SubcompactionEvent =
    Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_subcompactionjobinfo_t)>;

/// Tells of an ingestion.
type IngestionEvent = Option<
    unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_externalfileingestioninfo_t),
>;

/// Tells of failed background work.
type ErrorEvent = Option<unsafe extern "C" fn(*mut c_void, u32, *mut rocksdb_status_ptr_t)>;

/// Tells of writes that stall.
type StallEvent = Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_writestallinfo_t)>;

/// Tells of a memtable that takes no more writes.
type MemtableEvent = Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_memtableinfo_t)>;

/// RocksDB: `EventListener`.
pub struct rocksdb_eventlistener_t(pub(crate) Arc<Listener>);

/// A listener of the program.
#[derive(Debug)]
pub(crate) struct Listener {
    state: State,
    on_flush_begin: FlushEvent,
    on_flush_completed: FlushEvent,
    on_compaction_begin: CompactionEvent,
    on_compaction_completed: CompactionEvent,
    on_subcompaction_begin: SubcompactionEvent,
    on_subcompaction_completed: SubcompactionEvent,
    on_background_error: ErrorEvent,
    on_stall_conditions_changed: StallEvent,
}

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
pub struct rocksdb_subcompactionjobinfo_t(rocksdb_compactionjobinfo_t);

/// RocksDB: `ExternalFileIngestionInfo`. The engine does not tell of ingestions, so no program
/// gets one.
pub struct rocksdb_externalfileingestioninfo_t {
    _private: (),
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

/// RocksDB: a pointer to a `Status`.
pub struct rocksdb_status_ptr_t {
    _private: (),
}

/// RocksDB: `WriteStallCondition::kDelayed`.
const DELAYED: c_int = 0;

/// RocksDB: `WriteStallCondition::kStopped`.
const STOPPED: c_int = 1;

/// RocksDB: `WriteStallCondition::kNormal`.
const NORMAL: c_int = 2;

/// RocksDB: `BackgroundErrorReason::kCompaction`. The engine does not tell which work failed.
const OF_A_COMPACTION: u32 = 1;

impl Listener {
    /// Tells the program of an event.
    pub(crate) fn tell(&self, database: &Arc<Database>, event: &Event) {
        match event {
            Event::Flush { keyspace, files, seqnos, .. } => {
                let Some(family) = family_name(keyspace) else { return };
                self.tell_flush(
                    database,
                    &rocksdb_flushjobinfo_t {
                        family: family.to_owned(),
                        file: files.first().cloned().unwrap_or_default(),
                        smallest_seqno: seqnos.0,
                        largest_seqno: seqnos.1,
                    },
                );
            }
            Event::Compaction { keyspace, .. } => {
                let Some(family) = family_name(keyspace) else { return };
                if let Some(info) = rocksdb_compactionjobinfo_t::of(family, event) {
                    self.tell_compaction(database, info);
                }
            }
            Event::Stall { reason, .. } => self.tell_stall(*reason),
            Event::BackgroundError { .. } => self.tell_error(),
            _ => {}
        }
    }

    fn tell_flush(&self, database: &Arc<Database>, info: &rocksdb_flushjobinfo_t) {
        let mut db = rocksdb_t { database: database.clone() };
        for told in [self.on_flush_begin, self.on_flush_completed].into_iter().flatten() {
            // SAFETY: the program's function keeps the rules of the header; the objects live.
            unsafe { told(self.state.pointer, &mut db, info) };
        }
    }

    fn tell_compaction(&self, database: &Arc<Database>, info: rocksdb_compactionjobinfo_t) {
        let mut db = rocksdb_t { database: database.clone() };
        let (state, part) = (self.state.pointer, rocksdb_subcompactionjobinfo_t(info));
        // SAFETY: the program's functions keep the rules of the header; the objects live.
        unsafe {
            if let Some(told) = self.on_compaction_begin {
                told(state, &mut db, &part.0);
            }
            if let Some(told) = self.on_subcompaction_begin {
                told(state, &part);
            }
            if let Some(told) = self.on_subcompaction_completed {
                told(state, &part);
            }
            if let Some(told) = self.on_compaction_completed {
                told(state, &mut db, &part.0);
            }
        }
    }

    fn tell_stall(&self, reason: StallReason) {
        let Some(told) = self.on_stall_conditions_changed else { return };
        let condition = if reason == StallReason::CompactionDebt { DELAYED } else { STOPPED };
        for (before, now) in [(NORMAL, condition), (condition, NORMAL)] {
            let (now, before) =
                (rocksdb_writestallcondition_t(now), rocksdb_writestallcondition_t(before));
            // SAFETY: the program's function keeps the rules of the header; the object lives.
            unsafe { told(self.state.pointer, &rocksdb_writestallinfo_t { now, before }) };
        }
    }

    fn tell_error(&self) {
        let Some(told) = self.on_background_error else { return };
        let mut status = rocksdb_status_ptr_t { _private: () };
        // SAFETY: the program's function keeps the rules of the header; the object lives.
        unsafe { told(self.state.pointer, OF_A_COMPACTION, &mut status) };
    }
}

impl rocksdb_compactionjobinfo_t {
    fn of(family: &str, event: &Event) -> Option<rocksdb_compactionjobinfo_t> {
        let Event::Compaction {
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
            family: family.to_owned(),
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

/// Makes a listener. Two of its callbacks are never called: the engine has no event of ingestions,
/// nor of memtables that are sealed.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_eventlistener_create(
    state: *mut c_void,
    destructor: Destructor,
    on_flush_begin: FlushEvent,
    on_flush_completed: FlushEvent,
    on_compaction_begin: CompactionEvent,
    on_compaction_completed: CompactionEvent,
    on_subcompaction_begin: SubcompactionEvent,
    on_subcompaction_completed: SubcompactionEvent,
    _on_external_file_ingested: IngestionEvent,
    on_background_error: ErrorEvent,
    on_stall_conditions_changed: StallEvent,
    _on_memtable_sealed: MemtableEvent,
) -> *mut rocksdb_eventlistener_t {
    handle(rocksdb_eventlistener_t(Arc::new(Listener {
        state: State::new(state, destructor),
        on_flush_begin,
        on_flush_completed,
        on_compaction_begin,
        on_compaction_completed,
        on_subcompaction_begin,
        on_subcompaction_completed,
        on_background_error,
        on_stall_conditions_changed,
    })))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_eventlistener_destroy(listener: *mut rocksdb_eventlistener_t) {
    free(listener);
}

/// The engine tries failed work again by itself, and decides by itself when writes stop.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_reset_status(_status: *mut rocksdb_status_ptr_t) {}

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
    rocksdb_externalfileingestioninfo_cf_name(rocksdb_externalfileingestioninfo_t), _own => "";
    rocksdb_externalfileingestioninfo_internal_file_path(rocksdb_externalfileingestioninfo_t),
        _own => "";
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
