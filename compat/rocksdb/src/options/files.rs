//! The `OPTIONS` file of a database: `OPTIONS-000007`, in the directory of the database.
//!
//! Programs and tools look for the newest one. The engine neither knows it nor removes it. This
//! library writes a new one where the options differ, and then removes the older ones.
//!
//! Invariant: a crash leaves a whole file. The first line tells it from one of RocksDB.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb::env::{Env, FileSystem};

use crate::options::rocksdb_options_t;
use crate::options::stored::MARK;
use crate::status::{Code, Status};

/// What the name begins with. Its number follows.
const PREFIX: &str = "OPTIONS-";

/// The file of an identity.
pub(crate) const IDENTITY: &str = "IDENTITY";

/// A file that is not finished. The next one takes its place.
const UNFINISHED: &str = "OPTIONS.tmp";

/// Returns the files of options in a directory, the newest last.
fn all(fs: &dyn FileSystem, directory: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let names = match fs.list(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        listed => listed?,
    };
    let number = |name: &str| name.strip_prefix(PREFIX)?.parse::<u32>().ok();
    let found = names.iter().filter_map(|name| Some((number(name)?, directory.join(name))));
    let found = found.filter(|(_, path)| !fs.is_dir(path));
    let mut found: Vec<_> = found.collect();
    found.sort_unstable();
    Ok(found)
}

/// Returns whether this library wrote a file of options.
fn is_own(fs: &dyn FileSystem, path: &Path) -> bool {
    fs.read(path).is_ok_and(|bytes| bytes.starts_with(MARK.as_bytes()))
}

/// Returns the files that this library wrote, the newest last.
fn own(fs: &dyn FileSystem, directory: &Path) -> io::Result<Vec<PathBuf>> {
    let found = all(fs, directory)?.into_iter().map(|(_, path)| path);
    Ok(found.filter(|path| is_own(fs, path)).collect())
}

/// Returns the text of the newest file that this library wrote.
///
/// # Errors
/// Fails if the file system does.
pub(crate) fn newest(fs: &dyn FileSystem, directory: &Path) -> io::Result<Option<String>> {
    let Some(path) = own(fs, directory)?.pop() else { return Ok(None) };
    Ok(Some(String::from_utf8_lossy(&fs.read(&path)?).into_owned()))
}

/// Returns whether a directory has a file of options that this library did not write. It may be
/// RocksDB's, or damaged.
pub(crate) fn has_foreign(fs: &dyn FileSystem, directory: &Path) -> bool {
    let found = all(fs, directory).unwrap_or_default();
    found.iter().any(|(_, path)| !is_own(fs, path))
}

/// Removes this library's files of options, the identity, and then the directory if nothing else
/// is in it.
///
/// # Errors
/// Fails if the file system does.
pub(crate) fn remove_all(fs: &dyn FileSystem, directory: &Path) -> io::Result<()> {
    let found = own(fs, directory)?;
    found.iter().try_for_each(|path| fs.remove(path))?;
    if found.is_empty() {
        return Ok(());
    }
    for path in [directory.join(IDENTITY), directory.join(UNFINISHED)] {
        if fs.exists(&path) {
            fs.remove(&path)?;
        }
    }
    if fs.list(directory)?.is_empty() && !fs.is_link(directory) {
        fs.remove_dir(directory)?;
    }
    Ok(())
}

/// Stores a text as the newest file, unless it is that already.
pub(crate) fn store(fs: &dyn FileSystem, directory: &Path, text: &str) -> io::Result<()> {
    if newest(fs, directory)?.as_deref() == Some(text) {
        return Ok(());
    }
    let older = own(fs, directory)?;
    let number = all(fs, directory)?.last().map_or(0, |(number, _)| *number).saturating_add(1);
    write_whole(fs, directory, &directory.join(format!("{PREFIX}{number:06}")), text)?;
    older.iter().try_for_each(|path| fs.remove(path))
}

/// Writes a file of this library's own, durably, and whole or not at all.
///
/// # Errors
/// Fails if the file system does.
pub(crate) fn write_whole(
    fs: &dyn FileSystem,
    directory: &Path,
    path: &Path,
    text: &str,
) -> io::Result<()> {
    let unfinished = directory.join(UNFINISHED);
    let file = fs.create(&unfinished)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync()?;
    fs.rename(&unfinished, path)?;
    fs.sync_dir(directory)
}

/// Returns the files of the environment that an options object names.
pub(crate) fn file_system(options: &rocksdb_options_t) -> Arc<dyn FileSystem> {
    options.env.as_ref().map_or_else(Env::system, |env| env.for_engine()).fs
}

/// Says an error of the file of options, or of the identity.
pub(crate) fn file_error(directory: &Path, error: &io::Error) -> Status {
    let message = format!("{}: the files of options and identity: {error}", directory.display());
    Status::new(Code::IoError, message)
}
