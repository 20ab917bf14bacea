//! Replay of the logs: which records, in which order, and where to stop.
//!
//! Replay applies a record if its sequence number is above `flushed_through`. That is the last
//! number *applied* before the flushed memtable was sealed. The number of a folded record may be
//! smaller than the numbers of the records that it absorbed (H5). Each keyspace has its own
//! `flushed_through`. Replay skips writes to keyspaces that were dropped since.
//!
//! The logs are one sequence. If one ends early, replay does not apply the later ones, so a prefix
//! of the writes survives (H11):
//!
//! ```text
//! log 7: 1 2 3 (4 lost)    log 8: 5 6        replayed: 1 2 3
//! ```
//!
//! A frame of log 8 or of a later log may say that its log was synced. Then 4 was synced before,
//! and its loss is damage.
//!
//! A log that follows a closed log says so, because a clean close syncs. If the closed log is not
//! whole, that is damage too.
//!
//! A log whose creation failed half-way holds no writes and has no successor. The writer continued
//! in the log before it, and the next log follows that log:
//!
//! ```text
//! log 7: 1 2 3 4    log 8, after 7 as of 3: no writes    log 9, after 7 as of 4: 5 6
//! replayed: 1 2 3 4 5 6
//! ```
//!
//! The logs may hold more than fits into memory. A replay therefore applies writes while they fit,
//! and only checks the rest. The caller flushes what was applied, and replays the rest in a second
//! replay, which passes on each share of memory that it fills.

mod filling;
mod operations;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::FileSystem;

use crate::counters::Totals;
use crate::db::lifecycle::open::missing_log;
use crate::db::lifecycle::replay::filling::Filling;
use crate::db::lifecycle::replay::operations::Operations;
use crate::db::state::announced::Announced;
use crate::encoding::format::LOG;
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::files::FileNames;
use crate::fold::Registry;
use crate::key::{Comparator, KeyspaceId, Kind, MAX_SEQNO, NO_OPERATOR, SeqNo};
use crate::operation::Operation;
use crate::options::Options;
use crate::runtime::Runtime;
use crate::version::CloseRecord;
use crate::wal::{
    BatchHeader, Lineage, LogEnd, LogHeader, LogReader, LogRecord, Predecessor, Tail,
};

pub(crate) use filling::{Memtables, Unsealed, WhenFull};
pub(crate) use operations::begin_record;

/// What the caller can do about a damaged log.
const ADVICE: &str =
    "; restore it from a copy, or run `foldb repair`, which keeps the writes around the damage";

/// Logs, each opened only when it is read: there may be more logs than a process may open at once.
pub(crate) type Logs<'a> = Box<dyn Iterator<Item = Result<LogReader>> + 'a>;

/// The input of a replay.
pub(crate) struct Replay<'a> {
    pub(crate) options: &'a Options,
    pub(crate) names: &'a FileNames,
    pub(crate) registry: &'a Registry,
    pub(crate) runtime: &'a Runtime,
    /// The number of the database in the runtime, whose ledger counts the memtables.
    pub(crate) member: u64,
    /// The share of memory that memtables may fill.
    pub(crate) memtable_bytes: usize,
    /// The first log with writes that no table holds.
    pub(crate) first_log: u64,
    /// The needed logs, ascending.
    pub(crate) logs: Logs<'a>,
    /// The record of a clean close, if the database has one.
    pub(crate) closed: Option<&'a CloseRecord>,
    /// The totals of the manifest, which know the writes up to this number. Replay counts the later
    /// ones.
    pub(crate) totals: &'a Totals,
    pub(crate) counted_through: SeqNo,
    /// Replay stops before the first batch that begins above this number.
    pub(crate) through: SeqNo,
    /// The identity that the logs must have; `None` for a new database.
    pub(crate) database: Option<u64>,
    /// The keyspaces that exist.
    pub(crate) keyspaces: BTreeMap<KeyspaceId, ReplayKeyspace>,
    /// Ids below this that do not exist were dropped.
    pub(crate) next_keyspace: KeyspaceId,
    /// Whether each log gets memtables of its own.
    pub(crate) by_log: bool,
}

/// The keyspace data that replay needs.
pub(crate) struct ReplayKeyspace {
    pub(crate) comparator: Arc<dyn Comparator>,
    /// Tables hold its writes up to this number.
    pub(crate) flushed_through: SeqNo,
}

/// The result of a replay.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    pub(crate) memtables: Memtables,
    /// The right to write to these memtables, if there is one for each keyspace.
    pub(crate) unsealed: Unsealed,
    /// The last write that was applied, if later ones did not fit into memory.
    pub(crate) applied_through: Option<SeqNo>,
    /// The memtables of each log with writes, oldest first, if the logs get memtables of their own.
    pub(crate) groups: Vec<ReplayedGroup>,
    pub(crate) last_seqno: SeqNo,
    /// The bytes after the valid end of each log, with the log's path and the offset of that end.
    pub(crate) tails: Vec<(PathBuf, u64, Tail)>,
    /// The logs that were read to their valid ends, in order.
    pub(crate) logs: Vec<ReplayedLog>,
    /// The first log that was not applied, because its predecessor is incomplete. No later log was
    /// applied either.
    pub(crate) refused_from: Option<u64>,
    /// The last batch.
    pub(crate) end: ReplayEnd,
}

/// The memtables of one log.
#[derive(Debug)]
pub(crate) struct ReplayedGroup {
    pub(crate) log: u64,
    /// The last sequence number by the end of the log.
    pub(crate) through: SeqNo,
    pub(crate) memtables: Memtables,
}

impl Replayed {
    /// Puts the memtables of all logs together.
    pub(crate) fn join_groups(&mut self) {
        for group in std::mem::take(&mut self.groups).into_iter().rev() {
            for (keyspace, memtables) in group.memtables {
                self.memtables.entry(keyspace).or_default().extend(memtables);
            }
        }
    }
}

/// The last batch that a replay read, as the change feed needs it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReplayEnd {
    /// The place directly after it; `None` without a batch.
    pub(crate) place: Option<Predecessor>,
    /// Whether the log of the batch was not written for the change feed.
    pub(crate) is_not_kept: bool,
    /// A number between the batches that neither a log nor a table has: an unlogged write in the
    /// memory of another process, or a sorted load.
    pub(crate) gap: Option<SeqNo>,
}

/// A log that was replayed, as the change feed needs it.
#[derive(Debug)]
pub(crate) struct ReplayedLog {
    pub(crate) number: u64,
    /// Where its last whole frame ends, and the number of that frame.
    pub(crate) len: u64,
    pub(crate) frames: u64,
    /// Its place among the logs; `None` if it was not written for the change feed.
    pub(crate) lineage: Option<Lineage>,
    /// Whether it holds anything that the change feed yields.
    pub(crate) has_changes: bool,
    /// The keyspaces that it announced by its end.
    pub(crate) announced: Announced,
}

/// Returns the logs on disk that are needed, ascending. After a clean close these are the logs of
/// its record; a missing one is `Corruption`.
pub(crate) fn needed_logs<'a>(
    fs: &'a dyn FileSystem,
    names: &'a FileNames,
    first_log: u64,
    on_disk: Vec<u64>,
    closed: Option<&CloseRecord>,
) -> Logs<'a> {
    let is_needed = |log: &u64| *log >= first_log || planted(Fault::ReplayFlushed);
    let needed: Vec<u64> = match closed {
        Some(closed) => closed.logs.iter().map(|log| log.number).collect(),
        None => on_disk.iter().copied().filter(is_needed).collect(),
    };
    Box::new(needed.into_iter().map(move |number| match on_disk.contains(&number) {
        true => LogReader::open(fs, &names.log(number), number),
        false => Err(missing_log(number, names)),
    }))
}

/// Opens all logs now. Open logs stay readable if a writer in another process unlinks them.
pub(crate) fn opened(logs: Logs<'_>) -> Result<Logs<'static>> {
    let open: Vec<LogReader> = logs.collect::<Result<_>>()?;
    Ok(Box::new(open.into_iter().map(Ok)))
}

/// Replays all needed logs.
///
/// # Errors
/// `Corruption`, naming log and offset, if a synced write is missing; the errors of
/// [`WhenFull::Pass`].
pub(crate) fn replay_logs(mut replay: Replay<'_>, when_full: WhenFull<'_>) -> Result<Replayed> {
    let mut needed = std::mem::replace(&mut replay.logs, Box::new(std::iter::empty()));
    let mut replayer = Replayer {
        replay: &replay,
        filling: Filling::new(when_full),
        done: Replayed::default(),
        lineage: None,
        has_changes: false,
        announced: Announced::default(),
        held_back: None,
        covered: replay.keyspaces.values().map(|own| own.flushed_through).max().unwrap_or(0),
    };
    // By number: an abandoned log may lie between a log and its successor.
    let mut ends: BTreeMap<u64, LogEnd> = BTreeMap::new();
    while let Some(reader) = needed.next() {
        let mut reader = reader?;
        let number = reader.number();
        let path = replay.names.log(number);
        let mut record = Vec::new();
        if !reader.next(&mut record)? {
            // Even the header is missing, so neither this log nor a later one was ever synced.
            ends.insert(number, replayer.end(&mut reader)?);
            continue;
        }
        let header = replayer.header(&record, number).map_err(|error| error.at(&path, 0))?;
        if is_abandoned(&header, &ends) {
            refuse_writes(&mut reader)?;
            continue;
        }
        if !replayer.follows(&header, &ends) {
            let end = ends.get(&header.predecessor).map_or(0, |end| end.offset);
            let left_out = stop_before(reader, &header, end, needed, &replay)?;
            replayer.done.tails.extend(left_out);
            replayer.done.refused_from = Some(number);
            return Ok(replayer.finish());
        }
        (replayer.lineage, replayer.has_changes) = (None, false);
        replayer.announced = Announced::default();
        let mut offset = reader.offset();
        while begin_record(&mut reader, &mut record)? {
            if replay.is_beyond(&record).map_err(|error| error.at(&path, offset))? {
                return Ok(replayer.finish());
            }
            let before = replayer.done.last_seqno;
            let replayed = replayer.record(&mut record, &mut reader);
            replayed.map_err(|error| error.at(&path, offset))?;
            if replayer.done.last_seqno > before {
                replayer.note_end(number, reader.frames());
            }
            offset = reader.offset();
        }
        let end = replayer.end(&mut reader)?;
        let (len, frames) = (end.offset, end.frames);
        let (lineage, has_changes) = (replayer.lineage.take(), replayer.has_changes);
        let announced = std::mem::take(&mut replayer.announced);
        let log = ReplayedLog { number, len, frames, lineage, has_changes, announced };
        replayer.done.logs.push(log);
        replayer.end_group(number);
        ends.insert(number, end);
    }
    Ok(replayer.finish())
}

/// Returns whether the writer continued in the log before this one. If so, the creation of this log
/// failed, for example on a full disk, and it holds no writes.
fn is_abandoned(header: &LogHeader, ends: &BTreeMap<u64, LogEnd>) -> bool {
    ends.get(&header.predecessor).is_some_and(|end| end.frames > header.predecessor_frames)
}

/// # Errors
/// `Corruption` if an abandoned log holds writes.
fn refuse_writes(log: &mut LogReader) -> Result<()> {
    let mut record = Vec::new();
    let mut offset = log.offset();
    while log.next(&mut record)? {
        let read = LogRecord::decode(&record).map_err(|error| error.at(log.path(), offset))?;
        if let LogRecord::Batch(..) = read {
            return Err(Error::corruption(
                "expected no writes in an abandoned log, because the one before it has more frames \
                 than this one follows",
            )
            .at(log.path(), offset));
        }
        offset = log.offset();
    }
    Ok(())
}

/// Stops at a log whose predecessor is incomplete: neither this log nor later logs are applied.
/// Returns the bytes that are left out.
///
/// # Errors
/// `Corruption` if one of these logs says that it was synced, because the predecessor was synced
/// before it; or if the predecessor was closed.
fn stop_before(
    mut log: LogReader,
    header: &LogHeader,
    predecessor_end: u64,
    later: Logs<'_>,
    replay: &Replay<'_>,
) -> Result<Vec<(PathBuf, u64, Tail)>> {
    let (is_synced, first) = says_synced(&mut log)?;
    let mut was_synced = is_synced || header.predecessor_closed;
    let mut left_out = vec![first];
    let mut record = Vec::new();
    for log in later {
        let mut log = log?;
        let header = match log.next(&mut record)? {
            true => LogHeader::of_record(&record, &LOG).ok(),
            false => None,
        };
        let (is_synced, holds) = says_synced(&mut log)?;
        was_synced |= is_synced || header.is_some_and(|header| header.predecessor_closed);
        left_out.push(holds);
    }
    if !was_synced {
        return Ok(left_out);
    }
    let path = replay.names.log(header.predecessor);
    Err(Error::corruption(format!(
        "expected {} frames in {} bytes, because a later log says that they were synced{ADVICE}",
        header.predecessor_frames, header.predecessor_len
    ))
    .at(&path, predecessor_end))
}

/// Returns whether a frame of the log says that the log was synced, and the size of its contents.
fn says_synced(log: &mut LogReader) -> Result<(bool, (PathBuf, u64, Tail))> {
    while log.skip()? {}
    let end = log.end()?;
    let bytes = end.offset + end.tail.bytes;
    let all = Tail { bytes, frames: end.frames + end.tail.frames };
    Ok((end.max_synced > 0, (log.path().to_owned(), 0, all)))
}

impl Replay<'_> {
    /// Returns whether a record, which may lack its last frames, is a batch beyond the end of the
    /// replay.
    fn is_beyond(&self, record: &[u8]) -> Result<bool> {
        if self.through == MAX_SEQNO {
            return Ok(false);
        }
        let header = BatchHeader::of_record(record)?;
        Ok(header.is_some_and(|header| header.first_seqno > self.through))
    }
}

struct Replayer<'a, 'f> {
    replay: &'a Replay<'a>,
    filling: Filling<'f>,
    done: Replayed,
    /// The lineage record of the current log.
    lineage: Option<Lineage>,
    /// Whether the current log holds anything that the change feed yields.
    has_changes: bool,
    /// The keyspaces that the current log announced.
    announced: Announced,
    /// The last record, which the planted fault `LoseLastLogRecord` does not replay.
    held_back: Option<Vec<u8>>,
    /// Logs or tables have all numbers up to this one, or `done` names a gap.
    covered: SeqNo,
}

impl Replayer<'_, '_> {
    /// Notes the place after a batch.
    fn note_end(&mut self, log: u64, frames: u64) {
        let id = self.lineage.as_ref().map(|lineage| lineage.id);
        self.done.end.place = id.map(|id| Predecessor { log, id, frames });
        self.done.end.is_not_kept = id.is_none();
    }

    /// Checks the end of a log, and notes the bytes after it.
    fn end(&mut self, log: &mut LogReader) -> Result<LogEnd> {
        let closed = self.replay.closed.and_then(|closed| closed.log(log.number()));
        let end = log.end_as(closed).map_err(|error| error.advising(ADVICE))?;
        self.done.tails.push((log.path().to_owned(), end.offset, end.tail));
        Ok(end)
    }

    fn header(&self, record: &[u8], number: u64) -> Result<LogHeader> {
        let header = LogHeader::of_record(record, &LOG)?;
        let database = self.replay.database.unwrap_or(header.database);
        if header.log != number || header.database != database {
            return Err(Error::corruption(format!(
                "expected log {number} of database {database:016x}, found log {} of {:016x}",
                header.log, header.database
            )));
        }
        Ok(header)
    }

    /// Returns whether everything before this log was replayed or is in tables.
    fn follows(&self, header: &LogHeader, ends: &BTreeMap<u64, LogEnd>) -> bool {
        header.predecessor < self.replay.first_log
            || ends
                .get(&header.predecessor)
                .is_some_and(|end| end.frames == header.predecessor_frames)
    }

    /// Applies a record, whose last frames `log` may still have to read.
    fn record(&mut self, record: &mut Vec<u8>, log: &mut LogReader) -> Result<()> {
        if planted(Fault::LoseLastLogRecord) {
            while log.more(record)? {}
            let before = self.held_back.replace(record.clone());
            return before.map_or(Ok(()), |mut before| self.apply(&mut before, log));
        }
        self.apply(record, log)
    }

    fn apply(&mut self, record: &mut Vec<u8>, log: &mut LogReader) -> Result<()> {
        match LogRecord::decode(record)? {
            LogRecord::Header(_) => Err(Error::corruption("the log has a second header")),
            LogRecord::Definition(definition) => self.replay.registry.adopt(&definition),
            LogRecord::Lineage(lineage) => {
                if self.done.logs.is_empty() {
                    // Tables have everything before the first log.
                    self.covered = self.covered.max(lineage.last_seqno);
                }
                self.announced.list(&lineage);
                self.lineage = Some(lineage);
                Ok(())
            }
            // The manifest knows the keyspaces. These records are for the change feed.
            LogRecord::Created(keyspace) => {
                self.has_changes = true;
                self.announced.create(keyspace);
                Ok(())
            }
            LogRecord::Dropped(id) => {
                self.has_changes = true;
                self.announced.drop_id(id);
                Ok(())
            }
            LogRecord::Batch(header, operations) => {
                self.has_changes = true;
                let at = record.len() - operations.len();
                self.batch(&header, Operations::new(record, at, log))
            }
        }
    }

    fn batch(&mut self, header: &BatchHeader, mut operations: Operations<'_>) -> Result<()> {
        if header.first_seqno <= self.done.last_seqno && header.count > 0 {
            return Err(Error::corruption(format!(
                "expected a batch above sequence number {}, found one that begins at {}",
                self.done.last_seqno, header.first_seqno
            )));
        }
        if header.first_seqno > self.covered + 1 {
            self.done.end.gap = Some(self.covered + 1);
        }
        self.covered = self.covered.max(header.first_seqno + SeqNo::from(header.count.max(1)) - 1);
        for index in 0..u64::from(header.count) {
            let mut operation = operations.next()?;
            if operation.kind == Kind::Merge && operation.operator == NO_OPERATOR {
                operation.operator = header.default_operator;
            }
            let seqno = header.first_seqno + index;
            if seqno > self.replay.counted_through {
                operation.count(self.replay.totals);
            }
            match self.replay.keyspaces.get(&operation.keyspace) {
                Some(own) if seqno > own.flushed_through || planted(Fault::ReplayFlushed) => {
                    self.check_operator(&operation)?;
                    self.filling.apply(self.replay, own, &operation, seqno)?;
                }
                // The record is in tables already, or its keyspace was dropped.
                Some(_) => {}
                None if operation.keyspace < self.replay.next_keyspace => {}
                None => {
                    return Err(Error::corruption(format!(
                        "expected a keyspace below {}, found {}",
                        self.replay.next_keyspace, operation.keyspace
                    )));
                }
            }
            self.done.last_seqno = self.done.last_seqno.max(seqno);
        }
        debug_assert!(
            header.count == 0
                || self.done.last_seqno == header.first_seqno + SeqNo::from(header.count) - 1,
            "each write of a batch has the next sequence number"
        );
        operations.finish(header.count)
    }

    /// # Errors
    /// `UnknownOperator` for an operand of an unregistered operator, unless the options allow it.
    fn check_operator(&self, operation: &Operation<'_>) -> Result<()> {
        let registry = self.replay.registry;
        let resolver = registry.resolver();
        if operation.kind != Kind::Merge
            || !resolver.is_unresolved(operation.operator)
            || self.replay.options.allow_unresolved_operators
        {
            return Ok(());
        }
        Err(resolver.definition(operation.operator).map_or_else(
            || Error::corruption(format!("operator {} has no definition", operation.operator)),
            |definition| registry.unknown_operator(definition),
        ))
    }

    /// Ends the memtables of a log, if it has its own.
    fn end_group(&mut self, log: u64) {
        if !self.replay.by_log {
            return;
        }
        let memtables = self.filling.take();
        if !memtables.is_empty() {
            let through = self.done.last_seqno;
            self.done.groups.push(ReplayedGroup { log, through, memtables });
        }
    }

    fn finish(self) -> Replayed {
        let (memtables, applied_through, unsealed) = self.filling.finish();
        Replayed { memtables, applied_through, unsealed, ..self.done }
    }
}
