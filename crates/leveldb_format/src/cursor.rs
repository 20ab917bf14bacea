//! A place in a table: an entry of the index leads to each data block.
//!
//! Invariant: the cursor keeps a data block until it leaves it. A data block that cannot be read is
//! skipped, and [`TableCursor::error`] returns the first error from then on.

use crate::Order;
use crate::block::Cursor;
use crate::table::{Damage, Handle};

/// Where the blocks of a table come from.
pub trait Source {
    /// The contents of a block.
    type Block: AsRef<[u8]>;
    /// Why a block cannot be read.
    type Error;
    /// The order of the keys.
    type Order: Order;

    /// Returns the order of the keys.
    fn order(&self) -> &Self::Order;

    /// Reads the contents of a block.
    ///
    /// # Errors
    /// Fails if the block cannot be read.
    fn block(&mut self, handle: Handle) -> Result<Self::Block, Self::Error>;

    /// Returns the error of damage in the data block at a handle, or in the handle itself.
    fn damaged(&mut self, damage: Damage, block: Option<Handle>) -> Self::Error;
}

/// A place in a table: on an entry, or on none.
#[derive(Debug)]
pub struct TableCursor<S: Source> {
    source: S,
    /// `None` if its bytes are no block.
    index: Option<Cursor<S::Block>>,
    /// `None` on no entry, and if the data block cannot be read.
    block: Option<Cursor<S::Block>>,
    /// The entry of the index leads to `block`, at this handle.
    is_in: bool,
    handle: Option<Handle>,
    error: Option<S::Error>,
}

impl<S: Source> TableCursor<S> {
    /// Returns a cursor on no entry.
    pub fn new(source: S, index: S::Block) -> TableCursor<S> {
        let index = Cursor::new(index);
        TableCursor { source, index, block: None, is_in: false, handle: None, error: None }
    }

    /// Returns the source of the blocks.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Returns whether the cursor is on an entry.
    pub fn is_valid(&self) -> bool {
        self.block.as_ref().is_some_and(Cursor::is_valid)
    }

    /// Returns the key of the entry.
    pub fn key(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], Cursor::key)
    }

    /// Returns the value of the entry.
    pub fn value(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], Cursor::value)
    }

    /// Returns where the present data block is.
    pub fn handle(&self) -> Option<Handle> {
        self.handle
    }

    /// Returns what is wrong with the index, as far as the cursor has read it.
    pub fn index_damage(&self) -> Option<Damage> {
        match &self.index {
            None => Some(Damage::Block),
            Some(index) => index.is_damaged().then_some(Damage::Entry),
        }
    }

    /// Returns the first error of a data block.
    pub fn error(&self) -> Option<&S::Error> {
        self.error.as_ref()
    }

    /// Takes the first error of a data block.
    pub fn take_error(&mut self) -> Option<S::Error> {
        self.error.take()
    }

    /// Moves to the first entry.
    pub fn first(&mut self) {
        self.move_index(Cursor::first);
        self.move_block(Cursor::first);
        self.skip_forward();
    }

    /// Moves to the last entry.
    pub fn last(&mut self) {
        self.move_index(Cursor::last);
        self.move_block(Cursor::last);
        self.skip_backward();
    }

    /// Moves to the first entry whose key is not before `target`.
    pub fn seek(&mut self, target: &[u8]) {
        self.seek_index(target);
        self.seek_in_block(target);
        self.skip_forward();
    }

    /// Moves to the next entry. Needs an entry.
    pub fn next(&mut self) {
        self.move_block(Cursor::next);
        self.skip_forward();
    }

    /// Moves to the entry before. Needs an entry.
    pub fn prev(&mut self) {
        self.move_block(Cursor::prev);
        self.skip_backward();
    }

    /// Looks up the data block that may hold a key. `None` for a key behind the last one.
    /// [`TableCursor::find_in_block`] reads the block.
    pub fn seek_index(&mut self, target: &[u8]) -> Option<Handle> {
        let index = self.index.as_mut()?;
        index.seek(target, self.source.order());
        index.is_valid().then(|| Handle::of(index.value())).flatten()
    }

    /// Moves to the first entry of this block that is not before `target`, or to none.
    pub fn find_in_block(&mut self, target: &[u8]) {
        self.seek_in_block(target);
        if !self.is_valid() {
            self.leave();
        }
    }

    fn seek_in_block(&mut self, target: &[u8]) {
        self.enter();
        if let Some(block) = &mut self.block {
            block.seek(target, self.source.order());
        }
    }

    fn move_index(&mut self, step: impl FnOnce(&mut Cursor<S::Block>)) {
        self.index.as_mut().map(step);
        self.enter();
    }

    fn move_block(&mut self, step: impl FnOnce(&mut Cursor<S::Block>)) {
        self.block.as_mut().map(step);
    }

    /// Reads the block to which the entry of the index leads, unless it is the present one.
    fn enter(&mut self) {
        let Some(index) = self.index.as_ref().filter(|index| index.is_valid()) else {
            return self.leave();
        };
        let handle = Handle::of(index.value());
        if self.is_in && handle == self.handle {
            return;
        }
        self.leave();
        (self.is_in, self.handle) = (true, handle);
        match self.open(handle) {
            Ok(block) => self.block = Some(block),
            Err(error) => self.note(error),
        }
    }

    fn open(&mut self, handle: Option<Handle>) -> Result<Cursor<S::Block>, S::Error> {
        let at = handle.ok_or_else(|| self.source.damaged(Damage::Handle, None))?;
        let block = self.source.block(at)?;
        Cursor::new(block).ok_or_else(|| self.source.damaged(Damage::Block, handle))
    }

    fn leave(&mut self) {
        if self.block.take().is_some_and(|block| block.is_damaged()) {
            let error = self.source.damaged(Damage::Entry, self.handle);
            self.note(error);
        }
        self.is_in = false;
    }

    fn note(&mut self, error: S::Error) {
        self.error.get_or_insert(error);
    }

    /// Leaves blocks in which no entry follows.
    fn skip_forward(&mut self) {
        while self.is_in && !self.is_valid() {
            self.move_index(Cursor::next);
            self.move_block(Cursor::first);
        }
    }

    fn skip_backward(&mut self) {
        while self.is_in && !self.is_valid() {
            self.move_index(Cursor::prev);
            self.move_block(Cursor::last);
        }
    }
}
