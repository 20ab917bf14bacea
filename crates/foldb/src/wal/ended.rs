//! The file of a log that an earlier open closed cleanly: it is durable, and takes no more bytes.

use std::io;

use foldb_env::{UnwritableFile, WritableFile};

/// The file of a closed log. Nothing is left to sync or to trim. It takes no write, because only
/// the open database that created a file writes to it.
#[derive(Debug)]
pub(super) struct EndedFile;

impl WritableFile for EndedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        UnwritableFile.write_at(bytes, offset)
    }

    fn preallocate(&self, len: u64) -> io::Result<()> {
        UnwritableFile.preallocate(len)
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
