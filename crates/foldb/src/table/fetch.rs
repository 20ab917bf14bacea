//! How a read of a table gets its blocks: from the table's slots, from the cache, or from the file.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::key::SeqNo;
use crate::stats::ReadReport;
use crate::table::cache::CachedBlock;
use crate::table::cursor::CursorOptions;
use crate::table::data_block::DataBlock;
use crate::table::frame::Handle;
use crate::table::index::Index;
use crate::table::kept_block::{Held, KeptBlock};
use crate::table::read_window::ReadWindow;
use crate::table::reader::TableReader;
use crate::table::slots::{Home, Lent};
use crate::table::source::{FrameBuffers, Payload};

/// How a read gets its blocks.
#[derive(Debug)]
pub(super) struct Fetch {
    /// Whether blocks read from the file go into the cache.
    fill_cache: bool,
    /// Whether the read does not even ask the cache, as walks over whole tables do.
    passes_cache: bool,
    /// Reads ahead.
    window: ReadWindow,
    buffers: FrameBuffers,
    report: Option<ReadReport>,
}

impl Fetch {
    /// Reads from the cache, then from the file. Counts the table as used.
    #[inline]
    pub(super) fn new(options: CursorOptions) -> Fetch {
        if let Some(report) = &options.report {
            report.touched_table();
        }
        let window = match options.readahead {
            0 => ReadWindow::growing(),
            bytes => ReadWindow::of(bytes),
        };
        Fetch {
            fill_cache: options.fill_cache,
            passes_cache: options.readahead > 0 && !options.fill_cache,
            window,
            buffers: FrameBuffers::default(),
            report: options.report,
        }
    }
}

impl TableReader {
    /// Returns the sub-block of this handle, which a directory leads to.
    #[inline]
    pub(super) fn fetch_data(&self, handle: Handle, fetch: &mut Fetch) -> Result<Held> {
        match self.cached(handle, fetch) {
            Some(CachedBlock::Data(block)) => Ok(Held::Kept(block)),
            Some(CachedBlock::Directory(_)) => Err(self.mistaken(handle, "a sub-block")),
            None => self.load_data(handle, Home::default(), fetch),
        }
    }

    /// Returns the sub-block at a place of the top index.
    #[inline]
    pub(super) fn fetch_data_at(&self, place: usize, fetch: &mut Fetch) -> Result<Held> {
        match self.lent(place, fetch) {
            Some(lent) => Ok(Held::Lent(lent)),
            None => self.find_data_at(place, fetch),
        }
    }

    /// Returns the sub-block at a place, if its slot has it.
    #[inline]
    fn lent(&self, place: usize, fetch: &Fetch) -> Option<Lent> {
        self.slots.lend(place).and_then(|lent| self.take_loan(place, lent, fetch))
    }

    /// Prefetches the head of the block in a slot.
    #[inline]
    pub(super) fn prefetch_at(&self, place: usize) {
        let _prefetched = self.slots.lend(place);
    }

    /// Counts the use of a block that the slot at `place` lent. Returns `None` to a read that
    /// passes the cache.
    #[inline]
    pub(super) fn take_loan(&self, place: usize, lent: Lent, fetch: &Fetch) -> Option<Lent> {
        if fetch.passes_cache {
            return None;
        }
        self.cache.note_use(self.file.number, || self.index.child(place).handle, &lent);
        if let Some(report) = &fetch.report {
            report.found_block();
        }
        Some(lent)
    }

    /// Returns the sub-block at a place whose slot is empty.
    #[cold]
    #[inline(never)]
    fn find_data_at(&self, place: usize, fetch: &mut Fetch) -> Result<Held> {
        let handle = self.index.child(place).handle;
        match self.cached(handle, fetch) {
            Some(CachedBlock::Data(block)) => Ok(Held::Kept(self.settle(place, handle, block))),
            Some(CachedBlock::Directory(_)) => Err(self.mistaken(handle, "a sub-block")),
            None => self.load_data(handle, Home::new(&self.slots, place), fetch),
        }
    }

    /// Puts a block that was found in the cache into its slot. A block that an earlier open of the
    /// table left in the cache belongs to a slot of that time, so the cache gets another one.
    fn settle(&self, place: usize, handle: Handle, block: Arc<KeptBlock>) -> Arc<KeptBlock> {
        if !self.cache.has_slots() {
            return block;
        }
        let block = match block.home().is_among(&self.slots) {
            true => block,
            false => {
                let block = Arc::new(block.at_home(Home::new(&self.slots, place)));
                let cached = CachedBlock::Data(Arc::clone(&block));
                self.cache.insert(self.file.number, handle, cached);
                block
            }
        };
        self.cache.settle(self.file.number, handle, &block);
        block
    }

    /// Counts the filled slots. Each has the block that the cache has too.
    #[cfg(test)]
    pub(super) fn filled_slots(&self) -> usize {
        self.slots
            .filled()
            .filter(|(place, block)| {
                let handle = self.index.child(*place).handle;
                let is_kept = self.cache.keeps(self.file.number, handle, block);
                assert!(is_kept, "an evicted block is in slot {place}");
                is_kept
            })
            .count()
    }

    /// Returns whether the sub-block of this handle begins with a version of `key` newer than
    /// `seqno`.
    pub(super) fn begins_behind(
        &self,
        handle: Handle,
        key: &[u8],
        seqno: SeqNo,
        fetch: &mut Fetch,
    ) -> Result<bool> {
        let held = self.fetch_data(handle, fetch)?;
        held.block()
            .begins_behind(key, seqno, &self.order)
            .map_err(|error| self.locate(error, handle))
    }

    /// Returns the directory at a place of the top index; `None` if the place is a sub-block.
    #[inline]
    pub(super) fn fetch_directory_at(
        &self,
        place: usize,
        fetch: &mut Fetch,
    ) -> Result<Option<Arc<Index>>> {
        if !self.index.has_directories() {
            return Ok(None);
        }
        let child = self.index.child(place);
        match child.is_directory {
            true => self.fetch_directory(child.handle, fetch).map(Some),
            false => Ok(None),
        }
    }

    /// Returns the directory of this handle.
    #[inline]
    pub(super) fn fetch_directory(&self, handle: Handle, fetch: &mut Fetch) -> Result<Arc<Index>> {
        match self.cached(handle, fetch) {
            Some(CachedBlock::Directory(index)) => Ok(index),
            Some(CachedBlock::Data(_)) => Err(self.mistaken(handle, "a directory")),
            None => self.load_directory(handle, fetch),
        }
    }

    #[inline]
    fn cached(&self, handle: Handle, fetch: &Fetch) -> Option<CachedBlock> {
        if fetch.passes_cache {
            return None;
        }
        let found = self.cache.get(self.file.number, handle);
        if let (Some(report), Some(_)) = (&fetch.report, &found) {
            report.found_block();
        }
        found
    }

    #[cold]
    fn mistaken(&self, handle: Handle, expected: &str) -> Error {
        self.locate(Error::corruption(format!("expected {expected}, found another frame")), handle)
    }

    #[cold]
    #[inline(never)]
    fn load_data(&self, handle: Handle, home: Home, fetch: &mut Fetch) -> Result<Held> {
        let Fetch { fill_cache, window, buffers, report, .. } = fetch;
        if let Some(report) = report {
            report.read_block(u64::from(handle.len));
        }
        let limit = self.footer.index.offset;
        let payload = window.read_block(&self.file, handle, limit, buffers)?;
        let locate = |error| self.locate(error, handle);
        let block = match payload {
            Payload::Lent(payload) => DataBlock::parse(payload),
            Payload::Own { bytes, len } => DataBlock::of_own(bytes, len),
        };
        let block = block.map_err(locate)?;
        if !*fill_cache {
            // Too few searches follow to prepare it for them.
            return Ok(Held::Own(block));
        }
        let block = Arc::new(KeptBlock::new(block, &self.order, home).map_err(locate)?);
        self.cache.insert(self.file.number, handle, CachedBlock::Data(Arc::clone(&block)));
        Ok(Held::Kept(block))
    }

    #[cold]
    #[inline(never)]
    fn load_directory(&self, handle: Handle, fetch: &mut Fetch) -> Result<Arc<Index>> {
        let Fetch { fill_cache, window, buffers, report, .. } = fetch;
        if let Some(report) = report {
            report.read_block(u64::from(handle.len));
        }
        // A directory follows its sub-blocks: moving the window to it would skip them.
        let payload = window.peek_frame(&self.file, handle, buffers)?;
        let index = Index::parse(payload, &self.order, handle.offset)
            .and_then(only_sub_blocks)
            .map_err(|e| self.locate(e, handle))?;
        let index = Arc::new(index);
        if *fill_cache {
            self.cache.insert(self.file.number, handle, CachedBlock::Directory(index.clone()));
        }
        Ok(index)
    }
}

fn only_sub_blocks(directory: Index) -> Result<Index> {
    let sub_blocks = (0..directory.len()).take_while(|&i| !directory.child(i).is_directory).count();
    if sub_blocks == 0 || sub_blocks < directory.len() {
        return Err(Error::corruption(format!(
            "directory: expected sub-blocks only, found {sub_blocks} of {} children to be some",
            directory.len()
        )));
    }
    Ok(directory)
}
