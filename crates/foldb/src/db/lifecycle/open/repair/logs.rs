//! What logs reveal without a manifest: the identity of the database, its keyspaces, its operators.
//!
//! A keyspace that was never flushed exists in logs only. Its writes are replayed into a keyspace
//! of the same id:
//!
//! ```text
//! tables: of keyspace 2     log: 0.PUT.7  3.PUT.8     found: keyspaces 0, 2 and 3
//! ```
//!
//! A dropped keyspace may reappear if a log still names it. Damage only ends the reading of its log
//! here; the replay reports the damage.

use std::collections::{BTreeMap, BTreeSet};

use foldb_env::FileSystem;

use crate::encoding::ByteReader;
use crate::error::{ErrorKind, Result};
use crate::files::FileNames;
use crate::fold::Definition;
use crate::key::{KeyspaceId, Kind, NO_OPERATOR, OperatorId, SeqNo};
use crate::operation::Operation;
use crate::wal::{LogReader, LogRecord};

/// The facts that all logs reveal.
#[derive(Debug, Default)]
pub(crate) struct LogFacts {
    /// The identity in the oldest readable log.
    pub(crate) database: Option<u64>,
    /// The keyspaces that the logs write to.
    pub(crate) keyspaces: BTreeSet<KeyspaceId>,
    /// The sequence number of the first write to each keyspace that is not in tables.
    pub(crate) unflushed: BTreeMap<KeyspaceId, SeqNo>,
    /// The keyspaces whose logged writes have stamps.
    pub(crate) stamped: BTreeSet<KeyspaceId>,
    /// The sequence numbers of batches in stretches without a gap, ascending.
    pub(crate) stretches: Vec<(SeqNo, SeqNo)>,
    /// The largest id of an operator whose operands the logs hold.
    pub(crate) last_operator: OperatorId,
    /// Operators that the logs define, by id.
    pub(crate) operators: BTreeMap<OperatorId, Definition>,
}

impl LogFacts {
    /// Reads the logs with these numbers. `flushed` has the last write of each keyspace that is in
    /// tables.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn of(
        fs: &dyn FileSystem,
        names: &FileNames,
        numbers: &[u64],
        flushed: &BTreeMap<KeyspaceId, SeqNo>,
    ) -> Result<LogFacts> {
        let mut facts = LogFacts::default();
        for &number in numbers {
            let mut log = LogReader::open(fs, &names.log(number), number)?;
            match facts.read(&mut log, flushed) {
                Err(error) if error.kind() == ErrorKind::Corruption => {}
                read => read?,
            }
        }
        Ok(facts)
    }

    fn read(&mut self, log: &mut LogReader, flushed: &BTreeMap<KeyspaceId, SeqNo>) -> Result<()> {
        let mut record = Vec::new();
        while log.next(&mut record)? {
            match LogRecord::decode(&record)? {
                LogRecord::Header(header) => {
                    self.database.get_or_insert(header.database);
                }
                LogRecord::Definition(definition) => {
                    self.operators.insert(definition.id, definition);
                }
                LogRecord::Lineage(_) | LogRecord::Created(_) | LogRecord::Dropped(_) => {}
                LogRecord::Batch(header, operations) => {
                    self.note(header.first_seqno, u64::from(header.count));
                    let of_batch = header.default_operator;
                    let mut bytes = ByteReader::new(operations);
                    for seqno in (header.first_seqno..).take(header.count as usize) {
                        let Operation { keyspace, stamped, kind, operator, .. } =
                            Operation::decode_logged(&mut bytes)?;
                        self.keyspaces.insert(keyspace);
                        let operator = if operator == NO_OPERATOR { of_batch } else { operator };
                        if kind == Kind::Merge {
                            self.last_operator = operator.max(self.last_operator);
                        }
                        if stamped {
                            self.stamped.insert(keyspace);
                        }
                        if seqno > flushed.get(&keyspace).copied().unwrap_or(0) {
                            let first = self.unflushed.entry(keyspace).or_insert(seqno);
                            *first = seqno.min(*first);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes the sequence numbers of a batch. Logs are read in the order of writes.
    fn note(&mut self, first: SeqNo, count: u64) {
        if count == 0 {
            return;
        }
        match self.stretches.last_mut() {
            Some((_, last)) if *last + 1 == first => *last += count,
            _ => self.stretches.push((first, first + count - 1)),
        }
    }
}
