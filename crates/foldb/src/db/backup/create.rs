//! Adds a backup to a directory.
//!
//! The order makes a crash harmless: shared files, then own files, then the record. Each is durable
//! before the next begins.

use std::io;
use std::path::Path;

use foldb_env::FileSystem;

use super::Backups;
use super::files::is_shared_name;
use super::record::{Record, StoredFile};
use crate::db::core::Core;
use crate::db::handle::database::Db;
use crate::db::lifecycle::checkpoint::Moment;
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::files::{FileNames, refuse_inside};

/// One backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupInfo {
    /// Its number in the directory. Later backups have larger numbers.
    pub id: u64,
    /// Identity of the database.
    pub database: u64,
    /// Files, and their bytes, that a restore copies.
    pub files: u64,
    /// Bytes of those files.
    pub bytes: u64,
    /// Files that the directory did not have before this backup.
    pub new_files: u64,
    /// Bytes of those files.
    pub new_bytes: u64,
}

impl BackupInfo {
    pub(super) fn of(record: &Record) -> BackupInfo {
        BackupInfo {
            id: record.id,
            database: record.database,
            files: record.files.len() as u64,
            bytes: record.files.iter().map(|file| file.len).sum(),
            new_files: record.new_files,
            new_bytes: record.new_bytes,
        }
    }
}

impl Backups {
    /// Backs up an open database, at one moment during this call. Writers continue and do not wait.
    /// Writes with [`crate::WriteOptions::disable_wal`] are flushed first. The backup is durable
    /// when this returns.
    ///
    /// Reads every table and segment of the database to compare it with the directory, and copies
    /// only those that the directory lacks. A create that fails or is killed leaves earlier backups
    /// whole, and adds none. A failed create removes its files. After a kill, the next create or
    /// delete removes them.
    ///
    /// The database is read through its own file system, and the backup is written through the
    /// file system of these backups. The two may differ: the backup of a database whose file
    /// system encrypts is plain if that of the backups is, and a restore is plain too.
    ///
    /// # Errors
    /// `InvalidArgument` or `DatabaseExists` for a directory with other files in it, such as a
    /// folder `shared` of the user's, and for one inside of a database. `Locked` while
    /// another process changes the directory. `Corruption` for a damaged log, and for a missing
    /// file. `NoSpace`, `Io`, `ReadOnly`, `Closed`.
    pub fn create(&self, db: &Db) -> Result<BackupInfo> {
        let core = db.core();
        core.check_writable()?;
        refuse_inside(&*self.fs, &self.directory)?;
        let (held, _lock) = self.lock()?;
        held.sweep()?;
        let id = held.last_id()?.checked_add(1).ok_or_else(|| {
            let message = "a backup has the largest id, so no later one can be made: use another \
                           directory";
            Error::invalid_argument(message).in_file(&self.directory)
        })?;
        let created = held.create_as(id, core);
        if created.is_err() {
            // A full disk gets its space back. The next create tries again.
            let _best_effort = held.sweep();
        }
        created
    }

    fn create_as(&self, id: u64, core: &Core) -> Result<BackupInfo> {
        let mut moment = core.note_moment()?;
        let mut record =
            Record { id, database: core.database, new_files: 0, new_bytes: 0, files: Vec::new() };
        self.add_shared(core, &moment, &mut record)?;
        let own = FileNames::new(&self.own_directory(id));
        self.fs
            .create_dir_all(own.directory())
            .map_err(|error| Error::io(own.directory(), "create the directory", &error))?;
        moment.write_own_files(&self.fs, &own, core.database)?;
        drop(moment);
        core.remove_unreferenced_tables();
        self.note_own(own.directory(), &mut record)?;
        assert!(
            record.files.iter().any(|file| file.is_own && file.name == "CURRENT"),
            "a restored database has a manifest in force"
        );
        self.install(&record)?;
        Ok(BackupInfo::of(&record))
    }

    /// Copies the tables and segments that the directory lacks.
    fn add_shared(&self, core: &Core, moment: &Moment, record: &mut Record) -> Result<()> {
        let (fs, from) = (&*core.options.env.fs, &core.names);
        for (number, len) in moment.tables() {
            self.share(fs, &from.table(number), len, record)?;
        }
        for version in &moment.versions {
            for (number, file) in version.segments.files() {
                self.share(fs, &from.segment(number), file.end, record)?;
            }
        }
        match planted(Fault::BackupSkipsSync) {
            true => Ok(()),
            false => self.sync(&self.shared_directory()),
        }
    }

    /// Adds a file of the database's file system that does not change up to `len`.
    fn share(&self, fs: &dyn FileSystem, from: &Path, len: u64, record: &mut Record) -> Result<()> {
        let name = from.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let digest = Backups::read_through(fs, from, len, |_, _| Ok(()))?;
        let file = StoredFile { is_own: false, name, len, digest };
        assert!(
            is_shared_name(&file.shared_name()),
            "a sweep knows the shared files of backups by their names"
        );
        let to = self.place_of(record.id, &file);
        let found = self.fs.exists(&to).then(|| self.fs.len(&to).ok()).flatten();
        if found != Some(len) {
            let unfinished = self.shared_directory().join(format!("{}.tmp", file.shared_name()));
            let copied = Backups::copy((fs, from), (&*self.fs, &unfinished), len)?;
            self.compare(&file, from, len, copied)?;
            self.fs.rename(&unfinished, &to).map_err(|error| Error::io(&to, "rename", &error))?;
            record.new_files += 1;
            record.new_bytes += len;
        }
        record.files.push(file);
        Ok(())
    }

    /// Notes the files in the backup's own directory. Files of others may lie there too.
    fn note_own(&self, own: &Path, record: &mut Record) -> Result<()> {
        let mut names = self.list_of(own)?;
        names.retain(|name| StoredFile::is_name(name, true));
        names.sort();
        for name in names {
            let path = own.join(&name);
            let len = self.fs.len(&path).map_err(|error| Error::io(&path, "look at", &error))?;
            let digest = Backups::read_through(&*self.fs, &path, len, |_, _| Ok(()))?;
            record.files.push(StoredFile { is_own: true, name, len, digest });
            record.new_files += 1;
            record.new_bytes += len;
        }
        Ok(())
    }

    /// Writes the record, durably.
    fn install(&self, record: &Record) -> Result<()> {
        let path = self.record_path(record.id);
        let next = self.directory.join(format!("{:06}.backup.tmp", record.id));
        let failed = |doing: &'static str| {
            let path = path.clone();
            move |error: io::Error| Error::io(&path, doing, &error)
        };
        let file = self.fs.create(&next).map_err(failed("create"))?;
        file.write_at(&record.encode(), 0).map_err(failed("write"))?;
        file.sync().map_err(failed("sync"))?;
        file.close().map_err(failed("close"))?;
        self.sync(&self.directory)?;
        self.fs.rename(&next, &path).map_err(failed("rename"))?;
        self.sync(&self.directory)
    }
}
