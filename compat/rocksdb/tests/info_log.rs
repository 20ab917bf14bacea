//! Rules of the file `LOG`.

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call keeps the rules of the header")]

mod support;

use std::path::Path;

use foldb_rocksdb::database::close::{rocksdb_close, rocksdb_destroy_db};
use foldb_rocksdb::objects::logger::{rocksdb_logger_create_stderr_logger, rocksdb_logger_destroy};
use foldb_rocksdb::options::{
    rocksdb_options_set_db_log_dir, rocksdb_options_set_info_log,
    rocksdb_options_set_keep_log_file_num,
};

use support::{c_path, creating, error_of, flush, opened, put};

/// Returns the names of the files of events in a directory.
fn logs(directory: &Path) -> Vec<String> {
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.contains("LOG"));
    names.sort();
    names
}

#[test]
fn a_log_has_the_options_of_the_open_and_the_events() {
    let dir = tempfile::tempdir().unwrap();
    let (options, path) = (creating(), dir.path().join("db"));
    let db = opened(options, &path);
    assert_eq!(put(db, "key", b"value"), None);
    flush(db);
    unsafe { rocksdb_close(db) };
    let log = std::fs::read_to_string(path.join("LOG")).unwrap();
    for line in ["RocksDB version: 10.4.2", "Options.create_if_missing: 1", "format_version: 6"] {
        assert!(log.contains(line), "{line} in {log}");
    }
    assert!(log.lines().any(|line| line.contains(" flushed 1 memtables")), "{log}");
}

#[test]
fn an_open_keeps_the_logs_of_the_opens_before_up_to_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let (options, path) = (creating(), dir.path().join("db"));
    unsafe { rocksdb_options_set_keep_log_file_num(options, 3) };
    for open in 1..=5_usize {
        unsafe { rocksdb_close(opened(options, &path)) };
        assert_eq!(logs(&path).len(), open.min(3), "{:?}", logs(&path));
    }
    let name = c_path(&path);
    assert_eq!(
        error_of(|error| unsafe { rocksdb_destroy_db(options, name.as_ptr(), error) }),
        None
    );
    assert!(!path.exists());
}

#[test]
fn a_file_of_others_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let (options, path) = (creating(), dir.path().join("db"));
    unsafe { rocksdb_close(opened(options, &path)) };
    let others = [("LOG", "mine"), ("LOG.old.7", "older"), ("OPTIONS-000900", "[Version]\n")];
    for (name, text) in others {
        std::fs::write(path.join(name), text).unwrap();
    }
    unsafe { rocksdb_options_set_keep_log_file_num(options, 1) };
    unsafe { rocksdb_close(opened(options, &path)) };
    let name = c_path(&path);
    assert_eq!(
        error_of(|error| unsafe { rocksdb_destroy_db(options, name.as_ptr(), error) }),
        None
    );
    for (name, text) in others {
        assert_eq!(std::fs::read_to_string(path.join(name)).unwrap(), text);
    }
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), others.len());
}

#[test]
fn a_log_may_be_elsewhere_and_a_logger_replaces_it() {
    let dir = tempfile::tempdir().unwrap();
    let (options, path) = (creating(), dir.path().join("db"));
    let elsewhere = c_path(dir.path());
    unsafe {
        rocksdb_options_set_db_log_dir(options, elsewhere.as_ptr());
        rocksdb_close(opened(options, &path));
    }
    assert_eq!(logs(&path), Vec::<String>::new());
    assert!(logs(dir.path())[0].ends_with("_db_LOG"), "{:?}", logs(dir.path()));
    let quiet = creating();
    unsafe {
        let logger = rocksdb_logger_create_stderr_logger(4, c"".as_ptr());
        rocksdb_options_set_info_log(quiet, logger);
        rocksdb_logger_destroy(logger);
        rocksdb_close(opened(quiet, &path));
    }
    assert_eq!(logs(&path), Vec::<String>::new());
}
