//! Rules at the edges: lifetimes, names, numbers of families, files that others damage.

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call keeps the rules of the header")]

mod support;

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr;

use foldb::{Db, KeyspaceOptions, Options};
use foldb_rocksdb::copies::checkpoint::{
    rocksdb_checkpoint_create, rocksdb_checkpoint_object_create, rocksdb_checkpoint_object_destroy,
};
use foldb_rocksdb::database::close::{rocksdb_close, rocksdb_destroy_db};
use foldb_rocksdb::database::family::{
    rocksdb_column_family_handle_get_id, rocksdb_column_family_handle_t,
    rocksdb_create_column_family, rocksdb_create_column_family_with_ttl,
    rocksdb_drop_column_family, rocksdb_try_catch_up_with_primary,
};
use foldb_rocksdb::database::open::{
    rocksdb_open_as_secondary, rocksdb_open_column_families, rocksdb_open_column_families_with_ttl,
    rocksdb_open_with_ttl,
};
use foldb_rocksdb::database::rocksdb_t;
use foldb_rocksdb::options::{rocksdb_options_create, rocksdb_options_t};

use support::{c_path, creating, error_of, flush, get, opened, put};

fn opened_with_ttl(options: *mut rocksdb_options_t, path: &Path) -> *mut rocksdb_t {
    let (place, mut db) = (c_path(path), ptr::null_mut());
    let error =
        error_of(|error| db = unsafe { rocksdb_open_with_ttl(options, place.as_ptr(), 60, error) });
    assert_eq!(error, None);
    db
}

/// Opens a database with families. Returns their numbers.
fn opened_with(path: &Path, names: &[&CStr]) -> (*mut rocksdb_t, Vec<u32>) {
    let (place, options) = (c_path(path), rocksdb_options_create());
    let texts: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let all = vec![options.cast_const(); names.len()];
    let mut handles: Vec<*mut rocksdb_column_family_handle_t> = vec![ptr::null_mut(); names.len()];
    let mut db = ptr::null_mut();
    let error = error_of(|error| {
        db = unsafe {
            rocksdb_open_column_families(
                options,
                place.as_ptr(),
                names.len() as c_int,
                texts.as_ptr(),
                all.as_ptr(),
                handles.as_mut_ptr(),
                error,
            )
        };
    });
    assert_eq!(error, None);
    let id = |&handle: &_| unsafe { rocksdb_column_family_handle_get_id(handle) };
    (db, handles.iter().map(id).collect())
}

#[test]
fn families_without_a_lifetime_reopen_in_a_database_with_one() {
    let dir = tempfile::tempdir().unwrap();
    let (options, path) = (creating(), dir.path().join("db"));
    let db = opened_with_ttl(options, &path);
    let names = [c"default", c"plain", c"for ever"];
    let mut error = ptr::null_mut();
    unsafe {
        rocksdb_create_column_family(db, options, names[1].as_ptr(), &mut error);
        rocksdb_create_column_family_with_ttl(db, options, names[2].as_ptr(), -1, &mut error);
        assert!(error.is_null());
        rocksdb_close(db);
    }
    let (place, texts) = (c_path(&path), names.map(CStr::as_ptr));
    let (all, mut handles) = ([options.cast_const(); 3], [ptr::null_mut(); 3]);
    let ttls = [60, 0, -1];
    let error = error_of(|error| unsafe {
        let db = rocksdb_open_column_families_with_ttl(
            options,
            place.as_ptr(),
            3,
            texts.as_ptr(),
            all.as_ptr(),
            handles.as_mut_ptr(),
            ttls.as_ptr(),
            error,
        );
        rocksdb_close(db);
    });
    assert_eq!(error, None);
}

#[test]
fn a_secondary_of_a_database_with_a_lifetime_catches_up() {
    let dir = tempfile::tempdir().unwrap();
    let (options, path) = (creating(), dir.path().join("db"));
    let db = opened_with_ttl(options, &path);
    assert_eq!(put(db, "a", b"1"), None);
    flush(db);
    let (place, own) = (c_path(&path), c_path(&dir.path().join("secondary")));
    unsafe {
        let mut error = ptr::null_mut();
        let second = rocksdb_open_as_secondary(options, place.as_ptr(), own.as_ptr(), &mut error);
        assert!(error.is_null());
        assert_eq!(put(db, "b", b"2"), None);
        let caught = error_of(|error| rocksdb_try_catch_up_with_primary(second, error));
        assert_eq!(caught, None);
        assert_eq!(get(second, "a"), Ok(Some(b"1".to_vec())));
        assert_eq!(get(second, "b"), Ok(Some(b"2".to_vec())));
        rocksdb_close(second);
        rocksdb_close(db);
    }
}

#[test]
fn families_that_another_program_made_keep_the_number_of_their_first_open() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = Db::open(&path, Options { create_if_missing: true, ..Options::default() }).unwrap();
    for name in ["a", "b", "c"] {
        db.create_keyspace(name, KeyspaceOptions::default()).unwrap();
    }
    db.close().unwrap();
    let (db, ids) = opened_with(&path, &[c"default", c"a", c"b", c"c"]);
    assert_eq!(ids, [0, 1, 2, 3]);
    unsafe { rocksdb_close(db) };
    // Without `a`, the others would come earlier if their numbers were not stored.
    let db = Db::open(&path, Options::default()).unwrap();
    db.drop_keyspace("a").unwrap();
    db.close().unwrap();
    let (db, ids) = opened_with(&path, &[c"default", c"b", c"c"]);
    assert_eq!(ids, [0, 2, 3]);
    unsafe { rocksdb_close(db) };
}

#[test]
fn the_names_of_the_librarys_own_keyspaces_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (options, path) = (creating(), dir.path().join("db"));
    let db = opened(options, &path);
    for name in [
        c"rocksdb default with a time to live",
        c"rocksdb prepared transactions",
        c"rocksdb column family numbers",
    ] {
        let error = error_of(|error| unsafe {
            rocksdb_create_column_family(db, options, name.as_ptr(), error);
        });
        assert!(error.unwrap().ends_with("is a name of this library's own"));
    }
    unsafe { rocksdb_close(db) };
}

#[test]
fn a_damaged_file_of_options_keeps_no_database_closed() {
    let dir = tempfile::tempdir().unwrap();
    let (options, path) = (creating(), dir.path().join("db"));
    let db = opened(options, &path);
    assert_eq!(put(db, "k", b"v"), None);
    unsafe { rocksdb_close(db) };
    std::fs::write(path.join("OPTIONS-000001"), b"").unwrap();
    std::fs::write(path.join("OPTIONS-99999999999999999999"), b"garbage").unwrap();
    std::fs::create_dir(path.join("OPTIONS-000999")).unwrap();
    let db = opened(options, &path);
    assert_eq!(get(db, "k"), Ok(Some(b"v".to_vec())));
    unsafe { rocksdb_close(db) };
    let place = c_path(&path);
    let error = error_of(|error| unsafe { rocksdb_destroy_db(options, place.as_ptr(), error) });
    assert_eq!(error, None);
}

#[test]
fn a_checkpoint_stores_options_of_the_families_that_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let (options, path) = (creating(), dir.path().join("db"));
    let db = opened(options, &path);
    let mut error = ptr::null_mut();
    unsafe {
        let kept = CString::new("kept").unwrap();
        rocksdb_create_column_family(db, options, kept.as_ptr(), &mut error);
        let gone = rocksdb_create_column_family(db, options, c"gone".as_ptr(), &mut error);
        rocksdb_drop_column_family(db, gone, &mut error);
        let checkpoint = rocksdb_checkpoint_object_create(db, &mut error);
        let copy = dir.path().join("copy");
        let place = c_path(&copy);
        rocksdb_checkpoint_create(checkpoint, place.as_ptr(), 0, &mut error);
        assert!(error.is_null());
        let stored = std::fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().path());
        let stored = stored.filter(|path| path.to_str().unwrap().contains("OPTIONS-"));
        let text = std::fs::read_to_string(stored.last().unwrap()).unwrap();
        assert!(text.contains("\"kept\"") && !text.contains("\"gone\""), "{text}");
        let missing = c_path(&dir.path().join("no such directory/copy"));
        let refused =
            error_of(|error| rocksdb_checkpoint_create(checkpoint, missing.as_ptr(), 0, error));
        assert!(refused.unwrap().starts_with("IO error: "));
        rocksdb_checkpoint_object_destroy(checkpoint);
        rocksdb_close(db);
    }
}
