//! The interface to the operating system: files, time, randomness and threads.
//!
//! The engine reaches the machine only through an [`Env`]. So a test can run it on a file system
//! that forgets what was not synced, with a clock that stands still and background work that moves
//! one step at a time.
//!
//! Reading order: [`fs`] (the traits), `posix` (the real file system), [`portable`] (the real file
//! system where there is no `posix`), [`mem`] (in memory, with crashes and injected errors),
//! [`read_only`] (allows no change), [`overlay`] (keeps changes in memory), [`unmapped`] (maps no
//! file), [`watched`] (asks before each call), [`troubled`] (a slow or failing disk), [`clock`],
//! [`threads`], [`scheduling`] (where a simulated machine may switch threads), [`faults`] (bugs to
//! plant in `posix`).

#![deny(unsafe_code)]

pub mod clock;
// Only `posix` has faults.
#[cfg_attr(not(unix), allow(unused))]
pub mod faults;
pub mod fs;
pub mod mem;
pub mod overlay;
mod pages;
mod paths;
pub mod portable;
#[cfg(unix)]
pub mod posix;
pub mod read_only;
pub mod scheduling;
pub mod threads;
pub mod troubled;
pub mod unmapped;
pub mod watched;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

pub use clock::{Clock, ManualClock, SystemClock, nap, thread_cpu_time};
pub use fs::{FileLock, FileSystem, RandomAccessFile, WritableFile};
pub use mem::MemFs;
pub use overlay::OverlayFs;
pub use pages::PagedBytes;
pub use portable::PortableFs;
#[cfg(unix)]
pub use posix::PosixFs;
pub use read_only::{ReadOnlyFs, UnwritableFile};
#[cfg(debug_assertions)]
pub use scheduling::at_scheduling_points;
pub use scheduling::scheduling_point;
pub use threads::{Stepped, SystemThreads, Threads};
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
            fs: Arc::new(SystemFs),
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
            fs: Arc::new(fs),
            clock: Arc::new(ManualClock::default()),
            threads: Arc::new(Stepped),
            seed: Some(0),
        }
    }

    /// Returns the start of a random choice: [`Env::seed`] if there is one. Otherwise it returns 64
    /// bits which the standard library keyed from the operating system's randomness, new ones at
    /// each call. They are good for identities and sampling, not for secrets.
    pub fn random_seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| RandomState::new().hash_one(()))
    }
}

impl Default for Env {
    fn default() -> Env {
        Env::system()
    }
}
