//! The handle of a transaction.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::db::batch::{BatchMark, WriteBatch};
use crate::db::core::Core;
use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::snapshot::Snapshot;
use crate::db::state::patience::Patience;
use crate::db::state::recent_writes::range_of;
use crate::db::transaction::check::{Check, Verdict};
use crate::db::transaction::claims::{Claims, Forbids};
use crate::db::transaction::own_writes::OwnWrites;
use crate::db::transaction::reading::OverSnapshot;
use crate::db::transaction::transact::Noting;
use crate::db::transaction::transact::{Isolation, TransactionOptions};
use crate::encoding::key_hash;
use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::fold::Operator;
use crate::fold::stamp::{NEVER, moment_of};
use crate::key::{AsKeyRange, Kind};
use crate::limits;
use crate::locks::rank::{CLAIMS, TRANSACTION};
use crate::locks::{Lock, LockGuard};
use crate::memory::{Gauge, RoughCharge};
use crate::settings::Expires;
use crate::user_code::guarded;

/// Most times that a commit reads the records of its claims before it counts as a conflict.
const MOST_READINGS: u32 = 4;
/// Readings that lost the notes of recent writes, after which other writers wait for the next one.
const READINGS_BEFORE_TURN: u32 = 2;
const TURN_OF_READING: Duration = Duration::from_millis(100);

/// Reads and writes of several keys that happen at one moment, or not at all.
///
/// A transaction reads one snapshot of all keyspaces, with its own writes on top. Other readers see
/// its writes only after the commit, and then all of them. A transaction that is dropped without a
/// commit leaves no trace. [`Db::transact`] runs one again after a conflict; [`Db::begin`] leaves
/// that to the caller.
///
/// Its own methods act on the keyspace `default`; [`Transaction::keyspace`] gives those of another.
///
/// # What conflicts
/// With [`Isolation::Serializable`] the commit fails with `Conflict` if another write changed what
/// the transaction read: a key, an absent key, or a key of a range that it iterated over. Writes do
/// not conflict with writes. A merge reads nothing, so transactions that only merge never conflict.
///
/// With [`Isolation::Snapshot`] reads claim nothing. The commit fails if another write put or
/// deleted a key that the transaction writes, or merged into a key that it puts or deletes.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options {
/// #     create_if_missing: true,
/// #     default: foldb::KeyspaceOptions::with_operator("uint64add"),
/// #     ..Default::default()
/// # };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// db.put("stock", "1")?;
/// let first = db.begin()?;
/// let second = db.begin()?;
/// for transaction in [&first, &second] {
///     assert_eq!(transaction.get("stock")?.unwrap(), b"1");
///     transaction.put("stock", "0")?;
///     transaction.merge("orders", 1u64.to_le_bytes())?;
/// }
/// first.commit()?;
/// assert_eq!(second.commit().unwrap_err().kind(), foldb::ErrorKind::Conflict);
/// assert_eq!(db.get("orders")?.unwrap(), 1u64.to_le_bytes());
/// # Ok::<(), foldb::Error>(())
/// ```
pub struct Transaction {
    db: Db,
    options: TransactionOptions,
    /// The end of all waits of the closure that runs in the transaction.
    patience: Patience,
    state: Lock<State, TRANSACTION>,
    /// When the first of the values that were read expires. A commit after that is a conflict.
    /// `Relaxed`: the moment alone counts. A commit consumes the transaction, so its reads came
    /// before, and the commit finds the least of their moments.
    first_end: Arc<AtomicU32>,
}

/// Whether reads are claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    Claimed,
    Unclaimed,
}

/// The state that calls of a transaction change.
struct State {
    /// The moment that the transaction reads. Taken by the first read, or at the begin if the
    /// writes are checked.
    snapshot: Option<Snapshot>,
    /// Taken with the snapshot.
    noting: Option<Noting<Arc<Core>>>,
    batch: WriteBatch,
    own: OwnWrites,
    claims: Option<Arc<Lock<Claims, CLAIMS>>>,
    /// The number of the transaction among those with savepoints; 0 before its first one.
    number: u64,
    /// Savepoints made so far.
    savepoints: u64,
    /// The marks of savepoints that can still be rolled back to, oldest first.
    marks: Vec<(u64, BatchMark)>,
    /// The memory of the batch and of the index of own writes.
    charge: RoughCharge,
}

impl State {
    fn charge(&mut self, gauge: &Arc<Gauge>) {
        self.charge.note(gauge, self.batch.capacity() + self.own.memory());
    }
}

/// A moment of a transaction to which [`Transaction::rollback_to`] returns.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    /// The number of the transaction.
    transaction: u64,
    number: u64,
}

/// The number of the next transaction that makes a savepoint. `Relaxed`: the addition gives each
/// number once, and no other memory follows from it.
static NEXT_WITH_SAVEPOINTS: AtomicU64 = AtomicU64::new(1);

impl Transaction {
    pub(super) fn begin(
        db: &Db,
        options: TransactionOptions,
        patience: Patience,
    ) -> Result<Transaction> {
        db.core().check_open()?;
        options.write.check()?;
        let state = State {
            snapshot: None,
            noting: None,
            batch: WriteBatch::new(),
            own: OwnWrites::default(),
            claims: None,
            number: 0,
            savepoints: 0,
            marks: Vec::new(),
            charge: RoughCharge::default(),
        };
        let first_end = Arc::new(AtomicU32::new(NEVER));
        let state = Lock::new(state);
        let transaction = Transaction { db: db.clone(), options, patience, state, first_end };
        if transaction.options.isolation == Isolation::Snapshot {
            transaction.snapshot(&mut transaction.lock())?;
        }
        Ok(transaction)
    }

    fn lock(&self) -> LockGuard<'_, State, TRANSACTION> {
        self.state.lock()
    }

    /// Returns the end of the waits of a call that begins now.
    fn patience(&self) -> Patience {
        let clock = &*self.db.core().options.env.clock;
        Patience::of(&self.options.write, clock).or(self.patience)
    }

    /// Returns the snapshot, and takes it at the first call. Writes are noted before it is taken,
    /// so every write that it does not see is noted.
    ///
    /// # Errors
    /// `Busy` if patience ends while another call holds the writer lock; `Reentrant`.
    fn snapshot<'a>(&self, state: &'a mut State) -> Result<&'a Snapshot> {
        let snapshot = match state.snapshot.take() {
            Some(snapshot) => snapshot,
            None => {
                let core = self.db.core();
                let noting = Noting::begin(Arc::clone(core), self.patience())?;
                let snapshot = self.db.snapshot();
                snapshot.moment().seqno_to_read()?;
                state.noting = Some(noting);
                snapshot
            }
        };
        Ok(state.snapshot.insert(snapshot))
    }

    /// Returns how often a write was put into a memtable for reads of own writes.
    #[cfg(test)]
    pub(super) fn applied(&self) -> u64 {
        self.lock().own.applied()
    }

    /// Returns the claims of the reads so far.
    #[cfg(test)]
    pub(super) fn claims_so_far(&self) -> Option<Arc<Lock<Claims, CLAIMS>>> {
        self.lock().claims.clone()
    }

    /// Reads a keyspace through the own writes. The isolation says whether the read is claimed.
    pub(super) fn read<T>(
        &self,
        keyspace: &Keyspace,
        read: impl FnOnce(&OverSnapshot<'_>) -> Result<T>,
    ) -> Result<T> {
        let reads = match self.options.isolation {
            Isolation::Serializable => Reads::Claimed,
            Isolation::Snapshot => Reads::Unclaimed,
        };
        self.read_as(reads, keyspace, read)
    }

    /// Reads a keyspace through the own writes, and claims the read or does not.
    pub(super) fn read_as<T>(
        &self,
        reads: Reads,
        keyspace: &Keyspace,
        read: impl FnOnce(&OverSnapshot<'_>) -> Result<T>,
    ) -> Result<T> {
        self.check_own(keyspace)?;
        let mut state = self.lock();
        let now = self.snapshot(&mut state)?.time();
        if reads == Reads::Claimed && state.claims.is_none() {
            let claims = Claims::new(self.options.max_read_bytes);
            state.claims = Some(Arc::new(Lock::new(claims)));
        }
        let State { batch, own, marks, .. } = &mut *state;
        let core = self.db.core();
        let pool = &core.runtime.ledger().arenas;
        let savepoint = marks.last().map_or(0, |(_, mark)| mark.bytes());
        let batch = (&*batch, savepoint);
        let own = own.of(batch, keyspace.state(), pool, &core.registry.resolver(), now)?;
        let claims = state.claims.clone().filter(|_| reads == Reads::Claimed);
        if own.is_some() {
            state.charge(&core.runtime.ledger().transactions);
        }
        let snapshot = self.snapshot(&mut state)?.clone();
        drop(state);
        let claims = claims.as_ref();
        let first_end = claims.map(|_| &self.first_end);
        read(&OverSnapshot { keyspace, snapshot: &snapshot, own, claims, first_end })
    }

    /// Returns when the writes that follow expire, if the caller said so.
    pub(super) fn expires(&self) -> Option<Expires> {
        self.lock().batch.expires()
    }

    /// Changes how the batch takes the writes that follow.
    pub(super) fn change_batch(&self, change: impl FnOnce(&mut WriteBatch)) {
        change(&mut self.lock().batch);
    }

    /// Adds writes to the batch. A write that fails adds nothing.
    fn write(
        &self,
        keyspace: &Keyspace,
        write: impl FnOnce(&mut WriteBatch) -> &mut WriteBatch,
    ) -> Result<()> {
        self.check_own(keyspace)?;
        let mut state = self.lock();
        let mark = state.batch.mark();
        write(&mut state.batch);
        let outcome = self.check_last(&state.batch, mark);
        if outcome.is_err() {
            state.batch.cut(mark);
        }
        state.charge(&self.db.core().runtime.ledger().transactions);
        outcome
    }

    fn check_last(&self, batch: &WriteBatch, mark: BatchMark) -> Result<()> {
        if let Some(mistake) = batch.mistake() {
            return Err(mistake.clone());
        }
        for operation in batch.operations_from(mark.bytes()) {
            operation.check_limits()?;
        }
        let most = self.db.core().settings.write_buffers.size;
        limits::check_batch(batch.memtable_bytes(), most)
            .map_err(|error| Error::new(ErrorKind::TransactionTooLarge, error.to_string()))
    }

    fn check_own(&self, keyspace: &Keyspace) -> Result<()> {
        match Arc::ptr_eq(keyspace.core(), self.db.core()) {
            true => Ok(()),
            false => Err(Error::invalid_argument("the keyspace belongs to another database")),
        }
    }

    /// Returns the transaction's view of a keyspace.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// let by_colour = db.create_keyspace("by colour", Default::default())?;
    /// db.transact(|transaction| {
    ///     transaction.put("apple", "red")?;
    ///     transaction.keyspace(&by_colour).put("red/apple", "")
    /// })?;
    /// assert!(by_colour.contains_key("red/apple")?);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn keyspace<'a>(&'a self, keyspace: &'a Keyspace) -> TransactionKeyspace<'a> {
        TransactionKeyspace { transaction: self, keyspace }
    }

    pub(super) fn default_keyspace(&self) -> TransactionKeyspace<'_> {
        self.keyspace(self.db.default_keyspace())
    }

    /// Sets a key.
    ///
    /// # Errors
    /// `InvalidArgument` for a key or value beyond [`crate::limits`]; `TransactionTooLarge`. The
    /// transaction is as before the call.
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.default_keyspace().put(key, value)
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// As [`Transaction::put`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.default_keyspace().delete(key)
    }

    /// Deletes all keys of a range. Nothing is read.
    ///
    /// # Errors
    /// As [`Transaction::put`].
    pub fn delete_range(&self, range: impl AsKeyRange) -> Result<()> {
        self.default_keyspace().delete_range(range)
    }

    /// Merges an operand with the default operator. Nothing is read.
    ///
    /// # Errors
    /// As [`Transaction::put`], and `InvalidArgument` for a malformed operand or without a default
    /// operator.
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.default_keyspace().merge(key, operand)
    }

    /// Merges an operand with an operator from [`Keyspace::operator`].
    ///
    /// # Errors
    /// As [`Transaction::merge`].
    pub fn merge_with(
        &self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.default_keyspace().merge_with(operator, key, operand)
    }

    /// Makes a savepoint: [`Transaction::rollback_to`] undoes the writes made after it.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// let transaction = db.begin()?;
    /// transaction.put("kept", "1")?;
    /// let savepoint = transaction.savepoint();
    /// transaction.put("undone", "2")?;
    /// transaction.rollback_to(savepoint)?;
    /// transaction.commit()?;
    /// assert!(db.contains_key("kept")? && !db.contains_key("undone")?);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn savepoint(&self) -> Savepoint {
        let mut state = self.lock();
        if state.number == 0 {
            state.number = NEXT_WITH_SAVEPOINTS.fetch_add(1, Ordering::Relaxed);
        }
        let (number, mark) = (state.savepoints, state.batch.mark());
        state.savepoints += 1;
        state.marks.push((number, mark));
        Savepoint { transaction: state.number, number }
    }

    /// Undoes the writes made after a savepoint, and the savepoints after it. What was read stays
    /// claimed.
    ///
    /// # Errors
    /// `InvalidArgument` for a savepoint that an earlier rollback undid, or of another transaction.
    pub fn rollback_to(&self, savepoint: Savepoint) -> Result<()> {
        let mut state = self.lock();
        let own = savepoint.transaction == state.number;
        let at = state.marks.binary_search_by_key(&savepoint.number, |(number, _)| *number);
        let at = at.ok().filter(|_| own).ok_or_else(|| {
            Error::invalid_argument(
                "the transaction has no such savepoint: it was rolled back, or is another's",
            )
        })?;
        let (_, mark) = state.marks[at];
        state.marks.truncate(at + 1);
        state.batch.cut(mark);
        state.own.cut(mark.bytes());
        Ok(())
    }

    /// Forgets a savepoint and those after it. Their writes stay. A savepoint that was undone, or
    /// is another transaction's, is no error.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// let transaction = db.begin()?;
    /// let savepoint = transaction.savepoint();
    /// transaction.put("kept", "1")?;
    /// transaction.release(savepoint);
    /// assert!(transaction.rollback_to(savepoint).is_err());
    /// transaction.commit()?;
    /// assert!(db.contains_key("kept")?);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn release(&self, savepoint: Savepoint) {
        let mut state = self.lock();
        if savepoint.transaction == state.number {
            state.marks.retain(|(number, _)| *number < savepoint.number);
        }
    }

    /// Drops the transaction. Nothing of it remains.
    pub fn rollback(self) {
        drop(self);
    }

    /// Writes everything at one moment. A transaction without writes always succeeds: what it read
    /// was true at its snapshot.
    ///
    /// # Errors
    /// `Conflict` if a claim was broken, and nothing was written; as [`Db::write`].
    pub fn commit(self) -> Result<()> {
        let mut state = self.lock();
        let State { batch, claims, snapshot, .. } = &mut *state;
        let core = self.db.core();
        let clock = &*core.options.env.clock;
        let patience = self.patience();
        let write = || patience.limit(&self.options.write, clock);
        if batch.is_empty() && !self.options.write.sync {
            return core.check_open();
        }
        if self.options.isolation == Isolation::Snapshot
            && let Some(snapshot) = &*snapshot
        {
            self.note_ends_of_writes(batch, snapshot)?;
            let limit = self.options.max_read_bytes;
            let claims = claims.get_or_insert_with(|| Arc::new(Lock::new(Claims::new(limit))));
            self.claim_writes(batch, &mut claims.lock());
        }
        let (Some(claims), Some(snapshot)) = (claims, snapshot) else {
            return core.write(batch, &write());
        };
        if batch.is_empty() {
            return core.write(batch, &write());
        }
        let claims = &mut *claims.lock();
        if claims.may_lack_some() {
            return Err(conflict());
        }
        let Ok(claims) = guarded(move || claims.settle()) else { return Err(conflict()) };
        let mut check = Check::new(claims, snapshot.seqno());
        let mut readings = 0;
        let mut turn = None;
        loop {
            let mut verdict = Verdict::Hold;
            let written = core.write_if(batch, &write(), |writer| {
                verdict = match self.has_ended(snapshot) {
                    false => check.catch_up(&writer.recent),
                    true => Verdict::Broken,
                };
                if verdict == Verdict::Hold { Ok(()) } else { Err(conflict()) }
            });
            let holds = match verdict {
                Verdict::Hold => return written,
                Verdict::Broken => false,
                Verdict::Behind => check.prepare(),
                Verdict::Lost if readings == MOST_READINGS => false,
                Verdict::Lost => {
                    if readings >= READINGS_BEFORE_TURN {
                        // The end of a turn inside another ends both.
                        drop(turn.take());
                        turn = Some(core.take_turn(TURN_OF_READING, patience)?);
                    }
                    readings += 1;
                    check.read_records(core, patience)?
                }
            };
            if !holds {
                drop(turn);
                return Err(conflict());
            }
        }
    }

    /// Returns whether a value that the transaction depends on has expired. A commit to keyspaces
    /// without expiry does not move the database's time, so this asks the clock too. After a reset
    /// of the time to before the snapshot, values that had expired in it may be back.
    fn has_ended(&self, snapshot: &Snapshot) -> bool {
        let end = self.first_end.load(Ordering::Relaxed);
        let core = self.db.core();
        if snapshot.time() > core.time.last_seen() {
            return true;
        }
        let clock = || moment_of(core.options.env.clock.time_of_day());
        end != NEVER && end <= core.time.last_seen().max(clock())
    }

    /// Notes when the values expire that the writes replace. Their end counts as a delete of the
    /// key at that moment.
    ///
    /// # Errors
    /// `Corruption`, `Io`.
    fn note_ends_of_writes(&self, batch: &WriteBatch, snapshot: &Snapshot) -> Result<()> {
        for keyspace in self.written(batch).iter().filter(|own| own.state().stamps) {
            let id = keyspace.state().id;
            let (claims, own, first_end) = (None, None, Some(&self.first_end));
            let over = OverSnapshot { keyspace, snapshot, own, claims, first_end };
            let written = batch.operations().filter(|operation| operation.keyspace == id);
            for operation in written.filter(|operation| operation.kind != Kind::DeleteRange) {
                over.note_end(operation.key)?;
            }
        }
        Ok(())
    }

    /// Returns the keyspaces that the batch names, and the default one.
    fn written(&self, batch: &WriteBatch) -> Vec<Keyspace> {
        let (core, default) = (self.db.core(), self.db.default_keyspace());
        let named = batch.named_keyspaces().filter_map(|id| {
            let state = core.keyspaces.find(batch.keyspace_name(id));
            state.filter(|state| state.id == id).map(|state| default.sibling(state))
        });
        std::iter::once(default.clone()).chain(named).collect()
    }

    /// Claims what is written: no other transaction wrote the same keys.
    fn claim_writes(&self, batch: &WriteBatch, claims: &mut Claims) {
        let written = self.written(batch);
        for operation in batch.operations() {
            let is_its = |keyspace: &&Keyspace| keyspace.state().id == operation.keyspace;
            let Some(keyspace) = written.iter().find(is_its) else {
                // The keyspace was dropped, so the write of the batch fails.
                continue;
            };
            let hash = key_hash(operation.key);
            match operation.kind {
                Kind::DeleteRange => claims.add_range(keyspace, range_of(&operation)),
                Kind::Merge if !planted(Fault::MergeTakenForRead) => {
                    claims.add_key(keyspace, operation.key, hash, Forbids::NewBase)
                }
                _ => claims.add_key(keyspace, operation.key, hash, Forbids::Any),
            }
        }
    }
}

fn conflict() -> Error {
    Error::new(
        ErrorKind::Conflict,
        "nothing was written: another write changed what the transaction depends on; run it again",
    )
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Transaction")
            .field("isolation", &self.options.isolation)
            .field("snapshot", &state.snapshot)
            .field("writes", &state.batch.len())
            .finish_non_exhaustive()
    }
}

/// One keyspace as a transaction sees it. Made by [`Transaction::keyspace`].
#[derive(Clone, Copy, Debug)]
pub struct TransactionKeyspace<'a> {
    pub(super) transaction: &'a Transaction,
    pub(super) keyspace: &'a Keyspace,
}

impl TransactionKeyspace<'_> {
    /// Sets a key; see [`Transaction::put`].
    ///
    /// # Errors
    /// As [`Transaction::put`].
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.transaction.write(self.keyspace, |batch| batch.put_in(self.keyspace, key, value))
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// As [`Transaction::put`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.transaction.write(self.keyspace, |batch| batch.delete_in(self.keyspace, key))
    }

    /// Deletes all keys of a range; see [`Transaction::delete_range`].
    ///
    /// # Errors
    /// As [`Transaction::put`].
    pub fn delete_range(&self, range: impl AsKeyRange) -> Result<()> {
        self.transaction.write(self.keyspace, |batch| batch.delete_range_in(self.keyspace, range))
    }

    /// Merges an operand with the keyspace's default operator; see [`Transaction::merge`].
    ///
    /// # Errors
    /// As [`Transaction::merge`].
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.transaction.write(self.keyspace, |batch| batch.merge_in(self.keyspace, key, operand))
    }

    /// Merges an operand with an operator; see [`Transaction::merge_with`].
    ///
    /// # Errors
    /// As [`Transaction::merge`].
    pub fn merge_with(
        &self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.transaction.write(self.keyspace, |batch| {
            batch.merge_with_in(operator, self.keyspace, key, operand)
        })
    }
}
