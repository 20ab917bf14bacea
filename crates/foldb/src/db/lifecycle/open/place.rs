//! The directory of a database that is being opened: created if the options say so, locked, and
//! restored if the open fails.
//!
//! Only a caller that holds the lock may unlink a lock file. A lock is valid only while `LOCK`
//! still names the locked file (see [`FileSystem::lock`]), so a caller that waited for the lock
//! checks again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb_env::{FileLock, FileSystem, HeldFs};

use crate::error::{Error, ErrorKind, Result};
use crate::files::{Content, FileKind, FileNames, Proof, may_be_there, remove, remove_empty};
use crate::options::Options;

/// How often the open tries to create a directory that another process keeps removing.
const ATTEMPTS: usize = 100;

/// The directory of an open in progress.
pub(crate) struct Place<'a> {
    fs: &'a dyn FileSystem,
    names: &'a FileNames,
    /// Directories that this open created, innermost first.
    made: Vec<PathBuf>,
    had_lock_file: bool,
    had_database: bool,
    /// Taken by the open when it succeeds.
    pub(crate) lock: Option<Box<dyn FileLock>>,
}

impl<'a> Place<'a> {
    /// Takes the directory's lock. Creates the directory first if the options say so.
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
            |directory: &&Path| !directory.as_os_str().is_empty() && !may_be_there(fs, directory);
        let made = path.ancestors().take_while(is_missing).map(Path::to_owned).collect();
        let had_lock_file = may_be_there(fs, &names.lock());
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
                // Another process removed the directory in the meantime.
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
                // Another process removed the directory in between.
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

    /// Removes the files of an open that failed, and releases the lock.
    pub(crate) fn leave_as_found(mut self) {
        if self.lock.is_some() && !self.had_database {
            // Without CURRENT, remaining files are no database.
            for kind in [FileKind::Current, FileKind::Temporary] {
                let file = self.names.of(kind);
                if let Some(content) = Content::read(self.fs, &file, kind) {
                    let _best_effort = remove(self.fs, &file, Proof::Content(&content));
                }
            }
            if !self.had_lock_file {
                let _best_effort = remove(self.fs, &self.names.lock(), Proof::Written);
            }
        }
        self.lock = None;
        for directory in &self.made {
            // A directory that is not empty is in use by now.
            if remove_empty(self.fs, directory).is_err() {
                break;
            }
        }
    }
}

/// Returns why the directory holds no database, or `None` if it holds one.
///
/// # Errors
/// `InvalidArgument` if the path is a file. `Io` if the directory cannot be read, for example
/// without permission.
pub(crate) fn missing(fs: &dyn FileSystem, names: &FileNames) -> Result<Option<&'static str>> {
    let path = names.directory();
    let failed = |error| Error::io(path, "read the directory", &error);
    match fs.len(path) {
        Ok(_) if !fs.is_dir(path) => {
            return Err(Error::invalid_argument("this is a file, not a database").in_file(path));
        }
        // The path may be a link to a directory.
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

/// A locked directory.
#[derive(Debug)]
pub(crate) struct Locked {
    pub(crate) lock: Box<dyn FileLock>,
    /// The file system for the holder of the lock: see [`held_by`].
    pub(crate) fs: Arc<dyn FileSystem>,
}

/// Takes the lock of an existing directory.
pub(crate) fn lock(fs: &Arc<dyn FileSystem>, names: &FileNames) -> Result<Locked> {
    let lock = fs.lock(&names.lock()).map_err(|error| lock_error(names, &error))?;
    let fs = held_by(&*lock, fs, names.directory());
    Ok(Locked { lock, fs })
}

/// Returns the file system for the holder of a directory's lock. Its calls fail with
/// `DirectoryLost` if another directory came to the path, and change nothing there.
pub(crate) fn held_by(
    lock: &dyn FileLock,
    fs: &Arc<dyn FileSystem>,
    directory: &Path,
) -> Arc<dyn FileSystem> {
    match lock.place() {
        Some(place) => Arc::new(HeldFs::new(Arc::clone(fs), directory, place)),
        None => Arc::clone(fs),
    }
}

pub(crate) fn lock_error(names: &FileNames, error: &io::Error) -> Error {
    let path = names.lock();
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            Error::new(ErrorKind::Locked, "the database is already open; close it first")
                .in_file(&path)
        }
        _ => Error::io(&path, "lock", error),
    }
}
