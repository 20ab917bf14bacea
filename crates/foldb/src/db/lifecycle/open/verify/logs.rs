//! Verification of logs: every frame and operation, then all logs as an open would replay them.

use std::path::Path;

use crate::db::lifecycle::open::assembly::replayed_keyspaces;
use crate::db::lifecycle::open::files::{check_log, logs_in};
use crate::db::lifecycle::open::verify::tables::Operands;
use crate::db::lifecycle::open::verify::{Checked, Recorded, Verification};
use crate::db::lifecycle::replay::{Replay, WhenFull, needed_logs, replay_logs};
use crate::encoding::ByteReader;
use crate::error::Result;
use crate::fold::Registry;
use crate::key::{Kind, MAX_SEQNO, NO_OPERATOR, RecordHeader};
use crate::operation::Operation;
use crate::wal::{LogReader, LogRecord};

impl Verification<'_> {
    /// Checks the needed logs; without a manifest, all logs.
    pub(crate) fn logs(&mut self, recorded: Option<&Recorded>) {
        let first = recorded.map_or(0, |recorded| recorded.stored.log);
        let before = self.report.faults.len();
        let closed = self.closed.clone();
        let is_needed = |log: &u64| match &closed {
            Some(closed) => closed.log(*log).is_some(),
            None => *log >= first,
        };
        for number in logs_in(&self.present).into_iter().filter(is_needed) {
            let path = self.names.log(number);
            let len = self.fs.len(&path).unwrap_or(0);
            let registry = recorded.map(|recorded| &*recorded.stored.registry);
            let checked = self.log(&path, number, registry);
            self.finished(path, len, checked);
        }
        if let Some(recorded) = recorded
            && self.report.faults.len() == before
            && let Err(error) = self.replay(recorded)
        {
            self.fault(error);
        }
    }

    fn log(&mut self, path: &Path, number: u64, registry: Option<&Registry>) -> Result<Checked> {
        let mut log = LogReader::open(&*self.fs, path, number)?;
        let records = self.records(&mut log, registry)?;
        let end = log.end_as(self.closed.as_ref().and_then(|closed| closed.log(number)))?;
        Ok(Checked { bytes: end.offset, records })
    }

    /// Checks the records of a log up to its end. Returns their number.
    pub(super) fn records(
        &mut self,
        log: &mut LogReader,
        registry: Option<&Registry>,
    ) -> Result<u64> {
        let (mut record, mut records, mut offset) = (Vec::new(), 0, 0);
        while log.next(&mut record)? {
            let checked = match LogRecord::decode(&record) {
                Ok(LogRecord::Header(_)) => Ok(()),
                Ok(LogRecord::Lineage(_) | LogRecord::Created(_) | LogRecord::Dropped(_)) => {
                    records += 1;
                    Ok(())
                }
                Ok(LogRecord::Definition(definition)) => {
                    records += 1;
                    registry.map_or(Ok(()), |registry| registry.adopt(&definition))
                }
                Ok(LogRecord::Batch(header, operations)) => {
                    records += 1;
                    self.operations(header.count, header.default_operator, operations, registry)
                }
                Err(error) => Err(error),
            };
            checked.map_err(|error| error.at(log.path(), offset))?;
            offset = log.offset();
        }
        Ok(records)
    }

    fn operations(
        &mut self,
        count: u32,
        default_operator: u32,
        operations: &[u8],
        registry: Option<&Registry>,
    ) -> Result<()> {
        let mut bytes = ByteReader::new(operations);
        for _ in 0..count {
            let operation = Operation::decode_logged(&mut bytes)?;
            let Some(registry) = registry.filter(|_| operation.kind == Kind::Merge) else {
                continue;
            };
            let operator = match operation.operator {
                NO_OPERATOR => default_operator,
                named => named,
            };
            let mut operands = Operands { registry, unchecked: 0 };
            let header = RecordHeader { seqno: 0, kind: Kind::Merge, operator };
            operands.check(operation.key, header, operation.value)?;
            self.report.unchecked_operands += operands.unchecked;
        }
        Ok(())
    }

    /// Replays the logs as an open would: each log must follow its predecessor, and no synced write
    /// may be missing.
    fn replay(&self, recorded: &Recorded) -> Result<()> {
        let stored = &recorded.stored;
        check_log(stored.log, &self.present, &self.names)?;
        let replay = Replay {
            options: &self.options,
            names: &self.names,
            registry: &stored.registry,
            runtime: &self.runtime,
            member: self.runtime.next_database(),
            memtable_bytes: self.options.write_buffer_size,
            first_log: stored.log,
            logs: needed_logs(
                &*self.fs,
                &self.names,
                stored.log,
                logs_in(&self.present),
                self.closed.as_ref(),
            ),
            closed: self.closed.as_ref(),
            totals: &stored.totals,
            counted_through: stored.last_seqno,
            through: MAX_SEQNO,
            database: Some(stored.database),
            keyspaces: replayed_keyspaces(stored, &recorded.parts),
            next_keyspace: stored.next_keyspace,
            by_log: false,
        };
        replay_logs(replay, WhenFull::Pass(&mut |_, _| Ok(()))).map(drop)
    }
}
