//! Backups: a directory in which several moments of a database share their unchanged files.
//!
//! ```text
//! LOCK                     locked by the process that changes the directory
//! shared/000012-DIGEST.tbl a table or a file of value segments, for all backups that name it
//! 000003.own/              the logs, the manifest, CURRENT and CLOSED of backup 3
//! 000003.backup            the record: which files make up backup 3
//! 000003.deleted           empty: backup 3 was the newest, and no later one gets its id
//! ```
//!
//! A backup is a checkpoint whose tables and segment files are named by their contents. A file that
//! the directory has already is not copied again. Its digest covers all of its bytes, because a
//! database and its checkpoint give the same number to different files.
//!
//! The record is written last, and removed first. So after a crash, a backup is whole or absent. A
//! file that no record names is left over, and the next create or delete removes it.
//!
//! Invariant: every file that a record names is durable before the record exists.

mod create;
#[cfg(any(test, feature = "internals"))]
pub(crate) mod decoders;
mod files;
mod record;
mod restore;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb_env::FileSystem;

use crate::error::{Error, Result};
use crate::files::list_directory;
use crate::files::{Content, Proof, may_be_there};
use crate::options::Options;
use record::Record;

pub use create::BackupInfo;
pub use restore::BackupCheck;

/// A directory of incremental backups.
///
/// A backup holds everything that a checkpoint holds: all keyspaces, and every write that returned
/// before. It shares tables and files of value segments with the other backups of the directory,
/// and copies only those that are new. Its own are the logs and the manifest. Any program may back
/// up its open database while it writes. Several databases may use one directory.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = |name: &str| dir.path().join(name);
/// use foldb::backup::Backups;
/// use foldb::{Db, Options};
///
/// let db = Db::create(path("db"))?;
/// let backups = Backups::at(path("backups"), &Options::default());
/// db.put("key", "first")?;
/// db.flush()?;
/// let first = backups.create(&db)?;
/// db.put("key", "second")?;
/// let second = backups.create(&db)?;
/// assert_eq!((first.id, second.id), (1, 2));
/// assert!(second.new_files < second.files, "the table is not copied again");
/// assert!(backups.verify()?.faults.is_empty());
///
/// backups.restore(Some(first.id), path("restored"))?;
/// let restored = Db::open(path("restored"), Options::default())?;
/// assert_eq!(restored.get("key")?.unwrap(), b"first");
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone)]
pub struct Backups {
    fs: Arc<dyn FileSystem>,
    directory: PathBuf,
}

impl Backups {
    /// Names a directory of backups, in the file system of [`Options::env`]. The first backup
    /// creates the directory.
    pub fn at(directory: impl AsRef<Path>, options: &Options) -> Backups {
        let fs = Arc::clone(&options.env.fs);
        let given = directory.as_ref();
        // Without a working directory, each call fails.
        let directory = fs.absolute(given).unwrap_or_else(|_| given.to_owned());
        Backups { fs, directory }
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Returns all backups, the oldest first.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such directory. `Corruption` for a damaged record, which
    /// the error names; `Io`.
    pub fn list(&self) -> Result<Vec<BackupInfo>> {
        let ids = self.ids()?;
        let mut all = Vec::with_capacity(ids.len());
        for id in ids {
            match self.read(id) {
                Ok(record) => all.push(BackupInfo::of(&record)),
                // A delete removed it meanwhile.
                Err(_) if !self.fs.exists(&self.record_path(id)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Deletes a backup. Removes each shared file that no other backup names.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such backup, or if the file of this name is no record of a
    /// backup. `Locked` while another process changes the directory; `Io`.
    pub fn delete(&self, id: u64) -> Result<()> {
        self.find(Some(id))?;
        let (held, _lock) = self.lock()?;
        let path = self.record_path(id);
        let content = Content::read_record(&*held.fs, &path).ok_or_else(|| {
            let message = "this is no record of a backup, so it stays: remove it by hand if it is \
                           a damaged one";
            Error::invalid_argument(message).in_file(&path)
        })?;
        if held.last_id()? == id {
            held.keep_id(id)?;
        }
        held.remove(&path, Proof::Content(&content))?;
        held.sync(&held.directory)?;
        held.sweep()
    }

    /// Notes, durably, that an id was given, so that no later backup gets it.
    fn keep_id(&self, id: u64) -> Result<()> {
        let path = self.directory.join(format!("{id:06}{DELETED}"));
        let file = self.fs.create(&path).and_then(|file| file.sync().and_then(|()| file.close()));
        file.map_err(|error| Error::io(&path, "create", &error))?;
        self.sync(&self.directory)
    }

    /// Returns the largest id that was given; 0 if none was.
    fn last_id(&self) -> Result<u64> {
        let names = self.names()?;
        let id_of = |name: &String| {
            [".backup", ".own", DELETED].iter().find_map(|ending| id_in(name, ending))
        };
        Ok(names.iter().filter_map(id_of).max().unwrap_or(0))
    }

    /// Returns the ids of all backups, ascending.
    fn ids(&self) -> Result<Vec<u64>> {
        let names = match list_directory(&*self.fs, &self.directory) {
            Ok(Some(names)) => names,
            // Not every file system says why it cannot list a directory.
            Err(error) if may_be_there(&*self.fs, &self.directory) => {
                return Err(error);
            }
            Ok(None) | Err(_) => {
                let message = "there is no directory of backups at this path";
                return Err(Error::invalid_argument(message).in_file(&self.directory));
            }
        };
        let mut ids: Vec<u64> = names.iter().filter_map(|name| id_in(name, ".backup")).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns a backup; the newest without an id.
    fn find(&self, id: Option<u64>) -> Result<u64> {
        let ids = self.ids()?;
        let found = match id {
            None => ids.last().copied(),
            Some(id) => ids.contains(&id).then_some(id),
        };
        found.ok_or_else(|| {
            let all: Vec<String> = ids.iter().map(u64::to_string).collect();
            let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            let id = id.map_or("a backup".to_owned(), |id| format!("backup {id}"));
            Error::invalid_argument(format!("expected {id} in the directory, found: {all}"))
                .in_file(&self.directory)
        })
    }

    fn read(&self, id: u64) -> Result<Record> {
        let path = self.record_path(id);
        let bytes = self.fs.read(&path).map_err(|error| Error::io(&path, "read", &error))?;
        let record = Record::decode(&bytes).map_err(|error| error.at(&path, 0))?;
        if record.id == id {
            return Ok(record);
        }
        let message = format!("the record of backup {} has this name: expected {id}", record.id);
        Err(Error::corruption(message).in_file(&path))
    }

    fn record_path(&self, id: u64) -> PathBuf {
        self.directory.join(format!("{id:06}.backup"))
    }

    fn own_directory(&self, id: u64) -> PathBuf {
        self.directory.join(format!("{id:06}.own"))
    }

    fn shared_directory(&self) -> PathBuf {
        self.directory.join("shared")
    }

    fn names(&self) -> Result<Vec<String>> {
        self.list_of(&self.directory)
    }

    fn list_of(&self, directory: &Path) -> Result<Vec<String>> {
        self.fs.list(directory).map_err(|error| Error::io(directory, "list", &error))
    }

    fn sync(&self, directory: &Path) -> Result<()> {
        let synced = self.fs.sync_dir(directory);
        synced.map_err(|error| Error::io(directory, "sync the directory", &error))
    }
}

/// The ending of the name of a file that keeps the id of a deleted backup.
const DELETED: &str = ".deleted";

/// Returns the id in a name, such as 3 in `000003.backup`.
fn id_in(name: &str, ending: &str) -> Option<u64> {
    let digits = name.strip_suffix(ending)?;
    let id: u64 = digits.parse().ok()?;
    (format!("{id:06}") == digits).then_some(id)
}

impl fmt::Debug for Backups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Backups({})", self.directory.display())
    }
}
