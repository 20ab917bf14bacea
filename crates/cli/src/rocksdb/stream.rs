//! The records of a column family as one stream of visible entries.
//!
//! The stream merges the logs and all tables. The newest record of a key that is a value or a
//! tombstone, or that a tombstone of a range covers, ends its history. What was merged after it is
//! returned as operands.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::path::PathBuf;

use foldb_rocksdb_format::kind::{
    BLOB_INDEX, DELETION, DELETION_WITH_TIMESTAMP, ENTITY, MERGE, SINGLE_DELETION, TIMED_VALUE,
    VALUE,
};
use foldb_rocksdb_format::{Fault, edit, entity};

use super::blobs::Blobs;
use super::losses::Losses;
use super::order::Order;
use super::table::Table;
use super::tombstones::Tombstones;
use crate::exit::{Exit, Outcome};
use crate::foreign::Stream;
use crate::form::escape::quoted;
use crate::location::shown;

/// A record of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) sequence: u64,
    pub(super) kind: u8,
    pub(super) value: Vec<u8>,
}

/// The records of some files, in the order of their keys.
#[derive(Debug)]
pub(super) enum Run {
    /// Those of all logs.
    Logs(std::vec::IntoIter<(Vec<u8>, Vec<Version>)>, Option<(Vec<u8>, Vec<Version>)>),
    /// Those of tables that follow each other.
    Tables(VecDeque<edit::Table>, Option<Box<Table>>),
}

/// What the runs of a family have in common.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) directory: PathBuf,
    pub(super) order: Order,
    pub(super) losses: Losses,
}

impl Run {
    /// Moves behind the records of the present key, which go to `into`.
    fn take(&mut self, key: &[u8], into: &mut Vec<Version>, place: &Place) -> Outcome {
        match self {
            Run::Logs(waiting, present) => {
                if let Some((_, versions)) = present.take_if(|(own, _)| own == key) {
                    into.extend(versions);
                    *present = waiting.next();
                }
            }
            Run::Tables(..) => {
                while let Run::Tables(_, Some(table)) = self {
                    let Some((_, sequence, kind)) = table.key().filter(|&(own, ..)| own == key)
                    else {
                        break;
                    };
                    into.push(Version { sequence, kind, value: table.value().to_vec() });
                    self.advance(place)?;
                }
            }
        }
        Ok(())
    }

    /// Moves to the next record, or to none.
    pub(super) fn advance(&mut self, place: &Place) -> Outcome {
        let (waiting, open) = match self {
            Run::Logs(waiting, present) => {
                *present = waiting.next();
                return Ok(());
            }
            Run::Tables(waiting, open) => (waiting, open),
        };
        loop {
            if let Some(table) = open
                && table.advance()?
            {
                return Ok(());
            }
            let Some(info) = waiting.pop_front() else {
                *open = None;
                return Ok(());
            };
            let table = Table::open(&place.directory, &info, place.order, &place.losses)?;
            *open = table.map(Box::new);
        }
    }

    fn key(&self) -> Option<&[u8]> {
        match self {
            Run::Logs(_, present) => present.as_ref().map(|(key, _)| &key[..]),
            Run::Tables(_, table) => table.as_ref()?.key().map(|(key, ..)| key),
        }
    }
}

/// The visible entries of a family.
#[derive(Debug)]
pub(crate) struct Entries {
    place: Place,
    runs: Vec<Run>,
    tombstones: Tombstones,
    blobs: Blobs,
    /// Whether values of several columns lose all but their default column.
    only_default_column: bool,
    /// Whether a value below operands is not visible.
    forgets_base: bool,
    key: Vec<u8>,
    has_key: bool,
    base: Option<Vec<u8>>,
    operands: Vec<Vec<u8>>,
    versions: Vec<Version>,
}

impl Entries {
    /// Merges runs, each of which is on its first record.
    pub(super) fn new(
        place: Place,
        runs: Vec<Run>,
        tombstones: Tombstones,
        only_default_column: bool,
        forgets_base: bool,
    ) -> Entries {
        Entries {
            blobs: Blobs::new(&place.directory, &place.losses),
            place,
            runs,
            tombstones,
            only_default_column,
            forgets_base,
            key: Vec::new(),
            has_key: false,
            base: None,
            operands: Vec::new(),
            versions: Vec::new(),
        }
    }

    /// Moves to the next key, whether it is visible or not, and collects its records.
    fn next_key(&mut self) -> Outcome<bool> {
        let order = self.place.order;
        let keys = self.runs.iter().filter_map(Run::key);
        let Some(least) = keys.min_by(|one, other| order.compare(one, other)) else {
            return Ok(false);
        };
        if self.has_key && order.compare(least, &self.key).is_le() {
            let name = shown(&self.place.directory);
            return Err(Exit::failed(format!(
                "corruption: tables of one level of {name} overlap: nothing was imported"
            )));
        }
        self.has_key = true;
        self.key.clear();
        self.key.extend_from_slice(least);
        self.versions.clear();
        for run in &mut self.runs {
            run.take(&self.key, &mut self.versions, &self.place)?;
        }
        self.versions.sort_by_key(|version| Reverse((version.sequence, version.kind)));
        self.versions.dedup_by_key(|version| (version.sequence, version.kind));
        Ok(true)
    }

    /// Finds what is visible of the collected records. Returns whether there is something.
    fn resolve(&mut self) -> Outcome<bool> {
        let covered = self.tombstones.over(&self.key);
        self.base = None;
        self.operands.clear();
        for version in std::mem::take(&mut self.versions) {
            if version.sequence < covered {
                break;
            }
            match version.kind {
                MERGE => self.operands.push(version.value),
                DELETION | SINGLE_DELETION | DELETION_WITH_TIMESTAMP => break,
                kind => {
                    match self.value(kind, version.value)? {
                        Some(value) => self.base = Some(value),
                        // The operands alone would give an answer that the database never gave.
                        None => self.operands.clear(),
                    }
                    break;
                }
            }
        }
        if self.forgets_base && !self.operands.is_empty() {
            self.base = None;
        }
        self.operands.reverse();
        Ok(self.base.is_some() || !self.operands.is_empty())
    }

    /// Returns the value of a record. `None` if it is given up.
    fn value(&mut self, kind: u8, stored: Vec<u8>) -> Outcome<Option<Vec<u8>>> {
        match kind {
            VALUE => Ok(Some(stored)),
            BLOB_INDEX => self.blobs.get(&self.key, &stored),
            ENTITY => self.default_column(&stored),
            TIMED_VALUE => match stored.split_last_chunk::<8>() {
                Some((value, _time)) => Ok(Some(value.to_vec())),
                None => self.lost(Fault::damaged("a value with a time is cut")),
            },
            other => self.lost(Fault::damaged(format!("a record is of the kind {other:#x}"))),
        }
    }

    fn default_column(&mut self, stored: &[u8]) -> Outcome<Option<Vec<u8>>> {
        let columns = match entity::decode(stored) {
            Ok(columns) => columns,
            Err(fault) => return self.lost(fault),
        };
        let named = columns.iter().find(|column| !column.name.is_empty());
        if let Some(column) = named
            && !self.only_default_column
        {
            return Err(Exit::failed(format!(
                "the value of key {} has the column {}, and foldb's values have no columns: import \
                 only the default column of such values with --only-default-column",
                quoted(&self.key),
                quoted(column.name)
            )));
        }
        match columns.iter().find(|column| column.name.is_empty()) {
            Some(column) if column.is_blob => self.blobs.get(&self.key, column.value),
            Some(column) => Ok(Some(column.value.to_vec())),
            // RocksDB shows an empty value, too.
            None => Ok(Some(Vec::new())),
        }
    }

    fn lost(&self, fault: Fault) -> Outcome<Option<Vec<u8>>> {
        let of_key = |what: String| format!("{what}, of key {}", quoted(&self.key));
        let fault = match fault {
            Fault::Damaged(what) => Fault::Damaged(of_key(what)),
            Fault::Unsupported(what) => Fault::Unsupported(of_key(what)),
        };
        self.place.losses.note(&self.place.directory, 0, fault).map(|()| None)
    }
}

impl Stream for Entries {
    fn advance(&mut self) -> Outcome<bool> {
        while self.next_key()? {
            if self.resolve()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn key(&self) -> &[u8] {
        &self.key
    }

    fn base(&self) -> Option<&[u8]> {
        self.base.as_deref()
    }

    fn operands(&self) -> &[Vec<u8>] {
        &self.operands
    }
}
