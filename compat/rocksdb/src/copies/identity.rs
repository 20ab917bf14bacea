//! The identity of a database.
//!
//! RocksDB's is a text that the database keeps for ever. The engine's is a random number, which
//! this library shows as a text. Copies of a database have the identity of the original.

use std::ffi::c_char;
use std::ptr;

use crate::boundary::{copy, quiet, store_len};
use crate::database::{Database, Engine, rocksdb_t};

impl Database {
    fn identity(&self) -> String {
        let id = match &self.engine {
            Engine::Writable(db) => db.id(),
            Engine::ReadOnly(db) => db.id(),
            Engine::Secondary { shown, .. } => shown.read().id(),
        };
        format!("{id:016x}")
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_db_identity(
    db: *mut rocksdb_t,
    len: *mut usize,
) -> *mut c_char {
    let identity = quiet(String::new(), || (*db).database.identity());
    store_len(len, identity.len());
    if identity.is_empty() { ptr::null_mut() } else { copy(identity.as_bytes()) }
}
