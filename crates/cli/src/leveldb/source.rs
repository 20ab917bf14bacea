//! A LevelDB database as one stream of entries, in the order of their keys.
//!
//! The stream merges the logs and all tables. Of each key it returns the newest write, unless this
//! is a deletion: the entries that LevelDB itself shows after an open.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use foldb_leveldb_format::edit::TableInfo;
use foldb_leveldb_format::encoding::{VALUE, kind_of, sequence_of, split_internal};
use foldb_leveldb_format::manifest::Manifest;

use super::log::Writes;
use super::manifest;
use super::table::{Table, path_of};
use crate::exit::{Exit, Outcome};
use crate::foreign::lock::SharedLock;
use crate::foreign::{Listing, Stream};
use crate::location::shown;

/// What a database consists of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Tables, and their bytes.
    pub tables: u64,
    pub table_bytes: u64,
    /// Logs whose writes are not in tables yet, and their bytes.
    pub logs: u64,
    pub log_bytes: u64,
    /// Bytes of an incomplete record at the end of the newest log. LevelDB leaves them out, too.
    pub tail_bytes: u64,
}

/// A database being read.
#[derive(Debug)]
pub(crate) struct Source {
    directory: PathBuf,
    facts: Facts,
    last_sequence: u64,
    /// The runs of sorted entries. The smallest key of all is the next one.
    runs: Vec<Run>,
    /// The run that the current entry comes from.
    current: Option<usize>,
    /// The key that was looked at last.
    key: Vec<u8>,
    has_key: bool,
    /// The files before the first read.
    listing: Listing,
    manifest: PathBuf,
    _lock: SharedLock,
}

/// Entries in the order of their keys.
#[derive(Debug)]
enum Run {
    Logs(std::collections::btree_map::IntoIter<Vec<u8>, (u64, Vec<u8>)>, Option<Logged>),
    /// Tables of one level, which follow each other.
    Level(PathBuf, VecDeque<TableInfo>, Option<Box<Table>>),
}

#[derive(Debug)]
struct Logged {
    key: Vec<u8>,
    tag: u64,
    value: Vec<u8>,
}

impl Run {
    /// Moves to the next entry. At the end, the run has no entry.
    fn advance(&mut self) -> Outcome {
        match self {
            Run::Logs(writes, entry) => {
                *entry = writes.next().map(|(key, (tag, value))| Logged { key, tag, value });
            }
            Run::Level(directory, waiting, open) => loop {
                if let Some(table) = open
                    && table.advance()?
                {
                    break;
                }
                *open = match waiting.pop_front() {
                    None => None,
                    Some(info) => Some(Box::new(Table::open(directory, &info)?)),
                };
                if open.is_none() {
                    break;
                }
            },
        }
        Ok(())
    }

    /// Returns the user key and the tag of the entry.
    fn key(&self) -> Option<(&[u8], u64)> {
        match self {
            Run::Logs(_, entry) => entry.as_ref().map(|entry| (&entry.key[..], entry.tag)),
            Run::Level(_, _, table) => table.as_ref().map(|table| table.key()),
        }
    }

    fn value(&self) -> &[u8] {
        match self {
            Run::Logs(_, entry) => entry.as_ref().map_or(&[], |entry| &entry.value),
            Run::Level(_, _, table) => table.as_ref().map_or(&[], |table| table.value()),
        }
    }
}

impl Source {
    /// Opens the database in a directory, and reads its manifest and logs.
    ///
    /// # Errors
    /// Fails for damage, for a missing table, for another comparator, and if a program has the
    /// database open.
    pub(crate) fn open(directory: &Path) -> Outcome<Source> {
        let lock = SharedLock::take(directory)?;
        let listing = Listing::of(directory)?;
        let current = manifest::in_force(directory)?;
        let manifest = manifest::read(directory)?;
        for info in manifest.tables.values() {
            path_of(directory, info.number)?;
        }
        let logs = logs_in(directory, &listing, &manifest)?;
        let mut writes = Writes::after(manifest.last_sequence);
        for (n, log) in logs.iter().enumerate() {
            writes.add(log, n + 1 == logs.len())?;
        }
        let facts = Facts {
            tables: manifest.tables.len() as u64,
            // The manifest's sizes are compared with the files later.
            table_bytes: manifest
                .tables
                .values()
                .fold(0, |bytes, info| bytes.saturating_add(info.size)),
            logs: logs.len() as u64,
            log_bytes: writes.bytes,
            tail_bytes: writes.tail,
        };
        let mut source = Source {
            directory: directory.to_owned(),
            facts,
            last_sequence: writes.last_sequence,
            runs: runs_of(directory, manifest, writes),
            current: None,
            key: Vec::new(),
            has_key: false,
            listing,
            manifest: current,
            _lock: lock,
        };
        source.runs.iter_mut().try_for_each(Run::advance)?;
        Ok(source)
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Checks, after the last entry, that no program changed the database meanwhile.
    ///
    /// # Errors
    /// Fails if a file appeared, disappeared or has another length.
    pub(crate) fn check_unchanged(&self) -> Outcome {
        self.listing.check_unchanged()?;
        match manifest::in_force(&self.directory)? == self.manifest {
            true => Ok(()),
            false => Err(self.listing.changed()),
        }
    }
}

impl Stream for Source {
    fn advance(&mut self) -> Outcome<bool> {
        loop {
            if let Some(current) = self.current.take() {
                self.runs[current].advance()?;
            }
            let entries = self.runs.iter().enumerate().filter_map(|(n, run)| Some((run.key()?, n)));
            let least = entries.min_by_key(|&((key, tag), _)| (key, Reverse(tag)));
            let Some(((key, tag), n)) = least else { return Ok(false) };
            if sequence_of(tag) > self.last_sequence {
                return Err(Exit::failed(format!(
                    "corruption: a write has sequence number {}, but the last one of {} is {}: \
                     nothing was imported; repair the database with LevelDB",
                    sequence_of(tag),
                    shown(&self.directory),
                    self.last_sequence
                )));
            }
            self.current = Some(n);
            if self.has_key && key <= &self.key[..] {
                // An older write of the same key follows the newest one.
                if key == self.key {
                    continue;
                }
                return Err(Exit::failed(format!(
                    "corruption: tables of one level of {} overlap: nothing was imported; repair \
                     the database with LevelDB",
                    shown(&self.directory)
                )));
            }
            self.has_key = true;
            self.key.clear();
            self.key.extend_from_slice(key);
            if kind_of(tag) == VALUE {
                return Ok(true);
            }
        }
    }

    fn key(&self) -> &[u8] {
        &self.key
    }

    fn base(&self) -> Option<&[u8]> {
        self.current.map(|current| self.runs[current].value())
    }
}

/// Returns the logs whose writes may be missing in tables, oldest first.
///
/// # Errors
/// Fails if the first of them is missing. LevelDB creates it before the manifest names it, so then
/// the log was lost, or the last edits of the manifest.
fn logs_in(directory: &Path, listing: &Listing, manifest: &Manifest) -> Outcome<Vec<PathBuf>> {
    let mut logs = listing.numbered(".log");
    logs.retain(|&(number, _)| manifest.needs_log(number));
    if manifest.log > 0 && !logs.iter().any(|(number, _)| *number == manifest.log) {
        let path = directory.join(format!("{:06}.log", manifest.log));
        return Err(Exit::failed(format!(
            "corruption: the log {} is missing: nothing was imported; restore it from a copy, or \
             repair the database with LevelDB, which gives up its writes",
            shown(&path)
        )));
    }
    let path = |&(number, _): &(u64, u64)| directory.join(format!("{number:06}.log"));
    Ok(logs.iter().map(path).collect())
}

fn runs_of(directory: &Path, manifest: Manifest, writes: Writes) -> Vec<Run> {
    let mut levels: Vec<Vec<TableInfo>> = Vec::new();
    let mut tables: Vec<TableInfo> = manifest.tables.into_values().collect();
    // Tables of one level above 0 do not overlap, so the order of their first keys is that of all.
    tables.sort_by(|one, other| (one.level, order(one)).cmp(&(other.level, order(other))));
    for table in tables {
        match levels.last_mut() {
            Some(level) if table.level > 0 && level[0].level == table.level => level.push(table),
            _ => levels.push(vec![table]),
        }
    }
    let mut runs = vec![Run::Logs(writes.newest.into_iter(), None)];
    runs.extend(
        levels.into_iter().map(|level| Run::Level(directory.to_owned(), level.into(), None)),
    );
    runs
}

fn order(info: &TableInfo) -> (&[u8], Reverse<u64>) {
    let split = split_internal(&info.smallest);
    split.map_or((&info.smallest, Reverse(0)), |(key, tag)| (key, Reverse(tag)))
}
