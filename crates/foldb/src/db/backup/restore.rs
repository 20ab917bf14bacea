//! Makes a database of a backup, and checks backups.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::record::StoredFile;
use super::{BackupInfo, Backups};
use crate::db::lifecycle::checkpoint::Target;
use crate::error::{Error, Result};

/// What [`Backups::verify`] found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BackupCheck {
    /// Backups.
    pub backups: u64,
    /// Files that were read. A shared file counts once.
    pub files: u64,
    /// Bytes of those files.
    pub bytes: u64,
    /// The faults, each with the file that it is about.
    pub faults: Vec<Error>,
}

impl Backups {
    /// Makes a new database of a backup; of the newest without an id. `directory` must be empty or
    /// not exist. All files are copied, and every byte is checked meanwhile. The new database is
    /// durable when this returns; a crash leaves it whole or absent.
    ///
    /// # Errors
    /// `Corruption`, with the file, for a damaged or missing file of the backup. `InvalidArgument`
    /// if there is no such backup, or if `directory` is not empty; `DatabaseExists` if it holds a
    /// database. `NoSpace`, `Io`.
    pub fn restore(&self, id: Option<u64>, directory: impl AsRef<Path>) -> Result<BackupInfo> {
        let record = self.read(self.find(id)?)?;
        let mut target = Target::begin(&self.fs, directory.as_ref())?;
        let (mut last, first): (Vec<&StoredFile>, Vec<&StoredFile>) =
            record.files.iter().partition(|file| matches!(&file.name[..], "CURRENT" | "CLOSED"));
        for file in first {
            self.copy_back(record.id, file, &target, &file.name)?;
        }
        target.sync()?;
        // Without CURRENT there is no database. CLOSED says that there is one.
        last.sort_by_key(|file| file.name != "CURRENT");
        for file in last {
            let path = target.names.directory().join(&file.name);
            let next = format!("{}.tmp", file.name);
            self.copy_back(record.id, file, &target, &next)?;
            target.sync()?;
            let failed = |error: io::Error| Error::io(&path, "rename", &error);
            let next = target.names.directory().join(next);
            target.fs.rename(&next, &path).map_err(failed)?;
            target.sync()?;
        }
        target.is_whole = true;
        Ok(BackupInfo::of(&record))
    }

    fn copy_back(&self, id: u64, file: &StoredFile, target: &Target, name: &str) -> Result<()> {
        let from = self.place_of(id, file);
        let to = target.names.directory().join(name);
        let digest = Backups::copy((&*self.fs, &from), (&*target.fs, &to), file.len)?;
        let len = self.fs.len(&from).map_err(|error| Error::io(&from, "look at", &error))?;
        self.compare(file, &from, len, digest)
    }

    /// Reads every file of all backups, and compares it with the records.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such directory; `Io` if it cannot be listed. Faults of
    /// files are part of the result.
    pub fn verify(&self) -> Result<BackupCheck> {
        let mut check = BackupCheck::default();
        let mut seen = BTreeSet::new();
        for id in self.ids()? {
            let mut own = BackupCheck { backups: 1, ..BackupCheck::default() };
            let mut new = BTreeSet::new();
            match self.read(id) {
                Err(error) => own.faults.push(error),
                Ok(record) => {
                    for file in &record.files {
                        let place = self.place_of(id, file);
                        if seen.contains(&place) || !new.insert(place) {
                            continue;
                        }
                        own.files += 1;
                        own.bytes += file.len;
                        own.faults.extend(self.check(id, file).err());
                    }
                }
            }
            // A delete may remove the backup meanwhile. Its record goes first.
            if !own.faults.is_empty() && !self.fs.exists(&self.record_path(id)) {
                continue;
            }
            seen.append(&mut new);
            check.backups += own.backups;
            check.files += own.files;
            check.bytes += own.bytes;
            check.faults.append(&mut own.faults);
        }
        Ok(check)
    }
}
