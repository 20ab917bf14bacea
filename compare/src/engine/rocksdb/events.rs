//! Flushes and compactions, from RocksDB's event listener.

use std::collections::HashMap;
use std::ffi::c_void;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use foldb_report::results::BackgroundEvent;
use librocksdb_sys as ffi;
use rocksdb::{AsRawPtr, Options};

/// Collects the events of RocksDB.
#[derive(Debug)]
pub struct Listener(Arc<Mutex<Told>>);

#[derive(Debug)]
struct Told {
    opened: Instant,
    /// Start times of running jobs, by job number.
    running: HashMap<i32, f64>,
    events: Vec<BackgroundEvent>,
}

impl Listener {
    /// A listener of the database that is opened with `options`.
    pub fn attach(options: &mut Options) -> Listener {
        let told = Told { opened: Instant::now(), running: HashMap::new(), events: Vec::new() };
        let told = Arc::new(Mutex::new(told));
        let state = Arc::into_raw(Arc::clone(&told)).cast_mut().cast::<c_void>();
        // SAFETY: `state` is a counted reference that RocksDB gives back once, to `release`, when
        // its last copy of the options goes; the functions take it as what it is. RocksDB calls
        // whatever is given, so all that it may call are given.
        unsafe {
            let listener = ffi::rocksdb_eventlistener_create(
                state,
                Some(release),
                Some(flush_began),
                Some(flush_ended),
                Some(compaction_began),
                Some(compaction_ended),
                Some(subcompaction),
                Some(subcompaction),
                Some(ingested),
                Some(background_error),
                Some(stall_changed),
                Some(memtable_sealed),
            );
            ffi::rocksdb_options_add_eventlistener(options.as_raw_ptr(), listener);
        }
        Listener(told)
    }

    /// Returns the flushes and compactions that ended so far.
    pub fn events(&self) -> Vec<BackgroundEvent> {
        self.0.lock().expect("no listener panics").events.clone()
    }
}

impl Told {
    fn begin(&mut self, job: i32) {
        self.running.insert(job, self.opened.elapsed().as_secs_f64());
    }

    fn end(&mut self, kind: &str, job: i32, bytes: u64) {
        let ended = self.opened.elapsed().as_secs_f64();
        let began = self.running.remove(&job).unwrap_or(ended);
        self.events.push(BackgroundEvent { kind: kind.to_owned(), began, ended, bytes });
    }
}

/// Calls `what` with the state of a listener.
///
/// # Safety
/// `state` is what [`Listener::attach`] gave to RocksDB, not released.
unsafe fn tell(state: *mut c_void, what: impl FnOnce(&mut Told)) {
    // SAFETY: by this function's contract; the count that RocksDB holds keeps it alive.
    let told = unsafe { &*state.cast::<Mutex<Told>>() };
    if let Ok(mut told) = told.lock() {
        what(&mut told);
    }
}

extern "C" fn release(state: *mut c_void) {
    // SAFETY: called once, with the reference that `attach` turned into a pointer.
    drop(unsafe { Arc::from_raw(state.cast::<Mutex<Told>>()) });
}

extern "C" fn flush_began(
    state: *mut c_void,
    _: *mut ffi::rocksdb_t,
    info: *const ffi::rocksdb_flushjobinfo_t,
) {
    // SAFETY: RocksDB calls with the state of `attach` and an info that lives during the call.
    unsafe { tell(state, |told| told.begin(ffi::rocksdb_flushjobinfo_job_id(info))) }
}

extern "C" fn flush_ended(
    state: *mut c_void,
    _: *mut ffi::rocksdb_t,
    info: *const ffi::rocksdb_flushjobinfo_t,
) {
    // SAFETY: RocksDB calls with the state of `attach` and an info that lives during the call.
    unsafe {
        let (job, bytes) = (ffi::rocksdb_flushjobinfo_job_id(info), file_size(info));
        tell(state, |told| told.end("flush", job, bytes));
    }
}

/// Bytes of the table that a flush wrote.
///
/// # Safety
/// `info` lives during the call.
unsafe fn file_size(info: *const ffi::rocksdb_flushjobinfo_t) -> u64 {
    let mut length = 0;
    // SAFETY: by this function's contract; RocksDB answers the bytes of a string that `info` owns.
    let path = unsafe {
        let path = ffi::rocksdb_flushjobinfo_file_path(info, &raw mut length);
        std::slice::from_raw_parts(path.cast::<u8>(), length)
    };
    let size = |path| std::fs::metadata(Path::new(path)).map(|file| file.len());
    std::str::from_utf8(path).ok().and_then(|path| size(path).ok()).unwrap_or(0)
}

extern "C" fn compaction_began(
    state: *mut c_void,
    _: *mut ffi::rocksdb_t,
    info: *const ffi::rocksdb_compactionjobinfo_t,
) {
    // SAFETY: RocksDB calls with the state of `attach` and an info that lives during the call.
    unsafe { tell(state, |told| told.begin(ffi::rocksdb_compactionjobinfo_job_id(info))) }
}

extern "C" fn compaction_ended(
    state: *mut c_void,
    _: *mut ffi::rocksdb_t,
    info: *const ffi::rocksdb_compactionjobinfo_t,
) {
    // SAFETY: RocksDB calls with the state of `attach` and an info that lives during the call.
    unsafe {
        let job = ffi::rocksdb_compactionjobinfo_job_id(info);
        let bytes = ffi::rocksdb_compactionjobinfo_total_output_bytes(info);
        tell(state, |told| told.end("compaction", job, bytes));
    }
}

extern "C" fn subcompaction(_: *mut c_void, _: *const ffi::rocksdb_subcompactionjobinfo_t) {}

extern "C" fn ingested(
    _: *mut c_void,
    _: *mut ffi::rocksdb_t,
    _: *const ffi::rocksdb_externalfileingestioninfo_t,
) {
}

extern "C" fn background_error(_: *mut c_void, _: u32, _: *mut ffi::rocksdb_status_ptr_t) {}

extern "C" fn stall_changed(_: *mut c_void, _: *const ffi::rocksdb_writestallinfo_t) {}

extern "C" fn memtable_sealed(_: *mut c_void, _: *const ffi::rocksdb_memtableinfo_t) {}
