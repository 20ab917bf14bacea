//! A real file system by the standard library alone, for Windows, which lacks the calls that
//! `posix` uses. It also works on Unix, where its tests run.
//!
//! Differences from `posix`:
//!
//! - The log is written by system calls: this module maps nothing, reserves no block, and announces
//!   no read to the system.
//! - `sync_dir` does nothing on Windows, because Windows has no call that flushes a directory. NTFS
//!   journals changes of names in their order. So a power loss may take back the last creations,
//!   renames and removals, though `sync_dir` returned.
//! - It refuses a symbolic link by a check of the path before the open. If another program creates
//!   a link between the check and the open, the open follows the link.
//! - A written file does not know whether it still has a name.

mod lock;
mod positioned;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile, check_same_directory};
use crate::paths;

/// The operating system's files, by the standard library alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortableFs;

impl FileSystem for PortableFs {
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        paths::absolute(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        let mut options = OpenOptions::new();
        let file = open_file(options.write(true).create(true).truncate(true), path)?;
        Ok(Arc::new(PortableFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        Ok(Arc::new(PortableFile(open_file(OpenOptions::new().read(true), path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        check_same_directory(from, to)?;
        fs::rename(from, to)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        paths::create_dir_all(path, |directory| self.sync_dir(directory))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        paths::list(path)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn is_link(&self, path: &Path) -> bool {
        paths::is_link(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        paths::len(path)
    }

    fn age(&self, path: &Path) -> Option<Duration> {
        paths::age(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if cfg!(windows) {
            return fs::metadata(path).map(drop);
        }
        File::open(path)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        Ok(Box::new(lock::lock(path)?))
    }
}

/// Opens a regular file, but no symbolic link to one.
fn open_file(options: &OpenOptions, path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => return Err(paths::link_error()),
        Ok(found) => paths::check_regular(&found)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    options.open(path)
}

#[derive(Debug)]
struct PortableFile(File);

impl WritableFile for PortableFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        positioned::write_all_at(&self.0, bytes, offset)
    }

    fn preallocate(&self, _len: u64) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

impl RandomAccessFile for PortableFile {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        positioned::read_exact_at(&self.0, buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}
