//! Keeps the files that a repair replaces, and those that an open would remove, under other names.
//!
//! Opens ignore files with such names. Invariant: no file replaces one that was kept before, and a
//! copy gets its name only as a whole.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use foldb_env::FileSystem;

use crate::error::{Error, Result};
use crate::files::{Proof, copy_file, is_no_link, is_there, remove};

/// Appends an ending to a file name.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.to_owned().into_os_string();
    name.push(format!(".{ending}"));
    name.into()
}

/// Returns a name with this ending that no file has.
fn free_name(fs: &dyn FileSystem, path: &Path, ending: &str) -> Result<PathBuf> {
    let mut name = with_ending(path, ending);
    let mut next = 2;
    while is_there(fs, &name)? {
        name = with_ending(path, &format!("{ending}-{next}"));
        next += 1;
    }
    Ok(name)
}

/// Keeps what a file holds under another name too, durably. Without links, this is a copy.
///
/// # Errors
/// `Io` or `NoSpace`.
pub(crate) fn keep(fs: &dyn FileSystem, path: &Path, ending: &str) -> Result<()> {
    let kept = free_name(fs, path, ending)?;
    match fs.hard_link(path, &kept) {
        Err(error) if is_no_link(&error) => copy(fs, path, &kept)?,
        linked => linked.map_err(|error| Error::io(path, "link", &error))?,
    }
    sync_directory_of(fs, path)
}

/// Renames a file. The caller still syncs the directory.
///
/// # Errors
/// `Io`.
pub(crate) fn put_aside(fs: &dyn FileSystem, path: &Path, ending: &str) -> Result<()> {
    let renamed = fs.rename(path, &free_name(fs, path, ending)?);
    renamed.map_err(|error| Error::io(path, "put aside", &error))
}

fn copy(fs: &dyn FileSystem, path: &Path, to: &Path) -> Result<()> {
    let len = fs.len(path).map_err(|error| Error::io(path, "look at", &error))?;
    let part = with_ending(path, "part");
    if let Err(error) = copy_file(fs, path, &part, len) {
        // The caller may need the space.
        let _best_effort = remove(fs, &part, Proof::Written);
        return Err(error);
    }
    fs.rename(&part, to).map_err(|error| Error::io(&part, "rename", &error))
}

/// Files that the new manifest does not name. The open removes them once it is in force.
#[derive(Default)]
pub(crate) struct Unnamed {
    files: BTreeMap<PathBuf, &'static str>,
}

impl Unnamed {
    /// Adds a file with the ending of its other name. The first ending of a file counts.
    pub(crate) fn add(&mut self, file: PathBuf, ending: &'static str) {
        self.files.entry(file).or_insert(ending);
    }

    /// Gives the files other names too, durably, before the new manifest is in force: a repair that
    /// stops needs the old names when it is done again. Returns the files that cannot have two.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn link(self, fs: &dyn FileSystem) -> Result<Unnamed> {
        let mut linkless = Unnamed::default();
        for (file, ending) in self.files {
            if !is_there(fs, &file)? {
                continue;
            }
            match fs.hard_link(&file, &free_name(fs, &file, ending)?) {
                Err(error) if is_no_link(&error) => linkless.add(file, ending),
                linked => linked.map_err(|error| Error::io(&file, "link", &error))?,
            }
        }
        Ok(linkless)
    }

    /// Renames the files, after the new manifest is in force.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn rename(&self, fs: &dyn FileSystem) -> Result<()> {
        self.files.iter().try_for_each(|(file, ending)| put_aside(fs, file, ending))
    }
}

/// Syncs the directory of a file.
///
/// # Errors
/// `Io`.
pub(crate) fn sync_directory_of(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let directory = path.parent().unwrap_or(path);
    let synced = fs.sync_dir(directory);
    synced.map_err(|error| Error::io(directory, "sync the directory", &error))
}
