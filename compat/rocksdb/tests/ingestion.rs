//! Tables that a program writes, and their ingestion.

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call keeps the rules of the header")]

mod support;

use std::ffi::{CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use foldb_rocksdb::copies::ingest::rocksdb_ingest_external_file;
use foldb_rocksdb::copies::sst_writer::*;
use foldb_rocksdb::database::close::rocksdb_close;
use foldb_rocksdb::database::rocksdb_t;
use foldb_rocksdb::objects::environment::{
    rocksdb_create_mem_env, rocksdb_envoptions_create, rocksdb_envoptions_destroy,
};
use foldb_rocksdb::objects::listener::*;
use foldb_rocksdb::objects::listener_info::*;
use foldb_rocksdb::options::calls::*;
use foldb_rocksdb::options::text::rocksdb_get_options_from_string;
use foldb_rocksdb::options::*;

use support::{c_path, creating, error_of, get, merge, opened, put};

type Step<'a> = &'a dyn Fn(*mut rocksdb_sstfilewriter_t, *mut *mut c_char);

fn added(key: &str, value: &[u8]) -> impl Fn(*mut rocksdb_sstfilewriter_t, *mut *mut c_char) {
    let (key, value) = (key.to_owned(), value.to_vec());
    move |writer, error| unsafe {
        let (key, value) = ((key.as_ptr().cast(), key.len()), (value.as_ptr().cast(), value.len()));
        rocksdb_sstfilewriter_put(writer, key.0, key.1, value.0, value.1, error);
    }
}

fn merged(key: &str, value: &[u8]) -> impl Fn(*mut rocksdb_sstfilewriter_t, *mut *mut c_char) {
    let (key, value) = (key.to_owned(), value.to_vec());
    move |writer, error| unsafe {
        let (key, value) = ((key.as_ptr().cast(), key.len()), (value.as_ptr().cast(), value.len()));
        rocksdb_sstfilewriter_merge(writer, key.0, key.1, value.0, value.1, error);
    }
}

fn deleted(key: &'static str) -> impl Fn(*mut rocksdb_sstfilewriter_t, *mut *mut c_char) {
    move |writer, error| unsafe {
        rocksdb_sstfilewriter_delete(writer, key.as_ptr().cast(), key.len(), error);
    }
}

fn range_deleted(
    start: &'static str,
    end: &'static str,
) -> impl Fn(*mut rocksdb_sstfilewriter_t, *mut *mut c_char) {
    move |writer, error| unsafe {
        let (start, end) = ((start.as_ptr().cast(), start.len()), (end.as_ptr().cast(), end.len()));
        rocksdb_sstfilewriter_delete_range(writer, start.0, start.1, end.0, end.1, error);
    }
}

/// Writes a table. Returns the first error.
fn try_write(options: *mut rocksdb_options_t, path: &Path, steps: &[Step<'_>]) -> Option<String> {
    let env = rocksdb_envoptions_create();
    let name = c_path(path);
    unsafe {
        let writer = rocksdb_sstfilewriter_create(env, options);
        let mut failed = error_of(|e| rocksdb_sstfilewriter_open(writer, name.as_ptr(), e));
        for step in steps {
            failed = failed.or_else(|| error_of(|error| step(writer, error)));
        }
        failed = failed.or_else(|| error_of(|e| rocksdb_sstfilewriter_finish(writer, e)));
        let mut size = 0;
        rocksdb_sstfilewriter_file_size(writer, &mut size);
        if failed.is_none() && path.exists() {
            assert_eq!(size, path.metadata().unwrap().len());
        }
        rocksdb_sstfilewriter_destroy(writer);
        rocksdb_envoptions_destroy(env);
        failed
    }
}

fn written(options: *mut rocksdb_options_t, path: PathBuf, steps: &[Step<'_>]) -> PathBuf {
    assert_eq!(try_write(options, &path, steps), None);
    path
}

/// Ingests files, after `set` changed the options. Returns the error.
fn ingest_with(
    db: *mut rocksdb_t,
    files: &[&Path],
    set: impl FnOnce(*mut rocksdb_ingestexternalfileoptions_t),
) -> Option<String> {
    let names: Vec<CString> = files.iter().map(|path| c_path(path)).collect();
    let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let options = rocksdb_ingestexternalfileoptions_create();
    set(options);
    let error = error_of(|error| unsafe {
        rocksdb_ingest_external_file(db, names.as_ptr(), names.len(), options, error);
    });
    unsafe { rocksdb_ingestexternalfileoptions_destroy(options) };
    error
}

fn ingest(db: *mut rocksdb_t, files: &[&Path]) -> Option<String> {
    ingest_with(db, files, |_| ())
}

fn found(db: *mut rocksdb_t, key: &str) -> Option<String> {
    get(db, key).unwrap().map(|value| String::from_utf8(value).unwrap())
}

fn number(db: *mut rocksdb_t, key: &str) -> Option<u64> {
    get(db, key).unwrap().map(|value| u64::from_le_bytes(value.try_into().unwrap()))
}

/// A directory with an open database.
struct Place {
    dir: tempfile::TempDir,
    options: *mut rocksdb_options_t,
    db: *mut rocksdb_t,
}

impl Place {
    fn new() -> Place {
        Place::with(creating())
    }

    fn with(options: *mut rocksdb_options_t) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let db = opened(options, &dir.path().join("db"));
        Place { dir, options, db }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, steps: &[Step<'_>]) -> PathBuf {
        written(self.options, self.path(name), steps)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        unsafe {
            rocksdb_close(self.db);
            rocksdb_options_destroy(self.options);
        }
    }
}

#[test]
fn ingested_records_are_newer_than_those_of_the_database() {
    let options = creating();
    unsafe { rocksdb_options_set_uint64add_merge_operator(options) };
    let place = Place::with(options);
    let one = 1_u64.to_le_bytes();
    for key in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(put(place.db, key, &one), None);
    }
    let file = place.write(
        "t.sst",
        &[
            &range_deleted("d", "f"),
            &deleted("a"),
            &merged("b", &5_u64.to_le_bytes()),
            &added("c", &7_u64.to_le_bytes()),
            &added("e", &8_u64.to_le_bytes()),
        ],
    );
    assert_eq!(ingest(place.db, &[&file]), None);
    let all = ["a", "b", "c", "d", "e", "f"].map(|key| number(place.db, key));
    // The tombstone of d..f does not cover the e of its own table.
    assert_eq!(all, [None, Some(6), Some(7), None, Some(8), Some(1)]);
    assert!(file.exists());
    assert_eq!(merge(place.db, "b", &one), None);
    assert_eq!(number(place.db, "b"), Some(7), "later writes are newer");
}

#[test]
fn ingested_records_survive_a_close() {
    let mut place = Place::new();
    let file = place.write("t.sst", &[&added("k", b"v")]);
    assert_eq!(ingest(place.db, &[&file]), None);
    std::fs::remove_file(&file).unwrap();
    unsafe { rocksdb_close(place.db) };
    place.db = opened(place.options, &place.path("db"));
    assert_eq!(found(place.db, "k").as_deref(), Some("v"));
}

#[test]
fn a_later_file_of_a_call_is_newer() {
    let place = Place::new();
    let first = place.write("1.sst", &[&added("a", b"1"), &added("c", b"1")]);
    let second = place.write("2.sst", &[&added("b", b"2"), &added("c", b"2")]);
    let third = place.write("3.sst", &[&range_deleted("a", "b")]);
    assert_eq!(ingest(place.db, &[&first, &second]), None);
    assert_eq!(found(place.db, "c").as_deref(), Some("2"));
    assert_eq!(ingest(place.db, &[&second, &first, &third]), None);
    assert_eq!(
        ["a", "b", "c"].map(|key| found(place.db, key)),
        [None, Some("2".into()), Some("1".into())]
    );
}

#[test]
fn records_without_a_number_of_their_own_may_not_overlap() {
    let place = Place::new();
    let without = |options| unsafe {
        rocksdb_ingestexternalfileoptions_set_allow_global_seqno(options, 0);
    };
    let first = place.write("1.sst", &[&added("a", b"1"), &added("c", b"1")]);
    let second = place.write("2.sst", &[&added("b", b"2")]);
    let behind = place.write("3.sst", &[&range_deleted("c0", "d")]);
    assert_eq!(
        ingest_with(place.db, &[&second, &first], without).as_deref(),
        Some(
            "Invalid argument: Global seqno is required, but disabled (because external files key \
             range overlaps)."
        )
    );
    assert_eq!(found(place.db, "a"), None);
    assert_eq!(ingest_with(place.db, &[&first, &behind], without), None);
    assert_eq!(ingest_with(place.db, &[&second, &first], |_| ()), None, "with numbers, they may");
    assert_eq!(
        ingest_with(place.db, &[&second], without).as_deref(),
        Some("Invalid argument: Global seqno is required, but disabled")
    );
}

#[test]
fn moved_files_are_gone_after_the_ingestion_and_not_before() {
    let place = Place::new();
    let moves = |options| unsafe { rocksdb_ingestexternalfileoptions_set_move_files(options, 1) };
    let file = place.write("t.sst", &[&added("k", b"v")]);
    assert!(ingest_with(place.db, &[&file, &place.path("none.sst")], moves).is_some());
    assert!(file.exists());
    assert_eq!(ingest_with(place.db, &[&file], moves), None);
    assert!(!file.exists());
    assert_eq!(found(place.db, "k").as_deref(), Some("v"));
}

#[test]
fn many_records_are_loaded_in_one_step() {
    let place = Place::new();
    let value = vec![b'v'; 1000];
    let keys: Vec<String> = (0..3000).map(|n| format!("key{n:05}")).collect();
    let steps: Vec<_> = keys.iter().map(|key| added(key, &value)).collect();
    let steps: Vec<Step<'_>> = steps.iter().map(|step| step as Step<'_>).collect();
    let (low, high) = steps.split_at(1500);
    let (low, high) = (place.write("low.sst", low), place.write("high.sst", high));
    assert_eq!(put(place.db, "key00007", b"old"), None);
    let sequence = || unsafe {
        foldb_rocksdb::database::snapshot::rocksdb_get_latest_sequence_number(place.db)
    };
    let before = sequence();
    assert_eq!(ingest(place.db, &[&high, &low]), None);
    assert_eq!(sequence(), before + 1, "the load has one number");
    assert!(keys.iter().all(|key| get(place.db, key).unwrap().as_ref() == Some(&value)));
}

#[test]
fn many_records_with_deletes_become_one_batch() {
    let place = Place::new();
    let value = vec![b'v'; 700 << 10];
    let file = place.write("t.sst", &[&added("a", &value), &added("b", &value), &deleted("c")]);
    assert_eq!(put(place.db, "c", b"old"), None);
    assert_eq!(ingest(place.db, &[&file]), None);
    assert_eq!(get(place.db, "b").unwrap(), Some(value));
    assert_eq!(found(place.db, "c"), None);
}

#[test]
fn a_refused_ingestion_changes_nothing() {
    let place = Place::new();
    let good = place.write("good.sst", &[&added("k", b"v")]);
    let error_with = |files: &[&Path]| {
        let error = ingest(place.db, files).unwrap();
        assert_eq!(found(place.db, "k"), None);
        error
    };

    assert_eq!(error_with(&[]), "Invalid argument: external_files[0] is empty");
    let missing = place.path("none.sst");
    let none = "No such file or directory";
    let expected =
        format!("IO error: {none}: while stat a file for size: {}: {none}", missing.display());
    assert_eq!(error_with(&[&good, &missing]), expected);

    let damaged = place.path("damaged.sst");
    let mut bytes = std::fs::read(&good).unwrap();
    bytes[4] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    assert!(error_with(&[&good, &damaged]).starts_with("Corruption: "));
    std::fs::write(&damaged, b"no table").unwrap();
    assert!(error_with(&[&good, &damaged]).starts_with("Corruption: "));

    let reverse = creating();
    let text = c"comparator=rocksdb.ReverseBytewiseComparator";
    let error = error_of(|error| unsafe {
        rocksdb_get_options_from_string(reverse, text.as_ptr(), reverse, error);
    });
    assert_eq!(error, None);
    let other = written(reverse, place.path("r.sst"), &[&added("b", b""), &added("a", b"")]);
    assert!(error_with(&[&good, &other]).contains("rocksdb.ReverseBytewiseComparator"));
    unsafe { rocksdb_options_destroy(reverse) };

    let operands = place.write("operands.sst", &[&merged("m", b"1")]);
    let told = "Invalid argument: Merge requires `ColumnFamilyOptions::merge_operator != nullptr`";
    assert_eq!(error_with(&[&good, &operands]), told);
}

#[test]
fn options_that_foldb_lacks_are_refused_by_name() {
    let place = Place::new();
    let file = place.write("t.sst", &[&added("k", b"v")]);
    let behind = ingest_with(place.db, &[&file], |options| unsafe {
        rocksdb_ingestexternalfileoptions_set_ingest_behind(options, 1);
    });
    assert!(behind.unwrap().starts_with("Not implemented: ingest_behind"));
    let last = ingest_with(place.db, &[&file], |options| unsafe {
        rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level(options, 1);
    });
    assert!(last.unwrap().starts_with("Not implemented: fail_if_not_bottommost_level"));
    assert_eq!(found(place.db, "k"), None);
}

#[test]
fn a_writer_says_what_rocksdb_says() {
    let dir = tempfile::tempdir().unwrap();
    let options = creating();
    let path = dir.path().join("t.sst");
    let error = |steps: &[Step<'_>]| try_write(options, &path, steps);
    let order = "Invalid argument: Keys must be added in strict ascending order.";
    assert_eq!(error(&[&added("b", b""), &added("a", b"")]).as_deref(), Some(order));
    assert_eq!(error(&[&added("b", b""), &deleted("b")]).as_deref(), Some(order));
    let none = "Invalid argument: Cannot create sst file with no entries";
    assert_eq!(error(&[]).as_deref(), Some(none));
    assert_eq!(error(&[&range_deleted("a", "a")]).as_deref(), Some(none));
    let ends = "Invalid argument: end key comes before start key";
    assert_eq!(error(&[&range_deleted("b", "a")]).as_deref(), Some(ends));
    // Ranges may overlap, come in any order, and lie among the keys.
    assert_eq!(
        error(&[&range_deleted("b", "d"), &added("c", b""), &range_deleted("a", "c")]),
        None
    );

    let missing = dir.path().join("none").join("t.sst");
    let gone = "No such file or directory";
    let expected =
        format!("IO error: {gone}: While open a file for appending: {}: {gone}", missing.display());
    assert_eq!(try_write(options, &missing, &[]), Some(expected));

    let env = rocksdb_envoptions_create();
    unsafe {
        let writer = rocksdb_sstfilewriter_create_with_comparator(env, options, ptr::null());
        let closed = "Invalid argument: File is not opened";
        for step in [&added("k", b"") as Step<'_>, &range_deleted("a", "b")] {
            assert_eq!(error_of(|error| step(writer, error)).as_deref(), Some(closed));
        }
        let finish = error_of(|error| rocksdb_sstfilewriter_finish(writer, error));
        assert_eq!(finish.as_deref(), Some(closed));
        let stamped = error_of(|error| {
            let text = c"k".as_ptr();
            rocksdb_sstfilewriter_put_with_ts(writer, text, 1, text, 1, text, 1, error);
        });
        assert_eq!(stamped.as_deref(), Some("Not implemented: user-defined timestamps"));
        rocksdb_sstfilewriter_destroy(writer);
        rocksdb_envoptions_destroy(env);
        rocksdb_options_destroy(options);
    }
}

#[test]
fn tables_and_databases_in_memory_use_the_files_of_their_environment() {
    let options = creating();
    unsafe { rocksdb_options_set_env(options, rocksdb_create_mem_env()) };
    let place = Place::with(options);
    let file = place.write("db/t.sst", &[&added("k", b"v")]);
    assert!(!file.exists());
    assert_eq!(ingest(place.db, &[&file]), None);
    assert_eq!(found(place.db, "k").as_deref(), Some("v"));
}

/// Notes the family and the file of an ingestion.
unsafe extern "C" fn heard(
    state: *mut c_void,
    db: *mut rocksdb_t,
    info: *const rocksdb_externalfileingestioninfo_t,
) {
    assert!(!db.is_null());
    unsafe {
        let mut len = 0;
        let text = |start: *const c_char, len: usize| {
            let bytes = std::slice::from_raw_parts(start.cast::<u8>(), len);
            (*state.cast::<Vec<String>>()).push(String::from_utf8(bytes.to_vec()).unwrap());
        };
        let name = rocksdb_externalfileingestioninfo_cf_name(info, &mut len);
        text(name, len);
        let path = rocksdb_externalfileingestioninfo_internal_file_path(info, &mut len);
        text(path, len);
    }
}

#[test]
fn a_listener_hears_of_each_ingested_file() {
    let mut all: Vec<String> = Vec::new();
    let options = creating();
    let state = ptr::from_mut(&mut all).cast::<c_void>();
    let heard = Some(heard as _);
    let listener = rocksdb_eventlistener_create(
        state, None, None, None, None, None, None, None, heard, None, None, None,
    );
    unsafe { rocksdb_options_add_eventlistener(options, listener) };
    let place = Place::with(options);
    let file = place.write("t.sst", &[&added("k", b"v")]);
    assert!(ingest(place.db, &[&place.path("none.sst")]).is_some());
    assert_eq!(ingest(place.db, &[&file]), None);
    drop(place);
    assert_eq!(all, ["default", file.to_str().unwrap()]);
}
