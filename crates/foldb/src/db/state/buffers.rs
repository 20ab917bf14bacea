//! The memtables being filled: one for each written keyspace, with one budget over all of them.
//!
//! All memtables are sealed at one moment, between two writes. After their flush, one edit adds all
//! their tables to the trees (H5). So either all writes of a batch are in tables or none is, even
//! if the batch was not logged. A keyspace without writes does not prevent the removal of old logs.
//!
//! ```text
//! default:  ████████    ███           ┊  the budget is used up: all three are sealed, the log
//! counters: ██                        ┊  rolls, and one flush makes a run of level 0 in each
//! idle:                               ┊  nothing written: no memtable, nothing to seal
//! ```
//!
//! The first write to a keyspace begins its memtable. The memtable reserves addresses for twice its
//! capacity, and uses 32 KiB of memory at first. Keyspaces other than the default one begin with a
//! sixteenth of the budget. The next memtable of a keyspace is twice as large if the last one was
//! more than half full.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use foldb_chains::ArenaPool;
use foldb_env::Clock;
use smallvec::SmallVec;

use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::pace::{Pauses, most_slowed};
use crate::error::Result;
use crate::key::{DEFAULT_KEYSPACE, KeyspaceId, SeqNo};
use crate::locks::rank::SEALED;
use crate::locks::{Lock, LockGuard};
use crate::memtable::{FORESEEN, Folding, Memtable, MemtableWriter};
use crate::operation::Operation;
use crate::wal::SealedLog;

const READY: &str = "the caller made room";

/// The bytes that a write needs in each keyspace.
pub(crate) type Needs = SmallVec<[(KeyspaceId, usize); 4]>;

/// The slowdown of a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slowed {
    /// When the write may be applied.
    pub(crate) until: Duration,
    /// The longest time that all pauses of the write may take together.
    pub(crate) most: Duration,
}

/// The memtable of one keyspace.
pub(crate) struct Buffer {
    pub(crate) keyspace: Arc<KeyspaceState>,
    pub(crate) memtable: Option<MemtableWriter>,
    /// Capacity of the next memtable, in bytes of records.
    capacity: usize,
    pauses: Pauses,
}

impl Buffer {
    fn new(keyspace: Arc<KeyspaceState>, capacity: usize) -> Buffer {
        Buffer { keyspace, memtable: None, capacity, pauses: Pauses::default() }
    }

    /// Takes a memtable, which readers see from now on. Returns the one before it.
    fn hold(&mut self, mut writer: MemtableWriter) -> Option<MemtableWriter> {
        if !self.keyspace.comparator.bytewise_equality() {
            let keyspace = Arc::clone(&self.keyspace);
            writer.on_failure(move |panic| keyspace.note_misplaced(&panic));
        }
        self.keyspace.view.begin(Arc::clone(&writer.memtable));
        self.memtable.replace(writer)
    }
}

/// The memtables of all keyspaces.
pub(crate) struct Buffers {
    default: Buffer,
    /// The memtables of the other keyspaces, by id.
    others: Vec<Buffer>,
    /// Ids of the other keyspaces that have a memtable, in no order. A seal visits only these,
    /// because many keyspaces may be idle.
    begun: Vec<KeyspaceId>,
    /// Bytes that the memtables of the other keyspaces take.
    elsewhere: usize,
    /// Bytes that all memtables may take together: at most the write buffer, or more if one batch
    /// needs more.
    budget: usize,
    write_buffer: usize,
    /// Whether the first memtable of the default keyspace is small too. It is if databases share a
    /// runtime, because each may hold little data.
    small_first: bool,
}

impl Buffers {
    pub(crate) fn new(
        default: Arc<KeyspaceState>,
        write_buffer: usize,
        small_first: bool,
    ) -> Buffers {
        let capacity = if small_first { first_capacity(write_buffer) } else { write_buffer };
        let default = Buffer::new(default, capacity);
        let (others, begun, elsewhere) = (Vec::new(), Vec::new(), 0);
        let budget = write_buffer;
        Buffers { default, others, begun, elsewhere, budget, write_buffer, small_first }
    }

    /// Adds a keyspace.
    pub(crate) fn add(&mut self, keyspace: Arc<KeyspaceState>) {
        let at = self.others.partition_point(|buffer| buffer.keyspace.id < keyspace.id);
        let capacity = first_capacity(self.write_buffer);
        assert!(
            self.get(keyspace.id).is_none(),
            "a keyspace has one buffer, so that one memtable takes its writes"
        );
        self.others.insert(at, Buffer::new(keyspace, capacity));
    }

    /// Removes a keyspace with its unsealed writes.
    pub(crate) fn remove(&mut self, id: KeyspaceId) {
        if let Ok(at) = self.find(id) {
            let buffer = self.others.remove(at);
            if let Some(memtable) = buffer.memtable {
                self.begun.retain(|begun| *begun != id);
                debug_assert!(
                    self.elsewhere >= memtable.grown(),
                    "what a keyspace holds was counted"
                );
                self.elsewhere -= memtable.grown();
                memtable.memtable.release();
            }
        }
    }

    fn find(&self, id: KeyspaceId) -> Result<usize, usize> {
        self.others.binary_search_by_key(&id, |buffer| buffer.keyspace.id)
    }

    fn get(&self, id: KeyspaceId) -> Option<&Buffer> {
        if id == DEFAULT_KEYSPACE {
            return Some(&self.default);
        }
        self.find(id).ok().map(|at| &self.others[at])
    }

    fn get_mut(&mut self, id: KeyspaceId) -> Option<&mut Buffer> {
        if id == DEFAULT_KEYSPACE {
            return Some(&mut self.default);
        }
        self.find(id).ok().map(|at| &mut self.others[at])
    }

    /// Returns [`KeyspaceState::separable_from`] of a keyspace.
    pub(crate) fn separable_from(&self, id: KeyspaceId) -> usize {
        self.get(id).map_or(usize::MAX, |buffer| buffer.keyspace.separable_from)
    }

    /// Returns whether a keyspace can be written to.
    pub(crate) fn contains(&self, id: KeyspaceId) -> bool {
        self.get(id).is_some()
    }

    /// # Errors
    /// `ComparatorFailed` if the comparator of the keyspace has failed.
    pub(crate) fn check_comparator(&self, id: KeyspaceId) -> Result<()> {
        self.get(id).map_or(Ok(()), |buffer| buffer.keyspace.check_comparator())
    }

    /// Returns whether a write to one keyspace can be applied at once.
    #[inline]
    pub(crate) fn is_ready(&self, id: KeyspaceId, bytes: usize) -> bool {
        let Some(Buffer { memtable: Some(memtable), pauses, .. }) = self.get(id) else {
            return false;
        };
        memtable.has_space(bytes)
            && self.used() + bytes <= self.budget
            && !pauses.look_is_due(memtable.grown())
    }

    /// Checks the pace of each keyspace that a write goes to, if a check is due. Returns when the
    /// write may be applied, or `None` if it need not wait.
    pub(crate) fn pause(
        &mut self,
        needs: &Needs,
        flush_pace: Duration,
        clock: &dyn Clock,
    ) -> Option<Slowed> {
        let mut longest: Option<Slowed> = None;
        for &(id, bytes) in needs {
            let Some(Buffer { memtable, pauses, keyspace, .. }) = self.get_mut(id) else {
                continue;
            };
            let grown = memtable.as_ref().map_or(0, MemtableWriter::grown);
            if !pauses.look_is_due(grown) {
                continue;
            }
            let per_mib = keyspace.pace.per_mib().max(flush_pace);
            let Some(until) = pauses.pause(grown, per_mib, clock.now()) else { continue };
            let slowed = Slowed { until, most: most_slowed(bytes, per_mib) };
            if longest.is_none_or(|longest| until > longest.until) {
                longest = Some(slowed);
            }
        }
        longest
    }

    /// Returns whether the memtables of these keyspaces have many unsorted keys.
    pub(crate) fn want_order(&self, needs: &Needs) -> bool {
        let memtable = |&(id, _): &(KeyspaceId, usize)| self.get(id)?.memtable.as_ref();
        needs.iter().filter_map(memtable).any(|writer| writer.memtable.wants_order())
    }

    /// Returns whether a write fits after `begin` has created the missing memtables.
    pub(crate) fn admits(&self, needs: &Needs) -> bool {
        let has_space = |&(id, bytes): &(KeyspaceId, usize)| {
            let memtable = self.get(id).and_then(|buffer| buffer.memtable.as_ref());
            memtable.is_none_or(|memtable| memtable.has_space(bytes))
        };
        self.used() + total(needs) <= self.budget && needs.iter().all(has_space)
    }

    /// Returns the bytes that all memtables take, including the used parts of their indexes.
    #[inline]
    pub(crate) fn used(&self) -> usize {
        self.default.memtable.as_ref().map_or(0, MemtableWriter::grown) + self.elsewhere
    }

    /// Returns the used share of the budget, 0 to 1.
    pub(crate) fn used_share(&self) -> f64 {
        self.used() as f64 / self.budget.max(1) as f64
    }

    /// Sets the budget of all memtables to `most` bytes, which is at most the write buffer. Keeps
    /// the budget if a large batch has raised it above the write buffer.
    pub(crate) fn limit(&mut self, most: usize) {
        if self.budget <= self.write_buffer {
            self.budget = most;
        }
    }

    /// Returns whether nothing was written since the last seal.
    pub(crate) fn is_empty(&self) -> bool {
        self.used() == 0
    }

    /// Creates the memtables that a write needs if they are missing, or empty and too small. Passes
    /// each new memtable to `track`.
    pub(crate) fn begin(
        &mut self,
        needs: &Needs,
        arenas: &Arc<ArenaPool>,
        track: impl Fn(&Arc<Memtable>),
    ) {
        let together = total(needs);
        if self.is_empty() && together > self.budget {
            self.budget = together + (together >> 3);
        }
        for &(id, bytes) in needs {
            let Some(buffer) = self.get_mut(id) else { continue };
            if buffer.memtable.as_ref().is_some_and(|memtable| memtable.has_space(bytes)) {
                continue;
            }
            let keyspace = &buffer.keyspace;
            let least = MemtableWriter::capacity_for(bytes, &*keyspace.comparator);
            let capacity = buffer.capacity.max(least);
            let writer = MemtableWriter::create(arenas, capacity, &keyspace.comparator);
            track(&writer.memtable);
            debug_assert!(
                buffer.memtable.as_ref().is_none_or(|before| before.memtable.is_empty()),
                "a memtable with writes is sealed before the next one begins"
            );
            let before = buffer.hold(writer);
            if before.is_none() && id != DEFAULT_KEYSPACE {
                self.begun.push(id);
            }
        }
    }

    /// Goes on with a memtable that a replay filled.
    pub(crate) fn resume(&mut self, id: KeyspaceId, writer: MemtableWriter) {
        let Some(buffer) = self.get_mut(id) else { return };
        assert!(buffer.memtable.is_none(), "one memtable takes the writes of a keyspace");
        let grown = writer.grown();
        writer.memtable.resume();
        buffer.hold(writer);
        if id != DEFAULT_KEYSPACE {
            self.begun.push(id);
            self.elsewhere += grown;
        }
    }

    /// Applies one write.
    ///
    /// # Panics
    /// If the memtable of the write's keyspace is missing.
    #[inline]
    pub(crate) fn apply(&mut self, operation: &Operation<'_>, seqno: SeqNo, folding: Folding<'_>) {
        if operation.keyspace == DEFAULT_KEYSPACE {
            return self.default.memtable.as_mut().expect(READY).apply(operation, seqno, folding);
        }
        self.apply_elsewhere(operation, seqno, folding);
    }

    /// Prefetches what the next writes of a batch will touch: those of the first one's keyspace.
    pub(crate) fn foresee<'a>(&self, operations: impl Iterator<Item = Operation<'a>>) {
        let mut operations = operations.take(FORESEEN).peekable();
        let Some(keyspace) = operations.peek().map(|first| first.keyspace) else { return };
        let memtable = self.get(keyspace).and_then(|buffer| buffer.memtable.as_ref());
        let own = operations.filter(|operation| operation.keyspace == keyspace);
        memtable.expect(READY).foresee(own.map(|operation| operation.key));
    }

    #[inline(never)]
    fn apply_elsewhere(&mut self, operation: &Operation<'_>, seqno: SeqNo, folding: Folding<'_>) {
        let at = self.find(operation.keyspace).expect(READY);
        let memtable = self.others[at].memtable.as_mut().expect(READY);
        let before = memtable.grown();
        memtable.apply(operation, seqno, folding);
        self.elsewhere += memtable.grown() - before;
    }

    /// Reserves space in a memtable for the writes of a batch.
    pub(crate) fn reserve(&mut self, id: KeyspaceId, bytes: usize) {
        if let Some(Buffer { memtable: Some(memtable), .. }) = self.get_mut(id) {
            memtable.reserve(bytes);
        }
    }

    /// Seals all memtables that are not empty, at `through`, the last sequence number applied.
    pub(crate) fn seal(&mut self, through: SeqNo) -> Vec<(Arc<KeyspaceState>, Arc<Memtable>)> {
        let mut sealed = Vec::new();
        let (most, small_first) = (self.write_buffer, self.small_first);
        let mut begun = std::mem::take(&mut self.begun);
        begun.sort_unstable();
        for id in std::iter::once(DEFAULT_KEYSPACE).chain(begun) {
            let Some(buffer) = self.get_mut(id) else { continue };
            let written = |writer: &mut MemtableWriter| !writer.memtable.is_empty();
            let Some(writer) = buffer.memtable.take_if(written) else {
                if id != DEFAULT_KEYSPACE && buffer.memtable.is_some() {
                    self.begun.push(id);
                }
                continue;
            };
            writer.memtable.seal(through);
            buffer.pauses.sealed(writer.grown());
            debug_assert!(
                buffer
                    .keyspace
                    .view
                    .load()
                    .memtables()
                    .any(|seen| Arc::ptr_eq(seen, &writer.memtable)),
                "readers see each memtable from its first write to its flush"
            );
            buffer.keyspace.view.seal();
            if buffer.keyspace.id != DEFAULT_KEYSPACE || small_first {
                buffer.capacity = next_capacity(buffer.capacity, writer.grown(), most);
            }
            sealed.push((Arc::clone(&buffer.keyspace), writer.memtable));
        }
        self.elsewhere = 0;
        self.budget = self.write_buffer;
        assert!(self.is_empty(), "one seal takes the writes of all keyspaces (H5)");
        sealed
    }

    /// Returns the keyspaces that have a memtable. The next flush adds to their level 0.
    pub(crate) fn written(&self) -> Vec<Arc<KeyspaceState>> {
        let begun = self.begun.iter().filter_map(|id| self.get(*id));
        let buffers = std::iter::once(&self.default).chain(begun);
        let written = buffers.filter(|buffer| buffer.memtable.is_some());
        written.map(|buffer| Arc::clone(&buffer.keyspace)).collect()
    }
}

fn total(needs: &Needs) -> usize {
    needs.iter().map(|(_, bytes)| bytes).sum()
}

/// Returns the capacity of the first memtable of a keyspace other than the default one.
pub(crate) fn first_capacity(write_buffer: usize) -> usize {
    (write_buffer / 16).max(SMALLEST.min(write_buffer))
}

/// Returns the capacity of the memtable that follows one with this `capacity`, which used `grown`
/// bytes.
pub(crate) fn next_capacity(capacity: usize, grown: usize, write_buffer: usize) -> usize {
    if grown > capacity / 2 {
        (2 * capacity).min(write_buffer)
    } else if grown < capacity / 8 {
        (capacity / 2).max(first_capacity(write_buffer))
    } else {
        capacity
    }
}

/// The smallest first capacity: a smaller memtable would be mostly index.
const SMALLEST: usize = 64 << 10;

/// Memtables that were sealed at one moment.
#[derive(Debug)]
pub(crate) struct SealedGroup {
    /// Last sequence number applied before the seal.
    pub(crate) through: SeqNo,
    /// Bytes of the write buffer that the group's memtables used.
    pub(crate) bytes: usize,
    /// Bytes of log that only this group still needs.
    pub(crate) log_bytes: u64,
    /// The first log with later writes.
    pub(crate) next_log: u64,
    /// Whether the log lacks some of the group's writes.
    pub(crate) unlogged: bool,
    /// The log that holds the group's logged writes, if it has any.
    pub(crate) log: Option<SealedLog>,
    pub(crate) memtables: Vec<(Arc<KeyspaceState>, Arc<Memtable>)>,
}

/// The unflushed groups, oldest first.
#[derive(Debug, Default)]
pub(crate) struct SealedGroups(Lock<VecDeque<Arc<SealedGroup>>, SEALED>);

impl SealedGroups {
    fn lock(&self) -> LockGuard<'_, VecDeque<Arc<SealedGroup>>, SEALED> {
        self.0.lock()
    }

    pub(crate) fn push(&self, group: SealedGroup) {
        let mut groups = self.lock();
        if let Some(newest) = groups.back() {
            let is_later = newest.through <= group.through && newest.next_log <= group.next_log;
            assert!(is_later, "a seal ends later writes and logs than the seals before it");
        }
        groups.push_back(Arc::new(group));
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns the bytes of the write buffer that the groups use, with at most `most` for each
    /// group.
    pub(crate) fn bytes(&self, most: usize) -> usize {
        self.lock().iter().map(|group| group.bytes.min(most)).sum()
    }

    /// Returns the oldest groups.
    pub(crate) fn oldest(&self, at_most: usize) -> Vec<Arc<SealedGroup>> {
        self.lock().iter().take(at_most).cloned().collect()
    }

    /// Returns whether some writes of the groups are in no log.
    pub(crate) fn any_unlogged(&self) -> bool {
        self.lock().iter().any(|group| group.unlogged)
    }

    /// Returns the sequence number at which the newest group was sealed.
    pub(crate) fn newest_through(&self) -> Option<SeqNo> {
        self.lock().back().map(|group| group.through)
    }

    /// Returns whether everything sealed at `through` and before is flushed.
    pub(crate) fn are_flushed(&self, through: SeqNo) -> bool {
        self.lock().front().is_none_or(|group| group.through > through)
    }

    /// Removes the oldest groups after their flush.
    pub(crate) fn flushed(&self, count: usize) {
        assert!(count <= self.len(), "only sealed memtables were flushed");
        for group in self.lock().drain(..count) {
            debug_assert!(
                group.memtables.iter().all(|(_, held)| held.sealed_through() == group.through),
                "the memtables of a group were sealed at one moment"
            );
            group.memtables.iter().for_each(|(_, memtable)| memtable.release());
        }
    }
}
