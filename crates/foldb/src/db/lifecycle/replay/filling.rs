//! The memtables that a replay fills, and their share of memory.
//!
//! Invariant: all memtables together take at most the share that the caller gave, and the write
//! that came last.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::db::state::buffers::{first_capacity, next_capacity};
use crate::error::{Error, ErrorKind, Result};
use crate::key::{DEFAULT_KEYSPACE, KeyspaceId, SeqNo, shown};
use crate::memtable::{Folding, Memtable, MemtableWriter, bytes_needed};
use crate::operation::Operation;

use super::{Replay, ReplayKeyspace};

/// The memtables of each keyspace that has any, newest first.
pub(crate) type Memtables = BTreeMap<KeyspaceId, Vec<Arc<Memtable>>>;

/// What a replay does when its memtables have used up their share of memory.
pub(crate) enum WhenFull<'a> {
    /// It keeps them, and only checks the rest of the logs.
    Check,
    /// It passes them on, with the last sequence number that it applied, and fills new ones.
    Pass(&'a mut dyn FnMut(Memtables, SeqNo) -> Result<()>),
}

/// The memtables of a replay.
pub(super) struct Filling<'a> {
    /// The memtables being filled, each with the capacity that it was created for, in bytes.
    open: BTreeMap<KeyspaceId, (MemtableWriter, usize)>,
    full: Memtables,
    /// Bytes of the share that all of them use up: as for write buffers, without what the first
    /// memtable of each keyspace takes while it is empty.
    bytes: usize,
    when_full: WhenFull<'a>,
    /// Set when writes are no longer applied: the last write that was.
    applied_through: Option<SeqNo>,
}

impl<'a> Filling<'a> {
    pub(super) fn new(when_full: WhenFull<'a>) -> Filling<'a> {
        Filling {
            open: BTreeMap::new(),
            full: BTreeMap::new(),
            bytes: 0,
            when_full,
            applied_through: None,
        }
    }

    /// Applies a write, unless the share is used up.
    ///
    /// # Errors
    /// `ComparatorFailed` if the comparator panics over the key; the errors of
    /// [`WhenFull::Pass`].
    pub(super) fn apply(
        &mut self,
        replay: &Replay<'_>,
        own: &ReplayKeyspace,
        operation: &Operation<'_>,
        seqno: SeqNo,
    ) -> Result<()> {
        if self.applied_through.is_some() {
            return Ok(());
        }
        self.insert(replay, own, operation, seqno)?;
        if self.bytes < replay.memtable_bytes {
            return Ok(());
        }
        self.seal_all();
        match &mut self.when_full {
            WhenFull::Check => self.applied_through = Some(seqno),
            WhenFull::Pass(pass) => {
                self.bytes = 0;
                pass(std::mem::take(&mut self.full), seqno)?;
            }
        }
        Ok(())
    }

    fn insert(
        &mut self,
        replay: &Replay<'_>,
        own: &ReplayKeyspace,
        operation: &Operation<'_>,
        seqno: SeqNo,
    ) -> Result<()> {
        let id = operation.keyspace;
        let bytes = bytes_needed(operation);
        let write_buffer = replay.options.write_buffer_size;
        // As for new memtables: each database that shares a runtime may hold little data.
        let mut capacity = match id {
            DEFAULT_KEYSPACE if replay.options.runtime.is_none() => write_buffer,
            _ => first_capacity(write_buffer),
        };
        if let Some((full, made_for)) = self.open.get(&id)
            && !full.fits(bytes)
        {
            capacity = next_capacity(*made_for, full.grown(), write_buffer);
            self.seal(id);
        }
        let is_first = !self.full.contains_key(&id);
        let (writer, _) = self.open.entry(id).or_insert_with(|| {
            let room = capacity.max(MemtableWriter::capacity_for(bytes, &*own.comparator));
            let arenas = &replay.runtime.ledger().arenas;
            let writer = MemtableWriter::create(arenas, room, &own.comparator);
            // No writer of another database waits for this memory.
            writer.memtable.release();
            replay.runtime.track(replay.member, &writer.memtable);
            self.bytes += if is_first { 0 } else { writer.memtable.bytes() };
            (writer, capacity)
        });
        // No reader exists yet, so every record may change in place.
        let operators = replay.registry.resolver();
        let before = writer.grown();
        writer.apply(operation, seqno, Folding { floor: 0, operators: &operators });
        self.bytes += writer.grown() - before;
        match writer.memtable.failure() {
            None => Ok(()),
            Some(panic) => Err(Error::new(
                ErrorKind::ComparatorFailed,
                format!(
                    "comparator '{}' panicked ({panic}) over the logged key '{}'; nothing was \
                     changed, open the database with the comparator that wrote it",
                    own.comparator.name(),
                    shown(operation.key),
                ),
            )),
        }
    }

    fn seal(&mut self, id: KeyspaceId) {
        if let Some((writer, _)) = self.open.remove(&id) {
            self.full.entry(id).or_default().insert(0, writer.memtable);
        }
    }

    fn seal_all(&mut self) {
        while let Some((&id, _)) = self.open.first_key_value() {
            self.seal(id);
        }
    }

    /// Takes the memtables that were not passed on.
    pub(super) fn take(&mut self) -> Memtables {
        self.seal_all();
        std::mem::take(&mut self.full)
    }

    /// Returns the memtables that were not passed on, and the last write that was applied, if later
    /// ones were not. Also returns the right to write to the memtables, if each keyspace has one.
    pub(super) fn finish(mut self) -> (Memtables, Option<SeqNo>, Unsealed) {
        let mut unsealed = Unsealed::default();
        if self.full.is_empty() {
            for (id, (writer, _)) in std::mem::take(&mut self.open) {
                self.full.insert(id, vec![Arc::clone(&writer.memtable)]);
                unsealed.0.insert(id, writer);
            }
        }
        self.seal_all();
        (self.full, self.applied_through, unsealed)
    }
}

/// The memtables that an open may go on to fill.
#[derive(Default)]
pub(crate) struct Unsealed(pub(crate) BTreeMap<KeyspaceId, MemtableWriter>);

impl fmt::Debug for Unsealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
