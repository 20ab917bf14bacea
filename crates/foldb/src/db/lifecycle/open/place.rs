//! The directory of a database being opened: created if that is wanted, locked, and left as it was
//! found if the open fails.
//!
//! A lock file may be unlinked only by a caller that holds its lock: a lock counts only while its
//! file has the name (see [`FileSystem::lock`]), so a caller that waited for it looks again.

use std::io;
use std::path::{Path, PathBuf};

use foldb_env::{FileLock, FileSystem};

use crate::error::{Error, ErrorKind, Result};
use crate::files::FileNames;
use crate::options::Options;

/// How often a directory that another process removes meanwhile is created again.
const ATTEMPTS: usize = 100;

/// The directory of an open in progress.
pub(crate) struct Place<'a> {
    fs: &'a dyn FileSystem,
    names: &'a FileNames,
    /// Directories that were made for it, innermost first.
    made: Vec<PathBuf>,
    had_lock_file: bool,
    had_database: bool,
    /// Taken by the open when it has succeeded.
    pub(crate) lock: Option<Box<dyn FileLock>>,
}

impl<'a> Place<'a> {
    /// Takes the directory's lock, creating the directory if that is wanted.
    pub(crate) fn take(
        fs: &'a dyn FileSystem,
        names: &'a FileNames,
        options: &Options,
    ) -> Result<Place<'a>> {
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
        let is_missing =
            |directory: &&Path| !directory.as_os_str().is_empty() && !fs.exists(directory);
        let made = path.ancestors().take_while(is_missing).map(Path::to_owned).collect();
        let had_lock_file = fs.exists(&names.lock());
        let mut place = Place { fs, names, made, had_lock_file, had_database: true, lock: None };
        match place.create_and_lock() {
            Ok(()) => Ok(place),
            Err(error) => {
                place.leave_as_found();
                Err(error)
            }
        }
    }

    fn create_and_lock(&mut self) -> Result<()> {
        let path = self.names.directory();
        for attempt in 1.. {
            match self.fs.create_dir_all(path) {
                // It was removed while it was looked at.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
                    ) && attempt < ATTEMPTS =>
                {
                    continue;
                }
                made => made.map_err(|error| Error::io(path, "create the directory", &error))?,
            }
            match self.fs.lock(&self.names.lock()) {
                // The directory was removed in between.
                Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => {}
                outcome => {
                    let locked = outcome.map_err(|error| lock_error(self.names, &error))?;
                    self.lock = Some(locked);
                    break;
                }
            }
        }
        let current = self.names.current();
        let found = self.fs.try_exists(&current);
        self.had_database = found.map_err(|error| Error::io(&current, "read", &error))?;
        Ok(())
    }

    /// Removes what was made for an open that failed, and lets go of the lock.
    pub(crate) fn leave_as_found(mut self) {
        if self.lock.is_some() && !self.had_database {
            // Without CURRENT there is no database, whatever is left.
            for file in [self.names.current(), self.names.current_temporary()] {
                let _best_effort = self.fs.remove(&file);
            }
            if !self.had_lock_file {
                let _best_effort = self.fs.remove(&self.names.lock());
            }
        }
        self.lock = None;
        for directory in &self.made {
            // One with something in it is in use by now.
            if self.fs.remove_dir(directory).is_err() {
                break;
            }
        }
    }
}

/// Why no database is there, if none is.
///
/// # Errors
/// `InvalidArgument` for a file; `Io` where that cannot be told, for want of permission, say.
pub(crate) fn missing(fs: &dyn FileSystem, names: &FileNames) -> Result<Option<&'static str>> {
    let path = names.directory();
    let failed = |error| Error::io(path, "look into the directory", &error);
    match fs.len(path) {
        Ok(_) if !fs.is_dir(path) => {
            return Err(Error::invalid_argument("this is a file, not a database").in_file(path));
        }
        // The way to it may be a link.
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Some("there is no such directory"));
        }
        Err(error) => return Err(failed(error)),
    }
    let is_there = fs.try_exists(&names.current()).map_err(failed)?;
    Ok((!is_there).then_some("the directory holds no database"))
}

/// Takes the lock of a directory that is there.
pub(crate) fn lock(fs: &dyn FileSystem, names: &FileNames) -> Result<Box<dyn FileLock>> {
    fs.lock(&names.lock()).map_err(|error| lock_error(names, &error))
}

pub(crate) fn lock_error(names: &FileNames, error: &io::Error) -> Error {
    let path = names.lock();
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            Error::new(ErrorKind::Locked, "the database is open already; close it first")
                .in_file(&path)
        }
        _ => Error::io(&path, "lock", error),
    }
}
