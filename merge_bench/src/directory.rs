//! The directories of the databases: the prepared one, and its measured copy.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::Failure;

/// The directory of the whole run.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// Removes the directory when dropped.
    _temporary: Option<TempDir>,
}

impl Directory {
    /// Uses `given`, which must be empty or missing. With `None`, makes a directory below the
    /// current one, and removes it on drop.
    ///
    /// # Errors
    /// Fails if the directory cannot be made or is not empty.
    pub(crate) fn new(given: Option<&Path>) -> Result<Directory, Failure> {
        let Some(path) = given else {
            let here = Path::new(".");
            let made = tempfile::Builder::new().prefix("merge_bench-").tempdir_in(here);
            let temporary = made.map_err(Failure::with_file("create a directory in", here))?;
            return Ok(Directory { path: temporary.path().into(), _temporary: Some(temporary) });
        };
        fs::create_dir_all(path).map_err(Failure::with_file("create", path))?;
        let mut entries = fs::read_dir(path).map_err(Failure::with_file("read", path))?;
        if entries.next().is_some() {
            let message = format!("--db: {} is not empty; name a new directory", path.display());
            return Err(Failure::new(message));
        }
        Ok(Directory { path: path.to_owned(), _temporary: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the prepared database.
    pub(crate) fn prepared(&self) -> PathBuf {
        self.path.join("prepared")
    }

    /// Returns the path of the measured copy.
    pub(crate) fn copy(&self) -> PathBuf {
        self.path.join("copy")
    }

    /// Makes a copy of the prepared database that shares no file with it, and syncs it. So a
    /// garbage collection frees only the copy's space, and no sync of the load waits for the copy.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn make_copy(&self) -> Result<(), Failure> {
        let (from, to) = (self.prepared(), self.copy());
        self.remove_copy()?;
        copy_files(&from, &to).map_err(Failure::with_file("copy the prepared database to", &to))
    }

    /// Removes the copy, if there is one.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn remove_copy(&self) -> Result<(), Failure> {
        remove(&self.copy())
    }

    /// Removes the prepared database, if there is one.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn remove_prepared(&self) -> Result<(), Failure> {
        remove(&self.prepared())
    }
}

fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::with_file("remove", path)(error))
        }
        _ => Ok(()),
    }
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        fs::copy(entry.path(), &copy)?;
        File::open(copy)?.sync_all()?;
    }
    File::open(to)?.sync_all()
}

/// The files of a database and their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// Names of value segment files and tables: those that a garbage collection replaces.
    pub replaceable: BTreeSet<String>,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Files {
    /// Lists the current files.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn of(path: &Path) -> Result<Files, Failure> {
        Files::read(path).map_err(Failure::with_file("read", path))
    }

    fn read(path: &Path) -> io::Result<Files> {
        let mut files = Files::default();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // A file that has just been removed takes no space.
            let Ok(metadata) = entry.metadata() else { continue };
            files.bytes += metadata.len();
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".seg") || name.ends_with(".tbl") {
                files.replaceable.insert(name);
            }
        }
        Ok(files)
    }

    /// Returns how many replaceable files with this ending are in `other` too.
    pub(crate) fn left_in(&self, other: &Files, ending: &str) -> u64 {
        let both = self.replaceable.intersection(&other.replaceable);
        both.filter(|name| name.ends_with(ending)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_in_use_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("new/one");
        Directory::new(Some(&path)).unwrap();
        fs::write(path.join("file"), "kept").unwrap();
        let Err(Failure::Message(message)) = Directory::new(Some(&path)) else { panic!("taken") };
        assert!(message.ends_with("is not empty; name a new directory"), "{message}");
        assert_eq!(fs::read(path.join("file")).unwrap(), b"kept");
    }

    #[test]
    fn a_copy_has_the_same_files_and_shares_none() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = Directory::new(Some(&temporary.path().join("d"))).unwrap();
        fs::create_dir(directory.prepared()).unwrap();
        fs::write(directory.prepared().join("000001.seg"), "values").unwrap();
        fs::write(directory.prepared().join("CURRENT"), "7").unwrap();
        directory.make_copy().unwrap();
        let (prepared, copy) =
            (Files::of(&directory.prepared()).unwrap(), Files::of(&directory.copy()).unwrap());
        assert_eq!((prepared.clone(), copy.bytes), (copy.clone(), 7));
        fs::write(directory.copy().join("000001.seg"), "").unwrap();
        assert_eq!(Files::of(&directory.prepared()).unwrap(), prepared);
        fs::remove_file(directory.copy().join("000001.seg")).unwrap();
        assert_eq!(prepared.left_in(&copy, ".seg"), 1);
        assert_eq!(prepared.left_in(&Files::of(&directory.copy()).unwrap(), ".seg"), 0);
        directory.make_copy().unwrap();
        directory.remove_copy().unwrap();
        directory.remove_prepared().unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
