//! Benchmarks of whole-database work.

use foldb::backup::Backups;
use foldb::{Db, ErrorKind, Result};

use super::Task;

impl Task<'_> {
    /// Reads and checks every table (RocksDB: `VerifyChecksum`, `VerifyFileChecksums`).
    pub(super) fn verify_checksums(&mut self) -> Result<()> {
        let bytes = self.db.verify()?;
        self.recorder.bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }

    /// Makes a backup in a directory without others (RocksDB: `Backup`).
    pub(super) fn back_up(&mut self) -> Result<()> {
        let backups = Backups::at(self.shared.backup_directory, self.shared.options);
        if self.shared.backup_directory.exists() {
            for backup in backups.list()? {
                backups.delete(backup.id)?;
            }
        }
        backups.create(self.db)?;
        Ok(())
    }

    /// Restores the newest backup, in place of what an earlier run restored (RocksDB: `Restore`).
    pub(super) fn restore(&mut self) -> Result<()> {
        let (directory, options) = (self.shared.restore_directory, self.shared.options);
        match Db::destroy(directory, options) {
            Err(error) if error.kind() != ErrorKind::DatabaseMissing => return Err(error),
            _ => {}
        }
        Backups::at(self.shared.backup_directory, options).restore(None, directory)?;
        Ok(())
    }
}
