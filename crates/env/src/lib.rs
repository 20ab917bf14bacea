//! The interface to the operating system: files, time, randomness and threads.
//!
//! The engine reaches the machine only through an [`Env`]. So a test can replace every part of the
//! machine: the file system may lose unsynced bytes, the clock may stand still, and the test may
//! run background work one step at a time.
//!
//! Reading order:
//!
//! - [`fs`]: the traits of a file system
//! - `posix`: the real file system of Unix
//! - [`portable`]: the real file system of other systems
//! - [`mem`]: a file system in memory, with crashes and injected errors
//! - [`append_only`]: a file system over files that only grow at their end
//! - [`read_only`]: a view of another file system that allows no change
//! - [`overlay`]: a view of another file system that keeps all changes in memory
//! - [`held`]: a view of another file system that changes a directory only while its lock is in
//!   place
//! - [`process`]: the process that made a value, and whether the caller is a fork of it
//! - [`unmapped`]: a view of another file system that maps no file
//! - [`watched`]: a view of another file system that calls a function of the test before each call
//! - [`troubled`]: a slow, hanging or failing disk
//! - [`clock`]: real time, or a clock that only a test moves
//! - [`threads`]: the threads of background work
//! - [`scheduling`]: places where a simulated machine may switch threads
//! - `faults`: deliberate bugs that tests switch on in `posix`, to prove that they detect them

#![deny(unsafe_code)]

pub mod append_only;
pub mod clock;
// Most deliberate bugs are those of `posix`.
#[cfg_attr(not(unix), allow(unused))]
#[cfg(not(feature = "internals"))]
#[allow(unreachable_pub)]
mod faults;
#[cfg_attr(not(unix), allow(unused))]
#[cfg(feature = "internals")]
pub mod faults;
pub mod fs;
pub mod held;
pub mod mem;
pub mod overlay;
mod pages;
mod paths;
pub mod portable;
#[cfg(unix)]
pub mod posix;
pub mod process;
pub mod read_only;
pub mod scheduling;
pub mod threads;
pub mod troubled;
pub mod unmapped;
pub mod watched;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use append_only::under_test::switched;
pub use append_only::{
    AppendOnlyFiles, AppendOnlyFs, AppendedFile, ReadableFile, RestrictedFs, SCRATCH_NAME,
};
pub use clock::{Clock, ManualClock, SystemClock, nap, thread_cpu_time};
pub use fs::{
    CheckPlace, DirectoryLost, FileLock, FileSystem, Holder, LockHeld, NothingDone, Place,
    RandomAccessFile, WritableFile,
};
pub use held::HeldFs;
pub use mem::MemFs;
pub use overlay::OverlayFs;
pub use pages::PagedBytes;
pub use portable::PortableFs;
#[cfg(unix)]
pub use posix::PosixFs;
pub use process::Process;
pub use read_only::{ReadOnlyFs, UnwritableFile};
#[cfg(all(debug_assertions, feature = "internals"))]
pub use scheduling::at_scheduling_points;
pub use scheduling::scheduling_point;
pub use threads::{Stepped, SystemThreads, Thread, ThreadBody, Threads};
pub use troubled::Trouble;
pub use unmapped::UnmappedFs;
pub use watched::{Watch, WatchedFs};

#[cfg(not(unix))]
use portable::PortableFs as SystemFs;
#[cfg(unix)]
use posix::PosixFs as SystemFs;

/// The machine as the engine sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Env {
    /// The file system.
    pub fs: Arc<dyn FileSystem>,
    /// The clock, and how to wait.
    pub clock: Arc<dyn Clock>,
    /// The threads of background work.
    pub threads: Arc<dyn Threads>,
    /// Seed of every random choice of the engine (database identity among them). `None` draws one
    /// from the operating system.
    pub seed: Option<u64>,
}

impl Env {
    /// Returns the real machine: real files, real time, real threads.
    pub fn system() -> Env {
        Env {
            fs: switched(Arc::new(SystemFs)),
            clock: Arc::new(SystemClock::default()),
            threads: Arc::new(SystemThreads),
            seed: None,
        }
    }

    /// Returns a machine in which nothing happens by itself: files in `fs`, a [`ManualClock`],
    /// [`Stepped`] threads, seed 0.
    ///
    /// ```
    /// use foldb_env::{Env, MemFs};
    ///
    /// let fs = MemFs::new();
    /// let env = Env::in_memory(fs.clone());
    /// // ... run a database in `env` ...
    /// let after_power_loss = Env::in_memory(fs.crash());
    /// # assert_eq!(env.random_seed(), after_power_loss.random_seed());
    /// ```
    pub fn in_memory(fs: MemFs) -> Env {
        Env {
            fs: switched(Arc::new(fs)),
            clock: Arc::new(ManualClock::default()),
            threads: Arc::new(Stepped),
            seed: Some(0),
        }
    }

    /// Returns a seed for random choices: [`Env::seed`] if it is set. Otherwise each call returns
    /// 64 new random bits. The standard library derives them from the operating system's
    /// randomness. They are good for identities and sampling, not for secrets.
    pub fn random_seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| RandomState::new().hash_one(()))
    }
}

/// Returns how many files that are only read the process may have open at a time, over all
/// databases: the tables and value segments. It is what the limit of the process leaves after a
/// reserve of a quarter, or 64 (three fifths of a small limit), for the program and other files.
pub fn file_budget() -> usize {
    #[cfg(unix)]
    return posix::budget();
    #[cfg(not(unix))]
    usize::MAX
}

impl Default for Env {
    fn default() -> Env {
        Env::system()
    }
}
