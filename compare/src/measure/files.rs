//! The files of a database: the space they take, and getting them out of the page cache.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

use crate::failure::{Failure, Result};

/// Bytes of a block as `stat` counts them, whatever the file system's own are.
const STAT_BLOCK: u64 = 512;

/// Bytes of all blocks that the files below `directory` have.
///
/// # Errors
/// A directory cannot be read.
pub fn space(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    for path in files(directory)? {
        // An engine deletes files when it likes: one that has just gone takes no space.
        bytes += fs::metadata(path).map_or(0, |file| file.blocks() * STAT_BLOCK);
    }
    Ok(bytes)
}

/// Writes all files below `directory` to the device and drops them from the page cache. The database must be
/// closed: pages that are mapped stay.
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

/// Drops the page cache of the whole machine, where the system lets us: it holds directories and indirect blocks.
pub fn drop_machines_page_cache() {
    // Only root may: what matters most is done already.
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
    fn files_of_all_directories_count_with_their_blocks() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("inner")).unwrap();
        fs::write(directory.path().join("inner/file"), vec![1; 10_000]).unwrap();
        drop_page_cache(directory.path()).unwrap();
        let space = space(directory.path()).unwrap();
        assert!((10_000..100_000).contains(&space), "{space}");
    }
}
