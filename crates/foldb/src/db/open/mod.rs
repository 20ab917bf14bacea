//! Opening: take the lock, read the manifest, replay the logs, begin anew.
//!
//! Opening never repairs: what is missing or damaged is an error that names it. It never appends to
//! a file that an earlier open created, either: what the logs hold goes into tables, which become
//! part of the trees by the first edit of a new manifest; that edit also says that the old logs are
//! not needed (H5), so that a crash at any moment replays them once or not at all.
//!
//! An open that fails leaves nothing behind: a full disk must not fill with attempts.
//!
//! [`place`] is the directory and its lock, [`stored`] what the manifest says, [`files`] what the
//! directory holds, [`opening`] makes a database of them; [`read_only`] makes one that is only
//! looked at, also while another process writes to it; [`repair`] makes one of what is left,
//! [`verify`] checks all there is.

mod files;
mod opening;
mod place;
mod read_only;
mod repair;
mod stored;
mod verify;

use std::io;
use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileSystem, UnmappedFs};

use crate::db::core::Core;
use crate::db::open::opening::Opening;
use crate::db::open::place::{Place, lock_error};
use crate::db::open::stored::Stored;
use crate::error::{Error, ErrorKind, Result};
use crate::files::{FileKind, FileNames};
use crate::options::Options;
use crate::runtime::Runtime;
use crate::user_code::guarded;
use crate::version::{CloseRecord, Manifest, refuse_foreign};

pub(crate) use files::missing_log;
pub(crate) use place::lock;
pub(crate) use read_only::open_read_only;
pub(crate) use repair::repair;
pub use repair::{CutLog, LogCut, LostRange, LostTable, RepairOptions, RepairReport};
pub(crate) use verify::verify;
pub use verify::{VerifiedFile, VerifyProgress, VerifyReport};

/// Opens a database, with its workers not started yet.
pub(crate) fn open(path: &Path, options: Options) -> Result<Arc<Core>> {
    options.validate()?;
    let runtime = runtime_of(&options);
    let mut options = options.fitted(&runtime.ledger().shares);
    if !options.map_log {
        options.env.fs = Arc::new(UnmappedFs::new(options.env.fs));
    }
    let names = FileNames::new(path);
    let fs = Arc::clone(&options.env.fs);
    if fs.exists(&names.current()) && !fs.exists(&names.lock()) {
        // Whatever this is, it is no database that was ever open: leave no lock file in it.
        let recovered = Manifest::recover(&*fs, &names, None);
        if !fs.exists(&names.lock()) {
            recovered?;
        }
    }
    let mut place = Place::take(&*fs, &names, &options)?;
    let opened = open_at(&mut place, options, &names, &fs, runtime);
    if opened.is_err() {
        place.leave_as_found();
    }
    opened
}

/// Opens the database of a directory that is locked.
fn open_at(
    place: &mut Place<'_>,
    options: Options,
    names: &FileNames,
    fs: &Arc<dyn FileSystem>,
    runtime: Runtime,
) -> Result<Arc<Core>> {
    let closed = CloseRecord::read(&**fs, names)?;
    let stored = match Manifest::recover(&**fs, names, closed.as_ref())? {
        Some(_) if options.error_if_exists => {
            let error = Error::new(ErrorKind::DatabaseExists, "a database is already here");
            return Err(error.in_file(names.directory()));
        }
        Some(recovered) => Stored::recover(recovered, &options, names)?,
        None => Stored::create(&options),
    };
    let (names, fs, lock) = (names.clone(), Arc::clone(fs), &mut place.lock);
    Opening { options, names, fs, lock, stored, closed, runtime }.finish()
}

/// Does what shows stored keys to comparators of the caller's, which may panic over them.
///
/// # Errors
/// `ComparatorFailed`, and those of the work.
pub(crate) fn with_comparators<T>(
    options: &Options,
    doing: &str,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let all = std::iter::once(&options.comparator).chain(&options.comparators);
    let custom: Vec<&str> = all.filter(|own| !own.bytewise_order()).map(|own| own.name()).collect();
    if custom.is_empty() {
        return work();
    }
    guarded(work).unwrap_or_else(|panic| {
        Err(Error::new(
            ErrorKind::ComparatorFailed,
            format!(
                "{doing} panicked ({panic}): a comparator ('{}') panics over stored keys, or is no \
                 total order of them; give one that is",
                custom.join("', '")
            ),
        ))
    })
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
    let fs = &*options.env.fs;
    match destroy_known(fs, path) {
        // Another process that did the same was faster.
        Err(error) if error.kind() == ErrorKind::Io && matches!(fs.try_exists(path), Ok(false)) => {
            Ok(())
        }
        destroyed => destroyed,
    }
}

fn destroy_known(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let names = FileNames::new(path);
    let failed = |error| Error::io(path, "look into the directory", &error);
    if !fs.try_exists(path).map_err(failed)? || !fs.is_dir(path) || known_in(fs, path)?.0.is_empty()
    {
        return Ok(());
    }
    match refuse_foreign(fs, &names) {
        // It may be of the moment, and is told again below if it is not.
        Err(error) if error.kind() == ErrorKind::Io => {}
        checked => checked?,
    }
    let lock = match fs.lock(&names.lock()) {
        // Another process has removed the directory.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        locked => locked.map_err(|error| lock_error(&names, &error))?,
    };
    // Another process may have had the lock until now: what is here is looked at only now.
    refuse_foreign(fs, &names)?;
    let (known, is_all) = known_in(fs, path)?;
    // CURRENT goes first: without it there is no database, whatever is left. Before it goes what
    // says that there is one. LOCK goes last: until then no other process begins a database here.
    let rank = |name: &str| match name {
        "CLOSED" => 0,
        "CURRENT" => 1,
        "LOCK" => 3,
        _ => 2,
    };
    for rank_now in 0..=3 {
        for name in known.iter().filter(|name| rank(name) == rank_now) {
            let file = path.join(name);
            fs.remove(&file).map_err(|error| Error::io(&file, "remove", &error))?;
        }
        if rank_now == 1 {
            // A crash may keep what goes later, but nothing that went without it.
            fs.sync_dir(path).map_err(|error| Error::io(path, "sync the directory", &error))?;
        }
    }
    drop(lock);
    if is_all {
        match fs.remove_dir(path) {
            // Another process has begun a database here, or removed this one again.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound
                ) => {}
            removed => removed.map_err(|error| Error::io(path, "remove", &error))?,
        }
    }
    Ok(())
}

/// The names of a database's files in a directory, and whether there are no others.
fn known_in(fs: &dyn FileSystem, path: &Path) -> Result<(Vec<String>, bool)> {
    let mut names = match fs.list(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(|error| Error::io(path, "list", &error))?,
    };
    let all = names.len();
    names.retain(|name| FileKind::parse(name).is_some());
    let is_all = names.len() == all;
    Ok((names, is_all))
}
