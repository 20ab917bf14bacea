//! Running a transaction until its commit succeeds.
//!
//! A transaction that loses runs again: at once at first, then after pauses that double. After
//! [`LOSSES_BEFORE_TURN`] losses it runs in a *turn*: other writers wait while it runs, so that it
//! cannot lose again, unless it exceeds the turn's limit ([`crate::db::throttle::turn`]).

use std::ops::Deref;
use std::time::Duration;

use crate::db::core::Core;
use crate::db::handle::With;
use crate::db::handle::database::Db;
use crate::db::state::patience::Patience;
use crate::db::throttle::turn::turn_after;
use crate::db::transaction::handle::Transaction;
use crate::error::{ErrorKind, Result};
use crate::options::WriteOptions;

/// What a transaction is protected from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// The transaction happens as if alone, at the moment of its commit: what it read is unchanged
    /// then. Reads conflict with writes; writes conflict with nothing.
    #[default]
    Serializable,
    /// The transaction reads one moment, and no other write changes what it writes. Two
    /// transactions may each read what the other one writes.
    Snapshot,
}

/// Options of a transaction.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb::Db::create(dir.path().join("db"))?;
/// use foldb::{TransactionOptions, WriteOptions};
///
/// let durable = TransactionOptions {
///     write: WriteOptions { sync: true, ..Default::default() },
///     ..Default::default()
/// };
/// db.with(&durable).transact(|transaction| transaction.put("key", "value"))?;
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    /// Default: [`Isolation::Serializable`].
    pub isolation: Isolation,
    /// What the return of the commit guarantees.
    pub write: WriteOptions,
    /// Bytes of keys read that the transaction remembers one by one, with 24 bytes for each key.
    /// Beyond it, it remembers ranges, and meets more conflicts. Default: 16 MiB, so 400 000 keys
    /// of 16 bytes. [`crate::stats::MemoryUsage`] tells what is in use.
    pub max_read_bytes: usize,
    /// How often [`With::transact`] runs the transaction before it returns the conflict. At least
    /// 1. Default: 100.
    pub max_attempts: u32,
    /// When [`With::transact`] stops running it again. All its waits end by then, too: those of
    /// turns, of pauses and of commits. Default: none.
    pub deadline: Option<Duration>,
}

impl Default for TransactionOptions {
    fn default() -> TransactionOptions {
        TransactionOptions {
            isolation: Isolation::default(),
            write: WriteOptions::default(),
            max_read_bytes: 16 << 20,
            max_attempts: 100,
            deadline: None,
        }
    }
}

/// Losses after which a transaction pauses before it runs again.
const LOSSES_BEFORE_PAUSE: u32 = 2;
const FIRST_PAUSE: Duration = Duration::from_micros(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// Counts as an open transaction until it is dropped. Writes are noted meanwhile.
pub(super) struct Noting<C: Deref<Target = Core>>(C);

impl<C: Deref<Target = Core>> Noting<C> {
    /// Counts a transaction as open, and makes sure that writes are noted from now on.
    ///
    /// # Errors
    /// `Busy` if patience ends while another call holds the writer lock; `Reentrant`.
    pub(super) fn begin(core: C, patience: Patience) -> Result<Noting<C>> {
        let are_noted = core.transactions.begin();
        let noting = Noting(core);
        if !are_noted {
            noting.0.start_noting(patience)?;
        }
        Ok(noting)
    }
}

impl<C: Deref<Target = Core>> Drop for Noting<C> {
    fn drop(&mut self) {
        // A fork's copy was never counted there.
        if self.0.standing.is_in_its_process() {
            self.0.transactions.end();
        }
    }
}

impl Core {
    #[cold]
    fn start_noting(&self, patience: Patience) -> Result<()> {
        let mut writer = self.lock_writer_for(patience)?;
        writer.recent.start(self.published());
        self.transactions.started_noting();
        Ok(())
    }
}

impl With<'_, Db, TransactionOptions> {
    /// Begins a transaction. The caller commits it, and runs it again after a `Conflict`.
    ///
    /// # Errors
    /// `Closed`, `Forked`; `Busy` if the deadline of [`TransactionOptions::write`] ends while
    /// another call holds the writer lock. A database that accepts no writes, because it is
    /// `Poisoned` or was opened read-only, still begins transactions: those without writes succeed.
    pub fn begin(&self) -> Result<Transaction> {
        Transaction::begin(self.handle, self.options.clone(), Patience::ENDLESS)
    }

    /// Runs `work` in a transaction and commits it. After a conflict of the commit it runs `work`
    /// again, so `work` should have no effects of its own. An error of `work` drops the transaction
    /// and is returned, a `Conflict` too; [`crate::Error::aborted`] makes one.
    ///
    /// A transaction that loses again and again is let through: after eight losses the other
    /// writers wait for it, up to 20 milliseconds at first.
    ///
    /// # Errors
    /// The error of `work`; `Conflict` after [`TransactionOptions::max_attempts`] or the deadline;
    /// `Busy` if a deadline ends while it waits for the turn of another transaction or for the
    /// writer lock; as [`Transaction::commit`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::{Db, Error, Transaction};
    ///
    /// fn balance(transaction: &Transaction, account: &str) -> foldb::Result<u64> {
    ///     let bytes = transaction.get(account)?;
    ///     Ok(bytes.map_or(0, |bytes| u64::from_le_bytes(bytes[..].try_into().unwrap())))
    /// }
    ///
    /// let db = Db::create(dir.path().join("bank"))?;
    /// db.put("ann", 100u64.to_le_bytes())?;
    /// let pay = |amount: u64| {
    ///     db.transact(|transaction| {
    ///         let (ann, bob) = (balance(transaction, "ann")?, balance(transaction, "bob")?);
    ///         let left = ann.checked_sub(amount).ok_or_else(|| Error::aborted("too little"))?;
    ///         transaction.put("ann", left.to_le_bytes())?;
    ///         transaction.put("bob", (bob + amount).to_le_bytes())
    ///     })
    /// };
    /// pay(70)?;
    /// assert_eq!(pay(70).unwrap_err().kind(), foldb::ErrorKind::Aborted);
    /// assert_eq!(db.get("ann")?.unwrap(), 30u64.to_le_bytes());
    /// assert_eq!(db.get("bob")?.unwrap(), 70u64.to_le_bytes());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn transact<T>(&self, mut work: impl FnMut(&Transaction) -> Result<T>) -> Result<T> {
        let (db, options) = (self.handle, self.options);
        let clock = &*db.core().options.env.clock;
        let patience = Patience::from_now(options.deadline, clock);
        let mut losses = 0_u32;
        loop {
            let turn = match turn_after(losses) {
                None => None,
                Some(limit) => {
                    let patience = Patience::of(&options.write, clock).or(patience);
                    Some(db.core().take_turn(limit, patience)?)
                }
            };
            let transaction = Transaction::begin(db, options.clone(), patience)?;
            // An error of the closure is the caller's, whatever its kind: only a commit loses.
            let result = work(&transaction)?;
            let committed = transaction.commit();
            drop(turn);
            losses += 1;
            match committed {
                Ok(()) => return Ok(result),
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    if losses >= options.max_attempts || patience.is_over(clock) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
            if let Some(further) = losses.checked_sub(LOSSES_BEFORE_PAUSE) {
                let longest = FIRST_PAUSE.saturating_mul(1 << further.min(16)).min(LONGEST_PAUSE);
                let pause = longest.mul_f64(fastrand::f64());
                clock.sleep(patience.left(clock).map_or(pause, |left| pause.min(left)));
            }
        }
    }
}

impl Db {
    /// Begins a transaction. The caller commits it, and runs it again after a `Conflict`.
    ///
    /// # Errors
    /// As [`With::begin`].
    pub fn begin(&self) -> Result<Transaction> {
        self.with(&TransactionOptions::default()).begin()
    }

    /// Runs `work` in a transaction and commits it, again after a conflict: see
    /// [`With::transact`].
    ///
    /// # Errors
    /// As [`With::transact`].
    pub fn transact<T>(&self, work: impl FnMut(&Transaction) -> Result<T>) -> Result<T> {
        self.with(&TransactionOptions::default()).transact(work)
    }
}
