//! Removes a database.

use std::io;
use std::path::Path;

use foldb_env::FileSystem;

use crate::db::lifecycle::open::{check_platform, lock_error};
use crate::error::{Error, ErrorKind, Result};
use crate::files::{FileKind, FileNames, refuse_foreign};
use crate::options::Options;
use crate::version::refuse_other_manifest;

/// Removes a database: its own files, and the directory if nothing else is in it. Files that
/// another engine wrote under the same names stay.
pub(crate) fn destroy(path: &Path, options: &Options) -> Result<()> {
    check_platform()?;
    let fs = &*options.env.fs;
    let names = FileNames::at(fs, path)?;
    let path = names.directory();
    match destroy_known(fs, path) {
        // Another process removed the database first.
        Err(error) if error.kind() == ErrorKind::Io && matches!(fs.try_exists(path), Ok(false)) => {
            Ok(())
        }
        destroyed => destroyed,
    }
}

fn destroy_known(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let names = FileNames::new(path);
    let failed = |error| Error::io(path, "read the directory", &error);
    if !fs.try_exists(path).map_err(failed)? || !fs.is_dir(path) {
        return Ok(());
    }
    refuse_foreign(fs, &names)?;
    if known_in(fs, path)?.0.is_empty() {
        return Ok(());
    }
    match refuse_other_manifest(fs, &names) {
        // The error may be temporary. If not, the check below reports it again.
        Err(error) if error.kind() == ErrorKind::Io => {}
        checked => checked?,
    }
    let lock = match fs.lock(&names.lock()) {
        // Another process removed the directory.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        locked => locked.map_err(|error| lock_error(&names, &error))?,
    };
    // Another process may have held the lock until now, so the directory is listed only now.
    refuse_other_manifest(fs, &names)?;
    let (known, is_all) = known_in(fs, path)?;
    // The close record is removed first, because it says that the database exists. CURRENT is
    // removed next: without it there is no database. LOCK is removed last: until then no other
    // process creates a database here.
    let rank = |name: &str| match name {
        "CLOSED" => 0,
        "CURRENT" => 1,
        "LOCK" => 3,
        _ => 2,
    };
    for rank_now in 0..=3 {
        for name in known.iter().filter(|name| rank(name) == rank_now) {
            let file = path.join(name);
            match fs.remove(&file) {
                // A file system that only grows removes the remains of a rename by itself.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.map_err(|error| Error::io(&file, "remove", &error))?,
            }
        }
        if rank_now == 1 {
            // After a crash, files that are removed later may remain, but CURRENT does not return.
            fs.sync_dir(path).map_err(|error| Error::io(path, "sync the directory", &error))?;
        }
    }
    drop(lock);
    if is_all {
        match fs.remove_dir(path) {
            // Another process created a database here, or removed the directory.
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

/// Returns the names of a database's files in a directory, and whether it holds no other files.
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
