//! What logs tell where there is no manifest: whose they are, and which keyspaces there must be.
//!
//! A keyspace that was never flushed is in logs only; what was written to it is replayed into one
//! of that id:
//!
//! ```text
//! tables: of keyspace 2     log: 0.PUT.7  3.PUT.8     there are 0, 2 and 3
//! ```
//!
//! One that was dropped may come back, for as long as a log names it. Damage in a log is its
//! replay's to tell: here it only ends what the log tells.

use std::collections::BTreeSet;

use foldb_env::FileSystem;

use crate::batch::Operation;
use crate::encoding::ByteReader;
use crate::error::{ErrorKind, Result};
use crate::key::KeyspaceId;
use crate::version::FileNames;
use crate::wal::{LogReader, LogRecord};

/// What all logs tell.
#[derive(Debug, Default)]
pub(super) struct LogsTell {
    /// That of the oldest one that can be read.
    pub(super) database: Option<u64>,
    /// Keyspaces that were written to.
    pub(super) keyspaces: BTreeSet<KeyspaceId>,
}

impl LogsTell {
    /// Reads the logs of these numbers.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn of(fs: &dyn FileSystem, names: &FileNames, numbers: &[u64]) -> Result<LogsTell> {
        let mut told = LogsTell::default();
        for &number in numbers {
            let mut log = LogReader::open(fs, &names.log(number), number)?;
            match told.read(&mut log) {
                Err(error) if error.kind() == ErrorKind::Corruption => {}
                read => read?,
            }
        }
        Ok(told)
    }

    fn read(&mut self, log: &mut LogReader) -> Result<()> {
        let mut record = Vec::new();
        while log.next(&mut record)? {
            match LogRecord::decode(&record)? {
                LogRecord::Header(header) => {
                    self.database.get_or_insert(header.database);
                }
                LogRecord::Definition(_) => {}
                LogRecord::Batch(header, operations) => {
                    let mut bytes = ByteReader::new(operations);
                    for _ in 0..header.count {
                        self.keyspaces.insert(Operation::decode_logged(&mut bytes)?.keyspace);
                    }
                }
            }
        }
        Ok(())
    }
}
