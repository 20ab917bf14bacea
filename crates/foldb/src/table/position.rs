//! The position of a walk among a table's sub-blocks: a place in the top index and one in a
//! directory.

use std::sync::Arc;

use crate::error::Result;
use crate::key::SeqNo;
use crate::table::frame::Handle;
use crate::table::index::Index;
use crate::table::reader::{Fetch, TableReader};

/// A sub-block of a table. Every move returns its handle, or `None` beyond either end.
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
    ) -> Result<Option<Handle>> {
        let top = table.index().search(key, table.order());
        // A directory that the walk is already in is not fetched again.
        let is_here = self.directory.is_some() && top == self.top;
        if !is_here && !self.enter(table, top, fetch)? {
            return Ok(None);
        }
        self.sub = self.directory.as_ref().map_or(0, |d| d.search(key, table.order()));
        if self.sub < self.sub_blocks() {
            return Ok(Some(self.handle(table)));
        }
        self.next(table, fetch)
    }

    /// Moves to the first sub-block.
    pub(super) fn first(
        &mut self,
        table: &TableReader,
        fetch: &mut Fetch,
    ) -> Result<Option<Handle>> {
        Ok(self.enter(table, 0, fetch)?.then(|| self.handle(table)))
    }

    /// Moves to the last sub-block.
    pub(super) fn last(
        &mut self,
        table: &TableReader,
        fetch: &mut Fetch,
    ) -> Result<Option<Handle>> {
        let Some(last) = table.index().len().checked_sub(1) else {
            return Ok(None);
        };
        self.enter_at_end(table, last, fetch)
    }

    /// Moves to the next sub-block.
    pub(super) fn next(
        &mut self,
        table: &TableReader,
        fetch: &mut Fetch,
    ) -> Result<Option<Handle>> {
        if self.sub + 1 < self.sub_blocks() {
            self.sub += 1;
            return Ok(Some(self.handle(table)));
        }
        Ok(self.enter(table, self.top + 1, fetch)?.then(|| self.handle(table)))
    }

    /// Moves to the previous sub-block.
    pub(super) fn prev(
        &mut self,
        table: &TableReader,
        fetch: &mut Fetch,
    ) -> Result<Option<Handle>> {
        if self.sub > 0 {
            self.sub -= 1;
            return Ok(Some(self.handle(table)));
        }
        let Some(before) = self.top.checked_sub(1) else {
            return Ok(None);
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
    ) -> Result<Handle> {
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
        Ok(self.handle(table))
    }

    /// Enters the block at `top` of the top index at its first sub-block. Does nothing and returns
    /// `false` if there is none.
    #[inline]
    fn enter(&mut self, table: &TableReader, top: usize, fetch: &mut Fetch) -> Result<bool> {
        if top >= table.index().len() {
            return Ok(false);
        }
        let child = table.index().child(top);
        self.directory = if child.is_directory {
            Some(table.fetch_directory(child.handle, fetch)?)
        } else {
            None
        };
        self.top = top;
        self.sub = 0;
        Ok(true)
    }

    fn enter_at_end(
        &mut self,
        table: &TableReader,
        top: usize,
        fetch: &mut Fetch,
    ) -> Result<Option<Handle>> {
        self.enter(table, top, fetch)?;
        self.sub = self.sub_blocks() - 1;
        Ok(Some(self.handle(table)))
    }

    fn sub_blocks(&self) -> usize {
        self.directory.as_ref().map_or(1, |directory| directory.len())
    }

    #[inline]
    fn handle(&self, table: &TableReader) -> Handle {
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
