//! Reads a table from its first record to its last, and its tombstones of ranges.
//!
//! The bytes come from an [`Input`], so that programs read files in their own way. A reader checks
//! each block. It compares neither keys with each other nor their number with the properties: what
//! they must be depends on the database.

use std::collections::VecDeque;

use foldb_leveldb_format::block::Cursor;
use foldb_leveldb_format::table::{FOOTER as SHORTEST_FOOTER, Handle};

use crate::block::{self, joined, unpack};
use crate::footer::{FOOTER, Footer};
use crate::index::{self, Form};
use crate::kind::{RANGE_DELETION, split};
use crate::properties::{self, DICTIONARY, INDEX, PROPERTIES, Properties, RANGE_DELETIONS};
use crate::{Fault, Read};

/// The bytes of a file.
pub trait Input {
    /// Why bytes cannot be read.
    type Error;

    /// Returns the number of bytes.
    fn size(&self) -> u64;

    /// Returns bytes, which are inside of the file.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    fn bytes(&mut self, at: u64, len: usize) -> Result<Vec<u8>, Self::Error>;
}

/// Why a table cannot be read on.
#[derive(Debug)]
pub enum Stop<E> {
    /// A fault of the bytes at this offset.
    At(u64, Fault),
    /// An error of the input.
    Input(E),
}

/// A table being read.
#[derive(Debug)]
pub struct Table<I> {
    blocks: Blocks<I>,
    properties: Properties,
    range_deletions: Option<Handle>,
    form: Form,
    /// Parts of the index that were not read yet.
    parts: VecDeque<Handle>,
    /// Data blocks that were not read yet.
    waiting: VecDeque<Handle>,
    block: Option<(Handle, Cursor<Vec<u8>>)>,
    is_at_begin: bool,
}

/// A tombstone of a range, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeDeletion {
    /// The first key of the range.
    pub start: Vec<u8>,
    /// The first key behind it.
    pub end: Vec<u8>,
    /// The sequence number that is stored.
    pub sequence: u64,
}

impl<I: Input> Table<I> {
    /// Opens a table, before its first record.
    ///
    /// # Errors
    /// Fails for damage, and for a table of an unknown form.
    pub fn open(input: I) -> Result<Table<I>, Stop<I::Error>> {
        let mut blocks = Blocks::open(input)?;
        let at = blocks.footer.metaindex.offset;
        let metaindex = blocks.block(blocks.footer.metaindex, &[])?;
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
        let mut waiting = blocks.index(index, form)?;
        let parts =
            if form.is_partitioned { std::mem::take(&mut waiting) } else { VecDeque::new() };
        let range_deletions = handle(RANGE_DELETIONS)?;
        let (block, is_at_begin) = (None, true);
        Ok(Table { blocks, properties, range_deletions, form, parts, waiting, block, is_at_begin })
    }

    /// Returns where the bytes come from.
    pub fn input(&self) -> &I {
        &self.blocks.input
    }

    /// Returns what the table says of itself.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Moves to the next record. Returns false behind the last one.
    ///
    /// # Errors
    /// Fails for damage. The next call goes on behind it, after [`Table::skip_block`].
    pub fn advance(&mut self) -> Result<bool, Stop<I::Error>> {
        loop {
            if self.advance_in_block()? {
                return Ok(true);
            }
            if let Some(handle) = self.waiting.pop_front() {
                let contents = self.blocks.data_block(handle)?;
                let cursor = block::cursor(contents);
                let cursor = cursor.map_err(|fault| Stop::At(handle.offset, fault))?;
                self.block = Some((handle, cursor));
                self.is_at_begin = true;
            } else if let Some(part) = self.parts.pop_front() {
                self.waiting = self.blocks.index(part, self.form)?;
            } else {
                return Ok(false);
            }
        }
    }

    fn advance_in_block(&mut self) -> Result<bool, Stop<I::Error>> {
        let Some((handle, cursor)) = &mut self.block else { return Ok(false) };
        if std::mem::take(&mut self.is_at_begin) {
            cursor.first();
        } else {
            cursor.next();
        }
        if cursor.is_damaged() {
            return Err(Stop::At(handle.offset, Fault::damaged("an entry is damaged")));
        }
        let is_valid = cursor.is_valid();
        if !is_valid {
            self.block = None;
        }
        Ok(is_valid)
    }

    /// Passes over the rest of the present block.
    pub fn skip_block(&mut self) {
        self.block = None;
    }

    /// Returns where the present block is.
    pub fn offset(&self) -> u64 {
        self.block.as_ref().map_or(0, |(handle, _)| handle.offset)
    }

    /// Returns the internal key of the present record; empty without one.
    pub fn key(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], |(_, cursor)| cursor.key())
    }

    /// Returns the value of the present record; empty without one.
    pub fn value(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], |(_, cursor)| cursor.value())
    }

    /// Returns whether the table has a block of tombstones of ranges.
    pub fn has_range_deletions(&self) -> bool {
        self.range_deletions.is_some()
    }

    /// Returns the tombstones of ranges, as they are stored.
    ///
    /// # Errors
    /// Fails for damage.
    pub fn range_deletions(&mut self) -> Result<Vec<RangeDeletion>, Stop<I::Error>> {
        let Some(handle) = self.range_deletions else { return Ok(Vec::new()) };
        let contents = self.blocks.block(handle, &[])?;
        range_deletions(contents).map_err(|fault| Stop::At(handle.offset, fault))
    }
}

fn range_deletions(contents: Vec<u8>) -> Read<Vec<RangeDeletion>> {
    let damaged = || Fault::damaged("a tombstone of a range is damaged");
    let mut cursor = block::cursor(contents)?;
    let mut found = Vec::new();
    cursor.first();
    while cursor.is_valid() {
        let Some((start, sequence, RANGE_DELETION)) = split(cursor.key()) else {
            return Err(damaged());
        };
        let (start, end) = (start.to_vec(), cursor.value().to_vec());
        found.push(RangeDeletion { start, end, sequence });
        cursor.next();
    }
    if cursor.is_damaged() { Err(damaged()) } else { Ok(found) }
}

/// The blocks of a table.
#[derive(Debug)]
struct Blocks<I> {
    input: I,
    footer: Footer,
    dictionary: Vec<u8>,
}

impl<I: Input> Blocks<I> {
    fn open(mut input: I) -> Result<Blocks<I>, Stop<I::Error>> {
        let size = input.size();
        if size < SHORTEST_FOOTER as u64 {
            let what = format!("expected a table, found {size} bytes");
            return Err(Stop::At(0, Fault::damaged(what)));
        }
        let len = size.min(FOOTER as u64);
        let at = size - len;
        let bytes = input.bytes(at, len as usize).map_err(Stop::Input)?;
        let footer = Footer::decode(&bytes, size).map_err(|fault| Stop::At(at, fault))?;
        Ok(Blocks { input, footer, dictionary: Vec::new() })
    }

    fn stored(&mut self, handle: Handle) -> Result<Vec<u8>, Stop<I::Error>> {
        let Some(len) = handle.stored(self.input.size()) else {
            return Err(Stop::At(handle.offset, Fault::damaged("a block is outside of the table")));
        };
        self.input.bytes(handle.offset, len).map_err(Stop::Input)
    }

    fn block(&mut self, handle: Handle, dictionary: &[u8]) -> Result<Vec<u8>, Stop<I::Error>> {
        let stored = self.stored(handle)?;
        unpack(&stored, handle.offset, &self.footer, dictionary)
            .map_err(|fault| Stop::At(handle.offset, fault))
    }

    fn data_block(&mut self, handle: Handle) -> Result<Vec<u8>, Stop<I::Error>> {
        let stored = self.stored(handle)?;
        unpack(&stored, handle.offset, &self.footer, &self.dictionary)
            .and_then(joined)
            .map_err(|fault| Stop::At(handle.offset, fault))
    }

    fn index(&mut self, handle: Handle, form: Form) -> Result<VecDeque<Handle>, Stop<I::Error>> {
        let contents = self.block(handle, &[])?;
        let handles = index::handles(&contents, form);
        Ok(handles.map_err(|fault| Stop::At(handle.offset, fault))?.into())
    }

    /// Reads the properties. Old releases wrote the sequence number of an ingested table into them,
    /// and left their checksum as it was. A plain block is then read without it.
    fn properties(&mut self, handle: Handle) -> Result<Properties, Stop<I::Error>> {
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
