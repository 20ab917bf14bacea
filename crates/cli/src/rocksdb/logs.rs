//! The writes of RocksDB's logs.
//!
//! A prepared transaction takes effect where it is committed. One that is never committed is not
//! visible.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foldb_rocksdb_format::batch::{Batch, Record, Write};
use foldb_rocksdb_format::kind::{RANGE_DELETION, SEQUENCES};
use foldb_rocksdb_format::manifest::Manifest;
use foldb_rocksdb_format::wal::Wal;
use foldb_rocksdb_format::{Fault, Read};

use super::losses::Losses;
use super::stream::Version;
use super::tombstones::Tombstone;
use crate::exit::Outcome;
use crate::foreign::read_file;

/// The writes of a family that are in no table.
#[derive(Debug, Default)]
pub(super) struct Logged {
    /// By key, the oldest first.
    pub(super) versions: BTreeMap<Vec<u8>, Vec<Version>>,
    pub(super) tombstones: Vec<Tombstone>,
}

/// The writes of all logs.
#[derive(Debug, Default)]
pub(super) struct Writes {
    /// By the number of the family.
    pub(super) families: BTreeMap<u32, Logged>,
    /// The first log whose writes count, for each family.
    first_logs: BTreeMap<u32, u64>,
    last_sequence: u64,
    /// Transactions that are prepared and not committed, by name.
    prepared: BTreeMap<Vec<u8>, Vec<Prepared>>,
    /// Bytes of the logs.
    pub(super) bytes: u64,
    /// Bytes after the last whole record of the newest log.
    pub(super) tail: u64,
}

#[derive(Debug)]
struct Prepared {
    family: u32,
    kind: u8,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Writes {
    /// Reads the logs, given by number and path, the oldest first.
    ///
    /// # Errors
    /// Fails for damage, if nothing may be given up.
    pub(super) fn read(
        logs: &[(u64, PathBuf)],
        manifest: &Manifest,
        losses: &Losses,
    ) -> Outcome<Writes> {
        let first =
            |(&id, family): (&u32, &foldb_rocksdb_format::manifest::Family)| (id, family.log);
        let mut writes = Writes {
            first_logs: manifest.families.iter().map(first).collect(),
            last_sequence: manifest.last_sequence,
            ..Writes::default()
        };
        for (number, path) in logs {
            let bytes = read_file(path)?;
            writes.bytes += bytes.len() as u64;
            if let Err((at, fault)) = writes.log(&bytes, *number) {
                losses.note(path, at as u64, fault)?;
            }
        }
        Ok(writes)
    }

    /// Returns how many transactions are prepared and not committed.
    pub(super) fn prepared(&self) -> u64 {
        self.prepared.len() as u64
    }

    /// Adds the writes of a log, up to damage.
    fn log(&mut self, bytes: &[u8], number: u64) -> Result<(), (usize, Fault)> {
        let mut wal = Wal::new(bytes, number);
        // The log before was cut. Then its lost writes would be those before this log.
        let mut expected = (self.tail > 0).then_some(self.last_sequence + 1);
        self.tail = 0;
        loop {
            let batch = match wal.next() {
                Ok(Some(record)) => Batch::new(record),
                Ok(None) => break,
                Err(bad) => return Err((bad.at, bad.fault)),
            };
            let added = batch.and_then(|batch| {
                if let Some(expected) = expected.take()
                    && batch.sequence > expected
                {
                    let before = expected - 1;
                    return Err(Fault::damaged(format!(
                        "the writes after sequence number {before} are missing"
                    )));
                }
                self.batch(batch, number)
            });
            added.map_err(|fault| (wal.offset(), fault))?;
        }
        self.tail = wal.tail();
        Ok(())
    }

    fn batch(&mut self, batch: Batch<'_>, log: u64) -> Read<()> {
        let mut sequence = batch.sequence;
        let mut section: Option<Vec<Prepared>> = None;
        for record in batch {
            match (record?, &mut section) {
                (Record::Write(write), Some(section)) => section.push(Prepared {
                    family: write.family,
                    kind: write.kind,
                    key: write.key.to_vec(),
                    value: write.value.to_vec(),
                }),
                (Record::Write(write), None) => self.add(write, &mut sequence, log)?,
                (Record::Begin, _) => section = Some(Vec::new()),
                (Record::End(name), _) => {
                    self.prepared.insert(name.to_vec(), section.take().unwrap_or_default());
                }
                (Record::Rollback(name), _) => drop(self.prepared.remove(name)),
                (Record::Commit(name), _) => {
                    // Without its writes, they were flushed already.
                    for Prepared { family, kind, key, value } in
                        self.prepared.remove(name).unwrap_or_default()
                    {
                        let write = Write { family, kind, key: &key, value: &value };
                        self.add(write, &mut sequence, log)?;
                    }
                }
                (Record::Other, _) => {}
            }
        }
        Ok(())
    }

    /// Adds a write, unless it is in a table already, or its family was dropped.
    fn add(&mut self, write: Write<'_>, next: &mut u64, log: u64) -> Read<()> {
        let sequence = *next;
        if sequence >= SEQUENCES {
            return Err(Fault::damaged("a batch has a sequence number of more than 56 bits"));
        }
        *next += 1;
        self.last_sequence = self.last_sequence.max(sequence);
        let Some(&first) = self.first_logs.get(&write.family) else { return Ok(()) };
        if log < first {
            return Ok(());
        }
        let logged = self.families.entry(write.family).or_default();
        if write.kind == RANGE_DELETION {
            logged.tombstones.push(Tombstone {
                start: write.key.to_vec(),
                end: write.value.to_vec(),
                has_end: false,
                sequence,
            });
            return Ok(());
        }
        let version = Version { sequence, kind: write.kind, value: write.value.to_vec() };
        match logged.versions.get_mut(write.key) {
            Some(versions) => versions.push(version),
            None => drop(logged.versions.insert(write.key.to_vec(), vec![version])),
        }
        Ok(())
    }
}

/// Returns the logs that may have writes which are in no table, the oldest first.
pub(super) fn needed(
    found: &[(u64, u64)],
    directory: &Path,
    manifest: &Manifest,
) -> Vec<(u64, PathBuf)> {
    let needed = found.iter().filter(|(number, _)| manifest.needs_log(*number));
    needed.map(|&(number, _)| (number, directory.join(format!("{number:06}.log")))).collect()
}
