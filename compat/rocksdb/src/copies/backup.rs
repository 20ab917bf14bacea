//! The backup engine, over the engine's directories of backups.
//!
//! A backup of RocksDB has a number of 32 bits that rises from 1, and so has one of the engine.

use std::ffi::{c_char, c_int, c_uchar};
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::UNIX_EPOCH;

use foldb::Options;
use foldb::backup::{BackupInfo, Backups};

use crate::boundary::{arg, arg_mut, call, free, handle, path};
use crate::database::close::{destroy, refuse_foreign};
use crate::database::rocksdb_t;
use crate::objects::environment::rocksdb_env_t;
use crate::options::rocksdb_options_t;
use crate::options::values::{made_and_freed, values};
use crate::status::{Code, Outcome, Status};

/// RocksDB: `BackupEngine`.
pub struct rocksdb_backup_engine_t {
    backups: Backups,
    options: Options,
}

/// RocksDB: the `BackupInfo`s of all backups, the oldest first.
pub struct rocksdb_backup_engine_info_t {
    all: Vec<(BackupInfo, i64)>,
}

/// RocksDB: `BackupEngineOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_backup_engine_options_t {
    values: BackupValues,
    directory: PathBuf,
    env: Option<foldb::env::Env>,
}

/// RocksDB: `RestoreOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_restore_options_t {
    values: RestoreValues,
}

made_and_freed! {
    rocksdb_restore_options_t: rocksdb_restore_options_create, rocksdb_restore_options_destroy;
}

values! {
    /// Plain values of a [`rocksdb_restore_options_t`].
    RestoreValues of rocksdb_restore_options_t {
        keep_log_files: c_int = 0, rocksdb_restore_options_set_keep_log_files(c_int);
    }
}
values! {
    /// Plain values of a [`rocksdb_backup_engine_options_t`].
    BackupValues of rocksdb_backup_engine_options_t {
        share_table_files: c_uchar = 1,
            rocksdb_backup_engine_options_set_share_table_files(c_uchar),
            rocksdb_backup_engine_options_get_share_table_files;
        sync: c_uchar = 1,
            rocksdb_backup_engine_options_set_sync(c_uchar),
            rocksdb_backup_engine_options_get_sync;
        destroy_old_data: c_uchar = 0,
            rocksdb_backup_engine_options_set_destroy_old_data(c_uchar),
            rocksdb_backup_engine_options_get_destroy_old_data;
        backup_log_files: c_uchar = 1,
            rocksdb_backup_engine_options_set_backup_log_files(c_uchar),
            rocksdb_backup_engine_options_get_backup_log_files;
        backup_rate_limit: u64 = 0,
            rocksdb_backup_engine_options_set_backup_rate_limit(u64),
            rocksdb_backup_engine_options_get_backup_rate_limit;
        restore_rate_limit: u64 = 0,
            rocksdb_backup_engine_options_set_restore_rate_limit(u64),
            rocksdb_backup_engine_options_get_restore_rate_limit;
        max_background_operations: c_int = 1,
            rocksdb_backup_engine_options_set_max_background_operations(c_int),
            rocksdb_backup_engine_options_get_max_background_operations;
        callback_trigger_interval_size: u64 = 4 << 20,
            rocksdb_backup_engine_options_set_callback_trigger_interval_size(u64),
            rocksdb_backup_engine_options_get_callback_trigger_interval_size;
        max_valid_backups_to_open: c_int = 0x7fff_ffff,
            rocksdb_backup_engine_options_set_max_valid_backups_to_open(c_int),
            rocksdb_backup_engine_options_get_max_valid_backups_to_open;
        share_files_with_checksum_naming: c_int = -2147483646,
            rocksdb_backup_engine_options_set_share_files_with_checksum_naming(c_int),
            rocksdb_backup_engine_options_get_share_files_with_checksum_naming;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_options_create(
    directory: *const c_char,
) -> *mut rocksdb_backup_engine_options_t {
    handle(rocksdb_backup_engine_options_t {
        directory: path(directory, "backup_dir").unwrap_or_default(),
        ..rocksdb_backup_engine_options_t::default()
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_options_destroy(
    options: *mut rocksdb_backup_engine_options_t,
) {
    free(options);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_options_set_backup_dir(
    options: *mut rocksdb_backup_engine_options_t,
    directory: *const c_char,
) {
    (*options).directory = path(directory, "backup_dir").unwrap_or_default();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_options_set_env(
    options: *mut rocksdb_backup_engine_options_t,
    env: *mut rocksdb_env_t,
) {
    (*options).env = env.as_ref().map(|own| own.0.for_engine());
}

impl rocksdb_backup_engine_t {
    /// Opens a directory of backups, and makes it where there is none.
    fn open(directory: &Path, options: Options) -> Outcome<*mut rocksdb_backup_engine_t> {
        if let Err(error) = options.env.fs.create_dir_all(directory) {
            let shown = directory.display();
            return Err(Status::new(Code::IoError, format!("{shown}: {error}")));
        }
        let backups = Backups::at(directory, &options);
        backups.list()?;
        Ok(handle(rocksdb_backup_engine_t { backups, options }))
    }

    fn create(&self, db: &rocksdb_t, flushes: bool) -> Outcome<()> {
        let db = db.database.writable()?;
        if flushes {
            db.flush()?;
        }
        self.backups.create(db)?;
        Ok(())
    }

    /// # Errors
    /// `NotFound` without this backup; `None` is any.
    fn check_exists(&self, id: Option<u32>) -> Outcome<()> {
        let all = self.backups.list()?;
        if all.iter().any(|backup| id.is_none_or(|id| backup.id == u64::from(id))) {
            return Ok(());
        }
        Err(Status::not_found("Backup not found"))
    }

    /// Replaces what a directory holds by a backup; `None` is the newest.
    fn restore(&self, id: Option<u32>, directory: &Path) -> Outcome<()> {
        refuse_foreign(&self.options.env.fs, directory)?;
        self.check_exists(id)?;
        destroy(directory, &self.options)?;
        self.backups.restore(id.map(u64::from), directory)?;
        Ok(())
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_open(
    options: *const rocksdb_options_t,
    directory: *const c_char,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_backup_engine_t {
    let opened = call(errptr, || {
        let env = arg(options, "options")?.env.as_ref().map(|env| env.for_engine());
        let options = Options { env: env.unwrap_or_default(), ..Options::default() };
        rocksdb_backup_engine_t::open(&path(directory, "path")?, options)
    });
    opened.unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_open_opts(
    options: *const rocksdb_backup_engine_options_t,
    env: *mut rocksdb_env_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_backup_engine_t {
    let opened = call(errptr, || {
        let own = arg(options, "options")?;
        let env = own.env.clone().or_else(|| env.as_ref().map(|env| env.0.for_engine()));
        let options = Options { env: env.unwrap_or_default(), ..Options::default() };
        rocksdb_backup_engine_t::open(&own.directory, options)
    });
    opened.unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_close(engine: *mut rocksdb_backup_engine_t) {
    free(engine);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_create_new_backup(
    engine: *mut rocksdb_backup_engine_t,
    db: *mut rocksdb_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg(engine, "be")?.create(arg(db, "db")?, false));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_create_new_backup_flush(
    engine: *mut rocksdb_backup_engine_t,
    db: *mut rocksdb_t,
    flushes: c_uchar,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg(engine, "be")?.create(arg(db, "db")?, flushes != 0));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_purge_old_backups(
    engine: *mut rocksdb_backup_engine_t,
    keep: u32,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let backups = &arg_mut(engine, "be")?.backups;
        let all = backups.list()?;
        let old = all.len().saturating_sub(keep as usize);
        for backup in &all[..old] {
            backups.delete(backup.id)?;
        }
        Ok(())
    });
}

/// Verifies the whole directory: backups share files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_verify_backup(
    engine: *mut rocksdb_backup_engine_t,
    id: u32,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let own = arg(engine, "be")?;
        own.check_exists(Some(id))?;
        match own.backups.verify()?.faults.first() {
            None => Ok(()),
            Some(fault) => Err(Status::new(Code::Corruption, fault.to_string())),
        }
    });
}

/// The logs lie beside the tables, so `wal_dir` must be the directory of the database.
unsafe fn restore(
    engine: *mut rocksdb_backup_engine_t,
    id: Option<u32>,
    directory: *const c_char,
    wal_directory: *const c_char,
) -> Outcome<()> {
    let (directory, logs) = (path(directory, "db_dir")?, path(wal_directory, "wal_dir")?);
    if logs != directory && !logs.as_os_str().is_empty() {
        return Err(Status::unsupported("a wal_dir other than the directory of the database"));
    }
    arg(engine, "be")?.restore(id, &directory)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_restore_db_from_latest_backup(
    engine: *mut rocksdb_backup_engine_t,
    directory: *const c_char,
    wal_directory: *const c_char,
    _options: *const rocksdb_restore_options_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || restore(engine, None, directory, wal_directory));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_restore_db_from_backup(
    engine: *mut rocksdb_backup_engine_t,
    directory: *const c_char,
    wal_directory: *const c_char,
    _options: *const rocksdb_restore_options_t,
    id: u32,
    errptr: *mut *mut c_char,
) {
    call(errptr, || restore(engine, Some(id), directory, wal_directory));
}

/// Returns when a backup was made, in seconds since 1970; 0 if the file system does not tell.
fn made_at(backups: &Backups, id: u64) -> i64 {
    let record = backups.path().join(format!("{id:06}.backup"));
    let modified = std::fs::metadata(record).and_then(|record| record.modified()).ok();
    let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_get_backup_info(
    engine: *mut rocksdb_backup_engine_t,
) -> *const rocksdb_backup_engine_info_t {
    let backups = &(*engine).backups;
    let all = backups.list().unwrap_or_default();
    let all = all.into_iter().map(|backup| {
        let made = made_at(backups, backup.id);
        (backup, made)
    });
    handle(rocksdb_backup_engine_info_t { all: all.collect() })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_info_destroy(
    info: *const rocksdb_backup_engine_info_t,
) {
    free(info.cast_mut());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_info_count(
    info: *const rocksdb_backup_engine_info_t,
) -> c_int {
    c_int::try_from((&(*info).all).len()).unwrap_or(c_int::MAX)
}

unsafe fn of_backup<T: Default>(
    info: *const rocksdb_backup_engine_info_t,
    index: c_int,
    tell: impl FnOnce(&(BackupInfo, i64)) -> T,
) -> T {
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    (&(*info).all).get(index).map(tell).unwrap_or_default()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_info_timestamp(
    info: *const rocksdb_backup_engine_info_t,
    index: c_int,
) -> i64 {
    of_backup(info, index, |(_, made)| *made)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_info_backup_id(
    info: *const rocksdb_backup_engine_info_t,
    index: c_int,
) -> u32 {
    of_backup(info, index, |(backup, _)| u32::try_from(backup.id).unwrap_or(u32::MAX))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_info_size(
    info: *const rocksdb_backup_engine_info_t,
    index: c_int,
) -> u64 {
    of_backup(info, index, |(backup, _)| backup.bytes)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_backup_engine_info_number_files(
    info: *const rocksdb_backup_engine_info_t,
    index: c_int,
) -> u32 {
    of_backup(info, index, |(backup, _)| u32::try_from(backup.files).unwrap_or(u32::MAX))
}
