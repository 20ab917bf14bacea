//! Checkpoints: the database of one moment in another directory, which shares its files.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use foldb::env::Env;
use foldb::{Db, Options};

use crate::boundary::{arg, call, free, handle, path};
use crate::database::{Database, rocksdb_t};
use crate::options::files::file_system;
use crate::status::{Code, Outcome, Status};
use crate::transactions::databases::{rocksdb_optimistictransactiondb_t, rocksdb_transactiondb_t};

/// RocksDB: `Checkpoint`.
pub struct rocksdb_checkpoint_t {
    database: Arc<Database>,
}

fn checkpoint_of(database: &Arc<Database>) -> Outcome<*mut rocksdb_checkpoint_t> {
    database.writable()?;
    Ok(handle(rocksdb_checkpoint_t { database: database.clone() }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_checkpoint_object_create(
    db: *mut rocksdb_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_checkpoint_t {
    let made = call(errptr, || checkpoint_of(&arg(db, "db")?.database));
    made.unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_transactiondb_checkpoint_object_create(
    db: *mut rocksdb_transactiondb_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_checkpoint_t {
    let made = call(errptr, || checkpoint_of(&arg(db, "txn_db")?.database));
    made.unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_optimistictransactiondb_checkpoint_object_create(
    db: *mut rocksdb_optimistictransactiondb_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_checkpoint_t {
    let made = call(errptr, || checkpoint_of(&arg(db, "otxn_db")?.database));
    made.unwrap_or(ptr::null_mut())
}

/// Copies the log too, whatever its size, so `log_size_for_flush` has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_checkpoint_create(
    checkpoint: *mut rocksdb_checkpoint_t,
    directory: *const c_char,
    _log_size_for_flush: u64,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let database = &arg(checkpoint, "checkpoint")?.database;
        let directory = path(directory, "checkpoint_dir")?;
        let fs = file_system(&database.options);
        if directory.parent().is_some_and(|own| !own.as_os_str().is_empty() && !fs.is_dir(own)) {
            let message = format!("{}: No such file or directory", directory.display());
            return Err(Status::new(Code::IoError, message));
        }
        // Listeners hear of the flush of a checkpoint, and may look at families.
        let mut families = database.families.read().clone();
        database.writable()?.checkpoint(&directory)?;
        // A family may have come or gone meanwhile.
        let env = Env { fs, ..Env::system() };
        let copied = Db::list_keyspaces(&directory, Options { env, ..Options::default() })?;
        let is_copied = |name: &str| copied.iter().any(|own| own.name == name);
        families.extend(database.families.read().clone());
        families.retain(|_, family| is_copied(&family.name));
        database.store_options_in(&directory, &families)
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_checkpoint_object_destroy(checkpoint: *mut rocksdb_checkpoint_t) {
    free(checkpoint);
}
