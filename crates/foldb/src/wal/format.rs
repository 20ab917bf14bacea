//! Frames: the encoding of records in a log.
//!
//! ```text
//! 0          4        8      9              16               24           32
//! +----------+--------+------+--------------+----------------+------------+---------+
//! | checksum | length | kind | frame number | synced through | log number | payload |
//! | u32      | u32    | u8   | u56          | u64            | u64        | length  |
//! +----------+--------+------+--------------+----------------+------------+---------+
//!   checksum:       low half of XXH3-64 of all that follows, seeded with log number and offset
//!   kind:           1 whole record, 2 its first part, 3 a middle one, 4 its last
//!   frame number:   1, 2, 3 … within the log
//!   synced through: frames up to this number were on the medium when this one was written
//! ```
//!
//! *Log number* and *offset* distinguish a frame from old bytes of a file that used the same blocks
//! before. *Synced through* distinguishes a torn tail from damage. If a later frame says that bad
//! bytes were synced, the bytes were once on the medium, so they are damage. Otherwise they may
//! never have been written. The idea follows Pebble's sync chunks.

use crate::encoding::{checksum, checksum_seed};

/// Bytes before the payload.
pub(crate) const HEADER_LEN: usize = 32;

/// Offset of the kind in the header. The kind is never zero.
pub(crate) const KIND_AT: usize = 8;

/// Longest payload of one frame. A longer record is split, so that a corrupt length never makes a
/// reader allocate a gigabyte.
pub(crate) const MAX_PAYLOAD: usize = 1 << 20;

/// Returns the longest payload that this process writes. Tests shrink it, so that records of a few
/// hundred bytes take several frames.
#[inline(always)]
pub(crate) fn longest_payload() -> usize {
    crate::faults::longest_payload().map_or(MAX_PAYLOAD, |most| most.min(MAX_PAYLOAD))
}

/// The part of a record that a frame holds. It is on disk: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Part {
    Whole = 1,
    First = 2,
    Middle = 3,
    Last = 4,
}

impl Part {
    fn from_u8(byte: u8) -> Option<Part> {
        match byte {
            1 => Some(Part::Whole),
            2 => Some(Part::First),
            3 => Some(Part::Middle),
            4 => Some(Part::Last),
            _ => None,
        }
    }

    /// Returns the part of a record. `first` and `last` tell whether it begins and whether it ends
    /// the record.
    pub(crate) fn of(first: bool, last: bool) -> Part {
        match (first, last) {
            (true, true) => Part::Whole,
            (true, false) => Part::First,
            (false, false) => Part::Middle,
            (false, true) => Part::Last,
        }
    }
}

/// Describes the frames of a log or another file of frames. Two files with the same number and
/// digest hold the same frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) number: u64,
    /// Where the last frame ends.
    pub(crate) len: u64,
    pub(crate) frames: u64,
    /// The digest of all frames; see [`digest_with`].
    pub(crate) digest: u64,
}

/// Adds a frame's checksum to the digest of the frames before it. The digest of no frames is 0.
#[inline]
pub(crate) fn digest_with(digest: u64, frame_checksum: u32) -> u64 {
    // The multiplier is odd, so the product loses no bits. The rotation makes different orders
    // differ.
    (digest.rotate_left(25) ^ u64::from(frame_checksum)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) part: Part,
    pub(crate) frame: u64,
    pub(crate) synced_through: u64,
    pub(crate) log: u64,
}

impl FrameHeader {
    /// Fills the first [`HEADER_LEN`] bytes of `frame`, which goes to this offset of the log and
    /// holds its payload already. Returns the checksum.
    pub(crate) fn seal(&self, frame: &mut [u8], offset: u64) -> u32 {
        let length = (frame.len() - HEADER_LEN) as u32;
        debug_assert!(length as usize <= MAX_PAYLOAD, "a reader accepts the length of each frame");
        debug_assert!(self.frame >> 56 == 0, "the number of a frame leaves room for its kind");
        debug_assert!(
            self.synced_through < self.frame,
            "a frame is not durable before it is written: {self:?}"
        );
        frame[4..8].copy_from_slice(&length.to_le_bytes());
        frame[8..16].copy_from_slice(&(self.frame << 8 | self.part as u64).to_le_bytes());
        frame[16..24].copy_from_slice(&self.synced_through.to_le_bytes());
        frame[24..32].copy_from_slice(&self.log.to_le_bytes());
        let sum = checksum(checksum_seed(self.log, offset), &frame[4..]) as u32;
        frame[..4].copy_from_slice(&sum.to_le_bytes());
        sum
    }

    /// Reads a header and the length of its payload, without checking the checksum. Returns `None`
    /// if the bytes cannot be a header.
    pub(crate) fn parse(header: &[u8; HEADER_LEN]) -> Option<(FrameHeader, usize)> {
        let word = |at: usize| {
            let bytes: &[u8; 8] = header[at..].first_chunk().expect("the header has 32 bytes");
            u64::from_le_bytes(*bytes)
        };
        let part = Part::from_u8(header[KIND_AT])?;
        let length = (word(0) >> 32) as usize;
        let parsed =
            FrameHeader { part, frame: word(8) >> 8, synced_through: word(16), log: word(24) };
        (length <= MAX_PAYLOAD && parsed.synced_through < parsed.frame).then_some((parsed, length))
    }

    /// Returns whether a frame of header and payload is the one that was written at this offset.
    pub(crate) fn verify(&self, frame: &[u8], offset: u64) -> bool {
        frame[..4] == (checksum(checksum_seed(self.log, offset), &frame[4..]) as u32).to_le_bytes()
    }
}
