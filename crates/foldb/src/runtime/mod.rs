//! What several databases share: threads, block cache, open tables, memory.
//!
//! A [`Runtime`] is [`workers`] and a [`ledger`]. A database without one of its options makes its
//! own, so there is one way to do background work and to account for memory. Invariant: whatever a
//! database leaves in the runtime is told apart from what others leave by a number that is given
//! once.

mod ledger;
mod options;
#[cfg(test)]
mod tests;
mod workers;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldb_env::Threads;

use crate::memory::{MemoryUsage, WriteBuffer};
use crate::rewriting::memory::WorkMemory;
use crate::settings::MemoryShares;

pub(crate) use ledger::{Balance, Ledger};
pub use options::RuntimeOptions;
pub(crate) use workers::{IDLE, Tenant, Work, Workers};

/// What databases share that are opened with it: background threads, block cache, file handles of
/// tables, and one budget of memory over all of them. Cheap to clone; all clones are the same.
///
/// For processes with many databases: a hundred of them take as many threads, table handles and
/// bytes as one. The threads start with the first database and end when the last database and the
/// last clone are gone. A database leaves when it is closed.
///
/// What each database has for itself beside it: three file handles (lock, log, manifest) and a log
/// window of up to 256 KiB, and a second one while it is written fast.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use foldb::{Db, Options, Runtime, RuntimeOptions};
///
/// let runtime = Runtime::new(RuntimeOptions { memory_budget: 64 << 20, ..Default::default() })?;
/// let mut stores = Vec::new();
/// for name in ["clicks", "carts", "sessions"] {
///     let options = Options {
///         create_if_missing: true,
///         runtime: Some(runtime.clone()),
///         ..Options::default()
///     };
///     stores.push(Db::open(dir.path().join(name), options)?);
/// }
/// stores[0].put("ada", "1")?;
/// assert!(runtime.memory().total() <= 64 << 20);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    workers: Arc<Workers>,
    ledger: Ledger,
    next_database: AtomicU64,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.workers.shut_down();
    }
}

impl Runtime {
    /// A runtime without databases. Its threads start with the first one.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, its value and the range.
    pub fn new(options: RuntimeOptions) -> crate::Result<Runtime> {
        let shares = options.memory_shares()?;
        Ok(Runtime::with_shares(shares, options.threads))
    }

    pub(crate) fn with_shares(shares: MemoryShares, threads: Arc<dyn Threads>) -> Runtime {
        Runtime(Arc::new(Inner {
            workers: Workers::new(shares.threads, threads),
            ledger: Ledger::new(shares),
            next_database: AtomicU64::new(1),
        }))
    }

    /// Where the memory of all its databases is.
    pub fn memory(&self) -> MemoryUsage {
        // A flush may have ended since a writer last looked: what it made spare is given back
        // first.
        self.balance();
        MemoryUsage { logs: self.log_bytes() as u64, ..self.0.ledger.usage() }
    }

    /// See [`Ledger::balance`].
    pub(crate) fn balance(&self) -> Balance {
        self.0.ledger.balance(|| self.log_bytes())
    }

    fn log_bytes(&self) -> usize {
        self.0.workers.tenants().iter().map(|tenant| tenant.log_bytes()).sum()
    }

    pub(crate) fn workers(&self) -> &Arc<Workers> {
        &self.0.workers
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// The number of the next database.
    pub(crate) fn next_database(&self) -> u64 {
        self.0.next_database.fetch_add(1, Ordering::Relaxed)
    }

    /// What one step of background work may take.
    pub(crate) fn work_memory(&self) -> WorkMemory {
        let Ledger { shares, background, .. } = self.ledger();
        WorkMemory::new(Arc::clone(background), shares.background / shares.threads.max(1))
    }

    /// Enters a memtable of a database in the books.
    pub(crate) fn track(&self, database: u64, memtable: &Arc<impl WriteBuffer + 'static>) {
        self.ledger().track(database, memtable);
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Runtime({:?})", self.0.workers)
    }
}
