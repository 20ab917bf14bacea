//! A RocksDB table, read from its first key to its last.
//!
//! Invariant: a table whose last key was returned had every block and every key that its index and
//! its properties promise, unless its losses say otherwise.

use std::path::{Path, PathBuf};

use foldb_rocksdb_format::kind::{RANGE_DELETION, SEQUENCES, split, user_key};
use foldb_rocksdb_format::properties::Properties;
use foldb_rocksdb_format::table::{self, Input, RangeDeletion};
use foldb_rocksdb_format::{Fault, Read, edit};

use super::losses::Losses;
use super::order::Order;
use super::tombstones::Tombstone;
use crate::exit::{Exit, Outcome};
use crate::foreign::window::Window;

/// A table being read.
#[derive(Debug)]
pub(super) struct Table {
    reader: table::Table<Window>,
    info: edit::Table,
    order: Order,
    losses: Losses,
    /// The sequence number of all records, if the table was written outside of the database.
    sequence: Option<u64>,
    /// The internal key that was returned last.
    last: Vec<u8>,
    read: u64,
    has_losses: bool,
}

/// Why a step failed: damage at an offset, or another error.
type Stop = table::Stop<Exit>;

impl Input for Window {
    type Error = Exit;

    fn size(&self) -> u64 {
        Window::size(self)
    }

    fn bytes(&mut self, at: u64, len: usize) -> Outcome<Vec<u8>> {
        Window::bytes(self, at, len)
    }
}

/// Returns the path of a table. Databases that LevelDB began have some with the second ending.
pub(super) fn path_of(directory: &Path, number: u64) -> PathBuf {
    let path = directory.join(format!("{number:06}.sst"));
    let old = directory.join(format!("{number:06}.ldb"));
    if !path.exists() && old.exists() { old } else { path }
}

impl Table {
    /// Opens a table. `None` if it is given up.
    ///
    /// # Errors
    /// Fails if the table is missing or damaged, and nothing may be given up.
    pub(super) fn open(
        directory: &Path,
        info: &edit::Table,
        order: Order,
        losses: &Losses,
    ) -> Outcome<Option<Table>> {
        let path = path_of(directory, info.number);
        match Table::read(&path, info, order, losses) {
            Ok(table) => Ok(Some(table)),
            Err(Stop::Input(exit)) => Err(exit),
            Err(Stop::At(at, fault)) => losses.note(&path, at, fault).map(|()| None),
        }
    }

    fn read(path: &Path, info: &edit::Table, order: Order, losses: &Losses) -> Result<Table, Stop> {
        let reader = table::Table::open(window(path, info)?)?;
        Ok(Table {
            sequence: global_sequence(reader.properties(), info),
            reader,
            info: info.clone(),
            order,
            losses: losses.clone(),
            last: Vec::new(),
            read: 0,
            has_losses: false,
        })
    }

    pub(super) fn properties(&self) -> &Properties {
        self.reader.properties()
    }

    /// Moves to the next record. Returns false after the last one.
    ///
    /// # Errors
    /// Fails for damage, if nothing may be given up.
    pub(super) fn advance(&mut self) -> Outcome<bool> {
        loop {
            match self.step() {
                Ok(is_record) => return Ok(is_record),
                Err(Stop::Input(exit)) => return Err(exit),
                Err(Stop::At(at, fault)) => {
                    self.losses.note(self.reader.input().path(), at, fault)?;
                    self.has_losses = true;
                    self.reader.skip_block();
                }
            }
        }
    }

    fn step(&mut self) -> Result<bool, Stop> {
        if !self.reader.advance()? {
            self.check_count()?;
            return Ok(false);
        }
        let at = self.reader.offset();
        self.check_key().map_err(|fault| Stop::At(at, fault))?;
        self.read += 1;
        Ok(true)
    }

    /// Checks that the keys ascend, and lie within the bounds that the manifest has.
    fn check_key(&mut self) -> Read<()> {
        let key = self.reader.key();
        let (user, sequence, kind) =
            split(key).ok_or_else(|| Fault::damaged("a key is damaged"))?;
        let bound = |bound: &[u8]| user_key(bound).unwrap_or_default().to_vec();
        let (smallest, largest) = (bound(&self.info.smallest), bound(&self.info.largest));
        let is_outside = self.order.compare(user, &smallest).is_lt()
            || self.order.compare(user, &largest).is_gt();
        if is_outside {
            return Err(Fault::damaged("a key is outside of the bounds that the manifest has"));
        }
        if let Some((last, last_sequence, last_kind)) = split(&self.last) {
            let order = self.order.compare(last, user);
            let order = order.then((sequence, kind).cmp(&(last_sequence, last_kind)));
            if !order.is_lt() {
                return Err(Fault::damaged("the keys do not ascend"));
            }
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(())
    }

    /// Compares the number of records with the properties. Some releases count tombstones of ranges
    /// too, so a larger number is no damage.
    fn check_count(&mut self) -> Result<(), Stop> {
        let Some(expected) = self.reader.properties().entries else { return Ok(()) };
        let found = std::mem::replace(&mut self.read, expected);
        let is_short = found < expected && !self.reader.has_range_deletions();
        if self.has_losses || !(is_short || found > expected) {
            return Ok(());
        }
        let what = format!("expected {expected} records in the table, found {found}");
        Err(Stop::At(0, Fault::damaged(what)))
    }

    /// Returns the user key, sequence number and kind of the present record.
    pub(super) fn key(&self) -> Option<(&[u8], u64, u8)> {
        let (user, sequence, kind) = split(self.reader.key())?;
        Some((user, self.sequence.unwrap_or(sequence), kind))
    }

    pub(super) fn value(&self) -> &[u8] {
        self.reader.value()
    }

    /// Returns the tombstones of ranges.
    ///
    /// # Errors
    /// Fails for damage, if nothing may be given up.
    pub(super) fn tombstones(&mut self) -> Outcome<Vec<Tombstone>> {
        match self.reader.range_deletions() {
            Ok(found) => Ok(found.into_iter().filter_map(|own| self.within_bounds(own)).collect()),
            Err(Stop::Input(exit)) => Err(exit),
            Err(Stop::At(at, fault)) => {
                let path = self.reader.input().path();
                self.losses.note(path, at, fault).map(|()| Vec::new())
            }
        }
    }

    /// Cuts a tombstone at the bounds of the table. `None` if nothing is left.
    fn within_bounds(&self, stored: RangeDeletion) -> Option<Tombstone> {
        let bound = |bound| user_key(bound).unwrap_or_default();
        let (first, last) = (bound(&self.info.smallest), bound(&self.info.largest));
        // Such a last key is the end of a tombstone that goes on in the next table.
        let end_of_all = (SEQUENCES - 1) << 8 | u64::from(RANGE_DELETION);
        let has_last = !self.info.largest.ends_with(&end_of_all.to_le_bytes());
        let RangeDeletion { start, end, sequence } = stored;
        let sequence = self.sequence.unwrap_or(sequence);
        let mut tombstone = Tombstone { start, end, has_end: false, sequence };
        tombstone.cut(first, last, has_last, self.order).then_some(tombstone)
    }
}

/// Returns the sequence number of all records of a table that was written outside of the database.
/// The manifest has it. Old releases write it into the table, too.
fn global_sequence(properties: &Properties, info: &edit::Table) -> Option<u64> {
    const WITH_SEQUENCE: u32 = 2;
    properties.external_version.filter(|&version| version >= WITH_SEQUENCE)?;
    info.largest_sequence.or(properties.global_sequence)
}

/// Opens the file of a table, and checks its length.
fn window(path: &Path, info: &edit::Table) -> Result<Window, Stop> {
    let opened = Window::open(path);
    let (mut file, len) = opened.map_err(|error| {
        let elsewhere = match info.path {
            0 => String::new(),
            other => format!("; it was in directory {other} of db_paths: copy it from there"),
        };
        Stop::At(0, Fault::damaged(format!("the table cannot be opened: {error}{elsewhere}")))
    })?;
    if len < info.size {
        let what = format!("expected a table of {} bytes, found {len}", info.size);
        return Err(Stop::At(0, Fault::damaged(what)));
    }
    file.cut(info.size);
    Ok(file)
}
