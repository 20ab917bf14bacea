//! Finds frames by their checksums if the index that points to them cannot be read.
//!
//! A frame does not store its length. But its checksum is seeded with file and offset, so the
//! checksum is correct only for a whole frame at its own offset. The end of a frame is the start of
//! the next. After a damaged frame the search guesses that a frame starts after bytes that look
//! like the end of a frame:
//!
//! ```text
//! | frame | frame | damaged ... 01 ?? ?? ?? ?? ?? ?? ?? ?? | frame |
//!                 ^ tried       ^ checksum type             ^ tried next
//! ```
//!
//! A limit on the bytes of computed checksums bounds the work, so that hostile bytes cannot stall
//! it.

use xxhash_rust::xxh3::Xxh3;

use crate::encoding::{ChecksumKind, checksum_seed};
use crate::table::frame::{FRAME_TRAILER, Handle};

/// Bytes of a frame after its codec.
const CHECKSUM_BYTES: usize = FRAME_TRAILER - 1;

/// The largest codec number in use.
const LAST_CODEC: u8 = 3;

/// Longest frame that the search looks for at a guessed start.
const MOST_GUESSED: usize = 256 << 10;

/// A search may checksum this many bytes for each byte of the searched part, but always
/// `LEAST_EFFORT` in all.
const EFFORT: u64 = 64;
const LEAST_EFFORT: u64 = 64 << 20;

/// Searches a part of a table's file.
pub(super) struct FrameSearch<'a> {
    bytes: &'a [u8],
    /// Offset of the searched part in the file.
    offset: u64,
    file: u64,
    at: usize,
    /// Whether a frame is known to begin at `at`.
    known: bool,
    effort: u64,
}

impl<'a> FrameSearch<'a> {
    /// Starts a search of `bytes`, which lie at `offset` of file number `file` and begin with a
    /// frame.
    pub(super) fn new(bytes: &'a [u8], offset: u64, file: u64) -> FrameSearch<'a> {
        let effort = LEAST_EFFORT.max(EFFORT * bytes.len() as u64);
        FrameSearch { bytes, offset, file, at: 0, known: true, effort }
    }

    /// Returns whether the last frame found ends where the searched part ends.
    pub(super) fn is_at_end(&self) -> bool {
        self.known && self.at == self.bytes.len()
    }

    /// Returns the start of the last frame that was not found.
    pub(super) fn offset(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// Returns the frame at the current place, if a whole one is there.
    pub(super) fn here(&mut self) -> Option<Handle> {
        let most = if self.known { usize::MAX } else { MOST_GUESSED };
        let end = self.end_of_frame(most)?;
        let (offset, len) = (self.offset(), u32::try_from(end - self.at).ok()?);
        (self.at, self.known) = (end, true);
        Some(Handle { offset, len })
    }

    /// Goes on to the next place where a frame may begin; `false` if there is none.
    pub(super) fn skip(&mut self) -> bool {
        self.known = false;
        let from = self.at + 1;
        let next = (from..self.bytes.len())
            .find(|&start| start >= FRAME_TRAILER && looks_like_end(&self.bytes[..start]));
        self.at = next.unwrap_or(self.bytes.len());
        next.is_some() && self.effort > 0
    }

    fn end_of_frame(&mut self, most: usize) -> Option<usize> {
        let mut sum = Xxh3::with_seed(checksum_seed(self.file, self.offset()));
        let mut fed = self.at;
        let last = self.bytes.len().min(self.at.saturating_add(most));
        for end in self.at + FRAME_TRAILER..=last {
            if !looks_like_end(&self.bytes[..end]) {
                continue;
            }
            let covered = end - CHECKSUM_BYTES;
            sum.update(&self.bytes[fed..covered]);
            // A digest costs about as much as some hundred bytes.
            self.effort = self.effort.checked_sub((covered - fed + 256) as u64)?;
            fed = covered;
            if self.bytes[covered + 1..end] == sum.digest().to_le_bytes() {
                return Some(end);
            }
        }
        None
    }
}

/// Returns whether codec and checksum type stand where they would before the end of `bytes`.
fn looks_like_end(bytes: &[u8]) -> bool {
    let kind = bytes.len() - CHECKSUM_BYTES;
    bytes[kind] == ChecksumKind::Xxh3 as u8 && bytes[kind - 1] <= LAST_CODEC
}
