//! A transaction: its own writes, the keys that it depends on, and its stages.
//!
//! Both kinds keep their writes in a batch with an index. A pessimistic one locks each key that it
//! writes or reads for update. An optimistic one notes the moment of each key instead, and checks
//! at its commit that nothing was written since:
//!
//! ```text
//! pessimistic   put a: lock a     put b: lock b     commit: write, unlock
//! optimistic    put a: note 17    put b: note 19    commit: no a since 17, no b since 19: write
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldb::{Isolation, Snapshot, TransactionOptions, Value};
use parking_lot::RwLock;

use crate::batch::index::IndexedBatch;
use crate::batch::rep::{Kind, Rep};
use crate::batch::with_index::SharedBatch;
use crate::database::{Database, Family};
use crate::options::calls::{rocksdb_readoptions_t, rocksdb_writeoptions_t};
use crate::status::{Code, Outcome, Status};
use crate::transactions::locking::LockingDb;
use crate::transactions::locks::{LockedKey, Owner, Request};

/// How far a transaction has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Started,
    Prepared,
    Committed,
    RolledBack,
}

/// How a transaction keeps others from changing what it depends on.
pub(crate) enum Rules {
    Optimistic,
    Pessimistic { locking: Arc<LockingDb>, request: Request, may_skip_prepare: bool },
}

/// A place to go back to.
struct SavedPlace {
    snapshot: Option<Snapshot>,
    /// The keys that were tracked since.
    new_keys: Vec<LockedKey>,
}

pub(crate) struct Transaction {
    pub(crate) database: Arc<Database>,
    pub(crate) rules: Rules,
    pub(crate) batch: SharedBatch,
    write_options: rocksdb_writeoptions_t,
    /// In a box: the program may hold a pointer to it.
    pub(crate) snapshot: Option<Box<Snapshot>>,
    /// The keys that the transaction depends on; an optimistic one with the moment since when.
    tracked: HashMap<LockedKey, Option<Snapshot>>,
    savepoints: Vec<SavedPlace>,
    pub(crate) stage: Stage,
    pub(crate) name: Option<Vec<u8>>,
}

impl Transaction {
    pub(crate) fn begin(
        database: Arc<Database>,
        rules: Rules,
        write_options: &rocksdb_writeoptions_t,
        takes_snapshot: bool,
        most_bytes: usize,
    ) -> Transaction {
        let snapshot = takes_snapshot.then(|| Box::new(database.snapshot()));
        let rep = Rep::with_limits(0, most_bytes);
        let order = crate::options::effect::comparator(&database.default.options);
        Transaction {
            database,
            rules,
            batch: Arc::new(RwLock::new(IndexedBatch::of(rep, order))),
            write_options: write_options.clone(),
            snapshot,
            tracked: HashMap::new(),
            savepoints: Vec::new(),
            stage: Stage::Started,
            name: None,
        }
    }

    fn owner(&self) -> Option<Owner> {
        match &self.rules {
            Rules::Optimistic => None,
            Rules::Pessimistic { request, .. } => Some(request.owner),
        }
    }

    pub(crate) fn is_expired(&self) -> bool {
        match &self.rules {
            Rules::Optimistic => false,
            Rules::Pessimistic { request, .. } => {
                request.expires.is_some_and(|end| end <= Instant::now())
            }
        }
    }

    /// Depends on a key from now on.
    ///
    /// # Errors
    /// Those of [`crate::transactions::locks::Locks::lock`], and `Resource busy` if the key was
    /// written after the transaction's snapshot.
    pub(crate) fn track(&mut self, family: &Family, key: &[u8], is_exclusive: bool) -> Outcome<()> {
        let tracked = (family.id, key.to_vec());
        let is_new = match &self.rules {
            Rules::Optimistic => !self.tracked.contains_key(&tracked),
            Rules::Pessimistic { locking, request, .. } => {
                let request = Request { is_exclusive, ..*request };
                let is_new = locking.locks.lock(&tracked, &request)?;
                if is_new && let Err(status) = self.check_snapshot(family, key) {
                    locking.locks.unlock(&tracked, request.owner);
                    return Err(status);
                }
                is_new
            }
        };
        if is_new {
            let since = match &self.rules {
                Rules::Optimistic => Some(match &self.snapshot {
                    Some(snapshot) => Snapshot::clone(snapshot),
                    None => self.database.snapshot(),
                }),
                Rules::Pessimistic { .. } => None,
            };
            if let Some(place) = self.savepoints.last_mut() {
                place.new_keys.push(tracked.clone());
            }
            self.tracked.insert(tracked, since);
        }
        Ok(())
    }

    /// Checks that a key was not written after the transaction's snapshot.
    fn check_snapshot(&self, family: &Family, key: &[u8]) -> Outcome<()> {
        match &self.snapshot {
            Some(snapshot) if family.writable()?.is_written_after(key, snapshot)? => {
                Err(Status::new(Code::Busy, ""))
            }
            _ => Ok(()),
        }
    }

    /// Writes to the transaction.
    ///
    /// # Errors
    /// Those of [`Transaction::track`], and `Operation aborted` beyond the limit of its bytes.
    pub(crate) fn write(
        &mut self,
        family: &Family,
        kind: Kind,
        key: &[u8],
        value: &[u8],
    ) -> Outcome<()> {
        self.track(family, key, true)?;
        self.batch.write().push(Some(family), kind, &[key], &[value])
    }

    /// Reads a key: the transaction's own writes over the database.
    pub(crate) fn get(
        &self,
        options: &rocksdb_readoptions_t,
        family: &Family,
        key: &[u8],
    ) -> Outcome<Option<Value>> {
        let state = self.batch.read().state(family.id, key);
        family.get_over(options, key, state)
    }

    pub(crate) fn set_savepoint(&mut self) {
        self.batch.write().rep.set_savepoint();
        let snapshot = self.snapshot.as_deref().cloned();
        self.savepoints.push(SavedPlace { snapshot, new_keys: Vec::new() });
    }

    /// Goes back to the last save point, and depends no more on the keys since.
    ///
    /// # Errors
    /// `NotFound` without one; `Invalid argument` after the preparation.
    pub(crate) fn rollback_to_savepoint(&mut self) -> Outcome<()> {
        if self.stage != Stage::Started {
            return Err(Status::invalid("Transaction is beyond state for rollback."));
        }
        let place = self.savepoints.pop().ok_or_else(|| Status::not_found(""))?;
        self.batch.write().rollback()?;
        self.snapshot = place.snapshot.map(Box::new);
        for key in place.new_keys {
            self.untrack(&key);
        }
        Ok(())
    }

    fn untrack(&mut self, key: &LockedKey) {
        self.tracked.remove(key);
        if let Rules::Pessimistic { locking, request, .. } = &self.rules {
            locking.locks.unlock(key, request.owner);
        }
    }

    /// Forgets writes, save points and locks.
    fn clear(&mut self) {
        let keys: Vec<LockedKey> = self.tracked.keys().cloned().collect();
        keys.iter().for_each(|key| self.untrack(key));
        self.savepoints.clear();
        self.batch.write().clear();
    }

    /// Prepares the commit: it survives a crash from now on.
    ///
    /// # Errors
    /// `Invalid argument` without a name and in a later stage; `Operation expired`.
    pub(crate) fn prepare(&mut self) -> Outcome<()> {
        let Rules::Pessimistic { locking, .. } = &self.rules else {
            return Err(Status::invalid(
                "Two phase commit not supported for optimistic transactions.",
            ));
        };
        let Some(name) = &self.name else {
            return Err(Status::invalid("Cannot prepare a transaction that has not been named."));
        };
        if self.is_expired() {
            return Err(expired());
        }
        match self.stage {
            Stage::Started => {}
            Stage::Prepared => {
                return Err(Status::invalid("Transaction has already been prepared."));
            }
            Stage::Committed => return Err(already_committed()),
            Stage::RolledBack => return Err(already_rolled_back()),
        }
        locking.store_prepared(name, &self.write_options, self.batch.read().rep.bytes())?;
        self.stage = Stage::Prepared;
        Ok(())
    }

    /// Commits.
    ///
    /// # Errors
    /// `Resource busy` if others changed what an optimistic transaction depends on; it may be
    /// rolled back and run again. `Operation expired`. `Invalid argument` in a later stage.
    pub(crate) fn commit(&mut self) -> Outcome<()> {
        match &self.rules {
            Rules::Optimistic => {
                self.commit_checked()?;
                self.clear();
                return Ok(());
            }
            Rules::Pessimistic { may_skip_prepare, .. } => match self.stage {
                Stage::Prepared => {}
                Stage::Started if self.is_expired() => return Err(expired()),
                Stage::Started if *may_skip_prepare => {}
                Stage::Started => return Err(Status::invalid("Txn not prepared")),
                Stage::Committed => return Err(already_committed()),
                Stage::RolledBack => return Err(already_rolled_back()),
            },
        }
        self.commit_locked()?;
        self.stage = Stage::Committed;
        self.forget_name();
        self.clear();
        Ok(())
    }

    /// Writes the batch of a pessimistic transaction. The mark of its preparation goes with it.
    fn commit_locked(&self) -> Outcome<()> {
        let Rules::Pessimistic { locking, .. } = &self.rules else { return Ok(()) };
        let own = self.batch.read();
        let mut batch = self.database.engine_batch(&self.write_options, &own.rep)?;
        if let (Stage::Prepared, Some(name)) = (self.stage, &self.name) {
            locking.forget_prepared(&mut batch, name);
        }
        if batch.is_empty() {
            return Ok(());
        }
        let options = self.write_options.for_engine()?;
        Ok(self.database.writable()?.with(&options).write(&batch)?)
    }

    /// Commits an optimistic transaction: checks each key and writes, in one step of the engine.
    fn commit_checked(&self) -> Outcome<()> {
        let own = self.batch.read();
        let write = self.write_options.for_engine()?;
        let isolation = Isolation::Snapshot;
        let options = TransactionOptions { isolation, write, ..TransactionOptions::default() };
        let step = self.database.writable()?.with(&options).begin()?;
        for ((family, key), since) in &self.tracked {
            let family = self.database.family(*family)?;
            let keyspace = family.writable()?;
            // The step begins before the check, so a write after the check breaks its claim.
            match step.keyspace(keyspace).get_for_update(key) {
                Err(error) if error.kind() != foldb::ErrorKind::MergeFailed => {
                    return Err(error.into());
                }
                _ => {}
            }
            if let Some(since) = since
                && keyspace.is_written_after(key, since)?
            {
                return Err(Status::new(Code::Busy, ""));
            }
        }
        for op in own.rep.ops() {
            let op = op?;
            let family = self.database.family(op.family)?;
            let keyspace = step.keyspace(family.writable()?);
            match (op.kind, &family.operator) {
                (Kind::Put, _) => keyspace.put(op.key, op.value)?,
                (Kind::Delete | Kind::SingleDelete, _) => keyspace.delete(op.key)?,
                (Kind::DeleteRange, _) => keyspace.delete_range(op.key..op.value)?,
                (Kind::Merge, Some(operator)) => {
                    keyspace.merge_with(operator, op.key, op.value)?;
                }
                (Kind::Merge, None) => {
                    return Err(Status::invalid(
                        "Merge requires `ColumnFamilyOptions::merge_operator != nullptr`",
                    ));
                }
            }
        }
        match step.commit() {
            Err(error) if error.kind() == foldb::ErrorKind::Conflict => {
                Err(Status::new(Code::Busy, ""))
            }
            committed => Ok(committed?),
        }
    }

    /// Gives the transaction up.
    ///
    /// # Errors
    /// `Invalid argument` after the commit.
    pub(crate) fn rollback(&mut self) -> Outcome<()> {
        match (self.stage, &self.rules) {
            (Stage::Committed, _) => {
                return Err(Status::invalid("This transaction has already been committed."));
            }
            (Stage::RolledBack, Rules::Pessimistic { .. }) => {
                return Err(Status::invalid("Two phase transaction is not in state for rollback."));
            }
            (Stage::Prepared, Rules::Pessimistic { locking, .. }) => {
                let name = self.name.clone().unwrap_or_default();
                locking.roll_back_prepared(&name, &self.write_options)?;
                self.stage = Stage::RolledBack;
                self.forget_name();
            }
            _ => {}
        }
        self.clear();
        Ok(())
    }

    /// Names the transaction.
    ///
    /// # Errors
    /// `Invalid argument` for a second name, one of a wrong length, or one that another has.
    pub(crate) fn check_name(&self, name: &[u8]) -> Outcome<()> {
        if self.stage != Stage::Started {
            return Err(Status::invalid("Transaction is beyond state for naming."));
        }
        if self.name.is_some() {
            return Err(Status::invalid("Transaction has already been named."));
        }
        if !(1..=512).contains(&name.len()) {
            return Err(Status::invalid(
                "Transaction name length must be between 1 and 512 chars.",
            ));
        }
        Ok(())
    }

    fn forget_name(&self) {
        if let (Rules::Pessimistic { locking, .. }, Some(name)) = (&self.rules, &self.name) {
            locking.forget_name(name);
        }
    }

    /// Takes up the writes of a prepared transaction. It locks their keys where they are free: a
    /// program may have prepared two transactions of one key, after it freed the first handle.
    pub(crate) fn recover(&mut self, rep: &Rep) -> Outcome<()> {
        let Rules::Pessimistic { locking, request, .. } = &self.rules else { return Ok(()) };
        let at_once = Request { timeout: Some(Duration::ZERO), ..*request };
        for op in rep.ops() {
            let op = op?;
            let family = self.database.family(op.family)?;
            let key = (family.id, op.key.to_vec());
            if locking.locks.lock(&key, &at_once).is_ok() {
                self.tracked.insert(key, None);
            }
            self.batch.write().push(Some(&family), op.kind, &[op.key], &[op.value])?;
        }
        Ok(())
    }

    /// Takes the writes of a batch as its own, and locks their keys.
    pub(crate) fn rebuild(&mut self, rep: &Rep) -> Outcome<()> {
        for op in rep.ops() {
            let op = op?;
            let family = self.database.family(op.family)?;
            self.write(&family, op.kind, op.key, op.value)?;
        }
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.owner().is_some() {
            self.forget_name();
            let keys: Vec<LockedKey> = self.tracked.keys().cloned().collect();
            keys.iter().for_each(|key| self.untrack(key));
        }
    }
}

fn expired() -> Status {
    Status::new(Code::Expired, "")
}

fn already_committed() -> Status {
    Status::invalid("Transaction has already been committed.")
}

fn already_rolled_back() -> Status {
    Status::invalid("Transaction has already been rolledback.")
}

/// Returns a time-out of RocksDB: milliseconds; below 0, there is none.
pub(crate) fn timeout(millis: i64) -> Option<Duration> {
    u64::try_from(millis).ok().map(Duration::from_millis)
}
