//! The commit of a write: make room, log, apply, publish.
//!
//! A write is logged before it is applied, and applied before it is published, all under the writer
//! lock. A synced write waits for its sync after it has released the lock. A write without room
//! waits before it takes the lock again ([`crate::db::throttle::room`]). So no thread waits while
//! it holds the lock. The exception is [`crate::Options::visible_when_durable`]: then it syncs
//! between log and application, so that no reader sees what may not survive. Threads that write
//! without pause alternate in time slices of 0.7 milliseconds, so that the lock does not bounce
//! between them ([`crate::db::state::writer_lock`], H15).

use std::sync::Arc;
use std::time::Duration;

use foldb_env::scheduling_point;

use crate::counters::{Total, is_sampled};
use crate::db::batch::WriteBatch;
use crate::db::batch::writes::Writes;
use crate::db::core::Core;
use crate::db::state::buffers::Buffers;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::patience::Patience;
use crate::db::state::recent_writes::RecentWrites;
use crate::db::state::writer::WriterState;
use crate::db::state::writer_lock::WriterGuard;
use crate::db::throttle::room::begin_log_after_close;
use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::fold::Operator;
use crate::key::{
    DEFAULT_KEYSPACE, KeyBounds, KeyspaceId, Kind, MAX_SEQNO, NO_OPERATOR, OperatorId, SeqNo,
};
use crate::limits;
use crate::memtable::{FORESEEN, Folding};
use crate::operation::{Operation, check_range, encode_range};
use crate::options::WriteOptions;
use crate::stats::Call;
use crate::wal::{BatchHeader, LogMark, LogSync, is_one_frame, is_separable};

/// Appends a record in which large values have the format of a value segment, and notes their
/// positions.
#[inline(never)]
fn append_separable(
    writer: &mut WriterState,
    writes: Writes<'_>,
    header: &BatchHeader,
) -> Result<()> {
    let WriterState { buffers, log, separable, .. } = writer;
    separable.begin_write();
    let place = (log.number(), log.len());
    let frame = log.begin();
    header.encode(frame);
    match writes {
        Writes::One(_, operation) => separable.put(frame, operation, header.first_seqno, place),
        Writes::Batch(batch) => {
            for (operation, seqno) in batch.operations().zip(header.first_seqno..) {
                let Operation { kind, keyspace, key, value, .. } = operation;
                if kind == Kind::Put
                    && value.len() >= buffers.separable_from(keyspace)
                    && is_separable(key.len(), value.len())
                {
                    separable.put(frame, &operation, seqno, place);
                } else {
                    operation.encode(frame);
                }
            }
        }
    }
    if !is_one_frame(frame) {
        // A record of several frames would have frame headers inside its values.
        separable.forget_write();
        let frame = log.begin();
        header.encode(frame);
        writes.encode(frame);
    }
    debug_assert_eq!(place, (log.number(), log.len()), "values lie where their positions say");
    log.append_unsettled().inspect_err(|_| separable.forget_write())?;
    log.sync_handle().note_memory(separable.memory_bytes());
    Ok(())
}

/// A write between its log record and its publication. If a panic drops this value, it removes the
/// log record and poisons the database, because the next write would get the same sequence number.
struct Unpublished<'a> {
    core: &'a Core,
    mark: LogMark,
    writer: &'a mut WriterState,
}

impl Drop for Unpublished<'_> {
    fn drop(&mut self) {
        if planted(Fault::AskGrowthLate) {
            return;
        }
        self.core.standing.poison(&Error::new(
            ErrorKind::Poisoned,
            "a write panicked half-way, so the memtables may be wrong; reopen the database",
        ));
        // If the record cannot be removed, the next open replays it. The write was never
        // acknowledged.
        let _best_effort = self.take_back();
    }
}

impl Unpublished<'_> {
    /// Removes the log record.
    ///
    /// # Errors
    /// As [`LogWriter::retract`](crate::wal::LogWriter::retract).
    fn take_back(&mut self) -> Result<()> {
        self.writer.separable.take_back(self.core.published() + 1);
        self.writer.log.retract(self.mark)
    }
}

#[inline(never)]
fn commit_timed(
    core: &Core,
    writes: Writes<'_>,
    default: OperatorId,
    options: &WriteOptions,
    allow: impl FnOnce(&WriterState) -> Result<()>,
) -> Result<()> {
    let call = if options.sync { Call::SyncedWrite } else { Call::Write };
    let commit = || commit_untimed(core, writes, default, options, allow);
    let (committed, took) = core.totals.calls.measure(call, commit);
    if let (Some(recorder), Writes::One(keyspace, operation)) = (&core.recorder, writes) {
        let bytes = operation.key.len() + operation.value.len();
        recorder.called(&keyspace.name, operation.key, took, bytes);
    }
    committed
}

#[inline(always)]
fn commit_untimed(
    core: &Core,
    writes: Writes<'_>,
    default: OperatorId,
    options: &WriteOptions,
    allow: impl FnOnce(&WriterState) -> Result<()>,
) -> Result<()> {
    options.check()?;
    if let Writes::Batch(batch) = writes
        && batch.has_pending_stamps()
    {
        return core.commit_stamped(batch.clone(), default, options, allow);
    }
    let patience = Patience::of(options, &*core.options.env.clock);
    let mut writer = core.writer_with_room(writes, patience)?;
    // A transaction may have read what expires, so it has a moment even without stamps.
    let may_have_read = matches!(writes, Writes::Batch(_)) && core.time.is_used();
    let moment = may_have_read.then(|| core.time.begin_write());
    allow(&writer)?;
    let written = core.write_locked(&mut writer, writes, default, options);
    drop(moment);
    written?;
    core.sync_as_asked(writer, options)
}

impl Core {
    pub(crate) fn delete_range(
        &self,
        keyspace: &KeyspaceState,
        range: KeyBounds<'_>,
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
        keyspace.check_exists()?;
        self.write_nothing(options)
    }

    /// Merges into a keyspace with the given operator or its default one.
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
                return Err(Error::invalid_argument("the operator belongs to another database"));
            }
            Some(operator) => operator,
            None => keyspace.default_operator()?,
        };
        operator.check_operand(operand)?;
        let id = self.stored_operator(keyspace, operator)?;
        self.write_one(keyspace, (Kind::Merge, id), key, operand, options)
    }

    /// Writes one operation. It is part of each caller, which knows the kind: that saves 24
    /// instructions of about 900.
    #[inline(always)]
    pub(crate) fn write_one(
        &self,
        keyspace: &KeyspaceState,
        (kind, operator): (Kind, OperatorId),
        key: &[u8],
        value: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        self.write_one_if(keyspace, (kind, operator), key, value, options, |_| Ok(()))
    }

    /// Writes one operation if `allow` allows it, as [`Core::write_if`] writes a batch.
    ///
    /// # Errors
    /// The error of `allow`, and nothing was written; as [`Core::write_one`].
    #[inline(always)]
    pub(crate) fn write_one_if(
        &self,
        keyspace: &KeyspaceState,
        (kind, operator): (Kind, OperatorId),
        key: &[u8],
        value: &[u8],
        options: &WriteOptions,
        allow: impl FnOnce(&WriterState) -> Result<()>,
    ) -> Result<()> {
        if keyspace.stamps || options.expires.is_some() {
            return self.write_one_stamped(keyspace, (kind, operator), key, value, options, allow);
        }
        let stamped = false;
        let operation = Operation { kind, keyspace: keyspace.id, operator, key, value, stamped };
        operation.check_limits()?;
        match kind {
            // `check_range` has already compared the ends of the range.
            Kind::DeleteRange => keyspace.check_comparator()?,
            _ => keyspace.check_key_to_write(key)?,
        }
        self.commit(Writes::One(keyspace, &operation), NO_OPERATOR, options, allow)
    }

    /// Writes one operation to a keyspace with expiry.
    #[cold]
    fn write_one_stamped(
        &self,
        keyspace: &KeyspaceState,
        (kind, operator): (Kind, OperatorId),
        key: &[u8],
        value: &[u8],
        options: &WriteOptions,
        allow: impl FnOnce(&WriterState) -> Result<()>,
    ) -> Result<()> {
        let mut batch = WriteBatch::new();
        if kind.may_expire() {
            batch.set_expires(options.expires);
        }
        match kind {
            Kind::DeleteRange => batch.add_range_delete(keyspace, key, value),
            _ => batch.add_in(keyspace, (kind, operator), key, value),
        };
        let options = WriteOptions { expires: None, ..*options };
        if !batch.has_pending_stamps() {
            return self.write_if(&batch, &options, allow);
        }
        self.check_batch(&batch)?;
        self.commit_stamped(batch, NO_OPERATOR, &options, allow)
    }

    pub(crate) fn write(&self, batch: &WriteBatch, options: &WriteOptions) -> Result<()> {
        self.write_if(batch, options, |_| Ok(()))
    }

    /// Writes a batch if `allow` allows it. The writer lock is held from that call until the batch
    /// is published, so nothing else is written in between.
    ///
    /// # Errors
    /// The error of `allow`, and nothing was written; as [`Core::write`].
    pub(crate) fn write_if(
        &self,
        batch: &WriteBatch,
        options: &WriteOptions,
        allow: impl FnOnce(&WriterState) -> Result<()>,
    ) -> Result<()> {
        if options.expires.is_some() {
            return Err(Error::invalid_argument(
                "WriteOptions::expires is for single writes; call WriteBatch::set_expires instead",
            ));
        }
        self.check_batch(batch)?;
        let default = self.keyspaces.default().merge_operator();
        let default = default.map_or(NO_OPERATOR, |operator| operator.id);
        if batch.is_empty() {
            return self.write_nothing(options);
        }
        // Where entries expire, a transaction needs the moment that only batches get.
        if batch.len() == 1
            && !self.time.is_used()
            && let Some(mut only) = batch.operations().next()
            && let Some(keyspace) = self.keyspace_of(batch, only.keyspace)
        {
            // A merge alone may fold into the newest record. Merges of a batch may not.
            if only.kind == Kind::Merge && only.operator == NO_OPERATOR {
                only.operator = default;
            }
            let Operation { kind, operator, key, value, .. } = only;
            return self.write_one_if(&keyspace, (kind, operator), key, value, options, allow);
        }
        self.commit(Writes::Batch(batch), default, options, allow)
    }

    /// Checks what a batch holds before it is written.
    fn check_batch(&self, batch: &WriteBatch) -> Result<()> {
        batch.check(&self.registry)?;
        limits::check_batch(batch.memtable_bytes(), self.settings.write_buffers.size)?;
        for operation in batch.operations() {
            operation.check_limits()?;
            // Keys of other keyspaces were checked when they were added to the batch.
            if operation.keyspace == DEFAULT_KEYSPACE {
                match operation.kind {
                    Kind::DeleteRange => {
                        check_range(&*self.keyspaces.default().comparator, operation.range())?;
                    }
                    _ => self.keyspaces.default().check_key_to_write(operation.key)?,
                }
            }
            if operation.kind == Kind::Merge && operation.operator == NO_OPERATOR {
                self.keyspaces.default().default_operator()?.check_operand(operation.value)?;
            }
        }
        Ok(())
    }

    /// Returns a keyspace that a batch names, unless it was dropped.
    fn keyspace_of(&self, batch: &WriteBatch, id: KeyspaceId) -> Option<Arc<KeyspaceState>> {
        if id == DEFAULT_KEYSPACE {
            return Some(Arc::clone(self.keyspaces.default()));
        }
        self.keyspaces.find(batch.keyspace_name(id)).filter(|keyspace| keyspace.id == id)
    }

    /// Handles a write without operations. If it asks for a sync, it makes earlier writes durable.
    fn write_nothing(&self, options: &WriteOptions) -> Result<()> {
        options.check()?;
        let syncs = options.sync && !planted(Fault::EmptySyncSyncsNothing);
        if syncs { self.sync() } else { self.check_writable() }
    }

    /// Commits writes. Times some calls, and all that sync.
    #[inline(always)]
    fn commit(
        &self,
        writes: Writes<'_>,
        default: OperatorId,
        options: &WriteOptions,
        allow: impl FnOnce(&WriterState) -> Result<()>,
    ) -> Result<()> {
        if options.sync || is_sampled() {
            return commit_timed(self, writes, default, options, allow);
        }
        commit_untimed(self, writes, default, options, allow)
    }

    /// Commits a batch whose writes get their moment now.
    #[cold]
    fn commit_stamped(
        &self,
        mut batch: WriteBatch,
        default: OperatorId,
        options: &WriteOptions,
        allow: impl FnOnce(&WriterState) -> Result<()>,
    ) -> Result<()> {
        options.check()?;
        self.standing.check_process()?;
        // Stores a new second before the lock is taken.
        self.time();
        let patience = Patience::of(options, &*self.options.env.clock);
        let mut writer = self.writer_with_room(Writes::Batch(&batch), patience)?;
        let moment = self.time.begin_write();
        allow(&writer)?;
        batch.resolve_stamps(moment.commit_time(&*self.options.env.clock));
        let written = self.write_locked(&mut writer, Writes::Batch(&batch), default, options);
        drop(moment);
        written?;
        self.sync_as_asked(writer, options)
    }

    /// Logs, applies and publishes writes.
    #[inline(always)]
    fn write_locked(
        &self,
        writer: &mut WriterState,
        writes: Writes<'_>,
        default: OperatorId,
        options: &WriteOptions,
    ) -> Result<()> {
        let first = self.pins.published() + 1;
        let last = first + writes.count() as SeqNo - 1;
        #[cfg(all(debug_assertions, feature = "internals"))]
        {
            crate::numbering::note(first, last);
            writes.first_key().into_iter().for_each(crate::numbering::note_key);
        }
        debug_assert!(
            first <= last && last <= MAX_SEQNO,
            "a write has at least one sequence number"
        );
        let mut unpublished = Unpublished { core: self, mark: writer.log.mark(), writer };
        let logged = if options.disable_wal {
            unpublished.writer.unlogged = true;
            Ok(())
        } else {
            match self.log(&mut unpublished, writes, default, first) {
                Ok(()) if !options.sync => Ok(()),
                logged => self.end_logging(logged, &mut unpublished, writes, default, options),
            }
        };
        if logged.is_ok() {
            assert!(!planted(Fault::PanicBehindLog), "planted");
            if planted(Fault::PublishBeforeApply) {
                self.pins.publish(last);
                // Long enough for a reader on another thread to see the write too early.
                self.options.env.clock.sleep(Duration::from_millis(1));
            }
            scheduling_point();
            self.apply_and_publish(unpublished.writer, writes, default, first);
            debug_assert_eq!(self.published(), last, "the whole write is visible at one moment");
            scheduling_point();
            unpublished.writer.log.settle();
            if let Some(feed) = &self.feed {
                let log = &unpublished.writer.log;
                feed.news.settled(|| log.sync_handle().synced() >= log.frames());
            }
        }
        // No panic: the write is published.
        std::mem::forget(unpublished);
        logged
    }

    /// Syncs what was logged before it is applied, if nothing may be visible before it is durable.
    /// Writers wait meanwhile, because a later write must not become visible first. If the sync
    /// fails, removes the record: the next write gets its sequence numbers, in a new log.
    fn sync_before_publication(&self, unpublished: &mut Unpublished<'_>) -> Result<()> {
        if !self.settings.visible_when_durable {
            return Ok(());
        }
        let log = &unpublished.writer.log;
        let (sync, frame) = (Arc::clone(log.sync_handle()), log.frames());
        self.sync_through(&sync, frame).inspect_err(|_| {
            // If this fails too, the log takes no further record before it has succeeded.
            let _tried_again = unpublished.take_back();
        })
    }

    /// Releases the writer lock, and waits for the sync of what was written, if the caller asked
    /// for it.
    #[inline]
    fn sync_as_asked(
        &self,
        writer: WriterGuard<'_, WriterState>,
        options: &WriteOptions,
    ) -> Result<()> {
        // A write that may be visible only when it is durable was synced before it was applied.
        if !options.sync || self.settings.visible_when_durable {
            return Ok(());
        }
        self.sync_written(writer)
    }

    /// Releases the writer lock, and makes durable what was written.
    #[inline(never)]
    fn sync_written(&self, writer: WriterGuard<'_, WriterState>) -> Result<()> {
        let (sync, frame) = (Arc::clone(writer.log.sync_handle()), writer.log.frames());
        drop(writer);
        self.sync_through(&sync, frame)
    }

    fn log(
        &self,
        unpublished: &mut Unpublished<'_>,
        writes: Writes<'_>,
        default_operator: OperatorId,
        first_seqno: SeqNo,
    ) -> Result<()> {
        let count = u32::try_from(writes.count())
            .map_err(|_| Error::invalid_argument("a batch holds at most 2^32 - 1 writes"))?;
        let Unpublished { mark, writer, .. } = unpublished;
        if writer.log.is_closed() {
            begin_log_after_close(self, writer)?;
            *mark = writer.log.mark();
        }
        if writer.owed.is_some() {
            // A reader must learn of a keyspace before a write that names it. It still learns of it
            // if the write is taken back.
            self.append_owed(writer)?;
            *mark = writer.log.mark();
        }
        debug_assert!(
            writer.log.takes_records(),
            "no record follows one that was taken back (H28)"
        );
        let before = writer.log.len();
        let frames = writer.log.frames();
        let header = BatchHeader { default_operator, first_seqno, count };
        if writes.may_be_separable(&writer.buffers) {
            append_separable(writer, writes, &header)?;
        } else {
            let record = writer.log.begin();
            header.encode(record);
            writes.encode(record);
            writer.log.append_unsettled()?;
        }
        debug_assert!(writer.log.frames() > frames, "a write is acknowledged when the log has it");
        writer.log_used = true;
        self.totals.add_exclusive(Total::BytesLog, writer.log.len() - before);
        Ok(())
    }

    /// Ends the logging of a synced write, or of deletes that a full disk refused: they are logged
    /// again, in the space of the reserve.
    #[inline(never)]
    fn end_logging(
        &self,
        logged: Result<()>,
        unpublished: &mut Unpublished<'_>,
        writes: Writes<'_>,
        default: OperatorId,
        options: &WriteOptions,
    ) -> Result<()> {
        if let Err(error) = logged {
            self.retry_deletes(error, unpublished.writer, writes)?;
            self.log(unpublished, writes, default, self.pins.published() + 1)?;
        }
        if options.sync { self.sync_before_publication(unpublished) } else { Ok(()) }
    }

    fn apply_and_publish(
        &self,
        writer: &mut WriterState,
        writes: Writes<'_>,
        default: OperatorId,
        first: SeqNo,
    ) {
        if writer.recent.is_on() {
            self.note_recent(&mut writer.recent, writes, first);
        }
        let WriterState { buffers, operators, since_look, .. } = writer;
        let operators = &**operators.load();
        match writes {
            Writes::One(_, operation) => {
                let phase = self.pins.begin_apply();
                let mut floor = phase.floor().unwrap_or(first);
                debug_assert!(
                    floor <= first,
                    "no reader has pinned a write that is not published (H2)"
                );
                if planted(Fault::FoldInPlaceUnderSnapshot) {
                    floor = 0;
                }
                let folding = Folding { floor, operators };
                *since_look += self.apply_one(buffers, operation, first, folding);
                self.pins.publish(first);
            }
            Writes::Batch(batch) => {
                // Readers must not see half of a batch, so folds in place change only records of
                // the batch.
                let folding = Folding { floor: first - 1, operators };
                let mut operations = batch.operations();
                // A small batch ends before the prefetched memory arrives.
                let foresees = batch.len() >= FORESEEN;
                for (at, seqno) in (0..batch.len()).zip(first..) {
                    if foresees && at % FORESEEN == 0 {
                        buffers.foresee(operations.clone());
                    }
                    let Some(mut operation) = operations.next() else { break };
                    if operation.kind == Kind::Merge && operation.operator == NO_OPERATOR {
                        operation.operator = default;
                    }
                    *since_look += self.apply_one(buffers, &operation, seqno, folding);
                    scheduling_point();
                }
                self.pins.publish(first + batch.len() as SeqNo - 1);
            }
        }
    }

    /// Notes writes for the commits of open transactions.
    #[inline(never)]
    fn note_recent(&self, recent: &mut RecentWrites, writes: Writes<'_>, first: SeqNo) {
        debug_assert!(first > self.published(), "writes are noted before readers see them");
        let is_due = match writes {
            Writes::One(_, operation) => recent.note(operation, first),
            Writes::Batch(batch) => {
                let numbered = batch.operations().zip(first..);
                numbered.fold(false, |is_due, (operation, seqno)| {
                    recent.note(&operation, seqno) || is_due
                })
            }
        };
        if is_due {
            match self.transactions.may_stop_noting() {
                true => recent.stop(),
                false => recent.charge(&self.runtime.ledger().transactions),
            }
        }
    }

    /// Applies one operation. Returns its bytes of key and value.
    #[inline(always)]
    fn apply_one(
        &self,
        buffers: &mut Buffers,
        operation: &Operation<'_>,
        seqno: SeqNo,
        folding: Folding<'_>,
    ) -> u64 {
        buffers.apply(operation, seqno, folding);
        if matches!(operation.kind, Kind::Delete | Kind::DeleteRange) {
            self.note_delete();
        }
        operation.count(&self.totals)
    }

    /// Makes all earlier writes durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.check_writable()?;
        let (sync, frame) = {
            let writer = self.lock_writer()?;
            (Arc::clone(writer.log.sync_handle()), writer.log.frames())
        };
        self.sync_through(&sync, frame)
    }

    /// Syncs a log up to a frame. A failure poisons the database, unless the directory is
    /// elsewhere.
    pub(crate) fn sync_through(&self, log: &LogSync, frame: u64) -> Result<()> {
        self.logs.note_wait();
        debug_assert!(frame <= log.written(), "only frames that are in the log are awaited");
        log.sync_through(frame).inspect_err(|error| self.standing.note_failed_sync(error))?;
        if let Some(feed) = &self.feed {
            feed.news.changed();
        }
        Ok(())
    }
}
