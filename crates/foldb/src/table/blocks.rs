//! Where a builder's sub-blocks are encoded and written: on its own thread, or in part on a helper.
//!
//! Compression takes about half of the time of a table with small records. A builder that may have
//! a helper therefore starts one when the table is large and its sub-blocks compress well:
//!
//! ```text
//! alone    encode | compress, checksum, write | encode | compress, checksum, write | encode ...
//! helped   encode | encode | encode | encode | encode ...
//! helper            compress, checksum, write | compress, checksum, write | ...
//! ```
//!
//! The helper has the [`BlockWriter`] until the builder takes it back: to end the table, to know
//! the exact size of the file, or for a record that is too large for a batch. Both encode and
//! compress the same sub-blocks in the same order, so a table has the same bytes with and without a
//! helper.

use std::sync::Arc;

use foldb_env::Threads;

use crate::error::Result;
use crate::table::block_writer::BlockWriter;
use crate::table::chunk::Chunk;
use crate::table::helper::Helper;

/// Bytes of sub-blocks after which a table may get a helper. Fewer are written in about the time in
/// which a thread starts.
pub(super) const HELPED_FROM: usize = 256 << 10;

/// Most bytes of a record that goes to a helper. Larger ones would need large batches.
pub(super) const LARGEST_HELPED: usize = 64 << 10;

/// The sub-blocks of a table, in the order of their keys.
pub(super) struct Blocks {
    /// `None` while the helper has it.
    writer: Option<BlockWriter>,
    helper: Option<Helper>,
    /// Starts the helper when there is reason to.
    threads: Option<Arc<dyn Threads>>,
    /// Bytes of sub-blocks written without the helper since it was last considered.
    alone: usize,
}

impl Blocks {
    pub(super) fn new(writer: BlockWriter) -> Blocks {
        Blocks { writer: Some(writer), helper: None, threads: None, alone: 0 }
    }

    /// Lets it start a helper.
    pub(super) fn set_threads(&mut self, threads: Arc<dyn Threads>) {
        self.threads = Some(threads);
    }

    /// Returns the chunk that the next sub-block is encoded in.
    #[inline]
    pub(super) fn chunk(&mut self) -> &mut Chunk {
        match (&mut self.helper, &mut self.writer) {
            (Some(helper), _) => helper.chunk(),
            (None, Some(writer)) => writer.frames().chunk(),
            (None, None) => unreachable!("{HELD}"),
        }
    }

    /// Returns the bytes of the file if it ended now; with a helper, an upper bound.
    #[inline]
    pub(super) fn file_bytes(&self) -> u64 {
        match (&self.helper, &self.writer) {
            (Some(helper), _) => helper.file_bytes(),
            (None, Some(writer)) => writer.offset(),
            (None, None) => unreachable!("{HELD}"),
        }
    }

    /// Returns the bytes in memory, those of the helper included.
    pub(super) fn memory_bytes(&self) -> usize {
        let helper = self.helper.as_ref().map_or(0, Helper::memory_bytes);
        helper + self.writer.as_ref().map_or(0, BlockWriter::memory_bytes)
    }

    /// Ends the sub-block whose payload begins at `start` in the chunk.
    ///
    /// # Errors
    /// `Io` or `NoSpace` if the file cannot be written. With a helper, this may be about earlier
    /// sub-blocks.
    pub(super) fn end_sub_block(&mut self, start: usize, separator: &[u8]) -> Result<()> {
        if let Some(helper) = &mut self.helper {
            return helper.end_sub_block(separator);
        }
        let writer = self.writer.as_mut().expect(HELD);
        if self.threads.is_some() {
            self.alone += writer.frames().chunk().position() - start;
        }
        writer.end_sub_block(start, separator)?;
        if self.alone >= HELPED_FROM {
            self.alone = 0;
            // To hand a sub-block over costs about as much as to write it uncompressed.
            if writer.compresses() {
                self.start_helper();
            }
        }
        Ok(())
    }

    /// Starts a helper. Without one, the builder does all the work.
    #[cold]
    fn start_helper(&mut self) {
        if let (Some(threads), Some(writer)) = (self.threads.take(), self.writer.take()) {
            match Helper::start(&*threads, writer) {
                Ok(helper) => self.helper = Some(helper),
                Err(writer) => self.writer = Some(*writer),
            }
        }
    }

    /// Ends the help: from now on the builder writes, and [`Blocks::file_bytes`] is exact. No
    /// sub-block may be begun.
    ///
    /// # Errors
    /// As [`Blocks::end_sub_block`].
    pub(super) fn take_back(&mut self) -> Result<()> {
        self.threads = None;
        if let Some(helper) = &mut self.helper {
            self.writer = Some(helper.finish()?);
            self.helper = None;
        }
        Ok(())
    }

    /// Gives the writer away, for what comes after the blocks.
    ///
    /// # Errors
    /// As [`Blocks::end_sub_block`].
    pub(super) fn finish(&mut self) -> Result<BlockWriter> {
        self.take_back()?;
        Ok(self.writer.take().expect(HELD))
    }
}

const HELD: &str = "without a helper, the builder has the writer";
