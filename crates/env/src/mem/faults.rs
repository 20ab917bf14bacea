//! Errors on demand, and counts of calls.

use std::io;
use std::path::Path;

/// A kind of call to the file system or to one of its handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// [`FileSystem::create`](crate::FileSystem::create)
    Create,
    /// [`FileSystem::open`](crate::FileSystem::open)
    Open,
    /// [`FileSystem::rename`](crate::FileSystem::rename); its path is either of the two
    Rename,
    /// [`FileSystem::hard_link`](crate::FileSystem::hard_link); its path is either of the two
    HardLink,
    /// [`FileSystem::remove`](crate::FileSystem::remove)
    Remove,
    /// [`FileSystem::create_dir_all`](crate::FileSystem::create_dir_all)
    CreateDir,
    /// [`FileSystem::remove_dir`](crate::FileSystem::remove_dir)
    RemoveDir,
    /// [`FileSystem::list`](crate::FileSystem::list)
    List,
    /// [`FileSystem::exists`](crate::FileSystem::exists), `try_exists`, `is_dir` and `len`
    Look,
    /// [`FileSystem::sync_dir`](crate::FileSystem::sync_dir)
    SyncDir,
    /// [`FileSystem::lock`](crate::FileSystem::lock)
    Lock,
    /// [`RandomAccessFile::read_exact_at`](crate::RandomAccessFile::read_exact_at)
    Read,
    /// [`WritableFile::write_at`](crate::WritableFile::write_at)
    Write,
    /// [`WritableFile::preallocate`](crate::WritableFile::preallocate)
    Preallocate,
    /// [`WritableFile::truncate`](crate::WritableFile::truncate)
    Truncate,
    /// [`WritableFile::sync`](crate::WritableFile::sync)
    Sync,
}

impl Operation {
    const COUNT: usize = Operation::Sync as usize + 1;

    /// Returns whether the call changes files, or changes which bytes and names survive a crash.
    pub fn is_mutation(self) -> bool {
        !matches!(self, Operation::Open | Operation::List | Operation::Look | Operation::Read)
    }
}

/// The number of calls of each kind, failed calls included, and the bytes read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    calls: [u64; Operation::COUNT],
    mutations: u64,
    /// Bytes read from files.
    pub bytes_read: u64,
    /// Bytes written to files.
    pub bytes_written: u64,
}

impl Counts {
    /// Returns the number of calls of one kind.
    pub fn of(&self, operation: Operation) -> u64 {
        self.calls[operation as usize]
    }

    /// Returns the number of calls of [`WritableFile::write_at`](crate::WritableFile::write_at).
    pub fn writes(&self) -> u64 {
        self.of(Operation::Write)
    }

    /// Returns the number of calls of [`WritableFile::sync`](crate::WritableFile::sync).
    pub fn syncs(&self) -> u64 {
        self.of(Operation::Sync)
    }

    /// Returns the number of calls of [`FileSystem::sync_dir`](crate::FileSystem::sync_dir).
    pub fn dir_syncs(&self) -> u64 {
        self.of(Operation::SyncDir)
    }

    /// Returns the number of calls that [change](Operation::is_mutation) something. A crash after
    /// each of them can leave a different disk.
    pub fn mutations(&self) -> u64 {
        self.mutations
    }

    pub(super) fn add(&mut self, operation: Operation) {
        self.calls[operation as usize] += 1;
        self.mutations += u64::from(operation.is_mutation());
    }
}

/// A rule that makes calls fail. [`MemFs::inject`](super::MemFs::inject) puts the rule in force.
///
/// A rule from [`Fault::on`] fails the next call of its kind, on any path, once, with
/// `ErrorKind::Other`.
///
/// ```
/// use std::io::ErrorKind;
/// use std::path::Path;
/// use foldb_env::mem::{Fault, MemFs, Operation};
/// use foldb_env::FileSystem;
///
/// let fs = MemFs::new();
/// fs.inject(Fault::on(Operation::Write).path("wal").nth(2).forever().kind(ErrorKind::StorageFull));
///
/// let wal = fs.create(Path::new("wal-1"))?;
/// wal.write_at(b"fits", 0)?;
/// assert_eq!(wal.write_at(b"full", 4).unwrap_err().kind(), ErrorKind::StorageFull);
/// fs.clear_faults();
/// wal.write_at(b"fits", 4)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fault {
    /// `None`: every mutation.
    operation: Option<Operation>,
    path_contains: String,
    /// How many matching calls still succeed.
    skip: u64,
    /// How many matching calls fail after the skipped ones.
    remaining: u64,
    kind: io::ErrorKind,
    torn_at: usize,
}

impl Fault {
    /// Makes a rule for one kind of call.
    pub fn on(operation: Operation) -> Fault {
        Fault { operation: Some(operation), ..Fault::on_mutation() }
    }

    /// Makes a rule for every call that [changes](Operation::is_mutation) something. With
    /// `nth(n).forever()` the disk stops after n - 1 changes.
    pub fn on_mutation() -> Fault {
        Fault {
            operation: None,
            path_contains: String::new(),
            skip: 0,
            remaining: 1,
            kind: io::ErrorKind::Other,
            torn_at: 0,
        }
    }

    /// Limits the rule to calls whose path contains `part`. The path of a handle is the path under
    /// which it was opened.
    pub fn path(mut self, part: &str) -> Fault {
        part.clone_into(&mut self.path_contains);
        self
    }

    /// Sets the first failure: the `n`-th matching call from now, counted from 1.
    pub fn nth(mut self, n: u64) -> Fault {
        assert!(n > 0, "calls are counted from 1");
        self.skip = n - 1;
        self
    }

    /// Fails `n` calls in a row.
    pub fn times(mut self, n: u64) -> Fault {
        self.remaining = n;
        self
    }

    /// Fails every call from the first failure on, until
    /// [`MemFs::clear_faults`](super::MemFs::clear_faults).
    pub fn forever(self) -> Fault {
        self.times(u64::MAX)
    }

    /// Sets the kind of the error.
    pub fn kind(mut self, kind: io::ErrorKind) -> Fault {
        self.kind = kind;
        self
    }

    /// Makes a failing write leave its first `bytes` bytes in the file, as a full disk does.
    pub fn torn_at(mut self, bytes: usize) -> Fault {
        self.torn_at = bytes;
        self
    }

    fn matches(&self, operation: Operation, paths: &[&Path]) -> bool {
        self.operation.map_or(operation.is_mutation(), |own| own == operation)
            && paths.iter().any(|path| path.to_string_lossy().contains(&self.path_contains))
    }

    /// Lets one matching call through or fails it.
    fn strike(&mut self, operation: Operation, paths: &[&Path]) -> Option<Failure> {
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        if self.remaining == 0 {
            return None;
        }
        if self.remaining != u64::MAX {
            self.remaining -= 1;
        }
        let message = format!("injected: {operation:?} of {}", paths[0].display());
        Some(Failure { error: io::Error::new(self.kind, message), torn_at: self.torn_at })
    }
}

/// An injected error, and how much of a write happens before it.
pub(super) struct Failure {
    pub(super) error: io::Error,
    pub(super) torn_at: usize,
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        failure.error
    }
}

/// The rules in force. Every rule sees every call; the oldest rule that fails it decides.
#[derive(Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn check(&mut self, operation: Operation, paths: &[&Path]) -> Result<(), Failure> {
        let strikes = self.0.iter_mut().filter(|fault| fault.matches(operation, paths));
        let failures: Vec<Failure> =
            strikes.filter_map(|fault| fault.strike(operation, paths)).collect();
        failures.into_iter().next().map_or(Ok(()), Err)
    }
}
