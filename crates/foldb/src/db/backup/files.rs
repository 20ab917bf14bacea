//! The files of a directory of backups: how they are read, copied and removed.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use foldb_env::{FileLock, SCRATCH_NAME};
use xxhash_rust::xxh3::Xxh3Default;

use super::record::StoredFile;
use super::{Backups, id_in};
use crate::error::{Error, ErrorKind, Result};

/// Bytes read or written at once.
const STEP: usize = 1 << 20;

impl Backups {
    /// Locks the directory against other processes that change it. Creates it if it is missing.
    ///
    /// # Errors
    /// `Locked`; `DatabaseExists` or `InvalidArgument` for a directory with other files in it.
    pub(super) fn lock(&self) -> Result<Box<dyn FileLock>> {
        let failed =
            |doing: &'static str| move |error: io::Error| Error::io(&self.directory, doing, &error);
        self.fs.create_dir_all(&self.directory).map_err(failed("create the directory"))?;
        let is_own = |name: &&String| {
            matches!(&name[..], "LOCK" | "shared" | SCRATCH_NAME)
                || [".backup", ".backup.tmp", ".own"].iter().any(|end| id_in(name, end).is_some())
        };
        if let Some(other) = self.names()?.iter().find(|name| !is_own(name)) {
            let (kind, what) = match &other[..] {
                "CURRENT" => (ErrorKind::DatabaseExists, "a database".to_owned()),
                _ => (ErrorKind::InvalidArgument, format!("the file '{}'", other.escape_debug())),
            };
            let message = format!("expected a directory of backups, found {what} in it");
            return Err(Error::new(kind, message).in_file(&self.directory));
        }
        let path = self.directory.join("LOCK");
        let lock = self.fs.lock(&path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                let message = "another process changes the backups: try again when it is done";
                Error::new(ErrorKind::Locked, message).in_file(&path)
            }
            _ => Error::io(&path, "lock", &error),
        })?;
        let shared = self.shared_directory();
        self.fs
            .create_dir_all(&shared)
            .map_err(|error| Error::io(&shared, "create the directory", &error))?;
        Ok(lock)
    }

    /// Removes every file that no record names: what crashes and deleted backups left. Removes no
    /// shared file while a record cannot be read, because that record may name it.
    ///
    /// REQUIRES: the directory is locked.
    pub(super) fn sweep(&self) -> Result<()> {
        let ids = self.ids()?;
        for name in self.names()? {
            if id_in(&name, ".backup.tmp").is_some() || name == SCRATCH_NAME {
                self.remove(&self.directory.join(&name))?;
            }
            if id_in(&name, ".own").is_some_and(|id| !ids.contains(&id)) {
                let own = self.directory.join(&name);
                for name in self.list_of(&own)? {
                    self.remove(&own.join(name))?;
                }
                self.fs
                    .remove_dir(&own)
                    .map_err(|error| Error::io(&own, "remove the directory", &error))?;
            }
        }
        let mut named = BTreeSet::new();
        for id in ids {
            let Ok(record) = self.read(id) else { return Ok(()) };
            let shared = record.files.iter().filter(|file| !file.is_own);
            named.extend(shared.map(StoredFile::shared_name));
        }
        let shared = self.shared_directory();
        for name in self.list_of(&shared)? {
            if !named.contains(&name) {
                self.remove(&shared.join(name))?;
            }
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.fs.remove(path).map_err(|error| Error::io(path, "remove", &error))
    }

    /// Reads the first `len` bytes of a file. Returns their digest, and passes them on.
    pub(super) fn read_through(
        &self,
        path: &Path,
        len: u64,
        mut pass: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<u128> {
        let failed = |doing: &'static str| move |error: io::Error| Error::io(path, doing, &error);
        let file = self.fs.open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let message = format!("expected a file of {len} bytes, found none");
                Error::corruption(message).in_file(path)
            }
            _ => Error::io(path, "open", &error),
        })?;
        let found = file.len().map_err(failed("get the length of"))?;
        if found < len {
            let message = format!("expected at least {len} bytes, found {found}");
            return Err(Error::corruption(message).at(path, found));
        }
        let (mut buffer, mut digest, mut offset) = (Vec::new(), Xxh3Default::new(), 0);
        while offset < len {
            buffer.resize((len - offset).min(STEP as u64) as usize, 0);
            file.read_exact_at(&mut buffer, offset).map_err(failed("read"))?;
            digest.update(&buffer);
            pass(&buffer, offset)?;
            offset += buffer.len() as u64;
        }
        Ok(digest.digest128())
    }

    /// Copies the first `len` bytes of a file, durably except for the name. Returns their digest.
    pub(super) fn copy(&self, from: &Path, to: &Path, len: u64) -> Result<u128> {
        let failed = |doing: &'static str| move |error: io::Error| Error::io(to, doing, &error);
        let copy = self.fs.create(to).map_err(failed("create"))?;
        let digest = self.read_through(from, len, |bytes, offset| {
            copy.write_at(bytes, offset).map_err(failed("write"))?;
            // A sync of a database's log might wait for a larger sync (H23).
            copy.sync().map_err(failed("sync"))
        })?;
        copy.sync().and_then(|()| copy.close()).map_err(failed("sync"))?;
        Ok(digest)
    }

    /// Checks that a file of a backup is what the record says.
    pub(super) fn check(&self, id: u64, file: &StoredFile) -> Result<()> {
        let path = self.place_of(id, file);
        let digest = self.read_through(&path, file.len, |_, _| Ok(()))?;
        let found = self.fs.len(&path).map_err(|error| Error::io(&path, "look at", &error))?;
        self.compare(file, &path, found, digest)
    }

    /// Compares a length and a digest with those of the record.
    pub(super) fn compare(
        &self,
        file: &StoredFile,
        path: &Path,
        len: u64,
        digest: u128,
    ) -> Result<()> {
        if (len, digest) == (file.len, file.digest) {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "a file of a backup: expected {} bytes with the digest {:032x}, found {len} with \
             {digest:032x}",
            file.len, file.digest
        ))
        .at(path, 0))
    }

    /// Returns the path of a file of a backup.
    pub(super) fn place_of(&self, id: u64, file: &StoredFile) -> std::path::PathBuf {
        match file.is_own {
            true => self.own_directory(id).join(&file.name),
            false => self.shared_directory().join(file.shared_name()),
        }
    }
}
