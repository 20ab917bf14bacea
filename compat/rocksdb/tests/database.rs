//! Rules of the C interface that a published program would meet: errors, reopening, transactions.

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call keeps the rules of the header")]

mod support;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use foldb_rocksdb::copies::backup::{
    rocksdb_backup_engine_close, rocksdb_backup_engine_create_new_backup,
    rocksdb_backup_engine_open, rocksdb_backup_engine_restore_db_from_backup,
    rocksdb_restore_options_create,
};
use foldb_rocksdb::database::close::{
    rocksdb_close, rocksdb_destroy_db, rocksdb_free, rocksdb_list_column_families,
    rocksdb_list_column_families_destroy,
};
use foldb_rocksdb::database::family::{
    rocksdb_column_family_handle_get_id, rocksdb_create_column_family, rocksdb_drop_column_family,
};
use foldb_rocksdb::database::open::{rocksdb_open, rocksdb_open_with_ttl};
use foldb_rocksdb::objects::comparator::rocksdb_comparator_create;
use foldb_rocksdb::options::calls::{rocksdb_readoptions_create, rocksdb_writeoptions_create};
use foldb_rocksdb::options::{
    rocksdb_options_create, rocksdb_options_set_comparator,
    rocksdb_options_set_uint64add_merge_operator,
};
use foldb_rocksdb::transactions::calls::rocksdb_transaction_put;
use foldb_rocksdb::transactions::databases::{
    rocksdb_transactiondb_close, rocksdb_transactiondb_open,
};
use foldb_rocksdb::transactions::handle::{
    rocksdb_transaction_begin, rocksdb_transaction_commit, rocksdb_transaction_destroy,
    rocksdb_transaction_prepare, rocksdb_transaction_set_name, rocksdb_transaction_t,
    rocksdb_transactiondb_get_prepared_transactions,
};
use foldb_rocksdb::transactions::options::{
    rocksdb_transaction_options_create, rocksdb_transactiondb_options_create,
};
use foldb_rocksdb::transactions::pessimistic_calls::{
    rocksdb_transactiondb_get, rocksdb_transactiondb_put,
};

use support::{c_path, creating, error_of, get, merge, opened, put, taken};

#[test]
fn a_merge_without_an_operator_says_what_rocksdb_says() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(creating(), &dir.path().join("db"));
    let told = "Not implemented: Provide a merge_operator when opening DB";
    assert_eq!(merge(db, "k", b"1").as_deref(), Some(told));
    unsafe { rocksdb_close(db) };
}

#[test]
fn merges_of_numbers_are_added_up_over_a_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let counting = creating();
    unsafe { rocksdb_options_set_uint64add_merge_operator(counting) };
    let db = opened(counting, &path);
    assert_eq!(merge(db, "n", &1u64.to_le_bytes()), None);
    assert_eq!(merge(db, "n", &2u64.to_le_bytes()), None);
    unsafe { rocksdb_close(db) };

    let db = opened(counting, &path);
    assert_eq!(get(db, "n"), Ok(Some(3u64.to_le_bytes().to_vec())));
    unsafe { rocksdb_close(db) };
}

#[test]
fn a_missing_database_is_told_as_rocksdb_tells_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    let options = rocksdb_options_create();
    let error = error_of(|error| {
        unsafe { rocksdb_open(options, path.as_ptr(), error) };
    });
    let error = error.unwrap();
    assert!(error.starts_with("Invalid argument: "), "{error}");
    assert!(error.ends_with("/CURRENT: does not exist (create_if_missing is false)"), "{error}");
}

#[test]
fn a_directory_of_rocksdb_is_refused_and_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("CURRENT", "MANIFEST-000005\n"),
        ("MANIFEST-000005", "manifest"),
        ("OPTIONS-000007", "[Version]\n  rocksdb_version=10.4.2\n"),
        ("IDENTITY", "identity"),
    ] {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let (options, path) = (creating(), c_path(dir.path()));
    let open = error_of(|error| {
        unsafe { rocksdb_open(options, path.as_ptr(), error) };
    });
    let destroy = error_of(|error| unsafe { rocksdb_destroy_db(options, path.as_ptr(), error) });
    for error in [open, destroy] {
        let error = error.expect("an error");
        assert!(error.contains("foldb import"), "{error}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
    assert_eq!(std::fs::read(dir.path().join("CURRENT")).unwrap(), b"MANIFEST-000005\n");
}

/// Names a transaction, puts `k` in it, and prepares it.
unsafe fn prepare(transaction: *mut rocksdb_transaction_t, name: &str) {
    let (name, key) = (name.as_ptr().cast(), b"k".as_ptr().cast());
    let named = error_of(|error| unsafe {
        rocksdb_transaction_set_name(transaction, name, 5, error);
    });
    let put = error_of(|error| unsafe {
        rocksdb_transaction_put(transaction, key, 1, key, 1, error);
    });
    let prepared = error_of(|error| unsafe { rocksdb_transaction_prepare(transaction, error) });
    assert_eq!((named, put, prepared), (None, None, None));
}

#[test]
fn a_prepared_transaction_survives_a_close_with_its_locks() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    let (options, locking) = (creating(), rocksdb_transactiondb_options_create());
    let (write, begin) = (rocksdb_writeoptions_create(), rocksdb_transaction_options_create());
    let open = || {
        let mut db = ptr::null_mut();
        let error = error_of(|error| {
            db = unsafe { rocksdb_transactiondb_open(options, locking, path.as_ptr(), error) };
        });
        assert_eq!(error, None);
        db
    };
    let key = (b"k".as_ptr().cast::<c_char>(), 1);
    unsafe {
        let db = open();
        let transaction = rocksdb_transaction_begin(db, write, begin, ptr::null_mut());
        prepare(transaction, "first");
        rocksdb_transactiondb_close(db);
        rocksdb_transaction_destroy(transaction);

        let db = open();
        let other = error_of(|error| {
            rocksdb_transactiondb_put(db, write, key.0, key.1, key.0, key.1, error);
        });
        let told = "Operation timed out: Timeout waiting to lock key";
        assert_eq!(other.as_deref(), Some(told));
        let mut count = 0;
        let prepared = rocksdb_transactiondb_get_prepared_transactions(db, &mut count);
        assert_eq!(count, 1);
        assert_eq!(error_of(|error| rocksdb_transaction_commit(*prepared, error)), None);
        rocksdb_transaction_destroy(*prepared);
        rocksdb_free(prepared.cast());
        rocksdb_transactiondb_close(db);

        let db = open();
        let (mut len, read) = (0, rocksdb_readoptions_create());
        let mut value = ptr::null_mut();
        let error = error_of(|error| {
            value = rocksdb_transactiondb_get(db, read, key.0, key.1, &mut len, error);
        });
        assert_eq!((error, taken(value, len)), (None, Some(b"k".to_vec())));
        let none = rocksdb_transactiondb_get_prepared_transactions(db, &mut count);
        assert!(none.is_null() && count == 0);
        rocksdb_transactiondb_close(db);
    }
}

#[test]
fn a_database_with_a_time_to_live_opens_with_one_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    let options = creating();
    let mut db = ptr::null_mut();
    let open = error_of(|error| {
        db = unsafe { rocksdb_open_with_ttl(options, path.as_ptr(), 3600, error) };
    });
    assert_eq!(open, None);
    assert_eq!(put(db, "k", b"v"), None);
    assert_eq!(get(db, "k"), Ok(Some(b"v".to_vec())));
    unsafe { rocksdb_close(db) };
    let plain = error_of(|error| {
        unsafe { rocksdb_open(options, path.as_ptr(), error) };
    });
    assert!(plain.unwrap().contains("time to live"));
}

#[test]
fn a_database_with_entries_without_a_time_to_live_opens_without_one_only() {
    let dir = tempfile::tempdir().unwrap();
    let (options, path) = (creating(), dir.path().join("db"));
    let db = opened(options, &path);
    assert_eq!(put(db, "k", b"v"), None);
    unsafe { rocksdb_close(db) };
    let place = c_path(&path);
    let refused = error_of(|error| {
        unsafe { rocksdb_open_with_ttl(options, place.as_ptr(), 3600, error) };
    });
    assert!(refused.unwrap().contains("entries without a time to live"));
    let db = opened(options, &path);
    assert_eq!(get(db, "k"), Ok(Some(b"v".to_vec())));
    unsafe { rocksdb_close(db) };
}

#[test]
fn two_prepared_transactions_of_one_key_do_not_keep_the_database_closed() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    let (options, locking) = (creating(), rocksdb_transactiondb_options_create());
    let (write, begin) = (rocksdb_writeoptions_create(), rocksdb_transaction_options_create());
    unsafe {
        let mut error = ptr::null_mut();
        let db = rocksdb_transactiondb_open(options, locking, path.as_ptr(), &mut error);
        for name in ["first", "other"] {
            let transaction = rocksdb_transaction_begin(db, write, begin, ptr::null_mut());
            prepare(transaction, name);
            // RocksDB frees the locks with the handle.
            rocksdb_transaction_destroy(transaction);
        }
        rocksdb_transactiondb_close(db);

        let db = rocksdb_transactiondb_open(options, locking, path.as_ptr(), &mut error);
        assert!(!db.is_null() && error.is_null());
        let mut count = 0;
        let prepared = rocksdb_transactiondb_get_prepared_transactions(db, &mut count);
        assert_eq!(count, 2);
        for at in 0..count {
            let own = *prepared.add(at);
            assert_eq!(error_of(|error| rocksdb_transaction_commit(own, error)), None);
            rocksdb_transaction_destroy(own);
        }
        rocksdb_free(prepared.cast());
        rocksdb_transactiondb_close(db);
    }
}

#[test]
fn a_null_handle_of_a_database_with_transactions_is_an_error() {
    let (read, mut len) = (rocksdb_readoptions_create(), 0);
    let key = b"k".as_ptr().cast();
    let error = error_of(|error| unsafe {
        rocksdb_transactiondb_get(ptr::null_mut(), read, key, 1, &mut len, error);
    });
    assert_eq!(error.as_deref(), Some("Invalid argument: db is NULL"));
}

#[test]
fn the_number_of_a_dropped_family_is_not_used_again() {
    let dir = tempfile::tempdir().unwrap();
    let options = rocksdb_options_create();
    let ids: Vec<u32> = (0..4)
        .map(|_| unsafe {
            let db = opened(creating(), &dir.path().join("db"));
            let mut error = ptr::null_mut();
            let family = rocksdb_create_column_family(db, options, c"own".as_ptr(), &mut error);
            let id = rocksdb_column_family_handle_get_id(family);
            assert_eq!(error_of(|error| rocksdb_drop_column_family(db, family, error)), None);
            let again = rocksdb_create_column_family(db, options, c"own".as_ptr(), &mut error);
            let next = rocksdb_column_family_handle_get_id(again);
            assert_eq!(error_of(|error| rocksdb_drop_column_family(db, again, error)), None);
            rocksdb_close(db);
            [id, next]
        })
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8]);
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

unsafe extern "C" fn by_length(
    _: *mut c_void,
    _: *const c_char,
    first: usize,
    _: *const c_char,
    second: usize,
) -> c_int {
    first.cmp(&second) as c_int
}

unsafe extern "C" fn own_order(_: *mut c_void) -> *const c_char {
    c"by length".as_ptr()
}

#[test]
fn a_list_of_families_needs_no_comparator() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    unsafe {
        let ordered = creating();
        let order = rocksdb_comparator_create(
            ptr::null_mut(),
            Some(nothing),
            Some(by_length),
            Some(own_order),
        );
        rocksdb_options_set_comparator(ordered, order);
        let db = opened(ordered, &path);
        for name in [c"z", c"a"] {
            let mut error = ptr::null_mut();
            rocksdb_create_column_family(db, ordered, name.as_ptr(), &mut error);
            assert!(error.is_null());
        }
        // The database is open.
        let (mut count, mut list) = (0, ptr::null_mut());
        let (plain, place) = (rocksdb_options_create(), c_path(&path));
        let error = error_of(|error| {
            list = rocksdb_list_column_families(plain, place.as_ptr(), &mut count, error);
        });
        assert_eq!((error, count), (None, 3));
        let names: Vec<&CStr> = (0..3).map(|at| CStr::from_ptr(*list.add(at))).collect();
        assert_eq!(names, [c"default", c"z", c"a"]);
        rocksdb_list_column_families_destroy(list, count);
        rocksdb_close(db);
    }
}

#[test]
fn a_restore_of_an_unknown_backup_keeps_the_database_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backups) = (dir.path().join("db"), c_path(&dir.path().join("backups")));
    let options = creating();
    unsafe {
        let mut error = ptr::null_mut();
        let engine = rocksdb_backup_engine_open(options, backups.as_ptr(), &mut error);
        let db = opened(options, &path);
        assert_eq!(put(db, "k", b"kept"), None);
        let made = error_of(|error| rocksdb_backup_engine_create_new_backup(engine, db, error));
        assert_eq!(made, None);
        rocksdb_close(db);

        let (restoring, place) = (rocksdb_restore_options_create(), c_path(&path));
        let restored = error_of(|error| {
            rocksdb_backup_engine_restore_db_from_backup(
                engine,
                place.as_ptr(),
                place.as_ptr(),
                restoring,
                7,
                error,
            );
        });
        assert_eq!(restored.as_deref(), Some("NotFound: Backup not found"));
        let db = opened(rocksdb_options_create(), &path);
        assert_eq!(get(db, "k"), Ok(Some(b"kept".to_vec())));
        rocksdb_close(db);
        rocksdb_backup_engine_close(engine);
    }
}
