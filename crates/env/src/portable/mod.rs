//! A real file system by the standard library and two calls of Windows, which lacks those that
//! `posix` uses. It also works on Unix, where its tests run too.
//!
//! Differences from `posix`:
//!
//! - The log is written by system calls: this module maps nothing, and announces no read to the
//!   system. Windows neither truncates a mapped file nor lets another program do so.
//! - A call waits for about a second for a program that holds the file (`patience`).
//! - `sync_dir` asks Windows to flush the directory. A file system that refuses keeps only the
//!   order of its journal: a power loss may take back the last creations and removals. Renames are
//!   written through, so they last.
//! - The file systems of Windows reserve blocks up to the length of a file, so a preallocation sets
//!   the length.
//! - It refuses a symbolic link by a check of the path before the open. If another program creates
//!   a link between the check and the open, the open follows the link.
//! - A written file does not know whether it still has a name, and a lock not where its directory
//!   is. On Windows, no program can move a directory while a file in it is open.

mod lock;
mod patience;
mod positioned;
#[cfg(windows)]
#[allow(unsafe_code)]
mod windows;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::patience::patiently;
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
        Ok(Arc::new(WrittenFile { file, directory: paths::directory_of(path).to_owned() }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        Ok(Arc::new(ReadFile(open_file(OpenOptions::new().read(true), path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        check_same_directory(from, to)?;
        patiently(to, || system::rename(from, to))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        patiently(from, || fs::hard_link(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        patiently(path, || fs::remove_file(path))
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
        patiently(path, || paths::len(path))
    }

    fn age(&self, path: &Path) -> Option<Duration> {
        paths::age(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        system::sync_dir(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        Ok(Box::new(lock::lock(path)?))
    }
}

/// Opens a regular file, but no symbolic link to one.
fn open_file(options: &OpenOptions, path: &Path) -> io::Result<File> {
    patiently(path, || {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => return Err(paths::link_error()),
            Ok(found) => paths::check_regular(&found)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        options.open(path)
    })
}

/// A file that is written.
#[derive(Debug)]
struct WrittenFile {
    file: File,
    directory: PathBuf,
}

impl WritableFile for WrittenFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        positioned::write_all_at(&self.file, bytes, offset)
    }

    fn preallocate(&self, len: u64) -> io::Result<()> {
        let before = self.file.metadata()?.len();
        if !cfg!(windows) || len <= before {
            return Ok(());
        }
        self.file.set_len(len).or_else(|error| {
            // Part of the length may have been reserved.
            self.file.set_len(before)?;
            Err(error)
        })
    }

    fn free_space(&self) -> Option<u64> {
        system::free_space(&self.directory)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// A file that is read.
#[derive(Debug)]
struct ReadFile(File);

impl RandomAccessFile for ReadFile {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        positioned::read_exact_at(&self.0, buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

#[cfg(windows)]
mod system {
    use std::fs::OpenOptions;
    use std::io;
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::Path;

    pub(super) use super::windows::{free_space, rename};

    /// Without it, Windows opens no directory.
    const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;

    pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
        // A flush needs the right to write.
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
        let flushed = options.open(path).and_then(|directory| directory.sync_all());
        match flushed {
            Err(error) if cannot_flush(&error) => path.metadata().map(drop),
            flushed => flushed,
        }
    }

    /// Returns whether the error says that this file system flushes no directory, or not for the
    /// caller. An error of the disk is none of these.
    fn cannot_flush(error: &io::Error) -> bool {
        const INVALID_FUNCTION: i32 = 1;
        const ACCESS_DENIED: i32 = 5;
        const INVALID_HANDLE: i32 = 6;
        const NOT_SUPPORTED: i32 = 50;
        const INVALID_PARAMETER: i32 = 87;
        let refusals =
            [INVALID_FUNCTION, ACCESS_DENIED, INVALID_HANDLE, NOT_SUPPORTED, INVALID_PARAMETER];
        error.raw_os_error().is_some_and(|code| refusals.contains(&code))
    }
}

#[cfg(not(windows))]
mod system {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    pub(super) use fs::rename;

    pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    pub(super) fn free_space(_directory: &Path) -> Option<u64> {
        None
    }
}
