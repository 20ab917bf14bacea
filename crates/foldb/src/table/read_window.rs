//! A part of a table's file, read ahead of a walk with one call.
//!
//! A compaction says how much it reads ahead. A scan of a program may end at any record, so its
//! window begins empty and grows while the scan goes on:
//!
//! ```text
//! block alone   block alone   16 KiB   32 KiB   64 KiB   64 KiB   ...
//! ```
//!
//! Invariant: what a window holds changes only how often the file is read. A block that cannot be
//! read together with others is read alone, so damage behind it does not matter.

use crate::error::Result;
use crate::table::frame::Handle;
use crate::table::source::{FrameBuffers, LARGE_BLOCK, Payload, TableFile};

/// Bytes of one read of a walk that reads ahead without a memory limit.
pub(crate) const READAHEAD: usize = 256 << 10;

/// Blocks that a walk reads alone, one behind the other, before it reads ahead.
const ALONE: u8 = 2;
/// The bytes that a growing window reads first, and the most.
const FIRST: u64 = 16 << 10;
const MOST: u64 = 64 << 10;
/// Bytes between two blocks of a walk, at most. Frames of the index lie between some blocks, and
/// the cache may have others.
const NEAR: u64 = 16 << 10;

/// A part of the file around the position of a walk.
#[derive(Debug)]
pub(super) struct ReadWindow {
    bytes: Vec<u8>,
    offset: u64,
    /// Bytes to read at once. At 0 each frame is read alone.
    len: u64,
    /// How the window grows; `None` if its length is fixed.
    growth: Option<Growth>,
}

/// What a growing window has seen of a walk.
#[derive(Debug, Default)]
struct Growth {
    /// The last frame read.
    last: Option<Handle>,
    /// Frames in a row that were each near the one before.
    in_row: u8,
}

/// Where a frame lies, seen from the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Forward,
    Backward,
    Far,
}

impl ReadWindow {
    /// Makes an empty window of this many bytes.
    pub(super) fn of(len: usize) -> ReadWindow {
        ReadWindow { bytes: Vec::new(), offset: 0, len: len as u64, growth: None }
    }

    /// Makes an empty window for a read that may become a walk.
    #[inline]
    pub(super) fn growing() -> ReadWindow {
        ReadWindow { growth: Some(Growth::default()), ..ReadWindow::of(0) }
    }

    /// Reads the frame of a sub-block through the window. If the frame is not inside, the window
    /// first moves, so that it begins at the frame, or ends there if the walk goes back. A large
    /// frame is read by itself. The window never reaches past the offset `limit`; the frame ends at
    /// or before it.
    pub(super) fn read_block<'a>(
        &'a mut self,
        file: &TableFile,
        handle: Handle,
        limit: u64,
        buffers: &'a mut FrameBuffers,
    ) -> Result<Payload<'a>> {
        if handle.len as usize >= LARGE_BLOCK {
            return file.read_block(handle, buffers);
        }
        let is_inside = self.find(handle).is_some();
        let step = self.note(handle, is_inside);
        if !is_inside && self.len > 0 {
            self.move_to(file, handle, step, limit);
        }
        match self.find(handle) {
            Some(frame) => file.open_block(frame, handle, &mut buffers.payload),
            None => file.read_block(handle, buffers),
        }
    }

    /// Reads a frame, from the window if it is inside; the window does not move.
    pub(super) fn peek_frame<'a>(
        &'a self,
        file: &TableFile,
        handle: Handle,
        buffers: &'a mut FrameBuffers,
    ) -> Result<&'a [u8]> {
        match self.find(handle) {
            Some(frame) => file.open_frame(frame, handle, &mut buffers.payload),
            None => file.read_frame(handle, buffers),
        }
    }

    fn find(&self, handle: Handle) -> Option<&[u8]> {
        let start = usize::try_from(handle.offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..start.checked_add(handle.len as usize)?)
    }

    /// Notes the next frame of a read, and decides how many bytes a move of the window reads.
    fn note(&mut self, handle: Handle, is_inside: bool) -> Step {
        let Some(growth) = &mut self.growth else { return Step::Forward };
        let step = growth.last.map_or(Step::Far, |last| step(last, handle));
        growth.last = Some(handle);
        match step {
            Step::Far => (growth.in_row, self.len) = (0, 0),
            _ if growth.in_row < ALONE => growth.in_row += 1,
            _ => {}
        }
        if !is_inside && growth.in_row == ALONE {
            self.len = (2 * self.len).clamp(FIRST, MOST);
        }
        step
    }

    /// Reads the bytes around a frame. Leaves the window empty if they cannot be read.
    fn move_to(&mut self, file: &TableFile, handle: Handle, step: Step, limit: u64) {
        let end = handle.end();
        let range = match step {
            Step::Backward => end.saturating_sub(self.len).min(handle.offset)..end,
            _ => handle.offset..(handle.offset + self.len).min(limit).max(end),
        };
        self.bytes.resize((range.end - range.start) as usize, 0);
        self.offset = range.start;
        if file.read(&mut self.bytes, range.start).is_err() {
            self.bytes.clear();
        }
        match step {
            Step::Backward => {
                let before = range.start.saturating_sub(self.len);
                file.file.will_need(before, range.start - before);
            }
            _ => file.file.will_need(range.end, self.len),
        }
    }
}

fn step(last: Handle, next: Handle) -> Step {
    let is_near = |gap: Option<u64>| gap.is_some_and(|gap| gap <= NEAR);
    if is_near(next.offset.checked_sub(last.end())) {
        return Step::Forward;
    }
    match is_near(last.offset.checked_sub(next.end())) {
        true => Step::Backward,
        false => Step::Far,
    }
}
