//! The memtable: the writes that are not yet flushed, as hash-indexed chains.
//!
//! The `foldb-chains` crate implements the chains; this module adds the engine's kinds and values.
//! Invariant: one thread at a time writes a memtable (the thread that holds its writer), and any
//! number of threads read it without a lock. The module `folding` says how the writer folds.

mod folding;
#[cfg(test)]
mod tests;
mod usual;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use foldb_chains::{
    ArenaPool, Chains, Cursor, Inserted, KeyOrder, NewRecord, Version, Writer, bytes_with_spellings,
};

use crate::encoding::key_hash;
use crate::fold::Chain;
use crate::fold::stamp::{Moment, NEVER, Stamp};
use crate::key::{Comparator, Kind, MAX_SEQNO, RecordHeader, SeqNo};
use crate::memory::WriteBuffer;
use crate::memtable::folding::{FoldBuffers, FoldOperand};
use crate::operation::Operation;
use crate::range_tombstone::{Edge, RangeTombstone, RangeTombstones};
use crate::user_code::guarded;
use crate::value::Value;

pub(crate) use folding::Folding;
pub(crate) use usual::{Usual, fold_usual};

/// Keys of a group whose memory is prefetched together.
pub(crate) const FORESEEN: usize = Chains::FORESEEN;

/// Bytes of a memtable that the nearer caches hold: prefetching would cost more than it saves.
const IN_CACHES: usize = 1 << 20;

/// A memtable as readers and flushes see it.
#[derive(Debug)]
pub(crate) struct Memtable {
    chains: Arc<Chains>,
    comparator: Arc<dyn Comparator>,
    /// Deleted ranges, as an immutable set. Each range delete replaces the set.
    range_tombstones: ArcSwapOption<RangeTombstones>,
    /// Sequence number of the last range delete. At 0 there is none, and readers skip the set.
    last_range_delete: AtomicU64,
    /// Bytes of range tombstones.
    range_bytes: AtomicUsize,
    /// Last sequence number applied, set when the memtable is sealed. Set with `AcqRel` behind the
    /// last write, and read with `Acquire`: a thread that sees it also sees that write.
    sealed_through: AtomicU64,
    /// Set when only the readers that already hold the memtable still need it. Only figures of
    /// memory depend on it, so `Release` and `Acquire` are more than enough.
    released: AtomicBool,
    /// Set when the comparator panicked on a worker. No worker sorts the memtable again.
    unordered: AtomicBool,
    /// The message of the panic, if the comparator panicked while it placed a write.
    failure: OnceLock<String>,
    /// The earliest moment of an operand with a stamp.
    merged_since: AtomicU32,
    /// Deletes of single keys.
    deletes: AtomicU64,
}

/// The right to write to a memtable.
pub(crate) struct MemtableWriter {
    writer: Writer,
    /// Bytes of the index before it grows.
    empty_bytes: usize,
    /// Sequence number of the last range delete. No fold joins records from before and after it.
    last_delete_range: SeqNo,
    /// Space that is kept for the rest of the batch being applied.
    reserved: usize,
    buffers: FoldBuffers,
    /// Whether a key may have several spellings. The comparator then places each write.
    spelled: bool,
    on_failure: Option<Box<dyn Fn(String) + Send>>,
    pub(crate) memtable: Arc<Memtable>,
}

impl MemtableWriter {
    /// Makes an empty memtable with space for `capacity` bytes of records and their overhead.
    pub(crate) fn create(
        pool: &Arc<ArenaPool>,
        capacity: usize,
        comparator: &Arc<dyn Comparator>,
    ) -> MemtableWriter {
        let compare = {
            let comparator = Arc::clone(comparator);
            Arc::new(move |a: &[u8], b: &[u8]| comparator.compare(a, b))
        };
        let order = match (comparator.bytewise_order(), comparator.bytewise_equality()) {
            (true, _) => KeyOrder::Bytewise,
            (false, true) => KeyOrder::Custom(compare),
            (false, false) => KeyOrder::Spelled(compare),
        };
        let spelled = matches!(order, KeyOrder::Spelled(_));
        let (writer, chains) = Chains::create(pool, capacity, order);
        let memtable = Arc::new(Memtable {
            chains,
            comparator: Arc::clone(comparator),
            range_tombstones: ArcSwapOption::empty(),
            last_range_delete: AtomicU64::new(0),
            range_bytes: AtomicUsize::new(0),
            sealed_through: AtomicU64::new(0),
            released: AtomicBool::new(false),
            unordered: AtomicBool::new(false),
            failure: OnceLock::new(),
            merged_since: AtomicU32::new(NEVER),
            deletes: AtomicU64::new(0),
        });
        MemtableWriter {
            empty_bytes: memtable.bytes(),
            last_delete_range: 0,
            reserved: 0,
            buffers: FoldBuffers::default(),
            spelled,
            on_failure: None,
            writer,
            memtable,
        }
    }

    /// Returns the capacity of a memtable in which a write of `bytes` (see [`bytes_needed`])
    /// certainly has space.
    pub(crate) fn capacity_for(bytes: usize, comparator: &dyn Comparator) -> usize {
        let bytes = match comparator.bytewise_equality() {
            true => bytes,
            false => bytes_with_spellings(bytes),
        };
        bytes + (bytes >> 3)
    }

    /// Calls `tell` with the message of a panic, if the comparator panics while it places a write.
    pub(crate) fn on_failure(&mut self, tell: impl Fn(String) + Send + 'static) {
        self.on_failure = Some(Box::new(tell));
    }

    /// Returns whether records of this size (see [`record_bytes`]) still fit. They must fit into
    /// the available memory. With the index, they must also fit into the write buffer for which the
    /// memtable was made.
    #[inline]
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        let chains = self.writer.chains();
        let bytes = if self.spelled { bytes_with_spellings(bytes) } else { bytes };
        let grown = self.memtable.bytes() - self.empty_bytes;
        chains.fits(bytes) && (grown + bytes <= chains.capacity() || self.memtable.is_empty())
    }

    /// Returns whether records of this size fit into the available memory.
    #[inline]
    pub(crate) fn has_space(&self, bytes: usize) -> bool {
        let bytes = if self.spelled { bytes_with_spellings(bytes) } else { bytes };
        self.writer.chains().fits(bytes)
    }

    /// Returns the bytes of the write buffer that the memtable's writes use, index included.
    #[inline]
    pub(crate) fn grown(&self) -> usize {
        self.memtable.bytes() - self.empty_bytes
    }

    /// Reserves space for a batch of this size. Folds do not use that space. Each write of the
    /// batch takes its part of the reservation.
    #[inline]
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.reserved = bytes;
    }

    /// Applies one write, and folds the records of its key if a fold is due.
    ///
    /// If keys have spellings, the comparator places the write, and may panic. The write is already
    /// logged, so it returns as usual. The memtable then lacks it, and must not be flushed: the log
    /// stays its only copy.
    ///
    /// # Panics
    /// If the write does not fit. The caller must ask [`MemtableWriter::fits`] for the whole batch
    /// first.
    #[inline]
    pub(crate) fn apply(&mut self, operation: &Operation<'_>, seqno: SeqNo, rules: Folding<'_>) {
        self.reserved = self.reserved.saturating_sub(bytes_needed(operation));
        if operation.kind == Kind::DeleteRange {
            return self.delete_range(operation, seqno);
        }
        if self.spelled {
            return self.insert_guarded(operation, seqno, rules);
        }
        self.insert(operation, seqno, rules);
    }

    /// Prefetches what the writes of a group of keys will touch, if the memtable is larger than the
    /// nearer caches. The keys after the first [`FORESEEN`] are passed over.
    pub(crate) fn foresee<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        if self.memtable.chains.bytes_used() < IN_CACHES {
            return;
        }
        let mut hashes = [0; FORESEEN];
        let mut foreseen = 0;
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = key_hash(key);
            foreseen += 1;
        }
        self.memtable.chains.foresee(&hashes[..foreseen]);
    }

    #[inline(never)]
    fn insert_guarded(&mut self, operation: &Operation<'_>, seqno: SeqNo, rules: Folding<'_>) {
        // A panic leaves the memtable whole: the comparator is called before any change.
        if let Err(panic) = guarded(|| self.insert(operation, seqno, rules)) {
            if let Some(tell) = &self.on_failure {
                tell(panic.clone());
            }
            let _first = self.memtable.failure.set(panic);
        }
    }

    /// Inserts a record.
    #[inline(always)]
    fn insert(&mut self, operation: &Operation<'_>, seqno: SeqNo, rules: Folding<'_>) {
        let Operation { kind, operator, key, value, .. } = *operation;
        if operation.stamped && kind == Kind::Merge {
            self.memtable.note_merge(value);
        }
        let hash = key_hash(key);
        let record = NewRecord { seqno, kind: kind as u8, operator, value };
        let floor = match kind {
            Kind::Merge => rules.floor.max(self.last_delete_range),
            Kind::Put | Kind::Separated | Kind::DeleteRange => MAX_SEQNO,
            Kind::Delete => {
                // Relaxed: an estimate. The call that asks for a look raises a flag behind it.
                self.memtable.deletes.fetch_add(1, Ordering::Relaxed);
                MAX_SEQNO
            }
        };
        let fold = FoldOperand { operators: rules.operators, operator, operand: value };
        let inserted = self.writer.insert_or_fold(hash, key, record, floor, fold);
        if let Inserted::Version(records) = inserted.expect("the caller made room") {
            self.fold_due(hash, operation, records, rules.operators);
        }
    }

    #[cold]
    fn delete_range(&mut self, operation: &Operation<'_>, seqno: SeqNo) {
        let memtable = &self.memtable;
        let Some((start, end)) = edges(operation, &*memtable.comparator) else { return };
        let tombstone = RangeTombstone { start, end, seqno };
        let bytes = RANGE_OVERHEAD + tombstone.bytes();
        debug_assert!(seqno > self.last_delete_range, "writes are applied in their order");
        let known = memtable.range_tombstones.load();
        let next = known.as_deref().cloned().unwrap_or_default().with(tombstone);
        // Relaxed: a sum for estimates of memory.
        memtable.range_bytes.fetch_add(bytes, Ordering::Relaxed);
        memtable.range_tombstones.store(Some(Arc::new(next)));
        // Store the number before the write is published, so that a reader that sees the write also
        // sees the number.
        memtable.last_range_delete.store(seqno, Ordering::Release);
        self.last_delete_range = seqno;
        self.writer.note_range_delete(seqno);
    }
}

const _: () = assert!(Kind::Delete as u8 == foldb_chains::DELETED);

/// Estimated bytes that a range tombstone takes in trees and skylines, in addition to its own.
const RANGE_OVERHEAD: usize = 256;

/// Returns the ends of a range delete; `None` if no key can lie between them.
fn edges(operation: &Operation<'_>, comparator: &dyn Comparator) -> Option<(Edge, Edge)> {
    let (start, end) = operation.range();
    let (start, end) = (Edge::at_start(start), Edge::at_end(end));
    // The write is already logged. If the comparator panics only now, it panics again in background
    // work, which reports the panic.
    let is_range = guarded(|| start.compare(comparator, &end).is_lt()).unwrap_or(true);
    is_range.then_some((start, end))
}

/// Returns an upper bound of the bytes that one write uses of a memtable's capacity.
#[inline]
pub(crate) fn bytes_needed(write: &Operation<'_>) -> usize {
    let (key, value) = (write.key.len(), write.value.len());
    match write.kind {
        Kind::DeleteRange => RANGE_OVERHEAD + size_of::<RangeTombstone>() + key + value,
        Kind::Put | Kind::Separated | Kind::Delete | Kind::Merge => {
            foldb_chains::bytes_needed(key, value)
        }
    }
}

impl Memtable {
    /// Notes the moment of an operand with a stamp. Moments do not fall from write to write, except
    /// for writes that were restored or replayed.
    fn note_merge(&self, operand: &[u8]) {
        if let Some((_, stamp)) = Stamp::split(operand) {
            // Release: the write is published behind it, and so is this to its readers.
            self.merged_since.fetch_min(stamp.written, Ordering::AcqRel);
        }
    }

    /// Returns how many single keys were deleted, those counted that were deleted again.
    pub(crate) fn deletes(&self) -> u64 {
        self.deletes.load(Ordering::Relaxed)
    }

    /// Returns the earliest moment of an operand with a stamp.
    pub(crate) fn merged_since(&self) -> Moment {
        self.merged_since.load(Ordering::Acquire)
    }

    /// Visits the records of `key` up to `seqno`, newest first, until `visit` breaks.
    #[inline]
    pub(crate) fn get(
        &self,
        hash: u64,
        key: &[u8],
        seqno: SeqNo,
        mut visit: impl FnMut(RecordHeader, Version<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(node) = self.chains.find(hash, key) else { return ControlFlow::Continue(()) };
        node.versions(seqno).try_for_each(|version| visit(version_header(&version), version))
    }

    /// Returns the value of a version of this memtable: copied if small, else pinned.
    #[inline]
    pub(crate) fn value_of(&self, version: Version<'_>) -> Value {
        Value::of_version(&self.chains, version)
    }

    /// Returns the largest sequence number, at most `seqno`, of a range delete around `key`; 0 for
    /// none.
    #[inline]
    pub(crate) fn cover(&self, key: &[u8], seqno: SeqNo) -> SeqNo {
        let tombstones = self.range_tombstones();
        tombstones.map_or(0, |tombstones| tombstones.cover(&*self.comparator, key, seqno))
    }

    /// Returns a cursor over the records up to `seqno`.
    pub(crate) fn cursor(&self, seqno: SeqNo) -> Cursor {
        self.chains.cursor(seqno)
    }

    /// Returns the deleted ranges, if there are any.
    #[inline]
    pub(crate) fn range_tombstones(&self) -> Option<Arc<RangeTombstones>> {
        if self.last_range_delete.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.range_tombstones.load_full()
    }

    /// Returns the sequence number of the last range delete; 0 if there is none.
    pub(crate) fn last_range_delete(&self) -> SeqNo {
        self.last_range_delete.load(Ordering::Acquire)
    }

    /// Returns a cursor over all records, for a flush that writes the records that each of these
    /// snapshots sees.
    pub(crate) fn cursor_for(&self, snapshots: &[SeqNo]) -> Cursor {
        self.chains.cursor_for(snapshots)
    }

    /// Returns the message of the panic of the comparator that left a write out of the memtable.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Returns whether the memtable holds no write.
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a reader takes its sequence number first, with an Acquire. Writes up to it were
        // counted before it was published. Other callers hold the writer lock, or the memtable is
        // sealed.
        self.chains.records() == 0 && self.last_range_delete.load(Ordering::Relaxed) == 0
    }

    /// Returns how many records the memtable has, without its range deletes.
    pub(crate) fn records(&self) -> u64 {
        self.chains.records()
    }

    /// Returns the bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.chains.bytes_used() + self.range_bytes.load(Ordering::Relaxed)
    }

    /// Notes the memtable's last sequence number. The memtable takes no more writes.
    pub(crate) fn seal(&self, through: SeqNo) {
        let before = self.sealed_through.swap(through, Ordering::AcqRel);
        assert!(before == 0 && through > 0, "a memtable is sealed once, with its last write");
    }

    /// Returns the last sequence number applied before the memtable was sealed.
    pub(crate) fn sealed_through(&self) -> SeqNo {
        self.sealed_through.load(Ordering::Acquire)
    }

    /// Notes that the memtable was flushed or discarded. From now on only readers need it.
    pub(crate) fn release(&self) {
        self.released.store(true, Ordering::Release);
    }

    /// Notes that a replayed memtable takes writes again.
    pub(crate) fn resume(&self) {
        self.released.store(false, Ordering::Release);
    }

    /// Returns whether [`Memtable::advance_order`] has work to do.
    pub(crate) fn wants_order(&self) -> bool {
        self.chains.wants_order() && !self.unordered.load(Ordering::Relaxed)
    }

    /// Sorts some of the keys while the memtable is filled. Returns whether enough keys were new to
    /// make the work worthwhile.
    pub(crate) fn advance_order(&self) -> bool {
        self.wants_order() && self.chains.advance_order()
    }

    /// Leaves the sorting to the calls that need the order.
    pub(crate) fn leave_unordered(&self) {
        // Relaxed: a hint. A worker that misses it sorts once in vain.
        self.unordered.store(true, Ordering::Relaxed);
    }

    /// Sorts all keys in one call, before a flush.
    pub(crate) fn order_all(&self) {
        self.chains.order_all();
    }
}

/// Returns the header of the record under a cursor.
#[inline]
pub(crate) fn header(cursor: &Cursor) -> RecordHeader {
    version_header(&cursor.version())
}

/// Returns the value under a cursor: copied if small, else pinned.
#[inline]
pub(crate) fn pinned_value(cursor: &Cursor) -> Value {
    Value::of_version(cursor.chains(), cursor.version())
}

/// Returns the header of a version.
#[inline]
pub(crate) fn version_header(version: &Version<'_>) -> RecordHeader {
    let kind = Kind::from_u8(version.kind).expect("the memtable holds what was applied");
    RecordHeader { seqno: version.seqno, kind, operator: version.operator }
}

/// Returns the versions up to `seqno` of the key under a cursor, newest first.
#[inline]
pub(crate) fn versions(cursor: &Cursor, seqno: SeqNo) -> impl Iterator<Item = Version<'_>> {
    cursor.versions().skip_while(move |version| version.seqno > seqno)
}

/// Pushes these versions onto a chain, down to the base.
pub(crate) fn collect_under(cursor: &Cursor, seqno: SeqNo, chain: &mut Chain) {
    for version in versions(cursor, seqno) {
        if !chain.push(version_header(&version), Value::of_version(cursor.chains(), version)) {
            return;
        }
    }
}

impl WriteBuffer for Memtable {
    fn is_active(&self) -> bool {
        self.sealed_through() == 0 && !self.released.load(Ordering::Acquire)
    }

    fn is_waiting(&self) -> bool {
        self.sealed_through() > 0 && !self.released.load(Ordering::Acquire)
    }

    fn is_empty(&self) -> bool {
        Memtable::is_empty(self)
    }

    fn chains(&self) -> &Arc<Chains> {
        &self.chains
    }

    fn bytes_beside_chains(&self) -> usize {
        self.range_bytes.load(Ordering::Relaxed)
    }
}
