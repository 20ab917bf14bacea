//! The keyspaces that the records of the logs announced, up to a place in the history.
//!
//! The manifest keeps a creation durably, and the record of it in the log may be lost: to a power
//! loss, to a kill between the two, or to a full disk before the next batch. The next open compares
//! what was announced with the keyspaces that exist, and writes the missing records:
//!
//! ```text
//! log 7: lineage [] | a.PUT.1 | (created x, lost)     log 9: lineage [] | created x
//! ```
//!
//! So a follower learns of the keyspace in log 9 even if it cannot compare with log 7.
//!
//! Invariant: the list at the beginning of a log says no more than the log before it announced.
//! What exists beyond that follows as records. A log that ends without records that it owes leaves
//! them to the next one (`WriterState::owed`).

use std::collections::BTreeSet;

use crate::error::Result;
use crate::key::KeyspaceId;
use crate::wal::{
    Lineage, LogReader, LogRecord, LogWriter, NamedKeyspace, Predecessor, encode_created,
    encode_dropped,
};

/// The keyspaces that a log announced.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    /// Those of the log's list, with the creations and without the drops after it.
    pub(crate) listed: Vec<NamedKeyspace>,
}

impl Announced {
    pub(crate) fn list(&mut self, lineage: &Lineage) {
        self.listed.clone_from(&lineage.keyspaces);
    }

    pub(crate) fn create(&mut self, keyspace: NamedKeyspace) {
        self.drop_id(keyspace.id);
        self.listed.push(keyspace);
    }

    pub(crate) fn drop_id(&mut self, id: KeyspaceId) {
        self.listed.retain(|own| own.id != id);
    }

    /// Appends records of what was dropped and created since. A keyspace that came and went needs
    /// none, because no logged write names it.
    ///
    /// # Errors
    /// As [`LogWriter::append`]. The records before it were appended.
    pub(crate) fn append_rest(
        &mut self,
        log: &mut LogWriter,
        existing: Vec<NamedKeyspace>,
    ) -> Result<()> {
        let ids = |listed: &[NamedKeyspace]| -> BTreeSet<_> {
            listed.iter().map(|keyspace| keyspace.id).collect()
        };
        let (known, now) = (ids(&self.listed), ids(&existing));
        for &id in known.difference(&now) {
            encode_dropped(id, log.begin());
            log.append()?;
            self.drop_id(id);
        }
        for keyspace in existing.into_iter().filter(|own| !known.contains(&own.id)) {
            encode_created(&keyspace, log.begin());
            log.append()?;
            self.listed.push(keyspace);
        }
        Ok(())
    }

    /// Reads a log up to its end.
    ///
    /// # Errors
    /// `Io` or `Corruption` if the log cannot be read.
    pub(crate) fn before(end: Predecessor, mut log: LogReader) -> Result<Announced> {
        let (mut announced, mut record) = (Announced::default(), Vec::new());
        while log.next_through(end.frames, &mut record)? {
            let noted = announced.note(&record);
            noted.map_err(|error| error.in_file(log.path()))?;
        }
        Ok(announced)
    }

    fn note(&mut self, record: &[u8]) -> Result<()> {
        match LogRecord::decode(record)? {
            LogRecord::Header(_) | LogRecord::Definition(_) | LogRecord::Batch(..) => {}
            LogRecord::Lineage(lineage) => self.list(&lineage),
            LogRecord::Created(keyspace) => self.create(keyspace),
            LogRecord::Dropped(id) => self.drop_id(id),
        }
        Ok(())
    }
}
