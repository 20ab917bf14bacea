//! Removes a database.

use std::io;
use std::path::Path;
use std::sync::Arc;

use foldb_env::FileSystem;

use crate::db::lifecycle::open::{check_platform, held_by, lock_error};
use crate::error::{Error, ErrorKind, Result};
use crate::files::{
    Content, FileKind, FileNames, Identity, Proof, is_linked_directory, is_there, refuse_foreign,
    remove, remove_empty,
};
use crate::options::Options;
use crate::version::{Manifest, refuse_other_manifest};

/// Removes a database: its own files, and the directory if nothing else is in it. Files that
/// another engine wrote under the same names stay.
pub(crate) fn destroy(path: &Path, options: &Options) -> Result<()> {
    destroy_what(What::Any, path, options)
}

/// Removes the database with this id. Another database, which may have come to the path meanwhile,
/// stays.
pub(crate) fn destroy_own(database: u64, path: &Path, options: &Options) -> Result<()> {
    destroy_what(What::Own(database), path, options)
}

/// Which databases are removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Any,
    /// The one with this id.
    Own(u64),
}

impl What {
    fn is_at(self, fs: &dyn FileSystem, names: &FileNames) -> Result<bool> {
        match self {
            What::Any => Ok(true),
            What::Own(database) => {
                let found = Manifest::recover(fs, names, None)?;
                let id = found.and_then(|found| found.edits.iter().find_map(|edit| edit.database));
                Ok(id == Some(database))
            }
        }
    }
}

fn destroy_what(what: What, path: &Path, options: &Options) -> Result<()> {
    check_platform()?;
    let fs = &options.env.fs;
    let names = FileNames::at(&**fs, path)?;
    let path = names.directory();
    match destroy_known(fs, path, what) {
        // Another process removed the database first.
        Err(error) if error.kind() == ErrorKind::Io && matches!(fs.try_exists(path), Ok(false)) => {
            Ok(())
        }
        destroyed => destroyed,
    }
}

fn destroy_known(outside: &Arc<dyn FileSystem>, path: &Path, what: What) -> Result<()> {
    let fs = &**outside;
    let names = FileNames::new(path);
    let failed = |error| Error::io(path, "read the directory", &error);
    if !fs.try_exists(path).map_err(failed)? || !fs.is_dir(path) {
        return Ok(());
    }
    refuse_foreign(fs, &names)?;
    let found = Found::in_directory(fs, &names)?;
    if found.names.is_empty() || !what.is_at(fs, &names)? {
        return Ok(());
    }
    if let Err(error) = found.refuse_unproven(fs, path)
        // Another process that has the lock may be creating or removing the files.
        && !fs.exists(&names.lock())
    {
        return Err(error);
    }
    match refuse_other_manifest(fs, &names) {
        // The error may be temporary. If not, the check below reports it again.
        Err(error) if error.kind() == ErrorKind::Io => {}
        checked => checked?,
    }
    let lock = match fs.lock(&names.lock()) {
        // Another process removed the directory.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        locked => locked.map_err(|error| lock_error(&names, &error))?,
    };
    let held = held_by(&*lock, outside, path);
    let fs = &*held;
    // Another process may have held the lock until now, so the directory is listed only now.
    if !what.is_at(fs, &names)? {
        return Ok(());
    }
    refuse_other_manifest(fs, &names)?;
    let found = Found::in_directory(fs, &names)?;
    found.refuse_unproven(fs, path)?;
    // The close record is removed first, because it says that the database exists. CURRENT is
    // removed next: without it there is no database. Manifests follow the files that they prove to
    // be foldb's, so a later destroy can finish this one. LOCK is removed last: until then no other
    // process creates a database here.
    let rank = |kind: FileKind| match kind {
        FileKind::Closed => 0,
        FileKind::Current => 1,
        FileKind::Manifest(_) => 3,
        FileKind::Lock => 4,
        _ => 2,
    };
    for rank_now in 0..=4 {
        for (name, kind) in found.names.iter().filter(|(_, kind)| rank(*kind) == rank_now) {
            found.remove(fs, &path.join(name), *kind)?;
        }
        if matches!(rank_now, 1 | 2) {
            // After a crash, files that are removed later may remain, but CURRENT does not return,
            // nor does a file without its manifest.
            fs.sync_dir(path).map_err(|error| Error::io(path, "sync the directory", &error))?;
        }
    }
    drop(lock);
    let fs = &**outside;
    // A link stays, with the empty directory that it leads to.
    if found.is_all && !is_linked_directory(fs, path) {
        match remove_empty(fs, path) {
            // Another process created a database here, or removed the directory.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound
                ) => {}
            removed => removed.map_err(|error| Error::io(path, "remove", &error))?,
        }
    }
    Ok(())
}

/// The files of a directory that have names of a database's files.
struct Found {
    names: Vec<(String, FileKind)>,
    /// Whether the directory has no other files.
    is_all: bool,
    /// What proves that all of them are foldb's.
    identity: Option<Identity>,
    /// Whether the bytes of at least one are foldb's.
    has_content: bool,
}

impl Found {
    fn in_directory(fs: &dyn FileSystem, names: &FileNames) -> Result<Found> {
        let path = names.directory();
        let listed = match fs.list(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            listed => listed.map_err(|error| Error::io(path, "list", &error))?,
        };
        let all = listed.len();
        let parsed = |name: String| FileKind::parse(&name).map(|kind| (name, kind));
        let known: Vec<_> = listed.into_iter().filter_map(parsed).collect();
        let identity = Identity::of(fs, names);
        let is_own = |(name, kind): &(String, FileKind)| {
            let content = Content::read(fs, &path.join(name), *kind);
            content.is_some_and(|content| !content.is_empty)
        };
        let has_content = identity.is_some() || known.iter().any(is_own);
        Ok(Found { is_all: known.len() == all, names: known, identity, has_content })
    }

    /// Refuses files of which none is known to be foldb's. Empty files are what an interrupted
    /// create or destroy leaves, and hold nothing of the user's.
    fn refuse_unproven(&self, fs: &dyn FileSystem, path: &Path) -> Result<()> {
        let mut unproven = None;
        for (name, kind) in &self.names {
            let file = path.join(name);
            // Another process may have removed the file since.
            if Content::read(fs, &file, *kind).is_none() && is_there(fs, &file)? {
                unproven = Some((name, kind));
                break;
            }
        }
        match unproven {
            Some((name, _)) if !self.has_content => Err(Error::invalid_argument(format!(
                "the directory holds no database, and nothing proves that foldb wrote {name}, so \
                 nothing is removed: if you mean it, remove the files by hand"
            ))
            .in_file(path)),
            _ => Ok(()),
        }
    }

    /// Removes a file if it is foldb's.
    fn remove(&self, fs: &dyn FileSystem, file: &Path, kind: FileKind) -> Result<()> {
        let content = Content::read(fs, file, kind);
        let proof = match (&self.identity, &content) {
            (Some(identity), _) => Proof::Named(identity),
            (None, Some(content)) => Proof::Content(content),
            (None, None) => return Ok(()),
        };
        match remove(fs, file, proof) {
            // A file system that only grows removes the remains of a rename by itself.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|error| Error::io(file, "remove", &error)),
        }
    }
}
