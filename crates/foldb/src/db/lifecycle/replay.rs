//! Replaying the logs: which records, in which order, and where to stop.
//!
//! A record is replayed if its sequence number is above `flushed_through`, which is the last one
//! *applied* before the flushed memtable was sealed: a folded record's own number may be smaller
//! than what it absorbed (H5). Each keyspace has a `flushed_through` of its own; what was written
//! to one that was dropped since is skipped.
//!
//! The logs are one sequence. Where one of them ends early, what the later ones hold is not
//! applied, so that what survives is a prefix of the writes (H11):
//!
//! ```text
//! log 7: 1 2 3 (4 lost)    log 8: 5 6        replayed: 1 2 3
//! ```
//!
//! unless log 8, or one behind it, says that it was synced: then 4 was synced before, and its loss
//! is damage. A log whose creation failed half-way holds no writes and has no successor; the writer
//! went on in the log before, and the next one follows that:
//!
//! ```text
//! log 7: 1 2 3 4    log 8, after 7 as of 3: no writes    log 9, after 7 as of 4: 5 6
//! replayed: 1 2 3 4 5 6
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use foldb_chains::ArenaPool;
use foldb_env::FileSystem;

use crate::db::lifecycle::open::missing_log;
use crate::db::state::buffers::{first_capacity, next_capacity};
use crate::encoding::ByteReader;
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::files::FileNames;
use crate::fold::Registry;
use crate::key::{Comparator, DEFAULT_KEYSPACE, KeyspaceId, Kind, MAX_SEQNO, NO_OPERATOR, SeqNo};
use crate::memtable::bytes_needed;
use crate::memtable::{Folding, Memtable, MemtableWriter};
use crate::operation::Operation;
use crate::options::Options;
use crate::version::CloseRecord;
use crate::wal::{BatchHeader, LOG_FORMAT, LogEnd, LogHeader, LogReader, LogRecord, Tail};

/// Logs, each opened when its turn comes: there may be more of them than a process may open files.
pub(crate) type Logs<'a> = Box<dyn Iterator<Item = Result<LogReader>> + 'a>;

/// What there is to replay.
pub(crate) struct Replay<'a> {
    pub(crate) options: &'a Options,
    pub(crate) names: &'a FileNames,
    pub(crate) registry: &'a Registry,
    pub(crate) arenas: &'a Arc<ArenaPool>,
    /// First log that holds writes which are in no table.
    pub(crate) first_log: u64,
    /// The needed logs, ascending.
    pub(crate) logs: Logs<'a>,
    /// What a clean close said of them.
    pub(crate) closed: Option<&'a CloseRecord>,
    /// Batches that begin behind it are left out, and all behind them.
    pub(crate) through: SeqNo,
    /// Identity the logs must have; `None` before the database has one.
    pub(crate) database: Option<u64>,
    /// The keyspaces that exist.
    pub(crate) keyspaces: BTreeMap<KeyspaceId, ReplayKeyspace>,
    /// Below this, what does not exist was dropped.
    pub(crate) next_keyspace: KeyspaceId,
}

/// What replay needs to know of a keyspace.
pub(crate) struct ReplayKeyspace {
    pub(crate) comparator: Arc<dyn Comparator>,
    /// Writes up to here are in its tables.
    pub(crate) flushed_through: SeqNo,
}

/// What the logs held.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    /// Of each keyspace that has any, newest first.
    pub(crate) memtables: BTreeMap<KeyspaceId, Vec<Arc<Memtable>>>,
    pub(crate) last_seqno: SeqNo,
    /// What lies behind the ends of logs, and where those are.
    pub(crate) tails: Vec<(PathBuf, u64, Tail)>,
}

/// The logs that are needed, of those on disk, ascending; after a clean close those that it told
/// of. One that was there then and is not is `Corruption`.
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

/// Opens all of them now. Open, they stay readable when a writer in another process unlinks them.
pub(crate) fn opened(logs: Logs<'_>) -> Result<Logs<'static>> {
    let open: Vec<LogReader> = logs.collect::<Result<_>>()?;
    Ok(Box::new(open.into_iter().map(Ok)))
}

/// Replays all logs that are needed.
///
/// # Errors
/// `Corruption`, naming log and offset, when something that was synced is missing.
pub(crate) fn replay_logs(mut replay: Replay<'_>) -> Result<Replayed> {
    let mut needed = std::mem::replace(&mut replay.logs, Box::new(std::iter::empty()));
    let mut replayer = Replayer {
        replay: &replay,
        open: BTreeMap::new(),
        done: Replayed::default(),
        held_back: None,
    };
    // By number: a log that could not be begun may stand between two that follow each other.
    let mut ends: BTreeMap<u64, LogEnd> = BTreeMap::new();
    while let Some(reader) = needed.next() {
        let mut reader = reader?;
        let number = reader.number();
        let path = replay.names.log(number);
        let mut record = Vec::new();
        if !reader.next(&mut record)? {
            // Not even its header: nothing in it, nor in any later one, was ever synced.
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
            return Ok(replayer.finish());
        }
        let mut offset = reader.offset();
        while reader.next(&mut record)? {
            if replay.is_beyond(&record).map_err(|error| error.at(&path, offset))? {
                return Ok(replayer.finish());
            }
            replayer.record(&record).map_err(|error| error.at(&path, offset))?;
            offset = reader.offset();
        }
        ends.insert(number, replayer.end(&mut reader)?);
    }
    Ok(replayer.finish())
}

/// Whether the log before went on after this one was begun: beginning it failed (a full disk), and
/// it holds no writes.
fn is_abandoned(header: &LogHeader, ends: &BTreeMap<u64, LogEnd>) -> bool {
    ends.get(&header.predecessor).is_some_and(|end| end.frames > header.predecessor_frames)
}

/// Refuses a log that holds writes though the one before it went on.
fn refuse_writes(log: &mut LogReader) -> Result<()> {
    let mut record = Vec::new();
    let mut offset = log.offset();
    while log.next(&mut record)? {
        let read = LogRecord::decode(&record).map_err(|error| error.at(log.path(), offset))?;
        if let LogRecord::Batch(..) = read {
            return Err(Error::corruption(
                "expected no writes in a log that was given up, for the one before it has more frames \
                 than this one follows",
            )
            .at(log.path(), offset));
        }
        offset = log.offset();
    }
    Ok(())
}

/// A log whose predecessor is not whole is not applied, nor is any later one. Answers what they
/// hold.
///
/// # Errors
/// `Corruption` when one of them says that it was synced: then the predecessor was before.
fn stop_before(
    mut log: LogReader,
    header: &LogHeader,
    predecessor_end: u64,
    later: Logs<'_>,
    replay: &Replay<'_>,
) -> Result<Vec<(PathBuf, u64, Tail)>> {
    let (mut was_synced, first) = says_synced(&mut log)?;
    let mut left_out = vec![first];
    for log in later {
        let (is_synced, holds) = says_synced(&mut log?)?;
        was_synced |= is_synced;
        left_out.push(holds);
    }
    if !was_synced {
        return Ok(left_out);
    }
    let path = replay.names.log(header.predecessor);
    Err(Error::corruption(format!(
        "the log must hold {} frames in {} bytes, for a later one was synced behind them",
        header.predecessor_frames, header.predecessor_len
    ))
    .at(&path, predecessor_end))
}

/// Whether some frame of the log knows of a sync of the log, and all that it holds.
fn says_synced(log: &mut LogReader) -> Result<(bool, (PathBuf, u64, Tail))> {
    let mut record = Vec::new();
    while log.next(&mut record)? {}
    let end = log.end()?;
    let bytes = end.offset + end.tail.bytes;
    let all = Tail { bytes, frames: end.frames + end.tail.frames };
    Ok((end.max_synced > 0, (log.path().to_owned(), 0, all)))
}

impl Replay<'_> {
    /// Whether a record is a batch that is left out.
    fn is_beyond(&self, record: &[u8]) -> Result<bool> {
        if self.through == MAX_SEQNO {
            return Ok(false);
        }
        let LogRecord::Batch(header, _) = LogRecord::decode(record)? else { return Ok(false) };
        Ok(header.first_seqno > self.through)
    }
}

struct Replayer<'a> {
    replay: &'a Replay<'a>,
    /// The memtables being filled, and the bytes they were made for.
    open: BTreeMap<KeyspaceId, (MemtableWriter, usize)>,
    done: Replayed,
    /// A record kept back by the planted fault that loses the last one.
    held_back: Option<Vec<u8>>,
}

impl Replayer<'_> {
    /// Judges the end of a log, and notes what lies behind it.
    fn end(&mut self, log: &mut LogReader) -> Result<LogEnd> {
        let closed = self.replay.closed.and_then(|closed| closed.log(log.number()));
        let end = log.end_as(closed)?;
        self.done.tails.push((log.path().to_owned(), end.offset, end.tail));
        Ok(end)
    }

    fn header(&self, record: &[u8], number: u64) -> Result<LogHeader> {
        let LogRecord::Header(header) = LogRecord::decode(record)? else {
            return Err(Error::corruption("the log does not begin with a header"));
        };
        header.check_format("log", LOG_FORMAT)?;
        let database = self.replay.database.unwrap_or(header.database);
        if header.log != number || header.database != database {
            return Err(Error::corruption(format!(
                "expected log {number} of database {database:016x}, found log {} of {:016x}",
                header.log, header.database
            )));
        }
        Ok(header)
    }

    /// Whether all that stood before this log was replayed or is in tables.
    fn follows(&self, header: &LogHeader, ends: &BTreeMap<u64, LogEnd>) -> bool {
        header.predecessor < self.replay.first_log
            || ends
                .get(&header.predecessor)
                .is_some_and(|end| end.frames == header.predecessor_frames)
    }

    fn record(&mut self, record: &[u8]) -> Result<()> {
        if planted(Fault::LoseLastLogRecord) {
            let before = self.held_back.replace(record.to_vec());
            return before.map_or(Ok(()), |before| self.apply(&before));
        }
        self.apply(record)
    }

    fn apply(&mut self, record: &[u8]) -> Result<()> {
        match LogRecord::decode(record)? {
            LogRecord::Header(_) => Err(Error::corruption("a second header in one log")),
            LogRecord::Definition(definition) => self.replay.registry.adopt(&definition),
            LogRecord::Batch(header, operations) => self.batch(&header, operations),
        }
    }

    fn batch(&mut self, header: &BatchHeader, operations: &[u8]) -> Result<()> {
        if header.first_seqno <= self.done.last_seqno && header.count > 0 {
            return Err(Error::corruption(format!(
                "expected a batch behind sequence number {}, found one from {} on",
                self.done.last_seqno, header.first_seqno
            )));
        }
        let mut bytes = ByteReader::new(operations);
        for index in 0..u64::from(header.count) {
            let mut operation = Operation::decode_logged(&mut bytes)?;
            if operation.kind == Kind::Merge && operation.operator == NO_OPERATOR {
                operation.operator = header.default_operator;
            }
            let seqno = header.first_seqno + index;
            match self.replay.keyspaces.get(&operation.keyspace) {
                Some(own) if seqno > own.flushed_through || planted(Fault::ReplayFlushed) => {
                    self.check_operator(&operation)?;
                    self.insert(own, &operation, seqno);
                }
                // In tables already, or dropped.
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
        if !bytes.is_empty() {
            return Err(Error::corruption(format!(
                "expected {} operations in the batch, found {} bytes behind them",
                header.count,
                bytes.remaining()
            )));
        }
        Ok(())
    }

    /// Refuses operands that nobody can fold, unless the caller wants to open all the same.
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
            || Error::corruption(format!("operator {} is defined nowhere", operation.operator)),
            |definition| registry.unknown_operator(definition),
        ))
    }

    fn insert(&mut self, own: &ReplayKeyspace, operation: &Operation<'_>, seqno: SeqNo) {
        let id = operation.keyspace;
        let bytes = bytes_needed(operation);
        let write_buffer = self.replay.options.write_buffer_size;
        let mut capacity = match id {
            DEFAULT_KEYSPACE => write_buffer,
            _ => first_capacity(write_buffer),
        };
        if let Some((full, made_for)) = self.open.get(&id)
            && !full.fits(bytes)
        {
            capacity = next_capacity(*made_for, full.grown(), write_buffer);
            self.seal(id);
        }
        let (writer, _) = self.open.entry(id).or_insert_with(|| {
            let room = capacity.max(bytes + (bytes >> 3));
            (MemtableWriter::create(self.replay.arenas, room, &own.comparator), capacity)
        });
        // Nobody reads yet, so records change in place whoever wrote them.
        let operators = self.replay.registry.resolver();
        writer.apply(operation, seqno, Folding { floor: 0, operators: &operators });
    }

    fn seal(&mut self, id: KeyspaceId) {
        if let Some((writer, _)) = self.open.remove(&id) {
            self.done.memtables.entry(id).or_default().insert(0, writer.memtable);
        }
    }

    fn finish(mut self) -> Replayed {
        while let Some((&id, _)) = self.open.first_key_value() {
            self.seal(id);
        }
        self.done
    }
}
