//! The files of a directory of backups: how they are read, copied and removed.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use foldb_env::{FileLock, FileSystem, SCRATCH_NAME};
use xxhash_rust::xxh3::Xxh3Default;

use super::record::StoredFile;
use super::{Backups, DELETED, id_in};
use crate::db::lifecycle::open::held_by;
use crate::error::{Error, ErrorKind, Result};
use crate::files::{
    Content, FileKind, FileNames, Identity, LOST_AND_FOUND, Proof, is_linked_directory, is_there,
    list_directory, remove, remove_empty,
};

/// Bytes read or written at once.
const STEP: usize = 1 << 20;
/// The endings of the names in the directory, behind the id of a backup.
const ENDINGS: [&str; 4] = [".backup", ".backup.tmp", ".own", DELETED];

impl Backups {
    /// Locks the directory against other processes that change it. Creates it if it is missing.
    /// Returns these backups, as long as the directory is in its place: see [`held_by`].
    ///
    /// # Errors
    /// `Locked`; `DatabaseExists` or `InvalidArgument` for a directory with other files in it.
    pub(super) fn lock(&self) -> Result<(Backups, Box<dyn FileLock>)> {
        let failed =
            |doing: &'static str| move |error: io::Error| Error::io(&self.directory, doing, &error);
        self.fs.create_dir_all(&self.directory).map_err(failed("create the directory"))?;
        self.refuse_others()?;
        let path = self.directory.join("LOCK");
        let lock = self.fs.lock(&path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                let message = "another process changes the backups: try again when it is done";
                Error::new(ErrorKind::Locked, message).in_file(&path)
            }
            _ => Error::io(&path, "lock", &error),
        })?;
        let held = Backups {
            fs: held_by(&*lock, &self.fs, &self.directory),
            directory: self.directory.clone(),
        };
        // Another directory may have come to the path before the lock.
        held.refuse_others()?;
        let shared = held.shared_directory();
        held.fs
            .create_dir_all(&shared)
            .map_err(|error| Error::io(&shared, "create the directory", &error))?;
        Ok((held, lock))
    }

    /// Refuses a directory that is not one of backups. A directory with the record of a backup is
    /// one, and files of the user's in its `shared` stay. Without a record, `shared` and the
    /// backups' own directories may be the user's.
    fn refuse_others(&self) -> Result<()> {
        let refused = |kind, what: String, path: &Path| {
            let message = format!(
                "expected a directory of backups, found {what} in it: choose another directory, or \
                 move that away"
            );
            Err(Error::new(kind, message).in_file(path))
        };
        let shown = |name: &str| format!("the file '{}'", name.escape_debug());
        let names = self.names()?;
        let is_own = |name: &&String| {
            matches!(&name[..], "LOCK" | "shared" | SCRATCH_NAME | LOST_AND_FOUND)
                || ENDINGS.iter().any(|end| id_in(name, end).is_some())
        };
        if let Some(other) = names.iter().find(|name| !is_own(name)) {
            let (kind, what) = match &other[..] {
                "CURRENT" => (ErrorKind::DatabaseExists, "a database".to_owned()),
                _ => (ErrorKind::InvalidArgument, shown(other)),
            };
            return refused(kind, what, &self.directory);
        }
        let is_record = |name: &String| id_in(name, ".backup").is_some();
        let has_record = names.iter().any(is_record);
        for name in names.iter().filter(|name| *name == "shared" || id_in(name, ".own").is_some()) {
            let path = self.directory.join(name);
            if is_linked_directory(&*self.fs, &path) {
                let what = format!("the link '{name}'");
                return refused(ErrorKind::InvalidArgument, what, &self.directory);
            }
            let within = match list_directory(&*self.fs, &path) {
                // Another call that holds the lock removed what a failed create had left.
                Err(_) if !is_there(&*self.fs, &path)? => continue,
                within => within?,
            };
            let Some(within) = within else {
                return refused(ErrorKind::InvalidArgument, shown(name), &self.directory);
            };
            let is_known = |inner: &String| match name == "shared" {
                // A crash over files that only grow leaves the scratch file.
                true => is_shared_name(inner) || inner == SCRATCH_NAME,
                false => FileKind::parse(inner).is_some(),
            };
            if !has_record && let Some(other) = within.iter().find(|inner| !is_known(inner)) {
                return refused(ErrorKind::InvalidArgument, shown(other), &path);
            }
        }
        Ok(())
    }

    /// Removes every file of foldb's that no record names: what crashes and deleted backups left.
    /// Removes no shared file while a record cannot be read, because that record may name it.
    /// Files that foldb did not write stay.
    ///
    /// REQUIRES: the directory is locked, and these backups are those of [`Backups::lock`].
    pub(super) fn sweep(&self) -> Result<()> {
        let ids = self.ids()?;
        let names = self.names()?;
        let kept = names.iter().filter_map(|name| id_in(name, DELETED));
        let last = kept.chain(ids.iter().copied()).max().unwrap_or(0);
        for name in names {
            let path = self.directory.join(&name);
            let is_left = id_in(&name, ".backup.tmp").is_some()
                || id_in(&name, DELETED).is_some_and(|id| id < last);
            if is_left && let Some(content) = Content::read_record(&*self.fs, &path) {
                self.remove(&path, Proof::Content(&content))?;
            }
            if id_in(&name, ".own").is_some_and(|id| !ids.contains(&id)) {
                self.sweep_own(&path)?;
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
            let path = shared.join(&name);
            // A name with a digest is given by foldb alone.
            if is_shared_name(&name) && !named.contains(&name) && !self.fs.is_dir(&path) {
                self.remove(&path, Proof::NamedByDigest)?;
            }
        }
        Ok(())
    }

    /// Removes the files of foldb's in the own directory of a backup that does not exist, and then
    /// the directory if it is empty.
    fn sweep_own(&self, own: &Path) -> Result<()> {
        let names = FileNames::new(own);
        let identity = Identity::of(&*self.fs, &names);
        for name in self.list_of(own)? {
            let path = own.join(&name);
            let Some(kind) = FileKind::parse(&name) else { continue };
            match (&identity, Content::read(&*self.fs, &path, kind)) {
                (Some(identity), _) => self.remove(&path, Proof::Named(identity))?,
                (None, Some(content)) => self.remove(&path, Proof::Content(&content))?,
                (None, None) => {}
            }
        }
        match remove_empty(&*self.fs, own) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed.map_err(|error| Error::io(own, "remove the directory", &error)),
        }
    }

    pub(super) fn remove(&self, path: &Path, proof: Proof<'_>) -> Result<()> {
        assert!(
            path.starts_with(&self.directory),
            "what a sweep removes lies in the directory of backups"
        );
        remove(&*self.fs, path, proof).map_err(|error| Error::io(path, "remove", &error))
    }

    /// Reads the first `len` bytes of a file. Returns their digest, and passes them on.
    ///
    /// The file is in `fs`: that of the database, or that of the backups.
    pub(super) fn read_through(
        fs: &dyn FileSystem,
        path: &Path,
        len: u64,
        mut pass: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<u128> {
        let failed = |doing: &'static str| move |error: io::Error| Error::io(path, doing, &error);
        let file = fs.open(path).map_err(|error| match error.kind() {
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
    pub(super) fn copy(
        (from_fs, from): (&dyn FileSystem, &Path),
        (to_fs, to): (&dyn FileSystem, &Path),
        len: u64,
    ) -> Result<u128> {
        let failed = |doing: &'static str| move |error: io::Error| Error::io(to, doing, &error);
        let copy = to_fs.create(to).map_err(failed("create"))?;
        let digest = Backups::read_through(from_fs, from, len, |bytes, offset| {
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
        let digest = Backups::read_through(&*self.fs, &path, file.len, |_, _| Ok(()))?;
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

/// Returns whether a name is that of a shared file, such as `000012-DIGEST.tbl`, or of an
/// unfinished one.
pub(super) fn is_shared_name(name: &str) -> bool {
    let name = name.strip_suffix(".tmp").unwrap_or(name);
    let parts = name.split_once('-').zip(name.rsplit_once('.'));
    let Some(((number, rest), (_, extension))) = parts else { return false };
    let Some(digest) = rest.strip_suffix(extension).and_then(|rest| rest.strip_suffix('.')) else {
        return false;
    };
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    matches!(
        FileKind::parse(&format!("{number}.{extension}")),
        Some(FileKind::Table(_) | FileKind::Segment(_))
    ) && digest.len() == 32
        && digest.bytes().all(is_hex)
}
