//! The file handles of the process. All databases share the limit of the process with the program
//! around them, so they share one budget.
//!
//! A file that is only read, and that keeps its name, need not stay open: [`NamedFile`] opens it
//! again when it is read. Two things close such files:
//!
//! - *The budget.* It bounds how many are open at a time. The budget closes the file first that no
//!   reader used for the longest time (second chance).
//! - *Need.* If the system refuses a handle, whatever it is for, some of these files are closed and
//!   the call is made again.
//!
//! A read of an open file takes no lock. Invariant: a file is in the queue while it is open.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwapOption;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::forks::OfProcess;
use super::{hints, open_file};
use crate::fs::RandomAccessFile;

/// Handles that are left to the program and to other files, unless the limit is small.
const LEAST_RESERVE: u64 = 64;

/// Files that are closed at once if the system refuses a handle.
const GIVEN_BACK: usize = 8;

type Queue = VecDeque<Weak<NamedFile>>;

/// The open files. Those that were dropped stay in the queue for a while.
static QUEUE: OfProcess<Mutex<Queue>> = OfProcess::new(|parent| {
    // A child can close its copies of its parent's files, unless another thread was at the queue.
    let inherited = parent.and_then(|queue| Some(std::mem::take(&mut *queue.try_lock().ok()?)));
    Mutex::new(inherited.unwrap_or_default())
});

fn queue() -> MutexGuard<'static, Queue> {
    // The queue is never left half changed, so a panic elsewhere does not damage it.
    QUEUE.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many of them are open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Returns how many files that keep their names may be open in the process at a time: what its
/// limit (`RLIMIT_NOFILE`) leaves after a reserve for the program, and for logs and other files.
pub(crate) fn budget() -> usize {
    let Some(limit) = getrlimit(Resource::Nofile).current else { return usize::MAX };
    let reserve = (limit / 4).max(LEAST_RESERVE.min(limit / 5 * 3));
    usize::try_from(limit - reserve).unwrap_or(usize::MAX).max(1)
}

/// Makes a call that needs a handle. If the process or the system has none left, closes files and
/// makes the call again.
pub(super) fn with_room<T>(call: impl Fn() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if is_shortage(&error) && give_back() > 0 => {}
            outcome => return outcome,
        }
    }
}

fn is_shortage(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE))
}

/// Closes some files. Returns how many.
fn give_back() -> usize {
    let mut queue = queue();
    (0..GIVEN_BACK).take_while(|_| close_one(&mut queue)).count()
}

/// Closes the first file that was not used since the hand last passed. Returns whether one was
/// open.
fn close_one(queue: &mut Queue) -> bool {
    let mut seen = queue.len();
    while let Some(first) = queue.pop_front() {
        let Some(file) = first.upgrade() else { continue };
        seen = seen.saturating_sub(1);
        // Relaxed, as all accesses of `used`: a hint for the choice of the file to close.
        if file.used.swap(false, Ordering::Relaxed) && seen > 0 {
            queue.push_back(first);
        } else if file.close() {
            return true;
        }
    }
    false
}

/// A file to be read that keeps its name as long as this handle lives.
#[derive(Debug)]
pub(super) struct NamedFile {
    path: PathBuf,
    /// The device and inode. Another file under the name is not read.
    identity: (u64, u64),
    file: ArcSwapOption<File>,
    /// Set at each read, cleared by the hand.
    used: AtomicBool,
    /// For the queue.
    this: Weak<NamedFile>,
}

impl NamedFile {
    pub(super) fn open(path: &Path) -> io::Result<Arc<NamedFile>> {
        let file = open_file(OpenOptions::new().read(true), path)?;
        let identity = identity(&file)?;
        let named = Arc::new_cyclic(|this| NamedFile {
            path: path.to_owned(),
            identity,
            file: ArcSwapOption::empty(),
            used: AtomicBool::new(true),
            this: Weak::clone(this),
        });
        named.keep(Arc::new(file), &mut queue());
        Ok(named)
    }

    /// Opens the file for a read.
    #[cold]
    fn open_again(&self) -> io::Result<Arc<File>> {
        let file = Arc::new(open_file(OpenOptions::new().read(true), &self.path)?);
        if identity(&file)? != self.identity {
            let message = "another file has its name: the directory was changed under the database";
            return Err(io::Error::other(message));
        }
        let mut queue = queue();
        match self.file.load_full() {
            Some(other) => return Ok(other),
            None => self.keep(Arc::clone(&file), &mut queue),
        }
        Ok(file)
    }

    /// Keeps the file open, and closes others beyond the budget.
    fn keep(&self, file: Arc<File>, queue: &mut Queue) {
        // Relaxed: the atomic count is exact, and nothing else depends on it.
        let open = OPEN.fetch_add(1, Ordering::Relaxed) + 1;
        for _ in budget()..open {
            if !close_one(queue) {
                break;
            }
        }
        if queue.len() > 64 + 2 * open {
            queue.retain(|file| file.strong_count() > 0);
        }
        self.file.store(Some(file));
        queue.push_back(Weak::clone(&self.this));
    }

    /// Closes the file. A read that uses it now closes it at its end. Returns whether it was open.
    fn close(&self) -> bool {
        let was_open = self.file.swap(None).is_some();
        if was_open {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
        was_open
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

impl RandomAccessFile for NamedFile {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        if let Some(file) = &*self.file.load() {
            if !self.used.load(Ordering::Relaxed) {
                self.used.store(true, Ordering::Relaxed);
            }
            return file.read_exact_at(buf, offset);
        }
        self.open_again()?.read_exact_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        match &*self.file.load() {
            Some(file) => Ok(file.metadata()?.len()),
            None => Ok(self.open_again()?.metadata()?.len()),
        }
    }

    fn will_need(&self, offset: u64, len: u64) {
        if let Some(file) = &*self.file.load() {
            hints::will_need(file, offset, len);
        }
    }
}

impl Drop for NamedFile {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_closed_is_opened_again_unless_another_has_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, b"content").unwrap();
        let file = NamedFile::open(&path).unwrap();
        let read = || {
            let mut found = [0; 7];
            file.read_exact_at(&mut found, 0).map(|()| found)
        };
        for _ in 0..3 {
            assert_eq!(&read().unwrap(), b"content");
            assert_eq!(file.len().unwrap(), 7);
            assert!(file.close() && !file.close());
        }
        std::fs::rename(&path, directory.path().join("moved")).unwrap();
        assert_eq!(read().unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, b"another").unwrap();
        assert!(read().unwrap_err().to_string().contains("another file"));
    }

    /// Without this, a program on a watched file system needs a handle for each open table.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_watched_file_is_closed_at_need_and_opened_again() {
        use crate::{FileSystem, PosixFs, Trouble, WatchedFs};
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("file");
        std::fs::write(&path, b"content").unwrap();
        let watched = WatchedFs::new(Arc::new(PosixFs), Arc::new(Trouble::default()));
        let file = watched.open_named(&path).unwrap();
        let is_open = || {
            let mut handles = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            handles.any(|handle| std::fs::read_link(handle.path()).is_ok_and(|to| to == path))
        };
        assert!(is_open());
        while is_open() {
            assert!(give_back() > 0);
        }
        assert_eq!(file.len().unwrap(), 7);
    }

    #[test]
    fn dropped_files_leave_the_queue() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, b"content").unwrap();
        for _ in 0..1000 {
            NamedFile::open(&path).unwrap();
        }
        assert!(queue().len() < 200, "{}", queue().len());
    }
}
