//! A file that is a vector.

use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldb_env::{RandomAccessFile, WritableFile};

#[derive(Debug, Default)]
pub(crate) struct MemoryFile {
    bytes: Mutex<Vec<u8>>,
    pub reads: AtomicU64,
    pub read_bytes: AtomicU64,
    /// Reads of these bytes fail.
    pub unreadable: Mutex<Range<u64>>,
    pub syncs: AtomicU64,
    /// Reads and writes fail while it is set.
    pub broken: AtomicBool,
    pub most_unsynced: AtomicU64,
    synced: AtomicU64,
}

impl MemoryFile {
    pub(crate) fn of(bytes: Vec<u8>) -> MemoryFile {
        MemoryFile { bytes: Mutex::new(bytes), ..Default::default() }
    }

    fn check(&self, kind: io::ErrorKind) -> io::Result<()> {
        if self.broken.load(Ordering::Relaxed) { Err(kind.into()) } else { Ok(()) }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }
}

impl WritableFile for MemoryFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.check(io::ErrorKind::StorageFull)?;
        let mut all = self.bytes.lock().unwrap();
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        let len = all.len().max(end);
        all.resize(len, 0);
        all[start..end].copy_from_slice(bytes);
        let unsynced = all.len() as u64 - self.synced.load(Ordering::Relaxed);
        self.most_unsynced.fetch_max(unsynced, Ordering::Relaxed);
        Ok(())
    }

    fn preallocate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.bytes.lock().unwrap().truncate(len as usize);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.synced.store(self.bytes.lock().unwrap().len() as u64, Ordering::Relaxed);
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl RandomAccessFile for MemoryFile {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.check(io::ErrorKind::Other)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.read_bytes.fetch_add(buf.len() as u64, Ordering::Relaxed);
        let unreadable = self.unreadable.lock().unwrap().clone();
        if offset < unreadable.end && unreadable.start < offset + buf.len() as u64 {
            return Err(io::ErrorKind::Other.into());
        }
        let all = self.bytes.lock().unwrap();
        let found =
            usize::try_from(offset).ok().and_then(|start| all.get(start..)?.get(..buf.len()));
        buf.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }
}
