//! The log of writes: each batch since a sequence number, as RocksDB's `GetUpdatesSince`.
//!
//! ```text
//! log:        1: a.PUT    2..4: b.PUT a.DELETE c.PUT    5: d.PUT
//! since 3:                2: b.PUT a.DELETE c.PUT       5: d.PUT
//! ```
//!
//! The batches come from the change feed of the engine. Writes of keyspaces that are no family now
//! are left out: those of dropped families, and of this library itself. So the numbers of a batch
//! may go further than its count. Writes that are in no log end the iterator with the error that
//! RocksDB has for a gap, because a copy that went on would lack them.

use std::ffi::{c_char, c_uchar};
use std::ops::Bound;
use std::ptr;
use std::sync::Arc;

use foldb::feed::{BatchUpdate, Change, UpdateOp, Updates, UpdatesOptions};

use crate::batch::rep::{Kind, Rep};
use crate::batch::rocksdb_writebatch_t;
use crate::boundary::{arg, call, free, handle};
use crate::database::{Database, rocksdb_t};
use crate::keyspaces::is_hidden;
use crate::status::{Outcome, Status};

/// RocksDB: `TransactionLogIterator::ReadOptions`. The header has no function that makes one.
pub struct rocksdb_wal_readoptions_t {
    _private: (),
}

/// RocksDB: `TransactionLogIterator`.
pub struct rocksdb_wal_iterator_t {
    database: Arc<Database>,
    updates: Updates,
    /// Batches whose last number is smaller are passed over.
    since: u64,
    /// The present batch.
    batch: Option<Rep>,
    has_begun: bool,
    /// Why there is no further batch.
    failed: Option<Status>,
}

impl Database {
    /// Returns the batches since a number, the first one if it is not written any more.
    ///
    /// # Errors
    /// `NotFound` for a number that is not written yet.
    fn updates_since(self: &Arc<Database>, since: u64) -> Outcome<rocksdb_wal_iterator_t> {
        let db = self.writable()?;
        if since > self.snapshot().sequence_number() {
            return Err(Status::not_found("Requested sequence not yet written in the db"));
        }
        // As in RocksDB, a batch is there when its write returns, synced or not.
        let all = UpdatesOptions { include_unsynced: true };
        let mut found = rocksdb_wal_iterator_t {
            database: self.clone(),
            updates: db.with(&all).updates_since(&db.position_before(since)?)?,
            since,
            batch: None,
            has_begun: false,
            failed: None,
        };
        found.advance();
        found.failed.take().map_or(Ok(found), Err)
    }

    /// Returns the number of the family of a keyspace.
    fn family_of(&self, keyspace: &str) -> Option<u32> {
        let is_default = self.default.read(|own| own.name() == keyspace);
        if is_default {
            return Some(0);
        }
        let families = self.families.read();
        let mut named = families.values().filter(|family| family.name == keyspace);
        named.find(|family| family.id != 0 && !is_hidden(keyspace)).map(|family| family.id)
    }
}

impl rocksdb_wal_iterator_t {
    /// Moves to the next batch. After an error it stays at its end.
    fn advance(&mut self) {
        self.batch = None;
        if self.failed.is_none() {
            match self.next_batch() {
                Ok(batch) => self.batch = batch,
                Err(status) => self.failed = Some(status),
            }
        }
        self.has_begun |= self.batch.is_some();
    }

    fn next_batch(&mut self) -> Outcome<Option<Rep>> {
        while let Some(update) = self.updates.next() {
            match update?.change {
                Change::Batch(batch) => {
                    let last = batch.first_sequence_number() + batch.len() as u64;
                    if last <= self.since {
                        continue;
                    }
                    let rep = self.rep_of(&batch)?;
                    if rep.count() > 0 {
                        return Ok(Some(rep));
                    }
                }
                Change::Unlogged { .. } if self.has_begun => {
                    let told =
                        "Gap in sequence numbers. Could not seek to required sequence number";
                    return Err(Status::not_found(told));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Returns a batch in RocksDB's format.
    fn rep_of(&self, batch: &BatchUpdate) -> Outcome<Rep> {
        let mut rep = Rep::default();
        rep.set_sequence(batch.first_sequence_number());
        for op in batch.iter_existing(self.database.writable()?) {
            let Some(family) = self.database.family_of(op.keyspace()) else { continue };
            let (kind, key, value) = parts_of(op)?;
            rep.push_parts(family, kind, &[key], &[value])?;
        }
        Ok(rep)
    }
}

/// Returns the parts of a write.
///
/// # Errors
/// `Not implemented` for a range without bounds: no function of this library writes one.
fn parts_of(op: UpdateOp<'_>) -> Outcome<(Kind, &[u8], &[u8])> {
    match op {
        UpdateOp::Put { key, value, .. } => Ok((Kind::Put, key, value)),
        UpdateOp::Delete { key, .. } => Ok((Kind::Delete, key, &[])),
        UpdateOp::Merge { key, operand, .. } => Ok((Kind::Merge, key, operand)),
        UpdateOp::DeleteRange {
            start: Bound::Included(start), end: Bound::Excluded(end), ..
        } => Ok((Kind::DeleteRange, start, end)),
        _ => Err(Status::unsupported("a deleted range that has no start or no end, in the log")),
    }
}

/// The options have no effect: the engine checks each record that it reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_updates_since(
    db: *mut rocksdb_t,
    since: u64,
    _options: *const rocksdb_wal_readoptions_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_wal_iterator_t {
    let found = call(errptr, || arg(db, "db")?.database.updates_since(since).map(handle));
    found.unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_wal_iter_next(iterator: *mut rocksdb_wal_iterator_t) {
    let mut error = ptr::null_mut();
    call(&mut error, || {
        (*iterator).advance();
        Ok(())
    });
    libc::free(error.cast());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_wal_iter_valid(
    iterator: *const rocksdb_wal_iterator_t,
) -> c_uchar {
    c_uchar::from((*iterator).batch.is_some())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_wal_iter_status(
    iterator: *const rocksdb_wal_iterator_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || arg(iterator, "iter")?.failed.clone().map_or(Ok(()), Err));
}

/// Returns a copy of the present batch. An iterator that is not valid has an empty one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_wal_iter_get_batch(
    iterator: *const rocksdb_wal_iterator_t,
    sequence: *mut u64,
) -> *mut rocksdb_writebatch_t {
    let rep = (&(*iterator).batch).clone().unwrap_or_default();
    if !sequence.is_null() {
        *sequence = rep.sequence();
    }
    handle(rocksdb_writebatch_t { rep })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_wal_iter_destroy(iterator: *const rocksdb_wal_iterator_t) {
    free(iterator.cast_mut());
}
