//! The tree: directories by path, files by name, one mutex over the whole tree.
//!
//! The mutex makes a crash one moment: no write or sync happens between the copies of the first and
//! the last file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::content::PAGE;
use super::directory::{Change, Directory, File};
use super::faults::{Counts, Failure, Fault, Faults, Operation};
use super::handles::{Lock, Reader, Writer};
use crate::fs::{FileLock, FileSystem, RandomAccessFile, WritableFile, check_same_directory};

/// A file system in memory. A clone is another handle of the same files.
/// [`crash`](MemFs::crash), [`crash_with`](MemFs::crash_with) and [`kill`](MemFs::kill) return
/// independent copies.
///
/// Paths are lexical: `/db`, `db` and `./db` are the same, and the root always exists.
#[derive(Clone, Default)]
pub struct MemFs {
    tree: Arc<Mutex<Tree>>,
}

impl MemFs {
    /// Makes an empty file system.
    pub fn new() -> MemFs {
        MemFs::default()
    }

    /// Makes calls fail by this rule, from now on and in addition to earlier rules.
    pub fn inject(&self, fault: Fault) {
        self.tree().faults.add(fault);
    }

    /// Ends all rules.
    pub fn clear_faults(&self) {
        self.tree().faults.clear();
    }

    /// Limits the bytes that all files take together, in blocks of 4 KiB; `None` for no limit. A
    /// call that needs more fails with `StorageFull`. Copies of the file system have no limit.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use foldb_env::{FileSystem, MemFs};
    ///
    /// let fs = MemFs::new();
    /// fs.set_capacity(Some(8192));
    /// let file = fs.create("a".as_ref())?;
    /// file.write_at(&[1; 8192], 0)?;
    /// assert_eq!(file.write_at(&[1], 8192).unwrap_err().kind(), ErrorKind::StorageFull);
    /// assert_eq!(file.free_space(), Some(0));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.tree().capacity = bytes;
    }

    /// Returns the calls of this file system since it was made.
    pub fn counts(&self) -> Counts {
        self.tree().counts
    }

    pub(super) fn tree(&self) -> MutexGuard<'_, Tree> {
        // A panic while the tree is locked leaves the tree whole, because changes come last.
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, checks it against the rules, and locks the tree.
    fn admit(&self, operation: Operation, paths: &[&Path]) -> io::Result<MutexGuard<'_, Tree>> {
        let mut tree = self.tree();
        tree.admit(operation, paths)?;
        Ok(tree)
    }
}

impl From<Tree> for MemFs {
    fn from(tree: Tree) -> MemFs {
        MemFs { tree: Arc::new(Mutex::new(tree)) }
    }
}

impl fmt::Debug for MemFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tree = self.tree();
        let files: usize = tree.directories.values().map(|dir| dir.names().count()).sum();
        let directories = tree.directories.len();
        write!(f, "MemFs({files} files in {directories} directories)")
    }
}

impl FileSystem for MemFs {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn WritableFile>> {
        let path = lexical(path);
        let mut tree = self.admit(Operation::Create, &[&path])?;
        let file = tree.file_or_new(&path)?;
        file.content().truncate(0);
        Ok(Arc::new(Writer { fs: self.clone(), path, file }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        let path = lexical(path);
        let tree = self.admit(Operation::Open, &[&path])?;
        let file = Arc::clone(tree.file(&path)?);
        Ok(Arc::new(Reader { fs: self.clone(), path, file }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (lexical(from), lexical(to));
        let mut tree = self.admit(Operation::Rename, &[&from, &to])?;
        check_same_directory(&from, &to)?;
        let file = Arc::clone(tree.file(&from)?);
        let (_, old) = tree.place_of(&from)?;
        let (directory, new) = tree.place_of(&to)?;
        let change = Change::Rename { from: old.to_owned(), to: new.to_owned(), file };
        tree.directory_mut(directory)?.change(change);
        Ok(())
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (lexical(from), lexical(to));
        let mut tree = self.admit(Operation::HardLink, &[&from, &to])?;
        let file = Arc::clone(tree.file(&from)?);
        let (directory, name) = tree.place_of(&to)?;
        if tree.directory(directory)?.file(name).is_some() {
            let message = format!("{} exists already", to.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        tree.directory_mut(directory)?.change(Change::Link { name: name.to_owned(), file });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let path = lexical(path);
        let mut tree = self.admit(Operation::Remove, &[&path])?;
        tree.file(&path)?;
        let (directory, name) = tree.place_of(&path)?;
        tree.directory_mut(directory)?.change(Change::Unlink { name: name.to_owned() });
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let path = lexical(path);
        let mut tree = self.admit(Operation::CreateDir, &[&path])?;
        if let Some(file) = path.ancestors().find(|path| tree.file(path).is_ok()) {
            let message = format!("{} is a file", file.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
        }
        for directory in path.ancestors() {
            tree.directories.entry(directory.to_owned()).or_default();
        }
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let path = lexical(path);
        let mut tree = self.admit(Operation::RemoveDir, &[&path])?;
        if path.as_os_str().is_empty() {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "the root cannot be removed"));
        }
        if !tree.directory(&path)?.is_empty() || tree.subdirectories(&path).next().is_some() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        tree.directories.remove(&path);
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let path = lexical(path);
        let tree = self.admit(Operation::List, &[&path])?;
        let files = tree.directory(&path)?.names().cloned();
        Ok(files.chain(tree.subdirectories(&path)).collect())
    }

    fn exists(&self, path: &Path) -> bool {
        self.try_exists(path).unwrap_or(false)
    }

    fn try_exists(&self, path: &Path) -> io::Result<bool> {
        let path = lexical(path);
        let tree = self.admit(Operation::Look, &[&path])?;
        Ok(tree.directories.contains_key(&path) || tree.file(&path).is_ok())
    }

    fn is_dir(&self, path: &Path) -> bool {
        let path = lexical(path);
        let tree = self.admit(Operation::Look, &[&path]);
        tree.is_ok_and(|tree| tree.directories.contains_key(&path))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        let path = lexical(path);
        Ok(self.admit(Operation::Look, &[&path])?.file(&path)?.content().len())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let path = lexical(path);
        let mut tree = self.admit(Operation::SyncDir, &[&path])?;
        tree.directory_mut(&path)?.sync();
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let path = lexical(path);
        let mut tree = self.admit(Operation::Lock, &[&path])?;
        tree.file_or_new(&path)?;
        if !tree.locked.insert(path.clone()) {
            let message = format!("{} is locked by this process", path.display());
            return Err(io::Error::new(io::ErrorKind::WouldBlock, message));
        }
        Ok(Box::new(Lock { fs: self.clone(), path }))
    }
}

/// The state under the mutex.
pub(super) struct Tree {
    /// Directories by lexical path; the root is the empty path.
    pub(super) directories: BTreeMap<PathBuf, Directory>,
    pub(super) locked: BTreeSet<PathBuf>,
    pub(super) counts: Counts,
    faults: Faults,
    /// The bytes that all files may take together.
    capacity: Option<u64>,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree::of([(PathBuf::new(), Directory::default())].into())
    }
}

impl Tree {
    /// Makes a tree of these directories, with no lock, no counted call and no rule.
    pub(super) fn of(directories: BTreeMap<PathBuf, Directory>) -> Tree {
        Tree {
            directories,
            locked: BTreeSet::new(),
            counts: Counts::default(),
            faults: Faults::default(),
            capacity: None,
        }
    }

    /// Returns the bytes that files may still take; `None` without a limit.
    pub(super) fn free_space(&self) -> Option<u64> {
        let capacity = self.capacity?;
        let mut files: Vec<_> = self.directories.values().flat_map(Directory::files).collect();
        // A file may have several names.
        files.sort_unstable_by_key(|file| Arc::as_ptr(file));
        files.dedup_by_key(|file| Arc::as_ptr(file));
        let used: u64 = files.iter().map(|file| blocks(file.content().len())).sum();
        Some(capacity.saturating_sub(used))
    }

    /// # Errors
    /// `StorageFull` if a file of `len` bytes has no room to become `longer`.
    pub(super) fn check_room(&self, len: u64, longer: u64) -> io::Result<()> {
        let more = blocks(longer).saturating_sub(blocks(len));
        match self.capacity.is_some() && more > 0 && self.free_space() < Some(more) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    /// Counts a call and asks the rules whether it may happen.
    pub(super) fn admit(&mut self, operation: Operation, paths: &[&Path]) -> Result<(), Failure> {
        self.counts.add(operation);
        self.faults.check(operation, paths)
    }

    fn directory(&self, path: &Path) -> io::Result<&Directory> {
        self.directories.get(path).ok_or_else(|| not_found(path))
    }

    fn directory_mut(&mut self, path: &Path) -> io::Result<&mut Directory> {
        self.directories.get_mut(path).ok_or_else(|| not_found(path))
    }

    /// Returns the names of the directories directly in `path`.
    fn subdirectories(&self, path: &Path) -> impl Iterator<Item = String> {
        self.directories
            .keys()
            .filter(move |child| child.parent() == Some(path))
            .filter_map(|child| Some(child.file_name()?.to_string_lossy().into_owned()))
    }

    fn file(&self, path: &Path) -> io::Result<&Arc<File>> {
        let (directory, name) = self.place_of(path)?;
        self.directory(directory)?.file(name).ok_or_else(|| not_found(path))
    }

    fn file_or_new(&mut self, path: &Path) -> io::Result<Arc<File>> {
        let (directory, name) = self.place_of(path)?;
        let directory = self.directory_mut(directory)?;
        if let Some(file) = directory.file(name) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(File::default());
        directory.change(Change::Link { name: name.to_owned(), file: Arc::clone(&file) });
        Ok(file)
    }

    /// Returns the directory and name of a path that is a file or could become one.
    fn place_of<'p>(&self, path: &'p Path) -> io::Result<(&'p Path, &'p str)> {
        if self.directories.contains_key(path) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let name = path.file_name().and_then(|name| name.to_str());
        path.parent().zip(name).ok_or_else(|| io::ErrorKind::InvalidFilename.into())
    }
}

/// Returns the bytes of the blocks that a file of `len` bytes takes.
fn blocks(len: u64) -> u64 {
    len.div_ceil(PAGE) * PAGE
}

/// Returns `path` from the root, without `.` and `..`.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    plain
}

fn not_found(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{} does not exist", path.display()))
}
