//! Copies of a database: dumps, and directories of incremental backups.

use std::ffi::{c_char, c_void};
use std::fs::File;
use std::path::Path;

use foldb::backup::{BackupInfo, Backups};
use foldb::operators::check_output;
use foldb::{Db, Error, Options, Result};

use crate::boundary::{arg, call, check_out, path, store};
use crate::database::foldb_t;
use crate::error::{c_string, foldb_error_t};
use crate::options::{database_options, foldb_options_t};

/// Writes all keyspaces with their options and operators, and all entries, to a new file, as of one
/// moment. Writes go on meanwhile. The file has checksums, and every later version reads it. It
/// must not exist yet. It is durable when this returns. A call that fails removes it. A kill leaves
/// a part, which `foldb_restore` refuses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_dump(db: *const foldb_t, file: *const c_char) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (db, name) = unsafe { (arg(db, "db")?, path(file)?) };
        check_output(&name, &Options::default())?;
        let to = File::create_new(&name).map_err(|error| Error::io(&name, "create", &error))?;
        let dumped = db.db.dump(&to).map_err(|error| error.in_file(&name));
        let dumped =
            dumped.and_then(|()| to.sync_all().map_err(|error| Error::io(&name, "sync", &error)));
        dumped.and_then(|()| sync_parent(&name)).inspect_err(|_| {
            let _best_effort = std::fs::remove_file(&name);
        })
    })
}

/// Makes the name of a file durable, where directories can be synced.
fn sync_parent(file: &Path) -> Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let synced = File::open(parent).and_then(|directory| directory.sync_all());
    synced.map_err(|error| Error::io(parent, "sync the directory", &error))
}

/// Makes a new database in `directory` from a file of `foldb_dump`. Checks every checksum, and
/// compares all entries with the file at the end. The file gives the operator and the settings of
/// each keyspace. The options give operators, comparators and filter policies; NULL is the
/// defaults. A call that fails removes what it wrote. After a kill, `foldb_open` refuses the part
/// with `FOLDB_CORRUPTION`, and `foldb_destroy` removes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_restore(
    file: *const c_char,
    directory: *const c_char,
    options: *const foldb_options_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (name, directory) = unsafe { (path(file)?, path(directory)?) };
        // SAFETY: as above.
        let options = unsafe { database_options(options)? };
        let from = File::open(&name).map_err(|error| Error::io(&name, "open", &error))?;
        let restored = Db::restore(from, directory, options);
        restored.map(drop).map_err(|error| error.in_file(&name))
    })
}

/// A backup in a directory of backups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct foldb_backup_t {
    /// Its number in the directory, from 1 on. Later backups have larger numbers.
    pub id: u64,
    /// Files that a restore copies.
    pub files: u64,
    /// Bytes of those files.
    pub bytes: u64,
    /// Files that the directory did not have before this backup.
    pub new_files: u64,
    /// Bytes of those files.
    pub new_bytes: u64,
}

impl From<&BackupInfo> for foldb_backup_t {
    fn from(own: &BackupInfo) -> foldb_backup_t {
        let BackupInfo { id, files, bytes, new_files, new_bytes, .. } = *own;
        foldb_backup_t { id, files, bytes, new_files, new_bytes }
    }
}

/// Names a directory of backups. The options give the environment.
///
/// # Safety
/// The C program keeps the rules of the header.
unsafe fn at(directory: *const c_char, options: *const foldb_options_t) -> Result<Backups> {
    // SAFETY: as the caller promises.
    let (directory, options) = unsafe { (path(directory)?, database_options(options)?) };
    Ok(Backups::at(directory, &options))
}

/// Stores a backup in `*backup`, unless that is NULL.
///
/// # Safety
/// The C program keeps the rules of the header.
unsafe fn tell(own: &BackupInfo, backup: *mut foldb_backup_t) {
    if !backup.is_null() {
        // SAFETY: not NULL, and as the caller promises.
        unsafe { store(backup, own.into()) };
    }
}

/// Backs up an open database in a directory of backups, as of one moment. Copies only the tables
/// and segments that the directory lacks, and creates the directory if it is missing. Writes go on
/// meanwhile. Stores the backup in `*backup`, unless that is NULL. The options give the environment
/// of the directory; NULL is the operating system. It is durable when this returns. Fails with
/// `FOLDB_LOCKED` while another process changes the directory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_backup_create(
    db: *const foldb_t,
    directory: *const c_char,
    options: *const foldb_options_t,
    backup: *mut foldb_backup_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (db, backups) = unsafe { (arg(db, "db")?, at(directory, options)?) };
        let made = backups.create(db.db.to_change()?)?;
        // SAFETY: the caller keeps the rules of the header.
        unsafe { tell(&made, backup) };
        Ok(())
    })
}

/// Receives a backup, which lives during the call. Must return: no `longjmp`, no exception.
pub type foldb_backup_fn =
    Option<unsafe extern "C" fn(state: *mut c_void, backup: *const foldb_backup_t)>;

/// Passes each backup of a directory to `receive`, with `state`, on the calling thread, the oldest
/// first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_backup_list(
    directory: *const c_char,
    options: *const foldb_options_t,
    receive: foldb_backup_fn,
    state: *mut c_void,
) -> *mut foldb_error_t {
    call(|| {
        let receive = receive.ok_or_else(|| Error::invalid_argument("receive is NULL"))?;
        // SAFETY: the caller keeps the rules of the header.
        for own in &unsafe { at(directory, options)? }.list()? {
            // SAFETY: the program's function keeps the rules of the header; the backup lives.
            unsafe { receive(state, &own.into()) };
        }
        Ok(())
    })
}

/// Reads every file of all backups of a directory. Stores in `*faults` the number of faults, and in
/// `*report`, unless that is NULL, a text with a line for each fault; free it with
/// `foldb_string_free`. Changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_backup_verify(
    directory: *const c_char,
    options: *const foldb_options_t,
    faults: *mut usize,
    report: *mut *mut c_char,
) -> *mut foldb_error_t {
    call(|| {
        check_out(faults, "faults")?;
        // SAFETY: the caller keeps the rules of the header.
        let found = unsafe { at(directory, options)? }.verify()?.faults;
        let lines: String = found.iter().map(|fault| format!("{fault}\n")).collect();
        if !report.is_null() {
            // SAFETY: not NULL, and the caller keeps the rules of the header.
            unsafe { store(report, c_string(&lines).into_raw()) };
        }
        // SAFETY: checked above.
        unsafe { store(faults, found.len()) };
        Ok(())
    })
}

/// Makes a new database in `to` of a backup; of the newest if `id` is 0. `to` must be empty or not
/// exist. Checks every byte. Stores the backup in `*backup`, unless that is NULL. The new database
/// is durable when this returns; a kill leaves it whole or absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_backup_restore(
    directory: *const c_char,
    id: u64,
    to: *const c_char,
    options: *const foldb_options_t,
    backup: *mut foldb_backup_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (backups, to) = unsafe { (at(directory, options)?, path(to)?) };
        let restored = backups.restore((id > 0).then_some(id), to)?;
        // SAFETY: the caller keeps the rules of the header.
        unsafe { tell(&restored, backup) };
        Ok(())
    })
}

/// Deletes a backup, and each shared file that no other backup names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_backup_delete(
    directory: *const c_char,
    id: u64,
    options: *const foldb_options_t,
) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    call(|| unsafe { at(directory, options)? }.delete(id))
}
