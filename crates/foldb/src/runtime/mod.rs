//! Resources that several databases share: threads, block cache, open tables, memory.
//!
//! A [`Runtime`] is [`workers`], a [`ticker`] and a [`ledger`]. A database whose options name no
//! runtime makes its own, so there is one way to do background work and to account for memory.
//! Invariant: each database has a number that is never reused, which marks everything that the
//! database leaves in the runtime.

mod ledger;
mod options;
mod reservation;
#[cfg(test)]
mod tests;
mod ticker;
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
pub use reservation::Reservation;
pub(crate) use ticker::{Ticked, Ticker};
pub(crate) use workers::{IDLE, Tenant, Work, Workers};

/// Resources that all databases opened with it share. They are background threads, the block cache,
/// file handles of tables, and one memory budget over all databases. Cheap to clone; all clones are
/// the same runtime.
///
/// It is for processes with many databases: a hundred of them use as many threads, table handles
/// and bytes as one. The threads start when there is work for them. They end when the last database
/// and the last clone are dropped. A database leaves when it is closed.
///
/// Each database also has its own three file handles (lock, log, manifest), a fourth once it
/// records itself ([`crate::Options::flight_recorder`]), and a log window of up to 256 KiB. Under
/// fast writes it has a second window.
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
    ticker: Arc<Ticker>,
    ledger: Ledger,
    /// `Relaxed`: the addition gives each number once, and no other memory follows from it.
    next_database: AtomicU64,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.ticker.shut_down();
        self.workers.shut_down();
    }
}

impl Runtime {
    /// Makes a runtime without databases. Its threads start when one of them has work for them.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, its value and the range.
    pub fn new(options: RuntimeOptions) -> crate::Result<Runtime> {
        let shares = options.memory_shares()?;
        Ok(Runtime::with_shares(shares, options.threads))
    }

    pub(crate) fn with_shares(shares: MemoryShares, threads: Arc<dyn Threads>) -> Runtime {
        Runtime(Arc::new(Inner {
            ticker: Ticker::new(Arc::clone(&threads)),
            workers: Workers::new(shares.threads, threads),
            ledger: Ledger::new(shares),
            next_database: AtomicU64::new(1),
        }))
    }

    /// Returns the memory use of all its databases.
    pub fn memory(&self) -> MemoryUsage {
        if !self.0.workers.are_of_this_process() {
            return MemoryUsage::default();
        }
        // A flush may have ended since a writer last checked the ledger: first free the memory that
        // it made spare.
        self.balance();
        MemoryUsage { logs: self.log_bytes() as u64, ..self.0.ledger.usage() }
    }

    /// Returns a reservation of no memory. What the program reserves counts in the budget: write
    /// buffers get less of it while the reservation lasts, down to a quarter of their share. Up to
    /// three eighths of the budget always fit beside them.
    ///
    /// # Example
    /// ```
    /// use foldb::{Runtime, RuntimeOptions};
    ///
    /// let runtime = Runtime::new(RuntimeOptions::default())?;
    /// let mut reservation = runtime.reserve();
    /// reservation.set(1 << 20);
    /// assert_eq!(runtime.memory().reserved, 1 << 20);
    /// drop(reservation);
    /// assert_eq!(runtime.memory().reserved, 0);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn reserve(&self) -> Reservation {
        Reservation::new(&self.ledger().reserved)
    }

    /// Calls [`Ledger::balance`].
    pub(crate) fn balance(&self) -> Balance {
        self.0.ledger.balance(|| self.log_bytes())
    }

    fn log_bytes(&self) -> usize {
        self.0.workers.tenants().iter().map(|tenant| tenant.log_bytes()).sum()
    }

    pub(crate) fn workers(&self) -> &Arc<Workers> {
        &self.0.workers
    }

    /// Returns the thread that looks at databases once a second.
    pub(crate) fn ticker(&self) -> &Arc<Ticker> {
        &self.0.ticker
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// # Errors
    /// `Forked` in a fork of the process that made the runtime: the fork has none of its threads.
    pub(crate) fn check_process(&self) -> crate::Result<()> {
        if self.0.workers.are_of_this_process() {
            return Ok(());
        }
        Err(crate::Error::new(
            crate::ErrorKind::Forked,
            "this process is a fork of the one that made the runtime: make another one",
        ))
    }

    /// Returns the number of the next database.
    pub(crate) fn next_database(&self) -> u64 {
        self.0.next_database.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the memory that one step of background work may use.
    pub(crate) fn work_memory(&self) -> WorkMemory {
        let Ledger { shares, background, .. } = self.ledger();
        WorkMemory::new(Arc::clone(background), shares.background / shares.threads.max(1))
    }

    /// Adds a memtable of a database to the ledger.
    pub(crate) fn track(&self, database: u64, memtable: &Arc<impl WriteBuffer + 'static>) {
        self.ledger().track(database, memtable);
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Runtime({:?})", self.0.workers)
    }
}
