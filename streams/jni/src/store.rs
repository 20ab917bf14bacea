//! A store: one database, with the offsets and the position of its data in a keyspace of their own.
//!
//! Invariant: stored offsets are never newer than the data. [`Opened::commit`] writes them into the
//! log after the data that they cover, and power loss leaves a prefix of the log. A store that
//! forgets offsets also keeps the converse: its data is never newer than its stored offsets. Its
//! first write after an open or a commit removes them in the same batch.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::{ArcSwapOption, Guard};
use foldb::operators::MergeOperator;
use foldb::stats::Stats;
use foldb::{Db, Error, ErrorKind, Iter, Keyspace, KeyspaceOptions, Options, Reservation, Result};
use foldb::{Value, WriteBatch};
use parking_lot::Mutex;

use crate::operators;
use crate::packed::{Kind, Reader, append};
use crate::shared::Share;

/// The keyspace of offsets, position and operator.
const OWN_KEYSPACE: &str = "streams";

/// Where the own keyspace has the position of the data.
const POSITION: &[u8] = b"position";

/// Where the own keyspace has the name of the store operator.
const OPERATOR: &[u8] = b"operator";

/// The keys of offsets begin with this; the partition follows.
const OFFSET: &[u8] = b"offset:";

/// The numbers of [`Opened::statistics`].
pub const STATISTICS: usize = 16;

/// How many of them are totals. They come first.
const TOTALS: usize = 13;

/// How a store is opened.
#[derive(Debug)]
pub struct StoreOptions {
    /// The store operator of merges, by name.
    pub operator: Option<String>,
    /// Whether the first write after an open or a commit removes the stored offsets.
    pub forgets_offsets: bool,
    /// The memory budget of the runtime, in bytes.
    pub memory: usize,
}

/// A store. It stays usable after its close: every call then fails with `Closed`.
#[derive(Debug)]
pub struct Store {
    open: ArcSwapOption<Opened>,
}

/// What a close gives up.
#[derive(Debug)]
pub struct Opened {
    db: Db,
    own: Keyspace,
    /// The store operator, which checks operands before they enter a buffer.
    operator: Option<Arc<dyn MergeOperator>>,
    forgets_offsets: bool,
    /// Whether the next write removes the stored offsets first.
    is_armed: AtomicBool,
    /// Held by commits and by the write that removes offsets, so that no other write passes it.
    commit: Mutex<()>,
    gets: AtomicU64,
    /// Puts and deletes in the own keyspace since the open.
    own_writes: [AtomicU64; 2],
    /// The totals at the open.
    totals: [u64; TOTALS],
    /// What Java holds for this store, in the budget of the runtime.
    reservation: Mutex<Reservation>,
    /// Dropped last: the database leaves the runtime first.
    _share: Share,
}

impl Store {
    /// Opens the store in a directory, and creates it if there is none.
    ///
    /// # Errors
    /// Of the engine. `InvalidArgument` for an unknown operator, and for another operator than the
    /// one that the store was created with.
    pub fn open(directory: &Path, options: &StoreOptions) -> Result<Store> {
        let share = Share::join(options.memory)?;
        let operator = options.operator.as_deref().map(operators::named).transpose()?;
        let db = Db::open(
            directory,
            Options {
                create_if_missing: true,
                default: KeyspaceOptions {
                    merge_operator: operator.as_ref().map(|operator| operator.name().to_owned()),
                    ..KeyspaceOptions::default()
                },
                operators: operators::all(),
                runtime: Some(share.runtime.clone()),
                ..Options::default()
            },
        )?;
        let own = db.keyspace_or_create(OWN_KEYSPACE, KeyspaceOptions::default())?;
        check_operator(&own, options.operator.as_deref())?;
        let totals = totals(&db.stats());
        let opened = Opened {
            db,
            own,
            operator,
            totals,
            own_writes: [AtomicU64::new(0), AtomicU64::new(0)],
            forgets_offsets: options.forgets_offsets,
            is_armed: AtomicBool::new(options.forgets_offsets),
            commit: Mutex::new(()),
            gets: AtomicU64::new(0),
            reservation: Mutex::new(share.runtime.reserve()),
            _share: share,
        };
        Ok(Store { open: ArcSwapOption::from_pointee(opened) })
    }

    /// Returns the open database.
    ///
    /// # Errors
    /// `Closed`.
    #[inline]
    pub fn opened(&self) -> Result<impl std::ops::Deref<Target = Opened> + use<'_>> {
        Held::of(self.open.load())
    }

    /// Closes the store. Running calls end first or fail with `Closed`. Closing twice is no error.
    ///
    /// # Errors
    /// Of the engine; the store is closed despite the error.
    pub fn close(&self) -> Result<()> {
        match self.open.swap(None) {
            None => Ok(()),
            Some(opened) => opened.db.close(),
        }
    }
}

/// An open database, kept open in memory while a call uses it.
struct Held(Guard<Option<Arc<Opened>>>);

impl Held {
    #[inline]
    fn of(guard: Guard<Option<Arc<Opened>>>) -> Result<Held> {
        if guard.is_some() { Ok(Held(guard)) } else { Err(closed()) }
    }
}

impl std::ops::Deref for Held {
    type Target = Opened;

    #[inline]
    fn deref(&self) -> &Opened {
        self.0.as_deref().expect("checked when it was made")
    }
}

#[cold]
fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the store was closed")
}

/// Compares the operator with the one that the store was created with, and stores the first one.
fn check_operator(own: &Keyspace, operator: Option<&str>) -> Result<()> {
    let Some(operator) = operator else { return Ok(()) };
    match own.get(OPERATOR)? {
        None => own.put(OPERATOR, operator),
        Some(stored) if stored == *operator.as_bytes() => Ok(()),
        Some(stored) => Err(Error::invalid_argument(format!(
            "the store was created with the merge operator '{}', and is opened with '{operator}': \
             configure '{0}', or delete the store's directory",
            String::from_utf8_lossy(&stored)
        ))),
    }
}

fn offset_key(partition: &[u8]) -> Vec<u8> {
    [OFFSET, partition].concat()
}

impl Opened {
    /// Reads a key.
    ///
    /// # Errors
    /// Of the engine.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.db.get(key)
    }

    /// Reads the packed keys, and returns their packed values in the same order.
    ///
    /// # Errors
    /// Of the engine, for the first key that has one.
    pub fn get_all(&self, packed: &[u8]) -> Result<Vec<u8>> {
        let mut reader = Reader::new(packed);
        let mut keys = Vec::new();
        while let Some((key, _)) = reader.entry()? {
            keys.push(key);
        }
        self.gets.fetch_add(keys.len() as u64, Ordering::Relaxed);
        let mut values = Vec::new();
        for value in self.db.multi_get(&keys)? {
            append(&mut values, b"", value?.as_deref())?;
        }
        Ok(values)
    }

    /// Sets the value of a key; without one, deletes the key.
    ///
    /// # Errors
    /// Of the engine.
    #[inline]
    pub fn put(&self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        if self.is_armed.load(Ordering::Acquire) {
            return self.write_armed(&mut batch_of(key, value));
        }
        match value {
            Some(value) => self.db.put(key, value),
            None => self.db.delete(key),
        }
    }

    /// Sets the value of a key that has none, and returns the value before. The caller is the only
    /// writer.
    ///
    /// # Errors
    /// Of the engine.
    pub fn put_if_absent(&self, key: &[u8], value: Option<&[u8]>) -> Result<Option<Value>> {
        let before = self.get(key)?;
        if before.is_none() && value.is_some() {
            self.put(key, value)?;
        }
        Ok(before)
    }

    /// Deletes a key, and returns the value before. The caller is the only writer.
    ///
    /// # Errors
    /// Of the engine.
    pub fn delete(&self, key: &[u8]) -> Result<Option<Value>> {
        let before = self.get(key)?;
        if before.is_some() {
            self.put(key, None)?;
        }
        Ok(before)
    }

    /// Checks that the store operator can fold an operand. A buffered batch is written whole or
    /// not at all, so a malformed operand in it would lose the well-formed ones.
    ///
    /// # Errors
    /// `InvalidArgument` for a malformed operand. The message completes "an operand must be".
    pub fn check_operand(&self, operand: &[u8]) -> Result<()> {
        let Some(operator) = &self.operator else { return Ok(()) };
        operator.check_operand(operand).map_err(Error::invalid_argument)
    }

    /// Merges an operand into a key.
    ///
    /// # Errors
    /// Of the engine.
    #[inline]
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        if self.is_armed.load(Ordering::Acquire) {
            let mut batch = WriteBatch::new();
            batch.merge(key, operand);
            return self.write_armed(&mut batch);
        }
        self.db.merge(key, operand)
    }

    /// Applies the packed operations as one atomic write.
    ///
    /// # Errors
    /// Of the engine. `InvalidArgument` for a malformed array.
    pub fn write(&self, packed: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::new();
        let mut reader = Reader::new(packed);
        while let Some((kind, (key, value))) = reader.operation()? {
            match (kind, value) {
                (Kind::Put, Some(value)) => batch.put(key, value),
                (Kind::Put, None) => batch.delete(key),
                (Kind::Merge, value) => batch.merge(key, value.unwrap_or_default()),
            };
        }
        self.write_batch(&mut batch)
    }

    /// Deletes the keys from `from` on and before `to`. `None`: no bound there.
    ///
    /// # Errors
    /// Of the engine.
    pub fn delete_range(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.delete_range(bounds(from, to));
        self.write_batch(&mut batch)
    }

    fn write_batch(&self, batch: &mut WriteBatch) -> Result<()> {
        if self.is_armed.load(Ordering::Acquire) {
            return self.write_armed(batch);
        }
        self.db.write(batch)
    }

    /// Applies a batch that removes the stored offsets too.
    #[cold]
    fn write_armed(&self, batch: &mut WriteBatch) -> Result<()> {
        let _alone = self.commit.lock();
        let deletes =
            if self.is_armed.load(Ordering::Acquire) { self.forget_offsets(batch)? } else { 0 };
        self.db.write(batch)?;
        self.count_own(0, deletes);
        self.is_armed.store(false, Ordering::Release);
        Ok(())
    }

    /// Adds the removal of all offsets to a batch. Returns their number.
    fn forget_offsets(&self, batch: &mut WriteBatch) -> Result<usize> {
        let before = batch.len();
        for entry in self.own.prefix(OFFSET)? {
            let (key, _) = entry?;
            batch.delete_in(&self.own, key);
        }
        Ok(batch.len() - before)
    }

    /// Stores packed offsets and the position of the data in one atomic write. An offset without a
    /// value is removed. Without any entry, all offsets are removed.
    ///
    /// # Errors
    /// Of the engine. `InvalidArgument` for a malformed array.
    pub fn commit(&self, packed: &[u8], position: Option<&[u8]>) -> Result<()> {
        let mut batch = WriteBatch::new();
        let mut reader = Reader::new(packed);
        let (mut puts, mut deletes) = (0, 0);
        if packed.is_empty() {
            deletes += self.forget_offsets(&mut batch)?;
        }
        while let Some((partition, offset)) = reader.entry()? {
            match offset {
                Some(offset) => {
                    puts += 1;
                    batch.put_in(&self.own, offset_key(partition), offset);
                }
                None => {
                    deletes += 1;
                    batch.delete_in(&self.own, offset_key(partition));
                }
            }
        }
        if let Some(position) = position {
            puts += 1;
            batch.put_in(&self.own, POSITION, position);
        }
        let _alone = self.commit.lock();
        // Armed before the offsets are there, so that a write that follows them removes them.
        self.is_armed.store(self.forgets_offsets, Ordering::Release);
        self.db.write(&batch)?;
        self.count_own(puts, deletes);
        Ok(())
    }

    /// Returns the stored offset of a partition.
    ///
    /// # Errors
    /// Of the engine.
    pub fn offset(&self, partition: &[u8]) -> Result<Option<Value>> {
        self.own.get(offset_key(partition))
    }

    /// Returns the stored position.
    ///
    /// # Errors
    /// Of the engine.
    pub fn position(&self) -> Result<Option<Value>> {
        self.own.get(POSITION)
    }

    /// Returns an iterator over a range of keys.
    ///
    /// # Errors
    /// Of the engine.
    pub fn range(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<Iter> {
        self.db.range(bounds(from, to))
    }

    /// Estimates the number of entries.
    ///
    /// # Errors
    /// Of the engine.
    pub fn approximate_entries(&self) -> Result<u64> {
        Ok(self.db.approximate_count(..)?.estimate)
    }

    /// Returns the numbers of the Java record `Statistics`, in the order of its components. The
    /// totals count from the open, without writes of offsets and positions.
    pub fn statistics(&self) -> [u64; STATISTICS] {
        let stats = self.db.stats();
        let mut numbers = [0; STATISTICS];
        let totals = totals(&stats).into_iter().zip(self.totals);
        for (number, (now, at_open)) in numbers.iter_mut().zip(totals) {
            *number = now.saturating_sub(at_open);
        }
        numbers[0] = self.gets.load(Ordering::Relaxed);
        for (number, own) in numbers[1..].iter_mut().zip(&self.own_writes) {
            *number = number.saturating_sub(own.load(Ordering::Relaxed));
        }
        numbers[TOTALS..].copy_from_slice(&[
            stats.memtable_bytes,
            stats.levels.iter().map(|level| level.bytes).sum(),
            stats.compaction_debt,
        ]);
        numbers
    }

    /// Counts these bytes, which Java holds for the store, in the memory budget.
    pub fn reserve(&self, bytes: usize) {
        self.reservation.lock().set(bytes);
    }

    /// Counts the writes of the own keyspace in a batch.
    fn count_own(&self, puts: usize, deletes: usize) {
        for (own, count) in self.own_writes.iter().zip([puts, deletes]) {
            own.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
}

/// Returns the totals; the store counts the first, the gets.
fn totals(stats: &Stats) -> [u64; TOTALS] {
    [
        0,
        stats.puts,
        stats.deletes,
        stats.merges,
        stats.bytes_user,
        stats.bytes_log,
        stats.bytes_flush,
        stats.bytes_compaction,
        stats.flushes,
        stats.compactions,
        stats.stall_micros,
        stats.block_cache_hits,
        stats.block_cache_misses,
    ]
}

fn batch_of(key: &[u8], value: Option<&[u8]>) -> WriteBatch {
    let mut batch = WriteBatch::new();
    match value {
        Some(value) => batch.put(key, value),
        None => batch.delete(key),
    };
    batch
}

/// Returns the bounds of the keys from `from` on and before `to`.
pub(crate) fn bounds<'a>(
    from: Option<&'a [u8]>,
    to: Option<&'a [u8]>,
) -> (std::ops::Bound<&'a [u8]>, std::ops::Bound<&'a [u8]>) {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    (from.map_or(Unbounded, Included), to.map_or(Unbounded, Excluded))
}

#[cfg(test)]
mod tests;
