//! What iterators see: prefixes, writes after a seek, and the own writes of a transaction.

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call keeps the rules of the header")]

mod support;

use std::ptr;

use foldb_rocksdb::database::close::rocksdb_close;
use foldb_rocksdb::database::rocksdb_t;
use foldb_rocksdb::iterator::{
    rocksdb_create_iterator, rocksdb_iter_destroy, rocksdb_iter_next, rocksdb_iter_prev,
    rocksdb_iter_seek_to_first, rocksdb_iter_seek_to_last,
};
use foldb_rocksdb::objects::slice_transform::rocksdb_slicetransform_create_fixed_prefix;
use foldb_rocksdb::options::calls::{
    rocksdb_readoptions_create, rocksdb_readoptions_set_prefix_same_as_start,
    rocksdb_readoptions_set_tailing, rocksdb_writeoptions_create,
};
use foldb_rocksdb::options::rocksdb_options_set_prefix_extractor;
use foldb_rocksdb::transactions::calls::{
    rocksdb_transaction_create_iterator, rocksdb_transaction_delete, rocksdb_transaction_put,
};
use foldb_rocksdb::transactions::databases::{
    rocksdb_optimistictransactiondb_close, rocksdb_optimistictransactiondb_get_base_db,
    rocksdb_optimistictransactiondb_open,
};
use foldb_rocksdb::transactions::handle::{
    rocksdb_optimistictransaction_begin, rocksdb_transaction_destroy, rocksdb_transaction_t,
};

use support::{c_path, creating, error_of, key_of, keys_from_here, opened, put};

fn fill(db: *mut rocksdb_t, keys: &[&str]) {
    for key in keys {
        assert_eq!(put(db, key, b""), None);
    }
}

#[test]
fn a_seek_to_an_end_is_bounded_by_the_prefix_that_it_finds() {
    let dir = tempfile::tempdir().unwrap();
    let options = creating();
    unsafe {
        let extractor = rocksdb_slicetransform_create_fixed_prefix(1);
        rocksdb_options_set_prefix_extractor(options, extractor);
        let db = opened(options, &dir.path().join("db"));
        fill(db, &["a1", "a2", "b1", "b2"]);
        let read = rocksdb_readoptions_create();
        rocksdb_readoptions_set_prefix_same_as_start(read, 1);
        let iterator = rocksdb_create_iterator(db, read);
        rocksdb_iter_seek_to_first(iterator);
        assert_eq!(keys_from_here(iterator), ["a1", "a2"]);
        rocksdb_iter_seek_to_last(iterator);
        rocksdb_iter_prev(iterator);
        assert_eq!(key_of(iterator).as_deref(), Some("b1"));
        rocksdb_iter_prev(iterator);
        assert_eq!(key_of(iterator), None);
        rocksdb_iter_destroy(iterator);
        rocksdb_close(db);
    }
}

#[test]
fn a_tailing_iterator_sees_writes_after_its_seek() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(creating(), &dir.path().join("db"));
    fill(db, &["a", "c"]);
    unsafe {
        let read = rocksdb_readoptions_create();
        rocksdb_readoptions_set_tailing(read, 1);
        let iterator = rocksdb_create_iterator(db, read);
        rocksdb_iter_seek_to_first(iterator);
        fill(db, &["b", "d"]);
        assert_eq!(keys_from_here(iterator), ["a", "b", "c", "d"]);
        rocksdb_iter_destroy(iterator);
        rocksdb_close(db);
    }
}

fn write(transaction: *mut rocksdb_transaction_t, key: &str) {
    let key = (key.as_ptr().cast(), key.len());
    let error = error_of(|error| unsafe {
        rocksdb_transaction_put(transaction, key.0, key.1, key.0, key.1, error);
    });
    assert_eq!(error, None);
}

/// RocksDB's own iterator keeps its place in the batch: behind its last key it sees no more.
#[test]
fn an_iterator_of_a_transaction_sees_writes_behind_its_place_in_the_batch_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = c_path(&dir.path().join("db"));
    unsafe {
        let mut error = ptr::null_mut();
        let options = creating();
        let db = rocksdb_optimistictransactiondb_open(options, path.as_ptr(), &mut error);
        let base = rocksdb_optimistictransactiondb_get_base_db(db);
        fill(base, &["a", "c", "e", "g"]);
        let writing = rocksdb_writeoptions_create();
        let own = rocksdb_optimistictransaction_begin(db, writing, ptr::null(), ptr::null_mut());
        let read = rocksdb_readoptions_create();

        let without = rocksdb_transaction_create_iterator(own, read);
        rocksdb_iter_seek_to_first(without);
        write(own, "b");
        write(own, "f");
        assert_eq!(keys_from_here(without), ["a", "c", "e", "g"]);

        let with = rocksdb_transaction_create_iterator(own, read);
        rocksdb_iter_seek_to_first(with);
        let deleted = error_of(|error| {
            rocksdb_transaction_delete(own, b"e".as_ptr().cast(), 1, error);
        });
        assert_eq!(deleted, None);
        write(own, "d");
        assert_eq!(keys_from_here(with), ["a", "b", "c", "d", "f", "g"]);
        rocksdb_iter_seek_to_last(with);
        rocksdb_iter_prev(with);
        rocksdb_iter_prev(with);
        assert_eq!(key_of(with).as_deref(), Some("d"));
        rocksdb_iter_next(with);
        assert_eq!(key_of(with).as_deref(), Some("f"));

        rocksdb_iter_destroy(without);
        rocksdb_iter_destroy(with);
        rocksdb_transaction_destroy(own);
        rocksdb_optimistictransactiondb_close(db);
    }
}
