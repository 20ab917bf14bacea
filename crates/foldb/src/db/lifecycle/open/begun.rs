//! The files that an open creates or replaces, and those that it finds and does not need.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::FileSystem;

use crate::db::lifecycle::open::stored::Stored;
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::files::{FileKind, FileNames, Identity, Proof, remove};
use crate::version::Manifest;

/// Files that an open created or replaced. They are removed if it fails.
pub(super) struct BegunFiles {
    fs: Arc<dyn FileSystem>,
    names: FileNames,
    files: Vec<PathBuf>,
    /// Whether the `CURRENT` of a new database may name the new manifest.
    led: bool,
}

impl BegunFiles {
    pub(super) fn new(fs: &Arc<dyn FileSystem>, names: &FileNames) -> BegunFiles {
        BegunFiles { fs: Arc::clone(fs), names: names.clone(), files: Vec::new(), led: false }
    }

    /// Adds a file that the open created.
    pub(super) fn push(&mut self, file: PathBuf) {
        self.files.push(file);
    }

    /// Puts a manifest of the open in force. Afterwards the manifest before it is one of the files.
    pub(super) fn put_in_force(
        &mut self,
        manifest: &Manifest,
        number: u64,
        replaced: Option<u64>,
    ) -> Result<()> {
        self.led = replaced.is_none();
        let file = |number| self.names.manifest(number);
        let (own, replaced) = (file(number), replaced.map(file));
        match (manifest.put_in_force(&*self.fs, &self.names), replaced) {
            (Ok(()), Some(replaced)) => self.files.push(replaced),
            // Without an earlier manifest, a failed open removes this one with `CURRENT`.
            (Ok(()), None) => self.files.push(own),
            (Err(error), replaced) => {
                // Unless nothing was done, the next open may read either of the two manifests.
                if replaced.is_none() || error.did_nothing() {
                    self.files.extend([own, self.names.current_temporary()]);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Keeps the files.
    pub(super) fn keep(&mut self) {
        self.files.clear();
    }

    /// Removes `CURRENT`, durably, if it may name the new manifest.
    fn forget_current(&self) -> io::Result<()> {
        if !self.led {
            return Ok(());
        }
        match remove(&*self.fs, &self.names.current(), Proof::Written) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
        self.fs.sync_dir(self.names.directory())
    }
}

impl Drop for BegunFiles {
    fn drop(&mut self) {
        if planted(Fault::LeaveAttempts) {
            return;
        }
        // A crash must not leave a `CURRENT` that names a missing manifest: such a directory is
        // neither a new database nor the old one.
        if !self.files.is_empty() && self.forget_current().is_err() {
            return;
        }
        for file in &self.files {
            // The next successful open removes files that cannot be removed now.
            let _best_effort = remove(&*self.fs, file, Proof::Written);
        }
    }
}

/// Removes files that are not needed even after a crash. These are manifests that are not in force,
/// and tables and segments that no edit ever named, such as those of an interrupted compaction. It
/// runs before the open writes anything, because the disk may be full. Files that an edit named
/// stay until the new manifest is durable, because that edit may be the last durable one.
pub(super) fn remove_unneeded(
    fs: &dyn FileSystem,
    names: &FileNames,
    present: &[FileKind],
    stored: &Stored,
) -> Result<()> {
    let is_other = |kind: &&FileKind| match **kind {
        FileKind::Manifest(number) => Some(number) != stored.manifest,
        _ => false,
    };
    let others = present.iter().filter(is_other).count();
    if others > 0 {
        // The choice of the manifest in force may not be durable yet.
        let directory = names.directory();
        let synced = fs.sync_dir(directory);
        synced.map_err(|error| Error::io(directory, "sync the directory", &error))?;
    }
    if planted(Fault::LeaveAttempts) {
        return Ok(());
    }
    let Some(identity) = Identity::of(fs, names) else { return Ok(()) };
    for kind in present {
        let path = match *kind {
            FileKind::Table(number) if !stored.named.contains(&number) => names.table(number),
            FileKind::Segment(number) if !stored.named.contains(&number) => names.segment(number),
            FileKind::Manifest(number) if is_other(&kind) => names.manifest(number),
            _ => continue,
        };
        // The end of the open tries again.
        let _best_effort = remove(fs, &path, Proof::Named(&identity));
    }
    Ok(())
}
