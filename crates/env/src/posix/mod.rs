//! The real file system: positioned I/O of the standard library, and the two kernel hints it lacks
//! (`fallocate`, `posix_fadvise`; Linux only, elsewhere they do nothing).
//!
//! The last part of a path must be a regular file, and a symbolic link there is never followed. So
//! a file in a database's directory cannot lead out of it, and an open cannot block on a pipe.
//!
//! A failed sync is never retried. The kernel may have dropped the pages that it could not write,
//! and a second sync would then succeed although the pages are lost (P. Rebello et al., "Can
//! Applications Recover from fsync Failures?", USENIX ATC 2020).

mod descriptors;
mod flush;
#[allow(unsafe_code)]
mod forks;
mod lock;
mod mapped;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;

pub(crate) use self::descriptors::budget;
use self::descriptors::{NamedFile, with_room};
pub(crate) use self::forks::word_of_process;
use self::mapped::MappedFile;
use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile, check_same_directory};
use crate::paths;

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct PosixFs;

impl FileSystem for PosixFs {
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        paths::absolute(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        let mut options = OpenOptions::new();
        let file = open_file(options.write(true).create(true).truncate(true), path)?;
        Ok(Arc::new(PosixFile(file)))
    }

    fn create_log(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        let mut options = OpenOptions::new();
        let file = open_file(options.read(true).write(true).create(true).truncate(true), path)?;
        Ok(match hints::keeps_reserved_blocks(&file) {
            true => Arc::new(MappedFile::new(file)),
            false => Arc::new(PosixFile(file)),
        })
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        Ok(Arc::new(PosixFile(open_file(OpenOptions::new().read(true), path)?)))
    }

    fn open_named(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        Ok(NamedFile::open(path)?)
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
        with_room(|| paths::list(path))
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
        flush::sync_all(&with_room(|| File::open(path))?)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        Ok(Box::new(lock::lock(path)?))
    }
}

/// Opens a regular file, but no symbolic link to one. It does not block: an ordinary open of a pipe
/// waits for the pipe's other end.
fn open_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    options.custom_flags(flags as i32);
    let file = with_room(|| options.open(path)).map_err(|error| {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::LOOP) => paths::link_error(),
            // A pipe or socket opened for writing, without a reader at its other end.
            Some(Errno::NXIO) => paths::irregular_error(),
            _ => error,
        }
    })?;
    paths::check_regular(&file.metadata()?)?;
    Ok(file)
}

#[derive(Debug)]
struct PosixFile(File);

impl WritableFile for PosixFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn preallocate(&self, len: u64) -> io::Result<()> {
        let before = self.0.metadata()?.len();
        match hints::preallocate(&self.0, len) {
            Ok(_reserved) => Ok(()),
            Err(error) => {
                // Some file systems keep the part that they could reserve.
                self.0.set_len(before)?;
                Err(error)
            }
        }
    }

    fn free_space(&self) -> Option<u64> {
        hints::free_space(&self.0)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        flush::sync_data(&self.0)
    }

    fn has_name(&self) -> bool {
        has_name(&self.0)
    }
}

/// Returns whether any directory still has the file. If the system cannot tell, it returns `true`.
fn has_name(file: &File) -> bool {
    hints::links(file).is_none_or(|links| links > 0)
}

impl RandomAccessFile for PosixFile {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        flush::sync_data(&self.0)
    }

    fn will_need(&self, offset: u64, len: u64) {
        hints::will_need(&self.0, offset, len);
    }
}

#[cfg(target_os = "linux")]
mod hints {
    use std::fs::File;
    use std::io;
    use std::num::NonZeroU64;
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{Advice, AtFlags, FallocateFlags, FsWord, StatxFlags};
    use rustix::fs::{fadvise, fallocate, fstatfs, fstatvfs, statx};
    use rustix::io::{Errno, retry_on_intr};

    /// Reserves blocks. Returns whether they are reserved now.
    pub(super) fn preallocate(file: &File, len: u64) -> io::Result<bool> {
        if len == 0 {
            return Ok(true);
        }
        outcome(retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, len)))
    }

    /// Returns whether a block that was reserved for a file accepts every later store, however full
    /// the disk is. A store through a mapping cannot fail: without a block the kernel kills the
    /// process.
    ///
    /// True where blocks are written in place and no two files ever share a block. Everywhere else
    /// a reservation is only a promise. Btrfs, ZFS, bcachefs and F2FS write to new blocks. So does
    /// XFS for blocks that a copy shares (`cp` makes such copies). Overlayfs hides the file system
    /// below it, and network file systems do not tell.
    pub(super) fn keeps_reserved_blocks(file: &File) -> bool {
        const EXT4: FsWord = 0xef53;
        const TMPFS: FsWord = 0x0102_1994;
        fstatfs(file).is_ok_and(|found| matches!(found.f_type, EXT4 | TMPFS))
    }

    /// Returns whether `flock` and `fcntl` may take the same lock of a server: NFS, SMB and Ceph.
    pub(super) fn has_one_kind_of_lock(file: &File) -> bool {
        const NFS: FsWord = 0x6969;
        const SMB: FsWord = 0x517b;
        // Where the word has 32 bits with a sign, these are negative.
        const CIFS: FsWord = 0xff53_4d42_u32 as FsWord;
        const SMB2: FsWord = 0xfe53_4d42_u32 as FsWord;
        const CEPH: FsWord = 0x00c3_6400;
        let is_one_kind = |kind| matches!(kind, NFS | SMB | CIFS | SMB2 | CEPH);
        fstatfs(file).is_ok_and(|found| is_one_kind(found.f_type))
    }

    /// Returns the number of names that directories have for the file.
    ///
    /// It asks for nothing else. Once a program has read a file's times, Linux 6.13 and later give
    /// the next write new ones, and the next `fdatasync` of a log takes half as long again.
    pub(super) fn links(file: &File) -> Option<u64> {
        match statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::NLINK) {
            Ok(found) => Some(u64::from(found.stx_nlink)),
            // Sandboxes and kernels before 4.11 refuse the call.
            Err(_) => file.metadata().ok().map(|metadata| metadata.nlink()),
        }
    }

    /// Returns the free bytes of the file system that ordinary users may take.
    pub(super) fn free_space(file: &File) -> Option<u64> {
        fstatvfs(file).ok().map(|found| found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// An unsupported call is not an error; a full disk is.
    pub(super) fn outcome(result: Result<(), Errno>) -> io::Result<bool> {
        match result {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::NODEV | Errno::PERM) => {
                Ok(false)
            }
            result => result.map(|()| true).map_err(io::Error::from),
        }
    }

    pub(super) fn will_need(file: &File, offset: u64, len: u64) {
        // Length 0 would mean "to the end of the file".
        if let Some(len) = NonZeroU64::new(len) {
            // A refused hint changes nothing.
            let _ = fadvise(file, offset, Some(len), Advice::WillNeed);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod hints {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::MetadataExt;

    pub(super) fn links(file: &File) -> Option<u64> {
        file.metadata().ok().map(|metadata| metadata.nlink())
    }

    pub(super) fn preallocate(_file: &File, _len: u64) -> io::Result<bool> {
        Ok(false)
    }

    pub(super) fn keeps_reserved_blocks(_file: &File) -> bool {
        false
    }

    pub(super) fn has_one_kind_of_lock(_file: &File) -> bool {
        // Some systems make one kind of both everywhere.
        true
    }

    pub(super) fn free_space(_file: &File) -> Option<u64> {
        None
    }

    pub(super) fn will_need(_file: &File, _offset: u64, _len: u64) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn preallocation_is_a_hint_unless_the_disk_is_full() {
        assert!(hints::outcome(Ok(())).is_ok());
        assert!(hints::outcome(Err(Errno::OPNOTSUPP)).is_ok());
        let full = hints::outcome(Err(Errno::NOSPC)).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        let quota = hints::outcome(Err(Errno::DQUOT)).unwrap_err();
        assert_eq!(quota.kind(), io::ErrorKind::QuotaExceeded);
    }
}
