//! Opening: take the lock, read the manifest, replay the logs, begin anew.
//!
//! Opening never repairs: what is missing or damaged is an error that names it. It never appends to
//! a file that an earlier open created, either: what the logs hold goes into tables, which become part
//! of the trees by the first edit of a new manifest; that edit also says that the old logs are not
//! needed (H5), so that a crash at any moment replays them once or not at all.
//!
//! [`stored`] is what the manifest says, [`files`] what the directory holds, [`opening`] makes a
//! database of both; [`read_only`] makes one that is only looked at, also while another process writes
//! to it; [`repair`] makes one of what is left.

mod files;
mod opening;
mod read_only;
mod repair;
mod stored;

use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileLock, FileSystem};

use crate::db::core::Core;
use crate::db::open::opening::Opening;
use crate::db::open::stored::Stored;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Options;
use crate::runtime::Runtime;
use crate::version::{FileKind, FileNames, Manifest, refuse_foreign};

pub(crate) use read_only::open_read_only;
pub(crate) use repair::repair;
pub use repair::{CutLog, LogCut, LostRange, LostTable, RepairOptions, RepairReport};

/// Opens a database, with its workers not started yet.
pub(crate) fn open(path: &Path, options: Options) -> Result<Arc<Core>> {
    options.validate()?;
    let runtime = runtime_of(&options);
    let options = options.fitted(&runtime.ledger().shares);
    let names = FileNames::new(path);
    let fs = Arc::clone(&options.env.fs);
    if fs.exists(&names.current()) && !fs.exists(&names.lock()) {
        // Whatever this is, it is no database that was ever open: leave no lock file in it.
        Manifest::recover(&*fs, &names)?;
    }
    let lock = lock_directory(&*fs, &names, &options)?;
    let stored = match Manifest::recover(&*fs, &names)? {
        Some(_) if options.error_if_exists => {
            return Err(
                Error::new(ErrorKind::DatabaseExists, "a database is already here").in_file(path)
            );
        }
        Some(recovered) => Stored::recover(recovered, &options, &names)?,
        None => Stored::create(&options),
    };
    Opening { options, names, fs, lock, stored, runtime }.finish()
}

/// The runtime that the caller gave, or one of the database's own.
fn runtime_of(options: &Options) -> Runtime {
    match &options.runtime {
        Some(shared) => shared.clone(),
        None => Runtime::with_shares(options.memory_shares(), Arc::clone(&options.env.threads)),
    }
}

/// Removes a database: the files it knows, and the directory if nothing else is in it. What another
/// engine wrote under the same names stays.
pub(crate) fn destroy(path: &Path, options: &Options) -> Result<()> {
    let names = FileNames::new(path);
    let fs = &*options.env.fs;
    if !fs.is_dir(path) {
        return Ok(());
    }
    let list = fs.list(path).map_err(|error| Error::io(path, "list", &error))?;
    let known: Vec<_> = list.iter().filter(|name| FileKind::parse(name).is_some()).collect();
    if known.is_empty() {
        return Ok(());
    }
    refuse_foreign(fs, &names)?;
    let lock = lock(fs, &names)?;
    // CURRENT goes first: without it there is no database, whatever is left.
    for name in known.iter().filter(|name| **name == "CURRENT").chain(&known) {
        let file = path.join(name);
        if fs.exists(&file) {
            fs.remove(&file).map_err(|error| Error::io(&file, "remove", &error))?;
        }
    }
    drop(lock);
    if known.len() == list.len() {
        fs.remove_dir(path).map_err(|error| Error::io(path, "remove", &error))?;
    }
    Ok(())
}

/// Takes the lock of a database's directory, creating it if that is wanted.
fn lock_directory(
    fs: &dyn FileSystem,
    names: &FileNames,
    options: &Options,
) -> Result<Box<dyn FileLock>> {
    let path = names.directory();
    if let Some(why) = missing(fs, names)?
        && !options.create_if_missing
    {
        return Err(Error::new(
            ErrorKind::DatabaseMissing,
            format!("{why}; set create_if_missing to create a database"),
        )
        .in_file(path));
    }
    fs.create_dir_all(path).map_err(|error| Error::io(path, "create the directory", &error))?;
    lock(fs, names)
}

/// Why no database is there, if none is.
///
/// # Errors
/// `InvalidArgument` for a file.
fn missing(fs: &dyn FileSystem, names: &FileNames) -> Result<Option<&'static str>> {
    let path = names.directory();
    if fs.exists(path) && !fs.is_dir(path) {
        return Err(Error::invalid_argument("this is a file, not a database").in_file(path));
    }
    Ok(match fs.exists(&names.current()) {
        true => None,
        false if fs.exists(path) => Some("the directory holds no database"),
        false => Some("there is no such directory"),
    })
}

pub(crate) fn lock(fs: &dyn FileSystem, names: &FileNames) -> Result<Box<dyn FileLock>> {
    let path = names.lock();
    fs.lock(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => {
            Error::new(ErrorKind::Locked, "the database is open already; close it first")
                .in_file(&path)
        }
        _ => Error::io(&path, "lock", &error),
    })
}
