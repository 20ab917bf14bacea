//! The operations of one call: one operation, or a batch.

use crate::db::batch::WriteBatch;
use crate::db::state::buffers::{Buffers, Needs};
use crate::db::state::keyspace::KeyspaceState;
use crate::key::{DEFAULT_KEYSPACE, KeyspaceId, Kind};
use crate::memtable::bytes_needed;
use crate::operation::Operation;
use crate::wal::{LEAST_SEPARABLE, is_separable};

/// One operation or a batch of operations, by reference. A copy on the stack would make a write a
/// tenth slower, because the processor would read the copy before its stores complete.
#[derive(Clone, Copy)]
pub(crate) enum Writes<'a> {
    One(&'a KeyspaceState, &'a Operation<'a>),
    Batch(&'a WriteBatch),
}

impl Writes<'_> {
    pub(crate) fn count(&self) -> usize {
        match self {
            Writes::One(..) => 1,
            Writes::Batch(batch) => batch.len(),
        }
    }

    /// Returns the key of the first operation.
    #[cfg(all(debug_assertions, feature = "internals"))]
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        match self {
            Writes::One(_, operation) => Some(operation.key),
            Writes::Batch(batch) => batch.operations().next().map(|operation| operation.key),
        }
    }

    /// Returns whether all the writes are deletes, which a full disk admits.
    pub(crate) fn only_delete(&self) -> bool {
        let deletes = |kind| matches!(kind, Kind::Delete | Kind::DeleteRange);
        match self {
            Writes::One(_, operation) => deletes(operation.kind),
            Writes::Batch(batch) => batch.operations().all(|operation| deletes(operation.kind)),
        }
    }

    /// Returns an upper bound of the bytes of their log record.
    pub(crate) fn most_log_bytes(&self) -> u64 {
        /// More than the header of a batch, and than kind, ids and lengths of an operation.
        const BESIDE: usize = 64;
        let bytes = match self {
            Writes::One(_, operation) => operation.key.len() + operation.value.len(),
            Writes::Batch(batch) => batch.encoded().len(),
        };
        (bytes + 2 * BESIDE) as u64
    }

    /// Returns the keyspace of the writes and an upper bound of the memtable bytes that they take.
    /// `None` if the writes may go to several keyspaces.
    #[inline(always)]
    pub(crate) fn need(&self) -> Option<(KeyspaceId, usize)> {
        match self {
            Writes::One(_, operation) => Some((operation.keyspace, bytes_needed(operation))),
            Writes::Batch(batch) if !batch.names_keyspaces() => {
                Some((DEFAULT_KEYSPACE, batch.memtable_bytes()))
            }
            Writes::Batch(_) => None,
        }
    }

    /// Returns an upper bound of the memtable bytes that the writes take in each keyspace.
    pub(crate) fn needs(&self) -> Needs {
        if let Some(need) = self.need() {
            return Needs::from_elem(need, 1);
        }
        let Writes::Batch(batch) = self else { return Needs::new() };
        let mut needs = Needs::new();
        for operation in batch.operations() {
            let bytes = bytes_needed(&operation);
            match needs.binary_search_by_key(&operation.keyspace, |need| need.0) {
                Ok(at) => needs[at].1 += bytes,
                Err(at) => needs.insert(at, (operation.keyspace, bytes)),
            }
        }
        debug_assert_eq!(
            needs.iter().map(|need| need.1).sum::<usize>(),
            batch.memtable_bytes(),
            "the parts of a batch need what the batch needs"
        );
        needs
    }
}

impl Writes<'_> {
    /// Returns whether the log may store a value in the format of a value segment, so that a flush
    /// can adopt the log. The check is fast if all values are small.
    #[inline(always)]
    pub(crate) fn may_be_separable(&self, buffers: &Buffers) -> bool {
        match self {
            Writes::One(keyspace, operation) => {
                operation.value.len() >= keyspace.separable_from
                    && operation.kind == Kind::Put
                    && is_separable(operation.key.len(), operation.value.len())
            }
            Writes::Batch(batch) => {
                batch.largest_put() >= LEAST_SEPARABLE && batch_may_be_separable(batch, buffers)
            }
        }
    }

    /// Appends the encoded operations.
    #[inline(always)]
    pub(crate) fn encode(&self, record: &mut Vec<u8>) {
        match self {
            Writes::One(_, operation) => operation.encode(record),
            Writes::Batch(batch) => record.extend_from_slice(batch.encoded()),
        }
    }
}

#[inline(never)]
fn batch_may_be_separable(batch: &WriteBatch, buffers: &Buffers) -> bool {
    let keyspaces = std::iter::once(DEFAULT_KEYSPACE).chain(batch.named_keyspaces());
    let least = keyspaces.map(|id| buffers.separable_from(id)).min();
    least.is_some_and(|least| batch.largest_put() >= least)
}
