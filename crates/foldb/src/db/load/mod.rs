//! Sorted loads: a writer that takes keys in order and adds finished tables to the tree.
//!
//! A load writes each record once, to a table. It skips the log, the memtable and the flush. Other
//! writes go on meanwhile, and no reader sees the load before its end. The end adds all tables in
//! one edit of the manifest, under one sequence number:
//!
//! ```text
//! load:    put a   put c   put e ......................... finish at 57
//! others:          put c (52)   merge e (55)   put x (56)                merge c (58)
//! reads:   see 52, 55 and 56 until the load ends                         c is load c, then 58
//! ```
//!
//! The number is known only at the end, so the records of a load are stored with the number 0. The
//! manifest marks each table as loaded and has the number, and a reader of the table gives it to
//! every record (`TableReader::numbered`).
//!
//! Invariant: when the tables become visible, no memtable holds a record in the load's key range.
//! Every such record is older than the load, and reads look into memtables first. The end of a load
//! therefore flushes them ([`place`]).
//!
//! A view from before the load and a number from after it do not belong together: a reader would
//! see later writes to the same memtable without the load. A view knows its last load, so such a
//! reader begins again. The load also pins its number, so that no later merge folds in place into a
//! record that an older view shows.

mod place;
mod tables;

use std::cmp::Ordering;
use std::fmt;

use crate::db::batch::stamping::{Stamped, resolve_last, with_pending_stamp};
use crate::db::core::Core;
use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::load::tables::LoadTables;
use crate::encoding::common_prefix;
use crate::error::{Error, Result};
use crate::fold::Operator;
use crate::fold::stamp::Bucket;
use crate::key::{Kind, NO_OPERATOR, OperatorId, shown};
use crate::limits;
use crate::settings::Expiry;

/// Writes many keys, in ascending order, straight into tables of a keyspace: a *sorted load*.
///
/// A load is much faster than the same puts, because it writes each record once, without a log and
/// without a memtable. Other writes, reads and compactions go on meanwhile.
///
/// A load of more than a few hundred KiB that compress has a thread beside the caller's, which
/// compresses and writes. It ends with each table, with an error, and with the load. A load without
/// one, because the system starts none or the memory budget is small, writes the same tables.
///
/// [`SortedLoad::finish`] adds the whole load in one atomic and durable step. The load takes one
/// place in the order of writes: it is newer than every write that returned before the call of
/// `finish`, and older than every write that begins after `finish` returns. Snapshots and iterators
/// made before it do not see it. A crash leaves the whole load or nothing of it. A load that is
/// dropped without `finish` changes nothing, and its files are removed.
///
/// Each key may occur once in a load: as a put, or as one operand. Operands of a load fold with
/// earlier and later ones. Large values stay in the tables at first. Compactions move them to value
/// segments as the keyspace's `value_separation_min` says.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let db = foldb::Db::create(dir.path().join("db"))?;
/// db.put("b", "old")?;
/// let mut load = db.sorted_load()?;
/// for key in ["a", "b", "c"] {
///     load.put(key, "loaded")?;
/// }
/// assert!(load.put("b", "again").is_err()); // not after "c": refused, and the load goes on
/// load.put("d", "loaded")?;
/// assert_eq!(db.get("b")?.unwrap(), b"old");
/// let report = load.finish()?;
/// assert_eq!((report.entries, report.tables), (4, 1));
/// assert_eq!(db.get("b")?.unwrap(), b"loaded");
/// # Ok::<(), foldb::Error>(())
/// ```
pub struct SortedLoad {
    keyspace: Keyspace,
    tables: LoadTables,
    puts: u64,
    merges: u64,
    /// Bytes of keys and values.
    bytes: u64,
    /// Why the load cannot go on.
    failed: Option<Error>,
}

/// The result of a [`SortedLoad`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// Number of keys.
    pub entries: u64,
    /// Tables written.
    pub tables: u64,
    /// Bytes of those tables.
    pub bytes: u64,
    /// The load's place in the order of writes; 0 for a load without keys.
    pub sequence_number: u64,
}

impl Keyspace {
    /// Begins a sorted load: a writer for many keys in ascending order. See [`SortedLoad`].
    ///
    /// # Errors
    /// `KeyspaceDropped`, `ComparatorFailed`, `ReadOnly`, `Poisoned`, `Closed`.
    pub fn sorted_load(&self) -> Result<SortedLoad> {
        self.core().check_writable()?;
        self.state().check_exists()?;
        self.state().check_comparator()?;
        Ok(SortedLoad {
            keyspace: self.clone(),
            tables: LoadTables::new(self.core()),
            puts: 0,
            merges: 0,
            bytes: 0,
            failed: None,
        })
    }
}

impl Db {
    /// Calls [`Keyspace::sorted_load`] of the default keyspace.
    ///
    /// # Errors
    /// As [`Keyspace::sorted_load`].
    pub fn sorted_load(&self) -> Result<SortedLoad> {
        self.default_keyspace().sorted_load()
    }
}

impl SortedLoad {
    /// Adds a key with its value. The key must come after all earlier ones in the keyspace's order.
    ///
    /// # Errors
    /// `InvalidArgument` for a key that does not come after the one before it, or that exceeds a
    /// limit: the load is unchanged and can go on. In a keyspace with expiry, the lifetime of the
    /// entry begins with this call. `NoSpace`, `Io`, `KeyspaceDropped`, `Poisoned`
    /// and `Closed` end the load, and every later call returns the same error. `NoSpace` and `Io`
    /// may be about keys of earlier calls. `Forked` in a fork of the process that began the load.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.add((Kind::Put, NO_OPERATOR), key.as_ref(), value.as_ref())?;
        self.puts += 1;
        Ok(())
    }

    /// Adds a key with an operand of the keyspace's default operator.
    ///
    /// # Errors
    /// As [`SortedLoad::put`], and `InvalidArgument` for a malformed operand or without a default
    /// operator.
    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        let operator = self.keyspace.state().default_operator()?;
        operator.check_operand(operand.as_ref())?;
        let operator = operator.id;
        self.add_operand(operator, key.as_ref(), operand.as_ref())
    }

    /// Adds a key with an operand of an operator from [`Keyspace::operator`].
    ///
    /// # Errors
    /// As [`SortedLoad::merge`].
    pub fn merge_with(
        &mut self,
        operator: &Operator,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<()> {
        if !operator.belongs_to(&self.core().registry) {
            return Err(Error::invalid_argument("the operator belongs to another database"));
        }
        operator.check_operand(operand.as_ref())?;
        self.add_operand(operator.id, key.as_ref(), operand.as_ref())
    }

    /// Returns the number of keys added so far.
    pub fn entries(&self) -> u64 {
        self.puts + self.merges
    }

    /// Adds the load to the keyspace, durably and in one step. A load without keys changes nothing.
    ///
    /// The call syncs the load's tables. It then waits until earlier writes in the load's key range
    /// are flushed. Other writes wait only during the last short part: the sync of the log and of
    /// one edit of the manifest, and the flush of what arrived meanwhile.
    ///
    /// # Errors
    /// The first error that ended the load; `NoSpace`, `Io`, `KeyspaceDropped`, `ComparatorFailed`,
    /// `Poisoned`, `Closed`; `Reentrant` inside a listener, operator or comparator. After an
    /// error nothing was added. The one exception is `Poisoned` or `Io` of a failed sync: the next
    /// open then finds the whole load or nothing of it.
    pub fn finish(mut self) -> Result<LoadReport> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let entries = self.entries();
        if entries == 0 {
            return Ok(LoadReport::default());
        }
        let core = self.keyspace.core();
        core.check_may_wait()?;
        let state = self.keyspace.shared_state();
        let files = state.guarded("a sorted load", || self.tables.finish(core, state))?;
        assert!(!files.is_empty(), "the entries of a load are in its tables");
        let (tables, bytes) = (files.len() as u64, files.iter().map(|file| file.len).sum());
        let counts = place::Counts { puts: self.puts, merges: self.merges, user: self.bytes };
        let sequence_number = core.add_load(state, files, counts)?;
        self.tables.keep();
        Ok(LoadReport { entries, tables, bytes, sequence_number })
    }

    fn core(&self) -> &Core {
        self.keyspace.core()
    }

    fn add_operand(&mut self, operator: OperatorId, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add((Kind::Merge, operator), key, operand)?;
        self.merges += 1;
        Ok(())
    }

    #[inline]
    fn add(&mut self, what: (Kind, OperatorId), key: &[u8], value: &[u8]) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        // The table's file belongs to the parent.
        self.core().standing.check_process()?;
        limits::check_key("a key", key)?;
        limits::check_value(value)?;
        match &self.keyspace.state().expiry() {
            None => self.add_stored(what, key, value),
            Some(expiry) => {
                let stored = self.stamped(expiry, what.0, value)?;
                self.add_stored(what, key, &stored)
            }
        }
    }

    /// Returns the value with its stamp.
    ///
    /// # Errors
    /// `InvalidArgument` for an operand: a value that it would come to in time may be gone before
    /// the load is added.
    #[cold]
    fn stamped(&self, expiry: &Expiry, kind: Kind, value: &[u8]) -> Result<Stamped> {
        if kind == Kind::Merge {
            return Err(Error::invalid_argument(
                "a sorted load into a keyspace with expiry takes puts only; merge these keys \
                 with ordinary writes",
            ));
        }
        let mut stored = with_pending_stamp(value, kind, expiry, None);
        resolve_last(&mut stored, self.core().commit_time(), Bucket::of(expiry));
        Ok(stored)
    }

    #[inline]
    fn add_stored(&mut self, what: (Kind, OperatorId), key: &[u8], value: &[u8]) -> Result<()> {
        let state = self.keyspace.shared_state();
        state.check_key_to_write(key)?;
        let shared = self.check_order(key)?;
        let (core, tables) = (self.keyspace.core(), &mut self.tables);
        let added =
            state.guarded("a sorted load", || tables.add(core, state, what, shared, key, value));
        if let Err(error) = added {
            self.failed = Some(error.clone());
            return Err(error);
        }
        self.bytes += (key.len() + value.len()) as u64;
        Ok(())
    }

    /// Returns how many bytes the key shares with the last one.
    ///
    /// # Errors
    /// `InvalidArgument` if it does not come after the last key; `ComparatorFailed`.
    #[inline]
    fn check_order(&self, key: &[u8]) -> Result<usize> {
        if self.entries() == 0 {
            return Ok(0);
        }
        let (state, last) = (self.keyspace.state(), self.tables.last_key());
        let shared = common_prefix(last, key);
        let order = match state.custom_order {
            // The byte after the common prefix decides. A key that ends there comes first.
            false => last.get(shared).cmp(&key.get(shared)),
            true => state.guarded("a sorted load", || Ok(state.comparator.compare(last, key)))?,
        };
        if order.is_lt() {
            return Ok(shared);
        }
        Err(out_of_order(last, key, order))
    }
}

#[cold]
fn out_of_order(last: &[u8], key: &[u8], order: Ordering) -> Error {
    let fault = if order.is_eq() { "is the same key as" } else { "comes before" };
    Error::invalid_argument(format!(
        "a sorted load takes keys in strictly ascending order, but '{}' {fault} '{}', the key \
         before it; this key was not added, and the load can go on",
        shown(key),
        shown(last)
    ))
}

impl Drop for SortedLoad {
    fn drop(&mut self) {
        let (core, tables) = (self.keyspace.core(), &mut self.tables);
        tables.discard(core);
    }
}

impl fmt::Debug for SortedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SortedLoad({}: {} keys)", self.keyspace.name(), self.entries())
    }
}
