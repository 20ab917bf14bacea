//! Writes finished sub-blocks, and the directories and the top index that find them.

use crate::error::Result;
use crate::settings::Compression;
use crate::table::frame::Handle;
use crate::table::frame_writer::FrameWriter;
use crate::table::index::{Child, IndexBuilder};

/// The blocks of a table, as far as they are written.
pub(super) struct BlockWriter {
    frames: FrameWriter,
    /// The codec of sub-blocks.
    compression: Compression,
    /// Uncompressed bytes of a block.
    block_size: usize,
    /// Uncompressed bytes of the block's sub-blocks so far.
    block_len: usize,
    directory: IndexBuilder,
    /// The block's last sub-block. If it stays the only one, the top index points to it.
    last_sub_block: Option<Handle>,
    top: IndexBuilder,
}

impl BlockWriter {
    pub(super) fn new(
        frames: FrameWriter,
        block_size: usize,
        compression: Compression,
    ) -> BlockWriter {
        BlockWriter {
            frames,
            compression,
            block_size,
            block_len: 0,
            directory: IndexBuilder::default(),
            last_sub_block: None,
            top: IndexBuilder::default(),
        }
    }

    /// Returns the file.
    #[inline]
    pub(super) fn frames(&mut self) -> &mut FrameWriter {
        &mut self.frames
    }

    /// Returns the file offset of the next byte.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.frames.offset()
    }

    /// Returns whether sub-blocks are worth compressing.
    pub(super) fn compresses(&self) -> bool {
        self.compression != Compression::None && self.frames.gains()
    }

    /// Returns the bytes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.frames.memory_bytes() + self.top.memory_bytes() + self.directory.memory_bytes()
    }

    /// Ends the sub-block whose payload begins at `start` in the chunk of the file. `separator` is
    /// a key at or after its last one, and before the next sub-block.
    ///
    /// # Errors
    /// `Io` or `NoSpace` if a full chunk cannot be written.
    pub(super) fn end_sub_block(&mut self, start: usize, separator: &[u8]) -> Result<()> {
        self.block_len += self.frames.chunk().position() - start;
        let handle = self.frames.end_frame(start, self.compression)?;
        self.add_child(handle, separator)
    }

    /// Adds a sub-block that was encoded elsewhere.
    ///
    /// # Errors
    /// As [`BlockWriter::end_sub_block`].
    pub(super) fn add_sub_block(&mut self, payload: &[u8], separator: &[u8]) -> Result<()> {
        self.block_len += payload.len();
        let handle = self.frames.add_frame(payload, self.compression)?;
        self.add_child(handle, separator)
    }

    fn add_child(&mut self, handle: Handle, separator: &[u8]) -> Result<()> {
        self.directory.add(separator, Child { handle, is_directory: false });
        self.last_sub_block = Some(handle);
        if self.block_len >= self.block_size {
            self.end_block(separator)?;
        }
        Ok(())
    }

    /// Ends the last block. `separator` is that of its last sub-block.
    ///
    /// # Errors
    /// As [`BlockWriter::end_sub_block`].
    pub(super) fn end_blocks(&mut self, separator: &[u8]) -> Result<()> {
        if self.last_sub_block.is_some() { self.end_block(separator) } else { Ok(()) }
    }

    fn end_block(&mut self, separator: &[u8]) -> Result<()> {
        let sub_block = self.last_sub_block.take().expect("a block has a sub-block");
        let child = if self.directory.len() == 1 {
            self.directory.finish(|_| {});
            Child { handle: sub_block, is_directory: false }
        } else {
            let handle = write_index(&mut self.frames, &mut self.directory)?;
            Child { handle, is_directory: true }
        };
        self.top.add(separator, child);
        self.block_len = 0;
        Ok(())
    }

    /// Writes the top index.
    ///
    /// # Errors
    /// As [`BlockWriter::end_sub_block`].
    pub(super) fn write_top_index(&mut self) -> Result<Handle> {
        write_index(&mut self.frames, &mut self.top)
    }

    /// Returns the file, for its last bytes.
    pub(super) fn into_frames(self) -> FrameWriter {
        self.frames
    }
}

fn write_index(frames: &mut FrameWriter, index: &mut IndexBuilder) -> Result<Handle> {
    let start = frames.chunk().position();
    index.finish(|bytes| frames.chunk().put(bytes));
    frames.end_frame(start, Compression::None)
}
