//! The process that made a value. A fork copies the memory of a database, but neither its threads
//! nor its right to write: the parent goes on with the same files.
//!
//! A process has a word of memory that a fork sets to zero in the child (see `posix::forks`). The
//! first look after a fork gives the child its own number. So a look costs a load, and no system
//! call.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::faults::{Fault, planted};

/// The process in which [`Process::current`] was called.
///
/// ```
/// let process = foldb_env::Process::current();
/// assert!(process.is_current());
/// ```
#[derive(Clone, Copy)]
pub struct Process {
    word: &'static AtomicU64,
    number: u64,
}

impl Process {
    /// Returns the calling process.
    pub fn current() -> Process {
        // A child begins with its parent's count, so no two processes of a line of descent have
        // the same number.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let word = word();
        // Relaxed: the number itself is all that threads learn from the word.
        let number = match word.load(Ordering::Relaxed) {
            0 => {
                let next = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
                let first = word.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
                first.map_or_else(|found| found, |_| next)
            }
            number => number,
        };
        Process { word, number }
    }

    /// Returns the number that the system gives the calling process.
    pub fn id() -> u64 {
        u64::from(std::process::id())
    }

    /// Returns whether the caller runs in this process, and not in a fork of it.
    #[inline]
    pub fn is_current(self) -> bool {
        self.word.load(Ordering::Relaxed) == self.number || planted(Fault::ForkIsParent)
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_current = self.is_current();
        f.debug_struct("Process").field("is_current", &is_current).finish()
    }
}

#[cfg(unix)]
use crate::posix::word_of_process as word;

/// Other systems have no fork.
#[cfg(not(unix))]
fn word() -> &'static AtomicU64 {
    static WORD: AtomicU64 = AtomicU64::new(0);
    &WORD
}
