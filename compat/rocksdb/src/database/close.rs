//! Closing, destroying, repairing, and listing the families of a database.

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use foldb::env::{Env, FileSystem};
use foldb::{Db, ReadOnlyDb};

use crate::boundary::{arg, array_copy, call, free, path, quiet, store_len, text_copy};
use crate::database::family::{numbers, stored_id, stored_ids};
use crate::database::info_log;
use crate::database::open::{Wanted, engine_options, open_error, read_error};
use crate::database::{Database, Engine, rocksdb_t};
use crate::keyspaces::{DEFAULT_FAMILY, is_hidden};
use crate::options::{files, rocksdb_options_t};
use crate::status::{Outcome, Status};

impl Database {
    /// Closes the engine's database. Handles that are left fail from now on.
    pub(crate) fn close(&self) -> Outcome<()> {
        if let Some(statistics) = &self.options.statistics {
            statistics.detach(self);
        }
        match &self.engine {
            Engine::Writable(db) => db.close()?,
            Engine::ReadOnly(db) => db.close()?,
            Engine::Secondary { shown, .. } => shown.read().close()?,
        }
        Ok(())
    }
}

/// Closes the database and frees its handle. The program may free handles of families later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_close(db: *mut rocksdb_t) {
    if let Some(own) = db.as_ref() {
        // RocksDB reports no error here either.
        quiet((), || drop(own.database.close()));
    }
    free(db);
}

/// Returns the engine's options for calls that name no families.
unsafe fn plain_options(options: *const rocksdb_options_t) -> Outcome<foldb::Options> {
    let options = arg(options, "options")?;
    let families = [Wanted { name: DEFAULT_FAMILY, options, ttl: None }];
    let (mut engine, _) = engine_options(options, &families)?;
    engine.default.merge_operator = None;
    Ok(engine)
}

/// Removes a database. Refuses one of RocksDB's own, and changes nothing in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_destroy_db(
    options: *const rocksdb_options_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let directory = path(name, "name")?;
        destroy(&directory, &plain_options(options)?)
    });
}

/// Removes a database, with its file of options.
///
/// # Errors
/// `Invalid argument` for one of RocksDB's own; those of the engine.
pub(crate) fn destroy(directory: &Path, options: &foldb::Options) -> Outcome<()> {
    refuse_foreign(&options.env.fs, directory)?;
    let fs = &*options.env.fs;
    Db::destroy(directory, options).map_err(|error| open_error(error, directory))?;
    info_log::remove_all(fs, directory)
        .and_then(|()| files::remove_all(fs, directory))
        .map_err(|error| files::file_error(directory, &error))
}

/// Refuses a directory of RocksDB: it has a file of options that this library did not write.
///
/// # Errors
/// `Invalid argument`, naming the import.
pub(crate) fn refuse_foreign(fs: &Arc<dyn FileSystem>, directory: &Path) -> Outcome<()> {
    let env = Env { fs: Arc::clone(fs), ..Env::system() };
    let is_ours = || Db::list_keyspaces(directory, foldb::Options { env, ..Default::default() });
    // A file of options of this library may be damaged.
    if !files::has_foreign(&**fs, directory) || is_ours().is_ok() {
        return Ok(());
    }
    let shown = directory.display();
    Err(Status::invalid(format!(
        "{shown} holds a database of RocksDB, and nothing in it was changed: \
         import it with `foldb import --from rocksdb {shown} NEW`, and open NEW"
    )))
}

/// Repairs a database in place. Refuses one of RocksDB's own, and changes nothing in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_repair_db(
    options: *const rocksdb_options_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let directory = path(name, "name")?;
        let options = plain_options(options)?;
        refuse_foreign(&options.env.fs, &directory)?;
        let repaired = Db::repair(&directory, options);
        repaired.map(drop).map_err(|error| open_error(error, &directory))
    });
}

/// Lists the families of a database that may be open elsewhere. It needs no comparator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_list_column_families(
    options: *const rocksdb_options_t,
    name: *const c_char,
    count: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut *mut c_char {
    let names = call(errptr, || {
        let directory = path(name, "name")?;
        let options = plain_options(options)?;
        let found = Db::list_keyspaces(&directory, options);
        let found = found.map_err(|error| read_error(error, &directory))?;
        let families = found.iter().filter(|own| !is_hidden(&own.name));
        Ok(by_number(families.map(|own| (&*own.name, stored_id(own.schema.as_deref())))))
    });
    let Some(names) = names else {
        store_len(count, 0);
        return ptr::null_mut();
    };
    store_len(count, names.len());
    let copies: Vec<*mut c_char> = names.iter().map(|name| text_copy(name)).collect();
    array_copy(&copies)
}

/// Returns the names of families in the order of their numbers, as RocksDB lists them.
pub(crate) fn in_order(db: &ReadOnlyDb) -> Outcome<Vec<String>> {
    let names = db.keyspaces();
    let stored = stored_ids(&names, |name| db.keyspace(name))?;
    Ok(by_number(stored))
}

fn by_number<'n>(families: impl IntoIterator<Item = (&'n str, Option<u32>)>) -> Vec<String> {
    let mut all: Vec<(u32, &str)> =
        numbers(families, 0).into_iter().map(|(name, id)| (id, name)).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, name)| name.to_owned()).collect()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_list_column_families_destroy(list: *mut *mut c_char, len: usize) {
    if list.is_null() {
        return;
    }
    for index in 0..len {
        libc::free((*list.add(index)).cast::<c_void>());
    }
    libc::free(list.cast::<c_void>());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_free(pointer: *mut c_void) {
    libc::free(pointer);
}
