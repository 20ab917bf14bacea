//! Copies a damaged database, so that the repair changes only the copy.
//!
//! Tables and segment files become hard links if the file system has them. Such a file never
//! changes once it is closed, and an open never appends to a file that it did not create (H12).
//! Files that are written to later (logs, manifests, `CURRENT`) are copied. During the repair the
//! original database is locked and does not change.

use std::path::Path;
use std::sync::Arc;

use foldb_env::FileSystem;

use crate::db::lifecycle::open::files::list_files;
use crate::db::lifecycle::open::{Locked, lock};
use crate::error::{Error, Result};
use crate::files::{FileKind, FileNames, Proof, is_there, refuse_inside, remove, remove_empty};
use crate::files::{copy_file, is_no_link, refuse_used};

/// A copy in progress. Dropping it before [`Copy::keep`] removes it.
pub(crate) struct Copy {
    /// Reaches the directory of the copy while it is in its place.
    fs: Arc<dyn FileSystem>,
    /// Reaches what comes to the path, for the directory itself.
    outside: Arc<dyn FileSystem>,
    names: FileNames,
    is_new: bool,
    is_kept: bool,
    /// The lock of the original database.
    _original: Option<Locked>,
}

impl Copy {
    /// Copies all files of the database at `from`. Also returns the locked directory of the copy.
    /// The repair works there, even if another directory comes to the path.
    ///
    /// Fails with `Locked` if the original is open. Fails with `DatabaseExists` or
    /// `InvalidArgument` if `to` is not empty, and with `Io`.
    pub(crate) fn make(fs: &Arc<dyn FileSystem>, from: &Path, to: &Path) -> Result<(Copy, Locked)> {
        let names = FileNames::new(from);
        let present = list_files(&**fs, &names)?;
        let original = match present.contains(&FileKind::Lock) {
            true => Some(lock(fs, &names)?),
            false => None,
        };
        refuse_inside(&**fs, to)?;
        let is_new = !is_there(&**fs, to)?;
        if !is_new {
            refuse_used(&**fs, to, |_| true)?;
        }
        fs.create_dir_all(to).map_err(|error| Error::io(to, "create the directory", &error))?;
        let target = FileNames::new(to);
        let locked = lock(fs, &target).inspect_err(|_| {
            if is_new {
                let _best_effort = remove_empty(&**fs, to);
            }
        })?;
        let copy = Copy {
            fs: Arc::clone(&locked.fs),
            outside: Arc::clone(fs),
            names: target.clone(),
            is_new,
            is_kept: false,
            _original: original,
        };
        refuse_used(&*copy.fs, to, |name| name != "LOCK")?;
        let mut links = true;
        for kind in present {
            let (from, to, links) = match kind {
                FileKind::Table(number) => (names.table(number), target.table(number), &mut links),
                FileKind::Segment(number) => {
                    (names.segment(number), target.segment(number), &mut links)
                }
                FileKind::Log(number) => (names.log(number), target.log(number), &mut false),
                FileKind::Manifest(number) => {
                    (names.manifest(number), target.manifest(number), &mut false)
                }
                FileKind::Current => (names.current(), target.current(), &mut false),
                FileKind::Closed => (names.closed(), target.closed(), &mut false),
                // A repair ends the change feed. A recording tells of the original.
                FileKind::Archive(_)
                | FileKind::Flight(_)
                | FileKind::Lock
                | FileKind::Restoring
                | FileKind::Reserve
                | FileKind::Temporary => continue,
            };
            copy.take(&from, &to, links)?;
        }
        Ok((copy, locked))
    }

    fn take(&self, from: &Path, to: &Path, links: &mut bool) -> Result<()> {
        let failed = |doing: &'static str| move |error| Error::io(from, doing, &error);
        if *links {
            match self.fs.hard_link(from, to) {
                Ok(()) => return Ok(()),
                Err(error) if is_no_link(&error) => *links = false,
                Err(error) => return Err(failed("link")(error)),
            }
        }
        let len = self.fs.len(from).map_err(failed("look at"))?;
        copy_file(&*self.fs, from, to, len)
    }

    /// Keeps the copy.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let directory = self.names.directory();
        // LOCK goes last: it shows that the directory is still the one of the copy.
        for name in self.fs.list(directory).unwrap_or_default() {
            if FileKind::parse(&name).is_some_and(|kind| kind != FileKind::Lock) {
                let _best_effort = remove(&*self.fs, &directory.join(name), Proof::Written);
            }
        }
        let removed = remove(&*self.fs, &self.names.lock(), Proof::Written);
        if self.is_new && removed.is_ok() {
            let _best_effort = remove_empty(&*self.outside, directory);
        }
    }
}
