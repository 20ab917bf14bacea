//! Finds the files of a database, and drops them from the page cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

use crate::failure::{Failure, Result};

/// Writes all files below `directory` to the device and drops them from the page cache. The
/// database must be closed: mapped pages stay in the cache.
///
/// # Errors
/// A file cannot be synced.
pub fn drop_page_cache(directory: &Path) -> Result<()> {
    for path in files(directory)? {
        let file = File::open(&path).map_err(Failure::file("open", &path))?;
        file.sync_all().map_err(Failure::file("sync", &path))?;
        fadvise(&file, 0, None, Advice::DontNeed)
            .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

/// Drops the page cache of the whole machine, directories and indirect blocks included, if the
/// system allows it.
pub fn drop_machines_page_cache() {
    // Only root may do this. The most important part, the pages of files, is already dropped.
    let _refused = fs::write("/proc/sys/vm/drop_caches", "1");
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(&directory).map_err(Failure::file("read", &directory))?;
        for entry in entries {
            let entry = entry.map_err(Failure::file("read", &directory))?;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_directories_are_found_and_stay_as_they_are() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("inner")).unwrap();
        let file = directory.path().join("inner/file");
        fs::write(&file, vec![1; 10_000]).unwrap();
        assert_eq!(files(directory.path()).unwrap(), std::slice::from_ref(&file));
        drop_page_cache(directory.path()).unwrap();
        assert_eq!(fs::read(file).unwrap(), vec![1; 10_000]);
    }
}
