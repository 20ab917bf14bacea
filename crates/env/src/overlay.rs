//! A view of another file system. The view keeps all changes in memory, and never changes the file
//! system below it.
//!
//! ```text
//!              the view     the file system below
//! at first     a b c        a b c
//! create d     a b c d      a b c
//! remove c     a b d        a b c
//! ```
//!
//! Invariant: no call that changes anything is passed on, except for the lock of an existing file.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile, check_same_directory};
use crate::mem::MemFs;

/// A writable view of a file system. The file system itself stays unchanged. Syncs do nothing. When
/// the last handle is dropped, the changes are lost.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
/// use foldb_env::{FileSystem, MemFs, OverlayFs};
///
/// let below = MemFs::new();
/// below.create(Path::new("file"))?;
/// let over = OverlayFs::new(Arc::new(below.clone()));
/// over.remove(Path::new("file"))?;
/// assert!(!over.exists(Path::new("file")));
/// assert!(below.exists(Path::new("file")));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct OverlayFs {
    below: Arc<dyn FileSystem>,
    above: MemFs,
    changes: Mutex<Changes>,
}

/// The changed names of files below. Files above have their names in the file system in memory.
#[derive(Debug, Default)]
struct Changes {
    /// New names of files below, after a rename or a hard link: the new name, and the name below.
    renamed: BTreeMap<PathBuf, PathBuf>,
    /// Names that no longer mean the file below: the file was removed, renamed or replaced in the
    /// view.
    hidden: BTreeSet<PathBuf>,
}

/// The file system that has a file.
enum Place {
    Above,
    Below(PathBuf),
}

impl OverlayFs {
    /// Makes a view of `below` without changes.
    pub fn new(below: Arc<dyn FileSystem>) -> OverlayFs {
        OverlayFs { below, above: MemFs::new(), changes: Mutex::default() }
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, path: &Path, changes: &Changes) -> io::Result<Place> {
        if self.above.exists(path) && !self.above.is_dir(path) {
            return Ok(Place::Above);
        }
        if let Some(below) = changes.renamed.get(path) {
            return Ok(Place::Below(below.clone()));
        }
        if changes.hidden.contains(path) || !self.below.exists(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Place::Below(path.to_owned()))
    }

    /// Prepares to create `path` in memory: creates its parent directory there, if the file system
    /// below has that directory.
    fn prepare(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if self.below.is_dir(parent) => self.above.create_dir_all(parent),
            _ => Ok(()),
        }
    }

    /// Hides the file below: the name now means what is above, or nothing.
    fn hide(path: &Path, changes: &mut Changes) {
        changes.renamed.remove(path);
        changes.hidden.insert(path.to_owned());
    }
}

/// The lock of a file below. It has no place: a path through the place's handle would lead past the
/// changes.
#[derive(Debug)]
struct LockBelow(Box<dyn FileLock>);

impl FileLock for LockBelow {
    fn is_held(&self) -> bool {
        self.0.is_held()
    }
}

impl FileSystem for OverlayFs {
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.below.absolute(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        let mut changes = self.changes();
        self.prepare(path)?;
        let file = self.above.create(path)?;
        OverlayFs::hide(path, &mut changes);
        Ok(file)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        let place = self.find(path, &self.changes())?;
        match place {
            Place::Above => self.above.open(path),
            Place::Below(path) => self.below.open(&path),
        }
    }

    fn open_named(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        let place = self.find(path, &self.changes())?;
        match place {
            Place::Above => self.above.open(path),
            // Nothing changes the files below, so they keep their names.
            Place::Below(path) => self.below.open_named(&path),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        check_same_directory(from, to)?;
        let mut changes = self.changes();
        match self.find(from, &changes)? {
            Place::Above => {
                self.above.rename(from, to)?;
                OverlayFs::hide(to, &mut changes);
            }
            Place::Below(file) => {
                if let Ok(Place::Above) = self.find(to, &changes) {
                    self.above.remove(to)?;
                }
                changes.renamed.insert(to.to_owned(), file);
            }
        }
        OverlayFs::hide(from, &mut changes);
        Ok(())
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut changes = self.changes();
        let place = self.find(from, &changes)?;
        if self.find(to, &changes).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        match place {
            Place::Above => {
                self.prepare(to)?;
                self.above.hard_link(from, to)
            }
            Place::Below(file) => {
                changes.renamed.insert(to.to_owned(), file);
                Ok(())
            }
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut changes = self.changes();
        if let Place::Above = self.find(path, &changes)? {
            self.above.remove(path)?;
        }
        OverlayFs::hide(path, &mut changes);
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.above.create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.above.remove_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let changes = self.changes();
        let mut names: BTreeSet<String> = BTreeSet::new();
        if self.below.is_dir(path) {
            names.extend(self.below.list(path)?);
        }
        if self.above.is_dir(path) {
            names.extend(self.above.list(path)?);
        }
        let renamed = changes.renamed.keys().filter(|name| name.parent() == Some(path));
        let renamed = renamed.filter_map(|name| name.file_name()?.to_str());
        names.extend(renamed.map(str::to_owned));
        names.retain(|name| {
            let path = path.join(name);
            self.find(&path, &changes).is_ok() || self.above.is_dir(&path)
        });
        Ok(names.into_iter().collect())
    }

    fn exists(&self, path: &Path) -> bool {
        self.above.is_dir(path) || self.find(path, &self.changes()).is_ok()
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.above.is_dir(path) || self.below.is_dir(path)
    }

    fn is_link(&self, path: &Path) -> bool {
        self.above.is_link(path) || self.below.is_link(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        let place = self.find(path, &self.changes())?;
        match place {
            Place::Above => self.above.len(path),
            Place::Below(path) => self.below.len(&path),
        }
    }

    fn age(&self, path: &Path) -> Option<Duration> {
        match self.find(path, &self.changes()).ok()? {
            Place::Above => self.above.age(path),
            Place::Below(path) => self.below.age(&path),
        }
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Locks the file below, so that no other program changes the database. Fails if another
    /// program holds that lock. If there is no such file below, or if it cannot be locked for
    /// another reason, locks a file in memory.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let place = self.find(path, &self.changes());
        if let Ok(Place::Below(path)) = place {
            match self.below.lock(&path) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {}
                locked => return locked.map(|lock| Box::new(LockBelow(lock)) as Box<dyn FileLock>),
            }
        }
        self.prepare(path)?;
        self.above.lock(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(fs: &dyn FileSystem, name: &str, text: &str) {
        fs.create(Path::new(name)).unwrap().write_at(text.as_bytes(), 0).unwrap();
    }

    fn shown(fs: &dyn FileSystem) -> Vec<(String, String)> {
        let mut names = fs.list(Path::new("dir")).unwrap();
        names.sort();
        let read = |name: &String| fs.read(&Path::new("dir").join(name)).unwrap();
        names.iter().map(|name| (name.clone(), String::from_utf8(read(name)).unwrap())).collect()
    }

    /// Replaces a file by a new one. If the old file has a second name, that name keeps the old
    /// contents. A write to the old file would change both, but the engine never writes to a file
    /// with two names.
    fn replace(fs: &dyn FileSystem, name: &str) -> io::Result<()> {
        let path = Path::new(name);
        if fs.exists(path) {
            fs.remove(path)?;
        }
        fs.create(path)?.write_at(b"created", 0)
    }

    /// Three changes in a row have the same results in a view as in a file system without one. The
    /// file system below the view does not change.
    #[test]
    fn it_behaves_as_the_file_system_below_and_leaves_that_alone() {
        type Change = fn(&dyn FileSystem) -> io::Result<()>;
        const NAMES: [&str; 3] = ["dir/a", "dir/b", "dir/new"];
        let changes: [Change; 9] = [
            |fs| replace(fs, NAMES[0]),
            |fs| replace(fs, NAMES[2]),
            |fs| fs.rename(Path::new(NAMES[0]), Path::new(NAMES[1])),
            |fs| fs.rename(Path::new(NAMES[1]), Path::new(NAMES[2])),
            |fs| fs.rename(Path::new(NAMES[2]), Path::new(NAMES[0])),
            |fs| fs.hard_link(Path::new(NAMES[0]), Path::new(NAMES[2])),
            |fs| fs.hard_link(Path::new(NAMES[2]), Path::new(NAMES[1])),
            |fs| fs.remove(Path::new(NAMES[0])),
            |fs| fs.remove(Path::new(NAMES[2])),
        ];
        let begin = || {
            let fs = MemFs::new();
            fs.create_dir_all(Path::new("dir")).unwrap();
            NAMES[..2].iter().for_each(|name| write(&fs, name, name));
            fs
        };
        for case in 0..9usize.pow(3) {
            let (plain, below) = (begin(), begin());
            let over = OverlayFs::new(Arc::new(below.clone()));
            for step in [case % 9, case / 9 % 9, case / 81] {
                let (expected, found) = (changes[step](&plain), changes[step](&over));
                let kind = |result: io::Result<()>| result.map_err(|error| error.kind());
                assert_eq!(kind(found), kind(expected), "case {case}, step {step}");
            }
            assert_eq!(shown(&over), shown(&plain), "case {case}");
            assert_eq!(shown(&below), shown(&begin()), "case {case}");
        }
    }

    #[test]
    fn it_locks_what_is_below() {
        let below = MemFs::new();
        write(&below, "LOCK", "");
        let over = OverlayFs::new(Arc::new(below.clone()));
        let held = below.lock(Path::new("LOCK")).unwrap();
        assert_eq!(over.lock(Path::new("LOCK")).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        let _held = over.lock(Path::new("LOCK")).unwrap();
        assert!(below.lock(Path::new("LOCK")).is_err());
    }
}
