//! A cursor over a sorted run: its tables one after another, each within its bounds.

use std::ops::Range;
use std::sync::Arc;

use foldb_chains::Way;

use crate::error::Result;
use crate::iterator::dead::Dead;
use crate::key::{Comparator, Kind, Order, RecordHeader, SeqNo};
use crate::range_tombstone::Edge;
use crate::table::{CursorOptions, TableCursor};
use crate::value::EntryValue;
use crate::value::Value;
use crate::version::{FileFacts, KeyRange, OpenTables, Run, TableRef, Upper};

/// Yields the records of a run, and nothing outside its tables' bounds (H1). It opens each table
/// when it reaches it.
pub(crate) struct RunCursor {
    run: Arc<Run>,
    /// Indexes of the run's tables that may have records in the range, in key order.
    range: Range<usize>,
    tables: Arc<OpenTables>,
    order: Order,
    options: CursorOptions,
    /// Whether the cursor keeps a large value in memory only once a caller asks for it.
    sets_aside: bool,
    /// Index of the current table in the range. Valid only while `current` is set.
    index: usize,
    /// Boxed so that sources are small and cheap to move.
    current: Option<Box<TableCursor>>,
    /// Whether records of the current table may lie above its upper bound.
    cut: bool,
    /// Whether the cursor stands on a record inside its table's bounds. Every move begins by
    /// clearing it, so a failed move leaves the cursor on no record.
    valid: bool,
}

impl RunCursor {
    /// Makes a cursor over the tables of `run` that have records in `range`. The cursor may also
    /// show records of these tables outside the range.
    pub(crate) fn new(
        run: &Arc<Run>,
        range: &KeyRange,
        tables: &Arc<OpenTables>,
        comparator: &Arc<dyn Comparator>,
        options: CursorOptions,
    ) -> RunCursor {
        RunCursor {
            range: run.overlapping_range(&**comparator, range),
            run: Arc::clone(run),
            tables: Arc::clone(tables),
            order: Order::of(comparator),
            options,
            sets_aside: false,
            index: 0,
            current: None,
            cut: false,
            valid: false,
        }
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.valid
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.cursor().key()
    }

    #[inline]
    pub(crate) fn header(&self) -> RecordHeader {
        self.cursor().header()
    }

    /// Sets values aside, as [`TableCursor::set_values_aside`] says. Call it before the first move.
    pub(crate) fn set_values_aside(&mut self) {
        debug_assert!(self.current.is_none(), "the cursor was moved before");
        self.sets_aside = true;
    }

    /// Fetches the value: see [`TableCursor::hold_value`].
    #[inline]
    pub(crate) fn hold_value(&mut self) -> Result<()> {
        self.cursor_mut().hold_value()
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.cursor().value()
    }

    #[inline]
    pub(crate) fn pinned_value(&self) -> Value {
        self.cursor().pinned_value()
    }

    /// Returns the value: see [`TableCursor::entry_value`].
    #[inline]
    pub(crate) fn entry_value(&self) -> EntryValue<'_> {
        self.cursor().entry_value()
    }

    /// Takes the record if it is a put that a reader at `seqno` sees: writes its value to `value`,
    /// and moves on. Returns whether it took the record.
    #[inline(always)]
    pub(crate) fn take_put(&mut self, way: Way, seqno: SeqNo, value: &mut Value) -> Result<bool> {
        let cursor = self.cursor_mut();
        let header = cursor.header();
        if header.kind != Kind::Put || header.seqno > seqno {
            return Ok(false);
        }
        cursor.hold_value()?;
        value.set_entry(cursor.entry_value());
        match way {
            Way::Forward => self.next()?,
            Way::Backward => self.prev()?,
        }
        Ok(true)
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        self.valid = false;
        self.enter_forward(0)
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        self.valid = false;
        self.enter_backward(self.refs().len())
    }

    /// Moves to the newest record of the first key at or above `key`.
    #[cfg(test)]
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        if self.approach(key)? { self.seek_in_block(key) } else { Ok(()) }
    }

    /// Does the first half of a seek: asks for the block that the key belongs in. Returns whether
    /// the second half, [`RunCursor::seek_in_block`], has work to do.
    pub(crate) fn approach(&mut self, key: &[u8]) -> Result<bool> {
        self.valid = false;
        let comparator = self.order.comparator();
        let index = self.refs().partition_point(|table| !table.hi.admits(comparator, key));
        let Some(table) = self.refs().get(index) else { return Ok(false) };
        if comparator.compare(&table.lo, key).is_gt() || table.file.entries == 0 {
            self.enter_forward(index)?;
            return Ok(false);
        }
        if !self.open(index)?.approach(key)? {
            self.settle_forward()?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Does the second half of a seek, after an approach to the same key.
    pub(crate) fn seek_in_block(&mut self, key: &[u8]) -> Result<()> {
        self.cursor_mut().seek_in_block(key)?;
        self.settle_forward()
    }

    pub(crate) fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.valid = false;
        let comparator = self.order.comparator();
        let index = self.refs().partition_point(|table| comparator.compare(&table.lo, key).is_lt());
        let Some(index) = index.checked_sub(1) else { return Ok(()) };
        let table = &self.refs()[index];
        if !table.hi.admits(comparator, key) || table.file.entries == 0 {
            return self.enter_backward(index + 1);
        }
        self.open(index)?.seek_before(key)?;
        self.settle_backward()
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        self.valid = false;
        self.cursor_mut().next()?;
        self.settle_forward()
    }

    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        self.valid = false;
        self.cursor_mut().prev()?;
        self.settle_backward()
    }

    /// Skips a fragment: the keys between two edges, around the current record. A range delete
    /// covers them up to `cover`. The cursor moves only if all records of the current table are
    /// older than `cover`. It goes at most to the neighbouring table. Returns whether it moved.
    pub(crate) fn pass_covered(
        &mut self,
        way: Way,
        cover: SeqNo,
        fragment: (&Edge, &Edge),
    ) -> Result<bool> {
        self.pass_if(way, |file| file.largest_seqno < cover, fragment)
    }

    /// Skips a stretch of deleted keys around the current record, as [`RunCursor::pass_covered`]
    /// does with a fragment.
    pub(crate) fn pass_dead(&mut self, way: Way, dead: &Dead) -> Result<bool> {
        self.pass_if(way, |file| dead.covers(file), (&dead.start, &dead.end))
    }

    fn pass_if(
        &mut self,
        way: Way,
        may_pass: impl Fn(&FileFacts) -> bool,
        (start, end): (&Edge, &Edge),
    ) -> Result<bool> {
        let index = self.index;
        let table = self.refs()[index].clone();
        if !may_pass(&table.file) {
            return Ok(false);
        }
        let order = self.order.clone();
        let comparator = order.comparator();
        match (way, start, end) {
            (Way::Forward, _, Edge::Before(key)) if table.hi.admits(comparator, key) => {
                if self.approach(key)? {
                    self.seek_in_block(key)?;
                }
            }
            // The fragment ends with this key, and no seek can go behind a key. So the cursor seeks
            // the key itself, and the caller steps on from there.
            (Way::Forward, _, Edge::Behind(key)) if table.hi.admits(comparator, key) => {
                if self.key() == &**key || comparator.compare(self.key(), key).is_eq() {
                    return Ok(false);
                }
                if self.approach(key)? {
                    self.seek_in_block(key)?;
                }
            }
            (Way::Forward, ..) => {
                self.valid = false;
                self.enter_forward(index + 1)?;
            }
            (Way::Backward, Edge::Before(key), _) if comparator.compare(&table.lo, key).is_lt() => {
                self.seek_before(key)?;
            }
            (Way::Backward, Edge::Behind(key), _) if comparator.compare(&table.lo, key).is_le() => {
                if !order.is_bytewise() {
                    return Ok(false);
                }
                self.seek_before(&[&**key, &[0]].concat())?;
            }
            (Way::Backward, ..) => {
                self.valid = false;
                self.enter_backward(index)?;
            }
        }
        Ok(true)
    }

    fn is_within_bounds(&self) -> bool {
        // A caller's order may contradict itself.
        !self.order.is_bytewise()
            || self.refs()[self.index].contains(self.order.comparator(), self.key())
    }

    /// Moves to the first record of table `index`, or of the next table that has any.
    fn enter_forward(&mut self, mut index: usize) -> Result<()> {
        while self.refs().get(index).is_some_and(|table| table.file.entries == 0) {
            index += 1;
        }
        let Some(table) = self.refs().get(index) else { return Ok(()) };
        let trimmed = (table.lo != table.file.smallest).then(|| Arc::clone(&table.lo));
        let cursor = self.open(index)?;
        match trimmed {
            Some(lo) => cursor.seek(&lo)?,
            None => cursor.seek_to_first()?,
        }
        self.settle_forward()
    }

    /// Moves to the last record of the table before `end`, or of an earlier one.
    fn enter_backward(&mut self, mut end: usize) -> Result<()> {
        while end > 0 && self.refs()[end - 1].file.entries == 0 {
            end -= 1;
        }
        let Some(index) = end.checked_sub(1) else { return Ok(()) };
        let table = &self.refs()[index];
        let cut = match &table.hi {
            Upper::Excluded(end) => Some(Arc::clone(end)),
            Upper::Included(_) => None,
        };
        let cursor = self.open(index)?;
        match cut {
            Some(end) => cursor.seek_before(&end)?,
            None => cursor.seek_to_last()?,
        }
        self.settle_backward()
    }

    /// Completes a move forward: enters the next table when this one is at its end.
    #[inline]
    fn settle_forward(&mut self) -> Result<()> {
        let cursor = self.cursor();
        let inside = || {
            !self.cut || self.refs()[self.index].hi.admits(self.order.comparator(), cursor.key())
        };
        if cursor.valid() && inside() {
            self.valid = true;
            debug_assert!(self.is_within_bounds(), "a trimmed table shows no other keys (H1)");
            return Ok(());
        }
        self.enter_forward(self.index + 1)
    }

    /// Completes a move backward: enters the table before when this one is at its start.
    #[inline]
    fn settle_backward(&mut self) -> Result<()> {
        let cursor = self.cursor();
        if cursor.valid() && self.order.compare(&self.refs()[self.index].lo, cursor.key()).is_le() {
            self.valid = true;
            debug_assert!(self.is_within_bounds(), "a trimmed table shows no other keys (H1)");
            return Ok(());
        }
        self.enter_backward(self.index)
    }

    fn open(&mut self, index: usize) -> Result<&mut TableCursor> {
        if self.current.is_none() || self.index != index {
            self.current = None;
            let TableRef { file, hi, .. } = &self.run.tables[self.range.clone()][index];
            self.cut = *hi != file.end;
            let table = self.tables.get_owned(file)?;
            let mut cursor = Box::new(TableCursor::new(table, self.options.clone()));
            if self.sets_aside {
                cursor.set_values_aside();
            }
            self.current = Some(cursor);
            self.index = index;
        }
        Ok(self.cursor_mut())
    }

    /// Returns the tables, in key order. Some may have range tombstones only.
    #[inline]
    fn refs(&self) -> &[TableRef] {
        &self.run.tables[self.range.clone()]
    }

    #[inline]
    fn cursor(&self) -> &TableCursor {
        self.current.as_ref().expect("the cursor stands in a table")
    }

    #[inline]
    fn cursor_mut(&mut self) -> &mut TableCursor {
        self.current.as_mut().expect("the cursor stands in a table")
    }
}
