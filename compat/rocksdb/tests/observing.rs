//! Rules of what a program may observe: properties, tables, statistics, perf contexts, listeners.

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call keeps the rules of the header")]

mod support;

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Mutex;

use foldb_rocksdb::database::close::rocksdb_close;
use foldb_rocksdb::database::family::rocksdb_create_column_family;
use foldb_rocksdb::database::metadata::{
    rocksdb_livefiles, rocksdb_livefiles_count, rocksdb_livefiles_deletions,
    rocksdb_livefiles_destroy, rocksdb_livefiles_entries,
};
use foldb_rocksdb::database::open::rocksdb_open_with_ttl;
use foldb_rocksdb::database::properties::{
    rocksdb_property_int, rocksdb_property_int_cf, rocksdb_property_value,
    rocksdb_transactiondb_property_int, rocksdb_transactiondb_property_value,
};
use foldb_rocksdb::database::rocksdb_t;
use foldb_rocksdb::iterator::{
    rocksdb_create_iterator, rocksdb_iter_destroy, rocksdb_iter_next, rocksdb_iter_seek_to_first,
};
use foldb_rocksdb::objects::filter_policy::rocksdb_filterpolicy_create_bloom_full;
use foldb_rocksdb::objects::histogram::{
    rocksdb_statistics_histogram_data_create, rocksdb_statistics_histogram_data_destroy,
    rocksdb_statistics_histogram_data_get_count, rocksdb_statistics_histogram_data_get_max,
    rocksdb_statistics_histogram_data_get_median, rocksdb_statistics_histogram_data_get_sum,
};
use foldb_rocksdb::objects::listener::rocksdb_eventlistener_create;
use foldb_rocksdb::objects::listener_info::{
    rocksdb_compactionjobinfo_input_files_count, rocksdb_compactionjobinfo_input_records,
    rocksdb_compactionjobinfo_output_files_count, rocksdb_compactionjobinfo_t,
    rocksdb_flushjobinfo_file_path, rocksdb_flushjobinfo_largest_seqno,
    rocksdb_flushjobinfo_smallest_seqno, rocksdb_flushjobinfo_t,
};
use foldb_rocksdb::objects::logger::{
    rocksdb_logger_create_callback_logger, rocksdb_logger_destroy,
};
use foldb_rocksdb::options::calls::{rocksdb_readoptions_create, rocksdb_readoptions_destroy};
use foldb_rocksdb::options::statistics::{
    rocksdb_options_enable_statistics, rocksdb_options_set_statistics_level,
    rocksdb_options_statistics_get_histogram_data, rocksdb_options_statistics_get_string,
    rocksdb_options_statistics_get_ticker_count,
};
use foldb_rocksdb::options::table::{
    rocksdb_block_based_options_create, rocksdb_block_based_options_set_filter_policy,
    rocksdb_options_set_block_based_table_factory,
};
use foldb_rocksdb::options::{
    rocksdb_options_add_eventlistener, rocksdb_options_destroy, rocksdb_options_set_info_log,
    rocksdb_options_t,
};
use foldb_rocksdb::perf::{
    rocksdb_perfcontext_create, rocksdb_perfcontext_destroy, rocksdb_perfcontext_metric,
    rocksdb_perfcontext_report, rocksdb_perfcontext_reset, rocksdb_set_perf_level,
};
use foldb_rocksdb::transactions::databases::{
    rocksdb_transactiondb_close, rocksdb_transactiondb_open,
};
use foldb_rocksdb::transactions::options::rocksdb_transactiondb_options_create;

use support::{compact, creating, delete, flush, opened as open, taken_text as taken};

fn put(db: *mut rocksdb_t, key: &str, value: &str) {
    assert_eq!(support::put(db, key, value.as_bytes()), None);
}

/// Returns the length of the value of a key.
fn get(db: *mut rocksdb_t, key: &str) -> Option<usize> {
    support::get(db, key).unwrap().map(|value| value.len())
}

fn property(db: *mut rocksdb_t, name: &str) -> Option<String> {
    let name = CString::new(name).unwrap();
    taken(unsafe { rocksdb_property_value(db, name.as_ptr()) })
}

/// Returns a property that is a number; `None` for the result -1.
fn number(db: *mut rocksdb_t, name: &str) -> Option<u64> {
    let (name, mut number) = (CString::new(name).unwrap(), 0);
    (unsafe { rocksdb_property_int(db, name.as_ptr(), &mut number) } == 0).then_some(number)
}

/// The names of RocksDB's properties that have a number.
const NUMBERS: &str = "num-immutable-mem-table num-immutable-mem-table-flushed \
    mem-table-flush-pending num-running-flushes compaction-pending num-running-compactions \
    num-running-compaction-sorted-runs background-errors cur-size-active-mem-table \
    cur-size-all-mem-tables size-all-mem-tables num-entries-active-mem-table \
    num-entries-imm-mem-tables num-deletes-active-mem-table num-deletes-imm-mem-tables \
    estimate-num-keys estimate-table-readers-mem is-file-deletions-enabled num-snapshots \
    oldest-snapshot-time oldest-snapshot-sequence num-live-versions \
    current-super-version-number estimate-live-data-size min-log-number-to-keep \
    min-obsolete-sst-number-to-keep total-sst-files-size live-sst-files-size \
    obsolete-sst-files-size base-level estimate-pending-compaction-bytes \
    actual-delayed-write-rate is-write-stopped block-cache-capacity block-cache-usage \
    block-cache-pinned-usage num-blob-files total-blob-file-size live-blob-file-size \
    live-blob-file-garbage-size";

/// The names of RocksDB's properties that have a text.
const TEXTS: &str = "num-files-at-level0 compression-ratio-at-level6 stats cfstats \
    cfstats-no-file-histogram cf-file-histogram dbstats cf-write-stall-stats \
    db-write-stall-stats levelstats sstables aggregated-table-properties \
    aggregated-table-properties-at-level0 live-sst-files-size-at-temperature0 blob-stats";

#[test]
fn every_property_of_rocksdb_has_its_kind_of_answer() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(creating(), &dir.path().join("db"));
    for name in NUMBERS.split_whitespace().map(|name| format!("rocksdb.{name}")) {
        let told = number(db, &name).map(|number| number.to_string());
        assert!(told.is_some(), "{name}");
        assert_eq!(property(db, &name), told, "{name}");
    }
    for name in TEXTS.split_whitespace().map(|name| format!("rocksdb.{name}")) {
        assert!(property(db, &name).is_some(), "{name}");
        assert_eq!(number(db, &name), None, "{name}");
    }
    unsafe { rocksdb_close(db) };
}

#[test]
fn an_unknown_property_is_null_or_minus_one() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(creating(), &dir.path().join("db"));
    for name in ["nosuchprop", "rocksdb.nosuchprop", "rocksdb.num-files-at-level99", "stats"] {
        assert_eq!((property(db, name), number(db, name)), (None, None), "{name}");
    }
    assert_eq!(property(db, "rocksdb.options-statistics"), None, "without statistics");
    unsafe { rocksdb_close(db) };
}

#[test]
fn properties_tell_memtables_and_tables() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(creating(), &dir.path().join("db"));
    put(db, "a", "1");
    put(db, "b", "2");
    delete(db, "c");
    let told = |name: &str| number(db, &format!("rocksdb.{name}")).unwrap();
    assert_eq!(told("num-entries-active-mem-table"), 3);
    assert_eq!(told("num-deletes-active-mem-table"), 1);
    assert!(told("cur-size-all-mem-tables") > 0);
    assert_eq!(told("total-sst-files-size"), 0);
    flush(db);
    assert_eq!(told("num-entries-active-mem-table"), 0);
    assert!(told("total-sst-files-size") > 0);
    assert_eq!(property(db, "rocksdb.num-files-at-level0").as_deref(), Some("1"));
    let shape = property(db, "rocksdb.levelstats").unwrap();
    assert!(shape.contains("\n  0        1        0\n  1        0        0\n"), "{shape}");
    unsafe { rocksdb_close(db) };
}

#[test]
fn each_family_and_each_kind_of_database_has_its_properties() {
    let dir = tempfile::tempdir().unwrap();
    let entries = c"rocksdb.num-entries-active-mem-table";
    let mut told = 0;
    unsafe {
        // The default family of a database with a time to live is a keyspace of another name.
        let path = CString::new(dir.path().join("ttl").to_str().unwrap()).unwrap();
        let db = rocksdb_open_with_ttl(creating(), path.as_ptr(), 60, ptr::null_mut());
        put(db, "a", "1");
        assert_eq!(number(db, entries.to_str().unwrap()), Some(1));
        let (options, name) = (creating(), c"other");
        let other = rocksdb_create_column_family(db, options, name.as_ptr(), ptr::null_mut());
        assert_eq!(rocksdb_property_int_cf(db, other, entries.as_ptr(), &mut told), 0);
        assert_eq!(told, 0);
        rocksdb_close(db);

        let path = CString::new(dir.path().join("txn").to_str().unwrap()).unwrap();
        let own = rocksdb_transactiondb_options_create();
        let db = rocksdb_transactiondb_open(options, own, path.as_ptr(), ptr::null_mut());
        assert_eq!(rocksdb_transactiondb_property_int(db, entries.as_ptr(), &mut told), 0);
        let stats = rocksdb_transactiondb_property_value(db, c"rocksdb.stats".as_ptr());
        assert!(taken(stats).unwrap().contains("** DB Stats **"));
        rocksdb_transactiondb_close(db);
    }
}

#[test]
fn live_files_count_their_entries_and_deletions() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(creating(), &dir.path().join("db"));
    put(db, "a", "1");
    flush(db);
    put(db, "b", "1");
    delete(db, "a");
    flush(db);
    let files = unsafe { rocksdb_livefiles(db) };
    let counts = |index| unsafe {
        (rocksdb_livefiles_entries(files, index), rocksdb_livefiles_deletions(files, index))
    };
    let count = unsafe { rocksdb_livefiles_count(files) };
    assert!((0..count).map(counts).any(|found| found == (2, 1)));
    unsafe {
        rocksdb_livefiles_destroy(files);
        rocksdb_close(db);
    }
}

/// The tickers of these tests, by their numbers in RocksDB 10.4.
const BYTES_WRITTEN: u32 = 60;
const KEYS_WRITTEN: u32 = 57;
const KEYS_READ: u32 = 58;
const SEEKS: u32 = 62;
const NEXTS: u32 = 63;

/// The histograms of these tests.
const DB_GET: u32 = 0;
const DB_WRITE: u32 = 1;
const DB_FLUSH: u32 = 50;

fn ticker(options: *mut rocksdb_options_t, number: u32) -> u64 {
    unsafe { rocksdb_options_statistics_get_ticker_count(options, number) }
}

/// Returns the count, sum, median and maximum of a histogram.
fn histogram(options: *mut rocksdb_options_t, number: u32) -> (u64, u64, f64, f64) {
    let data = rocksdb_statistics_histogram_data_create();
    unsafe {
        rocksdb_options_statistics_get_histogram_data(options, number, data);
        let told = (
            rocksdb_statistics_histogram_data_get_count(data),
            rocksdb_statistics_histogram_data_get_sum(data),
            rocksdb_statistics_histogram_data_get_median(data),
            rocksdb_statistics_histogram_data_get_max(data),
        );
        rocksdb_statistics_histogram_data_destroy(data);
        told
    }
}

#[test]
fn statistics_count_calls_of_all_databases_of_the_options() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let options = creating();
    unsafe { rocksdb_options_enable_statistics(options) };
    for round in 1..=2 {
        let db = open(options, &path);
        for key in 0..10 {
            put(db, &key.to_string(), "value");
        }
        assert_eq!(get(db, "3"), Some(5));
        assert_eq!(get(db, "absent"), None);
        assert_eq!(ticker(options, KEYS_WRITTEN), 10 * round);
        assert_eq!(ticker(options, KEYS_READ), 2 * round);
        let read = rocksdb_readoptions_create();
        unsafe {
            let iterator = rocksdb_create_iterator(db, read);
            rocksdb_iter_seek_to_first(iterator);
            rocksdb_iter_next(iterator);
            rocksdb_iter_destroy(iterator);
            rocksdb_readoptions_destroy(read);
        }
        assert_eq!((ticker(options, SEEKS), ticker(options, NEXTS)), (round, round));
        flush(db);
        unsafe { rocksdb_close(db) };
        assert_eq!(ticker(options, BYTES_WRITTEN), 60 * round, "a closed database still counts");
    }
    let (count, sum, median, max) = histogram(options, DB_WRITE);
    assert!(count == 20 && sum > 0 && median > 0.0 && max >= median);
    assert_eq!((histogram(options, DB_GET).0, histogram(options, DB_FLUSH).0), (4, 2));
    unsafe { rocksdb_options_destroy(options) };
}

#[test]
fn statistics_have_the_lines_of_rocksdb() {
    let dir = tempfile::tempdir().unwrap();
    let options = creating();
    assert_eq!(taken(unsafe { rocksdb_options_statistics_get_string(options) }), None);
    unsafe { rocksdb_options_enable_statistics(options) };
    let db = open(options, &dir.path().join("db"));
    put(db, "a", "1");
    let report = taken(unsafe { rocksdb_options_statistics_get_string(options) }).unwrap();
    assert!(report.starts_with("rocksdb.block.cache.miss COUNT : 0\n"), "{report}");
    assert!(report.contains("\nrocksdb.number.keys.written COUNT : 1\n"), "{report}");
    let empty = "\nrocksdb.db.get.micros P50 : 0.000000 P95 : 0.000000 P99 : 0.000000 \
                 P100 : 0.000000 COUNT : 0 SUM : 0\n";
    assert!(report.contains(empty), "{report}");
    assert_eq!(property(db, "rocksdb.options-statistics").unwrap().lines().count(), 216 + 64);
    unsafe { rocksdb_close(db) };
}

#[test]
fn a_level_of_statistics_leaves_out_what_it_excludes() {
    let dir = tempfile::tempdir().unwrap();
    let options = creating();
    unsafe {
        rocksdb_options_enable_statistics(options);
        // Counts, but neither histograms nor times.
        rocksdb_options_set_statistics_level(options, 1);
    }
    let db = open(options, &dir.path().join("db"));
    put(db, "a", "1");
    get(db, "a");
    assert_eq!((ticker(options, KEYS_READ), histogram(options, DB_GET).0), (1, 0));
    unsafe { rocksdb_options_set_statistics_level(options, 0) };
    get(db, "a");
    assert_eq!(ticker(options, KEYS_READ), 0, "nothing is told");
    unsafe { rocksdb_options_set_statistics_level(options, 5) };
    get(db, "a");
    assert_eq!((ticker(options, KEYS_READ), histogram(options, DB_GET).0), (2, 1));
    unsafe { rocksdb_close(db) };
}

/// Metrics by their numbers in RocksDB's header.
const GET_READ_BYTES: c_int = 7;
const BLOOM_SST_MISSES: c_int = 45;

#[test]
fn a_perf_context_counts_the_reads_of_its_thread() {
    let dir = tempfile::tempdir().unwrap();
    let (options, table) = (creating(), rocksdb_block_based_options_create());
    unsafe {
        let filter = rocksdb_filterpolicy_create_bloom_full(20.0);
        rocksdb_block_based_options_set_filter_policy(table, filter);
        rocksdb_options_set_block_based_table_factory(options, table);
    }
    let db = open(options, &dir.path().join("db"));
    (0..100).for_each(|key| put(db, &format!("key {key}"), "value"));
    flush(db);
    get(db, "key 1");
    let context = rocksdb_perfcontext_create();
    let metric = |number| rocksdb_perfcontext_metric(context, number);
    assert_eq!(metric(GET_READ_BYTES), 0, "before the context nothing counts");
    assert_eq!(get(db, "key 2"), Some(5));
    (0..50).for_each(|key| assert_eq!(get(db, &format!("key {key}x")), None));
    assert_eq!(metric(GET_READ_BYTES), 5);
    assert!(metric(BLOOM_SST_MISSES) > 40, "{}", metric(BLOOM_SST_MISSES));
    let report = taken(rocksdb_perfcontext_report(context, 1)).unwrap();
    assert!(report.contains("get_read_bytes = 5, "), "{report}");
    assert!(!report.contains(" = 0") && !report.ends_with(", "), "{report}");
    let other = std::thread::spawn(|| rocksdb_perfcontext_metric(ptr::null_mut(), GET_READ_BYTES));
    assert_eq!(other.join().unwrap(), 0, "another thread has its own counts");
    rocksdb_perfcontext_reset(context);
    rocksdb_set_perf_level(1);
    get(db, "key 2");
    assert_eq!(metric(GET_READ_BYTES), 0, "a disabled level counts nothing");
    rocksdb_set_perf_level(2);
    get(db, "key 2");
    assert_eq!(metric(GET_READ_BYTES), 5);
    unsafe {
        rocksdb_perfcontext_destroy(context);
        rocksdb_close(db);
    }
}

/// What the callbacks were told.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Heard {
    unsafe fn note(state: *mut c_void, line: String) {
        let heard = unsafe { &*state.cast::<Heard>() };
        heard.0.lock().unwrap().push(line);
    }
}

unsafe extern "C" fn flush_begins(
    state: *mut c_void,
    _db: *mut rocksdb_t,
    _info: *const rocksdb_flushjobinfo_t,
) {
    unsafe { Heard::note(state, "flush begins".to_owned()) };
}

unsafe extern "C" fn flush_ends(
    state: *mut c_void,
    db: *mut rocksdb_t,
    info: *const rocksdb_flushjobinfo_t,
) {
    let mut len = 0;
    let path = unsafe { rocksdb_flushjobinfo_file_path(info, &mut len) };
    let path = unsafe { std::slice::from_raw_parts(path.cast::<u8>(), len) };
    let is_there = std::path::Path::new(std::str::from_utf8(path).unwrap()).exists();
    let (smallest, largest) = unsafe {
        (rocksdb_flushjobinfo_smallest_seqno(info), rocksdb_flushjobinfo_largest_seqno(info))
    };
    assert!(smallest <= largest);
    // The handle reads as any other does.
    let found = get(db, "key");
    unsafe { Heard::note(state, format!("flush ends {is_there} {found:?}")) };
}

unsafe extern "C" fn compaction_ends(
    state: *mut c_void,
    db: *mut rocksdb_t,
    info: *const rocksdb_compactionjobinfo_t,
) {
    assert!(number(db, "rocksdb.estimate-num-keys").is_some());
    let counts = unsafe {
        (
            rocksdb_compactionjobinfo_input_files_count(info),
            rocksdb_compactionjobinfo_output_files_count(info),
            rocksdb_compactionjobinfo_input_records(info),
        )
    };
    unsafe { Heard::note(state, format!("compaction ends {counts:?}")) };
}

unsafe extern "C" fn freed(state: *mut c_void) {
    unsafe { Heard::note(state, "freed".to_owned()) };
}

#[test]
fn a_listener_hears_flushes_and_compactions_and_is_freed_once() {
    let dir = tempfile::tempdir().unwrap();
    let heard = Heard::default();
    let state = ptr::from_ref(&heard).cast_mut().cast();
    let options = creating();
    let listener = rocksdb_eventlistener_create(
        state,
        Some(freed),
        Some(flush_begins),
        Some(flush_ends),
        None,
        Some(compaction_ends),
        None,
        None,
        None,
        None,
        None,
        None,
    );
    unsafe { rocksdb_options_add_eventlistener(options, listener) };
    let db = open(options, &dir.path().join("db"));
    for value in ["1", "2"] {
        put(db, "key", value);
        flush(db);
    }
    compact(db);
    unsafe {
        rocksdb_close(db);
        assert!(!heard.0.lock().unwrap().contains(&"freed".to_owned()), "the options share it");
        rocksdb_options_destroy(options);
    }
    let expected = [
        "flush begins",
        "flush ends true Some(1)",
        "flush begins",
        "flush ends true Some(1)",
        "compaction ends (2, 1, 2)",
        "freed",
    ];
    assert_eq!(*heard.0.lock().unwrap(), expected);
}

unsafe extern "C" fn log_line(state: *mut c_void, level: c_uint, line: *mut c_char, len: usize) {
    let line = unsafe { std::slice::from_raw_parts(line.cast::<u8>(), len) };
    let line = std::str::from_utf8(line).unwrap();
    unsafe { Heard::note(state, format!("{level} {line}")) };
}

#[test]
fn a_logger_hears_events_from_its_level_on() {
    let dir = tempfile::tempdir().unwrap();
    for (level, hears) in [(1, true), (2, false)] {
        let heard = Heard::default();
        let state = ptr::from_ref(&heard).cast_mut().cast();
        let options = creating();
        let logger = rocksdb_logger_create_callback_logger(level, Some(log_line), state);
        unsafe {
            rocksdb_options_set_info_log(options, logger);
            rocksdb_logger_destroy(logger);
        }
        let db = open(options, &dir.path().join(level.to_string()));
        put(db, "key", "1");
        flush(db);
        unsafe { rocksdb_close(db) };
        let lines = heard.0.lock().unwrap();
        let flushed = lines.iter().any(|line| line.starts_with("1 flushed 1 memtables"));
        assert_eq!(flushed, hears, "{lines:?}");
    }
}
