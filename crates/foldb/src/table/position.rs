//! The position of a walk among a table's sub-blocks: a place in the top index and one in a
//! directory.

use std::sync::Arc;

use crate::error::Result;
use crate::key::SeqNo;
use crate::table::fetch::Fetch;
use crate::table::frame::Handle;
use crate::table::index::Index;
use crate::table::kept_block::Held;
use crate::table::reader::TableReader;

/// A sub-block of a table. Every move returns whether there is one, unless it says otherwise.
#[derive(Debug, Default)]
pub(super) struct BlockPosition {
    top: usize,
    /// The directory of the block at `top`; `None` if the block is one sub-block without a
    /// directory.
    directory: Option<Arc<Index>>,
    /// Place in `directory`.
    sub: usize,
}

impl BlockPosition {
    /// Moves to the first sub-block that may hold a key at or after `key`.
    #[inline]
    pub(super) fn seek(
        &mut self,
        table: &TableReader,
        key: &[u8],
        fetch: &mut Fetch,
    ) -> Result<bool> {
        self.seek_from(table, table.index().search(key, table.order()), key, fetch)
    }

    /// Does what [`BlockPosition::seek`] does. `top` is the place of `key` in the top index.
    #[inline]
    pub(super) fn seek_from(
        &mut self,
        table: &TableReader,
        top: usize,
        key: &[u8],
        fetch: &mut Fetch,
    ) -> Result<bool> {
        // A directory that the walk is already in is not fetched again.
        let is_here = self.directory.is_some() && top == self.top;
        if !is_here && !self.enter(table, top, fetch)? {
            return Ok(false);
        }
        self.sub = self.directory.as_ref().map_or(0, |d| d.search(key, table.order()));
        if self.sub < self.sub_blocks() {
            return Ok(true);
        }
        self.next(table, fetch)
    }

    /// Moves to the first sub-block.
    pub(super) fn first(&mut self, table: &TableReader, fetch: &mut Fetch) -> Result<bool> {
        self.enter(table, 0, fetch)
    }

    /// Moves to the last sub-block.
    pub(super) fn last(&mut self, table: &TableReader, fetch: &mut Fetch) -> Result<bool> {
        let Some(last) = table.index().len().checked_sub(1) else {
            return Ok(false);
        };
        self.enter_at_end(table, last, fetch)
    }

    /// Moves to the next sub-block.
    pub(super) fn next(&mut self, table: &TableReader, fetch: &mut Fetch) -> Result<bool> {
        if self.sub + 1 < self.sub_blocks() {
            self.sub += 1;
            return Ok(true);
        }
        self.enter(table, self.top + 1, fetch)
    }

    /// Moves to the previous sub-block.
    pub(super) fn prev(&mut self, table: &TableReader, fetch: &mut Fetch) -> Result<bool> {
        if self.sub > 0 {
            self.sub -= 1;
            return Ok(true);
        }
        let Some(before) = self.top.checked_sub(1) else {
            return Ok(false);
        };
        self.enter_at_end(table, before, fetch)
    }

    /// Skips sub-blocks full of versions of `key` newer than `seqno`. The position is on a
    /// sub-block with such versions. It moves to the last later sub-block that begins with such a
    /// version, if any. A binary search compares the first records of sub-blocks.
    pub(super) fn pass_behind(
        &mut self,
        table: &TableReader,
        key: &[u8],
        seqno: SeqNo,
        fetch: &mut Fetch,
    ) -> Result<()> {
        let (index, order) = (table.index(), table.order());
        let end = (index.search_behind(key, order) + 1).min(index.len());
        let top = last_that(self.top, end, |top| {
            let mut there = BlockPosition::default();
            there.enter(table, top, fetch)?;
            table.begins_behind(there.handle(table), key, seqno, fetch)
        })?;
        if top != self.top {
            self.enter(table, top, fetch)?;
        }
        if let Some(directory) = &self.directory {
            let end = (directory.search_behind(key, order) + 1).min(directory.len());
            self.sub = last_that(self.sub, end, |sub| {
                table.begins_behind(directory.child(sub).handle, key, seqno, fetch)
            })?;
        }
        Ok(())
    }

    /// Enters the block at `top` of the top index at its first sub-block. Does nothing and returns
    /// `false` if there is none.
    #[inline]
    fn enter(&mut self, table: &TableReader, top: usize, fetch: &mut Fetch) -> Result<bool> {
        if top >= table.index().len() {
            return Ok(false);
        }
        self.directory = table.fetch_directory_at(top, fetch)?;
        self.top = top;
        self.sub = 0;
        Ok(true)
    }

    fn enter_at_end(&mut self, table: &TableReader, top: usize, fetch: &mut Fetch) -> Result<bool> {
        self.enter(table, top, fetch)?;
        self.sub = self.sub_blocks() - 1;
        Ok(true)
    }

    /// Returns the sub-block.
    #[inline]
    pub(super) fn fetch(&self, table: &TableReader, fetch: &mut Fetch) -> Result<Held> {
        match &self.directory {
            Some(directory) => table.fetch_data(directory.child(self.sub).handle, fetch),
            None => table.fetch_data_at(self.top, fetch),
        }
    }

    /// Prefetches what the fetch of the next sub-block reads first, if a slot has it.
    #[inline]
    pub(super) fn prefetch_next(&self, table: &TableReader) {
        if self.directory.is_none() {
            table.prefetch_at(self.top + 1);
        }
    }

    /// Returns the place among the sub-blocks of the table: equal for equal positions only.
    #[inline]
    pub(super) fn place(&self) -> (usize, usize) {
        (self.top, self.sub)
    }

    fn sub_blocks(&self) -> usize {
        self.directory.as_ref().map_or(1, |directory| directory.len())
    }

    /// Returns the handle of the sub-block.
    pub(super) fn handle(&self, table: &TableReader) -> Handle {
        debug_assert!(self.sub < self.sub_blocks(), "a position is that of a sub-block");
        match &self.directory {
            Some(directory) => directory.child(self.sub).handle,
            None => table.index().child(self.top).handle,
        }
    }
}

/// Returns the last index of `first..end` for which `holds` is true. `holds` is true for `first`,
/// and false for every index after the first false one.
fn last_that(
    first: usize,
    end: usize,
    mut holds: impl FnMut(usize) -> Result<bool>,
) -> Result<usize> {
    let (mut low, mut high) = (first, end.max(first + 1));
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if holds(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
