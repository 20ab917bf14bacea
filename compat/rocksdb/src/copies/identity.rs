//! The identity of a database: a text of 36 characters in the form of a UUID.
//!
//! With `write_dbid_to_manifest`, it is that of the engine, which copies of the database keep.
//! Without, it is in a file `IDENTITY`, which copies do not get. So a copy has its own one.
//!
//! Invariant: a database that has the file keeps the identity in it.

use std::ffi::c_char;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::Path;
use std::ptr;

use foldb::env::FileSystem;

use crate::boundary::{copy, quiet, store_len};
use crate::database::{Engine, rocksdb_t};
use crate::options::files::{IDENTITY, file_error, file_system, write_whole};
use crate::options::rocksdb_options_t;
use crate::status::Outcome;

/// Returns the identity of a database that is being opened. Writes one where it is missing.
///
/// # Errors
/// Fails if the file system does.
pub(crate) fn identity_of(
    engine: &Engine,
    directory: &Path,
    options: &rocksdb_options_t,
) -> Outcome<String> {
    let in_file = options.values.write_dbid_to_manifest == 0;
    let writes = in_file && matches!(engine, Engine::Writable(_));
    let found = in_file_at(&*file_system(options), directory, writes);
    let found = found.map_err(|error| file_error(directory, &error))?;
    Ok(found.unwrap_or_else(|| text_of(id_of(engine), mixed(id_of(engine)))))
}

/// Returns the identity in the file. With `writes`, makes one if there is none.
fn in_file_at(fs: &dyn FileSystem, directory: &Path, writes: bool) -> io::Result<Option<String>> {
    let path = directory.join(IDENTITY);
    if fs.try_exists(&path)? {
        return Ok(Some(String::from_utf8_lossy(&fs.read(&path)?).trim().to_owned()));
    }
    if !writes {
        return Ok(None);
    }
    // The keys of the standard library's hash are random.
    let random = || RandomState::new().hash_one(directory);
    let own = text_of(random(), random());
    write_whole(fs, directory, &path, &own)?;
    Ok(Some(own))
}

fn id_of(engine: &Engine) -> u64 {
    match engine {
        Engine::Writable(db) => db.id(),
        Engine::ReadOnly(db) => db.id(),
        Engine::Secondary { shown, .. } => shown.read().id(),
    }
}

/// Spreads the bits of a number, so that similar ones have texts that differ everywhere.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number ^ (number >> 29)
}

fn text_of(high: u64, low: u64) -> String {
    let (first, second, third) = (high >> 32, (high >> 16) & 0xffff, high & 0xffff);
    let (fourth, last) = (low >> 48, low & 0xffff_ffff_ffff);
    format!("{first:08x}-{second:04x}-{third:04x}-{fourth:04x}-{last:012x}")
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_db_identity(
    db: *mut rocksdb_t,
    len: *mut usize,
) -> *mut c_char {
    let identity = quiet(String::new(), || {
        let database = &(*db).database;
        database.identity.clone()
    });
    store_len(len, identity.len());
    if identity.is_empty() { ptr::null_mut() } else { copy(identity.as_bytes()) }
}
