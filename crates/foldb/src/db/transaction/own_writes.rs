//! The transaction's own writes, as memtables that no other reader sees.
//!
//! The batch holds the writes. A read that must see them applies the new ones to a memtable of
//! their keyspace first. So a transaction that never reads what it wrote makes no memtable.
//!
//! Own records have sequence numbers from [`FIRST_OWN`] on, which no record of the database has. So
//! every own record is newer than every record of the snapshot.

use std::sync::Arc;

use foldb_chains::ArenaPool;

use crate::db::state::keyspace::KeyspaceState;
use crate::db::write::batch::WriteBatch;
use crate::db::write::stamping::resolve_last;
use crate::error::{Error, ErrorKind, Result};
use crate::fold::Resolver;
use crate::fold::stamp::{Bucket, CommitTime, Moment};
use crate::key::{KeyspaceId, Kind, MAX_SEQNO, NO_OPERATOR, SeqNo};
use crate::memtable::{Folding, Memtable, MemtableWriter, bytes_needed};
use crate::operation::Operation;

/// The sequence number of the first own write. A database would reach it after centuries.
pub(super) const FIRST_OWN: SeqNo = 1 << 55;

/// Bytes of records that the first memtable of a keyspace has room for.
const FIRST_CAPACITY: usize = 16 << 10;

/// The own writes in one keyspace.
struct Own {
    keyspace: KeyspaceId,
    writer: MemtableWriter,
    capacity: usize,
    /// Bytes of the batch that the memtable covers.
    through: usize,
    /// Number of writes in those bytes, those to other keyspaces included.
    writes: usize,
}

/// The own writes to a keyspace at one moment.
#[derive(Clone)]
pub(super) struct OwnView {
    pub(super) memtable: Arc<Memtable>,
    /// The sequence number of the newest of them.
    pub(super) newest: SeqNo,
}

/// The index of the own writes.
#[derive(Default)]
pub(super) struct OwnWrites {
    of: Vec<Own>,
}

impl OwnWrites {
    /// Forgets all writes. The next read indexes the batch anew.
    pub(super) fn clear(&mut self) {
        self.of.clear();
    }

    /// Returns the memtable of the own writes to a keyspace; `None` if there are none. They count
    /// as written `now`, the moment of the transaction's snapshot.
    ///
    /// # Errors
    /// `ComparatorFailed` if the comparator panicked while it placed an own write.
    pub(super) fn of(
        &mut self,
        batch: &WriteBatch,
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
                self.of.push(Own::create(keyspace, FIRST_CAPACITY, pool));
                self.of.len() - 1
            }
        };
        let own = &mut self.of[at];
        while !own.apply_new(batch, keyspace, operators, now) {
            // The memtable is full. A larger one takes all writes again.
            *own = Own::create(keyspace, 2 * own.capacity, pool);
        }
        let newest = FIRST_OWN + own.writes as SeqNo - 1;
        let memtable = &own.writer.memtable;
        if let Some(panic) = memtable.failure() {
            let message = format!("the comparator panicked on an own write: {panic}");
            return Err(Error::new(ErrorKind::ComparatorFailed, message));
        }
        Ok((!memtable.is_empty()).then(|| OwnView { memtable: Arc::clone(memtable), newest }))
    }
}

impl Own {
    fn create(keyspace: &KeyspaceState, capacity: usize, pool: &Arc<ArenaPool>) -> Own {
        let writer = MemtableWriter::create(pool, capacity, &keyspace.comparator);
        Own { keyspace: keyspace.id, writer, capacity, through: 0, writes: 0 }
    }

    /// Applies the writes that the batch gained. Returns `false` if they do not fit.
    fn apply_new(
        &mut self,
        batch: &WriteBatch,
        keyspace: &KeyspaceState,
        operators: &Resolver,
        now: Moment,
    ) -> bool {
        for operation in batch.operations_from(self.through) {
            if operation.keyspace == self.keyspace {
                if !self.writer.fits(bytes_needed(&operation)) {
                    return false;
                }
                let operator = match (operation.kind, operation.operator) {
                    (Kind::Merge, NO_OPERATOR) => {
                        keyspace.merge_operator().map_or(NO_OPERATOR, |operator| operator.id)
                    }
                    (_, operator) => operator,
                };
                // Iterators read the memtable beside this, so no record changes in place.
                let rules = Folding { floor: MAX_SEQNO, operators };
                let seqno = FIRST_OWN + self.writes as SeqNo;
                let mut stored = Vec::new();
                let expiry = keyspace.settings.expiry.filter(|_| operation.stamped);
                if let Some(expiry) = expiry {
                    // The commit gives the write its own moment.
                    stored.extend_from_slice(operation.value);
                    resolve_last(&mut stored, CommitTime::at(now), Bucket::of(&expiry));
                }
                let value = if expiry.is_some() { &stored[..] } else { operation.value };
                self.writer.apply(&Operation { operator, value, ..operation }, seqno, rules);
            }
            self.writes += 1;
        }
        self.through = batch.byte_len();
        true
    }
}
