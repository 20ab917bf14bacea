//! Open files and held locks. A handle keeps its file when the name changes or goes.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::directory::File;
use super::faults::Operation;
use super::file_system::MemFs;
use crate::fs::{FileLock, RandomAccessFile, WritableFile};

pub(super) struct Writer {
    pub(super) fs: MemFs,
    /// The path under which the file was opened.
    pub(super) path: PathBuf,
    pub(super) file: Arc<File>,
}

impl WritableFile for Writer {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut tree = self.fs.tree();
        let admitted = tree.admit(Operation::Write, &[&self.path]);
        let len = self.file.content().len();
        tree.check_room(len, len.max(offset.saturating_add(bytes.len() as u64)))?;
        let count = admitted.as_ref().map_or_else(|f| f.torn_at.min(bytes.len()), |()| bytes.len());
        self.file.content().write(&bytes[..count], offset)?;
        tree.counts.bytes_written += count as u64;
        Ok(admitted?)
    }

    fn preallocate(&self, len: u64) -> io::Result<()> {
        let mut tree = self.fs.tree();
        tree.admit(Operation::Preallocate, &[&self.path])?;
        let before = self.file.content().len();
        tree.check_room(before, before.max(len))?;
        self.file.content().extend(len);
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut tree = self.fs.tree();
        tree.admit(Operation::Truncate, &[&self.path])?;
        self.file.content().truncate(len);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut tree = self.fs.tree();
        let admitted = tree.admit(Operation::Sync, &[&self.path]);
        let mut content = self.file.content();
        match &admitted {
            Ok(()) => content.sync(),
            Err(_) => content.fail_sync(),
        }
        Ok(admitted?)
    }

    fn free_space(&self) -> Option<u64> {
        self.fs.tree().free_space()
    }
}

pub(super) struct Reader {
    pub(super) fs: MemFs,
    /// The path under which the file was opened.
    pub(super) path: PathBuf,
    pub(super) file: Arc<File>,
}

impl RandomAccessFile for Reader {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut tree = self.fs.tree();
        tree.admit(Operation::Read, &[&self.path])?;
        self.file.content().read_exact(buf, offset)?;
        tree.counts.bytes_read += buf.len() as u64;
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let _tree = self.fs.tree();
        Ok(self.file.content().len())
    }

    fn sync(&self) -> io::Result<()> {
        let mut tree = self.fs.tree();
        tree.admit(Operation::Sync, &[&self.path])?;
        self.file.content().sync();
        Ok(())
    }
}

pub(super) struct Lock {
    pub(super) fs: MemFs,
    pub(super) path: PathBuf,
}

impl FileLock for Lock {}

impl Drop for Lock {
    fn drop(&mut self) {
        self.fs.tree().locked.remove(&self.path);
    }
}

macro_rules! debug_by_path {
    ($($handle:ident)*) => {$(
        impl fmt::Debug for $handle {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($handle), "({})"), self.path.display())
            }
        }
    )*};
}

debug_by_path!(Writer Reader Lock);
