//! What the pessimistic transactions of a database share: locks, names, and prepared transactions.
//!
//! A prepared transaction is an entry of a keyspace of this library: its name leads to the bytes of
//! its batch. The commit removes the entry in the same write that makes the batch take effect. So a
//! crash leaves a transaction either prepared or committed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use foldb::{Keyspace, KeyspaceOptions, WriteBatch};
use parking_lot::Mutex;

use crate::batch::rep::Rep;
use crate::database::Database;
use crate::keyspaces::PREPARED;
use crate::options::calls::rocksdb_writeoptions_t;
use crate::status::{Outcome, Status};
use crate::transactions::locks::{LockedKey, Locks, Owner, Request};
use crate::transactions::options::{
    TransactionDbValues, TransactionValues, rocksdb_transactiondb_options_t,
};
use crate::transactions::state::{Rules, Stage, Transaction, timeout};

/// A transaction that several handles share.
pub(crate) type SharedTransaction = Arc<Mutex<Transaction>>;

/// The locks and names of a database with pessimistic transactions.
pub(crate) struct LockingDb {
    pub(crate) locks: Locks,
    values: TransactionDbValues,
    prepared: Keyspace,
    next_owner: AtomicU64,
    names: Mutex<HashMap<Vec<u8>, Weak<Mutex<Transaction>>>>,
    /// Prepared transactions that the open found. They live until they end.
    recovered: Mutex<HashMap<Vec<u8>, SharedTransaction>>,
}

impl LockingDb {
    /// Makes the locks of a database, and takes up the prepared transactions that it holds.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn open(
        database: &Arc<Database>,
        options: &rocksdb_transactiondb_options_t,
    ) -> Outcome<Arc<LockingDb>> {
        let db = database.writable()?;
        let own = KeyspaceOptions {
            // The keys are names, whatever order the program's keys have.
            comparator: Some(Arc::new(foldb::custom::BytewiseComparator)),
            ..KeyspaceOptions::default()
        };
        let most = usize::try_from(options.values.max_num_locks).ok();
        let locking = Arc::new(LockingDb {
            locks: Locks::new(most),
            values: options.values.clone(),
            prepared: db.keyspace_or_create(PREPARED, own)?,
            next_owner: AtomicU64::new(1),
            names: Mutex::default(),
            recovered: Mutex::default(),
        });
        locking.recover(database)?;
        Ok(locking)
    }

    fn recover(self: &Arc<LockingDb>, database: &Arc<Database>) -> Outcome<()> {
        for entry in self.prepared.iter()? {
            let (name, bytes) = entry?;
            let rules = self.rules(&TransactionValues::default(), 0);
            let options = rocksdb_writeoptions_t::default();
            let mut own = Transaction::begin(database.clone(), rules, &options, false, 0);
            own.recover(&Rep::from_bytes(&bytes))?;
            own.name = Some(name.clone());
            own.stage = Stage::Prepared;
            let shared = Arc::new(Mutex::new(own));
            self.names.lock().insert(name.clone(), Arc::downgrade(&shared));
            self.recovered.lock().insert(name, shared);
        }
        Ok(())
    }

    /// Returns the rules of a new transaction. `now_millis` is when it begins, for its expiration.
    pub(crate) fn rules(
        self: &Arc<LockingDb>,
        values: &TransactionValues,
        lock_timeout: i64,
    ) -> Rules {
        let lock_timeout = match values.lock_timeout {
            own if own >= 0 => own,
            _ if lock_timeout != 0 => lock_timeout,
            _ => self.values.transaction_lock_timeout,
        };
        let expires = timeout(values.expiration).filter(|after| !after.is_zero());
        let request = Request {
            owner: self.next_owner(),
            is_exclusive: true,
            timeout: timeout(lock_timeout),
            detects_deadlocks: values.deadlock_detect != 0,
            depth: usize::try_from(values.deadlock_detect_depth).unwrap_or(0),
            expires: expires.and_then(|after| std::time::Instant::now().checked_add(after)),
        };
        let may_skip_prepare = values.skip_prepare != 0;
        Rules::Pessimistic { locking: self.clone(), request, may_skip_prepare }
    }

    fn next_owner(&self) -> Owner {
        self.next_owner.fetch_add(1, Ordering::Relaxed)
    }

    /// Runs a write outside of transactions: it holds the locks of its keys meanwhile.
    ///
    /// # Errors
    /// `Operation timed out` while a transaction holds a lock, and those of the write.
    pub(crate) fn with_locks<T>(
        &self,
        mut keys: Vec<LockedKey>,
        write: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<T> {
        // All writers take their locks in one order, so they do not wait in a circle.
        keys.sort_unstable();
        keys.dedup();
        let request = Request {
            owner: self.next_owner(),
            is_exclusive: true,
            timeout: timeout(self.values.default_lock_timeout),
            detects_deadlocks: false,
            depth: 0,
            expires: None,
        };
        let mut held = Vec::with_capacity(keys.len());
        let mut outcome = Ok(());
        for key in keys {
            match self.locks.lock(&key, &request) {
                Ok(_) => held.push(key),
                Err(status) => {
                    outcome = Err(status);
                    break;
                }
            }
        }
        let outcome = outcome.and_then(|()| write());
        held.iter().for_each(|key| self.locks.unlock(key, request.owner));
        outcome
    }

    /// Gives a transaction its name.
    ///
    /// # Errors
    /// `Invalid argument` for a name that another transaction has.
    pub(crate) fn name(&self, name: &[u8], transaction: Weak<Mutex<Transaction>>) -> Outcome<()> {
        let mut names = self.names.lock();
        if names.get(name).is_some_and(|other| other.strong_count() > 0) {
            return Err(Status::invalid("Transaction name must be unique."));
        }
        names.insert(name.to_vec(), transaction);
        Ok(())
    }

    pub(crate) fn forget_name(&self, name: &[u8]) {
        self.names.lock().remove(name);
        // The transaction that ends is locked, so it must not drop here.
        if let Some(ended) = self.recovered.lock().remove(name) {
            debug_assert!(Arc::strong_count(&ended) > 1, "the caller shares the transaction");
        }
    }

    pub(crate) fn store_prepared(
        &self,
        name: &[u8],
        options: &rocksdb_writeoptions_t,
        batch: &[u8],
    ) -> Outcome<()> {
        Ok(self.prepared.with(&options.for_engine()?).put(name, batch)?)
    }

    /// Removes the mark of a prepared transaction, in the batch that commits it.
    pub(crate) fn forget_prepared(&self, batch: &mut WriteBatch, name: &[u8]) {
        batch.delete_in(&self.prepared, name);
    }

    pub(crate) fn roll_back_prepared(
        &self,
        name: &[u8],
        options: &rocksdb_writeoptions_t,
    ) -> Outcome<()> {
        Ok(self.prepared.with(&options.for_engine()?).delete(name)?)
    }

    /// Returns all prepared transactions.
    pub(crate) fn all_prepared(&self) -> Vec<SharedTransaction> {
        let all: Vec<_> = self.names.lock().values().filter_map(Weak::upgrade).collect();
        // A transaction that another thread is working with is not prepared.
        let is_prepared = |own: &SharedTransaction| {
            own.try_lock().is_some_and(|own| own.stage == Stage::Prepared)
        };
        all.into_iter().filter(is_prepared).collect()
    }

    /// Lets go of the transactions that the open found. They stay prepared in the database.
    pub(crate) fn close(&self) {
        // They take the lock when they drop.
        let recovered = std::mem::take(&mut *self.recovered.lock());
        drop(recovered);
    }
}
