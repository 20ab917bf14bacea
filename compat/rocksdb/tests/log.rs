//! The log of writes, and the identity of a database.

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call keeps the rules of the header")]

mod support;

use std::path::{Path, PathBuf};
use std::ptr;

use foldb_rocksdb::batch::*;
use foldb_rocksdb::copies::checkpoint::*;
use foldb_rocksdb::copies::identity::rocksdb_get_db_identity;
use foldb_rocksdb::copies::updates::*;
use foldb_rocksdb::database::close::{rocksdb_close, rocksdb_destroy_db};
use foldb_rocksdb::database::family::*;
use foldb_rocksdb::database::rocksdb_t;
use foldb_rocksdb::database::snapshot::rocksdb_get_latest_sequence_number;
use foldb_rocksdb::database::writes::rocksdb_put_cf;
use foldb_rocksdb::options::calls::rocksdb_writeoptions_create;
use foldb_rocksdb::options::{
    rocksdb_options_set_WAL_size_limit_MB, rocksdb_options_set_uint64add_merge_operator,
    rocksdb_options_set_write_dbid_to_manifest,
};

use support::{c_path, creating, delete, error_of, flush, get, merge, opened, put, taken};

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    (dir, path)
}

/// Begins at a number.
fn since(db: *mut rocksdb_t, number: u64) -> Result<*mut rocksdb_wal_iterator_t, String> {
    let mut found = ptr::null_mut();
    let error = error_of(|error| {
        found = unsafe { rocksdb_get_updates_since(db, number, ptr::null(), error) };
    });
    error.map_or(Ok(found), Err)
}

/// Returns the batches since a number: of each its number, and how many writes it has.
fn batches(db: *mut rocksdb_t, number: u64) -> Vec<(u64, i32)> {
    let iterator = since(db, number).unwrap();
    let mut all = Vec::new();
    unsafe {
        while rocksdb_wal_iter_valid(iterator) != 0 {
            let mut sequence = 0;
            let batch = rocksdb_wal_iter_get_batch(iterator, &mut sequence);
            all.push((sequence, rocksdb_writebatch_count(batch)));
            rocksdb_writebatch_destroy(batch);
            rocksdb_wal_iter_next(iterator);
        }
        assert_eq!(error_of(|error| rocksdb_wal_iter_status(iterator, error)), None);
        rocksdb_wal_iter_destroy(iterator);
    }
    all
}

/// Writes three puts as one batch.
fn put_three(db: *mut rocksdb_t) {
    let batch = rocksdb_writebatch_create();
    let error = error_of(|error| unsafe {
        for key in ["x", "y", "z"] {
            rocksdb_writebatch_put(batch, key.as_ptr().cast(), 1, key.as_ptr().cast(), 1);
        }
        rocksdb_write(db, rocksdb_writeoptions_create(), batch, error);
        rocksdb_writebatch_destroy(batch);
    });
    assert_eq!(error, None);
}

#[test]
fn the_batches_since_a_number_have_the_numbers_of_their_first_writes() {
    let (_dir, path) = place();
    let options = creating();
    unsafe { rocksdb_options_set_WAL_size_limit_MB(options, 64) };
    let db = opened(options, &path);
    assert_eq!(put(db, "a", b"1"), None);
    put_three(db);
    delete(db, "a");
    let first = unsafe { rocksdb_get_latest_sequence_number(db) } - 4;
    let all = [(first, 1), (first + 1, 3), (first + 4, 1)];
    assert_eq!(batches(db, first), all);
    assert_eq!(batches(db, first + 2), all[1..], "a number in a batch begins with that batch");
    assert_eq!(batches(db, first + 4), all[2..]);
    let told = since(db, first + 5).unwrap_err();
    assert_eq!(told, "NotFound: Requested sequence not yet written in the db");
    flush(db);
    assert_eq!(batches(db, first), all, "logs stay after a flush, as the options say");
    unsafe { rocksdb_close(db) };
    let db = opened(options, &path);
    assert_eq!(batches(db, first), all, "and after a close");
    unsafe { rocksdb_close(db) };
}

#[test]
fn the_batches_bring_a_copy_up_to_date() {
    let (dir, path) = place();
    let options = creating();
    unsafe { rocksdb_options_set_uint64add_merge_operator(options) };
    let (db, copy) = (opened(options, &path), opened(options, &dir.path().join("copy")));
    let first = unsafe { rocksdb_get_latest_sequence_number(db) } + 1;
    put_three(db);
    delete(db, "y");
    assert_eq!(merge(db, "n", &5_u64.to_le_bytes()), None);
    let iterator = since(db, first).unwrap();
    unsafe {
        while rocksdb_wal_iter_valid(iterator) != 0 {
            let batch = rocksdb_wal_iter_get_batch(iterator, ptr::null_mut());
            let write = rocksdb_writeoptions_create();
            assert_eq!(error_of(|error| rocksdb_write(copy, write, batch, error)), None);
            rocksdb_writebatch_destroy(batch);
            rocksdb_wal_iter_next(iterator);
        }
        rocksdb_wal_iter_destroy(iterator);
    }
    for key in ["x", "y", "z", "n"] {
        assert_eq!(get(copy, key), get(db, key), "{key}");
    }
    assert_eq!(get(copy, "n").unwrap().as_deref(), Some(&5_u64.to_le_bytes()[..]));
    unsafe {
        rocksdb_close(copy);
        rocksdb_close(db);
    }
}

#[test]
fn writes_of_dropped_families_are_left_out() {
    let (_dir, path) = place();
    let options = creating();
    let db = opened(options, &path);
    let first = unsafe { rocksdb_get_latest_sequence_number(db) } + 1;
    let error = error_of(|error| unsafe {
        let (write, text) = (rocksdb_writeoptions_create(), c"f".as_ptr());
        let family = rocksdb_create_column_family(db, options, text, error);
        rocksdb_put_cf(db, write, family, text, 1, text, 1, error);
        let before = batches(db, first);
        assert_eq!(before.len(), 1);
        rocksdb_drop_column_family(db, family, error);
        rocksdb_column_family_handle_destroy(family);
    });
    assert_eq!(error, None);
    assert_eq!(put(db, "k", b"v"), None);
    let last = unsafe { rocksdb_get_latest_sequence_number(db) };
    assert_eq!(batches(db, first), [(last, 1)]);
    unsafe { rocksdb_close(db) };
}

fn identity(db: *mut rocksdb_t) -> Vec<u8> {
    let mut len = 0;
    let start = unsafe { rocksdb_get_db_identity(db, &mut len) };
    taken(start, len).unwrap()
}

/// Opens a database, with its identity in the manifest or in a file, and returns the identity.
fn identity_at(path: &Path, in_manifest: u8) -> Vec<u8> {
    let options = creating();
    unsafe { rocksdb_options_set_write_dbid_to_manifest(options, in_manifest) };
    let db = opened(options, path);
    let found = identity(db);
    unsafe { rocksdb_close(db) };
    found
}

fn checkpoint(path: &Path, to: &Path) {
    let db = opened(creating(), path);
    let name = c_path(to);
    let error = error_of(|error| unsafe {
        let checkpoint = rocksdb_checkpoint_object_create(db, error);
        rocksdb_checkpoint_create(checkpoint, name.as_ptr(), 0, error);
        rocksdb_checkpoint_object_destroy(checkpoint);
        rocksdb_close(db);
    });
    assert_eq!(error, None);
}

#[test]
fn an_identity_in_the_manifest_is_that_of_the_copies_too() {
    let (dir, path) = place();
    let (copy, other) = (dir.path().join("copy"), dir.path().join("other"));
    let first = identity_at(&path, 1);
    assert_eq!(first.len(), 36);
    assert_eq!(identity_at(&path, 1), first);
    assert_ne!(identity_at(&other, 1), first);
    checkpoint(&path, &copy);
    assert_eq!(identity_at(&copy, 1), first);
}

#[test]
fn an_identity_in_a_file_is_that_of_one_directory() {
    let (dir, path) = place();
    let copy = dir.path().join("copy");
    let first = identity_at(&path, 0);
    assert_eq!(first.len(), 36);
    assert_eq!(identity_at(&path, 0), first);
    assert_eq!(identity_at(&path, 1), first, "the file is there");
    checkpoint(&path, &copy);
    assert_ne!(identity_at(&copy, 0), first);
    let (options, name) = (creating(), c_path(&path));
    let destroyed = error_of(|error| unsafe { rocksdb_destroy_db(options, name.as_ptr(), error) });
    assert_eq!(destroyed, None);
    assert!(!path.exists());
    assert_ne!(identity_at(&path, 0), first);
}
