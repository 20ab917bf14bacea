//! The transaction's own writes, as memtables that no other reader sees.
//!
//! The batch holds the writes. A read that must see them applies the new ones to a memtable of
//! their keyspace first. So a transaction that never reads what it wrote makes no memtable.
//!
//! Rolling back to a savepoint must not cost more than was undone. So the writes to a keyspace are
//! in *layers*: one ends at the newest savepoint, and the next one takes what follows. A rollback
//! drops layers. A layer that is not much smaller than the one below joins it, so there are few:
//!
//! ```text
//! |------------ 800 writes -------------|---- 200 ----|- 30 -|  put, put
//!                                                            savepoint
//! ```
//!
//! Own records have sequence numbers from [`FIRST_OWN`] on, which no record of the database has. So
//! every own record is newer than every record of the snapshot.

use std::sync::Arc;

use foldb_chains::ArenaPool;
use smallvec::SmallVec;

use crate::db::batch::WriteBatch;
use crate::db::batch::stamping::resolve_last;
use crate::db::read::key_walk::{Sought, look_into_memtable};
use crate::db::state::keyspace::KeyspaceState;
use crate::error::{Error, ErrorKind, Result};
use crate::fold::stamp::{Bucket, CommitTime, Moment};
use crate::fold::{Chain, Resolver};
use crate::iterator::DeadStretches;
use crate::key::{KeyspaceId, Kind, MAX_SEQNO, NO_OPERATOR, SeqNo};
use crate::memtable::{Folding, Memtable, MemtableWriter, bytes_needed};
use crate::operation::Operation;

/// The sequence number of the first own write. A database would reach it after centuries.
pub(super) const FIRST_OWN: SeqNo = 1 << 55;

/// Bytes of records that the first memtable of a keyspace has room for.
const FIRST_CAPACITY: usize = 16 << 10;

/// A stretch of the batch: bytes, and number of writes, those to other keyspaces included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    bytes: usize,
    writes: usize,
}

/// The own writes to a keyspace from one place of the batch to another.
struct Layer {
    writer: MemtableWriter,
    capacity: usize,
    start: Place,
    end: Place,
    /// Whether the next write needs a new layer. Iterators may read this one up to a number that
    /// the next write has again.
    is_closed: bool,
}

/// The own writes in one keyspace.
struct Own {
    keyspace: KeyspaceId,
    /// Oldest first, without gaps.
    layers: Vec<Layer>,
    /// The deleted keys that walks found since the last rollback.
    dead: Arc<DeadStretches>,
}

/// The own writes to a keyspace at one moment.
#[derive(Clone)]
pub(super) struct OwnView {
    /// Newest first; none is empty.
    pub(super) memtables: SmallVec<[Arc<Memtable>; 2]>,
    /// The sequence number of the newest of them.
    pub(super) newest: SeqNo,
    pub(super) dead: Arc<DeadStretches>,
}

/// The index of the own writes.
#[derive(Default)]
pub(super) struct OwnWrites {
    of: Vec<Own>,
    /// Writes that were put into memtables so far, for tests of the cost.
    #[cfg(test)]
    applied: u64,
}

/// What applies own writes.
struct Applying<'a> {
    batch: &'a WriteBatch,
    keyspace: &'a KeyspaceState,
    pool: &'a Arc<ArenaPool>,
    operators: &'a Resolver,
    now: Moment,
    /// Writes that were applied.
    applied: u64,
}

impl OwnWrites {
    /// Forgets the writes behind a place of the batch.
    pub(super) fn cut(&mut self, bytes: usize) {
        self.of.iter_mut().for_each(|own| own.cut(bytes));
    }

    /// Returns how often a write was put into a memtable so far.
    #[cfg(test)]
    pub(super) fn applied(&self) -> u64 {
        self.applied
    }

    /// Returns the bytes of the memtables.
    pub(super) fn memory(&self) -> usize {
        let layers = self.of.iter().flat_map(|own| &own.layers);
        layers.map(|layer| layer.capacity).sum()
    }

    /// Returns the memtables of the own writes to a keyspace; `None` if there are none. They count
    /// as written `now`, the moment of the transaction's snapshot. `savepoint` is the place of the
    /// newest savepoint in the batch.
    ///
    /// # Errors
    /// `ComparatorFailed` if the comparator panicked while it placed an own write.
    pub(super) fn of(
        &mut self,
        (batch, savepoint): (&WriteBatch, usize),
        keyspace: &KeyspaceState,
        pool: &Arc<ArenaPool>,
        operators: &Resolver,
        now: Moment,
    ) -> Result<Option<OwnView>> {
        if batch.is_empty() {
            return Ok(None);
        }
        let at = match self.of.iter().position(|own| own.keyspace == keyspace.id) {
            Some(at) => at,
            None => {
                let (layers, dead) = Default::default();
                self.of.push(Own { keyspace: keyspace.id, layers, dead });
                self.of.len() - 1
            }
        };
        let own = &mut self.of[at];
        let mut applying = Applying { batch, keyspace, pool, operators, now, applied: 0 };
        own.catch_up(&mut applying, savepoint);
        #[cfg(test)]
        {
            self.applied += applying.applied;
        }
        let layers = own.layers.iter().rev().map(|layer| &layer.writer.memtable);
        if let Some(panic) = layers.clone().find_map(|memtable| memtable.failure()) {
            let message = format!("the comparator panicked on an own write: {panic}");
            return Err(Error::new(ErrorKind::ComparatorFailed, message));
        }
        let memtables: SmallVec<_> =
            layers.filter(|memtable| !memtable.is_empty()).cloned().collect();
        let newest = FIRST_OWN + own.end().writes as SeqNo - 1;
        let dead = Arc::clone(&own.dead);
        Ok((!memtables.is_empty()).then_some(OwnView { memtables, newest, dead }))
    }
}

impl OwnView {
    /// Collects the own records of a key. Returns whether older records still matter.
    pub(super) fn collect(&self, key: &[u8], chain: &mut Chain) -> bool {
        let sought = Sought::new(key, self.newest);
        self.memtables.iter().all(|memtable| {
            look_into_memtable(memtable, &sought, chain).is_continue()
                && !chain.is_covered_above(FIRST_OWN - 1)
        })
    }
}

impl Own {
    fn end(&self) -> Place {
        self.layers.last().map(|layer| layer.end).unwrap_or_default()
    }

    fn cut(&mut self, bytes: usize) {
        // What is undone was deleted in an older walk only.
        self.dead = Arc::default();
        self.layers.retain(|layer| layer.start.bytes < bytes);
        if let Some(last) = self.layers.last_mut() {
            last.is_closed = true;
            if last.end.bytes > bytes {
                self.layers.pop();
            }
        }
        debug_assert!(self.end().bytes <= bytes, "what was undone is not read");
    }

    /// Applies the writes that the batch gained.
    fn catch_up(&mut self, applying: &mut Applying<'_>, savepoint: usize) {
        let through = applying.batch.byte_len();
        if self.end().bytes < savepoint {
            self.extend(applying, savepoint);
        }
        if self.end().bytes < through {
            if self.end().bytes == savepoint {
                self.close();
            }
            self.extend(applying, through);
        }
        self.assert_layers_join();
        debug_assert_eq!(self.end().bytes, through, "the transaction reads each of its writes");
    }

    /// Asserts that no write lies between two layers or in both.
    fn assert_layers_join(&self) {
        let mut start = Place::default();
        for layer in &self.layers {
            debug_assert_eq!(layer.start, start, "a layer begins where the layer below it ends");
            start = layer.end;
        }
    }

    fn close(&mut self) {
        if let Some(last) = self.layers.last_mut() {
            last.is_closed = true;
        }
    }

    /// Applies the writes up to a place of the batch to the newest layer, or to a new one.
    fn extend(&mut self, applying: &mut Applying<'_>, through: usize) {
        if self.layers.last().is_none_or(|layer| layer.is_closed) {
            self.join(applying);
            let next = Layer::create(self.end(), FIRST_CAPACITY, applying);
            self.layers.push(next);
        }
        let last = self.layers.last_mut().expect("a layer was just made");
        last.fill(applying, through);
    }

    /// Joins layers until each is much larger than the next one.
    fn join(&mut self, applying: &mut Applying<'_>) {
        while let [.., below, last] = &self.layers[..]
            && below.bytes() <= 2 * last.bytes()
        {
            let (start, through) = (below.start, last.end.bytes);
            let mut joined = Layer::create(start, below.capacity.max(last.capacity), applying);
            joined.fill(applying, through);
            joined.is_closed = true;
            self.layers.truncate(self.layers.len() - 2);
            self.layers.push(joined);
        }
    }
}

impl Layer {
    fn create(start: Place, capacity: usize, applying: &Applying<'_>) -> Layer {
        let comparator = &applying.keyspace.comparator;
        let writer = MemtableWriter::create(applying.pool, capacity, comparator);
        Layer { writer, capacity, start, end: start, is_closed: false }
    }

    fn bytes(&self) -> usize {
        self.end.bytes - self.start.bytes
    }

    /// Applies the writes up to a place of the batch.
    fn fill(&mut self, applying: &mut Applying<'_>, through: usize) {
        while !self.apply_new(applying, through) {
            // The memtable is full. A larger one takes all writes again.
            *self = Layer::create(self.start, 2 * self.capacity, applying);
        }
    }

    /// Applies the writes up to a place of the batch. Returns `false` if they do not fit.
    fn apply_new(&mut self, applying: &mut Applying<'_>, through: usize) -> bool {
        let Applying { batch, keyspace, operators, now, applied, .. } = applying;
        for operation in batch.operations_between(self.end.bytes, through) {
            if operation.keyspace == keyspace.id {
                if !self.writer.fits(bytes_needed(&operation)) {
                    return false;
                }
                *applied += 1;
                let operator = match (operation.kind, operation.operator) {
                    (Kind::Merge, NO_OPERATOR) => {
                        keyspace.merge_operator().map_or(NO_OPERATOR, |operator| operator.id)
                    }
                    (_, operator) => operator,
                };
                // Iterators read the memtable beside this, so no record changes in place.
                let rules = Folding { floor: MAX_SEQNO, operators };
                let seqno = FIRST_OWN + self.end.writes as SeqNo;
                let mut stored = Vec::new();
                let expiry = keyspace.settings.expiry.filter(|_| operation.stamped);
                if let Some(expiry) = expiry {
                    // The commit gives the write its own moment.
                    stored.extend_from_slice(operation.value);
                    resolve_last(&mut stored, CommitTime::at(*now), Bucket::of(&expiry));
                }
                let value = if expiry.is_some() { &stored[..] } else { operation.value };
                self.writer.apply(&Operation { operator, value, ..operation }, seqno, rules);
            }
            self.end.writes += 1;
        }
        self.end.bytes = through;
        true
    }
}

#[cfg(test)]
mod tests;
