//! An ordered walk over a table's records, in both directions.
//!
//! Records come as they are stored: key ascending, versions of one key newest first. A backward
//! walk meets the same sequence in reverse. Keys are prefix-compressed forwards. So a step back
//! decodes all records from the previous restart on (at most 16) once, and keeps them. A backward
//! walk over a whole table therefore takes linear time.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use foldb_chains::prefetch;

use crate::error::{Error, Result};
use crate::key::{Kind, NO_OPERATOR, RecordHeader};
use crate::stats::ReadReport;
use crate::table::data_block::DataBlock;
use crate::table::entry::{Entry, EntryFault};
use crate::table::fetch::Fetch;
use crate::table::key_buffer::KeyBuffer;
use crate::table::position::BlockPosition;
use crate::table::read_window::READAHEAD;
use crate::table::reader::TableReader;
use crate::table::source::LARGE_BLOCK;
use crate::value::EntryValue;
use crate::value::Value;

/// How a cursor gets its blocks.
#[derive(Clone, Debug)]
pub struct CursorOptions {
    /// Whether blocks that had to be read go into the cache. Default: true.
    pub fill_cache: bool,
    /// Bytes of one read (`READAHEAD`), for walks over much of a table. At 0 the walk begins block
    /// by block, and reads ahead once it has come to the third. With `fill_cache` off, a walk with
    /// read-ahead does not use the cache at all. Default: 0.
    pub readahead: usize,
    /// Counts what is read. Default: nothing is counted.
    pub report: Option<ReadReport>,
}

impl CursorOptions {
    /// Returns the options of a walk over a whole table, which does not use the cache.
    pub fn walk() -> CursorOptions {
        CursorOptions { fill_cache: false, readahead: READAHEAD, report: None }
    }
}

impl Default for CursorOptions {
    fn default() -> Self {
        CursorOptions { fill_cache: true, readahead: 0, report: None }
    }
}

/// A position in a table: on a record, or on no record ([`TableCursor::valid`] is false). After an
/// error it is on no record.
pub struct TableCursor {
    table: Arc<TableReader>,
    fetch: Fetch,
    position: BlockPosition,
    /// `None` before the first move, and while a large block is released.
    block: Option<DataBlock>,
    /// Where the search of an approach goes on in `block`.
    interval: Range<usize>,
    /// The current record, and where it begins in `block`.
    at: usize,
    entry: Entry,
    key: KeyBuffer,
    valid: bool,
    /// Whether large values are released until the caller asks for them.
    sets_aside: bool,
    behind: Behind,
}

/// The decoded records of one restart interval that lie before the record at `until`.
#[derive(Default)]
struct Behind {
    until: usize,
    records: Vec<BehindRecord>,
    keys: Vec<u8>,
}

struct BehindRecord {
    at: usize,
    entry: Entry,
    key_start: usize,
    key_end: usize,
}

const NOTHING: Entry = Entry {
    header: RecordHeader { seqno: 0, kind: Kind::Delete, operator: NO_OPERATOR },
    shared: 0,
    key_start: 0,
    key_end: 0,
    end: 0,
};

impl TableCursor {
    /// Makes a cursor over `table`, on no record yet.
    pub fn new(table: Arc<TableReader>, options: CursorOptions) -> TableCursor {
        TableCursor {
            table,
            fetch: Fetch::new(options),
            position: BlockPosition::default(),
            block: None,
            interval: 0..0,
            at: 0,
            entry: NOTHING,
            key: KeyBuffer::default(),
            valid: false,
            sets_aside: false,
            behind: Behind::default(),
        }
    }

    /// Releases large values until [`TableCursor::hold_value`] asks for them. A merge of many
    /// cursors uses this: it needs the value of one cursor at a time.
    pub fn set_values_aside(&mut self) {
        self.sets_aside = true;
    }

    /// Loads the value of the current record, for [`TableCursor::value`] and
    /// [`TableCursor::pinned_value`].
    ///
    /// # Errors
    /// Those of a move.
    #[inline]
    pub fn hold_value(&mut self) -> Result<()> {
        if self.entry.end <= self.block().entries_end() { Ok(()) } else { self.read_again() }
    }

    #[cold]
    fn read_again(&mut self) -> Result<()> {
        self.block = Some(self.position.fetch(&self.table, &mut self.fetch)?.into_block());
        Ok(())
    }

    #[inline(always)]
    fn block(&self) -> &DataBlock {
        block_of(&self.block)
    }

    /// Releases a large block before the cursor reads another one or none.
    #[inline]
    fn leave_block(&mut self) {
        if self.block().memory_bytes() >= LARGE_BLOCK {
            self.block = None;
        }
    }

    /// Releases a block that is one large record. Moves need nothing more of it: all other records
    /// lie in other blocks.
    #[inline]
    fn set_aside(&mut self) {
        let is_alone = self.at == 0 && self.entry.end == self.block().entries_end();
        if self.sets_aside && is_alone && self.entry.end - self.entry.key_end >= LARGE_BLOCK {
            self.block = None;
        }
    }

    /// Returns whether the cursor is on a record.
    #[inline]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// Returns the record's user key; empty on no record.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.key.as_slice()
    }

    /// Returns the record's sequence number, kind and operator.
    #[inline]
    pub fn header(&self) -> RecordHeader {
        debug_assert!(self.valid, "a cursor without a record has no header");
        self.table.header_of(self.entry.header)
    }

    /// Returns the record's value. It must be held: see [`TableCursor::hold_value`].
    #[inline]
    pub fn value(&self) -> &[u8] {
        &self.block().bytes()[self.entry.key_end..self.entry.end]
    }

    /// Returns the record's value, to keep: copied if short, else pinned.
    #[inline]
    pub fn pinned_value(&self) -> Value {
        self.entry_value().to_value()
    }

    /// Returns the record's value in place. It must be held: see [`TableCursor::hold_value`].
    #[inline]
    pub fn entry_value(&self) -> EntryValue<'_> {
        EntryValue::new(self.block().bytes(), self.entry.key_end, self.entry.end)
    }

    /// Moves to the first record.
    ///
    /// # Errors
    /// Like all moves: `Corruption` or `Unsupported` for damaged blocks, `Io` if reading a block
    /// fails.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.leave();
        let is_there = self.position.first(&self.table, &mut self.fetch)?;
        self.enter_at_start(is_there)
    }

    /// Moves to the last record: the oldest version of the last key.
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.leave();
        let is_there = self.position.last(&self.table, &mut self.fetch)?;
        self.enter_at_end(is_there)
    }

    /// Moves to the newest version of the first key at or after `key`.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        if self.approach(key)? { self.seek_in_block(key) } else { Ok(()) }
    }

    /// Does the first half of [`TableCursor::seek`]: moves to the key's block, which it prefetches.
    /// Returns whether [`TableCursor::seek_in_block`] has to follow; otherwise the seek is done.
    #[inline]
    pub fn approach(&mut self, key: &[u8]) -> Result<bool> {
        self.leave();
        if !self.position.seek(&self.table, key, &mut self.fetch)? {
            return Ok(false);
        }
        self.leave_block();
        let held = self.position.fetch(&self.table, &mut self.fetch)?;
        let interval = held.interval_of(key, self.table.order());
        self.interval = interval.map_err(|error| self.locate(error))?;
        prefetch(&held.block().bytes()[self.interval.clone()]);
        self.block = Some(held.into_block());
        if self.sets_aside && self.block().memory_bytes() >= LARGE_BLOCK {
            // The value is not held until all other cursors have found theirs.
            self.seek_in_block(key)?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Does the second half of [`TableCursor::seek`], after a [`TableCursor::approach`] of the same
    /// key.
    pub fn seek_in_block(&mut self, key: &[u8]) -> Result<()> {
        let found = match block_of(&self.block).seek_from(
            self.interval.clone(),
            key,
            self.table.order(),
            &mut self.key,
        ) {
            Ok(Some(found)) => found,
            Ok(None) => return self.next_block(),
            Err(error) => {
                self.leave();
                return Err(self.locate(error));
            }
        };
        if self.table.order().is_bytewise() {
            self.key.set(&key[..found.entry.shared]);
            self.key.set_suffix(found.entry.shared, block_of(&self.block).suffix(&found.entry));
        }
        debug_assert!(
            !self.table.order().is_bytewise() || self.key.as_slice() >= key,
            "a seek lands at its key, or behind it"
        );
        self.at = found.at;
        self.entry = found.entry;
        self.valid = true;
        self.set_aside();
        Ok(())
    }

    /// Moves to the oldest version of the last key before `key`.
    pub fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.seek(key)?;
        if self.valid { self.prev() } else { self.seek_to_last() }
    }

    /// Moves to the next record. On no record it does nothing.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "a cursor lends its records")]
    pub fn next(&mut self) -> Result<()> {
        if !self.valid {
            return Ok(());
        }
        let at = self.entry.end;
        if at < self.block().entries_end() { self.load(at) } else { self.next_block() }
    }

    /// Moves to the previous record. On no record it does nothing.
    #[inline]
    pub fn prev(&mut self) -> Result<()> {
        if !self.valid {
            return Ok(());
        }
        if self.behind.until != self.at || self.behind.records.is_empty() {
            if self.at == 0 {
                return self.prev_block();
            }
            self.gather_behind(self.at)?;
        }
        self.step_behind()
    }

    /// Loads the record at `at`, which follows the one whose key is in `key`.
    #[inline(always)]
    fn load(&mut self, at: usize) -> Result<()> {
        match self.block().short_entry(at) {
            Some(entry) if entry.shared <= self.key.len() => self.arrive(at, entry),
            _ => return self.load_long(at),
        }
        Ok(())
    }

    /// Does what [`TableCursor::load`] does for a record that is not the usual one, or for none.
    #[inline(never)]
    fn load_long(&mut self, at: usize) -> Result<()> {
        match self.block().entry(at) {
            Ok(entry) if entry.shared <= self.key.len() => {
                self.arrive(at, entry);
                self.set_aside();
            }
            Ok(_) => return Err(self.fail(EntryFault::Shared, at)),
            Err(fault) => return Err(self.fail(fault, at)),
        }
        Ok(())
    }

    #[inline(always)]
    fn arrive(&mut self, at: usize, entry: Entry) {
        let (start, end) = (entry.key_start, entry.key_end);
        self.key.set_suffix_from(entry.shared, block_of(&self.block).bytes(), start, end);
        self.at = at;
        self.entry = entry;
    }

    #[cold]
    fn next_block(&mut self) -> Result<()> {
        self.leave();
        self.leave_block();
        let is_there = self.position.next(&self.table, &mut self.fetch)?;
        self.enter_at_start(is_there)
    }

    #[cold]
    fn prev_block(&mut self) -> Result<()> {
        self.leave();
        self.leave_block();
        let is_there = self.position.prev(&self.table, &mut self.fetch)?;
        self.enter_at_end(is_there)
    }

    /// Leaves the record: the cursor is on none until a move succeeds.
    fn leave(&mut self) {
        self.valid = false;
        self.entry = NOTHING;
        self.key.clear();
        self.behind.records.clear();
    }

    fn enter(&mut self) -> Result<()> {
        self.leave_block();
        self.block = Some(self.position.fetch(&self.table, &mut self.fetch)?.into_block());
        Ok(())
    }

    fn enter_at_start(&mut self, is_there: bool) -> Result<()> {
        if !is_there {
            return Ok(());
        }
        self.enter()?;
        // A walk that came this far probably goes on.
        self.position.prefetch_next(&self.table);
        self.valid = true;
        self.load(0)
    }

    fn enter_at_end(&mut self, is_there: bool) -> Result<()> {
        if !is_there {
            return Ok(());
        }
        self.enter()?;
        self.valid = true;
        self.gather_behind(self.block().entries_end())?;
        self.step_behind()?;
        self.set_aside();
        Ok(())
    }

    /// Decodes the records from the last restart before `until` up to there.
    fn gather_behind(&mut self, until: usize) -> Result<()> {
        let mut at = self.block().restart_before(until);
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        self.behind.records.clear();
        self.behind.keys.clear();
        while at < until {
            let entry = match self.block().short_entry(at) {
                Some(entry) => entry,
                None => self.block().entry(at).map_err(|fault| self.fail(fault, at))?,
            };
            if entry.shared > key.len() {
                return Err(self.fail(EntryFault::Shared, at));
            }
            if entry.end > until {
                return Err(self.fail(EntryFault::Length, at));
            }
            let (start, end) = (entry.key_start, entry.key_end);
            key.set_suffix_from(entry.shared, self.block().bytes(), start, end);
            self.behind.push(at, entry, key.as_slice());
            at = entry.end;
        }
        self.behind.until = until;
        self.key = key;
        Ok(())
    }

    /// Moves to the last of the kept records, the one before the current record.
    #[inline]
    fn step_behind(&mut self) -> Result<()> {
        if let Some(record) = self.behind.records.pop() {
            self.key.set(&self.behind.keys[record.key_start..record.key_end]);
            self.at = record.at;
            self.entry = record.entry;
            self.behind.until = record.at;
        }
        Ok(())
    }

    #[cold]
    fn fail(&mut self, fault: EntryFault, at: usize) -> Error {
        self.leave();
        self.locate(fault.into_error(at))
    }

    /// Adds to an error which sub-block it is about.
    #[cold]
    pub(super) fn locate(&self, error: Error) -> Error {
        self.table.locate(error, self.position.handle(&self.table))
    }
}

/// The block of a cursor that holds none.
static EMPTY: LazyLock<DataBlock> = LazyLock::new(DataBlock::empty);

/// Returns the block that a cursor holds, or a block without records. A block of its own without
/// records would count a reference that all threads share.
#[inline(always)]
fn block_of(held: &Option<DataBlock>) -> &DataBlock {
    held.as_ref().unwrap_or_else(|| &EMPTY)
}

impl Behind {
    fn push(&mut self, at: usize, entry: Entry, key: &[u8]) {
        let key_start = self.keys.len();
        self.keys.extend_from_slice(key);
        self.records.push(BehindRecord { at, entry, key_start, key_end: self.keys.len() });
    }
}
