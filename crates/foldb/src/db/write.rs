//! Writing: make room, log, apply, publish.
//!
//! A write is logged before it is applied and applied before it is published, all under the writer
//! lock; who asked for a sync waits for it after the lock is released, so that nobody else does.

use std::ops::RangeBounds;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::batch::{Operation, WriteBatch, check_range, encode_range};
use crate::db::buffers::{Buffers, Needs, SealedGroup};
use crate::db::core::Core;
use crate::db::keyspace::{KeyspaceState, dropped};
use crate::error::{Error, Result};
use crate::events::StallReason;
use crate::faults::{Fault, planted};
use crate::fold::{CachedResolver, Operator};
use crate::key::{DEFAULT_KEYSPACE, KeyspaceId, Kind, NO_OPERATOR, OperatorId, SeqNo};
use crate::memtable::{Folding, Memtable, record_bytes};
use crate::options::WriteOptions;
use crate::runtime::Balance;
use crate::totals::Total;
use crate::wal::{BatchHeader, LogWriter};

/// What the one who writes has in hand.
pub(crate) struct WriterState {
    pub(crate) buffers: Buffers,
    pub(crate) log: LogWriter,
    /// Whether the log holds a batch.
    pub(crate) log_used: bool,
    /// Whether the memtables hold writes that are in no log.
    pub(crate) unlogged: bool,
    /// Bytes applied since memory and debt were last looked at.
    since_look: u64,
    /// Bytes applied since writes were last slowed.
    since_pause: u64,
    operators: CachedResolver,
}

impl WriterState {
    pub(crate) fn new(buffers: Buffers, log: LogWriter, operators: CachedResolver) -> WriterState {
        let (log_used, unlogged, since_look, since_pause) = (false, false, 0, 0);
        WriterState { buffers, log, log_used, unlogged, since_look, since_pause, operators }
    }
}

/// What is written: one operation or a batch of them.
#[derive(Clone, Copy)]
enum Writes<'a> {
    One(&'a KeyspaceState, Operation<'a>),
    Batch(&'a WriteBatch),
}

impl Writes<'_> {
    fn count(&self) -> usize {
        match self {
            Writes::One(..) => 1,
            Writes::Batch(batch) => batch.len(),
        }
    }

    /// Upper bound of what the writes take of memtables, if all go to one keyspace.
    #[inline(always)]
    fn need(&self) -> Option<(KeyspaceId, usize)> {
        let bytes =
            |operation: &Operation<'_>| record_bytes(operation.key.len(), operation.value.len());
        match self {
            Writes::One(_, operation) => Some((operation.keyspace, bytes(operation))),
            Writes::Batch(batch) if !batch.names_keyspaces() => {
                let bytes = batch.operations().map(|operation| bytes(&operation)).sum();
                Some((DEFAULT_KEYSPACE, bytes))
            }
            Writes::Batch(_) => None,
        }
    }

    /// The same, keyspace by keyspace.
    fn needs(&self) -> Needs {
        if let Some(need) = self.need() {
            return Needs::from_elem(need, 1);
        }
        let Writes::Batch(batch) = self else { return Needs::new() };
        let mut needs = Needs::new();
        for operation in batch.operations() {
            let bytes = record_bytes(operation.key.len(), operation.value.len());
            match needs.binary_search_by_key(&operation.keyspace, |need| need.0) {
                Ok(at) => needs[at].1 += bytes,
                Err(at) => needs.insert(at, (operation.keyspace, bytes)),
            }
        }
        needs
    }
}

impl Core {
    pub(crate) fn delete_range<K: AsRef<[u8]>>(
        &self,
        keyspace: &KeyspaceState,
        range: &impl RangeBounds<K>,
        options: &WriteOptions,
    ) -> Result<()> {
        let mut value = Vec::new();
        let start = encode_range(range, &mut value);
        if check_range(&*keyspace.comparator, range)? {
            return self.write_one(
                keyspace,
                (Kind::DeleteRange, NO_OPERATOR),
                start,
                &value,
                options,
            );
        }
        // Nothing to write, but who asked for a sync has earlier writes in mind too.
        keyspace.check_exists()?;
        if options.sync { self.sync() } else { self.check_writable() }
    }

    /// Merges into a keyspace, with a given operator or its default one.
    pub(crate) fn merge(
        &self,
        keyspace: &KeyspaceState,
        operator: Option<&Operator>,
        key: &[u8],
        operand: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        let operator = match operator {
            Some(operator) if !operator.belongs_to(&self.registry) => {
                return Err(Error::invalid_argument("the operator is of another database"));
            }
            Some(operator) => operator,
            None => keyspace.default_operator()?,
        };
        operator.check_operand(operand)?;
        self.write_one(keyspace, (Kind::Merge, operator.id), key, operand, options)
    }

    pub(crate) fn write_one(
        &self,
        keyspace: &KeyspaceState,
        (kind, operator): (Kind, OperatorId),
        key: &[u8],
        value: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        check_size(key, value)?;
        let operation = Operation { kind, keyspace: keyspace.id, operator, key, value };
        self.commit(Writes::One(keyspace, operation), NO_OPERATOR, options)
    }

    pub(crate) fn write(&self, batch: &WriteBatch, options: &WriteOptions) -> Result<()> {
        batch.check(&self.registry)?;
        for operation in batch.operations() {
            check_size(operation.key, operation.value)?;
            // Of the others each was checked when it was added: their orders are their own.
            if operation.kind == Kind::DeleteRange && operation.keyspace == DEFAULT_KEYSPACE {
                check_range::<&[u8]>(&*self.default.comparator, &operation.range())?;
            }
            if operation.kind == Kind::Merge && operation.operator == NO_OPERATOR {
                self.default.default_operator()?.check_operand(operation.value)?;
            }
        }
        let default = self.default.default_operator.as_ref();
        let default = default.map_or(NO_OPERATOR, |operator| operator.id);
        if batch.is_empty() {
            return self.check_writable();
        }
        self.commit(Writes::Batch(batch), default, options)
    }

    fn commit(
        &self,
        writes: Writes<'_>,
        default: OperatorId,
        options: &WriteOptions,
    ) -> Result<()> {
        let mut writer = self.lock_writer();
        self.check_writable()?;
        self.make_room(&mut writer, writes)?;
        let first = self.pins.published() + 1;
        let last = first + writes.count() as SeqNo - 1;
        if options.disable_wal {
            writer.unlogged = true;
        } else {
            self.log(&mut writer, writes, default, first)?;
        }
        if planted(Fault::PublishBeforeApply) {
            self.pins.publish(last);
            // Long enough for a reader on another thread to come by.
            self.options.env.clock.sleep(Duration::from_millis(1));
        }
        self.apply_and_publish(&mut writer, writes, default, first);
        if !options.sync || options.disable_wal {
            return Ok(());
        }
        let (sync, frame) = (Arc::clone(writer.log.sync_handle()), writer.log.frames());
        drop(writer);
        sync.sync_through(frame).inspect_err(|error| self.poison(error))
    }

    fn log(
        &self,
        writer: &mut WriterState,
        writes: Writes<'_>,
        default_operator: OperatorId,
        first_seqno: SeqNo,
    ) -> Result<()> {
        let count = u32::try_from(writes.count())
            .map_err(|_| Error::invalid_argument("a batch holds at most 2^32 - 1 writes"))?;
        let before = writer.log.len();
        let record = writer.log.begin();
        BatchHeader { default_operator, first_seqno, count }.encode(record);
        match writes {
            Writes::One(_, operation) => operation.encode(record),
            Writes::Batch(batch) => record.extend_from_slice(batch.encoded()),
        }
        writer.log.append()?;
        writer.log_used = true;
        self.totals.add_exclusive(Total::BytesLog, writer.log.len() - before);
        Ok(())
    }

    fn apply_and_publish(
        &self,
        writer: &mut WriterState,
        writes: Writes<'_>,
        default: OperatorId,
        first: SeqNo,
    ) {
        let WriterState { buffers, operators, since_look, .. } = writer;
        let operators = &**operators.load();
        match writes {
            Writes::One(_, operation) => {
                let phase = self.pins.begin_apply();
                let mut floor = phase.floor().unwrap_or(first);
                if planted(Fault::FoldInPlaceUnderSnapshot) {
                    floor = 0;
                }
                let folding = Folding { floor, operators };
                *since_look += self.apply_one(buffers, &operation, first, folding);
                self.pins.publish(first);
            }
            Writes::Batch(batch) => {
                // Half of a batch must not show: in place it changes only what is its own.
                let folding = Folding { floor: first - 1, operators };
                for (mut operation, seqno) in batch.operations().zip(first..) {
                    if operation.kind == Kind::Merge && operation.operator == NO_OPERATOR {
                        operation.operator = default;
                    }
                    *since_look += self.apply_one(buffers, &operation, seqno, folding);
                }
                self.pins.publish(first + batch.len() as SeqNo - 1);
            }
        }
    }

    /// Answers how many bytes that were.
    #[inline]
    fn apply_one(
        &self,
        buffers: &mut Buffers,
        operation: &Operation<'_>,
        seqno: SeqNo,
        folding: Folding<'_>,
    ) -> u64 {
        buffers.apply(operation, seqno, folding);
        let counted = match operation.kind {
            Kind::Put => Total::Puts,
            Kind::Delete => Total::Deletes,
            Kind::Merge => Total::Merges,
            Kind::DeleteRange => Total::RangeDeletes,
        };
        let bytes = (operation.key.len() + operation.value.len()) as u64;
        self.totals.add_exclusive(counted, 1);
        self.totals.add_exclusive(Total::BytesUser, bytes);
        bytes
    }

    /// Waits, seals or begins memtables until the writes fit.
    #[inline]
    fn make_room(&self, writer: &mut WriterState, writes: Writes<'_>) -> Result<()> {
        if writer.since_look >= self.look_every() {
            self.look(writer)?;
        }
        if let Some((keyspace, bytes)) = writes.need()
            && writer.buffers.is_ready(keyspace, bytes)
            && !self.log_is_long(writer)
        {
            if let Writes::Batch(_) = writes {
                writer.buffers.reserve(keyspace, bytes);
            }
            return Ok(());
        }
        self.make_room_for(writer, writes)
    }

    /// Bytes between two looks at memory and debt. Where several databases share memory each of them
    /// says often what it has taken; the looking itself they do in turns.
    #[inline]
    fn look_every(&self) -> u64 {
        if self.options.runtime.is_some() { SHARED_LOOK_BYTES } else { PAUSE_BYTES }
    }

    #[cold]
    fn look(&self, writer: &mut WriterState) -> Result<()> {
        let bytes = std::mem::take(&mut writer.since_look);
        writer.since_pause += bytes;
        if writer.since_pause >= PAUSE_BYTES {
            writer.since_pause = 0;
            self.pace(&writer.buffers)?;
        }
        if self.runtime.ledger().wrote(bytes) {
            self.balance_memory(writer)?;
        }
        Ok(())
    }

    #[cold]
    fn make_room_for(&self, writer: &mut WriterState, writes: Writes<'_>) -> Result<()> {
        let needs = writes.needs();
        let missing = needs.iter().find(|(keyspace, _)| !writer.buffers.contains(*keyspace));
        if let Some(&(keyspace, _)) = missing {
            return Err(dropped(match writes {
                Writes::One(keyspace, _) => &keyspace.name,
                Writes::Batch(batch) => batch.keyspace_name(keyspace),
            }));
        }
        self.balance_memory(writer)?;
        let is_full = !writer.buffers.admits(&needs) && !writer.buffers.is_empty();
        // A log whose writes were all to keyspaces dropped since must end too.
        let is_used = writer.log_used || !writer.buffers.is_empty();
        if is_full || is_used && self.log_is_long(writer) {
            self.wait_for_buffer(&writer.buffers)?;
            self.seal(writer)?;
        }
        let runtime = &self.runtime;
        let track = |memtable: &Arc<Memtable>| runtime.track(self.member, memtable);
        writer.buffers.begin(&needs, &runtime.ledger().arenas, track);
        needs.iter().for_each(|&(keyspace, bytes)| writer.buffers.reserve(keyspace, bytes));
        Ok(())
    }

    fn log_is_long(&self, writer: &WriterState) -> bool {
        let limit = self.options.wal_limit();
        let active = writer.log.len();
        active > limit / 4 && active + self.background.sealed_log_bytes() > limit
    }

    /// Seals all memtables that hold something, together, and begins a new log.
    pub(crate) fn seal(&self, writer: &mut WriterState) -> Result<()> {
        let mut log_bytes = 0;
        if writer.log_used {
            log_bytes = writer.log.len();
            let next = self.next_log(&writer.log)?;
            std::mem::replace(&mut writer.log, next).sync_handle().rest();
            writer.log_used = false;
        }
        let through = self.published();
        let memtables = writer.buffers.seal(through);
        let unlogged = std::mem::take(&mut writer.unlogged);
        let next_log = writer.log.number();
        self.sealed.push(SealedGroup { through, log_bytes, next_log, unlogged, memtables });
        self.background.memtables_sealed(log_bytes);
        self.wake();
        Ok(())
    }

    /// A new log behind `last`, with the operator definitions its records may need.
    fn next_log(&self, last: &LogWriter) -> Result<LogWriter> {
        let number = self.new_file_number();
        let path = self.names.log(number);
        let fs = &self.options.env.fs;
        let mut log = LogWriter::create(fs, &path, number, self.database, Some(last))?;
        self.define_operators(&mut log)?;
        self.note_log(&log);
        self.totals.add_exclusive(Total::BytesLog, log.len());
        Ok(log)
    }

    /// Keeps a new log until its writes are in tables.
    pub(crate) fn note_log(&self, log: &LogWriter) {
        let entry = (log.number(), Some(Arc::clone(log.sync_handle())));
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    /// Slows the writer as compaction falls behind, so that it never has to stop at once: from the
    /// slowdown trigger on, each stretch of writes waits longer, without bound near the stop.
    fn pace(&self, buffers: &Buffers) -> Result<()> {
        let runs = buffers.deepest_level0();
        let (slow, stop) = (self.options.level0_slowdown_trigger, self.options.level0_stop_trigger);
        if runs < slow || self.options.disable_auto_compactions || !self.has_workers() {
            return Ok(());
        }
        let left = stop.saturating_sub(runs).max(1) as u32;
        let over = (runs - slow + 1) as u32;
        let pause = (PAUSE_STEP * over / left).min(LONGEST_PAUSE);
        self.options.env.clock.sleep(pause);
        self.note_stall(StallReason::CompactionDebt, pause);
        Ok(())
    }

    /// Does what memory asks for: seals where this database fills most of what several may fill, asks
    /// another one to, and waits a little while memtables take more than they may.
    fn balance_memory(&self, writer: &mut WriterState) -> Result<()> {
        let Balance { seal, is_over } = self.runtime.balance();
        match seal {
            Some(member) if member == self.member => self.seal_for_memory(writer)?,
            Some(member) => self.runtime.workers().request_seal(member),
            None => {}
        }
        if is_over && self.has_workers() {
            self.options.env.clock.sleep(MEMORY_PAUSE);
            self.note_stall(StallReason::Memory, MEMORY_PAUSE);
        }
        Ok(())
    }

    /// Seals what is being filled, unless the writer would have to wait for that, and has it flushed.
    pub(crate) fn seal_for_memory(&self, writer: &mut WriterState) -> Result<()> {
        let may_seal = self.sealed.len() + 1 < self.options.max_write_buffers();
        if may_seal && !writer.buffers.is_empty() {
            self.seal(writer)?;
        }
        self.background.flush_soon();
        self.wake();
        Ok(())
    }

    /// Makes all writes so far durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.check_writable()?;
        let (sync, frame) = {
            let writer = self.lock_writer();
            (Arc::clone(writer.log.sync_handle()), writer.log.frames())
        };
        sync.sync_through(frame).inspect_err(|error| self.poison(error))
    }
}

/// Longest key and longest value, in bytes.
const MAX_LEN: usize = 1 << 30;
/// Bytes written between two looks at whether to pause.
const PAUSE_BYTES: u64 = 64 << 10;
/// Bytes written by one of several databases until it says so.
const SHARED_LOOK_BYTES: u64 = 4 << 10;
/// Pause after each [`PAUSE_BYTES`] when one run is over the slowdown trigger and one is left.
const PAUSE_STEP: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// Pause at each look while memtables of all databases take more than they may.
const MEMORY_PAUSE: Duration = Duration::from_millis(10);

/// Refuses what no table could hold.
#[inline]
fn check_size(key: &[u8], value: &[u8]) -> Result<()> {
    if key.len().max(value.len()) > MAX_LEN {
        return Err(Error::invalid_argument(format!(
            "a key or value may have {MAX_LEN} bytes at most, not {}",
            key.len().max(value.len())
        )));
    }
    Ok(())
}
