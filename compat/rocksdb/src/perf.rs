//! The perf context: what the reads of one thread cost.
//!
//! A thread counts from its first context, or from a level that asks for counts. The engine counts
//! the blocks, tables and operands of each read in a report that the read carries. Times are not
//! measured, so they are 0.
//!
//! Invariant: without any context in the process, a read pays for one load of a flag.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_uchar};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use foldb::stats::ReadReport;

use crate::boundary::{free, handle, text_copy};

/// RocksDB: `PerfContext`. It stands for the counts of the thread that calls.
pub struct rocksdb_perfcontext_t {
    _private: (),
}

/// The names of the metrics, in the order of their numbers.
const METRICS: &str = include_str!("../facts/perf_metrics.txt");

/// RocksDB: `PerfLevel::kDisable`.
const DISABLED: c_int = 1;

/// RocksDB: `PerfLevel::kEnableCount`, where a thread begins.
const COUNTS: c_int = 2;

/// Whether any thread ever counted.
static IN_USE: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IS_COUNTING: Cell<bool> = const { Cell::new(false) };
    /// The level that the program set.
    static LEVEL: Cell<c_int> = const { Cell::new(COUNTS) };
    static COUNTED: RefCell<Counted> = RefCell::new(Counted::default());
}

/// What a thread counted since its last reset.
#[derive(Default)]
struct Counted {
    report: ReadReport,
    get_bytes: u64,
    multi_get_bytes: u64,
}

/// Returns whether this thread counts.
#[inline]
pub(crate) fn is_counting() -> bool {
    IN_USE.load(Ordering::Relaxed) && IS_COUNTING.get()
}

/// Returns the report of this thread's reads, if it counts.
#[inline]
pub(crate) fn report() -> Option<ReadReport> {
    is_counting().then(|| COUNTED.with_borrow(|own| own.report.clone()))
}

/// Counts the bytes of a value that a read returned.
#[inline]
pub(crate) fn note_get(bytes: impl FnOnce() -> usize) {
    if is_counting() {
        COUNTED.with_borrow_mut(|own| own.get_bytes += bytes() as u64);
    }
}

/// Counts the bytes of the values that a read of several keys returned.
#[inline]
pub(crate) fn note_multi_get(bytes: impl FnOnce() -> u64) {
    if is_counting() {
        COUNTED.with_borrow_mut(|own| own.multi_get_bytes += bytes());
    }
}

/// Counts from now on if the level asks for it.
fn begin() {
    let counts = LEVEL.get() > DISABLED;
    IS_COUNTING.set(counts);
    if counts {
        IN_USE.store(true, Ordering::Relaxed);
    }
}

fn metric(name: &str) -> u64 {
    COUNTED.with_borrow(|own| match name {
        "block_cache_hit_count" => own.report.cached_blocks(),
        "block_read_count" => own.report.read_blocks(),
        "block_read_byte" => own.report.bytes_read(),
        "get_read_bytes" => own.get_bytes,
        "multiget_read_bytes" => own.multi_get_bytes,
        "internal_merge_count" => own.report.operands_seen(),
        // A table that a filter did not rule out was searched.
        "bloom_sst_miss_count" => own.report.tables_ruled_out(),
        _ => 0,
    })
}

/// Sets what this thread counts. A level that asks for times counts, and its times are 0.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_set_perf_level(level: c_int) {
    LEVEL.set(level);
    begin();
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_perfcontext_create() -> *mut rocksdb_perfcontext_t {
    begin();
    handle(rocksdb_perfcontext_t { _private: () })
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_perfcontext_reset(_context: *mut rocksdb_perfcontext_t) {
    COUNTED.with_borrow_mut(|own| *own = Counted::default());
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_perfcontext_report(
    _context: *mut rocksdb_perfcontext_t,
    exclude_zero_counters: c_uchar,
) -> *mut c_char {
    let mut report = String::new();
    for name in METRICS.lines() {
        let count = metric(name);
        if exclude_zero_counters == 0 || count > 0 {
            // A `String` takes every text.
            let _ = write!(report, "{name} = {count}, ");
        }
    }
    text_copy(report.trim_end_matches(", "))
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_perfcontext_metric(
    _context: *mut rocksdb_perfcontext_t,
    number: c_int,
) -> u64 {
    let number = usize::try_from(number).ok();
    number.and_then(|number| METRICS.lines().nth(number)).map_or(0, metric)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_perfcontext_destroy(context: *mut rocksdb_perfcontext_t) {
    free(context);
}
