//! A RocksDB table, read from its first key to its last.
//!
//! Invariant: a table whose last key was returned had every block and every key that its index and
//! its properties promise, unless its losses say otherwise.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use foldb_leveldb_format::block::Cursor;
use foldb_leveldb_format::table::{FOOTER as SHORTEST_FOOTER, Handle};
use foldb_rocksdb_format::block::{self, joined, unpack};
use foldb_rocksdb_format::edit;
use foldb_rocksdb_format::footer::{FOOTER, Footer};
use foldb_rocksdb_format::index::{self, Form};
use foldb_rocksdb_format::kind::{RANGE_DELETION, SEQUENCES, split, user_key};
use foldb_rocksdb_format::properties::{
    self, DICTIONARY, INDEX, PROPERTIES, Properties, RANGE_DELETIONS,
};
use foldb_rocksdb_format::{Fault, Read};

use super::losses::Losses;
use super::order::Order;
use super::tombstones::Tombstone;
use crate::exit::{Exit, Outcome};
use crate::foreign::window::Window;

/// A table being read.
#[derive(Debug)]
pub(super) struct Table {
    blocks: Blocks,
    info: edit::Table,
    order: Order,
    losses: Losses,
    pub(super) properties: Properties,
    range_deletions: Option<Handle>,
    /// The sequence number of all records, if the table was written outside of the database.
    sequence: Option<u64>,
    form: Form,
    /// Parts of the index that were not read yet.
    parts: VecDeque<Handle>,
    /// Data blocks that were not read yet.
    waiting: VecDeque<Handle>,
    block: Option<(Handle, Cursor<Vec<u8>>)>,
    is_at_begin: bool,
    /// The internal key that was returned last.
    last: Vec<u8>,
    read: u64,
    has_losses: bool,
}

/// Why a step failed: damage at an offset, or another error.
enum Stop {
    At(u64, Fault),
    Exit(Exit),
}

impl From<Exit> for Stop {
    fn from(exit: Exit) -> Stop {
        Stop::Exit(exit)
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
            Err(Stop::Exit(exit)) => Err(exit),
            Err(Stop::At(at, fault)) => losses.note(&path, at, fault).map(|()| None),
        }
    }

    fn read(path: &Path, info: &edit::Table, order: Order, losses: &Losses) -> Result<Table, Stop> {
        let mut blocks = Blocks::open(path, info)?;
        let metaindex = blocks.block(blocks.footer.metaindex, &[])?;
        let at = blocks.footer.metaindex.offset;
        let metaindex = properties::entries(&metaindex).map_err(|fault| Stop::At(at, fault))?;
        let handle =
            |name| properties::handle(&metaindex, name).map_err(|fault| Stop::At(at, fault));
        let mut properties = Properties::default();
        for name in PROPERTIES {
            if let Some(place) = handle(name)? {
                properties = blocks.properties(place)?;
                break;
            }
        }
        blocks.dictionary = match handle(DICTIONARY)? {
            Some(place) => blocks.block(place, &[])?,
            None => Vec::new(),
        };
        let index = blocks.footer.index.or(handle(INDEX)?);
        let index = index.ok_or(Stop::At(at, Fault::damaged("the table has no index")))?;
        let form = Form::of(&properties).map_err(|fault| Stop::At(index.offset, fault))?;
        let mut entries = blocks.index(index, form)?;
        let mut parts = VecDeque::new();
        if form.is_partitioned {
            parts = std::mem::take(&mut entries);
        }
        Ok(Table {
            range_deletions: handle(RANGE_DELETIONS)?,
            sequence: global_sequence(&properties, info),
            blocks,
            info: info.clone(),
            order,
            losses: losses.clone(),
            properties,
            form,
            parts,
            waiting: entries,
            block: None,
            is_at_begin: true,
            last: Vec::new(),
            read: 0,
            has_losses: false,
        })
    }

    /// Moves to the next record. Returns false after the last one.
    ///
    /// # Errors
    /// Fails for damage, if nothing may be given up.
    pub(super) fn advance(&mut self) -> Outcome<bool> {
        loop {
            match self.step() {
                Ok(Some(is_record)) => return Ok(is_record),
                Ok(None) => {}
                Err(Stop::Exit(exit)) => return Err(exit),
                Err(Stop::At(at, fault)) => {
                    self.losses.note(self.blocks.file.path(), at, fault)?;
                    self.has_losses = true;
                    self.block = None;
                }
            }
        }
    }

    /// Moves on within the block, or to the next block. `None` if there is more to do.
    fn step(&mut self) -> Result<Option<bool>, Stop> {
        if let Some((handle, cursor)) = &mut self.block {
            if std::mem::take(&mut self.is_at_begin) {
                cursor.first()
            } else {
                cursor.next()
            }
            let at = handle.offset;
            if cursor.is_damaged() {
                return Err(Stop::At(at, Fault::damaged("an entry is damaged")));
            }
            if cursor.is_valid() {
                self.check_key().map_err(|fault| Stop::At(at, fault))?;
                self.read += 1;
                return Ok(Some(true));
            }
            self.block = None;
        }
        if let Some(handle) = self.waiting.pop_front() {
            let contents = self.blocks.data_block(handle)?;
            let cursor = block::cursor(contents).map_err(|fault| Stop::At(handle.offset, fault))?;
            self.block = Some((handle, cursor));
            self.is_at_begin = true;
            return Ok(None);
        }
        if let Some(part) = self.parts.pop_front() {
            self.waiting = self.blocks.index(part, self.form)?;
            return Ok(None);
        }
        self.check_count()?;
        Ok(Some(false))
    }

    /// Checks that the keys ascend, and lie within the bounds that the manifest has.
    fn check_key(&mut self) -> Read<()> {
        let key = self.block.as_ref().map_or(&[][..], |(_, cursor)| cursor.key());
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
        let Some(expected) = self.properties.entries else { return Ok(()) };
        let found = std::mem::replace(&mut self.read, expected);
        let is_short = found < expected && self.range_deletions.is_none();
        if self.has_losses || !(is_short || found > expected) {
            return Ok(());
        }
        let what = format!("expected {expected} records in the table, found {found}");
        Err(Stop::At(0, Fault::damaged(what)))
    }

    /// Returns the user key, sequence number and kind of the present record.
    pub(super) fn key(&self) -> Option<(&[u8], u64, u8)> {
        let (_, cursor) = self.block.as_ref()?;
        let (user, sequence, kind) = split(cursor.key())?;
        Some((user, self.sequence.unwrap_or(sequence), kind))
    }

    pub(super) fn value(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], |(_, cursor)| cursor.value())
    }

    /// Returns the tombstones of ranges.
    ///
    /// # Errors
    /// Fails for damage, if nothing may be given up.
    pub(super) fn tombstones(&mut self) -> Outcome<Vec<Tombstone>> {
        let Some(handle) = self.range_deletions else { return Ok(Vec::new()) };
        let read = self.blocks.block(handle, &[]).and_then(|contents| {
            self.parse_tombstones(contents).map_err(|fault| Stop::At(handle.offset, fault))
        });
        match read {
            Ok(found) => Ok(found),
            Err(Stop::Exit(exit)) => Err(exit),
            Err(Stop::At(at, fault)) => {
                self.losses.note(self.blocks.file.path(), at, fault).map(|()| Vec::new())
            }
        }
    }

    fn parse_tombstones(&self, contents: Vec<u8>) -> Read<Vec<Tombstone>> {
        let bound = |bound| user_key(bound).unwrap_or_default();
        let (first, last) = (bound(&self.info.smallest), bound(&self.info.largest));
        // Such a last key is the end of a tombstone that goes on in the next table.
        let end_of_all = (SEQUENCES - 1) << 8 | u64::from(RANGE_DELETION);
        let has_last = !self.info.largest.ends_with(&end_of_all.to_le_bytes());
        let mut cursor = block::cursor(contents)?;
        let mut found = Vec::new();
        cursor.first();
        while cursor.is_valid() {
            let Some((start, sequence, RANGE_DELETION)) = split(cursor.key()) else {
                return Err(Fault::damaged("a tombstone of a range is damaged"));
            };
            let mut tombstone = Tombstone {
                start: start.to_vec(),
                end: cursor.value().to_vec(),
                has_end: false,
                sequence: self.sequence.unwrap_or(sequence),
            };
            if tombstone.cut(first, last, has_last, self.order) {
                found.push(tombstone);
            }
            cursor.next();
        }
        match cursor.is_damaged() {
            true => Err(Fault::damaged("a tombstone of a range is damaged")),
            false => Ok(found),
        }
    }
}

/// Returns the sequence number of all records of a table that was written outside of the database.
/// The manifest has it. Old releases write it into the table, too.
fn global_sequence(properties: &Properties, info: &edit::Table) -> Option<u64> {
    const WITH_SEQUENCE: u32 = 2;
    properties.external_version.filter(|&version| version >= WITH_SEQUENCE)?;
    info.largest_sequence.or(properties.global_sequence)
}

/// The blocks of a table.
#[derive(Debug)]
struct Blocks {
    file: Window,
    footer: Footer,
    dictionary: Vec<u8>,
}

impl Blocks {
    fn open(path: &Path, info: &edit::Table) -> Result<Blocks, Stop> {
        let opened = Window::open(path);
        let (mut file, len) = opened.map_err(|error| {
            let elsewhere = match info.path {
                0 => String::new(),
                other => format!("; it was in directory {other} of db_paths: copy it from there"),
            };
            Stop::At(0, Fault::damaged(format!("the table cannot be opened: {error}{elsewhere}")))
        })?;
        if len < info.size || info.size < SHORTEST_FOOTER as u64 {
            let what = format!("expected a table of {} bytes, found {len}", info.size);
            return Err(Stop::At(0, Fault::damaged(what)));
        }
        file.cut(info.size);
        let footer_len = info.size.min(FOOTER as u64);
        let at = info.size - footer_len;
        let bytes = file.bytes(at, footer_len as usize)?;
        let footer = Footer::decode(&bytes, info.size).map_err(|fault| Stop::At(at, fault))?;
        Ok(Blocks { file, footer, dictionary: Vec::new() })
    }

    fn stored(&mut self, handle: Handle) -> Result<Vec<u8>, Stop> {
        let Some(len) = handle.stored(self.file.size()) else {
            return Err(Stop::At(handle.offset, Fault::damaged("a block is outside of the table")));
        };
        Ok(self.file.bytes(handle.offset, len)?)
    }

    fn block(&mut self, handle: Handle, dictionary: &[u8]) -> Result<Vec<u8>, Stop> {
        let stored = self.stored(handle)?;
        unpack(&stored, handle.offset, &self.footer, dictionary)
            .map_err(|fault| Stop::At(handle.offset, fault))
    }

    fn data_block(&mut self, handle: Handle) -> Result<Vec<u8>, Stop> {
        let stored = self.stored(handle)?;
        unpack(&stored, handle.offset, &self.footer, &self.dictionary)
            .and_then(joined)
            .map_err(|fault| Stop::At(handle.offset, fault))
    }

    fn index(&mut self, handle: Handle, form: Form) -> Result<VecDeque<Handle>, Stop> {
        let contents = self.block(handle, &[])?;
        let handles = index::handles(&contents, form);
        Ok(handles.map_err(|fault| Stop::At(handle.offset, fault))?.into())
    }

    /// Reads the properties. Old releases wrote the sequence number of an ingested table into them,
    /// and left their checksum as it was. A plain block is then read without it.
    fn properties(&mut self, handle: Handle) -> Result<Properties, Stop> {
        let at = |fault| Stop::At(handle.offset, fault);
        match self.block(handle, &[]) {
            Ok(contents) => Properties::decode(&contents).map_err(at),
            Err(stop) => {
                let stored = self.stored(handle)?;
                let contents = stored.split_last_chunk::<5>().map(|(contents, _)| contents);
                let read = contents.map(Properties::decode).and_then(Result::ok);
                read.filter(|read| read.external_version.is_some()).ok_or(stop)
            }
        }
    }
}
