//! Removal of files by proof.
//!
//! A name or a place does not make a file foldb's: users have files of the same names, and links to
//! them. So every removal names what proves that foldb wrote the file.
//!
//! Invariant: outside of this module, the engine removes no file and no directory.

use std::io;
use std::path::{Path, PathBuf};

use foldb_env::{FileSystem, RandomAccessFile};

use super::look::may_be_there;
use super::names::{FileKind, FileNames};
use crate::encoding::format::{
    BACKUP, CLOSED, FLIGHT, FileFormat, LOG, MAGIC_LEN, MANIFEST, SEGMENT, TABLE,
};

/// Offset of the magic in manifests and logs.
const LOG_MAGIC_AT: usize = 33;
/// Bytes read at once.
const STEP: u64 = 1 << 20;
/// Bytes between the magic of a table and its end.
const TABLE_MAGIC_FROM_END: u64 = 8;

/// The directory that the root of a mounted disk has. It counts as no file.
pub(crate) const LOST_AND_FOUND: &str = "lost+found";

/// What proves that foldb wrote a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Proof<'a> {
    /// The bytes of the file.
    Content(&'a Content),
    /// The name has a form that foldb gives, and the directory holds this database.
    Named(&'a Identity),
    /// The name holds a number and the digest of the content, in a directory of backups.
    NamedByDigest,
    /// A manifest or the record of a backup, read by foldb, lists the file.
    Listed,
    /// This process wrote the file.
    Written,
}

/// Removes a file that is foldb's.
///
/// # Errors
/// `InvalidInput` if the proof is of another file. Else those of the file system.
pub(crate) fn remove(fs: &dyn FileSystem, path: &Path, proof: Proof<'_>) -> io::Result<()> {
    let is_proven = match proof {
        Proof::Content(content) => content.path == path,
        Proof::Named(identity) => identity.covers(path),
        Proof::NamedByDigest | Proof::Listed | Proof::Written => true,
    };
    if !is_proven {
        let message = format!("nothing proves that foldb wrote {}", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    fs.remove(path)
}

/// Removes a directory if it is empty.
///
/// # Errors
/// `DirectoryNotEmpty` for a directory with files in it. Else those of the file system.
pub(crate) fn remove_empty(fs: &dyn FileSystem, directory: &Path) -> io::Result<()> {
    fs.remove_dir(directory)
}

/// A file whose bytes are foldb's, or hold nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    path: PathBuf,
    /// Whether the file has no bytes, or only zeroes, as preallocated files have after a crash.
    /// Such a file proves nothing about the files beside it.
    pub(crate) is_empty: bool,
}

impl Content {
    /// Reads what a file is, by the kind that its name says. `None` if its bytes are not foldb's,
    /// or cannot be read.
    pub(crate) fn read(fs: &dyn FileSystem, path: &Path, kind: FileKind) -> Option<Content> {
        if kind == FileKind::Lock {
            // To close a handle of a locked file may end this process's lock.
            let is_empty = fs.len(path).map_or(!may_be_there(fs, path), |len| len == 0);
            return is_empty.then(|| Content { path: path.to_owned(), is_empty });
        }
        let file = fs.open(path).ok()?;
        let len = file.len().ok()?;
        let mut start = vec![0; len.min(64) as usize];
        file.read_exact_at(&mut start, 0).ok()?;
        if is_zero(&start) && holds_only_zeroes(&*file, len).ok()? {
            return Some(Content { path: path.to_owned(), is_empty: true });
        }
        let is_frames = |format: &FileFormat| {
            start.get(LOG_MAGIC_AT..).is_some_and(|magic| format.begins(magic))
        };
        let is_own = match kind {
            FileKind::Current => is_current(&start),
            FileKind::Closed => CLOSED.begins(&start),
            FileKind::Manifest(_) => is_frames(&MANIFEST),
            FileKind::Log(_) | FileKind::Archive(_) => is_frames(&LOG),
            FileKind::Flight(_) => FLIGHT.begins(&start),
            FileKind::Segment(_) => SEGMENT.begins(&start) || is_frames(&LOG),
            FileKind::Table(_) => {
                let mut magic = [0; MAGIC_LEN];
                let at = len.checked_sub(TABLE_MAGIC_FROM_END)?;
                file.read_exact_at(&mut magic, at).ok()?;
                TABLE.begins(&magic)
            }
            FileKind::Temporary => is_current(&start) || CLOSED.begins(&start),
            FileKind::Lock | FileKind::Restoring | FileKind::Reserve => false,
        };
        is_own.then(|| Content { path: path.to_owned(), is_empty: false })
    }

    /// Reads whether a file is the record of a backup.
    pub(crate) fn read_record(fs: &dyn FileSystem, path: &Path) -> Option<Content> {
        let file = fs.open(path).ok()?;
        let mut start = vec![0; file.len().ok()?.min(MAGIC_LEN as u64) as usize];
        file.read_exact_at(&mut start, 0).ok()?;
        let is_empty = is_zero(&start) && holds_only_zeroes(&*file, file.len().ok()?).ok()?;
        let is_own = is_empty || BACKUP.begins(&start);
        is_own.then(|| Content { path: path.to_owned(), is_empty })
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

fn holds_only_zeroes(file: &dyn RandomAccessFile, len: u64) -> io::Result<bool> {
    let (mut buffer, mut offset) = (Vec::new(), 0);
    while offset < len {
        buffer.resize((len - offset).min(STEP) as usize, 0);
        file.read_exact_at(&mut buffer, offset)?;
        if !is_zero(&buffer) {
            return Ok(false);
        }
        offset += buffer.len() as u64;
    }
    Ok(true)
}

/// Returns whether the bytes are those of `CURRENT`.
fn is_current(bytes: &[u8]) -> bool {
    let name = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_suffix('\n'));
    matches!(name.and_then(FileKind::parse), Some(FileKind::Manifest(_)))
}

/// A directory that holds a database of foldb, or what a destroy left of one.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    directory: PathBuf,
}

impl Identity {
    /// Looks for a manifest of foldb, whether or not `CURRENT` names it.
    pub(crate) fn of(fs: &dyn FileSystem, names: &FileNames) -> Option<Identity> {
        let listed = fs.list(names.directory()).ok()?;
        let is_manifest = |name: &String| {
            let Some(kind @ FileKind::Manifest(_)) = FileKind::parse(name) else { return false };
            let content = Content::read(fs, &names.of(kind), kind);
            content.is_some_and(|content| !content.is_empty)
        };
        let directory = names.directory().to_owned();
        listed.iter().any(is_manifest).then_some(Identity { directory })
    }

    fn covers(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        path.parent() == Some(&*self.directory) && name.and_then(FileKind::parse).is_some()
    }
}

/// Returns whether a path is a link to a directory. Files behind it belong to another place.
pub(crate) fn is_linked_directory(fs: &dyn FileSystem, path: &Path) -> bool {
    fs.is_dir(path) && fs.is_link(path)
}
